//! The data card of made pairs, as Markdown: what they are, how they came about, what was dropped, what it cost.

use std::{
    collections::BTreeMap,
    fmt::{self, Write},
};

use wb_core::{Pair, Seed, records::data::Gate};
use wb_data::card::cell;
use wb_llm::EngineInfo;

use crate::{
    Account, SynthConfig, account::Costs, calibration::Calibration, chain::Counts, config::kind_name,
    prompts::label_meaning, tasks::Catalog,
};

/// All that a card tells.
pub struct Facts<'a> {
    /// The resolved configuration.
    pub config: &'a SynthConfig,
    /// The tasks that took part.
    pub catalog: &'a Catalog,
    /// The model.
    pub info: &'a EngineInfo,
    /// The run's seed.
    pub seed: Seed,
    /// What happened between snippets and pairs.
    pub counts: &'a Counts,
    /// What it cost.
    pub account: &'a Account,
    /// The judge beside a person.
    pub calibration: Option<&'a Calibration>,
    /// The pairs.
    pub pairs: &'a [Pair],
}

/// The card as a page.
pub fn render(facts: &Facts) -> String {
    let mut page = String::new();
    // Writing to a string cannot fail.
    let _ = write(facts, &mut page);
    page
}

fn write(facts: &Facts, page: &mut String) -> fmt::Result {
    let Facts { config, info, counts, .. } = facts;
    writeln!(page, "# Data card of made pairs\n")?;
    writeln!(page, "{} pairs, written by a language model from {} snippets.", counts.pairs, counts.snippets)?;
    for warning in config.warnings() {
        writeln!(page, "\n**Warning:** {warning}.")?;
    }
    let unknown = |text: &str| if text.is_empty() { "unknown".to_owned() } else { cell(text) };
    writeln!(page, "\n| model | hash | engine | build | seed |\n|---|---|---|---|---:|")?;
    let (model, hash, build) = (unknown(&info.model), unknown(&info.model_hash), unknown(&info.build));
    writeln!(page, "| {model} | {hash} | {} | {build} | {} |", cell(&info.engine), facts.seed.0)?;

    writeln!(page, "\n## Pairs\n\n| task | items | pairs | languages |\n|---|---:|---:|---|")?;
    tasks(facts, page)?;
    writeln!(page, "\n## Snippets\n")?;
    writeln!(
        page,
        "{} snippets came in and {} items (a task with a snippet) were worked on.",
        counts.snippets, counts.items
    )?;
    if !counts.unfit.is_empty() {
        writeln!(page, "No task could take: {}.", listed(&counts.unfit))?;
    }
    if !counts.idle_tasks.is_empty() {
        let idle: Vec<String> = counts.idle_tasks.iter().map(|name| cell(name)).collect();
        writeln!(page, "No snippet suited these tasks: {}.", idle.join(", "))?;
    }

    gates(counts, page)?;
    if let Some(judge) = &config.judge {
        labels(facts, &judge.keep, page)?;
    }
    account(facts.account, page)?;
    origins(facts.pairs, page)?;
    writeln!(
        page,
        "\n## What is still to come\n\n\
         Near duplicates across tasks and sources, leaks from held-out pairs, and the other quality filters are not looked for here: \
         they are gates of `data:`, which every training run applies to these pairs as to any others."
    )
}

fn tasks(facts: &Facts, page: &mut String) -> fmt::Result {
    let mut items = BTreeMap::new();
    let mut languages: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    for pair in facts.pairs {
        let task = pair.id.rsplit_once('/').map_or(pair.id.as_str(), |(task, _)| task);
        *items.entry(task.to_owned()).or_insert(0_u64) += 1;
        *languages.entry(task.to_owned()).or_default().entry(pair.language.clone()).or_default() += 1;
    }
    let none = BTreeMap::new();
    for chosen in &facts.catalog.tasks {
        let name = chosen.name();
        let worked = facts.counts.items_by_task.get(&name).copied().unwrap_or(0);
        if worked == 0 {
            continue;
        }
        let pairs = items.get(&name).copied().unwrap_or(0);
        let languages = listed(languages.get(&name).unwrap_or(&none));
        writeln!(page, "| {} | {worked} | {pairs} | {languages} |", cell(&name))?;
    }
    Ok(())
}

fn gates(counts: &Counts, page: &mut String) -> fmt::Result {
    writeln!(page, "\n## Gates\n\n| gate | before | after | dropped |\n|---|---:|---:|---|")?;
    let all: Vec<&Gate> = counts.brainstormed.iter().chain(&counts.gates).chain(&counts.negatives).collect();
    for gate in &all {
        writeln!(page, "| {} | {} | {} | {} |", cell(&gate.name), gate.before, gate.after, listed(&gate.dropped))?;
    }
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
    if counts.unknown_reviews > 0 {
        writeln!(page, "\n{} lines of the review fit no candidate of this run.", counts.unknown_reviews)?;
    }
    if all.iter().any(|gate| !gate.examples.is_empty()) {
        writeln!(page, "\n### Dropped, for example\n\n| gate | reason | candidate | query |\n|---|---|---|---|")?;
        for gate in all {
            for example in &gate.examples {
                let (reason, id, anchor) = (cell(&example.reason), cell(&example.id), cell(&example.anchor));
                writeln!(page, "| {} | {reason} | {id} | {anchor} |", cell(&gate.name))?;
            }
        }
    }
    Ok(())
}

fn labels(facts: &Facts, keep: &[u8], page: &mut String) -> fmt::Result {
    writeln!(page, "\n## Judge\n\nLabels that stay: {keep:?}.\n\n| label | in text to code it says |\n|---:|---|")?;
    for label in crate::prompts::LABELS {
        writeln!(page, "| {label} | {} |", label_meaning(wb_core::Task::Text2code, label))?;
    }
    let Some(calibration) = facts.calibration else {
        return writeln!(
            page,
            "\nThe judge was not held against a person's labels (`synth.judge.gold`). CodeR's annotator, a stronger model, was right in 93 % of its 1s and 38 % of its 0s."
        );
    };
    writeln!(page, "\nAgainst a person's labels:\n\n| label | precision | recall |\n|---:|---:|---:|")?;
    for label in crate::prompts::LABELS {
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

fn account(account: &Account, page: &mut String) -> fmt::Result {
    writeln!(
        page,
        "\n## Tokens\n\nOf answers that were accepted; what failed attempts cost is in the ledger's account.\n\n\
         | recipe | questions | answered | given up | prompt | cached | answer | unknown |\n|---|---:|---:|---:|---:|---:|---:|---:|"
    )?;
    for (recipe, costs) in &account.recipes {
        row(&cell(recipe), costs, page)?;
    }
    for (stage, costs) in account.stages() {
        row(&format!("**all of {}**", cell(stage)), &costs, page)?;
    }
    row("**all**", &account.total(), page)
}

fn row(name: &str, costs: &Costs, page: &mut String) -> fmt::Result {
    let Costs { questions, answered, rejected, prompt, cached, completion, unknown, .. } = costs;
    writeln!(
        page,
        "| {name} | {questions} | {answered} | {rejected} | {prompt} | {cached} | {completion} | {unknown} |"
    )
}

fn origins(pairs: &[Pair], page: &mut String) -> fmt::Result {
    let mut groups: BTreeMap<String, u64> = BTreeMap::new();
    let mut licenses: BTreeMap<String, u64> = BTreeMap::new();
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    for pair in pairs {
        *groups.entry(pair.origin.group.clone()).or_default() += 1;
        let license = if pair.origin.license.is_empty() { "unknown" } else { &pair.origin.license };
        *licenses.entry(license.to_owned()).or_default() += 1;
        *kinds.entry(kind_name(pair.task).to_owned()).or_default() += 1;
    }
    writeln!(page, "\n## Origins\n\nKinds: {}. Groups: {}.", listed(&kinds), groups.len())?;
    writeln!(page, "\n| license of the snippet | pairs |\n|---|---:|")?;
    for (license, count) in &licenses {
        writeln!(page, "| {} | {count} |", cell(license))?;
    }
    Ok(())
}

fn share((part, all): (u64, u64)) -> String {
    if all == 0 { "none".to_owned() } else { format!("{:.0} % ({part} of {all})", 100.0 * part as f64 / all as f64) }
}

/// Names with their counts, the highest first.
fn listed(counts: &BTreeMap<String, u64>) -> String {
    let mut sorted: Vec<(&String, &u64)> = counts.iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let named = |name: &str| if name.is_empty() { "none".to_owned() } else { cell(name) };
    sorted.iter().map(|(name, count)| format!("{} {count}", named(name))).collect::<Vec<_>>().join(", ")
}
