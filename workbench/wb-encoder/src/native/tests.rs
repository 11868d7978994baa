//! The CPU path against the burn implementation, and its gradients against differences.

use burn::tensor::Device;
use ndarray::{Array2, s};
use wb_core::Seed;

use super::open;
use crate::{
    backbone::{Backbone, Dropout, Upstream},
    batch::TokenBatch,
    lora::{self, LoraConfig},
    models::{Activation, Architecture, BertConfig, Model, StaticConfig, T5Config, TransformerSizes},
    on_device::BurnBackbone,
    parameters::{Gradients, Parameters},
    pooling::Pooling,
};

fn bert(activation: Activation, first_position: usize, dropout: f64) -> Architecture {
    let tiny = BertConfig::tiny(dropout);
    let sizes = TransformerSizes { num_hidden_layers: 3, ..tiny.sizes };
    Architecture::Bert(BertConfig { sizes, first_position, activation, ..tiny })
}

/// Heads whose width is not the stream's, and few buckets, so that texts of the batch reach the last.
fn t5(dropout: f64) -> Architecture {
    Architecture::T5(T5Config {
        vocab_size: 50,
        d_model: 24,
        d_kv: 7,
        d_ff: 37,
        num_layers: 3,
        num_heads: 3,
        relative_attention_num_buckets: 8,
        relative_attention_max_distance: 20,
        layer_norm_epsilon: 1e-6,
        dropout_rate: dropout,
    })
}

/// Both transformers with some adapters, and with adapters on every layer.
fn transformers(dropout: f64) -> [(Architecture, LoraConfig, LoraConfig); 2] {
    let config = |targets: &[&str]| LoraConfig {
        rank: 3,
        alpha: 6.0,
        dropout: if dropout > 0.0 { 0.3 } else { 0.0 },
        targets: targets.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>().into(),
        ..LoraConfig::default()
    };
    let of_bert = ["query", "key", "value", "attention.output.dense", "intermediate.dense", "output.dense"];
    let of_t5 = ["q", "k", "v", "o", "wi_0", "wi_1", "wo"];
    [
        (bert(Activation::Gelu, 2, dropout), config(&["query", "output.dense"]), config(&of_bert)),
        (t5(dropout), config(&["q", "wo"]), config(&of_t5)),
    ]
}

/// Weights larger than fresh ones, so that every part of the network matters.
fn model(architecture: Architecture, pooling: Pooling, lora_config: Option<&LoraConfig>) -> Model {
    // A T5 begins with larger weights than a BERT; with twice as large ones each query would see one key alone.
    let (factor, noise) = if matches!(architecture, Architecture::T5(_)) { (1.0, 0.1) } else { (2.0, 0.2) };
    shaken(architecture, pooling, lora_config, factor, noise)
}

/// Fresh weights times a factor, and noise.
pub(super) fn shaken(
    architecture: Architecture,
    pooling: Pooling,
    lora_config: Option<&LoraConfig>,
    factor: f32,
    noise: f32,
) -> Model {
    let mut parameters = architecture.fresh(Seed(5));
    let adapter = lora_config.map(|c| lora::attach(&mut parameters, &architecture, c, Seed(6), "tiny").unwrap());
    for (at, parameter) in parameters.iter_mut().enumerate() {
        let mut rng = Seed(at as u64).stream("shake");
        use rand::RngExt;
        for value in parameter.values.floats_mut() {
            *value = *value * factor + rng.random_range(-noise..noise);
        }
    }
    Model { architecture, parameters, pooling, adapter }
}

/// Many lengths, enough tokens for several groups.
pub(super) fn batch() -> TokenBatch {
    let texts: Vec<Vec<u32>> =
        (0..60).map(|text| (0..1 + text * 7 % 37).map(|at| (text * 13 + at * at * 5 + at) % 50).collect()).collect();
    TokenBatch::new(texts.iter().map(Vec::as_slice))
}

/// The batch with texts of which all tokens are attended to, two thirds, or the first alone.
fn masked() -> TokenBatch {
    batch().attending(|at, text| [text.len(), text.len() * 2 / 3, 1][at % 3])
}

/// A fixed gradient at the embeddings.
fn probe(rows: usize, dim: usize) -> Array2<f32> {
    Array2::from_shape_fn((rows, dim), |(r, c)| (((r * 31 + c * 17) % 23) as f32 - 11.0) / 23.0)
}

fn gradients(backbone: &dyn Backbone, batch: &TokenBatch, dropout: Option<Dropout>) -> (Array2<f32>, Gradients) {
    let (embeddings, tape) = backbone.embed_tracked(batch, dropout).unwrap();
    let mut gradients = Gradients::zeros(backbone.parameters());
    backbone.backward(tape, probe(batch.len(), backbone.dim()).view(), &mut gradients).unwrap();
    (embeddings, gradients)
}

/// Token states with the gradients of fixed gradients at them, and at the pooled embeddings too where `pooled` says so.
pub(super) fn gradients_of_states(
    backbone: &dyn Backbone,
    batch: &TokenBatch,
    dropout: Option<Dropout>,
    pooled: bool,
) -> (Array2<f32>, Gradients) {
    let (embeddings, states, tape) = backbone.embed_tokens_tracked(batch, dropout).unwrap();
    assert_eq!(embeddings, backbone.embed_tracked(batch, dropout).unwrap().0);
    let (at_states, at_embeddings) = (probe(states.nrows(), backbone.dim()), probe(batch.len(), backbone.dim()));
    let at = Upstream { embeddings: pooled.then(|| at_embeddings.view()), states: Some(at_states.view()) };
    let mut gradients = Gradients::zeros(backbone.parameters());
    backbone.backward_tokens(tape, at, &mut gradients).unwrap();
    (states, gradients)
}

/// Both paths agree: embeddings, tracked embeddings, every gradient.
fn check_against_burn(model: Model) {
    check_against_burn_with(model, None);
}

fn check_against_burn_with(model: Model, dropout: Option<Dropout>) {
    check_batch_against_burn(model, &batch(), dropout);
}

fn check_batch_against_burn(model: Model, batch: &TokenBatch, dropout: Option<Dropout>) {
    check_batch_within(2e-5, model, batch, dropout);
}

/// Both paths agree on a batch: its embeddings and states within this, its gradients within 1e-4 of their size.
pub(super) fn check_batch_within(limit: f32, model: Model, batch: &TokenBatch, dropout: Option<Dropout>) {
    let native = open(model.clone()).unwrap();
    let burn = BurnBackbone::new(model, &Device::flex(), "flex").unwrap();
    let close = |found: &Array2<f32>, expected: &Array2<f32>| {
        let worst = (found - expected).iter().fold(0.0f32, |worst, d| worst.max(d.abs()));
        assert!(worst < limit, "embeddings differ by {worst}");
    };
    close(&native.embed(batch).unwrap(), &burn.embed(batch).unwrap());
    close(&native.embed_tokens(batch).unwrap(), &burn.embed_tokens(batch).unwrap());
    let (embeddings, found) = gradients(&*native, batch, dropout);
    let (of_burn, expected) = gradients(&burn, batch, dropout);
    close(&embeddings, &of_burn);
    check_gradients(native.parameters(), &found, &expected);
    for pooled in [false, true] {
        let (states, found) = gradients_of_states(&*native, batch, dropout, pooled);
        let (of_burn, expected) = gradients_of_states(&burn, batch, dropout, pooled);
        close(&states, &of_burn);
        check_gradients(native.parameters(), &found, &expected);
    }
}

/// Equal within rounding; every weight that trains has a gradient, but for those that single tokens do not feel.
fn check_gradients(parameters: &Parameters, found: &Gradients, expected: &Gradients) {
    // Some gradients are zero but for rounding (a key's bias shifts all scores alike): measured against the largest.
    let largest = expected.iter().flatten().fold(0.0f32, |size, x| size.max(x.abs()));
    for ((found, expected), parameter) in found.iter().zip(expected.iter()).zip(parameters.iter()) {
        let size = expected.iter().fold(0.0f32, |size, x| size.max(x.abs())).max(1e-3 * largest);
        let worst = found.iter().zip(expected).fold(0.0f32, |worst, (a, b)| worst.max((a - b).abs())) / size;
        assert!(worst < 1e-4, "{}: gradients differ by {worst} of {size}", parameter.name);
        assert_eq!(parameter.trainable, !found.is_empty(), "{}", parameter.name);
        let felt = parameter.trainable && found.iter().any(|g| *g != 0.0);
        let of_bag = ["token_weights", "position_weights"].contains(&parameter.name.as_str());
        assert!(felt || !parameter.trainable || of_bag, "{} has no gradient", parameter.name);
    }
}

#[test]
fn all_weights_of_a_bert_equal_burn() {
    check_against_burn(model(bert(Activation::Gelu, 0, 0.0), Pooling::Mean, None));
    check_against_burn(model(bert(Activation::GeluTanh, 2, 0.0), Pooling::Cls, None));
    check_against_burn(model(bert(Activation::Relu, 0, 0.0), Pooling::Last, None));
}

#[test]
fn adapters_on_every_layer_equal_burn() {
    let targets = ["query", "key", "value", "attention.output.dense", "intermediate.dense", "output.dense"];
    let targets = targets.map(String::from).to_vec().into();
    let config = LoraConfig { rank: 3, alpha: 6.0, dropout: 0.0, targets, ..LoraConfig::default() };
    check_against_burn(model(bert(Activation::Gelu, 0, 0.0), Pooling::Mean, Some(&config)));
    let targets = ["encoder.layer.1.attention.self.query", "value"].map(String::from).to_vec().into();
    let config = LoraConfig { targets, ..config };
    check_against_burn(model(bert(Activation::Gelu, 0, 0.0), Pooling::Mean, Some(&config)));
    // Ranks and scales that differ from layer to layer, and a module that trains whole.
    let patterns = r#"{"rank": 3, "alpha": 6, "dropout": 0, "targets": "all-linear", "use_rslora": true,
        "rank_pattern": {"query": 1}, "alpha_pattern": {"layer.1.*": 2}, "modules_to_save": ["embeddings.LayerNorm"]}"#;
    let config = serde_json::from_str(patterns).unwrap();
    check_against_burn(model(bert(Activation::Gelu, 0, 0.0), Pooling::Mean, Some(&config)));
}

/// Lengths of rows that are learned beside adapters, with and without dropout on the adapters' input.
#[test]
fn dora_equals_burn() {
    let json = r#"{"rank": 3, "alpha": 6, "dropout": 0, "targets": "all-linear", "use_dora": true}"#;
    let all: LoraConfig = serde_json::from_str(json).unwrap();
    let some = LoraConfig { targets: vec!["layer.1.attention.self.query".to_owned()].into(), ..all.clone() };
    let rates = [(0.0, None), (0.2, Some(Dropout { seed: 11 }))];
    for (rate, dropout) in rates {
        let bert = bert(Activation::Gelu, 0, rate);
        for config in [&all, &some] {
            let config = LoraConfig { dropout: 1.5 * rate, ..config.clone() };
            check_against_burn_with(model(bert.clone(), Pooling::Mean, Some(&config)), dropout);
        }
        let config = LoraConfig { dropout: 1.5 * rate, ..all.clone() };
        check_against_burn_with(model(t5(rate), Pooling::Mean, Some(&config)), dropout);
    }
    // Adapters that are merged compute the same.
    let model = model(bert(Activation::Gelu, 0, 0.0), Pooling::Mean, Some(&all));
    let expected = open(model.clone()).unwrap().embed(&batch()).unwrap();
    let parameters = lora::merge(&model.parameters, model.adapter.as_ref().unwrap()).unwrap();
    let found = open(Model { parameters, adapter: None, ..model }).unwrap().embed(&batch()).unwrap();
    let worst = (&found - &expected).iter().fold(0.0f32, |worst, d| worst.max(d.abs()));
    assert!(worst < 2e-5, "merged embeddings differ by {worst}");
}

/// A step changes the lengths that later passes divide by, and nothing of it depends on threads or checkpointing.
#[test]
fn dora_follows_its_weights() {
    let json = r#"{"rank": 3, "alpha": 6, "dropout": 0.3, "targets": "all-linear", "use_dora": true}"#;
    let config: LoraConfig = serde_json::from_str(json).unwrap();
    let model = model(bert(Activation::Gelu, 0, 0.2), Pooling::Mean, Some(&config));
    check_threads(&model);
    let mut native = open(model.clone()).unwrap();
    let dropout = Some(Dropout { seed: 5 });
    let before = gradients(&*native, &batch(), dropout);
    let unmoved = native.embed(&batch()).unwrap();
    native.set_gradient_checkpointing(true).unwrap();
    let again = gradients(&*native, &batch(), dropout);
    assert!(before.0 == again.0 && before.1 == again.1, "checkpointing changed embeddings or gradients");
    native
        .update(&mut |parameters| {
            for p in parameters.iter_mut().filter(|p| p.trainable) {
                p.values.floats_mut().iter_mut().for_each(|value| *value += 0.05);
            }
        })
        .unwrap();
    let fresh = open(Model { parameters: native.parameters().clone(), ..model }).unwrap();
    let (found, expected) = (native.embed(&batch()).unwrap(), fresh.embed(&batch()).unwrap());
    assert_eq!(found, expected);
    assert_ne!(found, unmoved);
}

#[test]
fn a_bag_of_token_vectors_equals_burn() {
    for (weighted, positions) in [(false, 0), (true, 0), (false, 9), (true, 9)] {
        let architecture = Architecture::StaticEmbedding(StaticConfig { vocab_size: 50, dim: 12, weighted, positions });
        check_against_burn(model(architecture, Pooling::Mean, None));
    }
}

#[test]
fn all_weights_of_a_t5_equal_burn() {
    for pooling in Pooling::ALL {
        check_against_burn(model(t5(0.0), pooling, None));
    }
}

#[test]
fn adapters_on_a_t5_equal_burn() {
    let check = |json: &str| {
        let config = serde_json::from_str(json).unwrap();
        check_against_burn(model(t5(0.0), Pooling::Mean, Some(&config)));
    };
    check(r#"{"rank": 3, "dropout": 0, "targets": "all-linear"}"#);
    check(r#"{"rank": 2, "dropout": 0, "targets": ["encoder.block.2.layer.1.DenseReluDense.wi_1"]}"#);
    check(
        r#"{"rank": 3, "alpha": 6, "dropout": 0, "targets": ["k", "o"], "rank_pattern": {"o": 1},
            "modules_to_save": ["block.1.layer.0.layer_norm", "relative_attention_bias"]}"#,
    );
    check(
        r#"{"rank": 2, "dropout": 0, "targets": ["block.1.layer.0.SelfAttention.v"], "modules_to_save": ["block.1.layer.0.layer_norm", "final_layer_norm"]}"#,
    );
    check(r#"{"rank": 2, "dropout": 0, "targets": ["wo"], "modules_to_save": ["shared"]}"#);
}

/// Both draw the same masks, padded or not.
#[test]
fn dropout_equals_burn() {
    for (architecture, _, all) in transformers(0.2) {
        for lora_config in [None, Some(&all)] {
            let model = model(architecture.clone(), Pooling::Mean, lora_config);
            check_against_burn_with(model, Some(Dropout { seed: 4 }));
        }
    }
}

/// Tokens that others do not attend to: both ways, with adapters and without, with dropout and without.
#[test]
fn unattended_tokens_equal_burn() {
    for (architecture, some, all) in transformers(0.2) {
        for lora_config in [None, Some(&some), Some(&all)] {
            for dropout in [None, Some(Dropout { seed: 4 })] {
                let model = model(architecture.clone(), Pooling::Mean, lora_config);
                check_batch_against_burn(model, &masked(), dropout);
            }
        }
    }
}

/// A token that nobody attends to changes its own state alone.
#[test]
fn unattended_tokens_are_seen_by_none() {
    for (architecture, ..) in transformers(0.0) {
        let native = open(model(architecture, Pooling::Mean, None)).unwrap();
        let states = |ids: &[u32]| native.embed_tokens(&TokenBatch::new([ids]).attending(|_, _| 3)).unwrap();
        let (one, other) = (states(&[7, 8, 9, 4, 4]), states(&[7, 8, 9, 5, 4]));
        for token in [0, 1, 2, 4] {
            assert_eq!(one.row(token), other.row(token), "token {token}");
        }
        assert_ne!(one.row(3), other.row(3));
        let alone = native.embed_tokens(&TokenBatch::new([[7, 8, 9].as_slice()])).unwrap();
        let worst = (&alone - &one.slice(s![..3, ..])).iter().fold(0.0f32, |worst, d| worst.max(d.abs()));
        assert!(worst < 1e-6, "{worst}");
    }
}

/// A text's masks depend on its place in the batch and on nothing else that is in the batch.
#[test]
fn parts_of_a_batch_meet_the_masks_of_the_whole() {
    for (architecture, some, _) in transformers(0.2) {
        check_parts(&model(architecture, Pooling::Mean, Some(&some)));
    }
}

fn check_parts(model: &Model) {
    let (batch, dropout) = (masked(), Some(Dropout { seed: 11 }));
    let native = open(model.clone()).unwrap();
    let burn: Box<dyn Backbone> = Box::new(BurnBackbone::new(model.clone(), &Device::flex(), "flex").unwrap());
    for backbone in [native, burn] {
        let (whole, expected) = gradients(&*backbone, &batch, dropout);
        let mut found = Gradients::zeros(backbone.parameters());
        for texts in [0..1, 1..24, 24..59, 59..60] {
            let (rows, tape) = backbone.embed_tracked(&batch.part(texts.clone()), dropout).unwrap();
            let rows_of_whole = whole.slice(s![texts.clone(), ..]);
            let worst = (&rows - &rows_of_whole).iter().fold(0.0f32, |worst, d| worst.max(d.abs()));
            assert!(worst < 2e-6, "embeddings of {texts:?} differ by {worst}");
            let probe = probe(batch.len(), backbone.dim());
            backbone.backward(tape, probe.slice(s![texts, ..]), &mut found).unwrap();
        }
        let largest = expected.iter().flatten().fold(0.0f32, |size, x| size.max(x.abs()));
        for ((found, expected), parameter) in found.iter().zip(expected.iter()).zip(backbone.parameters().iter()) {
            let size = expected.iter().fold(0.0f32, |size, x| size.max(x.abs())).max(1e-3 * largest);
            let worst = found.iter().zip(expected).fold(0.0f32, |worst, (a, b)| worst.max((a - b).abs()));
            assert!(worst <= 1e-5 * size, "{}: {worst} of {size}", parameter.name);
        }
    }
}

/// Dropout's passes are replayed by their seed, and the gradient is that of the masked network.
#[test]
fn with_dropout_the_gradient_equals_differences() {
    for (architecture, some, _) in transformers(0.2) {
        check_differences(&architecture, &some, &batch());
        check_differences(&architecture, &some, &masked());
    }
}

fn check_differences(architecture: &Architecture, some: &LoraConfig, batch: &TokenBatch) {
    for lora_config in [None, Some(some)] {
        let mut backbone = open(model(architecture.clone(), Pooling::Mean, lora_config)).unwrap();
        let dropout = Some(Dropout { seed: 11 });
        let (first, gradient) = gradients(&*backbone, batch, dropout);
        let (again, _) = gradients(&*backbone, batch, dropout);
        assert_eq!(first, again);
        assert_ne!(first, gradients(&*backbone, batch, Some(Dropout { seed: 12 })).0);
        assert_ne!(first, backbone.embed(batch).unwrap());
        let probe = probe(batch.len(), backbone.dim());
        let names: Vec<String> = backbone.parameters().iter().filter(|p| p.trainable).map(|p| p.name.clone()).collect();
        for name in names.iter().step_by(3) {
            let place = backbone.parameters().position(name).unwrap();
            let (at, g) = gradient.at(place).iter().enumerate().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).unwrap();
            let mut loss_at = |shift: f32| {
                backbone
                    .update(&mut |parameters| {
                        parameters.iter_mut().nth(place).unwrap().values.floats_mut()[at] += shift
                    })
                    .unwrap();
                let embeddings = backbone.embed_tracked(batch, dropout).unwrap().0;
                embeddings.iter().zip(&probe).map(|(e, p)| f64::from(e * p)).sum::<f64>()
            };
            let h = 2e-3;
            let up = loss_at(h);
            let down = loss_at(-2.0 * h);
            loss_at(h);
            let difference = (up - down) / f64::from(2.0 * h);
            assert!((difference - f64::from(*g)).abs() < 0.02 * difference.abs().max(0.5), "{name}: {difference} {g}");
        }
    }
}

#[test]
fn frozen_weights_stay_and_threads_do_not_matter() {
    for (architecture, ..) in transformers(0.1) {
        check_threads(&model(architecture, Pooling::Mean, None));
    }
}

fn check_threads(model: &Model) {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| gradients(&*open(model.clone()).unwrap(), &batch(), Some(Dropout { seed: 3 })))
    };
    let (one, three) = (run(1), run(3));
    assert_eq!(one.0, three.0);
    assert!(one.1 == three.1, "gradients depend on the number of threads");
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| gradients_of_states(&*open(model.clone()).unwrap(), &batch(), Some(Dropout { seed: 3 }), true))
    };
    assert!(run(1) == run(3), "gradients of token states depend on the number of threads");
}

/// Gradient checkpointing computes again what was computed: the same gradients, bit for bit.
#[test]
fn gradient_checkpointing_changes_nothing() {
    for (architecture, _, all) in transformers(0.2) {
        let upper = match &architecture {
            Architecture::T5(_) => "encoder.block.1.layer.0.SelfAttention.q",
            _ => "encoder.layer.1.attention.self.query",
        };
        let upper = LoraConfig { targets: vec![upper.to_owned()].into(), ..all.clone() };
        for lora_config in [None, Some(&all), Some(&upper)] {
            let mut backbone = open(model(architecture.clone(), Pooling::Mean, lora_config)).unwrap();
            for dropout in [None, Some(Dropout { seed: 5 })] {
                let mut run = |on| {
                    backbone.set_gradient_checkpointing(on).unwrap();
                    gradients_of_states(&*backbone, &masked(), dropout, true)
                };
                assert!(run(false) == run(true), "checkpointing changed states or gradients");
                // Tapes are used again, also by the other way.
                assert!(run(true) == run(false), "checkpointing changed states or gradients");
            }
        }
    }
    let config = StaticConfig { vocab_size: 50, dim: 12, weighted: true, positions: 0 };
    let mut bag = open(model(Architecture::StaticEmbedding(config), Pooling::Mean, None)).unwrap();
    assert!(bag.set_gradient_checkpointing(false).is_ok());
    let error = bag.set_gradient_checkpointing(true).unwrap_err().to_string();
    assert!(error.starts_with("train.gradient_checkpointing: needs a transformer"), "{error}");
}

#[test]
fn wrong_input_is_an_error() {
    let native = open(model(bert(Activation::Gelu, 2, 0.0), Pooling::Mean, None)).unwrap();
    let long = vec![1; 39];
    assert!(native.embed(&TokenBatch::new([&long[..38]])).is_ok());
    assert!(native.embed(&TokenBatch::new([long.as_slice()])).unwrap_err().to_string().contains("39 tokens"));
    assert!(native.embed(&TokenBatch::new([[50].as_slice()])).unwrap_err().to_string().contains("token id 50"));
    assert_eq!(native.embed(&TokenBatch::new([[].as_slice()])).unwrap(), Array2::<f32>::zeros((1, 24)));
    assert_eq!(native.embed_tokens(&TokenBatch::new([[].as_slice(), &[]])).unwrap().dim(), (0, 24));
    let (_, _, tape) = native.embed_tokens_tracked(&TokenBatch::new([[1, 2].as_slice()]), None).unwrap();
    let wrong = Array2::zeros((3, 24));
    let mut gradients = Gradients::zeros(native.parameters());
    let error = native.backward_tokens(tape, Upstream::states(wrong.view()), &mut gradients).unwrap_err();
    assert!(error.to_string().contains("gradient at the token states: has shape (3, 24), expected (2, 24)"), "{error}");
}
