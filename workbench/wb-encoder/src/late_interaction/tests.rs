//! Late interaction against hand-made numbers and finite differences.

use std::path::Path;

use ndarray::{Array2, arr2};

use super::*;
use crate::{
    batch::TokenBatch,
    parameters::{Gradients, Parameters},
};

fn tokenizer() -> Tokenizer {
    Tokenizer::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tiny-bert/tokenizer.json")).unwrap()
}

fn late(json: &str) -> LateInteraction {
    LateInteraction::new(&serde_json::from_str(json).unwrap(), &tokenizer(), "late").unwrap()
}

#[test]
fn markers_follow_the_first_special_token_and_mask_tokens_fill_queries() {
    let tokenizer = tokenizer();
    let id = |token: &str| tokenizer.id(token).unwrap();
    let (cls, sep, mask, pad, unk) = (id("[CLS]"), id("[SEP]"), id("[MASK]"), id("[PAD]"), id("[UNK]"));
    let plain = tokenizer.encode("", "read a file", 64).unwrap();
    let own = plain[1..plain.len() - 1].to_vec();
    let marked =
        late(r#"{"markers": {"query": "[PAD]", "document": "[UNK]"}, "expansion": 12, "skip_punctuation": true}"#);
    let encode = |late: &LateInteraction, side, most| late.tokenize(&tokenizer, "", "read a file", side, most).unwrap();
    let query = encode(&marked, Side::Query, 64);
    assert_eq!((query[0], query[1], query.len()), (cls, pad, 12));
    assert_eq!(query[2..2 + own.len()], own);
    assert_eq!(query[2 + own.len()], sep);
    assert!(query[3 + own.len()..].iter().all(|id| *id == mask));
    let document = encode(&marked, Side::Document, 64);
    assert_eq!(document, [&[cls, unk][..], &own, &[sep]].concat());
    // Cut with room for the marker, and filled up no further than the limit.
    assert_eq!(encode(&marked, Side::Document, 4), [cls, unk, own[0], sep]);
    assert_eq!(encode(&marked, Side::Query, 8).len(), 8);
    assert_eq!(encode(&late("{}"), Side::Query, 64), plain);
    let comma = id(",");
    assert!(marked.counts(comma, Side::Query) && !marked.counts(comma, Side::Document));
    assert!(marked.counts(sep, Side::Document) && late("{}").counts(comma, Side::Document));
}

#[test]
fn tokens_that_are_not_there_are_named() {
    let refused = |json: &str| {
        let config: LateInteractionConfig = serde_json::from_str(json).unwrap();
        LateInteraction::new(&config, &tokenizer(), "late").unwrap_err().to_string()
    };
    let error = refused(r#"{"markers": {"query": "[PAD]", "document": "[D]"}}"#);
    assert_eq!(error, "late.markers.document: the tokenizer has no token `[D]`");
    assert_eq!(refused(r#"{"dim": 0}"#), "late.dim: got 0, expected at least 1");
}

/// Two texts, the second a document with one token that does not count.
fn batch(late: &LateInteraction) -> TokenBatch {
    let comma = tokenizer().id(",").unwrap();
    assert!(!late.counts(comma, Side::Document));
    let word = |token: &str| tokenizer().id(token).unwrap();
    TokenBatch::new([&[word("a"), comma][..], &[word("b"), comma, word("c")]])
}

fn side(text: usize) -> Side {
    if text == 0 { Side::Query } else { Side::Document }
}

#[test]
fn vectors_have_length_1_and_only_tokens_that_count_have_one() {
    let late = late(r#"{"dim": 2, "skip_punctuation": true}"#);
    let mut parameters = Parameters::default();
    parameters.insert(Parameter {
        name: WEIGHT.to_owned(),
        shape: vec![2, 3],
        values: vec![1.0, 0.0, 2.0, 0.0, 1.0, 0.0].into(),
        trainable: true,
    });
    let states = arr2(&[[1.0, 4.0, 1.0], [0.0, 0.0, 0.0], [3.0, 3.0, -1.5], [9.0, 9.0, 9.0], [2.0, 0.0, -1.0]]);
    let found = late.project(&parameters, &batch(&late), states.view(), side).unwrap();
    // (3, 4), (0, 0), (0, 3) and (0, 0) over their lengths; zeros stay zeros.
    assert_eq!(found.view(), arr2(&[[0.6, 0.8], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0]]).view());
    assert_eq!((found.offsets(), found.not_finite()), (&[0, 2, 4][..], None));
    let mut broken = states.clone();
    broken[[4, 0]] = f32::NAN;
    assert_eq!(late.project(&parameters, &batch(&late), broken.view(), side).unwrap().not_finite(), Some(1));
    let error = late.project(&parameters, &batch(&late), Array2::zeros((5, 4)).view(), side).unwrap_err();
    assert_eq!(error.to_string(), "late_interaction.weight: has the shape [2, 3], expected [2, 4]");
}

#[test]
fn gradients_equal_finite_differences() {
    let late = late(r#"{"dim": 4, "skip_punctuation": true}"#);
    let batch = batch(&late);
    let mut parameters = Parameters::default();
    parameters.insert(late.fresh(3, Seed(4)));
    let states = Array2::from_shape_fn((5, 3), |(i, j)| ((7 * i + 5 * j) % 11) as f32 / 5.0 - 1.0);
    let at = Array2::from_shape_fn((4, 4), |(i, j)| ((3 * i + 8 * j) % 7) as f32 / 3.0 - 1.0);
    let value = |parameters: &Parameters, states: &Array2<f32>| {
        let found = late.project(parameters, &batch, states.view(), side).unwrap();
        found.view().iter().zip(&at).map(|(v, g)| f64::from(v * g)).sum::<f64>()
    };
    let mut gradients = Gradients::zeros(&parameters);
    let found = late.project(&parameters, &batch, states.view(), side).unwrap();
    let at_states = late.backward(&parameters, states.view(), &found, at.view(), &mut gradients).unwrap();
    let step = 1e-2f32;
    let close = |up: f64, down: f64, found: f32, what: &str| {
        let slope = (up - down) / f64::from(2.0 * step);
        assert!((slope - f64::from(found)).abs() < 2e-2 * slope.abs().max(1.0), "{what}: {slope} is not {found}");
    };
    assert!(at_states.row(3).iter().all(|g| *g == 0.0), "a token that does not count has a gradient");
    for (i, j) in (0..5).flat_map(|i| (0..3).map(move |j| (i, j))) {
        let moved = |by: f32| {
            let mut states = states.clone();
            states[[i, j]] += by;
            value(&parameters, &states)
        };
        close(moved(step), moved(-step), at_states[[i, j]], &format!("state {i} {j}"));
    }
    for place in 0..12 {
        let moved = |by: f32| {
            let mut parameters = parameters.clone();
            parameters.iter_mut().for_each(|parameter| parameter.values.floats_mut()[place] += by);
            value(&parameters, &states)
        };
        close(moved(step / 10.0), moved(-step / 10.0), gradients.at(0)[place] / 10.0, &format!("weight {place}"));
    }
    parameters.iter_mut().for_each(|parameter| parameter.trainable = false);
    let mut none = Gradients::zeros(&parameters);
    late.backward(&parameters, states.view(), &found, at.view(), &mut none).unwrap();
    assert!(none.at(0).is_empty());
}
