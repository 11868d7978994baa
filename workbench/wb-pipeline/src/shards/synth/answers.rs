//! Plans of questions, and the end of all passes: the folder that `wb synth` writes.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context as _, Result};
use serde_json::json;
use wb_core::{Error, Progress, atomic, publish};
use wb_data::text_table::TextTable;
use wb_llm::{Client, Collector, EngineConfig, EngineInfo, Ledger, LlmConfig, LlmQuestion, Unanswered};
use wb_shards::{MergedRecord, OpenPlan, PlannedInput, ShardPlan, Store};
use wb_synth::{AskedModel, annotate::annotate, run, snippets::SnippetSet};

use super::{ANSWERS, AskedEngine, KNOWN, QUESTIONS, QuestionShards, model_of};
use crate::{
    config::Experiment,
    output,
    shards::{
        MOST, RunOn, ShardSize, ShardStage,
        inputs::{fetched, files_of, refuse_there},
        on::{store, work_at},
        passes::{DonePass, EarlierPass},
        scratch, this_build,
    },
    synth::{self, LEDGER},
};

/// Questions of a shard, where nothing else is said and there are not too many.
const USUAL: u64 = 4096;

/// A synthesis whose questions are asked in shards.
#[derive(Debug, Clone, Copy)]
pub struct SynthPlan<'a> {
    /// The experiment, with its snippets and its model.
    pub experiment: &'a Experiment,
    /// Pairs and annotations, or annotations alone.
    pub stage: ShardStage,
    /// A ledger whose answers are taken, where there is one.
    pub known: &'a Path,
    /// Size of shards.
    pub size: ShardSize,
}

impl SynthPlan<'_> {
    /// Puts the questions of the first stage into a place; none where all are answered already.
    ///
    /// # Errors
    ///
    /// If nothing is asked of a model, or the snippets cannot be read.
    pub fn write(&self, work: &Store, progress: &mut dyn FnMut(Progress)) -> Result<Option<OpenPlan>> {
        let experiment = self.sections()?;
        let snippets = synth::read(&experiment, progress)?;
        let known = self.known(&experiment);
        let mut inputs = BTreeMap::new();
        if known.is_some() {
            inputs.insert(KNOWN.to_owned(), PlannedInput::of_file(work, self.known)?);
        }
        let (shards, rows) = match self.size {
            ShardSize::Shards(shards) => (Some(shards), None),
            ShardSize::Rows(rows) => (None, Some(rows)),
            ShardSize::Usual => (None, None),
        };
        let model = known.as_ref().map(|client| AskedEngine::of(client.info()));
        let task =
            QuestionShards { experiment, snippets: snippets.fingerprint(), before: Vec::new(), model, shards, rows };
        atomic::in_scratch(&scratch(None)?.join("planned"), |inside| {
            planned((work, self.stage), task, (&snippets, known.as_ref()), inputs, inside, progress)
        })
    }

    /// The sections that decide what is asked.
    fn sections(&self) -> Result<Experiment> {
        let all = self.experiment;
        all.snippets()?;
        let (synth, rules) = match self.stage {
            ShardStage::Annotate => (None, None),
            _ => (all.synth.clone(), all.rules.clone()),
        };
        let (name, stage) = (all.name.clone(), self.stage.as_str());
        let Some(llm) = all.llm.clone().filter(|_| synth.is_some() || all.annotate.is_some()) else {
            let what = format!("asks a language model nothing at the stage {stage}");
            let file = all.read_by.file.display().to_string();
            return Err(Error::data(file, what).with_hint("synth: {} or annotate: {} beside llm: asks one").into());
        };
        if llm.engine == EngineConfig::Replay {
            let message = "got replay, which asks nobody, expected an engine that shards can ask";
            return Err(Error::value("llm.engine", message).with_hint("wb synth --replay LEDGER").into());
        }
        let sections = Experiment { name, seed: all.seed, llm: Some(llm), synth, rules, ..Experiment::default() };
        let (snippets, annotate, review) = (all.snippets.clone(), all.annotate.clone(), all.review.clone());
        Ok(Experiment { snippets, annotate, review, ..sections })
    }

    /// The ledger of an earlier synthesis, where it has answers of the model that is named.
    fn known(&self, experiment: &Experiment) -> Option<Client> {
        let llm = experiment.llm.as_ref().filter(|_| self.known.is_file())?;
        let place = self.known.display();
        match replay(experiment, self.known, None) {
            Ok(client) => {
                let model = &client.info().model;
                let is_named = llm.model.is_empty() || llm.model == *model || llm.model.ends_with(&format!("/{model}"));
                if !is_named {
                    output::note(format!("{place} has answers of {model}: nothing of it is taken for {}", llm.model));
                }
                is_named.then_some(client)
            }
            Err(error) => {
                output::note(format!("{error}: nothing of {place} is taken"));
                None
            }
        }
    }
}

/// A ledger in the place of a model.
fn replay(experiment: &Experiment, ledger: &Path, model: Option<&AskedEngine>) -> wb_core::Result<Client> {
    let llm = experiment.llm.clone().unwrap_or_default();
    let model = model.map_or_else(|| llm.model.clone(), |model| model.model_hash.clone());
    let config = LlmConfig { engine: EngineConfig::Replay, model, ..llm };
    Client::open(&config, experiment.seed, ledger, Arc::default())
}

/// Plans what is not answered yet; none where everything is.
fn planned(
    (work, stage): (&Store, ShardStage),
    task: QuestionShards,
    (snippets, known): (&SnippetSet, Option<&Client>),
    mut inputs: BTreeMap<String, PlannedInput>,
    inside: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Option<OpenPlan>> {
    let path = inside.join(QUESTIONS);
    let mut table = TextTable::create(&path)?;
    collect(&task.experiment, snippets, known, &mut table, progress)?;
    let rows = table.len() as u64;
    if rows == 0 {
        return Ok(None);
    }
    table.finish()?;
    progress(Progress::new("writing inputs to the store", 0, 1));
    inputs.insert(QUESTIONS.to_owned(), PlannedInput::of_file(work, &path)?);
    let rows_per_shard = match (task.shards, task.rows) {
        (Some(shards), _) => ShardSize::Shards(shards).rows(rows, 1),
        (None, Some(wanted)) => ShardSize::Rows(wanted).rows(rows, 1),
        (None, None) => rows.div_ceil(MOST).max(USUAL),
    };
    let plan = ShardPlan {
        stage: stage.as_str().to_owned(),
        build: this_build("cpu"),
        rows,
        rows_per_shard,
        inputs,
        task: json!(task),
    };
    Ok(Some(OpenPlan::write(work, plan)?))
}

/// Runs the synthesis by what is known, and writes the questions that it cannot go on without.
fn collect(
    experiment: &Experiment,
    snippets: &SnippetSet,
    known: Option<&Client>,
    table: &mut TextTable,
    progress: &mut dyn FnMut(Progress),
) -> Result<()> {
    let reviews = synth::reviews(experiment)?;
    let mut take = |question: &LlmQuestion| -> wb_core::Result<()> {
        let json = serde_json::to_string(question);
        table.push(&json.map_err(|error| Error::failed("a question is no JSON").with_cause(error))?)
    };
    let collector = Collector::new(known, experiment.seed, &mut take);
    let nobody = EngineInfo::default();
    let info = known.map_or(&nobody, Client::info);
    let unless_unanswered = |ended: wb_core::Result<()>| match ended {
        Err(error) if error.kind::<Unanswered>().is_some() => Ok(()),
        ended => ended,
    };
    if let Some(config) = &experiment.synth {
        let model = AskedModel { ask: &collector, info };
        let ended = run(config, &snippets.snippets, &model, &reviews, experiment.seed, progress);
        unless_unanswered(ended.map(drop))?;
    }
    if let Some(config) = &experiment.annotate {
        unless_unanswered(annotate(config, &snippets.snippets, &collector, experiment.seed, progress).map(drop))?;
    }
    Ok(())
}

/// A pass that is done, with all that is known after it.
struct Answered {
    task: QuestionShards,
    pass: DonePass,
    snippets: SnippetSet,
    client: Client,
}

impl Answered {
    /// Puts the answers of a plan, and of the passes before it, into a folder.
    fn open(plan: &OpenPlan, scratch: &Path, inside: &Path, progress: &mut dyn FnMut(Progress)) -> Result<Self> {
        let task: QuestionShards = plan.plan().typed_task()?;
        let pass = DonePass::of(plan.clone())?;
        let model = model_of(&pass)?;
        let ledger = inside.join(LEDGER);
        gather(&task, &pass, &ledger, scratch, progress)?;
        let client = replay(&task.experiment, &ledger, model.as_ref())?;
        let snippets = synth::read(&task.experiment, progress)?;
        if snippets.fingerprint() != task.snippets {
            let what = "the snippets here are others than those that were planned";
            let hint = "where wb shards plan was given, with the files as they were: wb shards merge PLAN --out DIR";
            return Err(Error::data(plan.place(), what).with_hint(hint).into());
        }
        Ok(Self { task, pass, snippets, client })
    }

    /// The pass, as later ones speak of it, with those before it.
    fn earlier(&self) -> Vec<EarlierPass> {
        self.task.before.iter().cloned().chain([self.pass.earlier()]).collect()
    }
}

/// Writes what was known before, and all answers, in order, into one ledger.
fn gather(
    task: &QuestionShards,
    last: &DonePass,
    ledger: &Path,
    scratch: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<()> {
    let to = Ledger::open(ledger)?;
    if last.plan.plan().inputs.contains_key(KNOWN) {
        to.take_in(&fetched(&last.plan, KNOWN, scratch)?)?;
    }
    let before: Vec<DonePass> =
        task.before.iter().map(|pass| DonePass::open(&last.plan, pass)).collect::<Result<_>>()?;
    atomic::in_scratch(&scratch.join("part"), |inside| {
        let part = inside.join(ANSWERS);
        for pass in before.iter().chain([last]) {
            for manifest in &pass.manifests {
                progress(Progress::new("gathering answers", manifest.shard as usize, pass.manifests.len()));
                pass.plan.fetch(manifest, ANSWERS, &part)?;
                to.take_in(&part)?;
            }
        }
        Ok(())
    })
}

/// The plan of what is to be asked after a pass whose shards are all done; none where everything is answered.
pub(in crate::shards) fn next_pass(
    plan: &OpenPlan,
    scratch: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Option<OpenPlan>> {
    atomic::in_scratch(&scratch.join("gathered"), |inside| {
        let answered = Answered::open(plan, scratch, inside, progress)?;
        let (before, stage) = (answered.earlier(), plan.plan().stage.parse()?);
        let Answered { task, snippets, client, .. } = answered;
        let model = Some(AskedEngine::of(client.info()));
        let known = plan.plan().inputs.get_key_value(KNOWN).map(|(name, input)| (name.clone(), input.clone()));
        let task = QuestionShards { before, model, ..task };
        planned((plan.work(), stage), task, (&snippets, Some(&client)), known.into_iter().collect(), inside, progress)
    })
}

/// Writes the folder of the synthesis, by the answers alone.
pub(in crate::shards) fn merge(
    plan: &OpenPlan,
    out: Option<&Path>,
    scratch: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<MergedRecord> {
    refuse_there(out)?;
    atomic::in_scratch(&scratch.join("gathered"), |inside| {
        let Answered { task, pass, snippets, client } = Answered::open(plan, scratch, inside, progress)?;
        let reviews = synth::reviews(&task.experiment)?;
        let here = inside.join("made");
        let folder = out.unwrap_or(&here);
        publish::folder(folder, synth::RECORD, |folder| -> Result<()> {
            synth::synthesize(&task.experiment, Some(&client), snippets, &reviews, folder, progress)?;
            let ledger = client.ledger().path();
            fs::copy(ledger, folder.join(LEDGER)).map_err(Error::io("read", ledger))?;
            Ok(())
        })?;
        // The others tell of the moment and the machine, too.
        let is_of_answers = |(name, _, _): &(String, u64, String)| ![synth::RECORD, LEDGER].contains(&name.as_str());
        let files = files_of(folder)?.into_iter().filter(is_of_answers).collect();
        Ok(pass.plan.finish(&pass.manifests, files)?)
    })
}

/// Has all questions of a synthesis answered on the machines of `run_on`, into the ledger of its folder, whose path is given.
///
/// # Errors
///
/// If nothing is asked of a model, or not all answers come.
pub fn synthesized(
    experiment: &Experiment,
    run_on: &RunOn,
    out: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<PathBuf> {
    let (scratch, ledger) = (scratch(None)?, out.join(LEDGER));
    let planned = SynthPlan { experiment, stage: ShardStage::Synth, known: &ledger, size: run_on.size() };
    if let Some(plan) = planned.write(&store(experiment)?, progress)? {
        let last = DonePass::of(work_at(plan, run_on, &scratch, progress)?)?;
        let task: QuestionShards = last.plan.plan().typed_task()?;
        gather(&task, &last, &ledger, &scratch, progress)
            .with_context(|| format!("cannot put the answers into {}", ledger.display()))?;
    }
    Ok(ledger)
}
