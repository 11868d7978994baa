//! Zig: `///` lines above functions; containers are values of constants.

use tree_sitter::Node;

use super::{
    Grammar,
    language::{DocKind, LanguageRules, Role, child_of_kind, function_of},
};
use crate::{labels::Typing, prose::Markup};

pub(super) struct Zig;

impl LanguageRules for Zig {
    fn grammars(&self, _source: &str) -> &'static [Grammar] {
        &[Grammar::Zig]
    }

    fn markers(&self) -> &'static [&'static str] {
        &["///"]
    }

    fn role<'tree>(&self, node: Node<'tree>, _source: &str) -> Role<'tree> {
        match node.kind() {
            "function_declaration" => function_of(node),
            "test_declaration" => test(node).unwrap_or(Role::Other),
            "comment" => Role::Comment,
            _ => Role::Other,
        }
    }

    fn doc_kind(&self, text: &str) -> DocKind {
        match text.get(..3) {
            Some("///") if !text.starts_with("////") => DocKind::Line,
            Some("//!") => DocKind::Stop,
            _ => DocKind::Remark,
        }
    }

    fn markup(&self) -> Markup {
        Markup::Markdown
    }

    fn is_directive(&self, line: &str) -> bool {
        line.trim_start().starts_with("zig fmt:")
    }

    fn typings(&self) -> &'static [Typing] {
        TYPINGS
    }
}

/// `test "name" { … }`, `test name { … }`, `test { … }`.
fn test(node: Node<'_>) -> Option<Role<'_>> {
    let name = child_of_kind(node, "string")
        .and_then(|text| child_of_kind(text, "string_content"))
        .or_else(|| child_of_kind(node, "identifier"));
    Some(Role::Function { name, body: child_of_kind(node, "block")? })
}

/// Kinds of values that are containers of declarations, or sets of errors.
const CONTAINERS: [&str; 5] =
    ["struct_declaration", "enum_declaration", "union_declaration", "opaque_declaration", "error_set_declaration"];

/// The name of a constant that holds a container: `const Point = struct { … };`.
pub(crate) fn container(node: Node<'_>) -> Option<Node<'_>> {
    let last = node.named_child(u32::try_from(node.named_child_count()).ok()?.checked_sub(1)?)?;
    CONTAINERS.contains(&last.kind()).then(|| child_of_kind(node, "identifier")).flatten()
}

/// Nodes that declare types.
const TYPINGS: &[Typing] = &[
    Typing::new("parameter", "name", "type"),
    Typing::new("container_field", "name", "type"),
    Typing::new("variable_declaration", "", "type"),
    Typing::new("function_declaration", "name", "type"),
];
