//! C: Doxygen comments (`/** */`, `/*! */`, `///`, `//!`) directly above functions.

use tree_sitter::Node;

use super::{
    Grammar,
    language::{DocKind, LanguageRules, Role},
};
use crate::{labels::Typing, prose::Markup};

pub(super) struct C;

impl LanguageRules for C {
    fn grammars(&self, _source: &str) -> &'static [Grammar] {
        &[Grammar::C]
    }

    fn markers(&self) -> &'static [&'static str] {
        MARKERS
    }

    fn role<'tree>(&self, node: Node<'tree>, _source: &str) -> Role<'tree> {
        role(node)
    }

    fn doc_kind(&self, text: &str) -> DocKind {
        doc_kind(text)
    }

    fn markup(&self) -> Markup {
        Markup::Doxygen
    }

    fn typings(&self) -> &'static [Typing] {
        TYPINGS
    }
}

/// Nodes of C and C++ that declare types, which stand before the declarators.
pub(super) const TYPINGS: &[Typing] = &[
    Typing::new("parameter_declaration", "declarator", "type"),
    Typing::new("optional_parameter_declaration", "declarator", "type"),
    Typing::new("declaration", "declarator", "type"),
    Typing::new("field_declaration", "declarator", "type"),
    Typing::new("function_definition", "declarator", "type"),
];

/// Marks of which every Doxygen comment has one.
pub(super) const MARKERS: &[&str] = &["/**", "/*!", "///", "//!"];

/// The role of a node of C or C++.
pub(super) fn role<'tree>(node: Node<'tree>) -> Role<'tree> {
    match node.kind() {
        "comment" => Role::Comment,
        "template_declaration" | "friend_declaration" => Role::Wrapper,
        "function_definition" => match node.child_by_field_name("body").or_else(|| try_body(node)) {
            Some(body) => Role::Function { name: declared_name(node), body },
            None => Role::Declaration,
        },
        "declaration" | "field_declaration" if declares_function(node) => Role::Declaration,
        _ => Role::Other,
    }
}

/// Doxygen's comments; those that end in `<` speak of the member before them.
pub(super) fn doc_kind(text: &str) -> DocKind {
    let marker = text.get(..3).unwrap_or_default();
    match marker {
        "/**" | "/*!" | "///" | "//!" if text[3..].starts_with('<') => DocKind::Stop,
        "/**" if text.len() > 4 && !text.starts_with("/***") => DocKind::Block,
        "/*!" => DocKind::Block,
        "///" if !text.starts_with("////") => DocKind::Line,
        "//!" => DocKind::Line,
        _ => DocKind::Remark,
    }
}

/// A constructor's `try { … }` body is a child without a field.
fn try_body(node: Node<'_>) -> Option<Node<'_>> {
    let last = node.named_child(u32::try_from(node.named_child_count()).ok()?.checked_sub(1)?)?;
    (last.kind() == "try_statement").then_some(last)
}

/// The name at the end of a chain of declarators: `int *(name)(int)`.
fn declared_name(node: Node<'_>) -> Option<Node<'_>> {
    let mut at = node.child_by_field_name("declarator")?;
    loop {
        let inner = at.child_by_field_name("declarator").or_else(|| match at.kind() {
            "reference_declarator" | "parenthesized_declarator" | "attributed_declarator" => at.named_child(0),
            _ => None,
        });
        match inner {
            Some(inner) => at = inner,
            None => return Some(at),
        }
    }
}

fn declares_function(node: Node<'_>) -> bool {
    let mut at = node.child_by_field_name("declarator");
    while let Some(declarator) = at {
        match declarator.kind() {
            "function_declarator" => return true,
            "pointer_declarator" => at = declarator.child_by_field_name("declarator"),
            "reference_declarator" => at = declarator.named_child(0),
            _ => return false,
        }
    }
    false
}
