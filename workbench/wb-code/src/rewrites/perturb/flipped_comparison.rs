//! A comparison turned round: less becomes greater, equal becomes different, in becomes not in.

use super::one_changed;
use crate::{
    languages::Language,
    rewrites::{
        Draw, ParsedSource, Refusal,
        rewrite::{Change, Rewrite},
    },
};

pub(in crate::rewrites) struct FlippedComparison;

impl Rewrite for FlippedComparison {
    fn edits(&self, source: &ParsedSource<'_>, draw: &mut Draw) -> Result<Change, Refusal> {
        one_changed(source, draw, |node| {
            let new = match node.kind() {
                "<" => ">",
                ">" => "<",
                "<=" => ">=",
                ">=" => "<=",
                "==" => "!=",
                "!=" => "==",
                // Ruby's `===` asks a class or a pattern, and has no opposite.
                "===" if source.language != Language::Ruby => "!==",
                "!==" => "===",
                "is" => "is not",
                "is not" => "is",
                // JavaScript's `in` is no comparison.
                "in" if node.parent()?.kind() == "comparison_operator" => "not in",
                "not in" => "in",
                _ => return None,
            };
            Some(new)
        })
    }
}
