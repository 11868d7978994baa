//! Stages of an experiment as shards that many machines work at: the plan, the work at one shard, the merge.

mod encode;
mod inputs;
mod launchers;
mod mine;
mod on;
mod passes;
mod prepare;
mod sweep;
mod synth;
mod told;

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    str::FromStr,
};

use anyhow::{Context as _, Result};
use wb_core::{Error, Progress, remote::Outgoing, suggest};
use wb_shards::{AttemptEnd, MergedRecord, OpenPlan, PlannedBuild, Store, shard_of_environment};

use self::told::ranges;
pub use self::{
    encode::EncodePlan,
    launchers::{IndexedJobs, LocalProcesses, RayTasks, RunOn, SlurmArrays},
    mine::MinePlan,
    on::{encode_texts, mined, prepared},
    prepare::PreparePlan,
    sweep::{SweepPlan, swept},
    synth::{SynthPlan, synthesized},
    told::{print_end, print_merged, print_missing, print_next, print_plan, print_status},
};
use crate::{
    config::{Experiment, ReadBy},
    data,
    interrupt::{Interrupt, is_stopped},
    manifest, output,
};

/// Most shards of a plan that says no number.
const MOST: u64 = 1000;
/// Rows of a shard where that is fewer than would make too many.
const USUAL: u64 = 1 << 18;

/// Exit code of an attempt that may succeed at another time, or elsewhere.
pub const TRY_AGAIN: u8 = 75;

/// A stage that can be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardStage {
    /// Vectors of the pairs' documents or queries.
    Encode,
    /// Hard negatives by vectors that are there.
    Mine,
    /// Pairs, read and sketched.
    Prepare,
    /// Candidates for near duplicates among pairs.
    Match,
    /// Near duplicates among candidates.
    Verify,
    /// Questions of a synthesis to a language model.
    Synth,
    /// Questions of its annotations alone.
    Annotate,
    /// Runs of a sweep.
    Sweep,
}

impl ShardStage {
    /// The name in commands and plans.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Encode => "encode",
            Self::Mine => "mine",
            Self::Prepare => "prepare",
            Self::Match => "prepare-match",
            Self::Verify => "prepare-verify",
            Self::Synth => "synth",
            Self::Annotate => "annotate",
            Self::Sweep => "sweep",
        }
    }
}

impl ShardStage {
    /// Stages that a person plans; the others are passes that follow.
    const PLANNED: [Self; 6] = [Self::Encode, Self::Mine, Self::Prepare, Self::Synth, Self::Annotate, Self::Sweep];

    /// A stage that a person plans, by its name.
    ///
    /// # Errors
    ///
    /// If there is none of that name.
    pub fn to_plan(name: &str) -> Result<Self, Error> {
        let found = Self::PLANNED.into_iter().find(|stage| stage.as_str() == name);
        let hint = || suggest::hint(name, Self::PLANNED.map(Self::as_str));
        found.ok_or_else(|| Error::unknown("stage", name).with_hint_if(hint()))
    }
}

impl FromStr for ShardStage {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let mut all = Self::PLANNED.into_iter().chain([Self::Match, Self::Verify]);
        all.find(|stage| stage.as_str() == name)
            .ok_or_else(|| Error::unknown("stage", name).with_hint("the plan is one of another version of wb"))
    }
}

/// Size of shards, as it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShardSize {
    /// Number of shards, or fewer where rows that belong together would be cut.
    Shards(u64),
    /// Rows of a shard, or the next number that cuts nothing.
    Rows(u64),
    /// Neither: a quarter of a million rows, or more where that would be over a thousand shards.
    Usual,
}

impl ShardSize {
    /// The size that a person asked for: their number goes before their rows.
    pub fn asked(shards: Option<u64>, rows: Option<u64>) -> Self {
        shards.map(Self::Shards).or(rows.map(Self::Rows)).unwrap_or(Self::Usual)
    }

    /// Rows of a shard, of so many in all; no cut goes through `uncut` rows.
    fn rows(self, all: u64, uncut: u64) -> u64 {
        let wanted = match self {
            Self::Shards(shards) => all.div_ceil(shards.max(1)),
            Self::Rows(rows) => rows,
            Self::Usual => all.div_ceil(MOST).max(USUAL),
        };
        wanted.max(1).next_multiple_of(uncut)
    }
}

/// Plans a stage of an experiment: questions to its model, preparation of its sources, or, once pairs are prepared, mining or
/// vectors of their texts, which `texts` says more of; sizes of shards are its.
///
/// # Errors
///
/// If the stage cannot be cut with this experiment's settings, or what it reads is not there.
pub fn plan(
    stage: ShardStage,
    (experiment, overrides): (&Experiment, &[String]),
    texts: EncodePlan,
    datasets: &Path,
    work: &Store,
    progress: &mut dyn FnMut(Progress),
) -> Result<OpenPlan> {
    let size = texts.size;
    if stage == ShardStage::Prepare {
        let fingerprint = data::fingerprint(experiment, true)?.context("the pairs have no fingerprint")?;
        return PreparePlan { experiment, fingerprint: &fingerprint, size }.write(work, progress);
    }
    if stage == ShardStage::Sweep {
        let ReadBy { command, file } = &experiment.read_by;
        let runs = crate::sweep::experiments(experiment.clone(), (command, file, overrides))?;
        return SweepPlan { runs: &runs, file, measured: true, size }.write(work);
    }
    if stage.asks() {
        let folder = crate::synth::folder(&experiment.name);
        let known = folder.join(crate::synth::LEDGER);
        let planned = SynthPlan { experiment, stage, known: &known, size }.write(work, progress)?;
        return planned.ok_or_else(|| {
            let what = format!("every question is answered in {}", known.display());
            Error::failed(what).with_hint(format!("wb synth {}", experiment.read_by.file.display())).into()
        });
    }
    let pairs = data::data(experiment, datasets, progress)?.folder.join("train.parquet");
    match stage {
        ShardStage::Mine => MinePlan { experiment, pairs: &pairs, size }.write(work, progress),
        _ => texts.of_pairs(&pairs, experiment).write(work, progress),
    }
}

impl ShardStage {
    /// True where a language model is asked.
    pub fn asks(self) -> bool {
        matches!(self, Self::Synth | Self::Annotate)
    }
}

/// The build that plans and attempts are made by.
fn this_build(device: &str) -> PlannedBuild {
    PlannedBuild { code: manifest::this_code(), features: manifest::features(), device: device.to_owned() }
}

/// Works at a shard, in folders below `scratch`, where what shards share is kept.
///
/// # Errors
///
/// If this is not the build of the plan, an input is not the one that was planned, or the work fails; [`may_pass`] tells
/// errors after which another attempt may succeed.
pub fn run(
    plan: &OpenPlan,
    shard: u32,
    scratch: &Path,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> Result<AttemptEnd> {
    plan.plan().range(shard)?;
    let end = attempt(plan, shard, scratch, interrupt, progress);
    if let Err(error) = &end
        && !may_pass(error)
        && !is_stopped(error)
    {
        let what = error.chain().map(ToString::to_string).collect();
        plan.give_up(shard, what, output::hint(error).map(Cow::into_owned));
    }
    end
}

fn attempt(
    plan: &OpenPlan,
    shard: u32,
    scratch: &Path,
    interrupt: &Interrupt,
    progress: &mut dyn FnMut(Progress),
) -> Result<AttemptEnd> {
    let planned = plan.plan();
    planned.check_build(&this_build(&planned.build.device))?;
    match planned.stage.parse()? {
        ShardStage::Encode => encode::run(plan, shard, scratch, progress),
        ShardStage::Mine => mine::run(plan, shard, scratch, progress),
        ShardStage::Prepare => prepare::run_sketch(plan, shard, scratch, progress),
        ShardStage::Match => prepare::run_match(plan, shard, scratch, progress),
        ShardStage::Verify => prepare::run_verify(plan, shard, scratch, progress),
        ShardStage::Synth | ShardStage::Annotate => synth::run(plan, shard, scratch, interrupt, progress),
        ShardStage::Sweep => sweep::run(plan, shard, scratch, interrupt, progress),
    }
}

/// Merges what shards have made into files of a folder, byte for byte those of one machine; without a folder they are
/// looked at alone.
///
/// # Errors
///
/// If a shard is missing or damaged, which names the command that makes it again, or a file is there already.
pub fn merge(
    plan: &OpenPlan,
    out: Option<&Path>,
    scratch: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<MergedRecord> {
    let stage = plan.plan().stage.parse()?;
    let outgoing = |out| {
        let to = Outgoing::to(out)?;
        // Runs of a sweep come beside others, each under a name of its own.
        let to = if stage == ShardStage::Sweep { to } else { to.absent()? };
        to.anew()
    };
    let to = out.map(outgoing).transpose()?;
    let merged = merge_here(plan, stage, to.as_ref().map(Outgoing::local), scratch, progress)?;
    to.map_or(Ok(()), |to| to.send(&[]))?;
    Ok(merged)
}

/// Merges into a folder of this disk.
fn merge_here(
    plan: &OpenPlan,
    stage: ShardStage,
    out: Option<&Path>,
    scratch: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<MergedRecord> {
    match stage {
        ShardStage::Encode => encode::merge(plan, out, progress),
        ShardStage::Mine => mine::merge(plan, out, scratch, progress),
        ShardStage::Prepare | ShardStage::Match | ShardStage::Verify => prepare::merge(plan, out, scratch, progress),
        ShardStage::Synth | ShardStage::Annotate => synth::merge(plan, out, scratch, progress),
        ShardStage::Sweep => sweep::merge(plan, out, progress),
    }
}

/// The plan of the pass that comes after one whose shards are all done; none after the last.
///
/// # Errors
///
/// If a shard is missing or damaged.
pub fn next_pass(plan: &OpenPlan, scratch: &Path, progress: &mut dyn FnMut(Progress)) -> Result<Option<OpenPlan>> {
    match plan.plan().stage.parse()? {
        ShardStage::Synth | ShardStage::Annotate => synth::next_pass(plan, scratch, progress),
        ShardStage::Encode | ShardStage::Mine | ShardStage::Sweep => Ok(None),
        stage @ (ShardStage::Prepare | ShardStage::Match | ShardStage::Verify) => prepare::next_pass(plan, stage),
    }
}

/// Has all shards of a plan worked at, and those of the passes that follow it; gives the last one's plan.
///
/// # Errors
///
/// Those of [`RunOn::run`].
pub fn run_all(
    mut plan: OpenPlan,
    run_on: &RunOn,
    scratch: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<OpenPlan> {
    loop {
        run_on.run(&plan, scratch, progress)?;
        let Some(next) = next_pass(&plan, scratch, progress)? else { return Ok(plan) };
        output::note(format!("{} in {} shards: {}", next.plan().stage, next.plan().shards(), next.place()));
        plan = next;
    }
}

/// True where an error may not come again on another machine or at another time.
pub fn may_pass(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.downcast_ref::<Error>().is_some_and(wb_shards::may_pass))
}

/// The shard to work at: the one that is named, else the one that a scheduler says.
///
/// # Errors
///
/// If there is neither, or the scheduler's is no number.
pub fn number(named: Option<u32>) -> Result<u32> {
    let said = || shard_of_environment(&|name| std::env::var(name).ok());
    named.map_or_else(said, |shard| Ok(Some(shard)))?.ok_or_else(|| {
        let what = "no shard: none is named, and no scheduler has said one";
        Error::failed(what).with_hint("--shard 0, or --all for every shard on this machine").into()
    })
}

/// The folder for scratch: the one that is named, else one of the user's cache.
///
/// # Errors
///
/// If none is named and the user has no cache.
pub fn scratch(named: Option<PathBuf>) -> Result<PathBuf> {
    let of_cache =
        || Ok(wb_core::paths::caches().map_err(|error| error.with_hint("--scratch /tmp/wb"))?.join("wb/shards"));
    named.map_or_else(of_cache, Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_shards_cut_nothing_that_belongs_together() {
        assert_eq!(ShardSize::Shards(4).rows(100_000, 4096), 28_672);
        assert_eq!(ShardSize::Shards(7).rows(1, 4096), 4096);
        assert_eq!(ShardSize::Shards(7).rows(15, 1), 3);
        assert_eq!(ShardSize::Rows(5000).rows(100_000, 4096), 8192);
        assert_eq!(ShardSize::Usual.rows(100_000, 4096), 262_144);
        let rows = ShardSize::Usual.rows(1_000_000_000, 4096);
        assert!(rows >= 1_000_000 && rows.is_multiple_of(4096) && 1_000_000_000_u64.div_ceil(rows) <= MOST, "{rows}");
        assert!(ShardStage::to_plan("encod").unwrap_err().hint().is_some_and(|hint| hint.contains("encode")));
        assert!(ShardStage::to_plan("prepare-match").is_err() && "prepare-match".parse::<ShardStage>().is_ok());
    }
}
