//! Renaming: the parameters and local variables of every function get other names, one for one.

use super::{
    Draw, Edits, ParsedSource, Refusal,
    names::{Role, own_variables},
    rewrite::{Change, Rewrite},
    words::Names,
};
use crate::languages::Language;

/// Names of an object's own fields, of keywords, functions, globals and whatever can be given by keyword stay.
pub(super) struct Rename;

impl Rewrite for Rename {
    fn edits(&self, source: &ParsedSource<'_>, draw: &mut Draw) -> Result<Change, Refusal> {
        let mut names = Names::new(source.words(), draw);
        let mut edits = Edits::new();
        let mut renamed = Vec::new();
        let mut refusal = Refusal::NoSite;
        for function in source.functions() {
            let variables = match own_variables(source, function) {
                Ok(variables) => variables,
                Err(why) => {
                    refusal = why;
                    continue;
                }
            };
            for (old, places) in variables {
                if is_written_in_strings(source, old) {
                    refusal = Refusal::Unsafe("a text speaks of the variable");
                    continue;
                }
                let new = names.fresh();
                for place in places {
                    let text = if place.role == Role::Shorthand { format!("{old}: {new}") } else { new.clone() };
                    edits.replace(place.node.byte_range(), text);
                }
                renamed.push(format!("`{old}` to `{new}`"));
            }
        }
        if edits.is_empty() {
            return Err(refusal);
        }
        let more = renamed.len().saturating_sub(3);
        renamed.truncate(3);
        let mut note = format!("rename {}", renamed.join(", "));
        if more > 0 {
            note.push_str(&format!(" and {more} more"));
        }
        Ok(Change { edits, note })
    }
}

/// `@name` in a query of a data frame is a variable.
fn is_written_in_strings(source: &ParsedSource<'_>, name: &str) -> bool {
    source.language == Language::Python && source.text.match_indices(&format!("@{name}")).next().is_some()
}
