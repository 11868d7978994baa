//! Token states and their gradients against transformers, torch and finite differences.

use std::collections::BTreeMap;

use ndarray::Array2;
use serde::Deserialize;
use wb_core::Seed;
use wb_encoder::{
    Architecture, Backbone, Dropout, Gradients, LoraConfig, Model, Pooling, TokenBatch, Upstream, models::StaticConfig,
};

use crate::common::{both, check_differences, golden_json, gradient_error, matrix, same, tiny, with_lora};

#[derive(Deserialize)]
struct Golden {
    ids: Vec<Vec<u32>>,
    states: Vec<Vec<f32>>,
    gradients: BTreeMap<String, [f64; 2]>,
}

/// What the script of the golden file multiplies the states by.
pub fn weights(shape: (usize, usize)) -> Array2<f32> {
    Array2::from_shape_fn(shape, |(i, j)| (0.37 * (31 * i + 7 * j) as f64).sin() as f32)
}

#[test]
fn states_and_gradients_are_those_of_transformers() {
    let golden_file: BTreeMap<String, Golden> = golden_json("tokens.json");
    for (name, expected) in golden_file {
        against_transformers(&name, &TokenBatch::new(expected.ids.iter().map(Vec::as_slice)), &expected);
    }
}

#[derive(Deserialize)]
struct Unattended {
    model: String,
    keys: Vec<usize>,
    #[serde(flatten)]
    expected: Golden,
}

/// Mask tokens at the end of a query that others do not attend to: transformers' attention_mask is 0 there.
#[test]
fn unattended_tokens_are_those_of_transformers() {
    let golden_file: Vec<Unattended> = golden_json("expansion.json");
    assert_eq!(golden_file.len(), 2);
    for Unattended { model, keys, expected } in golden_file {
        let batch = TokenBatch::new(expected.ids.iter().map(Vec::as_slice)).attending(|at, _| keys[at]);
        against_transformers(&model, &batch, &expected);
    }
}

fn against_transformers(name: &str, batch: &TokenBatch, expected: &Golden) {
    let model = tiny(name).model;
    for (path, backbone) in both(&model) {
        let (_, states, tape) = backbone.embed_tokens_tracked(batch, None).unwrap();
        for found in [&states, &backbone.embed_tokens(batch).unwrap()] {
            same(found.view(), matrix(&expected.states).view(), 1e-4, format!("{name} {path}"));
        }
        let mut gradients = Gradients::zeros(backbone.parameters());
        let at = weights(states.dim());
        backbone.backward_tokens(tape, Upstream::states(at.view()), &mut gradients).unwrap();
        for (place, parameter) in backbone.parameters().iter().enumerate() {
            let error = gradient_error(&parameter.name, gradients.at(place), expected.gradients[&parameter.name]);
            assert!(error <= 2e-4, "{name} {path} {}: {error}", parameter.name);
        }
    }
}

/// Σ state · weight + Σ embedding · weight, in double precision.
fn loss(backbone: &dyn Backbone, batch: &TokenBatch, dropout: Option<Dropout>) -> f64 {
    let (embeddings, states, _) = backbone.embed_tokens_tracked(batch, dropout).unwrap();
    [embeddings, states]
        .iter()
        .map(|rows| rows.iter().zip(&weights(rows.dim())).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum::<f64>())
        .sum()
}

fn check(path: &str, backbone: Box<dyn Backbone>, batch: &TokenBatch, dropout: Option<Dropout>) {
    let (embeddings, states, tape) = backbone.embed_tokens_tracked(batch, dropout).unwrap();
    let (at_embeddings, at_states) = (weights(embeddings.dim()), weights(states.dim()));
    let at = Upstream { embeddings: Some(at_embeddings.view()), states: Some(at_states.view()) };
    let mut gradients = Gradients::zeros(backbone.parameters());
    backbone.backward_tokens(tape, at, &mut gradients).unwrap();
    // Rounding of the loss, a sum of 2,000 numbers, makes about 3e-3 of it.
    check_differences(path, backbone, &gradients, 0.4, |backbone| loss(backbone, batch, dropout));
}

fn batch() -> TokenBatch {
    let texts: Vec<Vec<u32>> =
        [7u32, 1, 0, 19, 24, 3].iter().map(|n| (0..*n).map(|k| 5 + (k * 29 + n * 7) % 295).collect()).collect();
    TokenBatch::new(texts.iter().map(Vec::as_slice))
}

#[test]
fn gradients_equal_finite_differences() {
    for name in ["tiny-bert", "tiny-roberta"] {
        for (path, backbone) in both(&tiny(name).model) {
            check(&format!("{name} {path}"), backbone, &batch(), None);
        }
        let folder = with_lora(name, &LoraConfig { rank: 4, dropout: 0.2, ..LoraConfig::default() });
        for (path, backbone) in both(&folder.model) {
            check(&format!("{name} lora {path}"), backbone, &batch(), Some(Dropout { seed: 11 }));
        }
    }
}

#[test]
fn a_bag_gives_its_tokens_vectors() {
    let config = StaticConfig { vocab_size: 300, dim: 12, weighted: true, positions: 4 };
    let architecture = Architecture::StaticEmbedding(config);
    let parameters = architecture.fresh(Seed(4));
    let vectors = parameters.get("embeddings.weight").unwrap().values.floats().into_owned();
    let model = Model { architecture, parameters, pooling: Pooling::Mean, adapter: None };
    let batch = batch();
    for (path, backbone) in both(&model) {
        let states = backbone.embed_tokens(&batch).unwrap();
        for (row, id) in states.rows().into_iter().zip(batch.ids()) {
            assert_eq!(row.to_vec(), vectors[*id as usize * 12..][..12], "{path}");
        }
        check(&format!("bag {path}"), backbone, &batch, None);
    }
}
