//! Names in Java: a local variable is known from its declaration to the end of its block.

use tree_sitter::Node;

use super::{Role, all_of, nearest, rest_of};
use crate::rewrites::source::is_field;

const BLOCKS: &[&str] = &[
    "block",
    "constructor_body",
    "for_statement",
    "switch_block_statement_group",
    "switch_block",
    "switch_rule",
    "lambda_expression",
    "method_declaration",
];

pub(super) fn role(node: Node<'_>) -> Option<Role> {
    let parent = node.parent()?;
    match parent.kind() {
        "method_invocation" if is_field(node, "name") => None,
        "field_access" if is_field(node, "field") => None,
        "method_declaration" | "constructor_declaration" | "class_declaration" if is_field(node, "name") => None,
        "method_reference" if parent.child(0).is_some_and(|first| first.id() != node.id()) => None,
        "labeled_statement" | "break_statement" | "continue_statement" => None,
        "annotation" | "marker_annotation" | "element_value_pair" if !is_field(node, "value") => None,
        "scoped_identifier" | "switch_label" | "enum_constant" | "record_pattern_component" | "type_pattern" => {
            Some(Role::Blocked)
        }
        "instanceof_expression" if is_field(node, "name") => Some(Role::Blocked),
        "formal_parameter" if is_field(node, "name") => {
            let owner = parent.parent().and_then(|list| list.parent())?;
            Some(all_of(owner))
        }
        "variable_declarator" if is_field(node, "name") => Some(declared(parent)),
        "enhanced_for_statement" if is_field(node, "name") => {
            Some(Role::Bind(vec![parent.child_by_field_name("body")?.byte_range()]))
        }
        "catch_formal_parameter" => parent.parent().map(all_of),
        "resource" if is_field(node, "name") => nearest(parent, &["try_with_resources_statement"]).map(all_of),
        "lambda_expression" if is_field(node, "parameters") => Some(all_of(parent)),
        "inferred_parameters" => parent.parent().map(all_of),
        _ => Some(Role::Use),
    }
}

fn declared(declarator: Node<'_>) -> Role {
    let Some(declaration) = declarator.parent() else { return Role::Blocked };
    match declaration.kind() {
        "spread_parameter" => declaration.parent().and_then(|list| list.parent()).map_or(Role::Blocked, all_of),
        "local_variable_declaration" => {
            nearest(declaration, BLOCKS).map_or(Role::Blocked, |block| rest_of(block, declarator.start_byte()))
        }
        // A field of a class in the function.
        _ => Role::Blocked,
    }
}
