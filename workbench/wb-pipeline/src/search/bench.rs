//! The ranking measured on a set of questions.

use std::path::{Path, PathBuf};

use anyhow::Result;
use wb_core::{EncoderRef, run_dir::write_json};
use wb_encoder::{BiEncoder, DeviceConfig};
use wb_search::{
    CodeIndex, FolderFiles, RankingWeights, VectorEncoder, build,
    sets::{IndexedSet, Measured, SearchSet, measure},
    vector_store,
    vectors::embed,
};

use super::{Told, open};
use crate::output;

/// Reads a set and indexes its repositories.
pub(super) fn indexed(set: SearchSet, folder: &Path, progress: Told<'_>) -> Result<IndexedSet> {
    let loaded = set.load(folder)?;
    let indexed = loaded.repositories.iter().map(|one| Ok(build(FolderFiles::of(&one.root)?, progress)?.0));
    let indexes = indexed.collect::<Result<Vec<CodeIndex>>>()?;
    Ok((loaded, indexes))
}

/// Gives a set's units and questions their vectors.
pub(super) fn add_vectors(
    (loaded, indexes): &mut IndexedSet,
    (made_by, encoder): &(VectorEncoder, BiEncoder),
    weights: &RankingWeights,
    progress: Told<'_>,
) -> Result<()> {
    let store = vector_store(made_by.clone())?;
    for index in indexes {
        let (vectors, _) = embed(index, None, &store, encoder, progress)?;
        index.set_vectors(vectors);
    }
    Ok(loaded.embed(encoder, weights)?)
}

/// Measures the ranking on a set, without a model and with an encoder's vectors, beside plain BM25 over the same units; with
/// a file to write the numbers to.
pub fn bench(
    set: SearchSet,
    folder: &Path,
    encoder: Option<(EncoderRef, DeviceConfig)>,
    weights: &RankingWeights,
    json: Option<PathBuf>,
    progress: Told<'_>,
) -> Result<()> {
    let opened = encoder.map(|(reference, device)| open(&reference, device)).transpose()?;
    let mut indexed = indexed(set, folder, progress)?;
    let mut rows = vec![measure(&indexed.0, &indexed.1, &RankingWeights::plain(), "BM25")?];
    rows.push(measure(&indexed.0, &indexed.1, weights, "wb search, no model")?);
    if let Some(opened) = &opened {
        add_vectors(&mut indexed, opened, weights, progress)?;
        rows.push(measure(&indexed.0, &indexed.1, weights, &format!("wb search, {}", opened.0.opens))?);
    }
    let loaded = indexed.0;
    output::line(format!("{set}: {} questions, {} repositories", loaded.questions.len(), loaded.repositories.len()));
    if set == SearchSet::Own {
        output::note("these questions are made of their answers, which flatters: a stranger's are harder");
    }
    if loaded.left_out > 0 {
        output::note(format!("{} questions are left out: what they ask about is not there", loaded.left_out));
    }
    tell(&rows);
    let Some(mut own) = rows.pop() else { return Ok(()) };
    own.beside = rows;
    json.map_or(Ok(()), |path| write_json(&path, &own)).map_err(Into::into)
}

/// A table of rankings: a metric a line, with the interval of the last.
fn tell(contestants: &[Measured]) {
    let Some((own, others)) = contestants.split_last() else { return };
    let lines: Vec<Vec<String>> = own
        .metrics
        .iter()
        .map(|(name, value)| {
            let digits = if value.value > 10.0 { 0 } else { 3 };
            let of = |other: &Measured| other.metrics.get(name).map_or(f64::NAN, |value| value.value);
            let values = others.iter().map(|other| format!("{:.digits$}", of(other)));
            let interval = format!("[{:.digits$}, {:.digits$}]", value.low, value.high);
            let all = [name.clone()].into_iter().chain(values);
            all.chain([format!("{:.digits$}", value.value), interval]).collect()
        })
        .collect();
    let names = ["metric", "BM25", "no model", "with vectors"];
    let head: Vec<&str> = names[..=contestants.len()].iter().copied().chain(["95 %"]).collect();
    output::table(&head, &lines);
}
