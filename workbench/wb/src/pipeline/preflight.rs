//! What an experiment needs from elsewhere, looked at before anything is computed or written.

use std::path::Path;

use anyhow::{Context, Result};
use wb_encoder::{Folder, folder::MaxTokens, train::TrainConfig};

use wb_retrieval::mining::{MiningConfig, RescoreConfig};

use super::{encoder, mine};
use crate::config::{Experiment, SourceChoice};

/// Refuses an experiment whose pretrained encoder, or benchmarks' data where it is to be measured, are not there or do
/// not fit.
pub fn preflight(experiment: &Experiment, measured: bool) -> Result<()> {
    if let Some(path) = unmade_pairs(experiment) {
        return Err(wb_core::Error::Unknown {
            kind: "file of pairs",
            name: path.display().to_string(),
            hint: Some("make it first: wb synth with this file".into()),
        }
        .into());
    }
    but_pairs(experiment, measured)
}

/// The same without a look at pairs that `wb synth` is yet to make.
pub fn but_pairs(experiment: &Experiment, measured: bool) -> Result<()> {
    let (max_tokens, special) = encoder::check(experiment)?;
    check_stage_lengths(&experiment.train, max_tokens, special)?;
    judges(experiment)?;
    if let Some(guide) = experiment.train.loss.guide() {
        let guide = Folder::read(&encoder::locate(guide).context("cannot read the loss's guide")?)?;
        one_vector_a_text("train.loss", "the guide", &guide)?;
    }
    if let Some(negatives) = &experiment.negatives {
        self::negatives(negatives)?;
    }
    let benchmarks = if measured { experiment.bench.benchmarks.as_slice() } else { &[] };
    for (at, entry) in benchmarks.iter().enumerate() {
        if let Some(folder) = entry.dataset.as_ref().filter(|folder| !folder.is_dir()) {
            return Err(wb_core::Error::Unknown {
                kind: "folder",
                name: folder.display().to_string(),
                hint: Some("paths are relative to the folder in which wb is started".into()),
            })
            .with_context(|| format!("cannot read bench.benchmarks[{at}].dataset"));
        }
        for (number, source) in entry.sources.iter().enumerate() {
            source.fingerprint().with_context(|| format!("cannot read bench.benchmarks[{at}].sources[{number}]"))?;
        }
    }
    Ok(())
}

/// Refuses encoders that are to judge pairs and are not there, or compare texts otherwise than a judge does.
pub fn judges(experiment: &Experiment) -> Result<()> {
    let gates = experiment.data.prepare();
    let named = [
        ("data.semantic.encoder", gates.semantic.as_ref().map(|gate| &gate.encoder)),
        ("data.consistency.by.encoder", gates.consistency.as_ref().and_then(|gate| gate.by.encoder())),
        ("data.difficulty.by.encoder", gates.difficulty.as_ref().and_then(|gate| gate.by.encoder())),
    ];
    for (key, judge) in named.into_iter().filter_map(|(key, judge)| Some((key, judge?))) {
        let folder = Folder::read(&encoder::locate(judge)?)?;
        one_vector_a_text(key, "what judges pairs", &folder)?;
    }
    Ok(())
}

/// Refuses an encoder of one vector a token where cosines of two texts are asked for.
fn one_vector_a_text(key: &str, what: &str, folder: &Folder) -> wb_core::Result<()> {
    if folder.late_interaction.is_none() {
        return Ok(());
    }
    let message = format!("{what} has to give one vector a text, and {} gives one a token", folder.name);
    Err(wb_core::Error::value(key, message)
        .with_hint("name an encoder with one vector a text, such as sentence-transformers/all-MiniLM-L6-v2"))
}

/// The file of pairs that `wb synth` is yet to make of this very file.
pub fn unmade_pairs(experiment: &Experiment) -> Option<&Path> {
    if experiment.synth.is_none() && experiment.rules.is_none() && experiment.annotate.is_none() {
        return None;
    }
    let files = experiment.data.sources.iter().filter_map(|source| match source {
        SourceChoice::Jsonl(files) => Some(files.path.as_path()),
        _ => None,
    });
    files.into_iter().find(|path| path.ends_with("pairs.jsonl") && !path.exists())
}

/// Refuses stages whose texts would be longer than the encoder's, or would be nothing but special tokens.
fn check_stage_lengths(train: &TrainConfig, encoder: MaxTokens, special: usize) -> wb_core::Result<()> {
    for (at, stage) in train.curriculum.iter().enumerate() {
        let Some(own) = stage.max_tokens else { continue };
        for (side, own, most) in [("query", own.query, encoder.query), ("document", own.document, encoder.document)] {
            if own <= special || own > most {
                let message = format!("got {own}, expected more than {special} and at most {most}, the encoder's own");
                let key = format!("train.curriculum[{at}].max_tokens.{side}");
                return Err(
                    wb_core::Error::value(key, message).with_hint("encoder.max_tokens is the limit of all stages")
                );
            }
        }
    }
    Ok(())
}

/// Refuses a mining whose files are not there.
pub fn negatives(config: &MiningConfig) -> Result<()> {
    let rescore = config.rescore.as_ref();
    let mut files = vec![("corpus", config.corpus.as_ref()), ("rescore.file", rescore.and_then(RescoreConfig::file))];
    if let Some(vectors) = &config.vectors {
        files.push(("vectors.queries", Some(&vectors.queries)));
        files.push(("vectors.query_ids", Some(&vectors.query_ids)));
        files.push(("vectors.documents", Some(&vectors.documents)));
        files.push(("vectors.document_ids", Some(&vectors.document_ids)));
    }
    for (key, file) in files {
        if let Some(file) = file.filter(|file| !file.is_file()) {
            return Err(wb_core::Error::Unknown {
                kind: "file",
                name: file.display().to_string(),
                hint: Some("paths are relative to the folder in which wb is started".into()),
            })
            .with_context(|| format!("cannot read negatives.{key}"));
        }
    }
    if let Some(cross) = rescore.and_then(RescoreConfig::cross_encoder) {
        mine::cross_encoder(cross)?;
    }
    Ok(())
}
