//! The page's parts that are lists rather than scores: data, leaks, warnings, settings, the manifest.

use std::collections::BTreeMap;

use serde::Serialize;
use wb_core::{
    manifest::Manifest,
    records::{
        data::DataCard,
        outcome::{CONTESTANT_SETTING, ContestantOutcome},
    },
};

use crate::{
    contestants::{Contestant, named},
    gather::RunContents,
    numbers::{count, large, percent, significant},
    words,
};

/// A label with a number, as `reason: 12`.
#[derive(Debug, Serialize)]
pub struct Tally {
    /// Name of what is counted.
    pub name: String,
    /// The count.
    pub count: String,
    /// Share of the whole, or nothing.
    pub share: String,
}

fn tallies(counts: &BTreeMap<String, u64>, whole: u64) -> Vec<Tally> {
    let mut sorted: Vec<(&String, &u64)> = counts.iter().collect();
    sorted.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    sorted
        .into_iter()
        .map(|(name, n)| Tally { name: name.clone(), count: count(*n), share: percent(*n, whole) })
        .collect()
}

/// `data.json` as tables.
#[derive(Debug, Serialize)]
pub struct DataView {
    sources: Vec<SourceView>,
    gates: Vec<GateView>,
    splits: Vec<SplitView>,
    licenses: Vec<Tally>,
    leaks: Vec<AuditView>,
}

#[derive(Debug, Serialize)]
struct SourceView {
    name: String,
    pairs: String,
    skipped: Vec<Tally>,
}

#[derive(Debug, Serialize)]
struct GateView {
    name: String,
    before: String,
    after: String,
    dropped: String,
    share: String,
    reasons: Vec<Tally>,
    examples: Vec<[String; 3]>,
}

#[derive(Debug, Serialize)]
struct SplitView {
    name: String,
    pairs: String,
    groups: String,
    languages: Vec<Tally>,
}

/// A count of duplicates or leaks.
#[derive(Debug, Serialize)]
pub struct AuditView {
    what: String,
    count: String,
    of: String,
    share: String,
    clean: bool,
    examples: Vec<String>,
}

fn audit(what: String, n: u64, of: u64, examples: &[String]) -> AuditView {
    AuditView {
        what,
        count: count(n),
        of: count(of),
        share: percent(n, of),
        clean: n == 0,
        examples: examples.to_vec(),
    }
}

/// Makes the data part.
pub fn data(card: &DataCard) -> DataView {
    let order = |name: &str| ["train", "validation", "test"].iter().position(|known| *known == name).unwrap_or(3);
    let mut splits: Vec<_> = card.splits.iter().collect();
    splits.sort_by_key(|(name, _)| order(name));
    let licensed = card.licenses.values().fold(0u64, |sum, n| sum.saturating_add(*n));
    DataView {
        sources: card
            .sources
            .iter()
            .map(|source| SourceView {
                name: source.name.clone(),
                pairs: count(source.pairs),
                skipped: tallies(&source.skipped, 0),
            })
            .collect(),
        gates: card
            .gates
            .iter()
            .map(|gate| GateView {
                name: gate.name.clone(),
                before: count(gate.before),
                after: count(gate.after),
                dropped: if gate.after > gate.before {
                    format!("+{}", count(gate.after - gate.before))
                } else {
                    count(gate.before - gate.after)
                },
                share: percent(gate.before.abs_diff(gate.after), gate.before),
                reasons: tallies(&gate.dropped, gate.before),
                examples: gate
                    .examples
                    .iter()
                    .map(|dropped| [dropped.reason.clone(), dropped.id.clone(), dropped.anchor.clone()])
                    .collect(),
            })
            .collect(),
        splits: splits
            .into_iter()
            .map(|(name, split)| SplitView {
                name: name.clone(),
                pairs: match split.texts {
                    0 => count(split.pairs),
                    texts => format!("{}, {} of them texts without a label", count(split.pairs), count(texts)),
                },
                groups: count(split.groups),
                languages: tallies(&split.languages, split.pairs),
            })
            .collect(),
        licenses: tallies(&card.licenses, licensed)
            .into_iter()
            .map(|tally| if tally.name.is_empty() { Tally { name: "not known".to_owned(), ..tally } } else { tally })
            .collect(),
        leaks: card
            .leaks
            .iter()
            .map(|leak| audit(words::leak(&leak.kind), leak.count, leak.of, &leak.examples))
            .collect(),
    }
}

/// A list of texts that belong to a benchmark, each with who has it.
#[derive(Debug, Serialize)]
pub struct Noted {
    /// Protocol, or nothing.
    pub id: String,
    /// The text.
    pub text: String,
    /// Contestants that have it; empty for all.
    pub who: String,
}

/// Protocols that were not run, each once.
pub fn not_run(run: &RunContents, contestants: &[Contestant]) -> Vec<Noted> {
    gathered(run, contestants, |outcome| {
        outcome.not_run.iter().map(|not| (not.id.clone(), not.reason.clone())).collect()
    })
}

/// Warnings, each once.
pub fn warnings(run: &RunContents, contestants: &[Contestant]) -> Vec<Noted> {
    gathered(run, contestants, |outcome| {
        outcome.warnings.iter().map(|warning| (outcome.benchmark.clone(), warning.clone())).collect()
    })
}

fn gathered(
    run: &RunContents,
    contestants: &[Contestant],
    of: impl Fn(&ContestantOutcome) -> Vec<(String, String)>,
) -> Vec<Noted> {
    let mut found: Vec<((String, String), Vec<String>)> = Vec::new();
    for outcome in &run.outcomes {
        let label = named(contestants, &outcome.contestant).map_or("", |known| known.label.as_str());
        for key in of(outcome) {
            match found.iter_mut().find(|(known, _)| *known == key) {
                Some((_, who)) => who.push(label.to_owned()),
                None => found.push((key, vec![label.to_owned()])),
            }
        }
    }
    let all = run.outcomes.len();
    found
        .into_iter()
        .map(|((id, text), who)| Noted { id, text, who: if who.len() == all { String::new() } else { who.join(", ") } })
        .collect()
}

/// The benchmarks' own counts of duplicates and leaks, each once.
pub fn audits(run: &RunContents) -> Vec<AuditView> {
    let mut seen = Vec::new();
    let mut lines = Vec::new();
    for outcome in &run.outcomes {
        for line in &outcome.audit {
            let key = (&outcome.benchmark, &line.what, line.count, line.of);
            if !seen.contains(&key) {
                seen.push(key);
                lines.push(audit(format!("{}: {}", outcome.benchmark, line.what), line.count, line.of, &line.examples));
            }
        }
    }
    lines
}

/// Settings and fingerprints that decided a contestant's vectors.
#[derive(Debug, Serialize)]
pub struct ContestantView {
    label: String,
    color: usize,
    benchmark: String,
    settings: Vec<(String, String)>,
    fingerprint: String,
    dataset: String,
}

/// Settings and fingerprints of everyone measured.
pub fn settings(run: &RunContents, contestants: &[Contestant]) -> Vec<ContestantView> {
    let mut views = Vec::new();
    for contestant in contestants {
        for outcome in run.outcomes.iter().filter(|outcome| outcome.contestant == contestant.key) {
            views.push(ContestantView {
                label: contestant.label.clone(),
                color: contestant.color,
                benchmark: outcome.benchmark.clone(),
                settings: (outcome.base.iter().map(|base| ("base".to_owned(), base.clone())))
                    .chain(outcome.settings.iter().map(|(name, value)| (own_setting(name), value.clone())))
                    .collect(),
                fingerprint: words::digits(&outcome.contestant_fingerprint),
                dataset: words::digits(&outcome.dataset_fingerprint),
            });
        }
    }
    views
}

/// Settings of the contestant itself carry this before their names, those of the benchmark do not.
fn own_setting(name: &str) -> String {
    name.strip_prefix(CONTESTANT_SETTING).unwrap_or(name).to_owned()
}

/// The manifest as rows of name and value; what is empty says so.
pub fn manifest(manifest: &Manifest) -> Vec<(String, String)> {
    let commit = match manifest.commit.strip_suffix('+') {
        Some(commit) => format!("{commit}, with changes that were not committed"),
        None => manifest.commit.clone(),
    };
    let rows = [
        ("run", manifest.run.clone()),
        ("started", manifest.started.clone()),
        ("wb version", manifest.version.clone()),
        ("commit", commit),
        ("features", if manifest.features.is_empty() { "none".to_owned() } else { manifest.features.join(", ") }),
        ("device", manifest.device.clone()),
        ("machine", manifest.machine.clone()),
        ("seed", manifest.seed.to_string()),
        ("config", manifest.config.clone()),
    ];
    rows.into_iter()
        .map(|(name, value)| (name.to_owned(), if value.is_empty() { "not known".to_owned() } else { value }))
        .collect()
}

/// Training in one sentence; nothing where there was none.
pub fn training(run: &RunContents) -> String {
    let Some(last) = run.steps.last() else { return String::new() };
    let sum = |of: fn(&wb_core::records::journal::StepRecord) -> u64| {
        run.steps.iter().fold(0u64, |sum, step| sum.saturating_add(of(step)))
    };
    let n_stages = run.steps.iter().map(|step| step.stage).max().unwrap_or(0) as u64 + 1;
    let stages = if n_stages > 1 { format!(" in {} stages", count(n_stages)) } else { String::new() };
    format!(
        "{} steps{stages}, {} epochs, {} pairs, {} tokens without padding.",
        count(last.step),
        significant(last.epoch, 3),
        large(sum(|step| step.pairs)),
        large(sum(|step| step.tokens)),
    )
}
