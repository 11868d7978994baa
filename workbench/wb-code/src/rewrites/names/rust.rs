//! Names in Rust: a binding is known from after its `let` to the end of its block; macros are looked into where they are known.

use tree_sitter::Node;

use super::{Name, Role, all_of, nearest, rest_of};
use crate::rewrites::{
    ParsedSource, Refusal,
    source::{ancestors, is_field, preorder},
};

const PATTERNS: &[&str] = &[
    "tuple_pattern",
    "ref_pattern",
    "mut_pattern",
    "reference_pattern",
    "slice_pattern",
    "tuple_struct_pattern",
    "captured_pattern",
    "or_pattern",
    "field_pattern",
    "struct_pattern",
    "match_pattern",
];
/// Macros whose arguments are expressions, and whose format strings are looked at.
const MACROS: &[&str] = &[
    "println",
    "print",
    "eprintln",
    "eprint",
    "format",
    "write",
    "writeln",
    "panic",
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "vec",
    "unreachable",
    "todo",
];

pub(super) fn names<'t>(source: &'t ParsedSource<'_>, function: Node<'t>) -> Result<Vec<Name<'t>>, Refusal> {
    let mut names: Vec<Name<'t>> = Vec::new();
    let mut in_formats: Vec<&str> = Vec::new();
    for node in preorder(function) {
        let role = match node.kind() {
            "macro_definition" => return Err(Refusal::Unsafe("a macro in the function")),
            "macro_invocation" => {
                let name = node.child_by_field_name("macro").map(|name| source.str(name)).unwrap_or_default();
                if !MACROS.contains(&name) {
                    return Err(Refusal::Unsafe("a macro that is not known"));
                }
                None
            }
            "string_literal" if ancestors(node).any(|up| up.kind() == "token_tree") => {
                in_formats.extend(source.str(node).split(|c: char| !c.is_alphanumeric() && c != '_'));
                None
            }
            "shorthand_field_identifier" => Some(Role::Blocked),
            "identifier" => role(source, node, function),
            _ => None,
        };
        names.extend(role.map(|role| Name { node, role }));
    }
    for name in &mut names {
        if in_formats.contains(&source.str(name.node)) {
            name.role = Role::Blocked;
        }
    }
    Ok(names)
}

fn role(source: &ParsedSource<'_>, node: Node<'_>, function: Node<'_>) -> Option<Role> {
    let parent = node.parent()?;
    if !source.str(node).starts_with(|c: char| c.is_lowercase() || c == '_') {
        return None;
    }
    match parent.kind() {
        "function_item" | "const_item" | "static_item" | "mod_item" if is_field(node, "name") => {
            return (parent.id() != function.id()).then_some(Role::Blocked);
        }
        "scoped_identifier"
        | "scoped_type_identifier"
        | "use_list"
        | "use_declaration"
        | "use_as_clause"
        | "scoped_use_list"
        | "label"
        | "attribute"
        | "generic_function" => return None,
        "macro_invocation" if is_field(node, "macro") => return None,
        "shorthand_field_initializer" => return Some(Role::Shorthand),
        "token_tree" => return token_role(node),
        "tuple_struct_pattern" if is_field(node, "type") => return None,
        "closure_parameters" => return parent.parent().map(all_of),
        _ => {}
    }
    let mut top = node;
    while let Some(up) = top.parent().filter(|up| PATTERNS.contains(&up.kind()) && !is_field(top, "condition")) {
        top = up;
    }
    let holder = top.parent()?;
    let is_pattern = is_field(top, "pattern");
    match holder.kind() {
        "parameter" if is_pattern => {
            let owner = holder.parent().and_then(|list| list.parent())?;
            Some(all_of(owner))
        }
        "let_declaration" if is_pattern => {
            Some(nearest(holder, &["block"]).map_or(Role::Blocked, |block| rest_of(block, holder.end_byte())))
        }
        "for_expression" if is_pattern => Some(Role::Bind(vec![holder.child_by_field_name("body")?.byte_range()])),
        "match_arm" if is_pattern => Some(all_of(holder)),
        "let_condition" if is_pattern => Some(let_condition(holder)),
        _ => Some(Role::Use),
    }
}

/// The role of a token of a macro: a variable, unless it is a field, a method, a path or another macro.
fn token_role(node: Node<'_>) -> Option<Role> {
    let before = node.prev_sibling().map_or("", |token| token.kind());
    let after = node.next_sibling().map_or("", |token| token.kind());
    if matches!(before, "." | "::") || matches!(after, "::" | "!") {
        return None;
    }
    // `name = value` in a format macro, and anything that is called.
    Some(if after == "=" { Role::Blocked } else { Role::Use })
}

/// `if let` and `while let` bind for what follows in the condition and for the block.
fn let_condition(condition: Node<'_>) -> Role {
    let owner = ancestors(condition).find(|up| matches!(up.kind(), "if_expression" | "while_expression" | "match_arm"));
    match owner {
        Some(owner) if owner.kind() == "match_arm" => all_of(owner),
        Some(owner) => {
            let body = owner.child_by_field_name("consequence").or_else(|| owner.child_by_field_name("body"));
            body.map_or(Role::Blocked, |body| {
                let known = condition.end_byte()..body.end_byte();
                Role::Bind(vec![known])
            })
        }
        None => Role::Blocked,
    }
}
