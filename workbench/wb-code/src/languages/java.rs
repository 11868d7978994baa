//! Java: Javadoc above methods and constructors.

use tree_sitter::Node;

use super::{
    Grammar,
    language::{DocKind, LanguageRules, Placement, Role, function_of, javadoc_kind},
};
use crate::{labels::Typing, prose::Markup};

pub(super) struct Java;

impl LanguageRules for Java {
    fn grammars(&self, _source: &str) -> &'static [Grammar] {
        &[Grammar::Java]
    }

    fn markers(&self) -> &'static [&'static str] {
        &["/**"]
    }

    fn role<'tree>(&self, node: Node<'tree>) -> Role<'tree> {
        match node.kind() {
            "method_declaration" | "constructor_declaration" | "compact_constructor_declaration" => function_of(node),
            "block_comment" | "line_comment" => Role::Comment,
            _ => Role::Other,
        }
    }

    fn placement(&self) -> Placement {
        Placement::DirectlyAbove
    }

    fn doc_kind(&self, text: &str) -> DocKind {
        javadoc_kind(text)
    }

    fn markup(&self) -> Markup {
        Markup::Tags
    }

    fn import_kinds(&self) -> &'static [&'static str] {
        &["import_declaration", "package_declaration"]
    }

    fn typings(&self) -> &'static [Typing] {
        TYPINGS
    }
}

/// Where types are declared.
const TYPINGS: &[Typing] = &[
    Typing::new("formal_parameter", "name", "type"),
    Typing::new("local_variable_declaration", "declarator", "type"),
    Typing::new("field_declaration", "declarator", "type"),
    Typing::new("method_declaration", "name", "type"),
    Typing::new("enhanced_for_statement", "name", "type"),
];
