//! The order of queries changes no mean.

use wb_core::{Corpus, Document, Qrels, Query, Seed, progress::silent};
use wb_retrieval::{Bm25Config, EvaluateConfig, Retriever, evaluate};

#[test]
fn means_do_not_depend_on_the_order_of_queries() {
    let texts: Vec<String> = (0..60).map(|i| format!("function {} of {} and {}", i % 7, i % 11, i % 5)).collect();
    let document =
        |(i, text): (usize, &String)| Document { id: format!("d{i}"), text: text.clone(), ..Document::default() };
    let corpus = Corpus::new(texts.iter().enumerate().map(document).collect()).unwrap();
    let bm25 = Bm25Config::default().init(&texts, &mut silent).unwrap();
    let mut qrels = Qrels::default();
    for i in 0..60 {
        qrels.set(format!("q{i}"), format!("d{}", i * 7 % 60), 1.0);
        qrels.set(format!("q{i}"), format!("d{}", i * 13 % 60), 2.0);
    }
    qrels.set("q5", "d5", 0.0);
    let means = |order: &[usize]| {
        let queries: Vec<Query> = order
            .iter()
            .map(|i| Query { id: format!("q{i}"), text: format!("function {} {}", i % 7, i % 11) })
            .collect();
        let query_texts: Vec<&str> = queries.iter().map(|query| query.text.as_str()).collect();
        let rankings = bm25.rank(&query_texts, 20, &mut silent).unwrap();
        evaluate(&rankings, &queries, &corpus, &qrels, &EvaluateConfig::default()).unwrap().scores.mean
    };
    let in_order: Vec<usize> = (0..60).collect();
    let shuffled = Seed(4).permutation_at("queries", 0, 60);
    assert_ne!(in_order, shuffled);
    for ((metric, a), b) in means(&in_order).iter().zip(means(&shuffled).values()) {
        assert!((a - b).abs() < 1e-12, "{metric}: {a} {b}");
    }
}

#[test]
fn queries_without_judgements_are_counted() {
    let corpus = Corpus::new(vec![Document { id: "d".into(), ..Document::default() }]).unwrap();
    let query = |id: &str| Query { id: id.into(), ..Query::default() };
    let queries = [query("judged"), query("nothing relevant"), query("not judged")];
    let mut qrels = Qrels::default();
    qrels.set("judged", "d", 1.0);
    qrels.set("nothing relevant", "d", 0.0);
    let ranking = |query| wb_core::Ranking { query, hits: vec![wb_core::Hit { document: 0, score: 1.0 }] };
    let rankings = [ranking(0), ranking(1), ranking(2)];
    let evaluation = evaluate(&rankings, &queries, &corpus, &qrels, &EvaluateConfig::default()).unwrap();
    assert_eq!((evaluation.not_judged, evaluation.without_relevant, evaluation.queries.len()), (1, 1, 2));
    assert_eq!(evaluation.scores.get("mrr"), Some(0.5));
    let error = evaluate(&[ranking(3)], &queries, &corpus, &qrels, &EvaluateConfig::default()).unwrap_err();
    assert_eq!(error.to_string(), "a ranking names position 3 of 3 queries");
}
