//! Pairs of a source as they come in: ids made and checked, bad records refused or counted.

use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    path::Path,
};

use wb_core::{Pair, fingerprint::Fingerprint};

use super::source::{OnBad, SourceRead};
use crate::{Error, Place, Result};

/// The pairs of one source so far.
pub(crate) struct Gather {
    on_bad: OnBad,
    pairs: Vec<Pair>,
    seen: HashMap<String, Place>,
    skipped: BTreeMap<String, u64>,
    bad: BTreeMap<String, u64>,
    first_bad: Option<Box<Error>>,
}

impl Gather {
    pub(crate) fn new(on_bad: OnBad) -> Self {
        Self {
            on_bad,
            pairs: Vec::new(),
            seen: HashMap::new(),
            skipped: BTreeMap::new(),
            bad: BTreeMap::new(),
            first_bad: None,
        }
    }

    /// Takes a pair; one without an id is named `stem:line`.
    pub(crate) fn push(&mut self, mut pair: Pair, place: Place, stem: &str) -> Result<()> {
        if pair.id.is_empty() {
            pair.id = format!("{stem}:{}", place.line);
        }
        match self.seen.entry(pair.id.clone()) {
            Entry::Vacant(free) => {
                free.insert(place);
                self.pairs.push(pair);
                Ok(())
            }
            Entry::Occupied(taken) => {
                let message = format!("the id `{}` was given before at {}, expected unique ids", pair.id, taken.get());
                let error = Error::record(place, "duplicate id", message)
                    .with_hint("set `fields: { id: null }` so that pairs are named by file and line");
                self.refuse(error)
            }
        }
    }

    /// A bad record: an error, or counted. What is no record's fault (a file that cannot be read) is always an error.
    pub(crate) fn refuse(&mut self, error: Error) -> Result<()> {
        match (self.on_bad, &error) {
            (OnBad::Skip, Error::Record { reason, .. }) => {
                *self.bad.entry((*reason).to_owned()).or_default() += 1;
                self.first_bad.get_or_insert_with(|| Box::new(error));
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// A record that the config leaves out; it is counted and no fault.
    pub(crate) fn leave_out(&mut self, reason: impl Into<String>, count: u64) {
        *self.skipped.entry(reason.into()).or_default() += count;
    }

    /// Everything, or the error that there was too much to skip.
    pub(crate) fn finish(mut self, name: String, fingerprint: Fingerprint) -> Result<SourceRead> {
        let bad: u64 = self.bad.values().sum();
        let of = bad + self.pairs.len() as u64;
        if let Some(first) = self.first_bad
            && bad * 100 > of
        {
            return Err(Error::TooManyBad { name, bad, of, reasons: self.bad, first });
        }
        for (reason, count) in self.bad {
            *self.skipped.entry(reason).or_default() += count;
        }
        Ok(SourceRead { name, pairs: self.pairs, skipped: self.skipped, fingerprint })
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
