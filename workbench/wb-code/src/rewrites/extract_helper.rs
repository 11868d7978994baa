//! Extracting a helper: an expression becomes a function of its own, called in its place with the variables that it needs.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{
    Draw, Edits, ParsedSource, Refusal,
    names::{Name, Role, names},
    rewrite::{Change, Rewrite},
    source::{ancestors, function_kinds, is_comment, is_field, is_function, preorder, within},
    words::fresh,
};
use crate::languages::Language;

/// The expression is still evaluated once, at the same time, with the same values: so it may have effects.
/// What it must not do is set a variable of the function, look at `this`, suspend, or capture a variable for later.
pub(super) struct ExtractHelper;

impl Rewrite for ExtractHelper {
    fn edits(&self, source: &ParsedSource<'_>, draw: &mut Draw) -> Result<Change, Refusal> {
        if !matches!(source.language, Language::Python | Language::JavaScript) {
            return Err(Refusal::UnknownLanguage);
        }
        let (sites, refusal) = source.in_functions(|function| candidates(source, function));
        let Some(site) = draw.one_of(&sites) else { return Err(refusal) };
        let name = helper_name(source, site.function);
        let call = format!("{name}({})", site.parameters.join(", "));
        let margin = source.margin(site.top.start_byte()).unwrap_or_default();
        let indent = source.indent();
        let text = source.str(site.expression);
        let value = if source.language == Language::Python && text.contains('\n') {
            format!("({text})")
        } else {
            text.to_owned()
        };
        let parameters = site.parameters.join(", ");
        let helper = match source.language {
            Language::Python => format!("def {name}({parameters}):\n{margin}{indent}return {value}\n\n\n{margin}"),
            _ => format!("function {name}({parameters}) {{\n{margin}{indent}return {value};\n{margin}}}\n\n{margin}"),
        };
        let mut edits = Edits::new();
        edits.insert(site.top.start_byte(), helper);
        edits.replace(site.expression.byte_range(), call);
        Ok(Change { edits, note: format!("extract a helper function `{name}`") })
    }
}

struct Site<'t> {
    function: Node<'t>,
    /// The node that the helper is put before: the function, or the class that it is in.
    top: Node<'t>,
    expression: Node<'t>,
    parameters: Vec<&'t str>,
}

fn helper_name(source: &ParsedSource<'_>, function: Node<'_>) -> String {
    let of = function.child_by_field_name("name").map(|name| source.str(name)).unwrap_or("part");
    let of = of.trim_matches('_');
    let wish = match source.language {
        Language::JavaScript => format!("{of}Helper"),
        _ => format!("{of}_helper"),
    };
    fresh(&source.words(), &[wish.as_str(), "compute_part"])
}

fn candidates<'t>(source: &'t ParsedSource<'_>, function: Node<'t>) -> Result<Vec<Site<'t>>, Refusal> {
    let all = names(source, function)?;
    let top = std::iter::once(function)
        .chain(ancestors(function))
        .find(|node| node.parent().is_some_and(|parent| matches!(parent.kind(), "module" | "program")));
    let Some(top) = top.filter(|top| source.margin(top.start_byte()).is_some()) else { return Err(Refusal::NoSite) };
    let is_declared = source.language == Language::Python || function.kind() == "function_declaration";
    let body = function.child_by_field_name("body").filter(|_| is_declared).ok_or(Refusal::NoSite)?;
    let inner = preorder(body);
    let outward = ["nonlocal_statement", "delete_statement", "print_statement"];
    if inner.iter().any(|node| outward.contains(&node.kind())) {
        return Err(Refusal::Unsafe("nonlocal, del or print as a statement"));
    }
    let has_inner_functions = inner.iter().any(|node| is_function(*node, source.language));
    let globals: BTreeSet<&str> = inner
        .iter()
        .filter(|node| node.kind() == "identifier" && node.parent().is_some_and(|up| up.kind() == "global_statement"))
        .map(|node| source.str(*node))
        .collect();
    let mut sites = Vec::new();
    for node in inner.into_iter().filter(Node::is_named) {
        let is_value = (is_field(node, "right") || is_field(node, "value"))
            && node
                .parent()
                .is_some_and(|up| matches!(up.kind(), "assignment" | "variable_declarator" | "assignment_expression"))
            || node.parent().is_some_and(|up| up.kind() == "return_statement");
        if !is_value || !is_worth(source, node) || !is_movable(source, node, has_inner_functions) {
            continue;
        }
        let is_inner = ancestors(node).take_while(|up| up.id() != function.id()).any(|up| {
            function_kinds(source.language).contains(&up.kind())
                || is_function(up, source.language)
                || up.kind().contains("class")
        });
        if !is_inner && let Some(parameters) = parameters(source, function, node, &all, &globals) {
            sites.push(Site { function, top, expression: node, parameters });
        }
    }
    Ok(sites)
}

/// True where an expression is more than a name or a number.
fn is_worth(source: &ParsedSource<'_>, node: Node<'_>) -> bool {
    let kinds = [
        "binary_operator",
        "comparison_operator",
        "boolean_operator",
        "call",
        "list_comprehension",
        "conditional_expression",
        "subscript",
        "dictionary_comprehension",
        "set_comprehension",
        "binary_expression",
        "call_expression",
        "ternary_expression",
        "tuple",
        "list",
        "dictionary",
        "array",
        "not_operator",
        "unary_operator",
    ];
    kinds.contains(&node.kind())
        && preorder(node).into_iter().filter(Node::is_named).count() >= 5
        && source.str(node).len() >= 10
}

fn is_movable(source: &ParsedSource<'_>, node: Node<'_>, has_inner_functions: bool) -> bool {
    !source.has_multiline_literal(node)
        && preorder(node).into_iter().all(|part| {
            let text = source.str(part);
            let kind = part.kind();
            let is_mangled = kind == "identifier" && text.starts_with("__") && !text.ends_with("__");
            let calls = matches!(kind, "call" | "call_expression" | "new_expression");
            !is_comment(part)
                && !is_mangled
                && (!calls || !has_inner_functions)
                && !is_function(part, source.language)
                && (kind != "identifier" || !matches!(text, "super" | "arguments" | "locals" | "__class__"))
                && !matches!(
                    kind,
                    "yield"
                        | "await"
                        | "named_expression"
                        | "generator_expression"
                        | "lambda"
                        | "this"
                        | "super"
                        | "class"
                        | "assignment_expression"
                        | "augmented_assignment_expression"
                        | "update_expression"
                        | "yield_expression"
                        | "await_expression"
                        | "meta_property"
                        | "spread_element"
                        | "async"
                )
        })
}

/// The variables that an expression needs, in the order of their first use; `None` where one may have no value yet.
fn parameters<'t>(
    source: &'t ParsedSource<'_>,
    function: Node<'t>,
    expression: Node<'t>,
    all: &[Name<'t>],
    globals: &BTreeSet<&str>,
) -> Option<Vec<&'t str>> {
    let range = expression.byte_range();
    let is_inside = |name: &Name<'_>| within(name.node.byte_range(), &range);
    let bound_outside: BTreeSet<&str> = all
        .iter()
        .filter(|name| matches!(name.role, Role::Bind(_) | Role::Blocked) && !is_inside(name))
        .map(|name| source.str(name.node))
        .collect();
    let bound_inside: BTreeSet<&str> = all
        .iter()
        .filter(|name| matches!(name.role, Role::Bind(_)) && is_inside(name))
        .map(|name| source.str(name.node))
        .collect();
    let mut parameters = Vec::new();
    for name in all.iter().filter(|name| is_inside(name) && !matches!(name.role, Role::Bind(_))) {
        let text = source.str(name.node);
        if bound_inside.contains(text) {
            if bound_outside.contains(text) {
                return None;
            }
        } else if bound_outside.contains(text) && !globals.contains(text) && !parameters.contains(&text) {
            if !all
                .iter()
                .any(|other| source.str(other.node) == text && gives_value(source, function, other, expression))
            {
                return None;
            }
            parameters.push(text);
        }
    }
    // In Python a name that is only tied to something (an import, an inner function) is known there alone.
    (parameters.len() <= 6).then_some(parameters)
}

/// True where a binding certainly has happened when the expression is evaluated: it is a parameter, the variable of
/// a loop around, or a plain assignment in a statement before, on the way down to the expression.
fn gives_value(source: &ParsedSource<'_>, function: Node<'_>, name: &Name<'_>, expression: Node<'_>) -> bool {
    if name.role == Role::Use || name.role == Role::Shorthand {
        return false;
    }
    let in_parameters = ancestors(name.node)
        .find(|up| matches!(up.kind(), "parameters" | "formal_parameters"))
        .is_some_and(|list| list.parent().is_some_and(|owner| owner.id() == function.id()));
    if in_parameters {
        return !ancestors(name.node).take_while(|up| !up.kind().contains("parameters")).any(|up| {
            up.child_by_field_name("value")
                .or_else(|| up.child_by_field_name("right"))
                .is_some_and(|value| within(name.node.byte_range(), &value.byte_range()))
        });
    }
    let path: Vec<usize> = ancestors(expression).map(|up| up.id()).collect();
    let statement = ancestors(name.node).find(|up| {
        matches!(
            up.kind(),
            "expression_statement"
                | "lexical_declaration"
                | "variable_declaration"
                | "for_statement"
                | "for_in_statement"
                | "import_statement"
                | "import_from_statement"
                | "function_declaration"
        )
    });
    let Some(statement) = statement else { return false };
    if matches!(statement.kind(), "for_statement" | "for_in_statement") {
        let in_body = statement.child_by_field_name("body").is_some_and(|body| path.contains(&body.id()));
        let is_left = statement
            .child_by_field_name("left")
            .is_some_and(|left| within(name.node.byte_range(), &left.byte_range()));
        return in_body && is_left;
    }
    let is_assigned = source.language != Language::Python
        || statement.kind() != "expression_statement"
        || statement.named_child(0).is_some_and(|inner| {
            inner.kind() == "assignment"
                && inner
                    .child_by_field_name("left")
                    .is_some_and(|left| within(name.node.byte_range(), &left.byte_range()))
                && inner.child_by_field_name("right").is_some()
        });
    let is_before = statement.end_byte() <= expression.start_byte();
    is_assigned && is_before && statement.parent().is_some_and(|block| path.contains(&block.id()))
}
