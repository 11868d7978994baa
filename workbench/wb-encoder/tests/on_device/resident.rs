//! Training whose weights, moments and gradients stay on the device: the same numbers as at home, and nothing but
//! embeddings crosses.

use std::collections::BTreeMap;

use ndarray::Array2;
use wb_encoder::{
    Backbone, BurnBackbone, Dropout, Gradients, Pooling, TokenBatch,
    train::{AdamwConfig, OptimizerConfig, TrainConfig, state::TrainState},
};

use crate::{
    passes::{batch, bert, model, norm},
    test_device,
};

/// Largest difference of what steps changed, in Euclidean norms.
const CHANGE: f64 = 1e-5;

fn config() -> TrainConfig {
    let adamw = AdamwConfig {
        learning_rate: 1e-3,
        weight_decay: 0.1,
        rate_factors: BTreeMap::from([("layer.0".to_owned(), 0.5)]),
        ..AdamwConfig::default()
    };
    TrainConfig { optimizer: OptimizerConfig::Adamw(adamw), ema: 0.5, ..TrainConfig::default() }
}

/// Adds the gradients of a made-up loss, Σ embedding · weight.
fn accumulate(backbone: &dyn Backbone, batch: &TokenBatch, number: u64, gradients: &mut Gradients) {
    let (embeddings, tape) = backbone.embed_tracked(batch, Some(Dropout { seed: number })).unwrap();
    let at = Array2::from_shape_fn(embeddings.dim(), |(i, j)| ((i * 13 + j * 5) as f32 * 0.41 + number as f32).sin());
    backbone.backward(tape, at.view(), gradients).unwrap();
}

/// One step of training, with the gradients of two batches.
pub fn step(backbone: &mut BurnBackbone, state: &mut TrainState, batch: &TokenBatch, number: u64) -> f64 {
    accumulate(backbone, batch, 2 * number, &mut state.gradients);
    accumulate(backbone, batch, 2 * number + 1, &mut state.gradients);
    let norm = state.gradient_norm(backbone).unwrap();
    state.update(backbone, 1e-3, 1.0 / norm, number).unwrap();
    norm
}

fn norms(values: &[Vec<f32>]) -> f64 {
    norm(values.iter().flatten().map(|value| f64::from(*value)))
}

fn apart(found: &[Vec<f32>], expected: &[Vec<f32>]) -> f64 {
    norm(found.iter().flatten().zip(expected.iter().flatten()).map(|(a, b)| f64::from(a - b)))
}

fn weights(backbone: &dyn Backbone) -> Vec<Vec<f32>> {
    backbone.parameters().iter().map(|parameter| parameter.values.floats().into_owned()).collect()
}

/// Adapters and whole, with rates of their own, decay and an average: weights, moments, average and norms of four steps.
#[test]
fn steps_on_the_device_are_those_at_home() {
    let batch = batch(&[17, 5, 16]);
    for adapters in [true, false] {
        let run = |settles: bool| {
            let model = model(bert(), Pooling::Mean, adapters);
            let mut backbone = BurnBackbone::new(model, test_device().burn(), "test device").unwrap();
            let before = weights(&backbone);
            let mut state = TrainState::new(&config(), backbone.parameters()).unwrap();
            if settles {
                state.settle(&mut backbone).unwrap();
                assert!(state.gradients.iter().all(Vec::is_empty), "a gradient has stayed at home");
            }
            let norms: Vec<f64> = (1..=4).map(|number| step(&mut backbone, &mut state, &batch, number)).collect();
            // Gradients that are forgotten change nothing.
            accumulate(&backbone, &batch, 99, &mut state.gradients);
            state.forget_gradients(&mut backbone);
            state.swap_average(&mut backbone).unwrap();
            let of_average = backbone.embed(&batch).unwrap();
            state.swap_average(&mut backbone).unwrap();
            let embeddings = backbone.embed(&batch).unwrap();
            if settles {
                assert!(weights(&backbone) == before, "weights came home unasked");
            }
            state.leave(&mut backbone).unwrap();
            assert_eq!(backbone.embed(&batch).unwrap(), embeddings, "the weights at home are not the device's");
            let after = weights(&backbone);
            let change: Vec<Vec<f32>> =
                before.iter().zip(&after).map(|(a, b)| a.iter().zip(b).map(|(a, b)| b - a).collect()).collect();
            let TrainState { optimizer, average, .. } = state;
            let mut found = [change, optimizer.first, optimizer.second, average.unwrap().values];
            // The gradient of a key's bias is zero but for rounding, which Adam makes as great as any.
            let of_keys = backbone.parameters().iter().enumerate().filter(|(_, p)| p.name.ends_with("key.bias"));
            of_keys.for_each(|(at, _)| found.iter_mut().for_each(|values| values[at].clear()));
            (norms, found, of_average)
        };
        let ((of_home, expected, average), (of_device, found, also)) = (run(false), run(true));
        for (a, b) in of_device.iter().zip(&of_home) {
            assert!((a - b).abs() < 1e-5 * b, "norm {a}, expected {b}");
        }
        for (what, (found, expected)) in ["changes of weights", "first moments", "second moments", "averages"]
            .iter()
            .zip(found.iter().zip(&expected))
        {
            let error = apart(found, expected) / norms(expected);
            eprintln!("{}: adapters {adapters}: {what} {error:.1e} apart", test_device().description);
            assert!(error < CHANGE, "adapters {adapters}: {what} {error:.1e} apart");
        }
        let error = norm(also.iter().zip(&average).map(|(a, b)| f64::from(a - b)));
        assert!(error < CHANGE * norm(average.iter().map(|a| f64::from(*a))), "embeddings of the average: {error:.1e}");
    }
}

/// A step of adapters moves token ids, embeddings and their gradient, and two numbers a group of weights that have rates of
/// their own; it waits once a batch and once for the norm.
#[test]
fn a_step_moves_embeddings_alone() {
    let mut backbone =
        BurnBackbone::new(model(bert(), Pooling::Mean, true), test_device().burn(), "test device").unwrap();
    let config = TrainConfig { ema: 0.5, ..TrainConfig::default() };
    let mut state = TrainState::new(&config, backbone.parameters()).unwrap();
    state.settle(&mut backbone).unwrap();
    let batch = batch(&[20; 64]);
    let (texts, dim, padded) = (64u64, backbone.dim() as u64, 64 * 32u64);
    let mut last = backbone.traffic();
    for number in 1..=3 {
        accumulate(&backbone, &batch, number, &mut state.gradients);
        state.gradient_norm(&mut backbone).unwrap();
        state.update(&mut backbone, 1e-3, 1.0, number).unwrap();
        let now = backbone.traffic();
        let (up, down, waits) =
            (now.uploaded - last.uploaded, now.downloaded - last.downloaded, now.waits - last.waits);
        // As in `what_crosses_in_a_step_is_counted`, with the five numbers of a step in the place of any weight.
        assert_eq!(up, 4 * padded + 8 * texts + 4 * texts * dim + 8 * (8 + 2 * (8 + 6)) + 4 * 5);
        assert_eq!(now.uploads - last.uploads, 5);
        assert_eq!(down, 4 * texts * dim + 8);
        assert_eq!(waits, 2);
        // Both ways, 32 pairs: 4 · batch · dim numbers, and 64 KB for all else.
        assert!(up + down <= 4 * 32 * dim * 4 + (64 << 10));
        last = now;
    }
    // A pass that is done again for its tape reads nothing.
    drop(backbone.track_again(&batch, None).unwrap());
    assert_eq!(backbone.traffic().downloaded, last.downloaded);
    // A checkpoint is read back in one go: weights, two moments and the average.
    state.bring_home(&mut backbone).unwrap();
    let now = backbone.traffic();
    let of_adapters: usize = backbone.parameters().iter().filter(|p| p.trainable).map(|p| p.values.len()).sum();
    let read = now.downloaded - last.downloaded;
    // Filled up to whole rows.
    assert!((16 * of_adapters as u64..16 * (of_adapters as u64 + 1_024)).contains(&read), "{read}, {of_adapters}");
    assert_eq!(now.waits - last.waits, 1);
}
