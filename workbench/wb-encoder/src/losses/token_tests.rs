//! Losses on token embeddings against hand-made numbers, sentence-transformers and finite differences.

use ndarray::{Array2, arr2};
use rand::RngExt;
use serde::Deserialize;
use wb_core::{Embeddings, Seed};

use super::{
    tests::{self, config, found},
    *,
};
use crate::similarities::{Normalizer, TokenSimilarity, TokenTexts, XtrConfig};

/// Made by `scripts/golden-late-interaction.py`.
#[derive(Deserialize)]
struct GoldenCase {
    name: String,
    similarity: SimilarityConfig,
    loss: LossConfig,
    batch: usize,
    dim: usize,
    lengths: Vec<usize>,
    vectors: Vec<f32>,
    teacher: Vec<f32>,
    scores: Vec<f32>,
    value: f64,
    gradients: Vec<f32>,
}

fn of_lengths(lengths: &[usize], vectors: Array2<f32>) -> Embeddings {
    let ends = lengths.iter().scan(0, |end, length| {
        *end += length;
        Some(*end)
    });
    Embeddings::ragged(vectors, std::iter::once(0).chain(ends).collect()).unwrap()
}

fn texts(of: &Embeddings) -> TokenTexts<'_> {
    TokenTexts::new(of).unwrap()
}

/// Texts of these lengths with vectors of length 1.
fn random(lengths: &[usize], dim: usize, stream: &str) -> Embeddings {
    let mut rng = Seed(8).stream(stream);
    let vectors = Array2::from_shape_simple_fn((lengths.iter().sum(), dim), || rng.random_range(-1.0..1.0f32));
    of_lengths(lengths, Embeddings::dense(vectors).normalized().into_inner())
}

fn largest_difference<'a>(a: impl IntoIterator<Item = &'a f32>, b: impl IntoIterator<Item = &'a f32>) -> f32 {
    a.into_iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

fn xtr(top_k: usize, normalizer: Normalizer) -> TokenSimilarity {
    TokenSimilarity::Xtr(XtrConfig { top_k, normalizer })
}

/// One query of two tokens, three documents: products [[.8, .1, -.2], [.3, .6]], [[-.4], [-.6]], [[.5], [-.1]].
#[test]
fn scores_by_hand() {
    // A query's tokens are two axes, so that a document token's coordinates are its products.
    let query = of_lengths(&[2], arr2(&[[1.0, 0.0], [0.0, 1.0]]));
    let documents = of_lengths(&[2, 1, 1], arr2(&[[0.8, 0.3], [0.1, 0.6], [-0.4, -0.6], [0.5, -0.1]]));
    let check = |similarity: TokenSimilarity, expected: [f32; 3], at_third: [f32; 2]| {
        let (scores, matches) = similarity.scores(texts(&query), texts(&documents));
        let found = scores.row(0).to_vec();
        assert!(largest_difference(&found, &expected) < 1e-6, "{similarity:?}: {found:?}");
        // The third document's gradient is the sum of the query tokens that it answers, over Z.
        let at_scores = arr2(&[[0.0, 0.0, 1.0]]);
        let [_, at] = TokenSimilarity::backward(texts(&query), texts(&documents), &matches, &at_scores);
        assert!(largest_difference(at.row(3).iter(), &at_third) < 1e-6, "{similarity:?}: {at}");
        assert!(at.rows().into_iter().take(3).all(|row| row.iter().all(|g| *g == 0.0)));
    };
    check(TokenSimilarity::Maxsim, [0.8 + 0.6, -1.0, 0.5 - 0.1], [1.0, 1.0]);
    let paper = Normalizer::SentenceTransformers;
    // k 1: .8 and .6, both of the first document. Z 2.
    check(xtr(1, paper), [0.7, 0.0, 0.0], [0.0, 0.0]);
    // k 2: .8, .5 and .6, .3: the third document answers the first query token alone. Z 2, -, 1.
    check(xtr(2, paper), [0.7, 0.0, 0.5], [1.0, 0.0]);
    // k 3: .8, .5, .1 and .6, .3, -.1. Z 2, -, 2 with the negative maximum; PyLate's 2, -, 1 without it.
    check(xtr(3, paper), [0.7, 0.0, 0.2], [0.5, 0.5]);
    check(xtr(3, Normalizer::Pylate), [0.7, 0.0, 0.5], [1.0, 0.0]);
    // k 4 and more: everything; the second document's -.4 and -.6 over 2, which PyLate does not count.
    check(xtr(4, paper), [0.7, -0.5, 0.2], [0.5, 0.5]);
    check(xtr(1000, Normalizer::Pylate), [0.7, 0.0, 0.5], [1.0, 0.0]);
}

#[test]
fn equal_products_go_to_the_first_token_and_empty_texts_come_last() {
    let query = of_lengths(&[1, 0], arr2(&[[1.0, 0.0]]));
    let documents = of_lengths(&[2, 0, 1], arr2(&[[0.5, 0.1], [0.5, 0.2], [0.5, 0.3]]));
    let (scores, matches) = TokenSimilarity::Maxsim.scores(texts(&query), texts(&documents));
    assert_eq!(scores, arr2(&[[0.5, -1.0, 0.5], [0.0, 0.0, 0.0]]));
    let at_scores = arr2(&[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]);
    let [at_query, at] = TokenSimilarity::backward(texts(&query), texts(&documents), &matches, &at_scores);
    assert_eq!((at_query.row(0).to_vec(), at.column(0).to_vec()), (vec![1.0, 0.4], vec![1.0, 0.0, 1.0]));
    let retrieved = |k| xtr(k, Normalizer::default()).scores(texts(&query), texts(&documents)).0.row(0).to_vec();
    assert_eq!(
        (retrieved(1), retrieved(2), retrieved(3)),
        (vec![0.5, 0.0, 0.0], vec![0.5, 0.0, 0.0], vec![0.5, 0.0, 0.5])
    );
}

#[test]
fn equals_sentence_transformers_token_by_token() {
    let golden = include_str!("../../tests/golden/late-interaction.json");
    let mut golden: serde_json::Value = serde_json::from_str(golden).unwrap();
    let cases: Vec<GoldenCase> = serde_json::from_value(golden["cases"].take()).unwrap();
    assert_eq!(cases.len(), 34);
    for case in cases {
        case.similarity.validate("similarity").unwrap();
        let vectors = Array2::from_shape_vec((case.vectors.len() / case.dim, case.dim), case.vectors).unwrap();
        let all = of_lengths(&case.lengths, vectors);
        let (anchors, documents) = (all.part(0..case.batch), all.part(case.batch..all.texts()));
        let labels = tests::labels(case.batch, documents.texts() / case.batch - 1, &case.teacher);
        let (scores, _) = case.similarity.of_tokens().unwrap().scores(texts(&anchors), texts(&documents));
        assert!(largest_difference(&scores, &case.scores) < 1e-5, "{}: {scores}", case.name);
        let loss = LossOnEmbeddings::new(case.similarity, &case.loss);
        let found = found(&loss, &anchors, &documents, &labels);
        let (name, off) = (&case.name, (found.loss - case.value).abs());
        assert!(off < 1e-5 * case.value.max(1.0), "{name}: {} is not {}", found.loss, case.value);
        let gradients = found.at_anchors.iter().chain(&found.at_documents);
        let apart = largest_difference(gradients, &case.gradients);
        assert!(apart < 1e-5, "{name}: gradients differ by {apart}");
    }
}

const SIMILARITIES: [&str; 4] =
    [r#""maxsim""#, r#"{"xtr": {}}"#, r#"{"xtr": {"top_k": 6}}"#, r#"{"xtr": {"top_k": 9, "normalizer": "pylate"}}"#];
const LOSSES: [&str; 5] = [
    r#"{"mnrl": {}}"#,
    r#"{"mnrl": {"directions": ["query_to_doc", "query_to_query", "doc_to_query", "doc_to_doc"]}}"#,
    r#"{"distill_kl": {}}"#,
    r#"{"margin_mse": {}}"#,
    r#"{"cosent": {"scale": 2}}"#,
];

#[test]
fn gradients_equal_finite_differences() {
    let (anchors, documents) = (random(&[3, 1, 4], 5, "a"), random(&[2, 5, 1, 3, 3, 2, 4, 1, 2], 5, "d"));
    let labels = tests::labels(3, 2, &[0.9, 0.1, 0.4, -0.3, 0.8, 0.2, 0.5, -0.6, 0.7]);
    for similarity in SIMILARITIES {
        let similarity: SimilarityConfig = serde_json::from_str(similarity).unwrap();
        for json in LOSSES {
            let loss = LossOnEmbeddings::new(similarity, &config(json));
            let host = found(&loss, &anchors, &documents, &labels);
            assert!(host.at_anchors.iter().any(|g| g.abs() > 1e-3), "{similarity:?} {json}: no gradient");
            for (side, gradients) in [(0, &host.at_anchors), (1, &host.at_documents)] {
                for at in (0..gradients.len()).step_by(3) {
                    let moved = |by: f32| {
                        let change = |of: &Embeddings, here: bool| {
                            let mut vectors = of.view().to_owned();
                            if here {
                                vectors.as_slice_mut().unwrap()[at] += by;
                            }
                            Embeddings::ragged(vectors, of.offsets().unwrap().to_vec()).unwrap()
                        };
                        let (anchors, documents) = (change(&anchors, side == 0), change(&documents, side == 1));
                        loss.forward(&anchors, &documents, &labels).unwrap()
                    };
                    let step = 1e-3;
                    let slope = (moved(step) - moved(-step)) / f64::from(2.0 * step);
                    let found = f64::from(gradients.as_slice().unwrap()[at]);
                    assert!((slope - found).abs() < 2e-3, "{similarity:?} {json} {side} {at}: {slope} is not {found}");
                }
            }
        }
    }
}

/// Scores by the definition, and gradients at both sides' tokens given those at the scores: every product made and sorted.
fn by_definition(
    similarity: TokenSimilarity,
    queries: &Embeddings,
    documents: &Embeddings,
    at_scores: &Array2<f32>,
) -> (Array2<f32>, [Array2<f32>; 2]) {
    let products = queries.view().dot(&documents.view().t());
    let mut scores = Array2::zeros((queries.texts(), documents.texts()));
    let mut at = [Array2::zeros(queries.view().dim()), Array2::zeros(documents.view().dim())];
    for ((query, document), score) in scores.indexed_iter_mut() {
        let mut matched = Vec::new();
        for token in queries.rows(query..query + 1) {
            let row = products.row(token);
            let best = documents.rows(document..document + 1).max_by(|a, b| row[*a].total_cmp(&row[*b])).unwrap();
            let nearer = row.iter().filter(|product| **product > row[best]).count();
            if !matches!(similarity, TokenSimilarity::Xtr(config) if nearer >= config.top_k) {
                matched.push((token, best));
            }
        }
        let z = match similarity {
            TokenSimilarity::Maxsim => 1.0,
            TokenSimilarity::Xtr(_) => matched.len().max(1) as f32,
        };
        *score = matched.iter().map(|at| products[[at.0, at.1]]).sum::<f32>() / z;
        let weight = at_scores[[query, document]] / z;
        for (token, best) in matched {
            at[0].row_mut(token).scaled_add(weight, &documents.view().row(best));
            at[1].row_mut(best).scaled_add(weight, &queries.view().row(token));
        }
    }
    (scores, at)
}

/// More tokens than one tile and one chunk hold, on one thread and on three.
#[test]
fn threads_change_nothing_and_large_batches_equal_the_definition() {
    let lengths = |n: usize, most: usize| (0..n).map(|text| 1 + text * 37 % most).collect::<Vec<usize>>();
    let (anchors, documents) = (random(&lengths(24, 30), 16, "a"), random(&lengths(24, 170), 16, "d"));
    let labels = Labels::distinct(24, 0);
    for similarity in [SimilarityConfig::Maxsim, SimilarityConfig::Xtr(XtrConfig::default())] {
        let loss = LossOnEmbeddings::new(similarity, &config(r#"{"mnrl": {}}"#));
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| loss.forward_backward(&anchors, &documents, &labels).unwrap())
        };
        let (one, three) = (on(1), on(3));
        assert_eq!((one.loss.to_bits(), &one.at_anchors), (three.loss.to_bits(), &three.at_anchors));
        assert_eq!(one.at_documents, three.at_documents);

        let similarity = similarity.of_tokens().unwrap();
        let at_scores = Array2::from_shape_fn((24, 24), |(i, j)| ((i * 24 + j) % 13) as f32 / 13.0 - 0.5);
        let (expected, at) = by_definition(similarity, &anchors, &documents, &at_scores);
        let (left, right) = (texts(&anchors), texts(&documents));
        let (scores, matches) = similarity.scores(left, right);
        assert!(largest_difference(&scores, &expected) < 1e-4, "{similarity:?}");
        let [at_left, at_right] = TokenSimilarity::backward(left, right, &matches, &at_scores);
        assert!(largest_difference(&at_left, &at[0]) < 1e-4, "{similarity:?}");
        assert!(largest_difference(&at_right, &at[1]) < 1e-4, "{similarity:?}");
        let (own, _) = similarity.own_scores(left, right, &(0..24).collect::<Vec<u32>>());
        assert!(largest_difference(&own, expected.diag().iter()) < 1e-4, "{similarity:?}");
    }
}

#[test]
fn what_is_no_number_stays_none() {
    let anchors = of_lengths(&[1, 1], arr2(&[[f32::NAN, 0.0], [1.0, 0.0]]));
    let documents = of_lengths(&[1, 2], arr2(&[[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]));
    for similarity in SIMILARITIES {
        let similarity: SimilarityConfig = serde_json::from_str(similarity).unwrap();
        let loss = LossOnEmbeddings::new(similarity, &config(r#"{"mnrl": {}}"#));
        assert!(loss.forward(&anchors, &documents, &Labels::distinct(2, 0)).unwrap().is_nan(), "{similarity:?}");
    }
}

#[test]
fn losses_and_similarities_have_to_suit_each_other() {
    let refused = |json: &str, similarity| config(json).check_similarity("loss", similarity).map_err(|e| e.to_string());
    let error = refused(r#"{"triplet": {}}"#, SimilarityConfig::Maxsim).unwrap_err();
    assert!(error.starts_with("loss: `triplet` has a distance of its own"), "{error}");
    assert!(refused(r#"{"matryoshka": {"dims": [8]}}"#, SimilarityConfig::Maxsim).is_err());
    let error = refused(r#"{"distill_embeddings": {"teacher": {"id": "x"}}}"#, SimilarityConfig::Maxsim).unwrap_err();
    assert!(
        error.starts_with("loss: `distill_embeddings` compares one vector a text with the teacher's, and"),
        "{error}"
    );
    refused(r#"{"triplet": {}}"#, SimilarityConfig::Cosine).unwrap();
    refused(r#"{"mnrl": {}}"#, SimilarityConfig::Xtr(XtrConfig::default())).unwrap();
    assert_eq!(config(r#"{"mnrl": {}}"#).suited(SimilarityConfig::Maxsim).scale(), Some(1.0));
    assert_eq!(config(r#"{"mnrl": {"temperature": 0.1}}"#).suited(SimilarityConfig::Maxsim).scale(), Some(10.0));
    let dense = LossOnEmbeddings::new(SimilarityConfig::Cosine, &LossConfig::default());
    let by_tokens = LossOnEmbeddings::new(SimilarityConfig::Maxsim, &LossConfig::default());
    let tokens = random(&[1, 2], 4, "a");
    let error = dense.forward(&tokens, &tokens, &Labels::distinct(2, 0)).unwrap_err().to_string();
    assert!(error.starts_with("train.similarity: compares one vector a text"), "{error}");
    let vectors = Embeddings::dense(Array2::ones((2, 4)));
    let error = by_tokens.forward(&vectors, &vectors, &Labels::distinct(2, 0)).unwrap_err().to_string();
    assert_eq!(error, "embeddings: have one vector a text, expected one a token");
}
