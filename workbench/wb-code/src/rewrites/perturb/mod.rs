//! Rules that change what code means, by little: for hard negatives that look almost right.

mod dropped_update;
mod flipped_comparison;
mod off_by_one;
mod swapped_branches;
mod wrong_operator;

use tree_sitter::Node;

use super::{
    Draw, Edits, ParsedSource, Refusal,
    rewrite::Change,
    source::{ancestors, preorder},
};

pub(super) use dropped_update::DroppedUpdate;
pub(super) use flipped_comparison::FlippedComparison;
pub(super) use off_by_one::OffByOne;
pub(super) use swapped_branches::SwappedBranches;
pub(super) use wrong_operator::WrongOperator;

/// Nodes in the bodies of functions: what stands in a signature (types, defaults) is left alone.
fn in_bodies<'t>(source: &'t ParsedSource<'_>) -> Vec<Node<'t>> {
    let bodies = source.functions().into_iter().filter_map(|function| function.child_by_field_name("body"));
    bodies.flat_map(preorder).collect()
}

/// One of the operators that `other` has another text for, drawn, with that text in its place.
fn one_changed(
    source: &ParsedSource<'_>,
    draw: &mut Draw,
    other: impl Fn(Node<'_>) -> Option<&'static str>,
) -> Result<Change, Refusal> {
    let sites: Vec<_> = operators(source).into_iter().filter_map(|node| Some((node, other(node)?))).collect();
    let (node, new) = *draw.one_of(&sites).ok_or(Refusal::NoSite)?;
    let mut edits = Edits::new();
    edits.replace(node.byte_range(), new);
    Ok(Change { edits, note: format!("change `{}` to `{new}`", source.str(node)) })
}

/// Operator tokens in bodies whose parent computes a value with them.
fn operators<'t>(source: &'t ParsedSource<'_>) -> Vec<Node<'t>> {
    let computes = |node: &Node<'t>| {
        node.parent().is_some_and(|parent| {
            matches!(
                parent.kind(),
                "binary_expression"
                    | "binary_operator"
                    | "comparison_operator"
                    | "boolean_operator"
                    | "binary"
                    | "augmented_assignment"
                    | "augmented_assignment_expression"
                    | "assignment_expression"
                    | "operator_assignment"
                    | "compound_assignment_expr"
                    | "assignment_statement"
            )
        })
    };
    let plain = |node: &Node<'t>| {
        !node.is_named() && computes(node) && !ancestors(*node).any(|up| up.kind().contains("type_arguments"))
    };
    in_bodies(source).into_iter().filter(plain).collect()
}
