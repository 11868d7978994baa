//! PHP: PHPDoc above functions and methods.

use tree_sitter::Node;

use super::{
    Grammar,
    language::{LanguageRules, Role, function_of},
};
use crate::labels::Typing;

pub(super) struct Php;

impl LanguageRules for Php {
    fn grammars(&self, source: &str) -> &'static [Grammar] {
        if source.contains("<?") { &[Grammar::Php] } else { &[Grammar::PhpOnly] }
    }

    fn role<'tree>(&self, node: Node<'tree>, _source: &str) -> Role<'tree> {
        match node.kind() {
            "function_definition" | "method_declaration" => function_of(node),
            "comment" => Role::Comment,
            _ => Role::Other,
        }
    }

    fn typings(&self) -> &'static [Typing] {
        TYPINGS
    }
}

/// Nodes that declare types.
const TYPINGS: &[Typing] = &[
    Typing::new("simple_parameter", "name", "type"),
    Typing::new("function_definition", "name", "return_type"),
    Typing::new("method_declaration", "name", "return_type"),
    Typing::new("property_declaration", "", "type"),
];
