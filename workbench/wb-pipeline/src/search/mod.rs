//! A project's code found by words, names and meaning: its index, answers to questions, and the ranking measured on and
//! fitted to questions of others.

mod ask;
mod bag;
mod bench;
mod tune;
mod watch;

use std::{path::Path, sync::Arc, time::Instant};

use anyhow::Result;
use wb_core::{Encoder, EncoderPlace, EncoderRef, Progress, fingerprint::Fingerprint};
use wb_encoder::{BiEncoder, DeviceConfig};
use wb_search::{
    CodeIndex, IndexPlace, IndexUpdate, RankingWeights, UnitVectors, VectorEncoder, VectorStore,
    structure::ScipCoverage, vector_store,
};

use crate::{
    encoder::{self, Opening},
    output, session,
};

pub use ask::{ProjectSearch, SearchForm, most_answers};
pub use bench::SearchBench;
pub use tune::{NamedSet, tune, weights};
pub use watch::IndexWatch;

/// Progress of what several threads do.
type Told<'a> = &'a mut (dyn FnMut(Progress) + Send);

/// The encoder of an index's vectors.
#[derive(Debug, Clone)]
pub enum IndexEncoder {
    /// The one that the index has, if it has one.
    Kept,
    /// Another one.
    Named(EncoderRef, DeviceConfig),
    /// None: words alone.
    Without,
}

/// Indexes a project, or brings its index up to date; tells what is in it.
pub fn index(place: &IndexPlace, anew: bool, encoder: &IndexEncoder, progress: Told<'_>) -> Result<()> {
    Ok(brought_up(place, anew, encoder, progress)??)
}

/// [`index`]; the error inside is one of an indexer's file that cannot be read, beside which all else is kept.
fn brought_up(
    place: &IndexPlace,
    anew: bool,
    encoder: &IndexEncoder,
    progress: Told<'_>,
) -> Result<wb_core::Result<()>> {
    // What cannot be opened is told before anything is read, and is not held meanwhile: an index takes memory enough.
    if let IndexEncoder::Named(reference, device) = encoder {
        if reference.is_bag(session::runs())? {
            bag::train(anew, progress)?;
            bag::opened(*device)?;
        } else {
            open(reference, *device)?;
        }
    }
    if let Some(scip) = &place.scip {
        std::fs::metadata(scip).map_err(wb_core::Error::io("read", scip))?;
    }
    let started = Instant::now();
    let (mut update, found) = place.update(anew, progress)?;
    let structures = update.structures(progress);
    let embedded = match encoder {
        IndexEncoder::Named(reference, device) => {
            let (made_by, encoder) = open(reference, *device)?;
            Some(update.embed(&vector_store(made_by)?, &encoder, progress)?)
        }
        IndexEncoder::Kept => bring_up_vectors(&mut update, anew, progress)?,
        IndexEncoder::Without => {
            update.forget_vectors();
            None
        }
    };
    let index = update.keep()?;
    output::line(format!("{} in {:.1} s", holds(&index), started.elapsed().as_secs_f64()));
    for (reason, files) in &found.skipped {
        output::note(format!("left aside, {reason}: {files}"));
    }
    let others = index.n_of_no_kind();
    if others > 0 {
        output::note(format!("found by patterns alone (`-e`), of no kind that is known: {others}"));
    }
    if let (Some(embedded), Some(vectors)) = (embedded, index.vectors()) {
        let encoder = vectors.encoder();
        let (all, dim) = (vectors.n_vectors(), encoder.dim);
        output::note(format!("{embedded} texts embedded now, by {} ({all} vectors of {dim} numbers)", encoder.opens));
    }
    if index.vectors().is_none() && !index.is_of_words_alone() {
        let how = "`wb index --encoder bag`, which trains an encoder on this machine's code, once, in a minute";
        output::note(format!("found by words alone; to be found by meaning, too: {how}"));
    }
    if let Some(ScipCoverage { documents, current }) = ScipCoverage::of(&index)? {
        let others = if current < documents { "; in the others names are found by rules: make it again" } else { "" };
        output::note(format!("index.scip says what names mean in {current} of its {documents} files{others}"));
    }
    if let Some(file) = index.annotations() {
        let path = file.path.display();
        output::note(match index.n_annotated() {
            0 => format!("none of the texts that {path} speaks of is here"),
            units => format!("{units} units have what {path} says of them"),
        });
    }
    output::note(format!("kept in {}", place.file.display()));
    Ok(structures.map(|_| ()))
}

/// An error where weights make nothing of what a cross-encoder says.
fn expect_reading(weights: &RankingWeights) -> Result<()> {
    if weights.rerank > 0.0 && weights.rerank.is_finite() {
        return Ok(());
    }
    let what = format!("these weights have `rerank: {}`, expected more than 0 for a cross-encoder", weights.rerank);
    Err(wb_core::Error::value("--rerank", what).with_hint("`rerank: 0.3` in the file of --weights").into())
}

/// Keeps an index to be asked, or says why it is in memory alone.
pub(crate) fn kept_or_told(update: IndexUpdate<'_>) -> CodeIndex {
    let (index, kept) = update.try_to_keep();
    if let Err(error) = kept {
        output::note(format!("the index is in memory alone: {}", error.in_one_line()));
    }
    index
}

/// Embeds what is new since the vectors of an index were made, by the encoder that made them; all, where it has changed. An
/// index without vectors gets those of this machine's own encoder, where there is one and words alone were not asked for.
fn bring_up_vectors(update: &mut IndexUpdate<'_>, anew: bool, progress: Told<'_>) -> Result<Option<usize>> {
    let kept = match update.index().kept_vectors() {
        Err(error) if anew => {
            let how = "`--encoder` makes others";
            output::note(format!("vectors of before cannot be read, {}: {how}", error.in_one_line()));
            update.lose_vectors();
            None
        }
        kept => kept?,
    };
    let Some((made_by, encoder)) = encoder_of(kept.as_ref(), update.index())? else { return Ok(None) };
    Ok(Some(update.embed(&vector_store(made_by)?, &encoder, progress)?))
}

/// Opens the encoder that is to make an index's vectors, if any is.
fn encoder_of(kept: Option<&UnitVectors>, index: &CodeIndex) -> Result<Option<(VectorEncoder, BiEncoder)>> {
    match kept {
        Some(kept) => reopen(kept.encoder()).map(Some),
        None if index.is_of_words_alone() => Ok(None),
        None => bag::opened(DeviceConfig::Cpu),
    }
}

/// Opens an encoder for vectors of units.
fn open(reference: &EncoderRef, device: DeviceConfig) -> Result<(VectorEncoder, BiEncoder)> {
    let opening = Opening { device, ..Opening::default() };
    let (encoder, _) = encoder::open(reference, session::runs(), opening)?;
    let opens = match reference.place(session::runs())? {
        EncoderPlace::Hub { .. } => reference.name(),
        _ => std::path::absolute(encoder::locate(reference)?)?.display().to_string(),
    };
    Ok((VectorEncoder::of(&opens, stamp(&encoder::locate(reference)?)?, &encoder), encoder))
}

/// Names, sizes and times of a folder's files, in short.
fn stamp(folder: &Path) -> Result<String> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        let listing = std::fs::read_dir(&folder).map_err(wb_core::Error::io("read", &folder))?;
        for path in listing.filter_map(|entry| Some(entry.ok()?.path())) {
            // A file of the hub's cache is a link to one that never changes.
            match std::fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() => folders.push(path),
                Ok(metadata) => {
                    files.push(format!("{} {} {:?}", path.display(), metadata.len(), metadata.modified().ok()))
                }
                Err(_) => {}
            }
        }
    }
    files.sort_unstable();
    Ok(Fingerprint::of_bytes(files.join("\n").as_bytes()).short().to_owned())
}

/// Opens the encoder that made vectors; it has changed where it is another by now. One whose files are as they were is not
/// looked at more closely, which would take longer than a question does.
fn reopen(kept: &VectorEncoder) -> Result<(VectorEncoder, BiEncoder)> {
    let reference: EncoderRef = kept.opens.as_str().into();
    let again = || {
        if encoder::locate(&reference).and_then(|folder| stamp(&folder)).ok().as_ref() != Some(&kept.stamp) {
            return open(&reference, DeviceConfig::Cpu);
        }
        let opening = Opening { device: DeviceConfig::Cpu, ..Opening::default() };
        Ok((kept.clone(), encoder::open(&reference, session::runs(), opening)?.0))
    };
    again().map_err(|error| {
        let what = format!("the vectors of this index were made by {}: {error:#}", kept.opens);
        wb_core::Error::failed(what).with_hint("`wb index --words` does without, `--encoder` takes another one").into()
    })
}

/// Opens the encoder that is to make an index's vectors, if any is, for a server that asks it again and again.
pub fn opened_encoder(kept: Option<&UnitVectors>, index: &CodeIndex) -> wb_core::Result<Option<OpenedEncoder>> {
    let failed = |error: anyhow::Error| {
        error.downcast().unwrap_or_else(|error: anyhow::Error| wb_core::Error::failed(format!("{error:#}")))
    };
    let Some((made_by, encoder)) = encoder_of(kept, index).map_err(failed)? else { return Ok(None) };
    Ok(Some((vector_store(made_by)?, Arc::new(encoder))))
}

/// An encoder that is open, and the store of its vectors.
type OpenedEncoder = (VectorStore, Arc<dyn Encoder + Send + Sync>);

/// Tells what an index has; true where it is there and nothing has changed since.
pub fn status(place: &IndexPlace) -> Result<bool> {
    let Some(mut index) = place.read()? else {
        output::line(format!("{}: not indexed; `wb index` does it", place.root.display()));
        return Ok(false);
    };
    let missing = index.kept_vectors()?.map(|vectors| index.set_vectors(vectors));
    let stale = index.stale()?;
    output::line(format!("{}, {} changed and {} gone since", holds(&index), stale.changed.len(), stale.gone.len()));
    if let (Some(missing), Some(vectors)) = (missing, index.vectors()) {
        output::note(format!("vectors by {}; {missing} units have none", vectors.encoder().opens));
    }
    Ok(stale.is_empty() && missing.unwrap_or(0) == 0)
}

/// Reads all of an index and its vectors, as an answer would; an error names what is damaged.
pub fn verify(place: &IndexPlace) -> Result<bool> {
    let Some(mut index) = place.read()? else { return status(place) };
    let [words, trigrams, structures] = index.verify()?;
    let what = format!("{words} words, {trigrams} trigrams, {structures} structures");
    output::line(format!("{}; whole: {what}", holds(&index)));
    if let Some(vectors) = index.kept_vectors()? {
        let (n, by) = (vectors.n_vectors(), vectors.encoder().opens.clone());
        let missing = index.set_vectors(vectors);
        output::line(format!("{n} vectors by {by}; whole, {missing} units have none"));
    }
    Ok(true)
}

/// Puts the files together in which the vectors of an index's encoder are kept for all projects.
pub fn compact(place: &IndexPlace) -> Result<bool> {
    let Some(vectors) = place.read()?.map(|index| index.kept_vectors()).transpose()?.flatten() else {
        output::line(format!("{}: no vectors, nothing to put together", place.root.display()));
        return Ok(true);
    };
    let (before, after) = vector_store(vectors.encoder().clone())?.compact()?;
    output::line(format!("vectors by {}: {before} files before, {after} now", vectors.encoder().opens));
    Ok(true)
}

fn holds(index: &CodeIndex) -> String {
    let (files, units, bytes) = (index.n_readable(), index.units().len(), index.n_bytes() as f64 / 1e6);
    let at = index.commit().map_or(String::new(), |commit| format!(" at {commit:.12}"));
    let further: String = index.further().iter().map(|folder| format!(", {}", folder.display())).collect();
    format!("{}{at}{further}: {files} files, {units} units, {bytes:.1} MB", index.root().display())
}
