//! Names in PHP: every `$name` belongs to its function; closures take theirs along by `use`.

use tree_sitter::Node;

use super::{Name, Role};
use crate::rewrites::{
    ParsedSource, Refusal,
    source::{is_field, preorder},
};

/// Calls that see variables by their names.
const REFLECTION: &[&str] = &["compact", "extract", "eval", "get_defined_vars", "parse_str", "func_get_args"];
/// Variables that are everywhere.
const GLOBALS: &[&str] =
    &["_GET", "_POST", "_SERVER", "_COOKIE", "_FILES", "_ENV", "_REQUEST", "_SESSION", "GLOBALS", "this"];

pub(super) fn names<'t>(source: &'t ParsedSource<'_>, function: Node<'t>) -> Result<Vec<Name<'t>>, Refusal> {
    let mut names = Vec::new();
    for node in preorder(function) {
        match node.kind() {
            "dynamic_variable_name"
            | "include_expression"
            | "include_once_expression"
            | "require_expression"
            | "require_once_expression"
            | "heredoc" => {
                return Err(Refusal::Unsafe("variables are looked at by name"));
            }
            "name" if REFLECTION.contains(&source.str(node)) => {
                return Err(Refusal::Unsafe("variables are looked at by name"));
            }
            _ => {}
        }
        let Some(parent) = node.parent().filter(|parent| node.kind() == "name" && parent.kind() == "variable_name")
        else {
            continue;
        };
        names.push(Name { node, role: role(source, node, parent, function) });
    }
    Ok(names)
}

fn role(source: &ParsedSource<'_>, name: Node<'_>, variable: Node<'_>, function: Node<'_>) -> Role {
    let Some(holder) = variable.parent() else { return Role::Blocked };
    let has_default = holder.child_by_field_name("default_value").is_some();
    match holder.kind() {
        _ if GLOBALS.contains(&source.str(name)) => Role::Blocked,
        "scoped_property_access_expression" if is_field(variable, "name") => Role::Blocked,
        "global_declaration" | "property_promotion_parameter" | "property_element" => Role::Blocked,
        "simple_parameter" if has_default && is_field(variable, "name") => Role::Blocked,
        _ if is_binding(variable, holder) => Role::Bind(vec![function.byte_range()]),
        _ => Role::Use,
    }
}

fn is_binding(variable: Node<'_>, holder: Node<'_>) -> bool {
    match holder.kind() {
        "simple_parameter" | "variadic_parameter" => is_field(variable, "name"),
        "assignment_expression" => is_field(variable, "left"),
        "foreach_statement" | "pair" | "list_literal" | "catch_clause" | "static_variable_declaration" => true,
        _ => false,
    }
}
