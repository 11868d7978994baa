//! Names in JavaScript: `var` and parameters belong to their function, `let` and `const` to their block.

use tree_sitter::Node;

use super::{Name, Role, all_of, nearest, pattern_top};
use crate::{
    languages::Language,
    rewrites::{
        ParsedSource, Refusal,
        source::{function_kinds, is_field, preorder},
    },
};

const PATTERNS: &[&str] = &["array_pattern", "rest_pattern", "object_pattern", "pair_pattern"];
fn functions() -> &'static [&'static str] {
    function_kinds(Language::JavaScript)
}

const BLOCKS: &[&str] = &[
    "statement_block",
    "for_statement",
    "for_in_statement",
    "switch_body",
    "function_declaration",
    "function_expression",
    "arrow_function",
    "method_definition",
    "class_static_block",
    "program",
];

pub(super) fn names<'t>(source: &'t ParsedSource<'_>, function: Node<'t>) -> Result<Vec<Name<'t>>, Refusal> {
    let mut names = Vec::new();
    for node in preorder(function) {
        let kind = node.kind();
        if kind == "with_statement" || kind.starts_with("jsx_") {
            return Err(Refusal::Unsafe("with, or JSX"));
        }
        let role = match kind {
            "identifier" => {
                if matches!(source.str(node), "eval" | "Function") {
                    return Err(Refusal::Unsafe("variables are looked at by name"));
                }
                identifier_role(node)
            }
            "shorthand_property_identifier" => Some(Role::Shorthand),
            "shorthand_property_identifier_pattern" => Some(Role::Blocked),
            _ => None,
        };
        names.extend(role.map(|role| Name { node, role }));
    }
    Ok(names)
}

fn identifier_role(node: Node<'_>) -> Option<Role> {
    let parent = node.parent()?;
    if is_field(node, "name") && (functions().contains(&parent.kind()) || parent.kind().starts_with("class")) {
        return Some(Role::Blocked);
    }
    if matches!(parent.kind(), "labeled_statement" | "break_statement" | "continue_statement") {
        return None;
    }
    if parent.kind() == "arrow_function" && is_field(node, "parameter") {
        return Some(all_of(parent));
    }
    let (mut top, mut holder) = pattern_top(node, PATTERNS)?;
    if matches!(holder.kind(), "assignment_pattern" | "object_assignment_pattern") && is_field(top, "left") {
        (top, holder) = pattern_top(holder, PATTERNS)?;
    }
    match holder.kind() {
        "formal_parameters" => holder.parent().map(all_of),
        "variable_declarator" if is_field(top, "name") => Some(declared(holder)),
        "for_in_statement" if is_field(top, "left") => Some(match holder.child_by_field_name("kind") {
            Some(kind) if kind.kind() == "var" => function_scope(holder),
            Some(_) => all_of(holder),
            None => Role::Use,
        }),
        "catch_clause" if is_field(top, "parameter") => Some(all_of(holder)),
        _ => Some(Role::Use),
    }
}

fn declared(declarator: Node<'_>) -> Role {
    match declarator.parent() {
        Some(declaration) if declaration.kind() == "variable_declaration" => function_scope(declaration),
        Some(declaration) => nearest(declaration, BLOCKS).map_or(Role::Blocked, all_of),
        None => Role::Blocked,
    }
}

fn function_scope(node: Node<'_>) -> Role {
    nearest(node, functions()).map_or(Role::Blocked, all_of)
}
