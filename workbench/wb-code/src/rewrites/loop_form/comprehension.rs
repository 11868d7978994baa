//! Python: a list comprehension as a loop that appends, and the other way round.

use std::collections::BTreeSet;

use tree_sitter::Node;

use super::{
    Change, has_functions,
    python::{is_simple_target, plain_loop, tight},
};
use crate::rewrites::{
    Edits, ParsedSource,
    names::{locals, names},
    source::{ancestors, is_comment, named_children, preorder, within},
    words::fresh,
};

pub(super) fn ways(source: &ParsedSource<'_>) -> Vec<Change> {
    let mut ways = Vec::new();
    for function in source.functions() {
        let Ok(names) = names(source, function) else { continue };
        // What an inner function sees in between could differ.
        if has_functions(source, function) {
            continue;
        }
        let local = locals(source, &names);
        for node in preorder(function).into_iter().filter(Node::is_named) {
            let in_try = ancestors(node)
                .take_while(|up| up.id() != function.id())
                .any(|up| matches!(up.kind(), "try_statement" | "with_statement" | "class_definition"));
            if in_try {
                continue;
            }
            ways.extend(match node.kind() {
                "expression_statement" | "return_statement" => as_loop(source, function, node, &local),
                "for_statement" => as_comprehension(source, function, node, &local),
                _ => None,
            });
        }
    }
    ways
}

/// The identifiers of a node.
fn words_of<'s>(source: &ParsedSource<'s>, node: Node<'_>) -> BTreeSet<&'s str> {
    preorder(node).into_iter().filter(|part| part.kind() == "identifier").map(|part| source.str(part)).collect()
}

/// True where some of these names stand in a function outside of a part of it.
fn stand_outside(source: &ParsedSource<'_>, function: Node<'_>, part: Node<'_>, names: &BTreeSet<&str>) -> bool {
    preorder(function).into_iter().any(|node| {
        node.kind() == "identifier"
            && names.contains(source.str(node))
            && !within(node.byte_range(), &part.byte_range())
    })
}

/// True where a part holds what means something else in a scope of its own.
fn depends_on_scope(source: &ParsedSource<'_>, part: Node<'_>) -> bool {
    preorder(part).into_iter().any(|node| {
        matches!(node.kind(), "yield" | "await" | "async" | "named_expression" | "lambda" | "generator_expression")
            || is_comment(node)
            || node.kind() == "identifier" && matches!(source.str(node), "super" | "__class__")
    })
}

fn as_loop(
    source: &ParsedSource<'_>,
    function: Node<'_>,
    statement: Node<'_>,
    local: &BTreeSet<&str>,
) -> Option<Change> {
    let margin = source.margin(statement.start_byte()).filter(|_| source.owns_lines(statement))?;
    let inner = statement.named_child(0).filter(|_| statement.named_child_count() == 1)?;
    let taken = source.words();
    let (name, value, tail) = if statement.kind() == "return_statement" {
        let name = fresh(&taken, &["result", "collected", "found"]);
        let tail = format!("\n{margin}return {name}");
        (name, inner, tail)
    } else {
        let target = inner.child_by_field_name("left").filter(|left| left.kind() == "identifier")?;
        if inner.kind() != "assignment"
            || inner.child_by_field_name("type").is_some()
            || !local.contains(source.str(target))
        {
            return None;
        }
        (source.str(target).to_owned(), inner.child_by_field_name("right")?, String::new())
    };
    if value.kind() != "list_comprehension" || depends_on_scope(source, value) || source.has_multiline_literal(value) {
        return None;
    }
    let indent = source.indent();
    let mut text = format!("{name} = []");
    let mut depth = 0;
    let mut targets = BTreeSet::new();
    for clause in named_children(value).into_iter().skip(1) {
        let line = match clause.kind() {
            "for_in_clause" => {
                let (left, right) = (clause.child_by_field_name("left")?, clause.child_by_field_name("right")?);
                targets.extend(words_of(source, left));
                if !is_simple_target(left)
                    || words_of(source, right).iter().any(|word| words_of(source, left).contains(word))
                {
                    return None;
                }
                format!("for {} in {}:", source.str(left), one_line(&tight(source, right)))
            }
            "if_clause" => format!("if {}:", one_line(source.str(clause.named_child(0)?))),
            _ => return None,
        };
        text.push_str(&format!("\n{margin}{}{line}", indent.repeat(depth)));
        depth += 1;
    }
    // A name that an earlier clause looks up outside must not become the loop's.
    let first_over = named_children(value).into_iter().find_map(|clause| clause.child_by_field_name("right"))?;
    let leaks = stand_outside(source, function, value, &targets);
    if leaks
        || words_of(source, first_over).iter().any(|word| targets.contains(word))
        || words_of(source, value).contains(name.as_str())
    {
        return None;
    }
    let body = value.child_by_field_name("body")?;
    text.push_str(&format!(
        "\n{margin}{}{name}.append({}){tail}",
        indent.repeat(depth),
        one_line(&tight(source, body))
    ));
    let mut edits = Edits::new();
    edits.replace(statement.byte_range(), text);
    Some(Change { edits, note: "write the list comprehension as a loop".to_owned() })
}

/// Line breaks inside of brackets to single spaces.
fn one_line(text: &str) -> String {
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

fn as_comprehension(
    source: &ParsedSource<'_>,
    function: Node<'_>,
    node: Node<'_>,
    local: &BTreeSet<&str>,
) -> Option<Change> {
    let before = node.prev_named_sibling().filter(|before| before.kind() == "expression_statement")?;
    let start = before.named_child(0).filter(|inner| inner.kind() == "assignment")?;
    let (target, empty) = (start.child_by_field_name("left")?, start.child_by_field_name("right")?);
    let name = source.str(target);
    let is_empty = empty.kind() == "list" && named_children(empty).is_empty();
    if target.kind() != "identifier"
        || !is_empty
        || !local.contains(name)
        || start.child_by_field_name("type").is_some()
    {
        return None;
    }
    let body = plain_loop(source, node)?.body;
    let mut only = single(body)?;
    let mut condition = String::new();
    if only.kind() == "if_statement" {
        let mut cursor = only.walk();
        if only.children_by_field_name("alternative", &mut cursor).next().is_some() {
            return None;
        }
        condition = format!(" if {}", tight(source, only.child_by_field_name("condition")?));
        only = single(only.child_by_field_name("consequence")?)?;
    }
    let call = only.named_child(0).filter(|inner| only.kind() == "expression_statement" && inner.kind() == "call")?;
    let method =
        call.child_by_field_name("function").filter(|method| source.str(*method) == format!("{name}.append"))?;
    let arguments = named_children(call.child_by_field_name("arguments")?);
    let [element] = arguments.as_slice() else { return None };
    let (left, right) = (node.child_by_field_name("left")?, node.child_by_field_name("right")?);
    let targets = words_of(source, left);
    let uses_of_name =
        preorder(node).into_iter().filter(|part| part.kind() == "identifier" && source.str(*part) == name);
    if matches!(element.kind(), "list_splat" | "keyword_argument" | "dictionary_splat")
        || depends_on_scope(source, node)
        || !is_simple_target(left)
        || uses_of_name.count() != 1
        || method.kind() != "attribute"
        || words_of(source, right).iter().any(|word| targets.contains(word))
        || stand_outside(source, function, node, &targets)
        || !targets.iter().all(|target| local.contains(target))
    {
        return None;
    }
    let mut edits = Edits::new();
    edits.replace(
        before.start_byte()..node.end_byte(),
        format!("{name} = [{} for {} in {}{condition}]", source.str(*element), source.str(left), tight(source, right)),
    );
    Some(Change { edits, note: "write the loop that appends as a list comprehension".to_owned() })
}

fn single(block: Node<'_>) -> Option<Node<'_>> {
    let statements = named_children(block);
    if let [only] = statements.as_slice() { Some(*only) } else { None }
}
