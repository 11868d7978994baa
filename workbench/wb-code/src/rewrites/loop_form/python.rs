//! Python: any `while` as an endless loop with a way out, any `for` as a `while` over its iterator.

use tree_sitter::Node;

use super::{Change, has_own};
use crate::rewrites::{
    Edits, ParsedSource,
    source::{is_field, named_children, preorder},
    words::fresh,
};

pub(super) fn ways(source: &ParsedSource<'_>) -> Vec<Change> {
    let mut ways = Vec::new();
    for function in source.functions() {
        for node in preorder(function).into_iter().filter(Node::is_named) {
            ways.extend(match node.kind() {
                "while_statement" => endless(source, node),
                "for_statement" => over_iterator(source, node),
                _ => None,
            });
        }
    }
    ways
}

/// A loop of the plain form: no `else`, not asynchronous, on its own lines, its body on lines below.
pub(super) struct Loop<'t, 's> {
    pub(super) body: Node<'t>,
    /// The end of the header, after its colon.
    pub(super) header_end: usize,
    pub(super) margin: &'s str,
    /// The margin of the body.
    pub(super) inner: &'s str,
    pub(super) first: Node<'t>,
}

pub(super) fn plain_loop<'t, 's>(source: &ParsedSource<'s>, node: Node<'t>) -> Option<Loop<'t, 's>> {
    let body = node.child_by_field_name("body")?;
    let mut cursor = node.walk();
    let children: Vec<Node<'t>> = node.children(&mut cursor).collect();
    if children.iter().any(|child| matches!(child.kind(), "async" | "else_clause")) {
        return None;
    }
    let colon = children.iter().find(|child| child.kind() == ":")?;
    let first = *named_children(body).first()?;
    let margin = source.margin(node.start_byte())?;
    let inner = source.margin(first.start_byte()).filter(|inner| inner.len() > margin.len())?;
    Some(Loop { body, header_end: colon.end_byte(), margin, inner, first })
}

/// `while C:` becomes `while True:` with `if not (C): break`, at every turn at the same place.
fn endless(source: &ParsedSource<'_>, node: Node<'_>) -> Option<Change> {
    let Loop { header_end, inner, margin, .. } = plain_loop(source, node)?;
    let condition = node.child_by_field_name("condition")?;
    if matches!(condition.kind(), "true" | "integer")
        || source.text.get(condition.end_byte()..header_end)?.contains('#')
    {
        return None;
    }
    let deeper = format!("{inner}{}", inner.get(margin.len()..)?);
    let mut edits = Edits::new();
    edits.replace(
        node.start_byte()..header_end,
        format!("while True:\n{inner}if not ({}):\n{deeper}break", source.str(condition)),
    );
    Some(Change { edits, note: "write the while loop as an endless loop with a break".to_owned() })
}

/// `for t in e:` becomes a `while` that takes the next element until there is none.
fn over_iterator(source: &ParsedSource<'_>, node: Node<'_>) -> Option<Change> {
    let Loop { header_end, margin, inner, .. } = plain_loop(source, node)?;
    let (left, right) = (node.child_by_field_name("left")?, node.child_by_field_name("right")?);
    // A generator that is left early would be closed later than before.
    if !is_simple_target(left)
        || has_own(source, node, "break_statement")
        || is_shadowed(source, &["iter", "next", "StopIteration"])
    {
        return None;
    }
    let deeper = format!("{inner}{}", inner.get(margin.len()..)?);
    let iterator = fresh(&source.words(), &["iterator", "items_left", "stream"]);
    let right = tight(source, right);
    let left = source.str(left);
    let mut edits = Edits::new();
    edits.replace(
        node.start_byte()..header_end,
        format!(
            "{iterator} = iter({right})\n{margin}while True:\n{inner}try:\n{deeper}{left} = next({iterator})\n\
             {inner}except StopIteration:\n{deeper}break"
        ),
    );
    Some(Change { edits, note: "write the for loop as a while loop over its iterator".to_owned() })
}

/// True where a target is made of names alone.
pub(super) fn is_simple_target(target: Node<'_>) -> bool {
    preorder(target)
        .iter()
        .all(|part| !part.is_named() || matches!(part.kind(), "identifier" | "pattern_list" | "tuple_pattern"))
}

/// The text of an expression, in parentheses where it would fall apart as an argument.
pub(super) fn tight(source: &ParsedSource<'_>, node: Node<'_>) -> String {
    let text = source.str(node);
    if matches!(node.kind(), "expression_list" | "conditional_expression" | "lambda" | "yield" | "named_expression") {
        format!("({text})")
    } else {
        text.to_owned()
    }
}

/// True where one of the builtin functions may have been given another meaning: it stands anywhere but in a call.
pub(super) fn is_shadowed(source: &ParsedSource<'_>, builtins: &[&str]) -> bool {
    preorder(source.root()).into_iter().any(|node| {
        node.kind() == "identifier"
            && builtins.contains(&source.str(node))
            && !is_field(node, "function")
            && !is_field(node, "attribute")
            && source.str(node) != "StopIteration"
    }) || source.text.contains("import *")
}
