//! The experiment in tables.

use std::collections::BTreeMap;

use wb_core::records::rag::{Rag, RagArm, RagPair, RagShare};

use crate::output::{self, table};

/// Prints all of it.
pub fn print(rag: &Rag) {
    output::line(format!("{}: {} questions, {}", rag.name, rag.questions.len(), rag.protocols.join(", ")));
    for fact in &rag.facts {
        output::line(fact);
    }
    output::line("");
    let mut header = vec!["arm", "exact match", "execution"];
    let hardness: Vec<String> =
        rag.arms.first().map(|arm| arm.levels.iter().map(|level| level.hardness.clone()).collect()).unwrap_or_default();
    header.extend(hardness.iter().map(String::as_str));
    header.extend(["runs", "read", "tables", "columns"]);
    table(&header, &rag.arms.iter().map(row).collect::<Vec<_>>());
    output::line(
        "the four in the middle are execution by hardness; tables, columns: the share of gold's that are named",
    );
    let retrieving: Vec<Vec<String>> = rag.arms.iter().filter_map(forms).collect();
    if !retrieving.is_empty() {
        output::line("");
        let header = ["retrieved", "form F1 @1", "@3", "same form @1", "@3", "leaks removed", "with fewer"];
        table(&header, &retrieving);
    }
    if rag.arms.iter().any(|arm| arm.cost.is_some()) {
        output::line("");
        let header =
            ["arm", "asked", "given up", "prompt tokens", "answer tokens", "median s", "95 % within s", "repaired"];
        table(&header, &rag.arms.iter().filter_map(cost).collect::<Vec<_>>());
    }
    for (at, arm) in rag.arms.iter().enumerate() {
        for (reason, count) in without_query(rag, at) {
            output::line(format!("{}: no query for {count} questions: {reason}", arm.name));
        }
    }
    output::line("");
    let pairs: Vec<Vec<String>> = rag.pairs.iter().map(pair).collect();
    table(&["metric", "arm", "against", "difference", "95 % interval", "better", "worse", "McNemar p"], &pairs);
}

/// Reasons why an arm has no query, that of most questions first.
fn without_query(rag: &Rag, arm: usize) -> Vec<(String, usize)> {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for answer in rag.questions.iter().map(|question| &question.arms[arm]).filter(|answer| answer.sql.is_empty()) {
        *reasons.entry(answer.message.as_deref().unwrap_or("unknown")).or_default() += 1;
    }
    let mut reasons: Vec<(String, usize)> = reasons.into_iter().map(|(reason, n)| (reason.to_owned(), n)).collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    // Reasons of a server may differ from question to question.
    reasons.truncate(5);
    reasons
}

fn share(share: &RagShare) -> String {
    match share.of {
        0 => "-".to_owned(),
        of => format!("{:.3} {:.3} {}/{of}", share.value, share.interval, share.right),
    }
}

fn short(share: &RagShare) -> String {
    if share.of == 0 { "-".to_owned() } else { format!("{:.3}", share.value) }
}

fn row(arm: &RagArm) -> Vec<String> {
    let levels = arm.levels.iter().map(|level| short(&level.ex));
    let first = [arm.name.clone(), share(&arm.em), share(&arm.ex)];
    let last = [
        short(&arm.valid),
        short(&arm.parsed),
        format!("{:.3}", arm.table_recall),
        format!("{:.3}", arm.column_recall),
    ];
    first.into_iter().chain(levels).chain(last).collect()
}

fn forms(arm: &RagArm) -> Option<Vec<String>> {
    let forms = arm.forms?;
    let shown = [forms.f1_at_1, forms.f1_at_3, forms.exact_at_1, forms.exact_at_3].map(|value| format!("{value:.3}"));
    let counts = [arm.leaks_removed, arm.short].map(|count| count.to_string());
    Some([arm.name.clone()].into_iter().chain(shown).chain(counts).collect())
}

fn cost(arm: &RagArm) -> Option<Vec<String>> {
    let cost = arm.cost.as_ref()?;
    let known = |tokens: Option<u64>| tokens.map_or_else(|| "unknown".to_owned(), |tokens| tokens.to_string());
    let seconds = |ms: Option<f64>| ms.map_or_else(|| "unknown".to_owned(), |ms| format!("{:.2}", ms / 1000.0));
    Some(vec![
        arm.name.clone(),
        cost.asked.to_string(),
        cost.rejected.to_string(),
        known(cost.prompt_tokens),
        known(cost.completion_tokens),
        seconds(cost.latency_median_ms),
        seconds(cost.latency_p95_ms),
        format!("{} of {}", cost.repaired, cost.repairs),
    ])
}

fn pair(pair: &RagPair) -> Vec<String> {
    vec![
        pair.metric.clone(),
        pair.second.clone(),
        pair.first.clone(),
        format!("{:+.3}", pair.difference),
        format!("{:+.3}", pair.interval),
        pair.only_second.to_string(),
        pair.only_first.to_string(),
        p_value(pair.p_value),
    ]
}

fn p_value(p: f64) -> String {
    if p < 0.001 { format!("{p:.1e}") } else { format!("{p:.3}") }
}
