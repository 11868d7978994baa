//! The core of all protocols in which queries rank a whole pool: ranks, metrics, ties, duplicates, intervals.
//!
//! Every document of the pool is scored for every query, so ranks are exact at any depth.
//!
//! - **Ties.** The value follows the protocol's rule ([`TieTreatment`]); beside it stand the value with every tie broken
//!   in favour of the answer, against it, and the mean over all orders.
//! - **Not found.** A document that a lexical contestant does not match at all (no word in common) is not ranked: an
//!   answer among those counts 0 and has rank 0.
//! - **De-duplication.** Of documents with exactly the same text only the first in the pool is kept; it answers every
//!   query that one of its copies answers, with the highest grade among them.
//! - **Reranking.** Where a cross-encoder orders the first documents, ranks are those of its order: [`crate::reranking`].

use std::collections::HashMap;

use wb_core::{
    Progress, Side,
    progress::silent,
    records::outcome::{ProtocolScore, QueryRank},
};
use wb_retrieval::{JudgedRanking, Metric, TieRule, metric::Tied};

use super::{
    distinct::Distinct,
    protocol::{Context, Protocol, ProtocolNumbers},
};
use crate::{
    Result,
    contestant::{Chosen, Scorer},
    reranking::{head, merged},
};

/// Order of documents with equal scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TieTreatment {
    /// Rank = 1 + documents that are strictly better.
    Best,
    /// Rank = documents that are as good or better: ties count against the answer.
    Worst,
    /// A fixed order of positions or ids.
    Ordered(TieRule),
}

/// A protocol in which queries rank pools.
#[derive(Debug, Clone)]
pub struct RankedProtocol {
    /// `csn-full`, `cosqa-6267`, ...
    pub id: String,
    /// Description of the protocol, in words for people.
    pub description: &'static str,
    /// `ruby`, `all`, ...
    pub language: String,
    /// `test`, `valid`, ...
    pub split: String,
    /// Queries with the pool that they rank; one for most protocols, one for each chunk of 1-of-1,000.
    pub parts: Vec<QueryPool>,
    /// Equal scores.
    pub ties: TieTreatment,
    /// Leave out the document whose id is the query's.
    pub ignore_identical_ids: bool,
    /// Names and metrics, the main one first.
    pub metrics: Vec<(String, Metric)>,
}

/// Queries and the pool that they rank.
#[derive(Debug, Clone, Default)]
pub struct QueryPool {
    /// The queries.
    pub queries: Vec<PoolQuery>,
    /// Ids of the pool's documents, by position.
    pub ids: Vec<String>,
    /// Numbers of their texts among the documents, by position.
    pub texts: Vec<u32>,
}

/// A query of a part.
#[derive(Debug, Clone, Default)]
pub struct PoolQuery {
    /// Unique in the protocol.
    pub id: String,
    /// The number of its text among the queries.
    pub text: u32,
    /// Positions in the pool with their grades; only grades above 0 count.
    pub relevant: Vec<(usize, f64)>,
    /// Grades of relevant documents that the pool does not hold; they count as not found.
    pub missing: Vec<f64>,
}

/// Result of one query.
#[derive(Debug, Clone)]
pub struct Placed {
    /// Rank of the first relevant document under the protocol's rule; 0 where it was not found.
    pub rank: usize,
    /// The answer's score less that of the best other document.
    pub margin: f32,
    /// Value, ties and the value after de-duplication, for each metric.
    values: Vec<(f64, Tied, f64)>,
}

impl RankedProtocol {
    /// A protocol by its id and description, in which no document is left out.
    pub(super) fn new(
        (id, description): (&str, &'static str),
        language: &str,
        split: &str,
        parts: Vec<QueryPool>,
        ties: TieTreatment,
        metrics: Vec<(String, Metric)>,
    ) -> Self {
        Self {
            id: id.to_owned(),
            description,
            language: language.to_owned(),
            split: split.to_owned(),
            parts,
            ties,
            ignore_identical_ids: false,
            metrics,
        }
    }

    /// Measures every query, in order. What takes long is reranking, which reports.
    pub fn place(&self, scorer: &Scorer<'_>, progress: &mut dyn FnMut(Progress)) -> Result<Vec<Placed>> {
        let mut placed = Vec::new();
        for part in &self.parts {
            let distinct = Distinct::new(part, self.ignore_identical_ids);
            placed.extend(self.each_query(scorer, part, &distinct, progress, |query, scores| {
                let all = if distinct.has_duplicates() { distinct.spread(scores) } else { scores.to_vec() };
                let mut placed = self.one(query, all, &part.ids, &distinct.position, scorer.floor());
                if distinct.has_duplicates() {
                    let (query, scores) = (distinct.query(query), scores.to_vec());
                    let without = self.one(&query, scores, &distinct.ids, &distinct.distinct_position, scorer.floor());
                    for (value, without) in placed.values.iter_mut().zip(without.values) {
                        value.2 = without.0;
                    }
                }
                placed
            })?);
        }
        Ok(placed)
    }

    /// The first `k` documents of chosen queries (by their position over all parts), with ids and scores.
    pub fn top(
        &self,
        scorer: &Scorer<'_>,
        chosen: &dyn Fn(usize) -> bool,
        k: usize,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<Top>> {
        let rule = self.rule();
        let mut tops = Vec::new();
        let mut first = 0;
        for (index, part) in self.parts.iter().enumerate() {
            let positions: Vec<usize> = (0..part.queries.len()).filter(|position| chosen(first + position)).collect();
            first += part.queries.len();
            let queries = positions.iter().map(|position| part.queries[*position].clone()).collect();
            let few = QueryPool { queries, ..part.clone() };
            let distinct = Distinct::new(&few, self.ignore_identical_ids);
            let found = self.each_query(scorer, &few, &distinct, progress, |query, scores| {
                let mut all = distinct.spread(scores);
                leave_out(query, &mut all, &distinct.position);
                let mut hits = rule.top(&all, k, |position| few.ids[position].as_str());
                hits.retain(|hit| hit.score > scorer.floor().unwrap_or(f32::NEG_INFINITY));
                hits
            })?;
            tops.extend(positions.into_iter().zip(found).map(|(query, hits)| Top { part: index, query, hits }));
        }
        Ok(tops)
    }

    fn each_query<T: Send>(
        &self,
        scorer: &Scorer<'_>,
        part: &QueryPool,
        distinct: &Distinct,
        progress: &mut dyn FnMut(Progress),
        visit: impl Fn(&PoolQuery, &[f32]) -> T + Sync,
    ) -> Result<Vec<T>> {
        let numbers: Vec<u32> = part.queries.iter().map(|query| query.text).collect();
        let sources = Chosen { side: Side::Query, numbers: &numbers };
        let targets = Chosen { side: Side::Document, numbers: &distinct.texts };
        let Some(reranking) = scorer.reranking() else {
            return scorer.scores(sources, targets, |index, scores| visit(&part.queries[index], scores));
        };
        // Ranked twice rather than kept: all scores of all queries may not fit into memory.
        let heads = scorer.scores(sources, targets, |index, scores| {
            let mut scores = scores.to_vec();
            if let Some(own) = distinct.own_text(&part.queries[index]) {
                scores[own] = f32::NEG_INFINITY;
            }
            head(&scores, reranking.top, self.rule(), scorer.floor(), |position| distinct.ids[position].as_str())
        })?;
        let (queries, documents) = (&scorer.texts().queries, &scorer.texts().documents);
        let texts: Vec<(&str, Vec<&str>)> = heads
            .iter()
            .zip(&part.queries)
            .map(|(head, query)| {
                let of_head = head.iter().map(|position| documents.text(distinct.texts[*position]));
                (queries.text(query.text), of_head.collect())
            })
            .collect();
        let scored = reranking.scores(&texts, progress)?;
        scorer.scores(sources, targets, |index, scores| {
            visit(&part.queries[index], &merged(scores, &heads[index], &scored[index]))
        })
    }

    /// The order of equal scores where a ranking is cut.
    fn rule(&self) -> TieRule {
        match self.ties {
            TieTreatment::Ordered(rule) => rule,
            TieTreatment::Best | TieTreatment::Worst => TieRule::FirstPosition,
        }
    }

    fn one(
        &self,
        query: &PoolQuery,
        mut scores: Vec<f32>,
        ids: &[String],
        position: &HashMap<String, usize>,
        floor: Option<f32>,
    ) -> Placed {
        let left_out = leave_out(query, &mut scores, position);
        let (mut found, mut missing) = (Vec::new(), query.missing.clone());
        for (position, grade) in &query.relevant {
            let unmatched = floor.is_some_and(|floor| scores[*position] <= floor);
            if unmatched || Some(*position) == left_out {
                missing.push(*grade);
            } else {
                found.push((*position, *grade));
            }
        }
        let judged = JudgedRanking::by_score(&scores, &found).with_missing(missing.iter().copied());
        let mut ranks: Vec<(usize, f64)> = found
            .iter()
            .filter(|(_, grade)| *grade > 0.0)
            .map(|(position, grade)| (self.rank(&scores, *position, ids), *grade))
            .collect();
        ranks.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        let ordered = std::cell::OnceCell::new();
        let values = self
            .metrics
            .iter()
            .map(|(_, metric)| {
                let tied = metric.of(&judged);
                let value = match self.ties {
                    TieTreatment::Best => tied.best,
                    TieTreatment::Worst => tied.worst,
                    TieTreatment::Ordered(_) if tied.best == tied.worst => tied.best,
                    TieTreatment::Ordered(_) => metric.of(ordered.get_or_init(|| in_order(&ranks, &missing))).best,
                };
                (value, tied, value)
            })
            .collect();
        let rank = ranks.first().map_or(0, |(rank, _)| *rank);
        Placed { rank, margin: margin(query, scores), values }
    }

    fn rank(&self, scores: &[f32], position: usize, ids: &[String]) -> usize {
        let possible = wb_retrieval::ties::rank_of(scores, position);
        match self.ties {
            TieTreatment::Best => possible.best,
            TieTreatment::Worst => possible.worst,
            TieTreatment::Ordered(rule) => rule.rank_of(scores, position, |position| ids[position].as_str()),
        }
    }
}

/// Puts the document with the query's own id behind everything, where the protocol says so; its position.
fn leave_out(query: &PoolQuery, scores: &mut [f32], position: &HashMap<String, usize>) -> Option<usize> {
    let own = *position.get(&query.id)?;
    scores[own] = f32::NEG_INFINITY;
    Some(own)
}

/// The best relevant score less the best other one.
fn margin(query: &PoolQuery, mut scores: Vec<f32>) -> f32 {
    let mut answer = f32::NEG_INFINITY;
    for (position, _) in query.relevant.iter().filter(|(_, grade)| *grade > 0.0) {
        answer = answer.max(scores[*position]);
        scores[*position] = f32::NEG_INFINITY;
    }
    answer - scores.into_iter().fold(f32::NEG_INFINITY, f32::max)
}

/// A query's first documents.
pub struct Top {
    /// Number of the pool among the protocol's.
    pub part: usize,
    /// Number of the query in its pool.
    pub query: usize,
    /// Best first, by position in the part's pool.
    pub hits: Vec<wb_core::Hit>,
}

/// Judgements of a ranking in which relevant documents stand at these ranks.
fn in_order(ranks: &[(usize, f64)], missing: &[f64]) -> JudgedRanking {
    let mut grades = vec![0.0; ranks.last().map_or(0, |(rank, _)| *rank)];
    for (rank, grade) in ranks {
        grades[rank - 1] = *grade;
    }
    JudgedRanking::in_order(grades, ranks.iter().map(|(_, grade)| *grade)).with_missing(missing.iter().copied())
}

impl Protocol for RankedProtocol {
    fn id(&self) -> &str {
        &self.id
    }

    fn title(&self) -> String {
        format!("{} {} {}", self.id, self.language, self.split)
    }

    fn measure(&self, scorer: &Scorer<'_>, context: Context) -> Result<ProtocolNumbers> {
        let placed = self.place(scorer, &mut silent)?;
        Ok(ProtocolNumbers { scores: self.summarize(&placed, context), ..ProtocolNumbers::default() })
    }
}

impl RankedProtocol {
    /// Every query's id, in the order in which they are placed.
    pub fn query_ids(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flat_map(|part| part.queries.iter().map(|query| query.id.as_str()))
    }

    /// The numbers, one for each metric.
    pub fn summarize(&self, placed: &[Placed], context: Context) -> Vec<ProtocolScore> {
        let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / placed.len().max(1) as f64;
        let pool = self.parts.iter().map(|part| part.ids.len()).max().unwrap_or(0);
        let score = |(m, (name, metric)): (usize, &(String, Metric))| {
            let values: Vec<f64> = placed.iter().map(|placed| placed.values[m].0).collect();
            let tied = Tied::mean(placed.iter().map(|placed| placed.values[m].1));
            let beyond = |rank: usize| cut(metric).is_some_and(|k| rank > k) && name == "mrr";
            let queries = self.query_ids().zip(placed).zip(&values).map(|((id, placed), value)| QueryRank {
                id: id.to_owned(),
                rank: if beyond(placed.rank) { 0 } else { placed.rank as u64 },
                value: *value,
            });
            ProtocolScore {
                id: self.id.clone(),
                description: self.description.to_owned(),
                language: self.language.clone(),
                split: self.split.clone(),
                pool: pool as u64,
                n_queries: placed.len() as u64,
                metric: name.clone(),
                value: mean(&mut values.iter().copied()),
                interval: context.interval(&values),
                tie_best: tied.best,
                tie_expected: tied.expected,
                tie_worst: tied.worst,
                deduplicated: Some(mean(&mut placed.iter().map(|placed| placed.values[m].2))),
                queries: queries.collect(),
            }
        };
        self.metrics.iter().enumerate().map(score).collect()
    }
}

fn cut(metric: &Metric) -> Option<usize> {
    match metric {
        Metric::Mrr(cut) => *cut,
        _ => None,
    }
}

/// `mrr`, `recall@1`, `recall@5`, `recall@10`, `ndcg@10`.
pub fn usual_metrics() -> Vec<(String, Metric)> {
    use wb_retrieval::metric::Gain;
    let metrics = [
        Metric::Mrr(None),
        Metric::Recall(Some(1)),
        Metric::Recall(Some(5)),
        Metric::Recall(Some(10)),
        Metric::Ndcg(Some(10), Gain::Linear),
    ];
    metrics.into_iter().map(|metric| (metric.to_string(), metric)).collect()
}
