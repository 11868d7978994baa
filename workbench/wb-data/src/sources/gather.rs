//! Pairs of a source as they come in: ids made and checked, bad records refused or counted.

use std::{
    collections::{BTreeMap, HashMap, hash_map::Entry},
    path::Path,
    sync::Arc,
};

use wb_core::{
    Pair,
    fingerprint::{Fingerprint, text_key},
};

use super::source::{OnBad, SourceRead};
use crate::{Error, Place, Result};

/// The pairs of one source so far.
pub struct Gather<'a> {
    on_bad: OnBad,
    pairs: Vec<Pair>,
    /// Where pairs go instead, where they are not kept.
    take: Option<&'a mut dyn FnMut(Pair) -> Result<()>>,
    count: u64,
    seen: HashMap<[u64; 2], Seen>,
    files: Vec<Arc<Path>>,
    skipped: BTreeMap<String, u64>,
    bad: BTreeMap<String, u64>,
    first_bad: Option<Box<Error>>,
}

/// Where an id stands, in few bytes: there is one for each pair.
#[derive(Clone, Copy)]
struct Seen {
    file: u32,
    line: u32,
    column: u32,
}

impl<'a> Gather<'a> {
    pub(crate) fn new(on_bad: OnBad) -> Self {
        Self {
            on_bad,
            pairs: Vec::new(),
            take: None,
            count: 0,
            seen: HashMap::new(),
            files: Vec::new(),
            skipped: BTreeMap::new(),
            bad: BTreeMap::new(),
            first_bad: None,
        }
    }

    /// Gives pairs away one by one.
    pub(crate) fn to(on_bad: OnBad, take: &'a mut dyn FnMut(Pair) -> Result<()>) -> Self {
        Self { take: Some(take), ..Self::new(on_bad) }
    }

    /// Takes a pair; one without an id is named `stem:line`.
    pub(crate) fn push(&mut self, mut pair: Pair, place: Place, stem: &str) -> Result<()> {
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
                self.count += 1;
                match &mut self.take {
                    Some(take) => take(pair),
                    None => {
                        self.pairs.push(pair);
                        Ok(())
                    }
                }
            }
            Entry::Occupied(taken) => {
                let Seen { file, line, column } = *taken.get();
                let path = Arc::clone(&self.files[file as usize]);
                let before = Place { path, line: line as usize, column: column as usize };
                let message = format!("the id `{}` was given before at {before}, expected unique ids", pair.id);
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
        let of = bad + self.count;
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
