//! Names in Go: a variable is known from after its declaration to the end of its block.

use tree_sitter::Node;

use super::{Role, all_of, nearest, rest_of};
use crate::rewrites::source::is_field;

const BLOCKS: &[&str] = &[
    "block",
    "if_statement",
    "for_statement",
    "expression_switch_statement",
    "type_switch_statement",
    "expression_case",
    "default_case",
    "type_case",
    "communication_case",
];

pub(super) fn role(node: Node<'_>) -> Option<Role> {
    let parent = node.parent()?;
    match parent.kind() {
        "function_declaration" if is_field(node, "name") => None,
        // The key of a struct literal is a field, the key of a map literal may be a variable.
        "literal_element" if is_field(parent, "key") => Some(Role::Blocked),
        "keyed_element" if is_field(node, "key") => Some(Role::Blocked),
        "parameter_declaration" | "variadic_parameter_declaration" if is_field(node, "name") => {
            parent.parent().and_then(|list| list.parent()).map(all_of)
        }
        "var_spec" | "const_spec" if is_field(node, "name") => Some(until_block_end(parent)),
        "expression_list" => {
            let holder = parent.parent()?;
            let is_left = is_field(parent, "left");
            match holder.kind() {
                "short_var_declaration" if is_left => Some(until_block_end(holder)),
                "range_clause" if is_left && has_child(holder, ":=") => {
                    let body = holder.parent()?.child_by_field_name("body")?;
                    Some(Role::Bind(vec![body.byte_range()]))
                }
                "receive_statement" if is_left => Some(Role::Blocked),
                "type_switch_statement" if is_field(parent, "alias") => Some(Role::Blocked),
                _ => Some(Role::Use),
            }
        }
        "type_spec" | "type_alias" | "qualified_type" => Some(Role::Blocked),
        _ => Some(Role::Use),
    }
}

fn has_child(node: Node<'_>, kind: &str) -> bool {
    let mut cursor = node.walk();
    node.children(&mut cursor).any(|child| child.kind() == kind)
}

fn until_block_end(declaration: Node<'_>) -> Role {
    nearest(declaration, BLOCKS).map_or(Role::Blocked, |block| rest_of(block, declaration.end_byte()))
}
