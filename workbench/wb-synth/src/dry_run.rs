//! Dry run: what a run would do and cost, counted from the plan, measured on a small probe.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use wb_core::{Progress, Seed};

use crate::{
    Result, Snippet, SynthConfig,
    chain::{AskedModel, assign, run_some},
    review::{self, Reviews},
    tasks::TaskCatalog,
};

/// Items of a probe.
pub const PROBE: usize = 20;

/// The work of a run, counted before it is done.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SynthesisPlan {
    /// Snippets that came in.
    pub snippets: u64,
    /// (task, snippet) items.
    pub items: u64,
    /// Items by task, in the order of the tasks.
    pub tasks: Vec<(String, u64)>,
    /// Tasks that no snippet suits.
    pub idle_tasks: Vec<String>,
    /// Candidates: items times candidates, one where nothing is drawn.
    pub candidates: u64,
    /// Questions at most: were nothing dropped on the way.
    pub questions: u64,
}

/// The cost of a run, scaled up from a probe. Stages after a gate are asked as many questions as passed it in the probe.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The plan of the whole run.
    pub plan: SynthesisPlan,
    /// Items of the probe.
    pub probed: u64,
    /// Questions of the probe.
    pub probed_questions: u64,
    /// Questions.
    pub questions: u64,
    /// Tokens of prompts; `None` where the engine does not say.
    pub prompt_tokens: Option<u64>,
    /// Tokens of answers; `None` where the engine does not say.
    pub completion_tokens: Option<u64>,
    /// Seconds, at the pace of the probe; `None` where the probe's answers were remembered. A probe of few items fills
    /// few slots of a server, so that a whole run is rather faster.
    pub seconds: Option<f64>,
    /// Pairs that would stay.
    pub pairs: u64,
    /// Bytes of the ledger.
    pub ledger_bytes: u64,
    /// Bytes of pairs, provenance and review page.
    pub output_bytes: u64,
}

/// Counts what a run would do, without asking anything.
pub fn plan(config: &SynthConfig, snippets: &[Snippet], seed: Seed) -> Result<SynthesisPlan> {
    config.validate("synth")?;
    let catalog = TaskCatalog::load(&config.task_files)?.choose(&config.tasks, "synth.tasks")?;
    let assigned = assign(config, &catalog, snippets, seed)?;
    let mut plan = SynthesisPlan {
        snippets: snippets.len() as u64,
        items: assigned.items.len() as u64,
        idle_tasks: assigned.idle_tasks,
        ..SynthesisPlan::default()
    };
    let mut counts = vec![0_u64; catalog.tasks.len()];
    for item in &assigned.items {
        counts[item.task] += 1;
        let steps = catalog.tasks[item.task].task.steps.len() as u64;
        let candidates = if steps == 0 { 1 } else { u64::from(config.candidates) };
        plan.candidates += candidates;
        plan.questions += candidates * (steps + u64::from(config.judge.is_some()));
    }
    if config.negatives.is_some() {
        plan.questions += plan.items * config.select.per_item as u64;
    }
    plan.tasks = catalog.tasks.iter().zip(counts).filter(|(_, n)| *n > 0).map(|(task, n)| (task.name(), n)).collect();
    Ok(plan)
}

/// Content of the ledger after a probe: the probe's questions, or more of the same kind. Rejected questions and answers
/// that were asked for again have their cost in it too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Questions, answered and given up.
    pub questions: u64,
    /// Tokens of prompts; `None` where the engine does not say.
    pub prompt: Option<u64>,
    /// Tokens of answers; `None` where the engine does not say.
    pub completion: Option<u64>,
    /// Bytes of the ledger's file.
    pub bytes: u64,
}

impl Spent {
    /// The cost of so many questions, at the mean of those in the ledger.
    pub fn scaled(self, amount: u64, questions: u64) -> u64 {
        (amount as f64 * questions as f64 / self.questions.max(1) as f64).round() as u64
    }
}

/// Runs a probe of at most twenty items and scales it up.
///
/// The probe asks what the run would ask of the same snippets, so that its answers are not lost. `spent` says what the
/// ledger holds so far; where the probe's questions were in it before, there is no time.
pub fn dry_run(
    config: &SynthConfig,
    snippets: &[Snippet],
    model: &AskedModel,
    seed: Seed,
    spent: &dyn Fn() -> Spent,
    progress: &mut dyn FnMut(Progress),
) -> Result<Estimate> {
    let plan = plan(config, snippets, seed)?;
    let small = SynthConfig {
        brainstorm: None,
        judge: config.judge.clone().map(|judge| crate::config::JudgeConfig { gold: None, ..judge }),
        ..config.clone()
    };
    let (before, start) = (spent().questions, Instant::now());
    let probe = run_some(&small, snippets, model, (&Reviews::default(), seed), progress, PROBE)?;
    let took = start.elapsed();
    let total = probe.account.total();
    let spent = spent();
    let anew = spent.questions.saturating_sub(before);
    let time = (anew > 0).then(|| took.mul_f64(total.questions as f64 / anew as f64));
    let output = crate::provenance::to_lines(probe.pairs.pairs())?.len()
        + crate::provenance::to_lines(&probe.provenance)?.len()
        + review::page(probe.pairs.pairs(), &probe.provenance, Some(&probe.catalog), &Reviews::default(), seed)?.len();
    Ok(scale(plan, &probe.counts, (total.questions, spent), output as u64, time, config))
}

fn scale(
    plan: SynthesisPlan,
    counts: &crate::chain::ChainCounts,
    (asked, spent): (u64, Spent),
    output_bytes: u64,
    time: Option<Duration>,
    config: &SynthConfig,
) -> Estimate {
    let factor = plan.items as f64 / counts.items.max(1) as f64;
    let scaled = |number: u64| (number as f64 * factor).round() as u64;
    let questions = scaled(asked);
    let mut pairs = scaled(counts.pairs);
    if let Some(per_kind) = config.select.per_kind {
        let kinds: BTreeSet<&str> = plan.tasks.iter().filter_map(|(name, _)| name.split('/').next()).collect();
        pairs = pairs.min((kinds.len() * per_kind) as u64);
    }
    Estimate {
        probed: counts.items,
        probed_questions: asked,
        questions,
        prompt_tokens: spent.prompt.map(|tokens| spent.scaled(tokens, questions)),
        completion_tokens: spent.completion.map(|tokens| spent.scaled(tokens, questions)),
        seconds: time.map(|time| time.as_secs_f64() * factor),
        pairs,
        ledger_bytes: spent.scaled(spent.bytes, questions),
        output_bytes: if counts.pairs == 0 {
            0
        } else {
            (output_bytes as f64 * pairs as f64 / counts.pairs as f64) as u64
        },
        plan,
    }
}
