//! A comparison turned round: less becomes greater, equal becomes different, in becomes not in.

use super::{one_changed, operators};
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
        let sites: Vec<_> = operators(source)
            .into_iter()
            .filter_map(|node| {
                let new = match node.kind() {
                    "<" => ">",
                    ">" => "<",
                    "<=" => ">=",
                    ">=" => "<=",
                    "==" => "!=",
                    "!=" => "==",
                    "===" => "!==",
                    "!==" => "===",
                    "is" => "is not",
                    "is not" => "is",
                    "in" => "not in",
                    "not in" => "in",
                    _ => return None,
                };
                // Ruby's `===` asks a class or a pattern, and has no opposite.
                if node.kind() == "===" && source.language == Language::Ruby {
                    return None;
                }
                let is_javascript_in = matches!(node.kind(), "in") && node.parent()?.kind() != "comparison_operator";
                (!is_javascript_in).then_some((node, new))
            })
            .collect();
        one_changed(source, draw, &sites)
    }
}
