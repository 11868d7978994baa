//! Somewhere snippets come from, and what its snippets, omissions and faults are given to.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use wb_core::{Progress, fingerprint::text_key};
use wb_data::{Tolerance, sources::Intake};

use super::{Error, Result, tokens::TokenRule};
use crate::Snippet;

/// Somewhere snippets come from. The same files and config give the same snippets in the same order.
pub trait SnippetSource {
    /// The source's kind, which its snippets' ids begin with where it has no name: `tree`, `notebooks`.
    fn kind(&self) -> &'static str;

    /// The source's place, for tables: `data/notebooks`.
    fn place(&self) -> String;

    /// Refuses values that make no sense; `key` is the config path of the source.
    fn validate(&self, key: &str) -> wb_core::Result<()>;

    /// Gives everything to `take`, in the order of sorted paths and of places in each file.
    fn each(&self, take: &mut Take<'_>, progress: &mut dyn FnMut(Progress)) -> Result<()>;
}

/// The account of one source.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SourceAccount {
    /// Its name: given, or its kind.
    pub name: String,
    /// Its kind and place.
    pub place: String,
    /// Files that were read.
    pub files: u64,
    /// Snippets that it gave, before any filter.
    pub snippets: u64,
    /// Numbers of what gave no snippet though nothing is wrong with it, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// Number of faults, by reason; empty with `on_bad: stop`.
    pub bad: BTreeMap<String, u64>,
    /// The first of them, in words.
    pub first_bad: String,
}

/// Takes what a source finds, and keeps its account.
pub struct Take<'a> {
    /// The rule that counts tokens.
    pub tokens: &'a dyn TokenRule,
    intake: Intake,
    sink: &'a mut dyn FnMut(Snippet),
    seen: HashMap<[u64; 2], u32>,
    account: SourceAccount,
}

impl<'a> Take<'a> {
    pub(super) fn new(
        name: &str,
        place: String,
        tokens: &'a dyn TokenRule,
        tolerance: Tolerance,
        sink: &'a mut dyn FnMut(Snippet),
    ) -> Self {
        let account = SourceAccount { name: name.to_owned(), place, ..SourceAccount::default() };
        Self { tokens, intake: Intake::new(tolerance), sink, seen: HashMap::new(), account }
    }

    /// A file that is read now.
    pub fn file(&mut self) {
        self.account.files += 1;
    }

    /// A snippet, whose id gets the source's name before it. Of several with one id the later ones get their number: `.2`.
    pub fn snippet(&mut self, mut snippet: Snippet) {
        snippet.id = format!("{}:{}", self.account.name, snippet.id);
        let times = self.seen.entry(text_key(&snippet.id)).or_default();
        *times += 1;
        if *times > 1 {
            snippet.id = format!("{}.{times}", snippet.id);
        }
        self.account.snippets += 1;
        snippet.origin.dataset.clone_from(&self.account.name);
        (self.sink)(snippet);
    }

    /// Counts what gives no snippet and is no fault.
    pub fn leave_out(&mut self, reason: impl Into<String>, count: u64) {
        self.intake.leave_out(reason, count);
    }

    /// Refuses or counts a bad file or record, as [`Intake::refuse`] does.
    pub fn bad(&mut self, error: Error) -> Result<()> {
        self.intake.refuse(error)
    }

    /// The account, or the error that too much was bad.
    pub(super) fn finish(self) -> Result<SourceAccount> {
        // A file of many snippets is one chance to be bad, a record too: what is counted is what could be looked at.
        let good = self.account.snippets.max(self.account.files);
        let Intake { left_out, bad, first_bad, .. } = self.intake.finish(&self.account.name, good)?;
        let first_bad = first_bad.map(|error| error.to_string()).unwrap_or_default();
        Ok(SourceAccount { left_out, bad, first_bad, ..self.account })
    }
}

/// A file, or a record of it, that is not what it should be; `reason` is what it is counted by.
pub(super) fn bad(place: impl ToString, reason: &'static str, message: impl Into<String>) -> Error {
    Error::record(place, reason, message).with_hint("`on_bad: skip` counts such ones and goes on")
}
