//! Metrics against trec_eval (through pytrec_eval) and sentence-transformers, on rankings with ties.
//! `scripts/golden-metrics.py` makes the file.

use std::collections::BTreeMap;

use serde::Deserialize;
use wb_core::{Hit, Qrels, Scores};
use wb_retrieval::{JudgedRanking, Metric, TieRule, evaluate_ordered};

#[derive(Deserialize)]
struct Case {
    name: String,
    queries: Vec<String>,
    documents: Vec<String>,
    scores: Vec<Vec<f32>>,
    qrels: BTreeMap<String, BTreeMap<String, f64>>,
    trec: BTreeMap<String, Vec<f64>>,
    trec_without_identical_ids: BTreeMap<String, Vec<f64>>,
    sentence_transformers: BTreeMap<String, f64>,
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("../golden/metrics.json")).unwrap()
}

impl Case {
    fn evaluate(&self, metrics: &[Metric], ties: TieRule, ignore_identical_ids: bool) -> Scores {
        self.evaluate_with(&self.qrels(), metrics, ties, ignore_identical_ids)
    }

    fn evaluate_with(&self, qrels: &Qrels, metrics: &[Metric], ties: TieRule, ignore_identical_ids: bool) -> Scores {
        let id = |document: usize| self.documents[document].as_str();
        let ranked = self.queries.iter().zip(&self.scores).map(|(query, scores)| {
            let hits = scores.iter().enumerate().map(|(document, &score)| Hit { document, score });
            let mut hits: Vec<Hit> = hits.collect();
            ties.sort(&mut hits, id);
            let counts = move |id: &&str| !(ignore_identical_ids && *id == query.as_str());
            (query.as_str(), hits.into_iter().map(move |hit| id(hit.document)).filter(counts))
        });
        evaluate_ordered(ranked, qrels, metrics)
    }

    fn qrels(&self) -> Qrels {
        let mut qrels = Qrels::default();
        for (query, grades) in &self.qrels {
            for (document, grade) in grades {
                qrels.set(query, document, *grade);
            }
        }
        qrels
    }
}

fn parse<'a>(names: impl Iterator<Item = &'a String>) -> Vec<Metric> {
    names.map(|name| name.parse().unwrap()).collect()
}

#[test]
fn trec_eval_query_by_query() {
    for case in cases() {
        for (golden, ignore) in [(&case.trec, false), (&case.trec_without_identical_ids, true)] {
            let scores = case.evaluate(&parse(golden.keys()), TieRule::TrecEval, ignore);
            for (metric, values) in golden {
                assert_eq!(scores.per_query[metric].len(), case.queries.len());
                for (query, (seen, expected)) in scores.per_query[metric].iter().zip(values).enumerate() {
                    assert!(
                        (seen - expected).abs() < 1e-9,
                        "{}, {metric}, query {query}: {seen} {expected}",
                        case.name
                    );
                }
            }
        }
    }
}

#[test]
fn sentence_transformers_in_the_mean() {
    for case in cases() {
        let golden = &case.sentence_transformers;
        // It knows no grades: a document is relevant or not.
        let mut binary = Qrels::default();
        for (query, grades) in &case.qrels {
            for (document, grade) in grades {
                binary.set(query, document, f64::from(u8::from(*grade > 0.0)));
            }
        }
        let scores = case.evaluate_with(&binary, &parse(golden.keys()), TieRule::SentenceTransformers, false);
        for (metric, expected) in golden {
            let seen = scores.get(metric).unwrap();
            assert!((seen - expected).abs() < 1e-9, "{}, {metric}: {seen} {expected}", case.name);
        }
    }
}

#[test]
fn the_golden_cases_tell_the_rules_apart() {
    let golden = cases();
    let case = &golden[0];
    let metric = "mrr".parse::<Metric>().unwrap();
    let mean = |ties| case.evaluate(&[metric], ties, false).get("mrr").unwrap();
    assert_ne!(mean(TieRule::TrecEval), mean(TieRule::SentenceTransformers));
    let dropped = golden.iter().any(|case| case.trec["mrr"] != case.trec_without_identical_ids["mrr"]);
    assert!(dropped);
}

#[test]
fn every_rule_lies_in_the_tie_interval() {
    for case in cases() {
        let qrels = case.qrels();
        for name in ["mrr", "ndcg@10", "recall@5", "map@10", "precision@3", "hit_rate@1"] {
            let metric: Metric = name.parse().unwrap();
            for ties in
                [TieRule::TrecEval, TieRule::SentenceTransformers, TieRule::FirstPosition, TieRule::LastPosition]
            {
                let of_case = case.evaluate(&[metric], ties, false);
                for ((query, scores), value) in case.queries.iter().zip(&case.scores).zip(&of_case.per_query[name]) {
                    let grades = qrels.of(query).unwrap();
                    let place = |id: &String| case.documents.iter().position(|document| document == id);
                    let found: Vec<(usize, f64)> =
                        grades.iter().filter_map(|(id, grade)| Some((place(id)?, *grade))).collect();
                    let missing = grades.iter().filter(|(id, _)| place(id).is_none()).map(|(_, grade)| *grade);
                    let tied = metric.of(&JudgedRanking::by_score(scores, &found).with_missing(missing));
                    assert!(
                        tied.worst - 1e-12 <= *value && *value <= tied.best + 1e-12,
                        "{}, {name}: {value} {tied:?}",
                        case.name
                    );
                }
            }
        }
    }
}
