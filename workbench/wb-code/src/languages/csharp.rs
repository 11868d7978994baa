//! C#: XML documentation (`///` lines or `/** */`) above methods, constructors, operators, and properties with code.

use tree_sitter::Node;

use super::{
    Grammar,
    language::{DocKind, LanguageRules, Role, child_of_kind, function, function_of, slashes_kind},
};
use crate::{labels::Typing, prose::Markup};

pub(super) struct CSharp;

impl LanguageRules for CSharp {
    fn grammars(&self, _source: &str) -> &'static [Grammar] {
        &[Grammar::CSharp]
    }

    fn markers(&self) -> &'static [&'static str] {
        &["///", "/**"]
    }

    fn test_marks(&self) -> &'static [&'static str] {
        &["[Fact", "[Theory", "[Test", "[TestCase", "[TestMethod", "[DataTestMethod", "[TestFixture", "[TestClass"]
    }

    fn role<'tree>(&self, node: Node<'tree>, _source: &str) -> Role<'tree> {
        match node.kind() {
            "method_declaration"
            | "constructor_declaration"
            | "destructor_declaration"
            | "local_function_statement" => function_of(node),
            "operator_declaration" => function(node.child_by_field_name("operator"), node.child_by_field_name("body")),
            "conversion_operator_declaration" => {
                function(node.child_by_field_name("type"), node.child_by_field_name("body"))
            }
            "property_declaration" => property(node, node.child_by_field_name("name")),
            "indexer_declaration" => property(node, child_of_kind(node, "this")),
            "comment" => Role::Comment,
            _ => Role::Other,
        }
    }

    fn doc_kind(&self, text: &str) -> DocKind {
        slashes_kind(text)
    }

    fn markup(&self) -> Markup {
        Markup::Xml
    }

    fn typings(&self) -> &'static [Typing] {
        TYPINGS
    }
}

/// A property or an indexer is a function where some of it is code: `=> …`, `get { … }`.
fn property<'tree>(node: Node<'tree>, name: Option<Node<'tree>>) -> Role<'tree> {
    if let Some(body) = child_of_kind(node, "arrow_expression_clause") {
        return Role::Function { name, body };
    }
    let Some(accessors) = node.child_by_field_name("accessors") else { return Role::Other };
    let has_code = accessors.named_children(&mut accessors.walk()).any(|one| one.child_by_field_name("body").is_some());
    if has_code { Role::Function { name, body: accessors } } else { Role::Other }
}

/// Nodes that declare types.
const TYPINGS: &[Typing] = &[
    Typing::new("parameter", "name", "type"),
    Typing::of_children("variable_declaration", "variable_declarator", "type"),
    Typing::new("property_declaration", "name", "type"),
    Typing::new("method_declaration", "name", "returns"),
    Typing::new("local_function_statement", "name", "type"),
    Typing::new("foreach_statement", "left", "type"),
];
