//! Who `wb bench` measures: what was named; where nothing was, BM25 and the encoder of the latest run.

use anyhow::Result;
use wb_core::{RunDir, run_dir};
use wb_encoder::BiEncoder;

use crate::{args, pipeline::encoder};

/// One or two contestants.
pub struct Contestants {
    /// BM25 is one of them.
    pub bm25: bool,
    /// The other, or the only one.
    pub encoder: Option<BiEncoder>,
    /// The run whose encoder it is, if it is one's.
    pub run: Option<RunDir>,
    /// The first line of the results, where nobody was named.
    pub line: Option<String>,
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
        Ok(Self { bm25: false, encoder: Some(encoder), run, line: None })
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
