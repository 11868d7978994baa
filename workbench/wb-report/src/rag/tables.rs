//! The tables of the page: arms, hardness, retrieval, cost, pairs.

use serde::Serialize;
use wb_core::records::rag::{Rag, RagArm, RagPair, RagShare};

use super::{is_ceiling, shortened};
use crate::{
    numbers::{count, difference, fraction, interval, p_value},
    words,
};

/// The arm that a row is about.
#[derive(Debug, Clone, Serialize)]
pub struct Who {
    name: String,
    /// Remark about it: the ceiling, the arm without retrieval.
    note: &'static str,
    is_best: bool,
}

/// A share as the tables show it.
#[derive(Debug, Clone, Serialize)]
pub struct ShareView {
    value: String,
    interval: String,
    counts: String,
}

/// Scores of an arm's queries.
#[derive(Debug, Serialize)]
pub struct ArmView {
    who: Who,
    ex: ShareView,
    em: ShareView,
    valid: ShareView,
    parsed: ShareView,
    tables: String,
    columns: String,
    without: String,
}

/// A hardness, for a head of the table.
#[derive(Debug, Serialize)]
pub struct LevelView {
    name: String,
    questions: String,
}

/// An arm by hardness: execution and exact match of each.
#[derive(Debug, Serialize)]
pub struct LevelRow {
    who: Who,
    cells: Vec<[ShareView; 2]>,
}

/// Quality of an arm's examples.
#[derive(Debug, Serialize)]
pub struct RetrievalView {
    name: String,
    note: &'static str,
    by: String,
    forms: [String; 4],
    leaks: String,
    short: String,
}

/// Cost of an arm at the language model.
#[derive(Debug, Serialize)]
pub struct CostView {
    name: String,
    asked: String,
    rejected: String,
    prompt: String,
    completion: String,
    each: String,
    median: String,
    p95: String,
    repaired: String,
}

/// The comparisons by one metric.
#[derive(Debug, Serialize)]
pub struct PairGroup {
    metric: &'static str,
    rows: Vec<PairView>,
}

#[derive(Debug, Serialize)]
struct PairView {
    second: String,
    first: String,
    class: &'static str,
    difference: String,
    interval: String,
    better: String,
    worse: String,
    p: String,
}

const UNKNOWN: &str = "–";

fn who(rag: &Rag, at: usize, best: Option<usize>) -> Who {
    Who { name: rag.arms[at].name.clone(), note: note(&rag.arms[at]), is_best: best == Some(at) }
}

fn note(arm: &RagArm) -> &'static str {
    match (&arm.retriever, is_ceiling(arm)) {
        (_, true) => "ceiling: reads the gold query",
        (None, _) => "no examples",
        _ => "",
    }
}

fn share(share: &RagShare) -> ShareView {
    if share.of == 0 {
        return ShareView { value: UNKNOWN.to_owned(), interval: String::new(), counts: String::new() };
    }
    ShareView {
        value: fraction(share.value),
        interval: interval(share.interval),
        counts: format!("{} of {}", count(share.right), count(share.of)),
    }
}

/// Every arm; `best` is marked.
pub fn arms(rag: &Rag, best: Option<usize>) -> Vec<ArmView> {
    let view = |(at, arm): (usize, &RagArm)| ArmView {
        who: who(rag, at, best),
        ex: share(&arm.ex),
        em: share(&arm.em),
        valid: share(&arm.valid),
        parsed: share(&arm.parsed),
        tables: fraction(arm.table_recall),
        columns: fraction(arm.column_recall),
        without: count(arm.without_prediction),
    };
    rag.arms.iter().enumerate().map(view).collect()
}

/// The levels that have questions, in the record's order.
pub fn levels(rag: &Rag) -> Vec<LevelView> {
    let first = rag.arms.first().map_or(&[][..], |arm| &arm.levels);
    let asked = first.iter().filter(|level| level.em.of > 0);
    asked.map(|level| LevelView { name: level.hardness.clone(), questions: count(level.em.of) }).collect()
}

/// Every arm by these levels.
pub fn by_level(rag: &Rag, best: Option<usize>) -> Vec<LevelRow> {
    let levels = levels(rag);
    let cell = |arm: &RagArm, name: &str| {
        let level = arm.levels.iter().find(|level| level.hardness == name);
        let [ex, em] = level.map_or_else(Default::default, |level| [level.ex, level.em]);
        [share(&ex), share(&em)]
    };
    let row = |(at, arm): (usize, &RagArm)| LevelRow {
        who: who(rag, at, best),
        cells: levels.iter().map(|level| cell(arm, &level.name)).collect(),
    };
    rag.arms.iter().enumerate().map(row).collect()
}

/// The arms that retrieve.
pub fn retrieval(rag: &Rag) -> Vec<RetrievalView> {
    let view = |arm: &RagArm| {
        let by = arm.retriever.as_ref()?;
        let forms = arm.forms.map(|forms| [forms.f1_at_1, forms.f1_at_3, forms.exact_at_1, forms.exact_at_3]);
        Some(RetrievalView {
            name: arm.name.clone(),
            note: if is_ceiling(arm) { "ceiling" } else { "" },
            by: shortened(by),
            forms: forms.map_or_else(|| [UNKNOWN; 4].map(str::to_owned), |forms| forms.map(fraction)),
            leaks: count(arm.leaks_removed),
            short: count(arm.short),
        })
    };
    rag.arms.iter().filter_map(view).collect()
}

/// The arms for which a language model was asked.
pub fn costs(rag: &Rag) -> Vec<CostView> {
    let known = |number: Option<u64>| number.map_or_else(|| UNKNOWN.to_owned(), count);
    let seconds = |ms: Option<f64>| match ms {
        Some(ms) if ms.is_finite() => format!("{:.2} s", ms / 1000.0),
        _ => UNKNOWN.to_owned(),
    };
    let questions = rag.questions.len() as f64;
    let view = |arm: &RagArm| {
        let cost = arm.cost.as_ref()?;
        let tokens =
            cost.prompt_tokens.zip(cost.completion_tokens).map(|(prompt, answer)| prompt.saturating_add(answer));
        let each = tokens.filter(|_| questions > 0.0).map(|tokens| (tokens as f64 / questions).round() as u64);
        Some(CostView {
            name: arm.name.clone(),
            asked: count(cost.asked),
            rejected: count(cost.rejected),
            prompt: known(cost.prompt_tokens),
            completion: known(cost.completion_tokens),
            each: known(each),
            median: seconds(cost.latency_median_ms),
            p95: seconds(cost.latency_p95_ms),
            repaired: format!("{} of {}", count(cost.repaired), count(cost.repairs)),
        })
    };
    rag.arms.iter().filter_map(view).collect()
}

/// Each arm against each before it: execution, then exact match; against the first arm first.
pub fn pairs(rag: &Rag) -> Vec<PairGroup> {
    let first = rag.arms.first().map_or("", |arm| &arm.name);
    let view = |pair: &RagPair| PairView {
        second: pair.second.clone(),
        first: pair.first.clone(),
        class: words::difference(pair.interval).0,
        difference: difference(pair.difference),
        interval: interval(pair.interval),
        better: count(pair.only_second),
        worse: count(pair.only_first),
        p: p_value(pair.p_value),
    };
    let mut groups = Vec::new();
    for (key, metric) in [("ex", "EX, execution"), ("em", "EM, exact match")] {
        let mut all: Vec<&RagPair> = rag.pairs.iter().filter(|pair| pair.metric == key).collect();
        all.sort_by_key(|pair| pair.first != first);
        if !all.is_empty() {
            groups.push(PairGroup { metric, rows: all.into_iter().map(view).collect() });
        }
    }
    groups
}
