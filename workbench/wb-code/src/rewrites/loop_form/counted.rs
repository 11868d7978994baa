//! Python: loops with an index, `range` as a `while` with a counter, `enumerate` as a counter beside the loop.

use tree_sitter::Node;

use super::{
    Change, has_functions, has_own,
    python::{Loop, is_shadowed, plain_loop},
};
use crate::rewrites::{
    Edits, ParsedSource,
    names::{Name, Role, locals, names},
    source::{ancestors, named_children, preorder, within},
    words::fresh,
};

pub(super) fn ways(source: &ParsedSource<'_>) -> Vec<Change> {
    let mut ways = Vec::new();
    for function in source.functions() {
        let Ok(names) = names(source, function) else { continue };
        for node in preorder(function).into_iter().filter(|node| node.is_named() && node.kind() == "for_statement") {
            ways.extend(range_as_while(source, node, &names));
            ways.extend(enumerate_as_counter(source, node, &names));
        }
    }
    ways
}

/// True where a counter is the loop's alone: set by nothing else in it, not captured, and not read outside, where it
/// would have another value at the end.
fn is_own_counter(source: &ParsedSource<'_>, node: Node<'_>, counter: Node<'_>, names: &[Name<'_>]) -> bool {
    let text = source.str(counter);
    let body = node.child_by_field_name("body").map(|body| body.byte_range()).unwrap_or_default();
    let range = node.byte_range();
    let lazy = preorder(node).into_iter().any(|inner| {
        matches!(inner.kind(), "generator_expression" | "delete_statement" | "class_definition" | "yield")
    });
    let fine = |name: &&Name<'_>| {
        let place = name.node.byte_range();
        if within(place.clone(), &body) {
            return name.role == Role::Use;
        }
        if within(place, &range) {
            return name.node.id() == counter.id();
        }
        // Elsewhere it must be the variable of another loop, or read in its body.
        ancestors(name.node).any(|up| {
            up.kind() == "for_statement"
                && !within(range.clone(), &up.byte_range())
                && up.child_by_field_name("left").is_some_and(|left| source.str(left) == text)
                && !up
                    .child_by_field_name("right")
                    .is_some_and(|right| within(name.node.byte_range(), &right.byte_range()))
        })
    };
    !lazy
        && !has_functions(source, node)
        && locals(source, names).contains(text)
        && names.iter().filter(|name| source.str(name.node) == text).all(|name| fine(&name))
}

/// The positional arguments of a call of one of these builtins.
fn arguments<'t>(source: &ParsedSource<'_>, call: Node<'t>, callees: &[&str]) -> Option<Vec<Node<'t>>> {
    let callee = call.child_by_field_name("function").filter(|_| call.kind() == "call")?;
    let list = call.child_by_field_name("arguments").filter(|list| list.kind() == "argument_list")?;
    let arguments = named_children(list);
    let plain = arguments
        .iter()
        .all(|argument| !matches!(argument.kind(), "keyword_argument" | "list_splat" | "dictionary_splat"));
    (callees.contains(&source.str(callee)) && plain && !is_shadowed(source, callees)).then_some(arguments)
}

/// True where an expression is certainly a whole number: literals, lengths, and sums, differences and products of them.
fn is_whole(source: &ParsedSource<'_>, node: Node<'_>) -> bool {
    preorder(node).into_iter().filter(Node::is_named).all(|part| match part.kind() {
        "integer" | "parenthesized_expression" => true,
        "binary_operator" => {
            part.child_by_field_name("operator").is_some_and(|sign| matches!(sign.kind(), "+" | "-" | "*" | "//"))
        }
        "call" => arguments(source, part, &["len"])
            .is_some_and(|list| matches!(list.as_slice(), [only] if only.kind() == "identifier")),
        "argument_list" => true,
        // The callee and its argument, which the call was asked about.
        "identifier" => {
            part.id() != node.id() && part.parent().is_some_and(|up| matches!(up.kind(), "call" | "argument_list"))
        }
        _ => false,
    })
}

/// `for i in range(a, b, c)` with a counter set before, compared and moved by hand.
fn range_as_while(source: &ParsedSource<'_>, node: Node<'_>, names: &[Name<'_>]) -> Option<Change> {
    let Loop { body, header_end, margin, inner, .. } = plain_loop(source, node)?;
    let counter = node.child_by_field_name("left").filter(|left| left.kind() == "identifier")?;
    let list = arguments(source, node.child_by_field_name("right")?, &["range"])?;
    let (start, stop, step) = match list.as_slice() {
        [stop] => (None, *stop, None),
        [start, stop] => (Some(*start), *stop, None),
        [start, stop, step] if step.kind() == "integer" => (Some(*start), *stop, Some(*step)),
        _ => return None,
    };
    let whole = is_whole(source, stop) && start.is_none_or(|start| is_whole(source, start));
    let has_step = step.is_none_or(|step| source.str(step).parse::<u32>().is_ok_and(|step| step > 0));
    if !whole
        || !has_step
        || has_own(source, node, "continue_statement")
        || !is_own_counter(source, node, counter, names)
    {
        return None;
    }
    let name = source.str(counter);
    let mut head = String::new();
    let bound = if stop.kind() == "integer" {
        source.str(stop).to_owned()
    } else {
        let bound = fresh(&source.words(), &["stop", "limit", "bound"]);
        head = format!("{bound} = {}\n{margin}", source.str(stop));
        bound
    };
    let start = start.map_or("0", |start| source.str(start));
    let step = step.map_or("1", |step| source.str(step));
    let mut edits = Edits::new();
    edits.replace(node.start_byte()..header_end, format!("{head}{name} = {start}\n{margin}while {name} < {bound}:"));
    edits.insert(source.line_end(body.end_byte()), format!("\n{inner}{name} += {step}"));
    Some(Change { edits, note: "write the loop over a range as a while loop with a counter".to_owned() })
}

/// `for i, t in enumerate(e)` with the counter moved by hand.
fn enumerate_as_counter(source: &ParsedSource<'_>, node: Node<'_>, names: &[Name<'_>]) -> Option<Change> {
    let Loop { header_end, margin, inner, first, .. } = plain_loop(source, node)?;
    let left = node.child_by_field_name("left").filter(|left| left.kind() == "pattern_list")?;
    let (parts, list) = (named_children(left), arguments(source, node.child_by_field_name("right")?, &["enumerate"])?);
    let ([counter, target], [over]) = (parts.as_slice(), list.as_slice()) else { return None };
    let is_target = matches!(target.kind(), "identifier" | "tuple_pattern");
    if counter.kind() != "identifier" || !is_target || !is_own_counter(source, node, *counter, names) {
        return None;
    }
    let name = source.str(*counter);
    let mut edits = Edits::new();
    edits.replace(
        node.start_byte()..header_end,
        format!("{name} = -1\n{margin}for {} in {}:", source.str(*target), source.str(*over)),
    );
    edits.insert(first.start_byte(), format!("{name} += 1\n{inner}"));
    Some(Change { edits, note: "count the turns of the loop by hand instead of enumerate".to_owned() })
}
