//! Java: Javadoc above methods and constructors.

use tree_sitter::Node;

use super::{
    Grammar,
    language::{LanguageRules, Role, function_of},
};
use crate::labels::Typing;

pub(super) struct Java;

impl LanguageRules for Java {
    fn grammars(&self, _source: &str) -> &'static [Grammar] {
        &[Grammar::Java]
    }

    fn role<'tree>(&self, node: Node<'tree>, _source: &str) -> Role<'tree> {
        match node.kind() {
            "method_declaration" | "constructor_declaration" | "compact_constructor_declaration" => function_of(node),
            "block_comment" | "line_comment" => Role::Comment,
            _ => Role::Other,
        }
    }

    fn typings(&self) -> &'static [Typing] {
        TYPINGS
    }
}

/// Nodes that declare types.
const TYPINGS: &[Typing] = &[
    Typing::new("formal_parameter", "name", "type"),
    Typing::new("local_variable_declaration", "declarator", "type"),
    Typing::new("field_declaration", "declarator", "type"),
    Typing::new("method_declaration", "name", "type"),
    Typing::new("enhanced_for_statement", "name", "type"),
];
