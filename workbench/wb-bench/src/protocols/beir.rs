//! BEIR data under the rules of three evaluators: `coir-NAME`, `mteb-NAME`, `st-NAME`.
//!
//! A name that carries its evaluator already keeps it: the data `coir-csn` gives `coir-csn`, `mteb-coir-csn` and
//! `st-coir-csn`, because MTEB has another data set for its own `mteb-csn`.
//!
//! | | CoIR | MTEB | sentence-transformers |
//! |---|---|---|---|
//! | text of a document | the text alone | title, a space, the text | the text alone |
//! | document whose id is the query's | left out | kept | kept |
//! | equal scores | greater id first | greater id first | lesser id first |
//! | queries without a relevant document | count 0 | count 0 | not measured |
//! | grades | linear gain | linear gain | above 0 is relevant, gain 1 |
//! | metrics | nDCG, MAP, recall, precision, MRR @1, 3, 5, 10, 100, 1000 | the same | accuracy, precision, recall @1, 3, 5, 10; MRR@10, nDCG@10, MAP@100 divided by min(100, relevant) |
//!
//! CoIR and MTEB print values rounded to 5 decimals. The main number is nDCG@10.
//! Relevant documents that the corpus lacks count as not found.

use wb_retrieval::{
    Metric, TieRule,
    beir::BeirData,
    metric::{Divisor, Gain},
    retriever::{Titles, document_texts},
};

use super::ranked::{PoolQuery, QueryPool, RankedProtocol, TieTreatment};
use crate::texts::BenchmarkTexts;

/// Cuts of CoIR and MTEB.
pub const CUTS: [usize; 6] = [1, 3, 5, 10, 100, 1000];
/// Cuts of sentence-transformers' evaluator.
pub const ST_CUTS: [usize; 4] = [1, 3, 5, 10];

/// Evaluator whose rules a collection is measured under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BeirRules {
    /// CoIR, as BEIR.
    Coir,
    /// MTEB.
    Mteb,
    /// sentence-transformers' information retrieval evaluator.
    SentenceTransformers,
}

impl BeirRules {
    /// The three evaluators.
    pub const ALL: [Self; 3] = [Self::Coir, Self::Mteb, Self::SentenceTransformers];

    /// The protocol's id on data of this name.
    pub fn id(self, name: &str) -> String {
        let prefix = format!("{}-", self.prefix());
        if name.starts_with(&prefix) { name.to_owned() } else { prefix + name }
    }

    /// Beginning of the protocol's ids.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Coir => "coir",
            Self::Mteb => "mteb",
            Self::SentenceTransformers => "st",
        }
    }

    /// The protocol on data of this name, in words.
    fn description(self, name: &str) -> &'static str {
        match (self, name) {
            (Self::Coir, "csn" | "coir-csn") => {
                "code to docstring as CoIR does it: results with the query’s own id are removed"
            }
            (Self::Coir, "ccr" | "coir-ccr") => "the beginning of a function to its rest, as CoIR does it",
            (Self::Coir, _) => "as CoIR does it: results with the query’s own id are removed",
            (Self::Mteb, "csn" | "mteb-csn") => {
                "text to code as MTEB does it: 1,000 queries a language, ties by descending id"
            }
            (Self::Mteb, _) => "as MTEB does it: title and text joined, ties by descending id",
            (Self::SentenceTransformers, _) => {
                "as the evaluator of sentence-transformers does it: any grade above 0 is relevant, ties by ascending id"
            }
        }
    }

    fn metrics(self) -> Vec<Metric> {
        let mut metrics = vec![Metric::Ndcg(Some(10), Gain::Linear)];
        if self == Self::SentenceTransformers {
            metrics.extend([Metric::Mrr(Some(10)), Metric::Map(Some(100), Divisor::Reachable)]);
            metrics.extend(ST_CUTS.map(Metric::HitRate));
            metrics.extend(ST_CUTS.map(Metric::Precision));
            metrics.extend(ST_CUTS.map(|k| Metric::Recall(Some(k))));
            return metrics;
        }
        metrics.extend(CUTS.into_iter().filter(|k| *k != 10).map(|k| Metric::Ndcg(Some(k), Gain::Linear)));
        metrics.extend(CUTS.map(|k| Metric::Map(Some(k), Divisor::Relevant)));
        metrics.extend(CUTS.map(|k| Metric::Recall(Some(k))));
        metrics.extend(CUTS.map(Metric::Precision));
        metrics.extend(CUTS.map(|k| Metric::Mrr(Some(k))));
        metrics
    }

    fn name(self, metric: &Metric) -> String {
        match metric {
            Metric::HitRate(k) if self == Self::SentenceTransformers => format!("accuracy@{k}"),
            Metric::Map(Some(k), _) => format!("map@{k}"),
            _ => metric.to_string(),
        }
    }
}

/// A BEIR data set under one evaluator's rules. `name` is the data's: `csn`, `ccr`, `cosqa`.
pub fn beir(
    texts: &mut BenchmarkTexts,
    data: &BeirData,
    name: &str,
    language: &str,
    split: &str,
    rules: BeirRules,
) -> RankedProtocol {
    let st = rules == BeirRules::SentenceTransformers;
    let titles = if rules == BeirRules::Mteb { Titles::Join } else { Titles::Leave };
    let mut part = QueryPool::default();
    for (document, text) in data.corpus.documents().iter().zip(document_texts(&data.corpus, titles)) {
        part.ids.push(document.id.clone());
        part.texts.push(texts.documents.number(&text));
    }
    for query in &data.queries {
        let Some(judged) = data.qrels.of(&query.id) else { continue };
        let relevant = judged.iter().filter(|(_, grade)| **grade > 0.0);
        let relevant = relevant.map(|(id, grade)| (data.corpus.position(id), if st { 1.0 } else { *grade }));
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for (position, grade) in relevant {
            match position {
                Some(position) => found.push((position, grade)),
                None => missing.push(grade),
            }
        }
        if st && found.is_empty() && missing.is_empty() {
            continue;
        }
        let text = texts.queries.number(&query.text);
        part.queries.push(PoolQuery { id: query.id.clone(), text, relevant: found, missing });
    }
    let ties = TieTreatment::Ordered(if st { TieRule::SentenceTransformers } else { TieRule::TrecEval });
    let metrics = rules.metrics().into_iter().map(|metric| (rules.name(&metric), metric)).collect();
    let named = (&*rules.id(name), rules.description(name));
    let ranked = RankedProtocol::new(named, language, split, vec![part], ties, metrics);
    RankedProtocol { ignore_identical_ids: rules == BeirRules::Coir, ..ranked }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_say_data_and_rules() {
        let ids = |name: &str| BeirRules::ALL.map(|rules| rules.id(name)).join(" ");
        assert_eq!(ids("cosqa"), "coir-cosqa mteb-cosqa st-cosqa");
        assert_eq!(ids("coir-csn"), "coir-csn mteb-coir-csn st-coir-csn");
    }
}
