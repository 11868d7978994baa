//! Calls of macros: what stands in their brackets is read as Rust where it is.

use tree_sitter::{Node, Range};

use super::{Lowering, MACRO, Place, TYPE, VALUE, field, tokens};
use crate::{
    languages::{Grammar, parse_part},
    structure::{
        builder::{children, line},
        file::{Value, ValueId},
    },
};

/// Macros whose strings name variables in braces.
const FORMATTING: &str = " anyhow assert assert_eq assert_ne bail debug debug_assert debug_assert_eq debug_assert_ne ensure \
    eprint eprintln error format format_args info log panic print println todo trace unimplemented unreachable warn write \
    writeln ";

/// Macros whose brackets hold the code that they write, in which only what stands behind `#` has a name here.
const QUOTING: [&str; 4] = ["quote", "quote_spanned", "parse_quote", "parse_quote_spanned"];

impl Lowering<'_, '_> {
    pub(super) fn macro_invocation(&mut self, node: Node<'_>, place: Place) -> ValueId {
        let Some(name) = field(node, "macro") else { return self.nothing };
        let text = self.builder.text(field(name, "name").unwrap_or(name));
        let place = Place { class: None, ..place };
        match (name.kind(), field(name, "path")) {
            ("scoped_identifier", Some(path)) => {
                let of = self.path(path, place, TYPE);
                field(name, "name").map(|name| self.builder.member(of, name, place.scope, MACRO));
            }
            _ => _ = self.builder.name(name, place.scope, MACRO),
        }
        let Some(tree) = super::child(node, "token_tree") else { return self.nothing };
        if QUOTING.contains(&text) {
            self.quoted(tree, place);
            return self.nothing;
        }
        if text.ends_with("matches") {
            self.matched(tree, place);
            return self.standard_instance("bool");
        }
        let is_formatting = FORMATTING.contains(&format!(" {text} "));
        let values = self.arguments_of(tree, place, is_formatting);
        match text {
            "vec" => {
                let element = self.builder.value(Value::AnyOf(values));
                self.standard_of("Vec", element)
            }
            "format" => self.standard_instance("String"),
            "concat" | "env" | "include_str" | "stringify" => self.standard_instance("str"),
            "dbg" => values.last().copied().unwrap_or(self.nothing),
            _ => self.nothing,
        }
    }

    /// Values in the brackets of a macro, where it is a list of expressions; names alone count otherwise.
    pub(super) fn arguments_of(&mut self, tree: Node<'_>, place: Place, is_formatting: bool) -> Vec<ValueId> {
        let mut values = Vec::new();
        self.within_macro(|this| {
            let parsed = parse_part(this.builder.source, Grammar::Rust, tree.range(), "", ";");
            match parsed.as_ref().and_then(|parsed| tokens::single(parsed.root_node())) {
                Some(whole) => values = this.listed(whole, place, is_formatting),
                None => this.torn(tree, place, is_formatting),
            }
        });
        values
    }

    /// The values of brackets that are an expression.
    fn listed(&mut self, whole: Node<'_>, place: Place, is_formatting: bool) -> Vec<ValueId> {
        let mut values = Vec::new();
        match whole.kind() {
            // Items in a macro are those of where it stands.
            "block" => values.push(self.statements(whole, place)),
            "tuple_expression" | "parenthesized_expression" | "array_expression" => {
                let assigned = |part: &Node<'_>| field(*part, "left").map(|left| self.builder.text(left));
                let named: Vec<&str> = children(whole).iter().filter_map(assigned).collect();
                for part in children(whole) {
                    match (part.kind(), field(part, "left"), field(part, "right")) {
                        // `format!("{x}", x = 1)`.
                        ("assignment_expression", Some(left), Some(right)) if left.kind() == "identifier" => {
                            values.push(self.expression(right, place));
                        }
                        ("string_literal" | "raw_string_literal", ..) if is_formatting => {
                            self.captures(part, place, &named);
                        }
                        _ => values.push(self.expression(part, place)),
                    }
                }
            }
            _ => values.push(self.expression(whole, place)),
        }
        values
    }

    /// `matches!(value, Pattern if condition)`.
    fn matched(&mut self, tree: Node<'_>, place: Place) {
        let all = tokens::inside(tree);
        let comma = all.iter().position(|token| token.kind() == ",").unwrap_or(all.len());
        let (value, pattern) = all.split_at(comma);
        let subject = self.segment(value, place, false);
        let pattern = pattern.get(1..).unwrap_or_default();
        let pattern = match pattern.split_last() {
            Some((last, rest)) if last.kind() == "," => rest,
            _ => pattern,
        };
        let Some(part) = tokens::range(pattern) else { return };
        let parsed = parse_part(self.builder.source, Grammar::Rust, part, "match x{", "=>0}");
        let whole = parsed.as_ref().and_then(|parsed| tokens::single(parsed.root_node()));
        let arm = whole.and_then(|whole| field(whole, "body")).and_then(|body| super::child(body, "match_arm"));
        match arm {
            Some(arm) => _ = self.arm(arm, subject, place),
            None => _ = self.segment(pattern, place, false),
        }
    }

    /// Code between commas; a value where it is an expression.
    pub(super) fn segment(&mut self, segment: &[Node<'_>], place: Place, is_formatting: bool) -> ValueId {
        let Some(part) = tokens::range(segment) else { return self.nothing };
        if let [only] = segment {
            match only.kind() {
                "string_literal" | "raw_string_literal" if is_formatting => self.captures(*only, place, &[]),
                "identifier" => return self.builder.name(*only, place.scope, super::BOTH),
                _ => {}
            }
        }
        let parsed = parse_part(self.builder.source, Grammar::Rust, part, "", ";");
        match parsed.as_ref().and_then(|parsed| tokens::single(parsed.root_node())) {
            Some(whole) => self.expression(whole, place),
            None => {
                self.chains(segment, place, false);
                self.nothing
            }
        }
    }

    /// Variables in the braces of a string, `"{name:>width$}"`, other than those that the macro is given by name.
    fn captures(&mut self, node: Node<'_>, place: Place, named: &[&str]) {
        let text = self.builder.text(node);
        for (at, name) in tokens::captured(text).into_iter().filter(|(_, name)| !named.contains(name)) {
            let start = (node.start_byte() + at) as u32;
            let value = Value::Name { name: name.into(), scope: place.scope, space: VALUE, at: start };
            let value = self.builder.value(value);
            let lines = text.get(..at).map_or(0, |before| before.matches('\n').count());
            let span = start..start + name.len() as u32;
            self.builder.refer_at(span, line(node) + lines as u32, place.scope, value);
        }
    }
}

/// The bytes and the places of nodes that stand side by side.
pub(super) fn range_of(first: Node<'_>, last: Node<'_>) -> Range {
    Range {
        start_byte: first.start_byte(),
        end_byte: last.end_byte(),
        start_point: first.start_position(),
        end_point: last.end_position(),
    }
}
