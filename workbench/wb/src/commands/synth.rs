//! `wb synth`: training pairs from a language model and from rules.

use anyhow::{Result, bail};
use wb_core::{
    quantities::{about_bytes, about_duration},
    records::data::Gate,
};
use wb_llm::Client;
use wb_pipeline::{
    environment,
    synth::{self, ANNOTATIONS, Made, PAIRS},
};
use wb_synth::{
    Estimate,
    annotate::{AnnotateEstimate, AnnotatedSnippets},
    review::Reviewed,
};

use super::{End, experiment, unless_stopped};
use crate::{
    args, interrupt,
    output::{self, Bars},
};

/// `wb synth`
pub fn synth(arguments: &args::Synth) -> Result<End> {
    unless_stopped(make(arguments))
}

fn make(arguments: &args::Synth) -> Result<()> {
    let given = &arguments.given;
    let file = experiment::of_file("wb synth", &given.config, &given.overrides)?;
    file.snippets()?;
    file.check_makes_something()?;
    let reviews = synth::reviews(&file)?;
    let out = given.out.clone().unwrap_or_else(|| synth::folder(&file.name));
    let asks = file.synth.is_some() || file.annotate.is_some();
    if given.replay.is_some() && !asks {
        bail!("--replay takes the answers of a language model, and {} asks none", given.config.display());
    }
    if given.replay.is_none() && asks {
        environment::complete(file.llm.as_ref())?;
    }
    let interrupt = interrupt::listen()?;
    let mut bars = Bars::new();
    let mut progress = |p| bars.report(p);
    for warning in file.synth.iter().flat_map(|synth| synth.warnings()) {
        output::note(format!("warning: {warning}"));
    }
    if arguments.dry_run && !asks {
        bail!("--dry-run measures what a language model takes, and {} asks none", given.config.display());
    }
    // Before the snippets are read: that may take minutes, and a model that is not there is known at once.
    let client = interrupt.while_asking(|stop| synth::open(&file, &out, given.replay.as_deref(), stop))?;
    let snippets = synth::read(&file, &mut progress)?;
    if let (true, Some(client)) = (arguments.dry_run, &client) {
        let estimates = interrupt.while_asking(|_| synth::estimates(&file, client, &snippets, &mut progress))?;
        bars.finish();
        let info = client.info();
        output::line(format!("{} on {}, {} at once", info.model, info.engine, info.parallel));
        estimates.0.iter().for_each(print_estimate);
        estimates.1.iter().for_each(print_annotations);
        return Ok(());
    }
    let client = client.as_ref();
    let made = interrupt.while_asking(|_| synth::synthesize(&file, client, snippets, &reviews, &out, &mut progress))?;
    bars.finish();
    print(&made, client);
    output::line(format!("pairs   {}", out.join(PAIRS).display()));
    output::line(format!("card    {}", out.join("card.md").display()));
    output::line(format!("review  {}", out.join("review.html").display()));
    if made.annotated.is_some() {
        output::line(format!("said    {}", out.join(ANNOTATIONS).display()));
    }
    Ok(())
}

fn print(made: &Made, client: Option<&Client>) {
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

/// How many snippets are annotated, and why the others are not.
pub fn print_annotated(annotated: &AnnotatedSnippets) {
    output::line(format!("{:>9} annotations", annotated.annotations.iter().flatten().count()));
    for (reason, count) in &annotated.rejected {
        output::line(format!("{count:>9} without one: {reason}"));
    }
}

fn gate(gate: &Gate) {
    let reasons: Vec<String> = gate.dropped.iter().map(|(reason, count)| format!("{reason} {count}")).collect();
    let reasons = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join(", ")) };
    output::line(format!("{:>9} left after {}{reasons}", gate.after, gate.name));
}

fn known(number: Option<u64>) -> String {
    number.map_or_else(|| "unknown".to_owned(), |number| number.to_string())
}

fn time(seconds: Option<f64>) -> String {
    match seconds {
        None => "unknown: the probe's answers were in the ledger already".to_owned(),
        Some(seconds) => about_duration(seconds),
    }
}

fn print_annotations(estimate: &AnnotateEstimate) {
    output::line(format!(
        "annotations: {} snippets, a question each; a probe of {}",
        estimate.questions, estimate.probed
    ));
    output::line(format!(
        "tokens     {} of prompts, {} of answers",
        known(estimate.prompt_tokens),
        known(estimate.completion_tokens)
    ));
    output::line(format!("time       {}", time(estimate.seconds)));
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
    output::line(format!(
        "tokens     {} of prompts, {} of answers",
        known(estimate.prompt_tokens),
        known(estimate.completion_tokens)
    ));
    output::line(format!("time       {}", time(estimate.seconds)));
    output::line(format!(
        "disk       {} of answers, {} of pairs",
        about_bytes(estimate.ledger_bytes as f64),
        about_bytes(estimate.output_bytes as f64)
    ));
    output::line(format!("pairs      about {}", estimate.pairs));
}
