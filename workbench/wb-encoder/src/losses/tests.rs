//! Losses against hand-made numbers, sentence-transformers, finite differences, and each other.

use burn::tensor::{Device, Tensor};
use ndarray::{Array2, ArrayView2, s};
use rand::RngExt;
use serde::Deserialize;
use wb_core::Seed;

use super::*;
use crate::similarities::SimilarityConfig;

#[derive(Deserialize)]
struct Golden {
    mnrl: Vec<GoldenCase>,
}

/// Made by `scripts/golden-losses.py`.
#[derive(Deserialize)]
struct GoldenCase {
    name: String,
    batch: usize,
    dim: usize,
    scale: f64,
    symmetric: bool,
    similarity: SimilarityConfig,
    anchors: Vec<f32>,
    documents: Vec<f32>,
    loss: f64,
    at_anchors: Vec<f32>,
    at_documents: Vec<f32>,
}

fn random(rows: usize, columns: usize, stream: &str) -> Array2<f32> {
    let mut rng = Seed(5).stream(stream);
    Array2::from_shape_simple_fn((rows, columns), || rng.random_range(-1.0..1.0))
}

fn mnrl(similarity: SimilarityConfig, scale: f64, symmetric: bool) -> LossOnEmbeddings {
    LossOnEmbeddings::new(similarity, &LossConfig::Mnrl(MnrlConfig { scale, symmetric, mask_duplicates: true }))
}

fn largest_difference(a: ArrayView2<'_, f32>, b: ArrayView2<'_, f32>) -> f32 {
    assert_eq!(a.dim(), b.dim());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

fn both(
    loss: &LossOnEmbeddings,
    anchors: &Array2<f32>,
    documents: &Array2<f32>,
    blocked: &Blocked,
) -> [LossGradients; 2] {
    let host = loss.forward_backward(anchors.view(), documents.view(), blocked);
    let composed = loss.forward_backward_on(&Device::flex(), anchors.view(), documents.view(), blocked);
    [host, composed]
}

#[test]
fn two_pairs_that_are_told_apart_by_one() {
    // Scores [[1, 0], [0, 1]], scale 1: log(1 + e^-1) = 0.31326 in each row.
    let mut scores = ndarray::arr2(&[[1.0f32, 0.0], [0.0, 1.0]]);
    let loss = MnrlConfig { scale: 1.0, ..MnrlConfig::default() }.init();
    let tensor = Tensor::<2>::from_floats([[1.0, 0.0], [0.0, 1.0]], &Device::flex());
    let composed =
        loss.forward(ScoreMatrix { scores: tensor, blocked: None }).into_data().try_into_vec::<f32>().unwrap();
    let host = loss.forward_backward_host(&mut scores, &Blocked::default());
    assert!((host - 0.313_261_687_5).abs() < 1e-7, "{host}");
    assert!((composed[0] - 0.313_261_7).abs() < 1e-6, "{composed:?}");
    // (softmax - 1)/2 and softmax/2, softmax = 1/(1 + e) = 0.26894 beside the diagonal.
    let expected = [-0.134_470_7, 0.134_470_7, 0.134_470_7, -0.134_470_7];
    assert!(scores.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-6), "{scores}");
}

#[test]
fn equals_sentence_transformers() {
    let golden: Golden = serde_json::from_str(include_str!("../../tests/golden/losses.json")).unwrap();
    assert_eq!(golden.mnrl.len(), 5);
    for case in golden.mnrl {
        let rows = |values: Vec<f32>| Array2::from_shape_vec((values.len() / case.dim, case.dim), values).unwrap();
        let (anchors, documents) = (rows(case.anchors), rows(case.documents));
        assert_eq!(anchors.nrows(), case.batch);
        let (at_anchors, at_documents) = (rows(case.at_anchors), rows(case.at_documents));
        let loss = mnrl(case.similarity, case.scale, case.symmetric);
        for found in both(&loss, &anchors, &documents, &Blocked::default()) {
            assert!((found.loss - case.loss).abs() < 1e-5, "{}: {} is not {}", case.name, found.loss, case.loss);
            assert!(largest_difference(found.at_anchors.view(), at_anchors.view()) < 1e-5, "{}", case.name);
            assert!(largest_difference(found.at_documents.view(), at_documents.view()) < 1e-5, "{}", case.name);
        }
    }
}

#[test]
fn the_host_loss_equals_the_composed_one() {
    for similarity in [SimilarityConfig::Cosine, SimilarityConfig::Dot] {
        for (symmetric, negatives, masked) in
            [(false, 0, false), (true, 0, true), (false, 2, true), (true, 3, true), (true, 1, false)]
        {
            let pairs = 37;
            let mut anchors = random(pairs, 24, "anchors");
            anchors.row_mut(4).fill(0.0); // An empty text may have no direction.
            let documents = random(pairs * (1 + negatives) - negatives, 24, "documents");
            let numbers = |n: usize, of: u32| (0..n as u32).map(|i| (i * i + 3 * i) % of).collect::<Vec<_>>();
            let blocked = match masked {
                true => Blocked::duplicates(&numbers(pairs, 29), &numbers(documents.nrows(), 41)),
                false => Blocked::default(),
            };
            assert_eq!(masked, !blocked.is_empty());
            let scale = if similarity == SimilarityConfig::Cosine { 20.0 } else { 1.5 };
            let [host, composed] = both(&mnrl(similarity, scale, symmetric), &anchors, &documents, &blocked);
            let case = format!("{similarity:?} {symmetric} {negatives} {masked}");
            assert!((host.loss - composed.loss).abs() < 1e-5, "{case}: {} and {}", host.loss, composed.loss);
            assert!(largest_difference(host.at_anchors.view(), composed.at_anchors.view()) < 1e-5, "{case}");
            assert!(largest_difference(host.at_documents.view(), composed.at_documents.view()) < 1e-5, "{case}");
        }
    }
}

#[test]
fn gradients_equal_finite_differences() {
    let (anchors, documents) = (random(5, 6, "a"), random(12, 6, "d"));
    let blocked = Blocked::duplicates(&[0, 1, 2, 1, 4], &[10, 11, 12, 10, 14, 15, 11, 17, 18, 19, 20, 21]);
    let loss = mnrl(SimilarityConfig::Cosine, 3.0, true);
    let found = loss.forward_backward(anchors.view(), documents.view(), &blocked);
    let step = 1e-2;
    for (row, column) in (0..5).flat_map(|row| (0..6).map(move |column| (row, column))) {
        let at = |side: usize, by: f32| {
            let (mut a, mut d) = (anchors.clone(), documents.clone());
            [&mut a, &mut d][side][[row, column]] += by;
            loss.forward(a.view(), d.view(), &blocked)
        };
        let slope = |side| ((at(side, step) - at(side, -step)) / (2.0 * f64::from(step))) as f32;
        assert!((slope(0) - found.at_anchors[[row, column]]).abs() < 2e-3);
        assert!((slope(1) - found.at_documents[[row, column]]).abs() < 2e-3);
    }
}

#[test]
fn a_blocked_document_neither_counts_nor_moves() {
    let (anchors, documents) = (random(4, 6, "a"), random(5, 6, "d"));
    // Document 4 equals every positive's text for row 0 only, so all others still see it.
    let blocked = Blocked::duplicates(&[0, 1, 2, 3], &[10, 11, 12, 13, 10]);
    assert_eq!(blocked.cells(), [(0, 4)]);
    let loss = mnrl(SimilarityConfig::Cosine, 20.0, false);
    let first =
        |d: ArrayView2<'_, f32>, blocked: &Blocked| loss.forward_backward(anchors.slice(s![..1, ..]), d, blocked);
    let mut two = documents.slice(s![..2, ..]).to_owned();
    two.row_mut(1).assign(&documents.row(4));
    let alone = first(two.view(), &Blocked::duplicates(&[0], &[10, 10]));
    assert_eq!(alone.loss, 0.0);
    assert!(alone.at_documents.iter().all(|g| g.abs() < 1e-6));
}
