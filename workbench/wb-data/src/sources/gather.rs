//! Pairs of a source as they come in: ids made and checked, bad records refused or counted.

use std::{
    collections::{HashMap, hash_map::Entry},
    path::Path,
    sync::Arc,
};

use wb_core::{
    Pair,
    fingerprint::{Fingerprint, text_key},
};

use super::{
    intake::{Intake, Tolerance},
    source::SourceRead,
};
use crate::{Error, RecordPlace, Result};

/// The pairs of one source so far.
pub struct Gather<'a> {
    intake: Intake,
    /// The data set of pairs, and whether that of a record gives way to it.
    dataset: (String, bool),
    /// True where a pair without a positive is a text without a label, and not an accident.
    pub(super) texts: bool,
    pairs: Vec<Pair>,
    /// The taker of pairs, where they are not kept.
    pub(super) take: Option<&'a mut dyn FnMut(Pair) -> Result<()>>,
    count: u64,
    seen: HashMap<[u64; 2], Seen>,
    files: Vec<Arc<Path>>,
}

/// The place of an id, in few bytes: there is one for each pair.
#[derive(Clone, Copy)]
struct Seen {
    file: u32,
    line: u32,
    column: u32,
}

impl Gather<'_> {
    pub(super) fn new(tolerance: Tolerance, dataset: (String, bool)) -> Self {
        Self {
            intake: Intake::new(tolerance),
            dataset,
            texts: false,
            pairs: Vec::new(),
            take: None,
            count: 0,
            seen: HashMap::new(),
            files: Vec::new(),
        }
    }

    /// Takes a pair; one without an id is named `stem:line`.
    pub(crate) fn push(&mut self, mut pair: Pair, place: RecordPlace, stem: &str) -> Result<()> {
        if pair.id.is_empty() {
            pair.id = format!("{stem}:{}", place.line);
        }
        let file = match self.files.last() {
            Some(last) if *last == place.path => self.files.len() - 1,
            _ => {
                self.files.push(Arc::clone(&place.path));
                self.files.len() - 1
            }
        };
        let here = Seen { file: file as u32, line: place.line as u32, column: place.column as u32 };
        match self.seen.entry(text_key(&pair.id)) {
            Entry::Vacant(free) => {
                free.insert(here);
                self.give(pair)
            }
            Entry::Occupied(taken) => {
                let Seen { file, line, column } = *taken.get();
                let path = Arc::clone(&self.files[file as usize]);
                let before = RecordPlace { path, line: line as usize, column: column as usize };
                let message = format!("the id `{}` was given before at {before}, expected unique ids", pair.id);
                let error = Error::record(place, "duplicate id", message)
                    .with_hint("set `fields: { id: null }` so that pairs are named by file and line");
                self.refuse(error)
            }
        }
    }

    /// Takes a pair whose id its source knows to be unique.
    pub fn give(&mut self, mut pair: Pair) -> Result<()> {
        if pair.is_text() && !self.texts {
            self.leave_out("empty positive", 1);
            return Ok(());
        }
        let (dataset, is_named) = &self.dataset;
        if *is_named || pair.origin.dataset.is_empty() {
            pair.origin.dataset.clone_from(dataset);
        }
        self.count += 1;
        match &mut self.take {
            Some(take) => take(pair),
            None => {
                self.pairs.push(pair);
                Ok(())
            }
        }
    }

    /// Refuses or counts a bad record, as [`Intake::refuse`] does.
    pub(crate) fn refuse(&mut self, error: Error) -> Result<()> {
        self.intake.refuse(error)
    }

    /// Counts records that the config leaves out.
    pub fn leave_out(&mut self, reason: impl Into<String>, count: u64) {
        self.intake.leave_out(reason, count);
    }

    /// Records that the config leaves out, by reason.
    pub(super) fn left_out(self) -> std::collections::BTreeMap<String, u64> {
        self.intake.left_out
    }

    /// Everything, or the error that there was too much to skip.
    pub fn finish(self, name: String, fingerprint: Fingerprint) -> Result<SourceRead> {
        let Intake { left_out: mut skipped, bad, .. } = self.intake.finish(&name, self.count)?;
        for (reason, count) in bad {
            *skipped.entry(reason).or_default() += count;
        }
        Ok(SourceRead { name, pairs: self.pairs, skipped, fingerprint })
    }
}

/// The file's name without what says its format: `a/train.jsonl.gz` is `train`.
pub(crate) fn stem(path: &Path) -> String {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem.to_owned(),
        _ => name.to_owned(),
    }
}
