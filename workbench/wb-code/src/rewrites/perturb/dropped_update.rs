//! A missing update: a counter that is not moved, an element that is not added.

use tree_sitter::Node;

use super::in_bodies;
use crate::{
    languages::Language,
    rewrites::{
        Draw, Edits, ParsedSource, Refusal,
        rewrite::{Change, Rewrite},
        source::named_children,
    },
};

pub(in crate::rewrites) struct DroppedUpdate;

/// Methods that change what they are called on.
const CHANGES: &[&str] = &[
    "append",
    "add",
    "push",
    "push_back",
    "insert",
    "extend",
    "remove",
    "pop",
    "put",
    "update",
    "sort",
    "reverse",
    "unshift",
    "shift",
    "addAll",
    "push_str",
    "clear",
];

impl Rewrite for DroppedUpdate {
    fn edits(&self, source: &ParsedSource<'_>, draw: &mut Draw) -> Result<Change, Refusal> {
        let sites: Vec<Node<'_>> = in_bodies(source).into_iter().filter(|node| is_update(source, *node)).collect();
        let statement = *draw.one_of(&sites).ok_or(Refusal::NoSite)?;
        let mut edits = Edits::new();
        let is_only = statement.parent().is_some_and(|parent| named_children(parent).len() == 1);
        if source.language == Language::Python && is_only {
            edits.replace(statement.byte_range(), "pass");
        } else {
            let end = source.line_end(statement.end_byte());
            edits.remove(source.line_start(statement.start_byte())..(end + 1).min(source.text.len()));
        }
        let text = source.str(statement).lines().next().unwrap_or_default();
        Ok(Change { edits, note: format!("leave out `{}`", text.trim_end_matches(';')) })
    }
}

/// Kinds of nodes that can lose a statement; the body of a loop without braces cannot.
const HOLDERS: &[&str] = &[
    "block",
    "statement_block",
    "compound_statement",
    "statement_list",
    "body_statement",
    "block_body",
    "then",
    "else",
    "do",
];

fn is_update(source: &ParsedSource<'_>, statement: Node<'_>) -> bool {
    if !statement.parent().is_some_and(|parent| HOLDERS.contains(&parent.kind())) {
        return false;
    }
    // A remark after it goes with it.
    let after = source.text.get(statement.end_byte()..source.line_end(statement.end_byte())).unwrap_or_default().trim();
    let is_alone = after.is_empty() || after.starts_with('#') || after.starts_with("//");
    if !is_alone || source.margin(statement.start_byte()).is_none() || !source.is_one_line(statement) {
        return false;
    }
    match statement.kind() {
        "inc_statement" | "dec_statement" | "operator_assignment" => true,
        "assignment_statement" => source.str(statement).contains("+=") || source.str(statement).contains("-="),
        "expression_statement" => statement.named_child(0).is_some_and(|inner| match inner.kind() {
            "augmented_assignment"
            | "augmented_assignment_expression"
            | "update_expression"
            | "compound_assignment_expr" => true,
            "assignment_expression" => source.str(inner).contains("+=") || source.str(inner).contains("-="),
            "call" | "call_expression" | "method_invocation" => changes(source, inner),
            _ => false,
        }),
        _ => false,
    }
}

/// True where a call is that of a method that changes its object.
fn changes(source: &ParsedSource<'_>, call: Node<'_>) -> bool {
    let callee = call.child_by_field_name("function").or_else(|| call.child_by_field_name("name"));
    let text = callee.map(|callee| source.str(callee)).unwrap_or_default();
    CHANGES.contains(&text.rsplit('.').next().unwrap_or_default())
        && (text.contains('.') || call.child_by_field_name("object").is_some())
}
