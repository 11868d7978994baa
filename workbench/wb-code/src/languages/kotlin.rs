//! Kotlin: KDoc above functions, constructors, and properties with a getter or setter of their own.

use tree_sitter::Node;

use super::{
    Grammar,
    language::{Clause, LanguageRules, Role, child_of_kind, function},
};
use crate::labels::Typing;

pub(super) struct Kotlin;

impl LanguageRules for Kotlin {
    fn grammars(&self, _source: &str) -> &'static [Grammar] {
        &[Grammar::Kotlin]
    }

    fn test_marks(&self) -> &'static [&'static str] {
        &["@Test", "@ParameterizedTest", "@RepeatedTest", "@TestFactory"]
    }

    fn role<'tree>(&self, node: Node<'tree>, _source: &str) -> Role<'tree> {
        match node.kind() {
            "function_declaration" => function(name(node), child_of_kind(node, "function_body")),
            // The braces of a constructor have no node of their own.
            "secondary_constructor" => function(child_of_kind(node, "constructor"), child_of_kind(node, "{")),
            "property_declaration" => property(node).unwrap_or(Role::Other),
            "getter" | "setter" => accessor(node).unwrap_or(Role::Other),
            "multiline_comment" | "line_comment" => Role::Comment,
            _ => Role::Other,
        }
    }

    fn has_clauses(&self) -> bool {
        true
    }

    /// The accessors of a property stand behind it.
    fn clause(&self, node: Node<'_>, _source: &str) -> Option<Clause> {
        let has_body = match node.kind() {
            "property_declaration" => false,
            "getter" | "setter" => true,
            _ => return None,
        };
        Some(Clause { names: vec!["accessor".to_owned()], has_body })
    }

    fn typings(&self) -> &'static [Typing] {
        TYPINGS
    }
}

/// The name of a function or a variable.
fn name(node: Node<'_>) -> Option<Node<'_>> {
    child_of_kind(node, "simple_identifier")
}

/// `val size: Int get() = items.size` on one line.
fn property(node: Node<'_>) -> Option<Role<'_>> {
    let accessor = child_of_kind(node, "getter").or_else(|| child_of_kind(node, "setter"))?;
    let body = child_of_kind(accessor, "function_body")?;
    Some(Role::Function { name: child_of_kind(node, "variable_declaration").and_then(name), body })
}

/// `get() = items.size` below `val size: Int`.
fn accessor(node: Node<'_>) -> Option<Role<'_>> {
    let body = child_of_kind(node, "function_body")?;
    let mut before = std::iter::successors(node.prev_named_sibling(), |node| node.prev_named_sibling());
    let property = before.find(|node| !node.is_extra()).filter(|node| node.kind() == "property_declaration")?;
    Some(Role::Function { name: child_of_kind(property, "variable_declaration").and_then(name), body })
}

/// Nodes that declare types.
const TYPINGS: &[Typing] = &[
    Typing::after_name("parameter", ""),
    Typing::after_name("class_parameter", ""),
    Typing::after_name("variable_declaration", ""),
    Typing::after_name("function_declaration", ""),
];
