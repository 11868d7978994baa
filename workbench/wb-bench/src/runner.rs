//! Runs a plan against a contestant, and gives the record that is written to `bench/NAME.json`.

use std::path::Path;

use wb_core::{
    Progress, Seed,
    records::outcome::{AuditLine, CONTESTANT_SETTING, ContestantOutcome, NotRun},
};
use wb_retrieval::trec::{TrecRanking, write_runs};

use crate::{
    Result,
    benchmarks::BenchmarkPlan,
    contestant::Scorer,
    examples::best_and_worst,
    protocols::{Context, PlannedProtocol, ProtocolNumbers, ranked::RankedProtocol},
};

/// Documents of a query in a run file.
const RUN_DEPTH: usize = 1000;

/// Reason for which a protocol has no row with a cross-encoder.
const NOT_RERANKED: &str = "only protocols in which queries rank a whole pool have first documents to rerank";

/// Options of a run of a plan.
#[derive(Debug, Clone, Copy)]
pub struct Options<'a> {
    /// Seed of bootstrap intervals.
    pub seed: Seed,
    /// Number of the best and of the worst queries that are kept with texts.
    pub examples: usize,
    /// Duplicates and leaks of the plan: [`audits`](crate::audit::audits).
    pub audits: &'a [AuditLine],
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self { seed: Seed(0), examples: 8, audits: &[] }
    }
}

/// Measures one contestant under every protocol of a plan.
///
/// `settings` are the contestant's, to be shown beside the numbers: maximum lengths, prompts.
pub fn run(
    plan: &BenchmarkPlan,
    scorer: &Scorer<'_>,
    settings: &[(String, String)],
    options: Options<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<ContestantOutcome> {
    let context = Context { seed: options.seed };
    let mut outcome = ContestantOutcome {
        benchmark: plan.card.name.to_owned(),
        version: plan.card.version,
        contestant: scorer.name().to_owned(),
        role: scorer.role(),
        base: scorer.base().map(str::to_owned),
        contestant_fingerprint: scorer.fingerprint().to_string(),
        dataset_fingerprint: plan.dataset.to_string(),
        settings: plan.settings.clone(),
        not_run: plan.not_run.clone(),
        warnings: plan.warnings.clone(),
        audit: plan.audit.clone(),
        ..ContestantOutcome::default()
    };
    let of_contestant = settings.iter().map(|(name, value)| (format!("{CONTESTANT_SETTING}{name}"), value.clone()));
    outcome.settings.extend(of_contestant);
    if let Some(similarity) = scorer.similarity() {
        outcome.settings.push((format!("{CONTESTANT_SETTING}similarity"), similarity.to_owned()));
    }
    if let Some(reranking) = scorer.reranking() {
        outcome.settings.extend(reranking.settings());
    }
    let shown = main_ranked(plan);
    for (index, planned) in plan.protocols.iter().enumerate() {
        let protocol = planned.protocol();
        progress(Progress::new("measuring", index, plan.protocols.len()).note(protocol.title()));
        let measured = match planned {
            PlannedProtocol::Ranked(ranked) => {
                let placed = ranked.place(scorer, progress)?;
                if shown == Some(index) {
                    outcome.examples = best_and_worst(ranked, &placed, scorer, options.examples, progress)?;
                }
                ProtocolNumbers { scores: ranked.summarize(&placed, context), ..ProtocolNumbers::default() }
            }
            other if scorer.reranking().is_some() => {
                let reason = format!("{}: not reranked: {NOT_RERANKED}", scorer.name());
                outcome.not_run.push(NotRun { id: other.protocol().title(), reason });
                continue;
            }
            other => other.protocol().measure(scorer, context)?,
        };
        outcome.protocols.extend(measured.scores);
        outcome.warnings.extend(measured.warnings);
        outcome.audit.extend(measured.audit);
    }
    outcome.audit.extend_from_slice(options.audits);
    warn_of_ties(&mut outcome);
    progress(Progress::new("measuring", plan.protocols.len(), plan.protocols.len()));
    Ok(outcome)
}

/// Values that depend so much on the order of equal scores should not be read without being told.
const TIE_WIDTH: f64 = 0.01;

fn warn_of_ties(outcome: &mut ContestantOutcome) {
    for score in &outcome.protocols {
        if score.tie_best - score.tie_worst > TIE_WIDTH {
            let (worst, best) = (score.tie_worst, score.tie_best);
            outcome.warnings.push(format!("{}: equal scores leave it between {worst:.4} and {best:.4}", score.title()));
        }
    }
}

/// Finds the first protocol in which queries rank a whole pool: its queries are shown, and written to run files.
fn main_ranked(plan: &BenchmarkPlan) -> Option<usize> {
    plan.protocols.iter().position(|planned| matches!(planned, PlannedProtocol::Ranked(_)))
}

/// Writes the rankings of the plan's main ranked protocol, of all its languages in one split, as a TREC run file.
/// Its tag is the contestant's name, with `_from_BASE` where it was trained from a pretrained encoder.
/// Returns the protocol and the number of queries. Spaces in ids become `_`.
pub fn write_trec(
    plan: &BenchmarkPlan,
    scorer: &Scorer<'_>,
    path: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<(String, usize)> {
    let Some(PlannedProtocol::Ranked(main)) = main_ranked(plan).map(|index| &plan.protocols[index]) else {
        let message = "no protocol was run in which queries rank a pool, so there is no run to write";
        return Err(wb_core::Error::data(path.display().to_string(), message));
    };
    let mut runs = Vec::new();
    for planned in &plan.protocols {
        if let PlannedProtocol::Ranked(ranked) = planned
            && (&ranked.id, &ranked.split) == (&main.id, &main.split)
            && (plan.card.name != "pairs" || ranked.language == main.language)
        {
            runs.extend(runs_of(ranked, scorer, progress)?);
        }
    }
    let tag = match scorer.base() {
        Some(base) => format!("{}_from_{base}", scorer.name()),
        None => scorer.name().to_owned(),
    };
    let tag = tag.replace(char::is_whitespace, "_");
    write_runs(path, &runs, if tag.is_empty() { "wb" } else { &tag })?;
    Ok((main.id.clone(), runs.len()))
}

fn runs_of(
    ranked: &RankedProtocol,
    scorer: &Scorer<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<TrecRanking>> {
    let word = |id: &str| id.replace(char::is_whitespace, "_");
    let tops = ranked.top(scorer, &|_| true, RUN_DEPTH, progress)?;
    let runs = tops.into_iter().map(|top| {
        let part = &ranked.parts[top.part];
        TrecRanking {
            query: word(&part.queries[top.query].id),
            hits: top.hits.iter().map(|hit| (word(&part.ids[hit.document]), f64::from(hit.score))).collect(),
        }
    });
    Ok(runs.collect())
}
