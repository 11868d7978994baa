//! `wb run`, `wb data`, `wb train`: an experiment, whole or in part.

use std::{path::Path, time::Instant};

use anyhow::{Context, Result};
use wb_core::{Error, RunDir};
use wb_pipeline::{
    bench,
    config::Experiment,
    data,
    distributed::{Part, Ranks},
    experiment::{Ended, Job, sections},
    interrupt::Interrupt,
    needs, pages, preflight,
    recipes::there,
    shards,
    sweep::{self, SweptRun},
};

use super::{End, data_get, recipes};
use crate::{
    args, interrupt,
    output::{self, Bars},
};

/// Commands that go through a sweep.
const SWEPT: [&str; 3] = ["wb run", "wb train", "wb shards plan"];

/// The experiment of a command line, for a command such as `wb train`.
pub fn load(command: &'static str, arguments: &args::ExperimentArguments) -> Result<Experiment> {
    let given = overrides(arguments);
    let experiment = of_file(command, &arguments.config, &given)?;
    if experiment.sweep.is_some() && !SWEPT.contains(&command) {
        let all = sweep::experiments(experiment.clone(), (command, &arguments.config, &given))?;
        output::note(format!("sweep: {} runs by wb run; {command} takes the file's own values", all.len()));
    }
    Ok(experiment)
}

/// All values that a command line sets in its file.
pub fn overrides(arguments: &args::ExperimentArguments) -> Vec<String> {
    let device = arguments.device.map(|device| format!("device={device}"));
    arguments.overrides.iter().cloned().chain(device).collect()
}

/// The experiment of a file with values set in it.
pub fn of_file(command: &'static str, file: &Path, overrides: &[String]) -> Result<Experiment> {
    there(file)?;
    Experiment::load(command, file, overrides).with_context(|| format!("cannot load {}", file.display()))
}

/// Fetches the data sets that sections of a file need, and tells everything that is missing for them at once.
pub fn prepare(experiment: &Experiment, arguments: &args::ExperimentArguments, sections: &[&str]) -> Result<()> {
    let mut needs = needs::of_experiment(experiment, &arguments.config);
    needs.retain(|need| sections.iter().any(|section| need.key.starts_with(section)));
    needs::require(&needs, &arguments.config)?;
    data_get::bring(&needs::data_sets(&needs), Path::new(args::EXTERNAL))
}

/// `wb data`
pub fn data(given: args::Given) -> Result<End> {
    let Some(arguments) = recipes::given_or_listed("data", given)? else { return Ok(End::Done) };
    let experiment = load("wb data", &arguments)?;
    experiment.data()?;
    prepare(&experiment, &arguments, &["data."])?;
    preflight::sections(&experiment, &["data."])?;
    interrupt::listen()?;
    let data = output::with_bars(|progress| data::data(&experiment, &arguments.places.datasets, progress))?;
    data::describe(&data);
    Ok(End::Done)
}

/// `wb run`; or `wb train`, where nothing is measured.
pub fn run(
    args::TrainingArguments { given, resume, distributed }: args::TrainingArguments,
    measured: bool,
) -> Result<End> {
    let name = if measured { "run" } else { "train" };
    // A list would say nothing of the run that was named.
    if let (None, Some(of)) = (&given.config, &resume) {
        let run = RunDir::open(&given.places.runs, of)?;
        let message = format!("a run is gone on with by its file, and none is named beside --resume {of}");
        let hint = format!("wb {name} {} --resume {of}", run.config().display());
        return Err(Error::data(format!("wb {name}"), message).with_hint(hint).into());
    }
    let Some(arguments) = recipes::given_or_listed(name, given)? else { return Ok(End::Done) };
    let command = if measured { "wb run" } else { "wb train" };
    let (experiment, interrupt) = (load(command, &arguments)?, interrupt::listen()?);
    let ranks = match Part::begin(distributed, &experiment, &interrupt)? {
        Part::Done(code) => return Ok(End::of_code(code)),
        Part::Experiment(ranks) => ranks,
    };
    let ended = whole(command, experiment, &arguments, (resume.as_deref(), measured), (&interrupt, &ranks));
    ranks.end(ended.as_ref().map_or_else(End::of_error, |end| *end) as u8);
    ended
}

fn whole(
    command: &'static str,
    experiment: Experiment,
    arguments: &args::ExperimentArguments,
    (resume, measured): (Option<&str>, bool),
    (interrupt, ranks): (&Interrupt, &Ranks),
) -> Result<End> {
    let (name, is_sweep) = (experiment.name.clone(), experiment.sweep.is_some());
    if let (true, Some(run)) = (is_sweep, resume) {
        let what = format!("--resume {run} names one run, and the file has a sweep of several");
        return Err(Error::data(command, what).with_hint("without --resume, all that is not done goes on").into());
    }
    let (given, in_shards) = (overrides(arguments), is_sweep && experiment.run_on.is_some());
    let all = sweep::experiments(experiment, (command, &arguments.config, &given))?;
    let ids = if in_shards {
        by_machines(&all, arguments, measured)?
    } else {
        let mut ids = Vec::new();
        for (at, SweptRun { point, experiment }) in all.iter().enumerate() {
            if is_sweep {
                output::note(format!("run {} of {}: {}", at + 1, all.len(), point.join(" ")));
            }
            match one(&ranks.experiment(experiment), arguments, (resume, measured), (interrupt, ranks))? {
                Some(id) => ids.push(id),
                None => return Ok(End::Interrupted),
            }
        }
        ids
    };
    if is_sweep && measured {
        let places = &arguments.places;
        sweep::print(&name, &ids, &places.runs, &places.reports)?;
    }
    Ok(End::Done)
}

/// The runs of a sweep on the machines of `run_on`; their ids.
fn by_machines(all: &[SweptRun], arguments: &args::ExperimentArguments, measured: bool) -> Result<Vec<String>> {
    for run in all {
        prepare(&run.experiment, arguments, sections(measured))?;
    }
    let places = &arguments.places;
    let mut bars = Bars::new();
    let mut progress = |p| bars.report(p);
    let ids = shards::swept(all, (&arguments.config, measured), &places.runs, &mut progress)?;
    if measured {
        for id in &ids {
            pages::run(&places.runs.join(id), &places.reports, &mut progress)?;
        }
    }
    Ok(ids)
}

/// One run; its id, unless it was stopped.
fn one(
    experiment: &Experiment,
    arguments: &args::ExperimentArguments,
    (resume, measured): (Option<&str>, bool),
    (interrupt, ranks): (&Interrupt, &Ranks),
) -> Result<Option<String>> {
    let started = Instant::now();
    experiment.data()?;
    experiment.encoder()?;
    prepare(experiment, arguments, sections(measured))?;
    let places = &arguments.places;
    let job = Job::new(experiment, &arguments.config, places.folders(), resume, measured, ranks)?;
    let mut bars = Bars::new();
    let mut progress = |p| bars.report(p);
    let (run, outcomes, line) = match job.run(interrupt, &mut progress)? {
        Ended::Stopped(outcome) => {
            bars.finish();
            output::note(match outcome {
                None => "stopped before a step was done; the same command goes on".to_owned(),
                Some(outcome) => format!("stopped after step {}; the same command goes on from there", outcome.steps),
            });
            return Ok(None);
        }
        Ended::Trained(run) => {
            bars.finish();
            output::line(format!("trained encoder: {}", run.dir.encoder().display()));
            return Ok(Some(run.dir.id().to_owned()));
        }
        Ended::Measured { run, outcomes, verdict } => (run, outcomes, verdict),
    };
    let page = pages::run(run.dir.folder(), &places.reports, &mut progress)?;
    bars.finish();

    for benchmark in &outcomes {
        bench::print(&benchmark.outcomes);
        output::line("");
    }
    output::note(format!("{:.0} s in all; run {}", started.elapsed().as_secs_f64(), run.dir.id()));
    let place = page.map_or_else(|| run.dir.folder().display().to_string(), |page| page.display().to_string());
    output::line(format!(
        "{} report: {place}",
        line.unwrap_or_else(|| "VERDICT: none, nothing to compare with;".into())
    ));
    Ok(Some(run.dir.id().to_owned()))
}
