//! The trait of rewrites: from a parsed text to edits of it, or the reason why there are none.

use super::{Draw, Edits, ParsedSource};

/// One way to write code differently.
pub(crate) trait Rewrite: Sync {
    /// The edits, and what they do in words that can be read beside the code (`rename x to y`); lower case, no full stop.
    fn edits(&self, source: &ParsedSource<'_>, draw: &mut Draw) -> Result<Change, Refusal>;
}

/// Edits with a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) edits: Edits,
    pub(crate) note: String,
}

/// The reason why a text was not rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum Refusal {
    /// The rule has no safe form in this language.
    #[error("the rule does not know the language")]
    UnknownLanguage,
    /// The grammar finds errors in the text, or the text is too long or too deep to look at.
    #[error("the text does not parse")]
    DoesNotParse,
    /// Nothing in the text is what the rule is about.
    #[error("nothing to rewrite")]
    NoSite,
    /// There is something, and it cannot be shown that the meaning would stay.
    #[error("not provably safe: {0}")]
    Unsafe(&'static str),
    /// The result is the same but for white space.
    #[error("the result differs in white space alone")]
    NoChange,
    /// The result has syntax errors, or edits overlap: a defect of the rule.
    #[error("the result does not parse")]
    Broken,
}
