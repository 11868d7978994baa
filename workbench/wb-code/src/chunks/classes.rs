//! Nodes of each grammar that are classes or what stands for them.

use std::ops::Range;

use tree_sitter::Node;

use crate::Language;

/// The name and the range of a node that is a class; for a type in C the whole `typedef`.
pub(super) fn class(language: Language, node: Node<'_>) -> Option<(Option<Node<'_>>, Range<usize>)> {
    // Keywords (`class` in Ruby) have the name of what they begin.
    if !node.is_named() || !kinds(language).contains(&node.kind()) {
        return None;
    }
    let field = |name| node.child_by_field_name(name);
    Some(match language {
        Language::Rust if node.kind() == "impl_item" => (field("type"), node.byte_range()),
        // One declaration holds one type, or several in brackets.
        Language::Go => {
            let first = node.named_child(0);
            (first.and_then(|spec| spec.child_by_field_name("name")), node.byte_range())
        }
        Language::C | Language::Cpp => {
            field("body")?;
            match node.parent().filter(|parent| parent.kind() == "type_definition") {
                Some(parent) => {
                    (field("name").or_else(|| parent.child_by_field_name("declarator")), parent.byte_range())
                }
                None => (field("name"), node.byte_range()),
            }
        }
        _ => (field("name"), node.byte_range()),
    })
}

fn kinds(language: Language) -> &'static [&'static str] {
    match language {
        Language::Rust => &["struct_item", "enum_item", "union_item", "trait_item", "impl_item"],
        Language::Python => &["class_definition"],
        Language::Java => &["class_declaration", "interface_declaration", "enum_declaration", "record_declaration"],
        Language::JavaScript => &["class_declaration"],
        Language::TypeScript => {
            &["class_declaration", "abstract_class_declaration", "interface_declaration", "enum_declaration"]
        }
        Language::Go => &["type_declaration"],
        Language::Ruby => &["class", "module"],
        Language::Php => &["class_declaration", "interface_declaration", "trait_declaration", "enum_declaration"],
        Language::C => &["struct_specifier", "union_specifier", "enum_specifier"],
        Language::Cpp => &["class_specifier", "struct_specifier", "union_specifier", "enum_specifier"],
    }
}
