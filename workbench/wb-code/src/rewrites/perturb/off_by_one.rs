//! One more or one less: a number in a body, or whether a bound belongs to its range.

use super::{in_bodies, operators};
use crate::rewrites::{
    Draw, Edits, ParsedSource, Refusal,
    rewrite::{Change, Rewrite},
};

pub(in crate::rewrites) struct OffByOne;

impl Rewrite for OffByOne {
    fn edits(&self, source: &ParsedSource<'_>, draw: &mut Draw) -> Result<Change, Refusal> {
        let mut sites = Vec::new();
        for node in in_bodies(source) {
            let is_number = matches!(
                node.kind(),
                "integer" | "number" | "decimal_integer_literal" | "int_literal" | "integer_literal" | "number_literal"
            );
            if let (true, Ok(number)) = (is_number, source.str(node).parse::<u32>()) {
                let new = if number > 1 && draw.below(2) == 0 { number - 1 } else { number.saturating_add(1) };
                sites.push((node.byte_range(), new.to_string(), number.to_string()));
            }
        }
        for node in operators(source) {
            let old = source.str(node);
            let new = match old {
                "<" => "<=",
                "<=" => "<",
                ">" => ">=",
                ">=" => ">",
                _ => continue,
            };
            sites.push((node.byte_range(), new.to_owned(), old.to_owned()));
        }
        let (range, new, old) = draw.one_of(&sites).cloned().ok_or(Refusal::NoSite)?;
        let mut edits = Edits::new();
        edits.replace(range, new.as_str());
        Ok(Change { edits, note: format!("change `{old}` to `{new}`") })
    }
}
