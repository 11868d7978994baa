//! The data card of made pairs, as Markdown: what they are, who made them and how, what was dropped, what it cost.

mod chain;
mod rules;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::{self, Write},
};

use wb_core::{Pair, records::data::Gate};
use wb_data::card::cell;

use crate::{
    Dataset, SynthesisAccount,
    account::QuestionCosts,
    dataset::{Ground, MadePairs},
    provenance::{Maker, Provenance},
    review::Reviewed,
};

/// Everything that a card tells.
pub struct Facts<'a> {
    /// The makers with what each made.
    pub made: MadePairs<'a>,
    /// The ground that all of it stands on.
    pub ground: Ground<'a>,
    /// All pairs, with their provenance and costs.
    pub dataset: &'a Dataset,
}

/// The card as a page.
pub fn render(facts: &Facts) -> String {
    let mut page = String::new();
    // Writing to a string cannot fail.
    let _ = write(facts, &mut page);
    page
}

fn write(facts: &Facts, page: &mut String) -> fmt::Result {
    writeln!(page, "# Data card of made pairs\n")?;
    let made: Vec<String> =
        by_maker(&facts.dataset.provenance).iter().map(|(maker, n)| format!("{n} {}", by(*maker))).collect();
    let made = if made.is_empty() { String::new() } else { format!(": {}", made.join(", ")) };
    writeln!(page, "{} pairs from {} snippets{made}.", facts.dataset.pairs.len(), facts.ground.snippets.kept)?;
    for warning in facts.made.chain.iter().flat_map(|(config, _)| config.warnings()) {
        writeln!(page, "\n**Warning:** {warning}.")?;
    }
    let unknown = |text: &str| if text.is_empty() { "unknown".to_owned() } else { cell(text) };
    match facts.ground.info {
        Some(info) => {
            writeln!(page, "\n| model | hash | engine | build | seed |\n|---|---|---|---|---:|")?;
            let (model, hash, build) = (unknown(&info.model), unknown(&info.model_hash), unknown(&info.build));
            writeln!(page, "| {model} | {hash} | {} | {build} | {} |", cell(&info.engine), facts.ground.seed.0)?;
        }
        None => writeln!(page, "\nNo language model was asked. Seed: {}.", facts.ground.seed.0)?,
    }
    writeln!(page, "\n## Pairs\n\n| task | made by | items | pairs | languages |\n|---|---|---:|---:|---|")?;
    tasks(facts, page)?;
    snippets(facts, page)?;
    if let Some((_, synthesis)) = facts.made.chain {
        chain::items(synthesis, page)?;
    }
    gates(facts, page)?;
    if let Some((config, output)) = facts.made.rules {
        rules::rules(config, &output.account, page)?;
    }
    if let Some((config, synthesis)) = facts.made.chain {
        chain::judge(config, synthesis, page)?;
    }
    if !facts.ground.reviews.is_empty() {
        let (Reviewed { accepted, rejected }, unknown) = (facts.dataset.reviewed, facts.dataset.unknown_reviews);
        writeln!(page, "\n## Review\n\nA person accepted {accepted} and rejected {rejected}.")?;
        if unknown > 0 {
            writeln!(page, "{unknown} lines of the review fit no pair of this run, or another text of it.")?;
        }
    }
    if facts.ground.info.is_some() {
        account(&facts.dataset.account, page)?;
    }
    origins(facts.dataset.pairs.pairs(), page)?;
    writeln!(
        page,
        "\n## What is still to come\n\n\
         Near duplicates across tasks and sources, leaks from held-out pairs, and the other quality filters are not looked for here: \
         they are gates of `data:`, which every training run applies to these pairs as to any others."
    )
}

fn by(maker: Maker) -> &'static str {
    match maker {
        Maker::Model => "written by a language model",
        Maker::Annotation => "queries of annotations",
        Maker::Rules => "by rules",
    }
}

fn by_maker(provenance: &[Provenance]) -> BTreeMap<Maker, u64> {
    let mut makers = BTreeMap::new();
    provenance.iter().for_each(|from| *makers.entry(from.made_by).or_default() += 1);
    makers
}

/// Every task that was worked on, by who made it; items are snippets with the chain and annotations, functions with rules.
fn tasks(facts: &Facts, page: &mut String) -> fmt::Result {
    let mut pairs: BTreeMap<(Maker, &str), BTreeMap<String, u64>> = BTreeMap::new();
    for (pair, from) in facts.dataset.pairs.pairs().iter().zip(&facts.dataset.provenance) {
        let languages = pairs.entry((from.made_by, &from.task)).or_default();
        *languages.entry(pair.language.clone()).or_default() += 1;
    }
    let mut rows: Vec<(Maker, String, u64)> = Vec::new();
    if let Some((_, synthesis)) = facts.made.chain {
        for chosen in &synthesis.catalog.tasks {
            let name = chosen.name();
            let worked = synthesis.counts.items_by_task.get(&name).copied().unwrap_or(0);
            if worked > 0 {
                rows.push((Maker::Model, name, worked));
            }
        }
    }
    let worked = |maker: Maker| match maker {
        Maker::Annotation => facts.made.annotated.map_or(0, |(annotated, _)| annotated.annotations.len() as u64),
        _ => facts.made.rules.map_or(0, |(_, output)| output.account.pieces),
    };
    let others: BTreeSet<(Maker, &str)> = pairs.keys().copied().filter(|(maker, _)| *maker != Maker::Model).collect();
    rows.extend(others.into_iter().map(|(maker, task)| (maker, task.to_owned(), worked(maker))));
    let none = BTreeMap::new();
    for (maker, task, worked) in &rows {
        let languages = pairs.get(&(*maker, task.as_str())).unwrap_or(&none);
        let count: u64 = languages.values().sum();
        writeln!(page, "| {} | {} | {worked} | {count} | {} |", cell(task), maker.name(), listed(languages))?;
    }
    Ok(())
}

fn snippets(facts: &Facts, page: &mut String) -> fmt::Result {
    let card = facts.ground.snippets;
    writeln!(page, "\n## Snippets\n")?;
    if !card.sources.is_empty() {
        writeln!(page, "| source | place | files | snippets | left out |\n|---|---|---:|---:|---|")?;
    }
    for source in &card.sources {
        let mut left_out = source.left_out.clone();
        left_out.extend(source.bad.iter().map(|(reason, count)| (reason.clone(), *count)));
        let (name, place) = (cell(&source.name), cell(&source.place));
        writeln!(page, "| {name} | {place} | {} | {} | {} |", source.files, source.snippets, listed(&left_out))?;
    }
    writeln!(page, "\n{} snippets of {} groups came in: {}.", card.kept, card.groups, listed(&card.by_language))?;
    if !card.dropped.is_empty() {
        writeln!(page, "Filters and the draw left out: {}.", listed(&card.dropped))?;
    }
    Ok(())
}

fn gates(facts: &Facts, page: &mut String) -> fmt::Result {
    let mut all: Vec<Gate> = Vec::new();
    if let Some((_, synthesis)) = facts.made.chain {
        let counts = &synthesis.counts;
        all.extend(counts.brainstormed.iter().chain(&counts.gates).chain(&counts.negatives).cloned());
    }
    if let Some((annotated, made)) = facts.made.annotated {
        let after = annotated.annotations.iter().flatten().count() as u64;
        let dropped = annotated.rejected.clone();
        let before = annotated.annotations.len() as u64;
        all.push(Gate { name: "annotate".into(), before, after, dropped, ..Gate::default() });
        if made.gate.before > 0 {
            all.push(made.gate.clone());
        }
    }
    if all.is_empty() {
        return Ok(());
    }
    writeln!(page, "\n## Gates\n\n| gate | before | after | dropped |\n|---|---:|---:|---|")?;
    for gate in &all {
        writeln!(page, "| {} | {} | {} | {} |", cell(&gate.name), gate.before, gate.after, listed(&gate.dropped))?;
    }
    if let Some((_, synthesis)) = facts.made.chain {
        chain::checked(&synthesis.counts, page)?;
    }
    if all.iter().any(|gate| !gate.examples.is_empty()) {
        writeln!(page, "\n### Dropped, for example\n\n| gate | reason | candidate | query |\n|---|---|---|---|")?;
        for gate in &all {
            for example in &gate.examples {
                let (reason, id, anchor) = (cell(&example.reason), cell(&example.id), cell(&example.anchor));
                writeln!(page, "| {} | {reason} | {id} | {anchor} |", cell(&gate.name))?;
            }
        }
    }
    Ok(())
}

fn account(account: &SynthesisAccount, page: &mut String) -> fmt::Result {
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

fn row(name: &str, costs: &QuestionCosts, page: &mut String) -> fmt::Result {
    let QuestionCosts { questions, answered, rejected, prompt, cached, completion, unknown, .. } = costs;
    writeln!(
        page,
        "| {name} | {questions} | {answered} | {rejected} | {prompt} | {cached} | {completion} | {unknown} |"
    )
}

fn origins(pairs: &[Pair], page: &mut String) -> fmt::Result {
    let mut groups: BTreeSet<&str> = BTreeSet::new();
    let mut licenses: BTreeMap<String, u64> = BTreeMap::new();
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    for pair in pairs {
        groups.insert(&pair.origin.group);
        let license = if pair.origin.license.is_empty() { "unknown" } else { &pair.origin.license };
        *licenses.entry(license.to_owned()).or_default() += 1;
        *kinds.entry(pair.task.as_str().to_owned()).or_default() += 1;
    }
    writeln!(page, "\n## Origins\n\nKinds: {}. Groups: {}.", listed(&kinds), groups.len())?;
    writeln!(page, "\n| license of the snippet | pairs |\n|---|---:|")?;
    for (license, count) in &licenses {
        writeln!(page, "| {} | {count} |", cell(license))?;
    }
    Ok(())
}

/// Names with their counts, the highest first.
fn listed(counts: &BTreeMap<String, u64>) -> String {
    let named = |name: &str| if name.is_empty() { "none".to_owned() } else { cell(name) };
    sorted(counts).iter().map(|(name, count)| format!("{} {count}", named(name))).collect::<Vec<_>>().join(", ")
}

fn sorted(counts: &BTreeMap<String, u64>) -> Vec<(&String, &u64)> {
    let mut sorted: Vec<(&String, &u64)> = counts.iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    sorted
}
