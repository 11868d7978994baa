//! Nodes of each grammar that are classes or what stands for them.

use std::ops::Range;

use tree_sitter::Node;

use crate::{
    Language,
    languages::{elixir, language::child_of_kind, zig},
};

/// The ranges of name and node of what is a class; for a type in C that of the whole `typedef`.
pub(super) fn class(language: Language, node: Node<'_>, source: &str) -> Option<(Option<Range<usize>>, Range<usize>)> {
    // Keywords (`class` in Ruby) have the name of what they begin.
    if !node.is_named() || !kinds(language).contains(&node.kind()) {
        return None;
    }
    named(language, node, source)
}

fn named(language: Language, node: Node<'_>, source: &str) -> Option<(Option<Range<usize>>, Range<usize>)> {
    let own = language.rules().code_range(node);
    let field = |name| node.child_by_field_name(name);
    let (name, own) = match language {
        // `Show (Tree a)`: which class, of what.
        Language::Haskell => {
            let name = field("name")?;
            let of = field("patterns").filter(|_| node.kind() == "instance");
            return Some((Some(name.start_byte()..of.unwrap_or(name).end_byte()), own));
        }
        Language::Elixir => {
            let word = elixir::target(node, source)?;
            let arguments = elixir::arguments(node).filter(|_| MODULES.contains(&word))?;
            let name = if word == "defimpl" { Some(arguments) } else { arguments.named_child(0) };
            (name, own)
        }
        Language::Zig => (Some(zig::container(node)?), own),
        // Functions of a companion without a name are its class's own.
        Language::Kotlin => (Some(child_of_kind(node, "type_identifier")?), own),
        // Without a name of its own it goes by its type; an alias of a value is no class.
        Language::Scala if node.kind() == "given_definition" => {
            field("body").filter(|body| body.kind() == "with_template_body")?;
            (field("name").or_else(|| field("return_type")), own)
        }
        Language::Rust if node.kind() == "impl_item" => (field("type"), own),
        // One declaration holds one type, or several in brackets.
        Language::Go => {
            let first = node.named_child(0);
            (first.and_then(|spec| spec.child_by_field_name("name")), own)
        }
        Language::C | Language::Cpp => {
            field("body")?;
            match node.parent().filter(|parent| parent.kind() == "type_definition") {
                Some(parent) => {
                    (field("name").or_else(|| parent.child_by_field_name("declarator")), parent.byte_range())
                }
                None => (field("name"), own),
            }
        }
        _ => (field("name"), own),
    };
    Some((name.map(|name| name.byte_range()), own))
}

/// Words of Elixir that begin a module or what is one.
const MODULES: [&str; 3] = ["defmodule", "defprotocol", "defimpl"];

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
        Language::CSharp => &[
            "class_declaration",
            "interface_declaration",
            "struct_declaration",
            "record_declaration",
            "enum_declaration",
        ],
        Language::Kotlin => &["class_declaration", "object_declaration", "companion_object"],
        Language::Scala => &[
            "class_definition",
            "object_definition",
            "trait_definition",
            "enum_definition",
            "package_object",
            "given_definition",
        ],
        Language::Swift => &["class_declaration", "protocol_declaration"],
        Language::Lua | Language::Shell => &[],
        Language::Haskell => {
            &["data_type", "newtype", "class", "instance", "type_synonym", "type_family", "data_family"]
        }
        Language::Elixir => &["call"],
        Language::Zig => &["variable_declaration"],
    }
}
