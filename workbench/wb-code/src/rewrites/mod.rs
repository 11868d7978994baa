//! Code written differently: rules over syntax trees that keep the meaning of code, and some that change it on purpose.
//!
//! A rule makes byte edits or says why it does not. What comes out parses without errors and differs from what went in
//! by more than white space. Everything drawn comes from one stream of a seed, named by the rule, so that the result
//! depends on the text, the language, the rule and the seed alone.
//!
//! What "keeps the meaning" leans on: operators, conversions and subscripts have no side effects of their own, nobody
//! looks at local variables by reflection from outside (what does so inside of the text is seen), and parameters
//! that are renamed are given by position. Where a rule cannot show more than that, it refuses.

mod comments;
mod dead_code;
mod draw;
mod edits;
mod extract_helper;
mod loop_form;
mod names;
mod perturb;
mod pure;
mod rename;
mod reorder_statements;
mod rewrite;
mod source;
mod words;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::Seed;

pub use draw::Draw;
pub use edits::{BadEdit, Edits};
pub use rewrite::Refusal;
pub use source::ParsedSource;

use crate::languages::{Language, parse};
use rewrite::{Change, Rewrite};

/// The rules, by their names in YAML.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RewriteKind {
    /// Parameters and local variables get other names.
    Rename,
    /// Two neighbors that do not depend on each other change places.
    ReorderStatements,
    /// A loop is written in another form: `for` and `while`, comprehension and loop, with and without an index.
    LoopForm,
    /// Comments are taken out, or moved to lines of their own; a docstring is taken out.
    Comments,
    /// Code that cannot run, or that has no effect, is put in.
    DeadCode,
    /// An expression becomes a function of its own.
    ExtractHelper,
    /// A number or a bound is one more or one less. Changes the meaning.
    OffByOne,
    /// A comparison is turned round. Changes the meaning.
    FlippedComparison,
    /// The two branches of an `if` change places. Changes the meaning.
    SwappedBranches,
    /// An operator becomes another one. Changes the meaning.
    WrongOperator,
    /// A statement that updates something is left out. Changes the meaning.
    DroppedUpdate,
}

impl RewriteKind {
    /// All of them: those that keep the meaning, then those that change it.
    pub const ALL: [Self; 11] = [
        Self::Rename,
        Self::ReorderStatements,
        Self::LoopForm,
        Self::Comments,
        Self::DeadCode,
        Self::ExtractHelper,
        Self::OffByOne,
        Self::FlippedComparison,
        Self::SwappedBranches,
        Self::WrongOperator,
        Self::DroppedUpdate,
    ];

    /// The name in YAML and in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rename => "rename",
            Self::ReorderStatements => "reorder_statements",
            Self::LoopForm => "loop_form",
            Self::Comments => "comments",
            Self::DeadCode => "dead_code",
            Self::ExtractHelper => "extract_helper",
            Self::OffByOne => "off_by_one",
            Self::FlippedComparison => "flipped_comparison",
            Self::SwappedBranches => "swapped_branches",
            Self::WrongOperator => "wrong_operator",
            Self::DroppedUpdate => "dropped_update",
        }
    }

    /// True where the result means the same as what went in.
    pub fn keeps_meaning(self) -> bool {
        !matches!(
            self,
            Self::OffByOne
                | Self::FlippedComparison
                | Self::SwappedBranches
                | Self::WrongOperator
                | Self::DroppedUpdate
        )
    }

    fn rule(self) -> &'static dyn Rewrite {
        match self {
            Self::Rename => &rename::Rename,
            Self::ReorderStatements => &reorder_statements::ReorderStatements,
            Self::LoopForm => &loop_form::LoopForm,
            Self::Comments => &comments::Comments,
            Self::DeadCode => &dead_code::DeadCode,
            Self::ExtractHelper => &extract_helper::ExtractHelper,
            Self::OffByOne => &perturb::OffByOne,
            Self::FlippedComparison => &perturb::FlippedComparison,
            Self::SwappedBranches => &perturb::SwappedBranches,
            Self::WrongOperator => &perturb::WrongOperator,
            Self::DroppedUpdate => &perturb::DroppedUpdate,
        }
    }
}

/// A text written differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewritten {
    /// The new text.
    pub text: String,
    /// The change in words, to be read beside the code: `rename x to y`; lower case, no full stop.
    pub note: String,
    /// The rule.
    pub kind: RewriteKind,
    /// Number of edits.
    pub edits: usize,
}

/// The texts that a method without its class is put between, so that it parses.
fn frame(language: Language) -> Option<(&'static str, &'static str)> {
    match language {
        Language::Php | Language::Java | Language::JavaScript | Language::TypeScript => {
            Some(("class Framed {\n", "\n}"))
        }
        _ => None,
    }
}

/// A text rewritten by one rule; what is drawn comes from the stream of the rule's name at `seed`.
///
/// A method that only parses inside of a class is put into one for the time being.
pub fn rewrite(text: &str, language: Language, kind: RewriteKind, seed: Seed) -> Result<Rewritten, Refusal> {
    let result = rewrite_whole(text, language, kind, seed);
    let (Err(Refusal::DoesNotParse), Some((open, close))) = (&result, frame(language)) else { return result };
    let mut framed = rewrite_whole(&format!("{open}{text}{close}"), language, kind, seed)?;
    let inner = framed.text.strip_prefix(open).and_then(|text| text.strip_suffix(close));
    framed.text = inner.ok_or(Refusal::Unsafe("the change reaches out of the method"))?.to_owned();
    Ok(framed)
}

fn rewrite_whole(text: &str, language: Language, kind: RewriteKind, seed: Seed) -> Result<Rewritten, Refusal> {
    // Nodes of a grammar that no rule was written for may mean something else by the same name.
    if source::function_kinds(language).is_empty() {
        return Err(Refusal::UnknownLanguage);
    }
    let source = ParsedSource::parse(text, language)?;
    let mut draw = Draw::new(seed, kind.name());
    let Change { edits, note } = kind.rule().edits(&source, &mut draw)?;
    let new = edits.apply(text).map_err(|_| Refusal::Broken)?;
    let same_words = text.split_whitespace().eq(new.split_whitespace());
    // White space means something in Python, yet no rule changes that alone.
    if same_words {
        return Err(Refusal::NoChange);
    }
    let tree = parse(&new, language.rules().grammars(&new)).ok_or(Refusal::Broken)?;
    if tree.root_node().has_error() {
        return Err(Refusal::Broken);
    }
    Ok(Rewritten { text: new, note, kind, edits: edits.len() })
}

#[cfg(test)]
mod tests;
