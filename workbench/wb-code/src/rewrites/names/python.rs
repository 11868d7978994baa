//! Names in Python: functions, lambdas and comprehensions are scopes, blocks are not.

use tree_sitter::Node;

use super::{Name, Role, nearest, pattern_top};
use crate::rewrites::{
    ParsedSource, Refusal,
    source::{ancestors, is_field, preorder},
};

const PATTERNS: &[&str] = &[
    "pattern_list",
    "tuple_pattern",
    "list_pattern",
    "list_splat_pattern",
    "dictionary_splat_pattern",
    "expression_list",
    "tuple",
    "list",
    "list_splat",
    "parenthesized_expression",
];
const COMPREHENSIONS: &[&str] =
    &["list_comprehension", "set_comprehension", "dictionary_comprehension", "generator_expression"];
/// Calls that see variables by their names.
const REFLECTION: &[&str] =
    &["locals", "vars", "eval", "exec", "dir", "execfile", "_getframe", "evaluate", "currentframe", "stack"];

pub(super) fn names<'t>(source: &'t ParsedSource<'_>, function: Node<'t>) -> Result<Vec<Name<'t>>, Refusal> {
    let Some(body) = function.child_by_field_name("body") else { return Err(Refusal::NoSite) };
    let mut names = Vec::new();
    let mut keywords = Vec::new();
    for node in preorder(function) {
        match node.kind() {
            "match_statement" | "exec_statement" | "type_alias_statement" => {
                return Err(Refusal::Unsafe("match, exec or a type alias"));
            }
            "type_parameter" if node.parent().is_some_and(|up| up.kind().ends_with("_definition")) => {
                return Err(Refusal::Unsafe("type parameters"));
            }
            "identifier" => {}
            _ => continue,
        }
        let text = source.str(node);
        if REFLECTION.contains(&text) && is_called(node) {
            return Err(Refusal::Unsafe("variables are looked at by name"));
        }
        if is_field(node, "attribute") || is_field(node, "name") && node.parent() == Some(function) {
            continue;
        }
        let Some(parent) = node.parent() else { continue };
        if parent.kind() == "keyword_argument" && is_field(node, "name") {
            keywords.push(text);
            continue;
        }
        if let Some(role) = role(node, parent, function, body) {
            names.push(Name { node, role });
        }
    }
    // A parameter that is also somebody's keyword may be given by its name; so may a lambda's.
    for name in &mut names {
        if matches!(name.role, Role::Bind(_)) && keywords.contains(&source.str(name.node)) && is_parameter(name.node) {
            name.role = Role::Blocked;
        }
    }
    Ok(names)
}

fn is_called(node: Node<'_>) -> bool {
    let callee = if is_field(node, "attribute") { node.parent() } else { Some(node) };
    callee.is_some_and(|callee| is_field(callee, "function"))
}

fn is_parameter(node: Node<'_>) -> bool {
    ancestors(node).any(|parent| matches!(parent.kind(), "parameters" | "lambda_parameters"))
}

/// The role of an identifier; `None` for one that is no variable.
fn role(node: Node<'_>, parent: Node<'_>, function: Node<'_>, body: Node<'_>) -> Option<Role> {
    match parent.kind() {
        "global_statement" | "nonlocal_statement" => return Some(Role::Blocked),
        "function_definition" | "class_definition" if is_field(node, "name") => return Some(Role::Blocked),
        "interpolation" if has_equals(parent) => return Some(Role::Blocked),
        "dotted_name" => return import_role(node, parent),
        "aliased_import" => return Some(binding(node, function, body)),
        _ => {}
    }
    if ancestors(node)
        .take_while(|up| up.id() != function.id())
        .any(|up| up.kind() == "interpolation" && has_equals(up))
    {
        return Some(Role::Blocked);
    }
    if let Some(role) = parameter_role(node, parent, function, body) {
        return Some(role);
    }
    let (top, holder) = pattern_top(node, PATTERNS)?;
    let binds = match holder.kind() {
        "assignment" | "augmented_assignment" | "for_statement" | "for_in_clause" => is_field(top, "left"),
        "as_pattern_target" => true,
        "named_expression" => is_field(top, "name"),
        "except_clause" => is_field(top, "alias"),
        _ => false,
    };
    Some(if binds { binding(node, function, body) } else { Role::Use })
}

fn has_equals(interpolation: Node<'_>) -> bool {
    let mut cursor = interpolation.walk();
    interpolation.children(&mut cursor).any(|child| child.kind() == "=")
}

/// `import a.b` binds `a` under its own name; the module in `from a import b` binds nothing.
fn import_role(node: Node<'_>, dotted: Node<'_>) -> Option<Role> {
    let holder = dotted.parent()?;
    let is_import = matches!(holder.kind(), "import_statement" | "import_from_statement" | "future_import_statement");
    if is_import && is_field(dotted, "name") {
        return dotted.named_child(0).filter(|first| first.id() == node.id()).map(|_| Role::Blocked);
    }
    match holder.kind() {
        "aliased_import" | "import_from_statement" | "relative_import" => None,
        _ => Some(Role::Use),
    }
}

fn parameter_role(node: Node<'_>, parent: Node<'_>, function: Node<'_>, body: Node<'_>) -> Option<Role> {
    let (name, list) = match parent.kind() {
        "parameters" | "lambda_parameters" => (node, parent),
        "typed_parameter" if !is_field(node, "type") => (parent, parent.parent()?),
        "list_splat_pattern" | "dictionary_splat_pattern" => {
            let holder = parent.parent()?;
            let holder = if holder.kind() == "typed_parameter" { holder.parent()? } else { holder };
            (parent, holder)
        }
        "default_parameter" | "typed_default_parameter" if is_field(node, "name") => return Some(Role::Blocked),
        _ => return None,
    };
    if !matches!(list.kind(), "parameters" | "lambda_parameters") {
        return None;
    }
    let is_splat = matches!(name.kind(), "list_splat_pattern" | "dictionary_splat_pattern");
    let owner = list.parent()?;
    if owner.kind() == "lambda" {
        return Some(Role::Bind(vec![owner.child_by_field_name("body")?.byte_range()]));
    }
    if owner.id() == function.id() {
        return Some(if is_splat || !is_keyword_only(name, list) {
            Role::Bind(vec![body.byte_range()])
        } else {
            Role::Blocked
        });
    }
    // An inner function may be handed out and called with keywords.
    Some(if is_splat { Role::Bind(vec![owner.child_by_field_name("body")?.byte_range()]) } else { Role::Blocked })
}

/// True where a parameter stands after `*` or `*args`.
fn is_keyword_only(parameter: Node<'_>, list: Node<'_>) -> bool {
    let mut cursor = list.walk();
    list.children(&mut cursor).take_while(|other| other.start_byte() < parameter.start_byte()).any(|other| {
        let inner = if other.kind() == "typed_parameter" { other.named_child(0) } else { Some(other) };
        inner.is_some_and(|inner| matches!(inner.kind(), "list_splat_pattern" | "keyword_separator"))
    })
}

/// The scope of a name that is bound here.
fn binding(node: Node<'_>, function: Node<'_>, body: Node<'_>) -> Role {
    let is_walrus = node.parent().is_some_and(|parent| parent.kind() == "named_expression");
    let clause = nearest(node, &["for_in_clause", "for_statement", "block"]);
    if let Some(clause) = clause.filter(|clause| clause.kind() == "for_in_clause")
        && !is_walrus
        && let Some(comprehension) = clause.parent()
        && COMPREHENSIONS.contains(&comprehension.kind())
    {
        return comprehension_scope(comprehension);
    }
    match nearest(node, &["function_definition", "class_definition", "lambda"]) {
        Some(owner) if owner.id() == function.id() => Role::Bind(vec![body.byte_range()]),
        Some(owner) if owner.kind() == "function_definition" => {
            owner.child_by_field_name("body").map_or(Role::Blocked, |inner| Role::Bind(vec![inner.byte_range()]))
        }
        _ => Role::Blocked,
    }
}

/// All of a comprehension but the first thing that it goes over, which is looked up outside.
fn comprehension_scope(comprehension: Node<'_>) -> Role {
    let mut cursor = comprehension.walk();
    let first = comprehension.named_children(&mut cursor).find(|child| child.kind() == "for_in_clause");
    let over = first.and_then(|clause| clause.child_by_field_name("right"));
    match over {
        Some(over) => {
            Role::Bind(vec![comprehension.start_byte()..over.start_byte(), over.end_byte()..comprehension.end_byte()])
        }
        None => Role::Blocked,
    }
}
