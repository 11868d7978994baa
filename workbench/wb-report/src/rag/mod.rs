//! Text-to-SQL with and without retrieved examples to one page: what retrieval is worth, the arms in tables and a
//! chart, and the questions with every arm's query and what was retrieved for it.

mod headline;
mod questions;
mod sql;
mod tables;

use std::path::Path;

use minijinja::Value;
use serde::Serialize;
use wb_core::records::rag::{Rag, RagArm};

use self::{
    headline::Headline,
    questions::{GroupView, groups},
    tables::{ArmView, CostView, LevelRow, LevelView, PairGroup, RetrievalView},
};
use crate::{
    Result, charts, data_uri,
    numbers::{count, fraction, interval},
    report::ChartedPage,
    template::{self, safe},
};

/// The arm whose examples are chosen with the gold query: what retrieval could give at best, and no retriever.
const ORACLE: &str = "oracle";

#[derive(Serialize)]
struct Page {
    title: String,
    headline: Headline,
    facts: Vec<String>,
    protocols: [String; 2],
    top_k: u64,
    without_verdict: Option<String>,
    chart: Value,
    chart_alt: String,
    chart_size: (u32, u32),
    arms: Vec<ArmView>,
    levels: Vec<LevelView>,
    by_level: Vec<LevelRow>,
    retrieval: Vec<RetrievalView>,
    costs: Vec<CostView>,
    pairs: Vec<PairGroup>,
    questions: String,
    groups: Vec<GroupView>,
    hardness: Vec<String>,
    by_exact_match: bool,
    has_ceiling: bool,
}

/// Writes the page of an experiment to `file`, and its chart beside it as a PNG.
///
/// The page is one file without scripts: pictures and style are in it, and filters are style alone. It shows up to
/// some dozens of questions of each group and says how many it leaves out; `rag.json` has all.
pub fn rag(rag: &Rag, file: &Path) -> Result<ChartedPage> {
    let chart = charts::rag_arms(rag)?;
    let best = best(rag);
    let page = Page {
        title: rag.name.clone(),
        headline: headline::headline(rag, best),
        facts: rag.facts.iter().map(|fact| shortened(fact)).collect(),
        protocols: rag.protocols.clone(),
        top_k: rag.top_k as u64,
        without_verdict: without_verdict(rag),
        chart: safe(data_uri::png(&chart.png)),
        chart_alt: alt(rag),
        chart_size: chart.size,
        arms: tables::arms(rag, best),
        levels: tables::levels(rag),
        by_level: tables::by_level(rag, best),
        retrieval: tables::retrieval(rag),
        costs: tables::costs(rag),
        pairs: tables::pairs(rag),
        questions: count(rag.questions.len() as u64),
        groups: groups(rag, best),
        hardness: questions::hardness(rag),
        by_exact_match: rag.questions.iter().any(|question| question.arms.iter().any(|answer| answer.ex.is_none())),
        has_ceiling: rag.arms.iter().any(is_ceiling),
    };
    ChartedPage::write(file, &template::render(template::RAG, &page)?, &chart.png)
}

/// True for the arm that has read the gold query.
pub fn is_ceiling(arm: &RagArm) -> bool {
    arm.name == ORACLE
}

/// The retrieving arm that has most right: by execution where it was measured, then by exact match. The ceiling is none.
fn best(rag: &Rag) -> Option<usize> {
    let executed = rag.arms.iter().any(|arm| arm.ex.of > 0);
    let value = |arm: &RagArm| if executed { (arm.ex.value, arm.em.value) } else { (arm.em.value, 0.0) };
    let mut best: Option<usize> = None;
    for (at, arm) in rag.arms.iter().enumerate().skip(1).filter(|(_, arm)| !is_ceiling(arm)) {
        let (first, second) = value(arm);
        let is_better = best.is_none_or(|known| {
            let known = value(&rag.arms[known]);
            first.total_cmp(&known.0).then(second.total_cmp(&known.1)).is_gt()
        });
        if is_better {
            best = Some(at);
        }
    }
    best
}

/// Tells the number of questions that execution knows nothing of, if any.
fn without_verdict(rag: &Rag) -> Option<String> {
    let all = rag.questions.len() as u64;
    let least = rag.arms.iter().map(|arm| arm.ex.of).min()?;
    (least < all).then(|| match least {
        0 => "No question has a verdict of execution".to_owned(),
        _ => format!("{} of {} questions have no verdict of execution", count(all - least), count(all)),
    })
}

/// A text with long hashes cut to their first digits; the record has them whole.
fn shortened(text: &str) -> String {
    const LONG: usize = 32;
    const SHOWN: usize = 12;
    let word = |word: &str| {
        let is_hash = word.len() >= LONG && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hash { format!("{}…", &word[..SHOWN]) } else { word.to_owned() }
    };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

fn alt(rag: &Rag) -> String {
    let rows = rag.arms.iter().map(|arm| {
        let [ex, em] = [arm.ex, arm.em].map(|share| match share.of {
            0 => "not measured".to_owned(),
            _ => format!("{} {}", fraction(share.value), interval(share.interval)),
        });
        format!("{}: EX {ex}, EM {em}", arm.name)
    });
    format!("Execution and exact match by arm, with 95 % intervals. {}.", rows.collect::<Vec<_>>().join("; "))
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn only_long_hashes_are_cut() {
        let hash = "5ed06874274212d72a5d35adf08bdf080bf0e2a7e6c5ac72a8c9a7c12547946a";
        assert_eq!(shortened(&format!("bm25  {hash}, a")), format!("bm25  {hash}, a"), "the comma is a letter of it");
        assert_eq!(shortened(&format!("bm25 {hash}")), "bm25 5ed068742742…");
        assert_eq!(shortened("deadbeef and words"), "deadbeef and words");
    }
}
