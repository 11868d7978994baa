//! The order of queries changes no mean.

use wb_core::{Qrels, Seed, progress::silent};
use wb_retrieval::{
    Bm25Config, Metric, Retriever, evaluate_ordered,
    metric::{Divisor, Gain},
};

#[test]
fn means_do_not_depend_on_the_order_of_queries() {
    let texts: Vec<String> = (0..60).map(|i| format!("function {} of {} and {}", i % 7, i % 11, i % 5)).collect();
    let bm25 = Bm25Config::default().init(&texts, &mut silent).unwrap();
    let documents: Vec<String> = (0..60).map(|i| format!("d{i}")).collect();
    let mut qrels = Qrels::default();
    for i in 0..60 {
        qrels.set(format!("q{i}"), format!("d{}", i * 7 % 60), 1.0);
        qrels.set(format!("q{i}"), format!("d{}", i * 13 % 60), 2.0);
    }
    qrels.set("q5", "d5", 0.0);
    let means = |order: &[usize]| {
        let queries: Vec<String> = order.iter().map(|i| format!("function {} {}", i % 7, i % 11)).collect();
        let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
        let rankings = bm25.rank(&queries, 20, &mut silent).unwrap();
        let ids: Vec<String> = order.iter().map(|i| format!("q{i}")).collect();
        let ranked = rankings.iter().map(|ranking| {
            let found = ranking.hits.iter().map(|hit| documents[hit.document].as_str());
            (ids[ranking.query].as_str(), found)
        });
        let metrics = [
            Metric::Mrr(None),
            Metric::Mrr(Some(10)),
            Metric::Ndcg(Some(10), Gain::Linear),
            Metric::Recall(Some(1)),
            Metric::Recall(Some(5)),
            Metric::Recall(Some(10)),
            Metric::HitRate(10),
            Metric::Map(Some(100), Divisor::Relevant),
        ];
        evaluate_ordered(ranked, &qrels, &metrics).mean
    };
    let in_order: Vec<usize> = (0..60).collect();
    let shuffled = Seed(4).permutation_at("queries", 0, 60);
    assert_ne!(in_order, shuffled);
    for ((metric, a), b) in means(&in_order).iter().zip(means(&shuffled).values()) {
        assert!((a - b).abs() < 1e-12, "{metric}: {a} {b}");
    }
}

#[test]
fn queries_without_judgements_are_not_measured() {
    let mut qrels = Qrels::default();
    qrels.set("judged", "d", 1.0);
    qrels.set("nothing relevant", "d", 0.0);
    let ranked = ["judged", "nothing relevant", "not judged"].map(|query| (query, ["d"]));
    let scores = evaluate_ordered(ranked, &qrels, &[Metric::Mrr(None)]);
    assert_eq!((&scores.per_query["mrr"], scores.get("mrr")), (&vec![1.0, 0.0], Some(0.5)));
}
