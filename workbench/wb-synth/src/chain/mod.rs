//! The chain: snippets are given tasks, the model writes pairs, judges them, and the best unlike ones are kept.
//!
//! Stage after stage asks all of its questions through [`Ask`]; what was answered in an earlier run is answered at once.
//! Every stage works in the order of its candidates, so that the order in which replies come changes nothing.

mod assemble;
mod assign;
mod brainstorm;
mod candidate;
mod correct;
mod desk;
mod gates;
mod generate;
mod judge;
mod negatives;
mod select;
mod split;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wb_core::{PairSet, Progress, Seed, records::data::Gate};
use wb_llm::{Ask, EngineInfo};

pub use assign::{Assigned, Item, assign};
pub use desk::PORTION;
pub use judge::label;
pub use split::cut;

pub(crate) use desk::{Desk, reason};
pub(crate) use gates::drop_one;

use crate::{
    Error, Result, Snippet, SynthConfig, SynthesisAccount,
    calibration::Calibration,
    prompts::PromptSet,
    provenance::Provenance,
    review::{Reviewed, Reviews},
    tasks::TaskCatalog,
};

/// The language model that a run asks.
#[derive(Clone, Copy)]
pub struct AskedModel<'a> {
    /// Answers, once.
    pub ask: &'a dyn Ask,
    /// Its name and engine, for provenance and the card.
    pub info: &'a EngineInfo,
}

/// The account of everything between snippets and pairs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ChainCounts {
    /// Snippets that came in.
    pub snippets: u64,
    /// Snippets that no task could take, by reason.
    pub unfit: BTreeMap<String, u64>,
    /// Tasks that no snippet suits.
    pub idle_tasks: Vec<String>,
    /// (task, snippet) items.
    pub items: u64,
    /// Items by the task's full name.
    pub items_by_task: BTreeMap<String, u64>,
    /// Each gate in order: candidates before and after, and why the others went.
    pub gates: Vec<Gate>,
    /// Pairs that came out.
    pub pairs: u64,
    /// Tasks that the model proposed, and what became of the others.
    pub brainstormed: Option<Gate>,
    /// Hard negatives that the model wrote, and why some were not taken.
    pub negatives: Option<Gate>,
    /// Candidates whose code is of a language without a grammar here, or may be text: they passed unparsed.
    pub unchecked: u64,
    /// Candidates whose two sides were to be called with the same values, by what came of it: `equal`, `differs`,
    /// `unchecked: REASON`.
    pub called: BTreeMap<String, u64>,
    /// The decisions of a person about the candidates.
    pub reviewed: Reviewed,
}

/// The result of a run.
#[derive(Debug, Clone)]
pub struct Synthesis {
    /// The pairs in their fixed order: task, item, sample.
    pub pairs: PairSet,
    /// Provenance of each pair, in the same order.
    pub provenance: Vec<Provenance>,
    /// The costs.
    pub account: SynthesisAccount,
    /// The tasks that took part.
    pub catalog: TaskCatalog,
    /// The account of the rest.
    pub counts: ChainCounts,
    /// The judge beside a person, where a gold set was given.
    pub calibration: Option<Calibration>,
    /// Files of proposed tasks, by name, to be edited and named in `task_files`.
    pub proposals: Vec<(String, String)>,
}

/// Makes pairs out of snippets. A pure function of its arguments, the files they name, and the model's replies.
pub fn run(
    config: &SynthConfig,
    snippets: &[Snippet],
    model: &AskedModel,
    reviews: &Reviews,
    seed: Seed,
    progress: &mut dyn FnMut(Progress),
) -> Result<Synthesis> {
    run_some(config, snippets, model, (reviews, seed), progress, usize::MAX)
}

/// [`run`] for at most so many items, spread evenly over all that it would work on.
pub(crate) fn run_some(
    config: &SynthConfig,
    snippets: &[Snippet],
    model: &AskedModel,
    (reviews, seed): (&Reviews, Seed),
    progress: &mut dyn FnMut(Progress),
    most: usize,
) -> Result<Synthesis> {
    config.validate("synth")?;
    let mut counts = ChainCounts { snippets: snippets.len() as u64, ..ChainCounts::default() };
    let mut desk = Desk::new(model, progress);
    let mut catalog = TaskCatalog::load(&config.task_files)?.choose(&config.tasks, "synth.tasks")?;
    let mut proposals = Vec::new();
    if let Some(brainstorm) = &config.brainstorm {
        let proposed = brainstorm::run(brainstorm, &catalog, &mut desk)?;
        counts.brainstormed = Some(proposed.gate);
        proposals = brainstorm::files(&proposed.tasks)?;
        if brainstorm.join {
            catalog.tasks.extend(proposed.tasks);
            catalog.tasks.sort_by_key(|task| task.kind);
        }
    }
    let mut assigned = assign(config, &catalog, snippets, seed)?;
    let all = assigned.items.len();
    if most < all {
        assigned.items = (0..most).map(|at| assigned.items[at * all / most].clone()).collect();
    }
    if assigned.items.is_empty() {
        return Err(Error::failed(format!(
            "none of {} snippets suits a task: {}",
            snippets.len(),
            reasons(&assigned.unfit)
        ))
        .with_hint("look at `synth.languages`, `synth.snippet_chars` and `synth.tasks`"));
    }
    counts.items = assigned.items.len() as u64;
    for item in &assigned.items {
        *counts.items_by_task.entry(catalog.tasks[item.task].name()).or_default() += 1;
    }
    counts.unfit = assigned.unfit;
    counts.idle_tasks = assigned.idle_tasks;
    let stage = Stage { config, catalog: &catalog, snippets, items: &assigned.items, seed };
    let prompts = PromptSet::new(&catalog, &config.few_shot, seed)?;
    let candidates = generate::run(&stage, &prompts, &mut desk, &mut counts.gates)?;
    let mut candidates = correct::run(&stage, candidates, &mut counts);
    let mut calibration = None;
    if let Some(judge) = &config.judge {
        calibration = judge::calibrate(judge, &catalog, &prompts, &mut desk, seed)?;
        candidates = judge::run(judge, &stage, &prompts, candidates, &mut desk, &mut counts.gates)?;
    }
    let (mut kept, reviewed) = select::run(&stage, candidates, reviews, &mut counts.gates);
    counts.reviewed = reviewed;
    if let Some(negatives) = &config.negatives {
        counts.negatives = Some(negatives::run(negatives, &stage, &prompts, &mut kept, &mut desk)?);
    }
    counts.pairs = kept.len() as u64;
    let (pairs, provenance) = assemble::run(&stage, &kept, model.info)?;
    let account = desk.account;
    Ok(Synthesis { pairs, provenance, account, catalog, counts, calibration, proposals })
}

fn reasons(counts: &BTreeMap<String, u64>) -> String {
    if counts.is_empty() {
        return "no task takes their language or their kind".to_owned();
    }
    counts.iter().map(|(reason, count)| format!("{reason} {count}")).collect::<Vec<_>>().join(", ")
}

/// Data that every stage looks at.
#[derive(Clone, Copy)]
pub(crate) struct Stage<'a> {
    pub(crate) config: &'a SynthConfig,
    pub(crate) catalog: &'a TaskCatalog,
    pub(crate) snippets: &'a [Snippet],
    pub(crate) items: &'a [Item],
    pub(crate) seed: Seed,
}
