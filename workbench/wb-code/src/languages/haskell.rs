//! Haskell: Haddock (`-- |`, `{-| -}`) above the type signature of a function, which is one with its equations.

use tree_sitter::Node;

use super::{
    Grammar,
    language::{Clause, DocKind, LanguageRules, Role},
};
use crate::{documented::layout::dedent, prose::Markup};

pub(super) struct Haskell;

impl LanguageRules for Haskell {
    fn grammars(&self, _source: &str) -> &'static [Grammar] {
        &[Grammar::Haskell]
    }

    fn markers(&self) -> &'static [&'static str] {
        &["--", "{-"]
    }

    fn may_document(&self, source: &str) -> bool {
        source.contains('|')
    }

    fn role<'tree>(&self, node: Node<'tree>, _source: &str) -> Role<'tree> {
        match node.kind() {
            "function" => equation(node),
            "bind" if !is_local(node) => equation(node),
            "signature" | "foreign_import" => Role::Declaration,
            "comment" | "haddock" => Role::Comment,
            "pragma" => Role::Attribute,
            _ => Role::Other,
        }
    }

    fn has_clauses(&self) -> bool {
        true
    }

    fn clause(&self, node: Node<'_>, source: &str) -> Option<Clause> {
        let has_body = match node.kind() {
            "signature" => false,
            "function" | "bind" => true,
            _ => return None,
        };
        let text = |name: Node<'_>| source.get(name.byte_range()).map(str::to_owned);
        let names: Vec<String> = match node.child_by_field_name("names") {
            Some(list) => {
                let mut cursor = list.walk();
                list.children_by_field_name("name", &mut cursor).filter_map(|name| text(bare(name))).collect()
            }
            None => name(node).and_then(text).into_iter().collect(),
        };
        (!names.is_empty()).then_some(Clause { names, has_body })
    }

    fn doc_kind(&self, text: &str) -> DocKind {
        let inner = ["{-", "--"].iter().find_map(|open| text.strip_prefix(open)).unwrap_or_default();
        match inner.trim_start().chars().next() {
            Some('|') => DocKind::Block,
            Some('^') => DocKind::Stop,
            _ => DocKind::Remark,
        }
    }

    fn comment_text(&self, comment: &str) -> Option<String> {
        let text = match comment.strip_prefix("{-") {
            Some(inner) => inner.strip_suffix("-}").unwrap_or(inner).to_owned(),
            None => comment.lines().map(unmarked).collect::<Vec<_>>().join("\n"),
        };
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        let first = first.trim_start();
        Some(format!("{}\n{}", first.strip_prefix('|').unwrap_or(first).trim(), dedent(rest)).trim().to_owned())
    }

    fn markup(&self) -> Markup {
        Markup::Haddock
    }
}

/// A line of a comment without its dashes and the one space after them.
fn unmarked(line: &str) -> &str {
    let text = line.trim_start().trim_start_matches('-');
    text.strip_prefix(' ').unwrap_or(text)
}

/// Variables of `let` and `where` are no functions, their equations with parameters are.
fn is_local(node: Node<'_>) -> bool {
    node.parent().is_some_and(|parent| parent.kind() == "local_binds")
}

fn equation(node: Node<'_>) -> Role<'_> {
    let Some(name) = name(node) else { return Role::Other };
    Role::Function { name: Some(name), body: node.child_by_field_name("match").unwrap_or(node) }
}

/// The name that an equation or a signature is about: `f x`, `x <+> y`, ``x `f` y``, `(x <+> y) z`.
fn name(node: Node<'_>) -> Option<Node<'_>> {
    if let Some(name) = node.child_by_field_name("name") {
        return Some(bare(name));
    }
    let mut head = node;
    while let Some(inner) = head.child_by_field_name("parens") {
        head = inner;
    }
    let infix = head.named_child(0).filter(|child| child.kind() == "infix")?;
    infix.child_by_field_name("operator").map(bare)
}

/// An operator without its parentheses, a name without its backticks.
fn bare(name: Node<'_>) -> Node<'_> {
    match name.kind() {
        "prefix_id" | "infix_id" => name.named_child(0).unwrap_or(name),
        _ => name,
    }
}
