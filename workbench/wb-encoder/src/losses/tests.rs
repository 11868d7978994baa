//! Losses against hand-made numbers, sentence-transformers and finite differences.

use ndarray::{Array2, ArrayView2, arr2};
use rand::RngExt;
use serde::Deserialize;
use wb_core::{Embeddings, Pair, Seed};

use super::*;
use crate::similarities::SimilarityConfig;

/// Made by `scripts/golden-losses.py`.
#[derive(Deserialize)]
struct GoldenCase {
    name: String,
    loss: LossConfig,
    similarity: SimilarityConfig,
    batch: usize,
    dim: usize,
    anchors: Vec<f32>,
    documents: Vec<f32>,
    #[serde(default)]
    scores: Vec<f32>,
    #[serde(default)]
    guide_dim: usize,
    #[serde(default)]
    guide_anchors: Vec<f32>,
    #[serde(default)]
    guide_documents: Vec<f32>,
    value: f64,
    at_anchors: Vec<f32>,
    at_documents: Vec<f32>,
}

fn random(rows: usize, columns: usize, stream: &str) -> Array2<f32> {
    let mut rng = Seed(5).stream(stream);
    Array2::from_shape_simple_fn((rows, columns), || rng.random_range(-1.0..1.0))
}

fn rows(values: &[f32], width: usize) -> Array2<f32> {
    Array2::from_shape_vec((values.len() / width, width), values.to_vec()).unwrap()
}

pub(crate) fn config(json: &str) -> LossConfig {
    let config: LossConfig = serde_json::from_str(json).unwrap();
    config.validate("loss").unwrap();
    config
}

fn largest_difference(a: ArrayView2<'_, f32>, b: ArrayView2<'_, f32>) -> f32 {
    assert_eq!(a.dim(), b.dim());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

fn dense(vectors: &Array2<f32>) -> Embeddings {
    Embeddings::dense(vectors.clone())
}

/// Loss and gradients; the loss alone is the same.
pub(super) fn found(
    loss: &LossOnEmbeddings,
    anchors: &Embeddings,
    documents: &Embeddings,
    labels: &Labels,
) -> LossGradients {
    let found = loss.forward_backward(anchors, documents, labels).unwrap();
    assert_eq!(loss.forward(anchors, documents, labels).unwrap(), found.loss);
    found
}

#[test]
fn two_pairs_that_are_told_apart_by_one() {
    // Scores [[1, 0], [0, 1]], scale 1: log(1 + e^-1) = 0.31326 in each row.
    let loss = LossOnEmbeddings::new(SimilarityConfig::Dot, &config(r#"{"mnrl": {"scale": 1}}"#));
    let unit = arr2(&[[1.0f32, 0.0], [0.0, 1.0]]);
    let found = found(&loss, &dense(&unit), &dense(&unit), &Labels::distinct(2, 0));
    assert!((found.loss - 0.313_261_687_5).abs() < 1e-6, "{}", found.loss);
    // (softmax - 1)/2 and softmax/2, softmax = 1/(1 + e) = 0.26894 beside the diagonal.
    let expected = arr2(&[[-0.134_470_7, 0.134_470_7], [0.134_470_7, -0.134_470_7]]);
    assert!(largest_difference(found.at_anchors.view(), expected.view()) < 1e-6, "{}", found.at_anchors);
    assert!(largest_difference(found.at_documents.view(), expected.view()) < 1e-6, "{}", found.at_documents);
}

#[test]
fn equals_sentence_transformers() {
    let mut golden: serde_json::Value = serde_json::from_str(include_str!("../../tests/golden/losses.json")).unwrap();
    let cases: Vec<GoldenCase> = serde_json::from_value(golden["cases"].take()).unwrap();
    assert_eq!(cases.len(), 44);
    for case in cases {
        case.loss.validate("loss").unwrap();
        let (anchors, documents) = (rows(&case.anchors, case.dim), rows(&case.documents, case.dim));
        assert_eq!(anchors.nrows(), case.batch);
        let mut labels = labels(case.batch, documents.nrows() / case.batch - 1, &case.scores);
        if case.guide_dim > 0 {
            let anchors = rows(&case.guide_anchors, case.guide_dim);
            let documents = rows(&case.guide_documents, case.guide_dim);
            labels = labels.with_guide(GuideEmbeddings { anchors, documents }).unwrap();
        }
        let (at_anchors, at_documents) = (rows(&case.at_anchors, case.dim), rows(&case.at_documents, case.dim));
        let loss = LossOnEmbeddings::new(case.similarity, &case.loss);
        let found = found(&loss, &dense(&anchors), &dense(&documents), &labels);
        let (name, off) = (&case.name, (found.loss - case.value).abs());
        assert!(off < 1e-5 * case.value.max(1.0), "{name}: {} is not {}", found.loss, case.value);
        let anchors = largest_difference(found.at_anchors.view(), at_anchors.view());
        let documents = largest_difference(found.at_documents.view(), at_documents.view());
        assert!(anchors < 1e-5 && documents < 1e-5, "{name}: gradients differ by {anchors}, {documents}");
    }
}

/// Pairs with different texts and the same number of negatives; scores by column.
pub(super) fn labels(pairs: usize, negatives: usize, scores: &[f32]) -> Labels {
    let of_pair = |pair: usize| scores.iter().skip(pair).step_by(pairs).copied().collect::<Vec<f32>>();
    let scores: Vec<Vec<f32>> = (0..pairs).map(of_pair).collect();
    let texts: Vec<u32> = (0..(pairs * (2 + negatives)) as u32).collect();
    let pairs: Vec<_> = texts
        .chunks_exact(2 + negatives)
        .zip(&scores)
        .map(|(texts, scores)| PairLabels { anchor: texts[0], documents: &texts[1..], scores })
        .collect();
    Labels::by_column(&pairs)
}

/// Pairs of which the third of three brings one negative less, with scores (some equal) and a guide,
/// and with texts that stand in several places.
pub(crate) fn mixed_labels(pairs: usize, negatives: usize) -> Labels {
    let mut rng = Seed(8).stream("scores");
    let counts = (0..pairs).map(|pair| 1 + negatives - usize::from(pair % 3 == 2 && negatives > 1));
    let made: Vec<(u32, Vec<u32>, Vec<f32>)> = counts
        .enumerate()
        .map(|(pair, count)| {
            let text = |rank: usize| ((pair * 7 + rank * 31) % (5 * pairs)) as u32;
            let scores = (0..count).map(|_| rng.random_range(-8..8) as f32 / 4.0).collect();
            ((pair * pair % (pairs - 3)) as u32, (0..count).map(text).collect(), scores)
        })
        .collect();
    let pairs: Vec<_> =
        made.iter().map(|(anchor, documents, scores)| PairLabels { anchor: *anchor, documents, scores }).collect();
    let labels = Labels::by_column(&pairs);
    assert!(labels.owners().len() < pairs.len() * (1 + negatives) || negatives < 2);
    let anchors = random(pairs.len(), 5, "guide");
    let mut documents = random(labels.owners().len(), 5, "guide of documents");
    for (mut document, owner) in documents.outer_iter_mut().zip(labels.owners()).take(pairs.len()) {
        document.scaled_add(0.8, &anchors.row(*owner as usize));
    }
    // As long as any embedding that is compared with them; the first numbers decide the cosines.
    let longer = |rows: &Array2<f32>| {
        let rest = random(rows.nrows(), 27, "rest of the guide") * 0.05;
        ndarray::concatenate(ndarray::Axis(1), &[rows.view(), rest.view()]).unwrap()
    };
    let (anchors, documents) = (longer(&anchors), longer(&documents));
    labels.with_guide(GuideEmbeddings { anchors, documents }).unwrap()
}

/// Every loss, with a number of hard negatives of a pair.
pub(crate) const ALL: [(&str, usize); 25] = [
    (r#"{"mnrl": {}}"#, 0),
    (r#"{"mnrl": {"mask_duplicates": false}}"#, 3),
    (r#"{"mnrl": {"directions": ["query_to_doc", "doc_to_query"], "partition": "per_direction"}}"#, 2),
    (r#"{"mnrl": {"scale": 5, "directions": ["doc_to_doc", "query_to_query", "query_to_doc", "doc_to_query"]}}"#, 2),
    (r#"{"mnrl": {"directions": ["doc_to_query", "query_to_doc"], "hardness": {"all_negatives": 3}}}"#, 2),
    (r#"{"mnrl": {"hardness": {"hard_negatives": 5}, "directions": ["query_to_doc", "doc_to_doc"]}}"#, 3),
    (r#"{"gist": {"guide": {"id": "x"}, "temperature": 0.05}}"#, 2),
    (
        r#"{"gist": {"guide": {"id": "x"}, "temperature": 0.1, "margin": {"relative": 0.3}, "contrast_anchors": false}}"#,
        0,
    ),
    (r#"{"triplet": {"margin": 0.4}}"#, 2),
    (r#"{"triplet": {"distance": "euclidean", "margin": 1}}"#, 2),
    (r#"{"triplet": {"distance": "manhattan", "margin": 2}}"#, 1),
    (r#"{"margin_mse": {}}"#, 3),
    (r#"{"distill_kl": {"temperature": 0.5}}"#, 3),
    (r#"{"binary_cross_entropy": {}}"#, 2),
    (r#"{"list_net": {}}"#, 3),
    (r#"{"list_net": {"relevance": "scores"}}"#, 2),
    (r#"{"cosent": {"scale": 5}}"#, 0),
    (r#"{"cosent": {}}"#, 2),
    (r#"{"matryoshka": {"dims": [24, 7, 16], "weights": [1, 0.5, 2], "loss": {"mnrl": {"temperature": 0.1}}}}"#, 2),
    (r#"{"angle": {"scale": 5}}"#, 0),
    (r#"{"angle": {"scale": 2}}"#, 2),
    (r#"{"distill_embeddings": {"teacher": {"id": "x"}}}"#, 2),
    (r#"{"distill_embeddings": {"teacher": {"id": "x"}, "by": "mse"}}"#, 0),
    (r#"{"distill_embeddings": {"teacher": {"id": "x"}, "by": "mse"}}"#, 3),
    (r#"{"matryoshka": {"dims": [24, 7, 16], "loss": {"distill_embeddings": {"teacher": {"id": "x"}}}}}"#, 2),
];

#[test]
fn every_loss_is_among_those_tested_by_its_own_name() {
    // Serde lists the variants of the enum where it is given another.
    let told = serde_json::from_str::<LossConfig>(r#"{"no loss": {}}"#).unwrap_err().to_string();
    let names: Vec<&str> = told.split('`').skip(3).step_by(2).collect();
    assert!(names.contains(&"mnrl") && names.contains(&"matryoshka"), "{told}");
    let tested: Vec<LossConfig> = ALL.iter().map(|(json, _)| config(json)).collect();
    for name in names {
        let of_name: Vec<_> = tested.iter().filter(|loss| loss.name() == name).collect();
        assert!(!of_name.is_empty(), "`{name}` has no row in ALL");
        for loss in of_name {
            // Matryoshka needs what the loss inside needs.
            assert!(loss.needs().loss == name || name == "matryoshka", "{:?}", loss.needs());
        }
    }
}

/// A vector of zeros has the cosine 0 with everything, and gets no gradient.
#[test]
fn a_text_without_a_direction_does_not_move() {
    let labels = mixed_labels(5, 2);
    let (mut anchors, documents) = (random(5, 6, "a"), random(labels.owners().len(), 6, "d"));
    anchors.row_mut(3).fill(0.0);
    for (json, negatives) in ALL {
        // Distances that are no cosine, and numbers of negatives that the labels do not have.
        if negatives != 2 || json.contains("euclidean") || json.contains("manhattan") {
            continue;
        }
        let loss = LossOnEmbeddings::new(SimilarityConfig::Cosine, &config(&json.replace("[24, 7, 16]", "[6, 3, 5]")));
        let found = found(&loss, &dense(&anchors), &dense(&documents), &labels);
        assert!(found.loss.is_finite(), "{json}");
        assert!(found.at_anchors.row(3).iter().all(|g| *g == 0.0), "{json}");
        assert!(found.at_anchors.iter().chain(&found.at_documents).all(|g| g.is_finite()), "{json}");
    }
}

#[test]
fn gradients_equal_finite_differences() {
    for (similarity, length) in [(SimilarityConfig::Cosine, 1.0), (SimilarityConfig::Dot, 0.3)] {
        for (json, negatives) in ALL {
            let json = json.replace("[24, 7, 16]", "[6, 3, 5]");
            let labels = mixed_labels(5, negatives);
            let (anchors, documents) = (random(5, 6, "a"), random(labels.owners().len(), 6, "d"));
            let (anchors, documents) = (anchors * length, documents * length);
            let loss = LossOnEmbeddings::new(similarity, &config(&json));
            let found = found(&loss, &dense(&anchors), &dense(&documents), &labels);
            let case = format!("{similarity:?} {json}");
            let largest = found.at_anchors.iter().chain(&found.at_documents).fold(0.0f32, |m, g| m.max(g.abs()));
            assert!(largest > 1e-4, "{case}: no gradient");
            // Only the addend of hardness is held fast, and differences move it too. Triplet and angle have their own
            // similarity.
            let own = json.contains("triplet") || json.contains("angle");
            if json.contains("hardness") || (own && similarity == SimilarityConfig::Dot) {
                continue;
            }
            let step = 2e-3;
            let cells = [&anchors, &documents].map(|side| side.indexed_iter().map(|(at, _)| at).collect::<Vec<_>>());
            let cells = cells.iter().enumerate().flat_map(|(side, cells)| cells.iter().map(move |at| (side, *at)));
            for (side, at) in cells {
                let moved = |by: f32| {
                    let (mut a, mut d) = (anchors.clone(), documents.clone());
                    [&mut a, &mut d][side][at] += by;
                    loss.forward(&dense(&a), &dense(&d), &labels).unwrap()
                };
                let slope = (moved(step) - moved(-step)) / (2.0 * f64::from(step));
                let gradient = f64::from([&found.at_anchors, &found.at_documents][side][at]);
                assert!(
                    (slope - gradient).abs() < 2e-3 * gradient.abs().max(1.0),
                    "{case} {side} {at:?}: {slope} {gradient}"
                );
            }
        }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    for (json, negatives) in ALL {
        let labels = mixed_labels(150, negatives);
        let (anchors, documents) = (random(150, 32, "a"), random(labels.owners().len(), 32, "d"));
        let loss = LossOnEmbeddings::new(SimilarityConfig::Cosine, &config(json));
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let found = pool.install(|| loss.forward_backward(&dense(&anchors), &dense(&documents), &labels).unwrap());
            (found.loss.to_bits(), found.at_anchors, found.at_documents)
        };
        assert!(run(1) == run(3), "{json}");
    }
}

#[test]
fn a_blocked_document_neither_counts_nor_moves() {
    let (anchors, documents) = (random(1, 6, "a"), random(2, 6, "d"));
    let loss = LossOnEmbeddings::new(SimilarityConfig::Cosine, &LossConfig::default());
    // The hard negative equals the positive's text.
    let pair = [PairLabels { anchor: 0, documents: &[10, 10], scores: &[] }];
    let alone = loss.forward_backward(&dense(&anchors), &dense(&documents), &Labels::by_column(&pair)).unwrap();
    assert_eq!(alone.loss, 0.0);
    assert!(alone.at_documents.iter().all(|g| g.abs() < 1e-6));
    let unmasked = LossOnEmbeddings::new(SimilarityConfig::Cosine, &config(r#"{"mnrl": {"mask_duplicates": false}}"#));
    let counted = unmasked.forward_backward(&dense(&anchors), &dense(&documents), &Labels::by_column(&pair)).unwrap();
    assert!(counted.loss > 0.0 && counted.at_documents.row(1).iter().any(|g| g.abs() > 1e-3));
}

/// A guide that sees a negative closer than the positive takes it out, and what is left is the loss without it.
#[test]
fn a_guide_takes_out_what_it_takes_for_an_answer() {
    let (anchors, documents) = (random(2, 6, "a"), random(4, 6, "d"));
    let guide_anchors = arr2(&[[1.0f32, 0.0], [0.0, 1.0]]);
    // Positives at a cosine of 0.8; the first pair's negative at 0.96, the second's at 0.6; for the other anchor 0.28 and 0.8.
    let guide_documents = arr2(&[[0.8f32, 0.6], [0.6, 0.8], [0.96, 0.28], [0.8, 0.6]]);
    let guide = GuideEmbeddings { anchors: guide_anchors, documents: guide_documents };
    let labels = labels(2, 1, &[]).with_guide(guide).unwrap();
    let gist = |margin: &str| {
        let json = format!(
            r#"{{"gist": {{"guide": {{"id": "x"}}, "temperature": 0.05, "contrast_anchors": false, "contrast_positives": false, "margin": {margin}}}}}"#
        );
        let loss = LossOnEmbeddings::new(SimilarityConfig::Cosine, &config(&json));
        loss.forward_backward(&dense(&anchors), &dense(&documents), &labels).unwrap()
    };
    let cosines = LossOnEmbeddings::new(SimilarityConfig::Cosine, &LossConfig::default());
    let cosines = cosines.similarity().compare(anchors.view(), documents.view());
    let by_hand = |counted: [&[usize]; 2]| {
        let row = |row: usize| {
            let z = |column: usize| 20.0 * f64::from(cosines[[row, column]]);
            counted[row].iter().map(|column| z(*column).exp()).sum::<f64>().ln() - z(row)
        };
        (row(0) + row(1)) / 2.0
    };
    let found = gist(r#"{"absolute": 0.001}"#);
    // Anchor 0: out are its own negative (0.96) and the other's (0.8); anchor 1: nothing, 0.8 - 0.001 is above 0.6.
    let expected = by_hand([&[0, 1], &[0, 1, 2, 3]]);
    assert!((found.loss - expected).abs() < 1e-6, "{} {expected}", found.loss);
    // Within 0.25 of the positive, document 0 (0.6 for anchor 1, 0.8 less 0.25) is out too, and so is negative 1.
    let expected = by_hand([&[0], &[1, 2]]);
    let found = gist(r#"{"absolute": 0.25}"#);
    assert!((found.loss - expected).abs() < 1e-6, "{} {expected}", found.loss);
    // 0.8 - 0.8 · 0.2 = 0.64: for anchor 0 negatives and not positive 1, for anchor 1 nothing.
    let expected = by_hand([&[0, 1], &[0, 1, 2, 3]]);
    let found = gist(r#"{"relative": 0.2}"#);
    assert!((found.loss - expected).abs() < 1e-6, "{} {expected}", found.loss);
}

/// Texts that belong to no pair, and vectors of a teacher that are shorter than the model's or longer.
#[test]
fn a_teacher_is_followed_text_by_text() {
    let loss = |json: &str| LossOnEmbeddings::new(SimilarityConfig::Cosine, &config(json));
    let cosine = loss(r#"{"distill_embeddings": {"teacher": {"id": "x"}}}"#);
    let alone =
        [PairLabels { anchor: 0, documents: &[], scores: &[] }, PairLabels { anchor: 1, documents: &[], scores: &[] }];
    let with = |dim: usize| {
        let guide = GuideEmbeddings {
            anchors: Array2::eye(dim).slice_move(ndarray::s![..2, ..]),
            documents: Array2::zeros((0, dim)),
        };
        Labels::by_column(&alone).with_guide(guide)
    };
    // (3, 4) / 5 and (0, 1): cosines of 0.6 with (1, 0), and of 1 with (0, 1).
    let (anchors, none) = (dense(&arr2(&[[3.0, 4.0], [0.0, 2.0]])), dense(&Array2::zeros((0, 2))));
    for dim in [2, 3] {
        let labels = with(dim).unwrap();
        let of_all = found(&cosine, &anchors, &none, &labels);
        assert!((of_all.loss - 0.2).abs() < 1e-7, "{}", of_all.loss);
        assert!(
            largest_difference(of_all.at_anchors.row(1).insert_axis(ndarray::Axis(0)), arr2(&[[0.0, 0.0]]).view())
                < 1e-7
        );
        assert_eq!(of_all.at_documents.dim(), (0, 2));
        let mse = loss(r#"{"distill_embeddings": {"teacher": {"id": "x"}, "by": "mse"}}"#);
        let of_all = found(&mse, &anchors, &none, &labels);
        // 2/dim times that of the cosine.
        assert!((of_all.loss - 0.2).abs() < 1e-7, "{}", of_all.loss);
    }
    let error =
        cosine.forward(&dense(&Array2::ones((2, 3))), &dense(&Array2::zeros((0, 3))), &with(2).unwrap()).unwrap_err();
    assert_eq!(error.to_string(), "embeddings of the teacher: have 2 numbers, expected 3, as many as the model's");
}

#[test]
fn what_a_loss_needs_and_does_not_get_is_named() {
    let (anchors, documents) = (random(3, 6, "a"), random(3, 6, "d"));
    let check = |json: &str, labels: &Labels| {
        let loss = LossOnEmbeddings::new(SimilarityConfig::Cosine, &config(json));
        loss.forward_backward(&dense(&anchors), &dense(&documents).part(0..labels.owners().len()), labels)
            .map(|found| found.loss)
            .map_err(|error| error.to_string())
    };
    let plain = Labels::distinct(3, 0);
    let cases = [
        (r#"{"triplet": {}}"#, "a batch: has a pair without a hard negative, and `triplet` needs it"),
        (r#"{"margin_mse": {}}"#, "a batch: has a document without a score, and `margin_mse` needs it"),
        (r#"{"cosent": {}}"#, "a batch: has a document without a score, and `cosent` needs it"),
        (r#"{"gist": {"guide": {"id": "x"}}}"#, "a batch: has no embeddings of a guide, and `gist` needs it"),
        (
            r#"{"distill_embeddings": {"teacher": {"id": "x"}}}"#,
            "a batch: has no embeddings of a guide, and `distill_embeddings` needs it",
        ),
        (
            r#"{"matryoshka": {"dims": [7]}}"#,
            "train.loss.matryoshka.dims: 7 is longer than the model's embeddings, which have 6 numbers",
        ),
    ];
    for (json, expected) in cases {
        assert_eq!(check(json, &plain).unwrap_err(), expected);
    }
    assert!(check(r#"{"mnrl": {}}"#, &plain).is_ok());
    assert!(check(r#"{"mnrl": {}}"#, &Labels::distinct(2, 0)).unwrap_err().contains("expected 2 and 2 rows"));

    let pair = |id: &str, negatives: usize, scores: &[f32]| Pair {
        id: id.into(),
        negatives: vec!["n".into(); negatives],
        scores: scores.to_vec(),
        ..Pair::default()
    };
    let pairs = [pair("a", 2, &[1.0, 0.5, 0.5]), pair("b", 1, &[1.0]), pair("c", 0, &[])];
    let check = |json: &str, pairs: &[Pair], negatives| {
        let needs = config(json).needs();
        needs.check_pairs(pairs, negatives).map_err(|error| error.to_string())
    };
    check(r#"{"mnrl": {}}"#, &pairs, 5).unwrap();
    check(r#"{"cosent": {}}"#, &pairs[..2], 0).unwrap();
    let found = check(r#"{"triplet": {}}"#, &pairs, 5).unwrap_err();
    assert_eq!(found, "pair c: has no hard negative, as 1 of 3 pairs, and `triplet` needs one");
    let found = check(r#"{"triplet": {}}"#, &pairs[..2], 0).unwrap_err();
    assert!(found.starts_with("pair a: has no hard negative, as 2 of 2 pairs"), "{found}");
    let found = check(r#"{"distill_kl": {}}"#, &pairs[..2], 5).unwrap_err();
    assert!(found.starts_with("pair b: has 1 scores, expected 2: the positive's and one for"), "{found}");
    let found = check(r#"{"matryoshka": {"dims": [4], "loss": {"cosent": {}}}}"#, &pairs, 0).unwrap_err();
    assert!(found.starts_with("pair c: has 0 scores, expected 1"), "{found}");
}

#[test]
fn impossible_values_are_named_by_their_key() {
    let check = |json: &str| {
        let config: LossConfig = serde_json::from_str(json).unwrap();
        config.validate("loss").map_err(|error| error.to_string())
    };
    let cases = [
        (r#"{"mnrl": {"scale": 20, "temperature": 0.05}}"#, "mnrl.temperature: the temperature stands here twice"),
        (r#"{"mnrl": {"scale": 0}}"#, "mnrl.scale: got 0, expected a number above 0"),
        (r#"{"mnrl": {"temperature": -1}}"#, "mnrl.temperature: got -1"),
        (r#"{"mnrl": {"directions": ["doc_to_query"]}}"#, "mnrl.directions: expected `query_to_doc` among them"),
        (
            r#"{"mnrl": {"directions": ["query_to_doc", "query_to_doc"]}}"#,
            "mnrl.directions: `query_to_doc` stands there twice",
        ),
        (
            r#"{"mnrl": {"directions": ["query_to_doc", "doc_to_doc"], "partition": "per_direction"}}"#,
            "mnrl.partition: got `per_direction`, but `doc_to_doc` alone",
        ),
        (r#"{"mnrl": {"hardness": {"all_negatives": 0}}}"#, "mnrl.hardness: got 0"),
        (r#"{"gist": {}}"#, "gist.guide: is empty"),
        (r#"{"gist": {"guide": {"id": "x"}, "temperature": 0}}"#, "gist.temperature: got 0"),
        (r#"{"distill_embeddings": {}}"#, "distill_embeddings.teacher: "),
        (r#"{"matryoshka": {}}"#, "matryoshka.dims: got none"),
        (r#"{"matryoshka": {"dims": [8, 0]}}"#, "matryoshka.dims: got 0"),
        (r#"{"matryoshka": {"dims": [8, 8]}}"#, "matryoshka.dims: 8 stands there twice"),
        (r#"{"matryoshka": {"dims": [8, 4], "weights": [1]}}"#, "matryoshka.weights: got 1, expected 2"),
        (r#"{"matryoshka": {"dims": [8, 4], "weights": [1, -1]}}"#, "matryoshka.weights: got -1"),
        (r#"{"matryoshka": {"dims": [8], "loss": {"mnrl": {"scale": 0}}}}"#, "matryoshka.loss.mnrl.scale: got 0"),
        (
            r#"{"matryoshka": {"dims": [8], "loss": {"matryoshka": {"dims": [4]}}}}"#,
            "matryoshka.loss: got `matryoshka` inside",
        ),
    ];
    for (json, expected) in cases {
        let found = check(json).unwrap_err();
        assert!(found.starts_with(&format!("loss.{expected}")), "{found}");
    }
    for good in [
        r#"{"mnrl": {}}"#,
        r#"{"mnrl": {"temperature": 0.07}}"#,
        r#"{"mnrl": {"hardness": {"hard_negatives": 5}}}"#,
        r#"{"gist": {"guide": {"id": "x"}, "margin": {"relative": 0.05}}}"#,
        r#"{"matryoshka": {"dims": [8, 4], "weights": [1, 0.5]}}"#,
    ] {
        check(good).unwrap();
    }
    assert!(serde_json::from_str::<LossConfig>(r#"{"mnrl": {"symmetric": true}}"#).is_err());
}

#[test]
fn a_scale_can_be_given_to_losses_that_have_one() {
    for (json, _) in ALL {
        let config = config(json);
        assert_eq!(config.scale().is_some(), config.with_scale(4.0).is_some());
        match config.with_scale(4.0) {
            None => {
                let without = ["triplet", "margin_mse", "binary_cross_entropy", "list_net", "distill_embeddings"];
                assert!(without.iter().any(|name| json.contains(name)), "{json}");
            }
            Some(other) => {
                other.validate("loss").unwrap();
                assert_eq!(other.scale(), Some(4.0));
                // Nothing else changes.
                assert_eq!(other.with_scale(config.scale().unwrap()).unwrap().needs(), config.needs());
                assert_eq!(std::mem::discriminant(&other), std::mem::discriminant(&config));
            }
        }
    }
    assert_eq!(config(r#"{"mnrl": {"temperature": 0.1}}"#).scale(), Some(10.0));
    assert_eq!(config(r#"{"distill_kl": {"temperature": 0.5}}"#).scale(), Some(2.0));
}
