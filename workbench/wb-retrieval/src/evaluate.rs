//! Rankings against judgements: every metric for every query.

use wb_core::{Qrels, Scores};

use crate::{
    Judged, Metric,
    metric::{Divisor, Gain},
};

/// The metrics to compute.
#[derive(Debug, Clone, PartialEq)]
pub struct EvaluateConfig {
    /// The metrics, by name: `mrr@10`, `ndcg@10`, `recall@5`.
    pub metrics: Vec<Metric>,
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
            ignore_identical_ids: false,
        }
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
