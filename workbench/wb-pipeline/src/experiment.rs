//! One execution of an experiment, from its pairs to its verdict.

use std::path::Path;

use anyhow::Result;
use wb_core::{Progress, RunDir};
use wb_encoder::{OpenDevice, train::TrainOutcome};

use crate::{
    bench::{self, MeasuredBenchmark},
    config::{ContestantName, Experiment},
    data,
    distributed::Ranks,
    interrupt::Interrupt,
    mine, preflight, resume,
    session::Folders,
    train::{self, OpenRun, Trained},
    verdict,
};

/// Sections that a whole run reads; the last is not for training alone.
pub const WHOLE: [&str; 5] = ["data.", "encoder.", "negatives.", "train.", "bench."];

/// The sections that are read: all of them, or those of training alone.
pub fn sections(measured: bool) -> &'static [&'static str] {
    if measured { &WHOLE } else { &WHOLE[..4] }
}

/// An experiment that can begin: all that it names is there, and its device computes rightly.
pub struct Job<'a> {
    experiment: &'a Experiment,
    folders: Folders<'a>,
    named: Option<RunDir>,
    device: OpenDevice,
    measured: bool,
}

/// The end of a run.
pub enum Ended {
    /// Stopped; nothing where no step was done.
    Stopped(Option<TrainOutcome>),
    /// Its encoder is trained, and nothing was to be measured.
    Trained(OpenRun),
    /// Trained and measured.
    Measured {
        /// The run, which nobody else works on yet.
        run: OpenRun,
        /// One a benchmark.
        outcomes: Vec<MeasuredBenchmark>,
        /// The verdict in one line, where there is something to compare with.
        verdict: Option<String>,
    },
}

impl<'a> Job<'a> {
    /// An experiment with what it names, checked before anything is computed. `config` is its file, which hints name,
    /// `resume` a run to go on with, `measured` whether benchmarks follow the training, `ranks` the other
    /// processes of a training by several.
    ///
    /// # Errors
    ///
    /// If something is not there or does not fit, or the device does not pass its self-test.
    pub fn new(
        experiment: &'a Experiment,
        config: &Path,
        folders: Folders<'a>,
        resume: Option<&str>,
        measured: bool,
        ranks: &Ranks,
    ) -> Result<Self> {
        preflight::preflight(config, experiment, sections(measured))?;
        if measured {
            bench::expect_held_out(experiment, experiment.data()?.split.test > 0.0)?;
        }
        let named = resume.map(|name| resume::named(experiment, folders.runs, name)).transpose()?;
        let device = ranks.open(experiment)?;
        Ok(Self { experiment, folders, named, device, measured })
    }

    /// Does every stage that is not done yet.
    ///
    /// # Errors
    ///
    /// If a stage fails; what was done before it is kept.
    pub fn run(self, interrupt: &Interrupt, progress: &mut dyn FnMut(Progress)) -> Result<Ended> {
        let Self { experiment, folders, named, device, measured } = self;
        let data = data::data(experiment, folders.datasets, progress)?;
        if measured {
            bench::expect_held_out(experiment, !data.prepared.test.is_empty())?;
        }
        let data = mine::of_experiment(experiment, data, folders, progress)?;
        let mut run = train::open(experiment, &data, folders.runs, named)?;
        let keeps = measured && experiment.bench.contestants.contains(&ContestantName::Untrained);
        let begun = train::encoder(experiment, &data, &mut run, &device, keeps, interrupt, progress);
        let (trained, untrained) = match begun {
            Err(error) if matches!(error.downcast_ref(), Some(wb_core::Error::Stopped)) => {
                return Ok(Ended::Stopped(None));
            }
            trained => trained?,
        };
        if let Trained::Stopped(outcome) = trained {
            return Ok(Ended::Stopped(Some(outcome)));
        }
        if !measured {
            run.dir.finish()?;
            return Ok(Ended::Trained(run));
        }
        let outcomes = bench::bench(experiment, &data, &mut run, untrained, progress)?;
        let verdict = verdict::verdict(&run, &outcomes, experiment.seed)?;
        run.dir.finish()?;
        Ok(Ended::Measured { run, outcomes, verdict })
    }
}
