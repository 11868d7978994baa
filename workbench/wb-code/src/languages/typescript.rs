//! TypeScript, with and without JSX: JSDoc as in JavaScript.

use tree_sitter::Node;

use super::{
    Grammar, javascript,
    language::{LanguageRules, Role},
};
use crate::labels::Typing;

pub(super) struct TypeScript;

impl LanguageRules for TypeScript {
    fn grammars(&self, _source: &str) -> &'static [Grammar] {
        &[Grammar::TypeScript, Grammar::Tsx]
    }

    fn role<'tree>(&self, node: Node<'tree>, _source: &str) -> Role<'tree> {
        javascript::role(node)
    }

    fn typings(&self) -> &'static [Typing] {
        TYPINGS
    }
}

/// Nodes that declare types.
const TYPINGS: &[Typing] = &[
    Typing::new("required_parameter", "pattern", "type"),
    Typing::new("optional_parameter", "pattern", "type"),
    Typing::new("variable_declarator", "name", "type"),
    Typing::new("public_field_definition", "name", "type"),
    Typing::new("property_signature", "name", "type"),
    Typing::new("function_declaration", "name", "return_type"),
    Typing::new("function_signature", "name", "return_type"),
    Typing::new("method_definition", "name", "return_type"),
    Typing::new("method_signature", "name", "return_type"),
    Typing::new("abstract_method_signature", "name", "return_type"),
];
