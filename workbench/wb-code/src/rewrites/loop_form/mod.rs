//! Loops in another form. Which forms are safe is a matter of the language: one file for each group of them.

mod braces;
mod comprehension;
mod counted;
mod python;
mod ruby;

use tree_sitter::Node;

use super::{
    Draw, ParsedSource, Refusal,
    rewrite::{Change, Rewrite},
    source::{ancestors, is_function, preorder},
};
use crate::languages::Language;

/// Gives one loop, drawn, one of its other forms, drawn too.
pub(super) struct LoopForm;

impl Rewrite for LoopForm {
    fn edits(&self, source: &ParsedSource<'_>, draw: &mut Draw) -> Result<Change, Refusal> {
        let ways = match source.language {
            Language::Python => [python::ways(source), counted::ways(source), comprehension::ways(source)].concat(),
            Language::Ruby => ruby::ways(source),
            Language::C | Language::Cpp => return Err(Refusal::UnknownLanguage),
            _ => braces::ways(source),
        };
        draw.one_of(&ways).cloned().ok_or(Refusal::NoSite)
    }
}

/// True where a loop has a `continue` or `break` (by its kind of node) of its own, inner loops and functions aside.
fn has_own(source: &ParsedSource<'_>, loop_node: Node<'_>, kind: &str) -> bool {
    preorder(loop_node).into_iter().filter(|node| node.is_named() && node.kind() == kind).any(|jump| {
        let owner = ancestors(jump).find(|up| is_loop(*up) || is_function(*up, source.language));
        // A jump with a label may leave any loop.
        owner.is_some_and(|owner| owner.id() == loop_node.id()) || jump.named_child_count() > 0
    })
}

fn is_loop(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        "for_statement"
            | "while_statement"
            | "for_in_statement"
            | "enhanced_for_statement"
            | "do_statement"
            | "foreach_statement"
            | "while_expression"
            | "for_expression"
            | "loop_expression"
            | "while"
            | "until"
            | "for"
    ) && node.is_named()
}

/// Functions in a node, named or not.
fn has_functions(source: &ParsedSource<'_>, node: Node<'_>) -> bool {
    preorder(node).into_iter().skip(1).any(|inner| is_function(inner, source.language))
}
