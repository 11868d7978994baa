//! Brackets of macros that are no Rust as they stand: names by themselves, paths, and what is in the brackets within.

use tree_sitter::{Node, Range};

use super::{BOTH, FIELD, Lowering, MACRO, Place, TYPE, VALUE, macros::range_of};
use crate::structure::{
    builder::NewBinding,
    file::{Argument, BindingKind, FunctionValue, ScopeKind, Value, ValueId},
};

/// Words that the grammar takes for names in the brackets of macros.
const KEYWORDS: [&str; 9] = ["box", "dyn", "else", "in", "move", "raw", "ref", "try", "where"];

/// The only expression of a tree; none where anything is wrong with it.
pub(super) fn single(root: Node<'_>) -> Option<Node<'_>> {
    let mut parts = crate::structure::builder::children(root).into_iter();
    let (first, further) = (parts.next()?, parts.next());
    if further.is_some_and(|further| further.kind() != "empty_statement") || first.has_error() {
        return None;
    }
    match first.kind() {
        "expression_statement" => first.named_child(0),
        "macro_invocation" => Some(first),
        _ => None,
    }
}

/// Tokens between brackets.
pub(super) fn inside(tree: Node<'_>) -> Vec<Node<'_>> {
    let mut cursor = tree.walk();
    let all = tree.children(&mut cursor).filter(|token| !token.kind().contains("comment"));
    all.filter(|token| !matches!(token.kind(), "(" | ")" | "[" | "]" | "{" | "}")).collect()
}

/// The place of tokens that stand side by side.
pub(super) fn range(tokens: &[Node<'_>]) -> Option<Range> {
    Some(range_of(*tokens.first()?, *tokens.last()?))
}

/// Names in the braces of a string, with the bytes at which they begin.
pub(super) fn captured(text: &str) -> Vec<(usize, &str)> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(open) = text.get(at..).and_then(|rest| rest.find('{')) {
        let start = at + open + 1;
        let rest = text.get(start..).unwrap_or_default();
        if rest.starts_with('{') {
            at = start + 1;
            continue;
        }
        let end = rest.find('}').unwrap_or(rest.len());
        let (name, width) = rest[..end].split_once(':').unwrap_or((&rest[..end], ""));
        if is_name(name) {
            all.push((start, name));
        }
        // `{:width$.precision$}`.
        let mut from = start + name.len() + 1;
        for part in width.split('$') {
            let word = part.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
            if from + part.len() < start + end && is_name(word) {
                all.push((from + part.len() - word.len(), word));
            }
            from += part.len() + 1;
        }
        at = start + end;
    }
    all
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphabetic() || c == '_') && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The position behind `#[...]`, or behind `#`.
fn behind_attribute(tokens: &[Node<'_>], at: usize) -> usize {
    let kind = |at: usize| tokens.get(at).map_or("", |token| token.kind());
    let open = if kind(at + 1) == "!" { at + 2 } else { at + 1 };
    if kind(open) == "token_tree" { open + 1 } else { at + 1 }
}

impl Lowering<'_, '_> {
    /// Brackets that are no list of expressions: each part between commas by itself.
    pub(super) fn torn(&mut self, tree: Node<'_>, place: Place, is_formatting: bool) {
        self.within_macro(|this| {
            for segment in inside(tree).split(|token| matches!(token.kind(), "," | ";" | "=>")) {
                this.segment(segment, place, is_formatting);
            }
        });
    }

    /// Tokens one after the other: paths, members of them, and what is in brackets.
    pub(super) fn chains(&mut self, tokens: &[Node<'_>], place: Place, only_paths: bool) {
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at = match token.kind() {
                "#" => behind_attribute(tokens, at),
                // A lifetime.
                "'" => at + 2,
                "fn" if !only_paths => self.function_in(tokens, at, place),
                "token_tree" if only_paths => {
                    self.paths_in(*token, place);
                    at + 1
                }
                "token_tree" => {
                    self.arguments_of(*token, place, false);
                    at + 1
                }
                "identifier" if KEYWORDS.contains(&self.builder.text(*token)) => at + 1,
                "identifier" | "self" | "crate" | "super" | "metavariable" => self.chain(tokens, at, place, only_paths),
                _ => at + 1,
            };
        }
    }

    /// A function that is nearly Rust: `fn name(a in 0..3) { ... }`. Gives the position behind it.
    fn function_in(&mut self, tokens: &[Node<'_>], at: usize, place: Place) -> usize {
        let rest = tokens.get(at + 1..).unwrap_or_default();
        let opened = |open: &str| {
            let is_it =
                |token: &Node<'_>| token.kind() == "token_tree" && token.child(0).is_some_and(|it| it.kind() == open);
            rest.iter().copied().enumerate().find(|(_, token)| is_it(token))
        };
        let (Some(name), Some((list, parameters)), Some((body, block))) = (rest.first(), opened("("), opened("{"))
        else {
            return at + 1;
        };
        if name.kind() != "identifier" || body < list {
            return at + 1;
        }
        let value = self.builder.opaque();
        let scope = self.builder.scope(ScopeKind::Function, Some(place.scope), Some(value));
        let text = self.builder.text(*name);
        let new = NewBinding::of(BindingKind::Function, value).in_space(VALUE);
        self.builder.bind(place.items, text, *name, new);
        let inner = Place { scope, items: scope, class: None, ..place };
        for parameter in inside(parameters).split(|token| token.kind() == ",") {
            let is_end = |token: &Node<'_>| token.kind() == ":" || self.builder.text(*token) == "in";
            let Some(end) = parameter.iter().position(is_end) else { continue };
            let (names, given) = parameter.split_at(end);
            self.bind_names(names, inner);
            self.chains(given, inner, false);
        }
        self.arguments_of(block, inner, false);
        self.builder
            .set(value, Value::Function(FunctionValue { scope: Some(scope), ..FunctionValue::default() }.into()));
        at + 2 + body
    }

    /// Binds each of the names that stand in a pattern.
    fn bind_names(&mut self, tokens: &[Node<'_>], place: Place) {
        let mut open = tokens.to_vec();
        while let Some(token) = open.pop() {
            match token.kind() {
                "identifier" => {
                    let text = self.builder.text(token);
                    self.builder.bind(place.scope, text, token, NewBinding::new(BindingKind::Parameter));
                }
                "token_tree" => open.extend(inside(token)),
                _ => {}
            }
        }
    }

    /// A path with what is read from it; gives the position behind it.
    fn chain(&mut self, tokens: &[Node<'_>], first: usize, place: Place, only_paths: bool) -> usize {
        let kind = |at: usize| tokens.get(at).map_or("", |token| token.kind());
        let mut at = first;
        let is_long = kind(at + 1) == "::";
        let is_macro = |at: usize| kind(at + 1) == "!" && kind(at + 2) == "token_tree";
        if only_paths && !is_long && !is_macro(at) {
            return at + 1;
        }
        // A key of a struct, or a label: `name: value`.
        if kind(at + 1) == ":" && kind(at) == "identifier" {
            return at + 2;
        }
        let space = |at: usize| match (kind(at + 1), is_macro(at)) {
            // `any::<T>()` is no path to something else.
            ("::", _) if kind(at + 2) != "<" => TYPE,
            (_, true) => MACRO,
            _ => BOTH,
        };
        let Some(head) = tokens.get(at) else { return at + 1 };
        let mut value = match head.kind() {
            "self" if !is_long => self.builder.name(*head, place.scope, VALUE),
            _ => self.path(*head, place, space(at)),
        };
        while let ("::", Some(name)) = (kind(at + 1), tokens.get(at + 2))
            && matches!(name.kind(), "identifier" | "super")
        {
            at += 2;
            value = self.builder.member(value, *name, place.scope, space(at));
        }
        if is_macro(at) {
            self.chains(tokens.get(at + 2..at + 3).unwrap_or_default(), place, only_paths);
            return at + 3;
        }
        if only_paths {
            return at + 1;
        }
        self.read_from(value, tokens, at + 1, place)
    }

    /// Fields and methods behind a value.
    fn read_from(&mut self, mut value: ValueId, tokens: &[Node<'_>], from: usize, place: Place) -> usize {
        let kind = |at: usize| tokens.get(at).map_or("", |token| token.kind());
        let mut at = from;
        while let Some(token) = tokens.get(at) {
            match (token.kind(), tokens.get(at + 1)) {
                (".", Some(name)) if matches!(name.kind(), "identifier" | "integer_literal") => {
                    let is_call = kind(at + 2) == "token_tree";
                    let space = if is_call { VALUE } else { FIELD };
                    value = self.builder.member(value, *name, place.scope, space);
                    at += 2;
                }
                ("token_tree", _) if token.child(0).is_some_and(|open| open.kind() == "(") => {
                    let arguments = self.arguments_of(*token, place, false);
                    let arguments = arguments.into_iter().map(|value| Argument { value, is_spread: false }).collect();
                    value = self.builder.call(*token, place.scope, value, arguments, Vec::new(), false);
                    at += 1;
                }
                ("?", _) => {
                    value = self.associated(value, "TryOutput");
                    at += 1;
                }
                _ => break,
            }
        }
        at
    }

    /// Paths in the body of a macro: what has a single name there is known where the macro is called.
    pub(super) fn paths_in(&mut self, tree: Node<'_>, place: Place) {
        self.within_macro(|this| {
            let mut cursor = tree.walk();
            let tokens: Vec<Node<'_>> = tree.children(&mut cursor).collect();
            for token in tokens.iter().filter(|token| token.kind() == "token_repetition") {
                this.paths_in(*token, place);
            }
            this.chains(&tokens, place, true);
        });
    }

    /// Names behind `#` in code that a macro writes.
    pub(super) fn quoted(&mut self, tree: Node<'_>, place: Place) {
        self.within_macro(|this| {
            let mut cursor = tree.walk();
            let mut is_named = false;
            for token in tree.children(&mut cursor) {
                match token.kind() {
                    "identifier" | "self" if is_named => _ = this.builder.name(token, place.scope, VALUE),
                    "token_tree" => this.quoted(token, place),
                    _ => {}
                }
                is_named = token.kind() == "#";
            }
        });
    }
}
