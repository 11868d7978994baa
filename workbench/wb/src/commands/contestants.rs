//! Who `wb bench` measures: what was named; where nothing was, BM25 and the encoder of the latest run.

use anyhow::Result;
use wb_bench::TrainingTexts;
use wb_core::{RunDir, run_dir};
use wb_encoder::BiEncoder;
use wb_pipeline::{config::Experiment, encoder};

use super::test_pairs;
use crate::{args, output};

/// One or two contestants.
pub struct Contestants {
    /// BM25 is one of them.
    pub bm25: bool,
    /// The other, or the only one.
    pub encoder: Option<BiEncoder>,
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
    /// What it was trained on, or why that is not known.
    pub trained_on: Result<TrainingTexts, String>,
}

impl TrainedRun {
    fn read(folder: RunDir, arguments: &args::Bench) -> Self {
        let base = match wb_core::config::load::<Experiment>(&folder.config(), &[]) {
            Ok(experiment) => experiment.pretrained().map(|base| base.id.clone()),
            Err(error) => {
                output::note(format!("{} began with an encoder that is not known: {error}", folder.id()));
                None
            }
        };
        let trained_on = test_pairs::trained_on(&folder, &arguments.places.datasets)
            .map_err(|error| format!("not compared with the training pairs of {}: {error:#}", folder.id()));
        Self { folder, base, trained_on }
    }
}

impl Contestants {
    /// Those that the command line asks for, opened.
    ///
    /// # Errors
    ///
    /// If an encoder is not there or cannot be opened.
    pub fn open(arguments: &args::Bench) -> Result<Self> {
        if arguments.retriever.is_some() {
            return Ok(Self::bm25_alone(None));
        }
        // Files of one contestant, and what is asked of an encoder alone.
        let wants_one = arguments.trec.is_some() || arguments.token_index.is_some() || arguments.embed.is_some();
        match arguments.encoder.as_deref() {
            Some(name) => Self::encoder(arguments, name),
            None if wants_one => Self::encoder(arguments, "latest"),
            None => Self::by_default(arguments),
        }
    }

    /// How many they are.
    pub fn count(&self) -> usize {
        usize::from(self.bm25) + usize::from(self.encoder.is_some())
    }

    fn bm25_alone(line: Option<String>) -> Self {
        Self { bm25: true, encoder: None, run: None, line }
    }

    fn encoder(arguments: &args::Bench, name: &str) -> Result<Self> {
        let (encoder, run) =
            encoder::open(&name.into(), &arguments.places.runs, arguments.max_tokens, arguments.device)?;
        let Some(folder) = run else { return Ok(Self { bm25: false, encoder: Some(encoder), run: None, line: None }) };
        // The folder of a fine-tuned encoder has its base's name.
        let encoder = encoder.named(folder.id());
        let run = TrainedRun::read(folder, arguments);
        Ok(Self { bm25: false, encoder: Some(encoder), run: Some(run), line: None })
    }

    fn by_default(arguments: &args::Bench) -> Result<Self> {
        let runs = &arguments.places.runs;
        let alone =
            |why: String| Ok(Self::bm25_alone(Some(format!("measuring bm25 alone, as {why}; --encoder names one"))));
        match run_dir::latest(runs)? {
            None => alone(format!("{} has no run with an encoder yet", runs.display())),
            Some(run) if !run.encoder().is_dir() => {
                alone(format!("{} (the latest run) has no trained encoder yet", run.id()))
            }
            Some(run) => {
                let line = format!("measuring bm25 and {} (the latest run); --encoder names another", run.id());
                Ok(Self { bm25: true, line: Some(line), ..Self::encoder(arguments, "latest")? })
            }
        }
    }
}
