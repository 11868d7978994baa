//! Things outside of a YAML, opened and let go before anything is computed or written.

use std::path::Path;

use anyhow::{Context, Error, Result};
use wb_core::remote;
use wb_encoder::{
    DeviceConfig, Folder,
    folder::MaxTokens,
    train::{TrainConfig, teacher::check_width},
};

use super::{
    encoder::{self, CheckedEncoder},
    mine,
    needs::{Asset, AssetKind, assets},
};
use crate::{
    config::{Experiment, SourceChoice},
    session,
};

/// Refuses an experiment whose pairs are yet to be made, whose encoder does not fit, or whose things outside of the YAML
/// are not there or do not fit; of these only what the sections name that the keys begin with, as in `bench.`.
///
/// `config` is the experiment's file, which hints name.
pub fn preflight(config: &Path, experiment: &Experiment, sections: &[&str]) -> Result<()> {
    match unmade_pairs(experiment) {
        Some(path) => Err(not_there("file of pairs", path, &format!("wb synth {}", config.display()))),
        None => but_pairs(experiment, sections),
    }
}

/// Refuses what [`preflight`] does, without a look at pairs that `wb synth` is yet to make.
pub fn but_pairs(experiment: &Experiment, sections: &[&str]) -> Result<()> {
    if experiment.encoder.is_some() {
        let CheckedEncoder { max_tokens, special_tokens, dim } = encoder::check(experiment)?;
        check_stage_lengths(&experiment.train, max_tokens, special_tokens)?;
        if sections.iter().any(|section| "train.loss".starts_with(section)) {
            check_teacher(experiment, dim)?;
        }
    }
    self::sections(experiment, sections)
}

/// Refuses what some sections name and is not there or does not fit.
pub fn sections(experiment: &Experiment, sections: &[&str]) -> Result<()> {
    let all = assets(experiment);
    let of_sections = |asset: &&Asset<'_>| sections.iter().any(|section| asset.key.starts_with(section));
    all.iter().filter(of_sections).try_for_each(open)
}

/// Opens a thing. Encoders and language models that one command alone asks for are opened by that, and sources of
/// training pairs are read next.
fn open(asset: &Asset<'_>) -> Result<()> {
    const HERE: &str = "paths are relative to the folder in which wb is started";
    let cannot = || format!("cannot read {}", asset.key);
    match &asset.kind {
        AssetKind::File(file) if !remote::local(file).with_context(cannot)?.is_file() => {
            Err(not_there("file", file, HERE)).with_context(cannot)
        }
        AssetKind::Folder(folder) if !remote::local(folder).with_context(cannot)?.is_dir() => {
            Err(not_there("folder", folder, HERE)).with_context(cannot)
        }
        AssetKind::Source(source) if asset.key.starts_with("bench.") => {
            source.fingerprint().map(|_| ()).with_context(cannot)
        }
        AssetKind::Judge(reference, role) => {
            let read = || -> Result<Folder> { Ok(encoder::named(reference, session::runs())?.0) };
            one_vector_a_text(&asset.key, role, &read().with_context(cannot)?)
        }
        AssetKind::CrossEncoder(config) => mine::cross_encoder(config, DeviceConfig::Cpu).map(|_| ()),
        _ => Ok(()),
    }
}

/// Refuses a teacher whose vectors are shorter than the model's.
fn check_teacher(experiment: &Experiment, dim: usize) -> Result<()> {
    let loss = &experiment.train.loss;
    let Some(reference) = loss.guide().filter(|_| loss.needs().guide_dim) else { return Ok(()) };
    let read = || -> Result<usize> { Ok(encoder::named(reference, session::runs())?.0.dim()) };
    let width = read().with_context(|| format!("cannot read train.loss.{}", loss.guide_key()))?;
    Ok(check_width(width, dim, loss)?)
}

fn not_there(kind: &'static str, path: &Path, hint: &str) -> Error {
    wb_core::Error::unknown(kind, path.display().to_string()).with_hint(hint.to_owned()).into()
}

/// Refuses an encoder of one vector a token where cosines of two texts are asked for.
fn one_vector_a_text(key: &str, role: &str, folder: &Folder) -> Result<()> {
    if folder.late_interaction.is_none() {
        return Ok(());
    }
    let message = format!("{role} has to give one vector a text, and {} gives one a token", folder.name);
    Err(wb_core::Error::value(key, message)
        .with_hint("name an encoder with one vector a text, such as sentence-transformers/all-MiniLM-L6-v2")
        .into())
}

/// The file of pairs that `wb synth` is yet to make of this very file.
pub fn unmade_pairs(experiment: &Experiment) -> Option<&Path> {
    if experiment.synth.is_none() && experiment.rules.is_none() && experiment.annotate.is_none() {
        return None;
    }
    let files = experiment.data.as_ref()?.sources.iter().filter_map(|source| match source {
        SourceChoice::Jsonl(files) => Some(files.path.as_path()),
        _ => None,
    });
    // Who does not answer is told when it is read.
    files.into_iter().find(|path| path.ends_with("pairs.jsonl") && !remote::exists(path).unwrap_or(true))
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
