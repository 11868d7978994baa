//! The two branches of an `if` in each other's place.

use tree_sitter::Node;

use super::in_bodies;
use crate::rewrites::{
    Draw, Edits, ParsedSource, Refusal,
    rewrite::{Change, Rewrite},
    source::named_children,
};

pub(in crate::rewrites) struct SwappedBranches;

impl Rewrite for SwappedBranches {
    fn edits(&self, source: &ParsedSource<'_>, draw: &mut Draw) -> Result<Change, Refusal> {
        let sites: Vec<(Node<'_>, Node<'_>)> =
            in_bodies(source).into_iter().filter_map(|node| branches(source, node)).collect();
        let (one, other) = *draw.one_of(&sites).ok_or(Refusal::NoSite)?;
        let mut edits = Edits::new();
        edits.replace(one.byte_range(), source.str(other));
        edits.replace(other.byte_range(), source.str(one));
        Ok(Change { edits, note: "swap the two branches of an if".to_owned() })
    }
}

/// The two blocks of an `if` with one plain `else`, if they differ and stand at one depth.
fn branches<'t>(source: &ParsedSource<'_>, node: Node<'t>) -> Option<(Node<'t>, Node<'t>)> {
    if node.kind() == "conditional_expression" && source.language == crate::Language::Python {
        let parts = named_children(node);
        let [one, _, other] = parts.as_slice() else { return None };
        return (source.str(*one) != source.str(*other)).then_some((*one, *other));
    }
    if !matches!(node.kind(), "if_statement" | "if_expression" | "if") || !node.is_named() {
        return None;
    }
    let one = node.child_by_field_name("consequence").or_else(|| node.child_by_field_name("body"))?;
    let mut cursor = node.walk();
    let mut alternatives = node.children_by_field_name("alternative", &mut cursor);
    let alternative = alternatives.next()?;
    if alternatives.next().is_some() {
        return None;
    }
    let other = match alternative.kind() {
        "else_clause" => alternative
            .child_by_field_name("body")
            .or_else(|| named_children(alternative).into_iter().find(|inner| inner.kind().contains("block")))?,
        _ => alternative,
    };
    // Ruby's blocks hold their keywords, so they cannot change places as they are.
    let are_blocks =
        [one, other].iter().all(|part| matches!(part.kind(), "block" | "statement_block" | "compound_statement"));
    let same_depth = source.margin(one.start_byte()).map(str::len) == source.margin(other.start_byte()).map(str::len);
    (are_blocks && same_depth && source.str(one) != source.str(other)).then_some((one, other))
}
