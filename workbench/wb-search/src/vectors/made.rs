//! Vectors of an index's units: those that are known, and an encoder's for the others.

use std::collections::{HashMap, HashSet};

use wb_core::{Encoder, Interaction, Progress, Side};

use super::{UnitKey, UnitVectors, VectorStore, of_text};
use crate::{CodeIndex, Error, Result, files::named};

/// Units that are embedded before their vectors are kept: what a killed process loses at most.
const TOGETHER: usize = 2048;
/// Units of one vector a token, which are a hundred times as many, that are embedded before theirs are kept.
const TOGETHER_BY_TOKEN: usize = 256;

/// Vectors of all units of an index in their order. What `known` or the store has is taken, the rest is embedded and kept
/// in the store as it comes; the number of embedded texts is told beside.
///
/// A unit whose file has changed since it was indexed has a vector of zeros: the next update embeds it.
pub fn embed(
    index: &CodeIndex,
    known: Option<&UnitVectors>,
    store: &VectorStore,
    encoder: &dyn Encoder,
    progress: &mut dyn FnMut(Progress),
) -> Result<(UnitVectors, usize)> {
    let known = known.filter(|known| known.encoder().fingerprint == store.encoder().fingerprint);
    let mut all = match known {
        Some(known) => {
            // Under the name and at the place by which the encoder is known now.
            let renamed = |vectors: UnitVectors| vectors.made_by(store.encoder().clone());
            let (ordered, missing) = known.clone().ordered(index);
            if missing.is_empty() {
                return Ok((renamed(ordered), 0));
            }
            renamed(known.clone())
        }
        None => UnitVectors::empty(store.encoder().clone()),
    };
    let have: HashSet<UnitKey> = all.keys().iter().copied().collect();
    let wanted: HashSet<UnitKey> =
        index.units().iter().map(|unit| unit.key).filter(|key| !have.contains(key)).collect();
    let kept = store.of(wanted)?;
    (0..kept.len()).for_each(|at| all.push_from(&kept, at));
    let mut seen: HashSet<UnitKey> = all.keys().iter().copied().collect();
    // The first of the units that have the same text.
    let missing: Vec<usize> = (0..index.units().len()).filter(|at| seen.insert(index.units()[*at].key)).collect();
    let mut done = 0;
    let together = match encoder.interaction() {
        Interaction::InnerProduct => TOGETHER,
        Interaction::MaxSim => TOGETHER_BY_TOKEN,
    };
    for units in missing.chunks(together) {
        let texts = texts(index, units);
        let (units, texts): (Vec<usize>, Vec<&str>) = texts.iter().map(|(unit, text)| (*unit, text.as_str())).unzip();
        let told =
            &mut |now: Progress| progress(Progress::new("embedding units", done + now.done as usize, missing.len()));
        let vectors = encoder.encode(&texts, Side::Document, told).map_err(failed)?.normalized();
        let mut made = UnitVectors::empty(store.encoder().clone());
        for (row, unit) in units.iter().enumerate() {
            made.push(index.units()[*unit].key, &of_text(&vectors, row));
        }
        store.keep(&made)?;
        (0..made.len()).for_each(|at| all.push_from(&made, at));
        done += texts.len();
    }
    store.gather_many()?;
    Ok((all.ordered(index).0, done))
}

/// The error of an encoder.
pub(crate) fn failed(error: wb_core::encoder::EncodeError) -> Error {
    match error.downcast::<Error>() {
        Ok(own) => *own,
        Err(other) => Error::failed(other.to_string()),
    }
}

/// Texts of units by their positions, of those files that are as they were when they were indexed.
pub fn texts(index: &CodeIndex, units: &[usize]) -> Vec<(usize, String)> {
    let mut by_file: HashMap<u32, Vec<usize>> = HashMap::new();
    units.iter().for_each(|unit| by_file.entry(index.units()[*unit].file).or_default().push(*unit));
    let mut texts = Vec::with_capacity(units.len());
    for (file, units) in by_file {
        let path = &index.files()[file as usize].path;
        let Some(text) = index.current_text(file as usize) else { continue };
        let lines: Vec<&str> = text.lines().collect();
        texts.extend(
            units.into_iter().map(|unit| (unit, index.code_unit(unit).text(named(index.further(), path), &lines))),
        );
    }
    texts.sort_unstable_by_key(|(unit, _)| *unit);
    texts
}
