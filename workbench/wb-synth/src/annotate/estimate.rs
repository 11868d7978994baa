//! Estimate of an annotation of all snippets, measured on a few of them.

use std::time::{Duration, Instant};

use wb_core::{Progress, Seed};
use wb_llm::Ask;

use super::{AnnotateConfig, annotate};
use crate::{
    Snippet,
    dry_run::{PROBE, Spent},
};

/// The cost of annotating, at the pace of the probe. A probe fills few slots of a server, so that all of it is
/// rather faster.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AnnotateEstimate {
    /// Snippets of the probe.
    pub probed: u64,
    /// Questions: one a snippet.
    pub questions: u64,
    /// Tokens of prompts; `None` where the engine does not say.
    pub prompt_tokens: Option<u64>,
    /// Tokens of answers; `None` where the engine does not say.
    pub completion_tokens: Option<u64>,
    /// `None` where the probe's answers were remembered.
    pub seconds: Option<f64>,
    /// Annotations that would be there.
    pub annotations: u64,
}

/// Annotates the first snippets and scales up. `spent` says what the ledger holds so far.
pub fn estimate(
    config: &AnnotateConfig,
    snippets: &[Snippet],
    ask: &dyn Ask,
    seed: Seed,
    spent: &dyn Fn() -> Spent,
    progress: &mut dyn FnMut(Progress),
) -> wb_llm::Result<AnnotateEstimate> {
    let probe = &snippets[..snippets.len().min(PROBE)];
    let (before, start) = (spent().questions, Instant::now());
    let found = annotate(config, probe, ask, seed, progress)?;
    let (spent, took) = (spent(), start.elapsed());
    let anew = spent.questions.saturating_sub(before);
    let questions = snippets.len() as u64;
    let scale = snippets.len() as f64 / probe.len().max(1) as f64;
    let scaled = |count: u64| (count as f64 * scale).round() as u64;
    Ok(AnnotateEstimate {
        probed: probe.len() as u64,
        questions,
        prompt_tokens: spent.prompt.map(|tokens| spent.scaled(tokens, questions)),
        completion_tokens: spent.completion.map(|tokens| spent.scaled(tokens, questions)),
        seconds: (anew > 0).then(|| pace(took, anew) * snippets.len() as f64),
        annotations: scaled(found.annotations.iter().flatten().count() as u64),
    })
}

fn pace(took: Duration, questions: u64) -> f64 {
    took.as_secs_f64() / questions as f64
}
