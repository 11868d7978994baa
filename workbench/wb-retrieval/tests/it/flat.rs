//! The flat index against its definition, on random vectors and on those made to go wrong.

use ndarray::{Array2, array};
use proptest::prelude::*;
use rand::RngExt;
use wb_core::{Embeddings, Hit, Ranking, Seed};
use wb_retrieval::{Flat, Result};

fn index(documents: Array2<f32>) -> Result<Flat> {
    Flat::new(Embeddings::dense(documents))
}

/// Small whole numbers: sums are exact in any order, and many are equal.
fn whole_numbers(seed: u64, rows: usize, dim: usize, greatest: i32) -> Array2<f32> {
    let mut rng = Seed(seed).stream("vectors");
    Array2::from_shape_fn((rows, dim), |_| rng.random_range(-greatest..=greatest) as f32)
}

fn naive(documents: &Array2<f32>, queries: &Array2<f32>, k: usize) -> Vec<Ranking> {
    let score = |query: usize, document: usize| {
        let pairs = queries.row(query).into_iter().zip(documents.row(document));
        pairs.fold(0f32, |sum, (a, b)| a.mul_add(*b, sum)) + 0.0
    };
    let ranking = |query: usize| {
        let hits = (0..documents.nrows()).map(|document| Hit { document, score: score(query, document) }).collect();
        let mut ranking = Ranking::from_hits(query, hits);
        ranking.hits.truncate(k);
        ranking
    };
    (0..queries.nrows()).map(ranking).collect()
}

fn check(documents: Array2<f32>, queries: Array2<f32>, k: usize) {
    let expected = naive(&documents, &queries, k);
    let index = index(documents).unwrap();
    let queries = Embeddings::dense(queries);
    let found = index.search(&queries, k).unwrap();
    assert_eq!(found, expected);
    let scores = index.scores(&queries).unwrap();
    for ranking in &found {
        for hit in &ranking.hits {
            assert_eq!(scores[[ranking.query, hit.document]], hit.score);
        }
    }
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        assert_eq!(pool.install(|| index.search(&queries, k).unwrap()), expected, "{threads} threads");
        assert_eq!(pool.install(|| index.scores(&queries).unwrap()), scores, "{threads} threads");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn ties_everywhere(n in 0usize..600, m in 0usize..70, dim in 0usize..20, k in 0usize..300, greatest in 0i32..3, seed: u64) {
        check(whole_numbers(seed, n, dim, greatest), whole_numbers(seed ^ 1, m, dim, greatest), k);
    }

    #[test]
    fn random_vectors(n in 1usize..500, m in 1usize..40, dim in 1usize..130, k in 1usize..80, seed: u64) {
        let mut rng = Seed(seed).stream("vectors");
        let mut random = |rows| Array2::from_shape_fn((rows, dim), |_| rng.random_range(-1.0f32..1.0));
        check(random(n), random(m), k);
    }
}

#[test]
fn ascending_scores_change_the_best_at_every_document() {
    let documents = Array2::from_shape_fn((5000, 3), |(row, _)| row as f32);
    let queries = array![[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 0.0]];
    check(documents, queries, 100);
}

#[test]
fn equal_documents_are_ordered_by_position_wherever_they_stand() {
    let documents = Array2::from_elem((20_011, 7), 0.1);
    let index = index(documents).unwrap();
    for ranking in index.search(&Embeddings::dense(Array2::from_elem((33, 7), 0.3)), 50).unwrap() {
        assert_eq!(ranking.hits.iter().map(|hit| hit.document).collect::<Vec<_>>(), (0..50).collect::<Vec<_>>());
    }
}

#[test]
fn many_queries_go_in_batches() {
    check(whole_numbers(1, 90, 4, 2), whole_numbers(2, 5000, 4, 2), 3);
}

#[test]
fn signed_zeros_and_numbers_near_zero_are_in_order() {
    let documents = array![[-1e-30f32], [0.0], [1e-30], [-0.0], [1e-44], [-1e-44]];
    check(documents.clone(), array![[1e-30f32], [-1e-30], [0.0], [-0.0], [1.0], [1e-10]], 6);
}

#[test]
fn long_vectors_are_fine_up_to_the_limit() {
    check(array![[9e17f32, 0.0], [-9e17, 1.0]], array![[9e17f32, 1.0]], 2);
}

#[test]
fn vectors_without_a_score_are_refused_with_their_row() {
    for (value, what) in [
        (f32::NAN, "a value that is not a number"),
        (f32::INFINITY, "an infinite value"),
        (f32::NEG_INFINITY, "an infinite value"),
        (2e18, "too great a length"),
    ] {
        let mut vectors = Array2::from_elem((9, 5), 0.5);
        vectors[[6, 2]] = value;
        let expected = format!("vector 6 has {what}, expected finite numbers and a length under 1e18");
        let error = index(vectors.clone()).err().unwrap();
        assert_eq!(error.to_string(), format!("document {expected}"));
        assert!(error.hint().is_some());
        let fine = index(Array2::zeros((3, 5))).unwrap();
        let error = fine.search(&Embeddings::dense(vectors.clone()), 1).unwrap_err();
        assert_eq!(error.to_string(), format!("query {expected}"));
        assert!(fine.scores(&Embeddings::dense(vectors)).is_err());
    }
    let error = index(Array2::zeros((3, 5))).unwrap().search(&Embeddings::dense(Array2::zeros((1, 4))), 1).unwrap_err();
    assert_eq!(error.to_string(), "dimensions of queries and documents: 4 and 5 given, expected the same");
}
