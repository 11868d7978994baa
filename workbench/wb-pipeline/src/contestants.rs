//! Contestants of `wb bench`: what was named; where nothing was, BM25 and the encoder of the latest run.

use std::path::PathBuf;

use anyhow::Result;
use wb_bench::TrainingTexts;
use wb_core::{Progress, RunDir, run_dir};
use wb_encoder::{BiEncoder, DeviceConfig};

use crate::{
    config::Experiment,
    encoder::{self, Opening},
    output,
    session::Folders,
    test_pairs,
};

/// Contestants that are asked for.
#[derive(Debug, Clone, Copy)]
pub struct WantedContestants<'a> {
    /// BM25 alone.
    pub bm25: bool,
    /// An encoder by its name.
    pub encoder: Option<&'a str>,
    /// An encoder alone, that of the latest run where none is named.
    pub encoder_alone: bool,
    /// Longest text in tokens, instead of the encoder's own.
    pub max_tokens: Option<usize>,
    /// The device.
    pub device: DeviceConfig,
    /// Folders in which runs and their pairs are looked for.
    pub folders: Folders<'a>,
}

/// One or two contestants.
pub struct Contestants {
    /// BM25 is one of them.
    pub bm25: bool,
    /// The other, or the only one.
    pub encoder: Option<BiEncoder>,
    /// Its folder.
    pub place: Option<PathBuf>,
    /// The run whose encoder it is, if it is one's.
    pub run: Option<TrainedRun>,
    /// The first line of the results, where nobody was named.
    pub line: Option<String>,
}

/// A run whose encoder is measured.
pub struct TrainedRun {
    /// Its folder.
    pub folder: RunDir,
    /// The pretrained encoder that it began with, as its config names it.
    pub base: Option<String>,
    /// Texts that it was trained on, or why they are not known.
    pub trained_on: Result<TrainingTexts, String>,
}

impl TrainedRun {
    fn read(folder: RunDir, wanted: WantedContestants<'_>, progress: &mut dyn FnMut(Progress)) -> Self {
        let base = match wb_core::config::load::<Experiment>(&folder.config(), &[]) {
            Ok(experiment) => experiment.pretrained().map(|base| base.id.clone()),
            Err(error) => {
                output::note(format!("{} began with an encoder that is not known: {error}", folder.id()));
                None
            }
        };
        let trained_on = test_pairs::trained_on(&folder, wanted.folders.datasets, progress)
            .map_err(|error| format!("not compared with the training pairs of {}: {error:#}", folder.id()));
        Self { folder, base, trained_on }
    }
}

impl Contestants {
    /// Opens the contestants that are asked for; where nobody is, BM25 and the encoder of the latest run.
    ///
    /// # Errors
    ///
    /// If an encoder is not there or cannot be opened.
    pub fn open(wanted: WantedContestants<'_>, progress: &mut dyn FnMut(Progress)) -> Result<Self> {
        if wanted.bm25 {
            return Ok(Self::bm25_alone(None));
        }
        match wanted.encoder {
            Some(name) => Self::encoder(wanted, name, progress),
            None if wanted.encoder_alone => Self::encoder(wanted, "latest", progress),
            None => Self::by_default(wanted, progress),
        }
    }

    /// Number of contestants.
    pub fn count(&self) -> usize {
        usize::from(self.bm25) + usize::from(self.encoder.is_some())
    }

    fn bm25_alone(line: Option<String>) -> Self {
        Self { bm25: true, encoder: None, place: None, run: None, line }
    }

    fn encoder(wanted: WantedContestants<'_>, name: &str, progress: &mut dyn FnMut(Progress)) -> Result<Self> {
        let opening = Opening { max_tokens: wanted.max_tokens, device: wanted.device, dtype: None };
        let (encoder, run) = encoder::open(&name.into(), wanted.folders.runs, opening)?;
        let place = Some(encoder::locate_in(&name.into(), wanted.folders.runs)?);
        let alone = |encoder| Self { bm25: false, encoder: Some(encoder), place, run: None, line: None };
        let Some(folder) = run else { return Ok(alone(encoder)) };
        // The folder of a fine-tuned encoder has its base's name.
        let encoder = encoder.named(folder.id());
        let run = TrainedRun::read(folder, wanted, progress);
        Ok(Self { run: Some(run), ..alone(encoder) })
    }

    fn by_default(wanted: WantedContestants<'_>, progress: &mut dyn FnMut(Progress)) -> Result<Self> {
        let runs = wanted.folders.runs;
        let alone =
            |why: String| Ok(Self::bm25_alone(Some(format!("measuring bm25 alone, as {why}; --encoder names one"))));
        match run_dir::latest(runs)? {
            None => alone(format!("{} has no run with an encoder yet", runs.display())),
            Some(run) if !run.encoder().is_dir() => {
                alone(format!("{} (the latest run) has no trained encoder yet", run.id()))
            }
            Some(run) => {
                let line = format!("measuring bm25 and {} (the latest run); --encoder names another", run.id());
                Ok(Self { bm25: true, line: Some(line), ..Self::encoder(wanted, "latest", progress)? })
            }
        }
    }
}
