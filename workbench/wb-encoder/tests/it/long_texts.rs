//! Texts much longer than the blocks that attention is computed in, of the decoders and newer encoders, against
//! transformers and PEFT in 64 bits.

use std::collections::BTreeMap;

use serde::Deserialize;
use wb_encoder::{Backbone, Folder, Gradients, TokenBatch, Upstream};

use crate::{
    architectures::NAMES,
    common::{both, copy, edit, golden, golden_json, gradient_error},
    tokens::weights,
};

#[derive(Deserialize)]
struct LongTexts {
    model: BTreeMap<usize, LongText>,
    peft: BTreeMap<usize, LongText>,
}

#[derive(Deserialize)]
struct LongText {
    mean: Vec<f32>,
    states: BTreeMap<usize, Vec<f32>>,
    gradients: BTreeMap<String, [f64; 2]>,
}

/// Texts much longer than the blocks that attention is computed in, and than any window: states, and gradients of all
/// weights and of adapters. Burn has the square of the length in memory, and computes the shorter one.
#[test]
fn states_and_gradients_of_long_texts_are_those_of_transformers() {
    for name in NAMES {
        let long: LongTexts = golden_json(&format!("{name}-long.json"));
        let place = copy(name);
        let places = r#""max_position_embeddings": 256"#;
        edit(&place.path().join("config.json"), places, r#""max_position_embeddings": 8192"#);
        let folder = Folder::read(place.path()).unwrap();
        let vocabulary = folder.model.architecture.vocab_size();
        let mut adapted = folder.clone();
        adapted.add_peft(&golden().join(format!("peft-{name}"))).unwrap();
        for (model, expected) in [(&folder.model, &long.model), (&adapted.model, &long.peft)] {
            for (path, backbone) in both(model) {
                for (length, expected) in expected.iter().filter(|(length, _)| path == "cpu" || **length < 2048) {
                    let ids: Vec<u32> = (0..*length).map(|at| ((17 + 31 * at + at * at) % vocabulary) as u32).collect();
                    check_long(&format!("{name} {path}, {length} tokens"), &*backbone, &ids, expected);
                }
            }
        }
    }
}

fn check_long(what: &str, backbone: &dyn Backbone, ids: &[u32], expected: &LongText) {
    let batch = TokenBatch::new([ids]);
    let (_, tracked, tape) = backbone.embed_tokens_tracked(&batch, None).unwrap();
    for states in [&tracked, &backbone.embed_tokens(&batch).unwrap()] {
        let mean = states.mean_axis(ndarray::Axis(0)).unwrap();
        let rows = expected.states.iter().map(|(row, expected)| (states.row(*row), expected));
        for (found, expected) in rows.chain([(mean.view(), &expected.mean)]) {
            let size = expected.iter().map(|x| x.abs()).fold(0f32, f32::max);
            let differences = found.iter().zip(expected).map(|(a, b)| (a - b).abs());
            let worst = differences.fold(0f32, f32::max);
            assert!(worst <= 1e-4 * size, "{what}: {worst} of {size}");
        }
    }
    let mut found = Gradients::zeros(backbone.parameters());
    backbone.backward_tokens(tape, Upstream::states(weights(tracked.dim()).view()), &mut found).unwrap();
    let trained: Vec<_> = backbone.parameters().iter().enumerate().filter(|(_, p)| p.trainable).collect();
    assert_eq!(trained.len(), expected.gradients.len(), "{what}");
    let mut worst = 0f64;
    for (place, parameter) in trained {
        let error = gradient_error(&parameter.name, found.at(place), expected.gradients[&parameter.name]);
        assert!(error <= 1e-4, "{what}, {}: {error}", parameter.name);
        worst = worst.max(error);
    }
    eprintln!("{what}: gradients differ by {worst:.1e} of their size");
}
