//! JavaScript: JSDoc above functions, methods, and names that hold a function.

use tree_sitter::Node;

use super::{
    Grammar,
    language::{LanguageRules, Role, function_of},
};

pub(super) struct JavaScript;

impl LanguageRules for JavaScript {
    fn grammars(&self, _source: &str) -> &'static [Grammar] {
        &[Grammar::JavaScript]
    }

    fn role<'tree>(&self, node: Node<'tree>, _source: &str) -> Role<'tree> {
        role(node)
    }
}

/// The role of a node of JavaScript or TypeScript.
pub(super) fn role<'tree>(node: Node<'tree>) -> Role<'tree> {
    match node.kind() {
        "comment" => Role::Comment,
        "decorator" => Role::Attribute,
        "function_declaration" | "generator_function_declaration" | "method_definition" => function_of(node),
        "function_signature" | "method_signature" | "abstract_method_signature" => Role::Declaration,
        "lexical_declaration" | "variable_declaration" => declared(node).unwrap_or(Role::Other),
        "expression_statement" => assigned(node).unwrap_or(Role::Other),
        "pair" => holder(node, "key", "value").unwrap_or(Role::Other),
        "field_definition" => holder(node, "property", "value").unwrap_or(Role::Other),
        "public_field_definition" => holder(node, "name", "value").unwrap_or(Role::Other),
        "export_statement" => holder(node, "name", "value").unwrap_or(Role::Wrapper),
        _ => Role::Other,
    }
}

/// `const f = () => {…}`, with one name declared.
fn declared(node: Node<'_>) -> Option<Role<'_>> {
    if node.named_child_count() != 1 {
        return None;
    }
    holder(node.named_child(0)?, "name", "value")
}

/// `a.b.c = function () {…}`.
fn assigned(node: Node<'_>) -> Option<Role<'_>> {
    let assignment = node.named_child(0).filter(|child| child.kind() == "assignment_expression")?;
    holder(assignment, "left", "right")
}

fn holder<'tree>(node: Node<'tree>, name: &str, value: &str) -> Option<Role<'tree>> {
    let value = node.child_by_field_name(value)?;
    if !matches!(value.kind(), "arrow_function" | "function_expression" | "generator_function") {
        return None;
    }
    Some(Role::Function { name: node.child_by_field_name(name), body: value.child_by_field_name("body")? })
}
