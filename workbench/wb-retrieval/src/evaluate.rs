//! Rankings against judgements: every metric for every query.

use serde::{Deserialize, Serialize};
use wb_core::{Corpus, Qrels, Query, Ranking, Scores};

use crate::{
    Error, Judged, Metric, Result, TieRule,
    metric::{Divisor, Gain},
};

/// What is measured, and by whose rules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EvaluateConfig {
    /// The metrics, by name: `mrr@10`, `ndcg@10`, `recall@5`.
    pub metrics: Vec<Metric>,
    /// The order of equal scores.
    pub ties: TieRule,
    /// Leave out a document whose id is the query's, as CoIR and BEIR do.
    pub ignore_identical_ids: bool,
}

impl Default for EvaluateConfig {
    fn default() -> Self {
        use Metric::{HitRate, Map, Mrr, Ndcg, Recall};
        Self {
            metrics: vec![
                Mrr(None),
                Mrr(Some(10)),
                Ndcg(Some(10), Gain::Linear),
                Recall(Some(1)),
                Recall(Some(5)),
                Recall(Some(10)),
                HitRate(1),
                Map(Some(100), Divisor::Relevant),
            ],
            ties: TieRule::TrecEval,
            ignore_identical_ids: false,
        }
    }
}

impl EvaluateConfig {
    /// Refuses an empty list of metrics.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        if self.metrics.is_empty() {
            return Err(wb_core::Error::value(format!("{key}.metrics"), "got none, expected at least one metric"));
        }
        Ok(())
    }
}

/// What came out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Evaluation {
    /// Every metric: its mean, and its value for each measured query.
    pub scores: Scores,
    /// Ids of the measured queries, in the order of the values.
    pub queries: Vec<String>,
    /// Queries that nobody judged: they are not measured.
    pub not_judged: usize,
    /// Measured queries for which no document is relevant: they count 0, as in trec_eval.
    pub without_relevant: usize,
}

/// Measures rankings over a corpus. `rankings[i].query` is a position in `queries`.
pub fn evaluate(
    rankings: &[Ranking],
    queries: &[Query],
    corpus: &Corpus,
    qrels: &Qrels,
    config: &EvaluateConfig,
) -> Result<Evaluation> {
    let documents = corpus.documents();
    for ranking in rankings {
        within("queries", ranking.query, queries.len())?;
        ranking.hits.iter().try_for_each(|hit| within("documents", hit.document, documents.len()))?;
    }
    let ranked = rankings.iter().map(|ranking| {
        let mut hits = ranking.hits.clone();
        config.ties.sort(&mut hits, |position| documents[position].id.as_str());
        (queries[ranking.query].id.as_str(), hits.into_iter().map(|hit| documents[hit.document].id.as_str()))
    });
    Ok(evaluate_ordered(ranked, qrels, config))
}

/// Refuses a ranking of other queries or of another corpus.
fn within(of: &'static str, position: usize, n: usize) -> Result<()> {
    if position < n { Ok(()) } else { Err(Error::Position { of, position, n }) }
}

/// Measures rankings whose order is settled: query ids, each with its document ids, best first.
pub fn evaluate_ordered<'a, H>(
    rankings: impl IntoIterator<Item = (&'a str, H)>,
    qrels: &Qrels,
    config: &EvaluateConfig,
) -> Evaluation
where
    H: IntoIterator<Item = &'a str>,
{
    let mut evaluation = Evaluation::default();
    let mut values = vec![Vec::new(); config.metrics.len()];
    for (query, hits) in rankings {
        let Some(grades) = qrels.of(query) else {
            evaluation.not_judged += 1;
            continue;
        };
        let counts = |id: &&str| !(config.ignore_identical_ids && *id == query);
        let found = hits.into_iter().filter(counts).map(|id| grades.get(id).copied().unwrap_or(0.0));
        let judged = Judged::in_order(found, grades.values().copied());
        evaluation.without_relevant += usize::from(judged.n_relevant() == 0);
        evaluation.queries.push(query.to_owned());
        for (metric, values) in config.metrics.iter().zip(&mut values) {
            values.push(metric.of(&judged).best);
        }
    }
    for (metric, values) in config.metrics.iter().zip(values) {
        evaluation.scores.set(metric.to_string(), values);
    }
    evaluation
}
