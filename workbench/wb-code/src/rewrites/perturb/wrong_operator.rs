//! An operator that becomes another: plus becomes minus, and becomes or.

use super::one_changed;
use crate::rewrites::{
    Draw, ParsedSource, Refusal,
    rewrite::{Change, Rewrite},
};

pub(in crate::rewrites) struct WrongOperator;

impl Rewrite for WrongOperator {
    fn edits(&self, source: &ParsedSource<'_>, draw: &mut Draw) -> Result<Change, Refusal> {
        one_changed(source, draw, |node| {
            let new = match node.kind() {
                "+" => "-",
                "-" => "+",
                "*" => "+",
                "/" => "*",
                "//" => "*",
                "%" => "/",
                "**" => "*",
                "+=" => "-=",
                "-=" => "+=",
                "*=" => "+=",
                "/=" => "*=",
                "and" => "or",
                "or" => "and",
                "&&" => "||",
                "||" => "&&",
                _ => return None,
            };
            // A text with a `%` or a `+` would not be a near miss but an error.
            let sides = [node.prev_named_sibling(), node.next_named_sibling()];
            let with_text = sides.into_iter().flatten().any(|side| side.kind().contains("string"));
            (!with_text).then_some(new)
        })
    }
}
