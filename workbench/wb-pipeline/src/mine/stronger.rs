//! A stronger model's scores in place of the retriever's: those in a file, or a cross-encoder's, kept as they are made.

use std::{
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result};
use wb_core::{Reranker, fingerprint::Fingerprint, remote};
use wb_encoder::{CrossEncoder, DeviceConfig};
use wb_retrieval::mining::{
    CrossEncoderConfig, KeptScores, MiningConfig, MiningTexts, RescoreConfig, Rescored, Rescorer,
};

use crate::{device, encoder, manifest::this_code, output, session};

/// The config path of a cross-encoder.
const KEY: &str = "negatives.rescore.cross_encoder";

/// A source of scores that decide in place of the ranker's.
pub enum Stronger<'a> {
    /// Scores in a file.
    File(PathBuf),
    /// Scores of a cross-encoder.
    CrossEncoder(Box<KeptScores<'a, CrossEncoder>>),
}

/// Reads the cross-encoder of a config to a device.
pub fn cross_encoder(config: &CrossEncoderConfig, device: DeviceConfig) -> Result<CrossEncoder> {
    named(config, KEY, device)
}

/// Reads a cross-encoder that `key` names, with its scores, which are kept beside an encoder's vectors.
fn kept_cross_encoder<'a>(
    config: &CrossEncoderConfig,
    key: &str,
    device: DeviceConfig,
    datasets: &Path,
) -> Result<KeptScores<'a, CrossEncoder>> {
    let model = named(config, key, device)?;
    for note in model.notes() {
        output::note(format!("cross-encoder: {note}"));
    }
    let mut all = Fingerprint::builder();
    // Devices agree up to rounding, so each has scores of its own.
    let device = device::resolved(device)?.to_string();
    all.text(&this_code()).text(model.fingerprint().as_str()).text(&device);
    let file = datasets.join("scores").join(format!("{}.bin", all.finish().short()));
    remote::bring(&file)?;
    Ok(KeptScores::open(model, &file)?)
}

/// The cross-encoder that `--rerank` names, if it names one; its scores are kept in the folder of data sets.
pub fn reranker<'a>(
    name: Option<&str>,
    device: DeviceConfig,
    datasets: &Path,
) -> Result<Option<KeptScores<'a, CrossEncoder>>> {
    let config = |name: &str| CrossEncoderConfig { model: name.into(), max_tokens: None };
    name.map(|name| kept_cross_encoder(&config(name), "--rerank", device, datasets)).transpose()
}

fn named(config: &CrossEncoderConfig, key: &str, device: DeviceConfig) -> Result<CrossEncoder> {
    let read = || -> Result<CrossEncoder> {
        let model = encoder::open_cross_encoder(&config.model, session::runs(), device)?;
        Ok(match config.max_tokens {
            Some(tokens) => model.with_max_tokens(tokens, &format!("{key}.max_tokens"))?,
            None => model,
        })
    };
    read().with_context(|| format!("cannot read {key}"))
}

impl<'a> Stronger<'a> {
    /// Opens what a config asks for; a cross-encoder's scores are kept beside an encoder's vectors.
    pub fn open(config: &MiningConfig, device: DeviceConfig, datasets: &Path) -> Result<Option<Self>> {
        Ok(match &config.rescore {
            None => None,
            Some(RescoreConfig::File(file)) => Some(Self::File(file.clone())),
            Some(RescoreConfig::CrossEncoder(config)) => {
                Some(Self::CrossEncoder(Box::new(kept_cross_encoder(config, KEY, device, datasets)?)))
            }
        })
    }

    /// Makes it give up soon after the flag is set.
    #[must_use]
    pub fn until(self, stop: &'a AtomicBool) -> Self {
        match self {
            Self::File(file) => Self::File(file),
            Self::CrossEncoder(kept) => Self::CrossEncoder(Box::new(kept.until(stop))),
        }
    }

    /// The name in tables.
    pub fn name(&self) -> String {
        match self {
            Self::File(file) => format!("scores in {}", file.display()),
            Self::CrossEncoder(kept) => kept.reranker().name(),
        }
    }

    /// Fingerprint of all that decides the scores.
    pub fn fingerprint(&self) -> Result<Fingerprint> {
        match self {
            Self::File(file) => Ok(Fingerprint::of_file(file)?),
            Self::CrossEncoder(kept) => Ok(kept.reranker().fingerprint()),
        }
    }

    /// The cross-encoder, where it is one.
    pub fn cross_encoder(&self) -> Option<&dyn Rescorer> {
        match self {
            Self::File(_) => None,
            Self::CrossEncoder(kept) => Some(&**kept),
        }
    }

    /// The scores in a file, read for these texts; none of a cross-encoder.
    pub fn read(&self, texts: &MiningTexts<'_>) -> Result<Option<Rescored>> {
        let Self::File(file) = self else { return Ok(None) };
        let scores = Rescored::read(file, texts)?;
        if scores.unknown > 0 {
            output::note(format!("rescoring: {} scores are of other queries or documents", scores.unknown));
        }
        Ok(Some(scores))
    }
}
