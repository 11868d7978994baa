//! Names in Ruby: an identifier is a variable from where it was first assigned, and a call before that.

use tree_sitter::Node;

use super::{Name, Role, all_of, nearest, rest_of};
use crate::rewrites::{
    ParsedSource, Refusal,
    source::{is_field, preorder},
};

const METHODS: &[&str] = &["method", "singleton_method"];
const SCOPES: &[&str] = &["method", "singleton_method", "block", "do_block", "lambda"];
/// Calls that see variables by their names.
const REFLECTION: &[&str] =
    &["binding", "eval", "instance_eval", "class_eval", "local_variables", "define_method", "ERB"];

pub(super) fn names<'t>(source: &'t ParsedSource<'_>, function: Node<'t>) -> Result<Vec<Name<'t>>, Refusal> {
    let mut names = Vec::new();
    for node in preorder(function) {
        if matches!(node.kind(), "case_match" | "heredoc_body" | "class" | "module" | "singleton_class") {
            return Err(Refusal::Unsafe("pattern matching, a here document or a class"));
        }
        // `{x:}` is the variable `x` as well.
        if node.kind() == "hash_key_symbol"
            && node.parent().is_some_and(|pair| pair.kind() == "pair" && pair.child_by_field_name("value").is_none())
        {
            names.push(Name { node, role: Role::Blocked });
        }
        if !matches!(node.kind(), "identifier" | "constant") {
            continue;
        }
        if REFLECTION.contains(&source.str(node)) {
            return Err(Refusal::Unsafe("variables are looked at by name"));
        }
        if node.kind() == "identifier"
            && let Some(role) = role(node, function)
        {
            names.push(Name { node, role });
        }
    }
    Ok(names)
}

fn role(node: Node<'_>, function: Node<'_>) -> Option<Role> {
    let parent = node.parent()?;
    let from_here = |node: Node<'_>| nearest(node, SCOPES).map(|scope| rest_of(scope, node.start_byte()));
    match parent.kind() {
        "method" | "singleton_method" if is_field(node, "name") => {
            (parent.id() != function.id()).then_some(Role::Blocked)
        }
        "call" if is_field(node, "method") => None,
        "alias" | "undef" | "setter" => Some(Role::Blocked),
        "keyword_parameter" | "hash_splat_parameter" => Some(Role::Blocked),
        "pair" if is_field(node, "key") => Some(Role::Blocked),
        "method_parameters"
        | "block_parameters"
        | "lambda_parameters"
        | "splat_parameter"
        | "block_parameter"
        | "optional_parameter"
        | "destructured_parameter" => {
            if parent.kind() == "optional_parameter" && !is_field(node, "name") {
                return Some(Role::Use);
            }
            // A default may use the parameters before it.
            nearest(node, SCOPES).map(all_of)
        }
        "assignment" | "operator_assignment" if is_field(node, "left") => from_here(node),
        "left_assignment_list" | "destructured_left_assignment" | "rest_assignment" => from_here(node),
        "for" if is_field(node, "pattern") => from_here(node),
        "exception_variable" => from_here(node),
        _ if nearest(node, METHODS).is_some_and(|owner| owner.id() != function.id()) => Some(Role::Blocked),
        _ => Some(Role::Use),
    }
}
