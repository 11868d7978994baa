//! Scala 2 and 3: Scaladoc above `def`, also in classes, objects, extensions and givens.

use std::ops::Range;

use tree_sitter::Node;

use super::{
    Grammar,
    language::{LanguageRules, Role, function_of},
};
use crate::{labels::Typing, prose::Markup};

pub(super) struct Scala;

impl LanguageRules for Scala {
    fn grammars(&self, _source: &str) -> &'static [Grammar] {
        &[Grammar::Scala]
    }

    fn test_marks(&self) -> &'static [&'static str] {
        &["@Test", "@ParameterizedTest"]
    }

    fn role<'tree>(&self, node: Node<'tree>, _source: &str) -> Role<'tree> {
        match node.kind() {
            "function_definition" => function_of(node),
            "function_declaration" => Role::Declaration,
            "comment" | "block_comment" => Role::Comment,
            "extension_definition" if holds_one_function(node) => Role::Wrapper,
            _ => Role::Other,
        }
    }

    /// The grammar takes the comments below an indented body into it, which speak of what comes next.
    fn code_range(&self, node: Node<'_>) -> Range<usize> {
        node.start_byte()..code_end(node).unwrap_or_else(|| node.end_byte())
    }

    fn markup(&self) -> Markup {
        Markup::Scaladoc
    }

    fn typings(&self) -> &'static [Typing] {
        TYPINGS
    }
}

/// The end of the last part of a node that is no comment.
fn code_end(node: Node<'_>) -> Option<usize> {
    let mut cursor = node.walk();
    while cursor.goto_last_child() {
        while cursor.node().is_extra() || cursor.node().byte_range().is_empty() {
            if !cursor.goto_previous_sibling() {
                return None;
            }
        }
    }
    Some(cursor.node().end_byte())
}

/// `extension (text: String) def second = …`, with nothing documented inside.
fn holds_one_function(node: Node<'_>) -> bool {
    let mut cursor = node.walk();
    let inner =
        node.named_children(&mut cursor).filter(|child| !matches!(child.kind(), "parameters" | "type_parameters"));
    let kinds: Vec<&str> = inner.map(|child| child.kind()).collect();
    kinds == ["function_definition"]
}

/// Nodes that declare types.
const TYPINGS: &[Typing] = &[
    Typing::new("parameter", "name", "type"),
    Typing::new("class_parameter", "name", "type"),
    Typing::new("val_definition", "pattern", "type"),
    Typing::new("var_definition", "pattern", "type"),
    Typing::new("val_declaration", "name", "type"),
    Typing::new("var_declaration", "name", "type"),
    Typing::new("function_definition", "name", "return_type"),
    Typing::new("function_declaration", "name", "return_type"),
];
