//! A synthesis in lines: what was made of which snippets, and what probes say it would take.

use wb_core::{
    quantities::{about_bytes, about_duration},
    records::data::Gate,
};
use wb_llm::Client;
use wb_synth::{
    Estimate,
    annotate::{AnnotateEstimate, AnnotatedSnippets},
    review::Reviewed,
};

use super::SynthesisOutcome;
use crate::output;

/// Prints the account of what was made.
pub fn print(made: &SynthesisOutcome, client: Option<&Client>) {
    output::line(format!("{:>9} snippets of {} groups", made.snippets.kept, made.snippets.groups));
    for (reason, count) in &made.snippets.dropped {
        output::line(format!("{count:>9} left out: {reason}"));
    }
    if let Some(chain) = &made.chain {
        output::line(format!("{:>9} items", chain.counts.items));
        chain.counts.gates.iter().for_each(gate);
        if let Some(calibration) = &chain.calibration {
            for label in 0..3 {
                let ((right, given), (_, there)) = (calibration.precision(label), calibration.recall(label));
                output::line(format!(
                    "          judge, label {label}: {right} of {given} right, {right} of {there} found"
                ));
            }
        }
    }
    if let Some(annotated) = &made.annotated {
        print_annotated(annotated);
    }
    if let Some(client) = client {
        let (total, info) = (client.account().total(), client.info());
        output::line(format!(
            "{:>9} answers in the ledger ({} of this run's questions were in it before), {} rejected, by {} on {}",
            total.answered,
            client.reused(),
            total.rejected,
            info.model,
            info.engine
        ));
    }
    if let Some(rules) = &made.rules {
        output::line(format!("{:>9} pairs by rules, of {} snippets", rules.account.n_pairs(), rules.account.snippets));
        for (task, count) in &rules.account.missing {
            output::note(format!(
                "warning: {count} pairs of {task} are missing: the snippets do not give as many as rules.pairs_per_task wants"
            ));
        }
        for (reason, count) in &rules.account.refused {
            output::line(format!("{count:>9} not made or left out: {reason}"));
        }
    }
    let (reviewed, unknown) = (made.dataset.reviewed, made.dataset.unknown_reviews);
    if reviewed != Reviewed::default() || unknown > 0 {
        output::line(format!("{:>9} accepted and {} rejected by a person", reviewed.accepted, reviewed.rejected));
    }
    if unknown > 0 {
        output::note(format!("{unknown} lines of the review fit no pair of this run, or another text of it"));
    }
}

/// Prints how many snippets are annotated, and why the others are not.
pub fn print_annotated(annotated: &AnnotatedSnippets) {
    output::line(format!("{:>9} annotations", annotated.annotations.iter().flatten().count()));
    for (reason, count) in &annotated.rejected {
        output::line(format!("{count:>9} without one: {reason}"));
    }
}

/// Prints what probes say of the whole work.
pub fn print_estimates((pairs, annotations): &(Option<Estimate>, Option<AnnotateEstimate>)) {
    pairs.iter().for_each(print_estimate);
    annotations.iter().for_each(print_annotations);
}

fn gate(gate: &Gate) {
    let reasons: Vec<String> = gate.dropped.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    let reasons = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join(", ")) };
    output::line(format!("{:>9} left after {}{reasons}", gate.after, gate.name));
}

fn known(number: Option<u64>) -> String {
    number.map_or_else(|| "unknown".to_owned(), |number| number.to_string())
}

fn tokens_and_time(prompt: Option<u64>, completion: Option<u64>, seconds: Option<f64>) {
    output::line(format!("tokens     {} of prompts, {} of answers", known(prompt), known(completion)));
    let unknown = || "unknown: the probe's answers were in the ledger already".to_owned();
    output::line(format!("time       {}", seconds.map_or_else(unknown, about_duration)));
}

fn print_annotations(estimate: &AnnotateEstimate) {
    output::line(format!(
        "annotations: {} snippets, a question each; a probe of {}",
        estimate.questions, estimate.probed
    ));
    tokens_and_time(estimate.prompt_tokens, estimate.completion_tokens, estimate.seconds);
    output::line(format!("there      about {} annotations", estimate.annotations));
}

fn print_estimate(estimate: &Estimate) {
    let plan = &estimate.plan;
    output::line(format!(
        "{} snippets, {} items of {} tasks, at most {} questions",
        plan.snippets,
        plan.items,
        plan.tasks.len(),
        plan.questions
    ));
    output::line(format!("a probe of {} items asked {} questions", estimate.probed, estimate.probed_questions));
    output::line(format!("questions  about {}", estimate.questions));
    tokens_and_time(estimate.prompt_tokens, estimate.completion_tokens, estimate.seconds);
    output::line(format!(
        "disk       {} of answers, {} of pairs",
        about_bytes(estimate.ledger_bytes as f64),
        about_bytes(estimate.output_bytes as f64)
    ));
    output::line(format!("pairs      about {}", estimate.pairs));
}
