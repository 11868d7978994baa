//! Writes the candidates: step after step, all of a step's questions at once.

use wb_core::{fingerprint::Fingerprint, records::data::Gate};
use wb_llm::{LlmQuestion, Reply};

use super::{Desk, Stage, candidate::Candidate, desk::reason, gates::gate};
use crate::{
    Result,
    languages::title,
    prompts::{PromptMaterial, PromptSet, fence, step_schema, written},
    provenance::AskedQuestion,
    tasks::StepOutput,
};

/// The names of steps as stages of a recipe.
const STAGES: [&str; 2] = ["generate", "generate2"];

/// All candidates whose every step was answered, with both sides.
pub(super) fn run(
    stage: &Stage,
    prompts: &PromptSet,
    desk: &mut Desk,
    gates: &mut Vec<Gate>,
) -> Result<Vec<Candidate>> {
    let mut candidates = Vec::new();
    for (item, at) in stage.items.iter().enumerate() {
        // Without a step there is nothing to draw.
        let steps = stage.catalog.tasks[at.task].task.steps.len();
        let samples = if steps == 0 { 1 } else { stage.config.candidates };
        candidates.extend((0..samples).map(|sample| fresh(stage, item, sample)));
    }
    for (step, name) in STAGES.into_iter().enumerate() {
        let open: Vec<usize> =
            (0..candidates.len()).filter(|at| stage.task_of(&candidates[*at]).task.steps.len() > step).collect();
        if open.is_empty() {
            break;
        }
        let replies =
            desk.ask("writing pairs", open.len(), &|at| question(stage, prompts, &candidates[open[at]], step, name))?;
        let mut reasons = vec![None; candidates.len()];
        for (at, reply) in open.into_iter().zip(replies) {
            reasons[at] = fill(stage, prompts, &mut candidates[at], step, name, reply)?;
        }
        candidates = gate(name, candidates, reasons, gates);
    }
    for candidate in &mut candidates {
        (candidate.query, candidate.document) = stage.sides(candidate.item, &candidate.outputs);
    }
    Ok(candidates)
}

fn fresh(stage: &Stage, item: usize, sample: u32) -> Candidate {
    Candidate { id: stage.id(item, sample), item, sample, ..Candidate::default() }
}

fn nonce(stage: &Stage, candidate: &Candidate) -> String {
    let written = |output| candidate.outputs.get(output).unwrap_or_default();
    stage.nonce(candidate.item, &[written(StepOutput::Query), written(StepOutput::Document), written(StepOutput::Note)])
}

fn question(stage: &Stage, prompts: &PromptSet, candidate: &Candidate, step: usize, name: &str) -> Result<LlmQuestion> {
    let item = &stage.items[candidate.item];
    let chosen = stage.task_of(candidate);
    let snippet = &stage.snippets[item.snippet];
    let (before, after) = if item.cut.is_some() { stage.parts(candidate.item) } else { ("", "") };
    let variants = &stage.config.variants;
    let variant = if variants.is_empty() {
        ""
    } else {
        // Another word first for every item, so that single candidates differ too.
        let first = stage.seed.number_at(&format!("synth variant {} {}", chosen.name(), snippet.id), 0);
        &variants[(first.wrapping_add(u64::from(candidate.sample)) % variants.len() as u64) as usize]
    };
    // A side that the snippet is can be named as such.
    let side = |output, is: crate::tasks::SnippetRole| {
        let own = if chosen.task.snippet == is { snippet.text.as_str() } else { "" };
        candidate.outputs.get(output).unwrap_or(own)
    };
    let material = PromptMaterial {
        snippet: &snippet.text,
        context: &snippet.context,
        before,
        after,
        note: candidate.outputs.get(StepOutput::Note).unwrap_or_default(),
        query: side(StepOutput::Query, crate::tasks::SnippetRole::Query),
        document: side(StepOutput::Document, crate::tasks::SnippetRole::Document),
        language: title(&item.language),
        target_language: item.target.map_or("", title),
        variant,
    };
    Ok(LlmQuestion {
        recipe: prompts.recipe(item.task, name),
        item: snippet.id.clone(),
        sample: candidate.sample,
        messages: prompts.step(item.task, step, &material, &nonce(stage, candidate))?,
        sampling: stage.config.generate.sampling(),
        schema: Some(step_schema(&chosen.task.steps[step])),
    })
}

/// Takes an answer in; says why where it cannot be used.
fn fill(
    stage: &Stage,
    prompts: &PromptSet,
    candidate: &mut Candidate,
    step: usize,
    name: &str,
    reply: Reply,
) -> Result<Option<String>> {
    let answer = match reply {
        Reply::Answered(answer) => answer,
        Reply::Rejected(rejection) => return Ok(Some(reason(&rejection.reason))),
    };
    let output = stage.task_of(candidate).task.steps[step].output;
    let Some(text) = written(answer.value.as_ref(), output) else {
        return Ok(Some("an answer of another form".into()));
    };
    let snippet = &stage.snippets[stage.items[candidate.item].snippet];
    let source = format!("{}{}", snippet.text, snippet.context);
    let Some(text) = fence::clean(text, &nonce(stage, candidate), &source) else {
        return Ok(Some("the answer repeats our fence".into()));
    };
    if text.trim().is_empty() {
        return Ok(Some("an empty answer".into()));
    }
    candidate.prompts.push(Fingerprint::of_json(&question(stage, prompts, candidate, step, name)?.messages));
    candidate.outputs.set(output, text);
    candidate.asked.push(AskedQuestion::of(name, &answer));
    Ok(None)
}
