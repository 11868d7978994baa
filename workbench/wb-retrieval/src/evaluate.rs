//! Rankings against judgements: every metric for every query.

use wb_core::{Qrels, Scores};

use crate::{JudgedRanking, Metric};

/// Measures rankings whose order is settled: query ids, each with its document ids, best first. A query that nobody
/// judged is not measured; one for which no document is relevant counts 0, as in trec_eval.
pub fn evaluate_ordered<'a, H>(
    rankings: impl IntoIterator<Item = (&'a str, H)>,
    qrels: &Qrels,
    metrics: &[Metric],
) -> Scores
where
    H: IntoIterator<Item = &'a str>,
{
    let mut values = vec![Vec::new(); metrics.len()];
    for (query, hits) in rankings {
        let Some(grades) = qrels.of(query) else { continue };
        let found = hits.into_iter().map(|id| grades.get(id).copied().unwrap_or(0.0));
        let judged = JudgedRanking::in_order(found, grades.values().copied());
        for (metric, values) in metrics.iter().zip(&mut values) {
            values.push(metric.of(&judged).best);
        }
    }
    let mut scores = Scores::default();
    for (metric, values) in metrics.iter().zip(values) {
        scores.set(metric.to_string(), values);
    }
    scores
}
