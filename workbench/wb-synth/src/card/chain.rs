//! The card's part about the chain: items, checks of code, the judge.

use std::fmt::{self, Write};

use wb_data::card::cell;

use super::listed;
use crate::{
    SynthConfig, Synthesis,
    chain::ChainCounts,
    prompts::{LABELS, label_meaning},
};

/// Tells what became of snippets on their way to a task.
pub(super) fn items(synthesis: &Synthesis, page: &mut String) -> fmt::Result {
    let counts = &synthesis.counts;
    writeln!(page, "The model was asked about {} items, a task with a snippet each.", counts.items)?;
    if !counts.unfit.is_empty() {
        writeln!(page, "No task could take: {}.", listed(&counts.unfit))?;
    }
    if !counts.idle_tasks.is_empty() {
        let idle: Vec<String> = counts.idle_tasks.iter().map(|name| cell(name)).collect();
        writeln!(page, "No snippet suited these tasks: {}.", idle.join(", "))?;
    }
    Ok(())
}

/// Tells what was parsed and what was called.
pub(super) fn checked(counts: &ChainCounts, page: &mut String) -> fmt::Result {
    if counts.unchecked > 0 {
        writeln!(
            page,
            "\n{} candidates passed unparsed: there is no grammar for their language, or their document may be text.",
            counts.unchecked
        )?;
    }
    if !counts.called.is_empty() {
        writeln!(page, "\nBoth sides called with the same values: {}.", listed(&counts.called))?;
    }
    Ok(())
}

/// Tells what the judge's labels mean, and how often they are a person's.
pub(super) fn judge(config: &SynthConfig, synthesis: &Synthesis, page: &mut String) -> fmt::Result {
    let Some(judge) = &config.judge else { return Ok(()) };
    let keep = &judge.keep;
    writeln!(page, "\n## Judge\n\nLabels that stay: {keep:?}.\n\n| label | in text to code it says |\n|---:|---|")?;
    for label in LABELS {
        writeln!(page, "| {label} | {} |", label_meaning(wb_core::Task::Text2code, label))?;
    }
    let Some(calibration) = &synthesis.calibration else {
        return writeln!(
            page,
            "\nThe judge was not held against a person's labels (`synth.judge.gold`). CodeR's annotator, a stronger model, was right in 93 % of its 1s and 38 % of its 0s."
        );
    };
    writeln!(page, "\nAgainst a person's labels:\n\n| label | precision | recall |\n|---:|---:|---:|")?;
    for label in LABELS {
        writeln!(page, "| {label} | {} | {} |", share(calibration.precision(label)), share(calibration.recall(label)))?;
    }
    if calibration.unanswered > 0 {
        writeln!(page, "\n{} pairs of the gold set got no label.", calibration.unanswered)?;
    }
    if calibration.other_tasks > 0 {
        writeln!(page, "\n{} pairs of the gold set are of tasks that take no part here.", calibration.other_tasks)?;
    }
    writeln!(page, "\nFor comparison: CodeR's annotator was right in 93 % of its 1s and 38 % of its 0s.")
}

fn share((part, all): (u64, u64)) -> String {
    if all == 0 { "none".to_owned() } else { format!("{:.0} % ({part} of {all})", 100.0 * part as f64 / all as f64) }
}
