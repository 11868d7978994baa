//! Swift: `///` lines or `/** */` above functions, initializers, subscripts and computed properties.

use tree_sitter::Node;

use super::{
    Grammar,
    language::{DocKind, LanguageRules, Role, begins_with_any, child_of_kind, function, slashes_kind},
};
use crate::{labels::Typing, prose::Markup};

pub(super) struct Swift;

impl LanguageRules for Swift {
    fn grammars(&self, _source: &str) -> &'static [Grammar] {
        &[Grammar::Swift]
    }

    fn markers(&self) -> &'static [&'static str] {
        &["///", "/**"]
    }

    fn test_marks(&self) -> &'static [&'static str] {
        &["@Test", "@Suite"]
    }

    fn role<'tree>(&self, node: Node<'tree>, _source: &str) -> Role<'tree> {
        let name = || node.child_by_field_name("name");
        let body = || node.child_by_field_name("body");
        match node.kind() {
            "function_declaration" | "init_declaration" => function(name(), body()),
            "deinit_declaration" => function(child_of_kind(node, "deinit"), body()),
            "subscript_declaration" => {
                function(child_of_kind(node, "subscript"), child_of_kind(node, "computed_property"))
            }
            "property_declaration" => match node.child_by_field_name("computed_value") {
                Some(body) => Role::Function { name: name(), body },
                None => Role::Other,
            },
            "protocol_function_declaration" => Role::Declaration,
            "comment" | "multiline_comment" => Role::Comment,
            _ => Role::Other,
        }
    }

    fn doc_kind(&self, text: &str) -> DocKind {
        slashes_kind(text)
    }

    fn markup(&self) -> Markup {
        Markup::Swift
    }

    fn is_directive(&self, line: &str) -> bool {
        begins_with_any(line, &["swiftlint:", "swiftformat:"])
    }

    fn typings(&self) -> &'static [Typing] {
        TYPINGS
    }
}

/// Nodes that declare types; names and types have one field there.
const TYPINGS: &[Typing] = &[
    Typing::after_name("parameter", "name"),
    Typing::after_name("property_declaration", "name"),
    Typing::after_name("protocol_property_declaration", "name"),
    Typing::after_name("function_declaration", "name"),
    Typing::after_name("protocol_function_declaration", "name"),
];
