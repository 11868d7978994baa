//! Backward passes against finite differences, adapters, and dropout.

use ndarray::Array2;
use wb_core::Seed;
use wb_encoder::{
    Architecture, Backbone, Dropout, Gradients, LoraConfig, Model, Pooling, TokenBatch, lora, models::StaticConfig,
};

use crate::common::{both, check_differences, compare, tiny, with_lora};

fn batch(vocab: u32) -> TokenBatch {
    let texts: Vec<Vec<u32>> =
        [7u32, 1, 19, 24, 3].iter().map(|n| (0..*n).map(|k| 5 + (k * 29 + n * 7) % (vocab - 5)).collect()).collect();
    TokenBatch::new(texts.iter().map(Vec::as_slice))
}

/// The made-up loss Σ embedding · weight, in double precision.
fn weight(i: usize, j: usize) -> f32 {
    ((i * 13 + j * 5) as f32 * 0.41).sin()
}

fn loss(embeddings: &Array2<f32>) -> f64 {
    embeddings.indexed_iter().map(|((i, j), x)| f64::from(*x) * f64::from(weight(i, j))).sum()
}

fn gradients(backbone: &dyn Backbone, batch: &TokenBatch, dropout: Option<Dropout>) -> (Array2<f32>, Gradients) {
    let (embeddings, tape) = backbone.embed_tracked(batch, dropout).unwrap();
    let at = Array2::from_shape_fn(embeddings.dim(), |(i, j)| weight(i, j));
    let mut gradients = Gradients::zeros(backbone.parameters());
    backbone.backward(tape, at.view(), &mut gradients).unwrap();
    (embeddings, gradients)
}

fn check(path: &str, backbone: Box<dyn Backbone>, batch: &TokenBatch, dropout: Option<Dropout>) {
    let (_, gradients) = gradients(backbone.as_ref(), batch, dropout);
    // Rounding of the loss makes about 5e-4 of it.
    let of = |backbone: &dyn Backbone| loss(&backbone.embed_tracked(batch, dropout).unwrap().0);
    assert!(check_differences(path, backbone, &gradients, 0.1, of) > 0);
}

#[test]
fn gradients_equal_finite_differences() {
    for name in ["tiny-bert", "tiny-roberta"] {
        for pooling in Pooling::ALL {
            let mut model = tiny(name).model;
            model.pooling = pooling;
            for (path, backbone) in both(&model) {
                check(&format!("{name} {pooling:?} {path}"), backbone, &batch(300), None);
            }
        }
    }
}

#[test]
fn gradients_equal_finite_differences_with_dropout_and_adapters() {
    let folder = with_lora("tiny-bert", &LoraConfig { rank: 4, dropout: 0.2, ..LoraConfig::default() });
    for (path, backbone) in both(&folder.model) {
        check(&format!("lora {path}"), backbone, &batch(300), Some(Dropout { seed: 11 }));
    }
}

#[test]
fn a_bag_of_vectors_has_the_right_gradients() {
    for weighted in [false, true] {
        let architecture =
            Architecture::StaticEmbedding(StaticConfig { vocab_size: 60, dim: 12, weighted, positions: 0 });
        let mut parameters = architecture.fresh(Seed(4));
        for p in parameters.iter_mut().filter(|p| p.name == "token_weights") {
            p.values.floats_mut().iter_mut().enumerate().for_each(|(i, v)| *v = (i as f32).sin());
        }
        let model = Model { architecture, parameters, pooling: Pooling::Mean, adapter: None };
        let texts: [&[u32]; 4] =
            [&[1, 2, 3, 2], &[], &[59], &[7, 7, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]];
        let batch = TokenBatch::new(texts);
        let found: Vec<Array2<f32>> =
            both(&model).iter().map(|(_, backbone)| backbone.embed(&batch).unwrap()).collect();
        assert!(found[0].row(1).iter().all(|v| *v == 0.0), "a text without tokens is zeros");
        // By hand: weights e^sin(t) over their sum.
        let vectors = model.parameters.get("embeddings.weight").unwrap().values.floats();
        let share = |t: f32| if weighted { t.sin().exp() } else { 1.0 };
        let sum = share(1.0) + 2.0 * share(2.0) + share(3.0);
        let expected = (share(1.0) * vectors[12] + 2.0 * share(2.0) * vectors[24] + share(3.0) * vectors[36]) / sum;
        for (path, backbone) in both(&model) {
            let rows = backbone.embed(&batch).unwrap();
            assert!((rows[[0, 0]] - expected).abs() < 1e-6, "{path}: {} {expected}", rows[[0, 0]]);
            assert!((rows[[2, 3]] - vectors[59 * 12 + 3]).abs() < 1e-6);
            check(&format!("bag {path}"), backbone, &batch, None);
        }
    }
}

#[test]
fn with_adapters_only_adapters_get_gradients_and_change() {
    let mut folder = tiny("tiny-bert");
    let before = folder.model.parameters.clone();
    folder.attach(&LoraConfig { rank: 4, ..LoraConfig::default() }, Seed(5)).unwrap();
    let batch = batch(300);
    for (path, mut backbone) in both(&folder.model) {
        let (_, found) = gradients(backbone.as_ref(), &batch, Some(Dropout { seed: 1 }));
        for (at, parameter) in folder.model.parameters.iter().enumerate() {
            let is_b = parameter.name.contains("lora_B");
            assert_eq!(found.at(at).is_empty(), !lora::is_adapter(&parameter.name), "{path} {}", parameter.name);
            // B is zero, so nothing flows into A yet.
            assert_eq!(found.at(at).iter().any(|g| *g != 0.0), is_b, "{path} {}", parameter.name);
        }
        backbone
            .update(&mut |parameters| {
                for (at, p) in parameters.iter_mut().enumerate().filter(|(_, p)| p.trainable) {
                    p.values.floats_mut().iter_mut().zip(found.at(at)).for_each(|(v, g)| *v -= 0.1 * g);
                }
            })
            .unwrap();
        for p in before.iter() {
            assert_eq!(backbone.parameters().get(&p.name).unwrap().values, p.values, "{path}: frozen {} moved", p.name);
        }
        // Merged weights compute the same.
        let mut merged = folder.model.clone();
        let adapter = folder.model.adapter.clone().unwrap();
        merged.parameters = lora::merge(backbone.parameters(), &adapter).unwrap();
        merged.adapter = None;
        let with = backbone.embed(&batch).unwrap();
        for (_, other) in both(&merged) {
            let (cosine, difference) = compare(other.embed(&batch).unwrap().view(), with.view());
            assert!(cosine > 0.99999 && difference < 1e-4, "{path}: {cosine} {difference}");
        }
        let (_, difference) = compare(with.view(), both(&tiny("tiny-bert").model)[0].1.embed(&batch).unwrap().view());
        assert!(difference > 1e-3, "the step changed something");
    }
}

#[test]
fn dropout_is_replayed_by_its_seed() {
    for (path, backbone) in both(&tiny("tiny-bert").model) {
        let draw = |seed| backbone.embed_tracked(&batch(300), Some(Dropout { seed })).unwrap().0;
        assert_eq!(draw(3), draw(3), "{path}");
        assert_ne!(draw(3), draw(4), "{path}");
        let (plain, _) = backbone.embed_tracked(&batch(300), None).unwrap();
        assert_ne!(draw(3), plain, "{path}");
    }
}

#[test]
fn both_ways_of_the_cpu_agree_on_adapters() {
    let targets = vec!["dense".to_owned(), "key".to_owned()].into();
    let folder = with_lora("tiny-roberta", &LoraConfig { rank: 3, targets, ..LoraConfig::default() });
    let [(_, burn), (_, cpu)] = both(&folder.model);
    let (a, b) = (gradients(burn.as_ref(), &batch(300), None), gradients(cpu.as_ref(), &batch(300), None));
    let (cosine, difference) = compare(a.0.view(), b.0.view());
    assert!(cosine > 0.99999 && difference < 1e-4, "{cosine} {difference}");
    for (x, y) in a.1.iter().zip(b.1.iter()) {
        let norm = |values: &[f32]| values.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
        let difference: Vec<f32> = x.iter().zip(y).map(|(x, y)| x - y).collect();
        assert!(norm(&difference) <= 1e-4 * norm(x) + 1e-6);
    }
}
