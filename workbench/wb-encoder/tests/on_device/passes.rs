//! Small transformers on the device that `WB_TEST_DEVICE` names, held to the processor's own kernels; and what crosses
//! between a device and the host in a step.

use ndarray::Array2;
use wb_core::Seed;
use wb_encoder::{
    Architecture, Backbone, BurnBackbone, DeviceConfig, Dropout, Gradients, LoraConfig, Model, Padding, Pooling,
    TokenBatch, Upstream, Values, WeightType, lora,
    models::{
        Activation, BertConfig, DecoderShape, ModernBertConfig, QwenConfig, QwenVersion, StaticConfig, T5Config,
        TransformerSizes,
    },
    train::{TrainConfig, state::TrainState},
};

use crate::{
    own_process::{counts_memory, passes_alone},
    test_device,
};

pub const VOCAB: usize = 200;
const WIDTH: usize = 64;

/// Largest difference of an embedding or a state, of the largest of them.
pub const STATES: f64 = 5e-6;
/// Largest difference of a weight's gradient in Euclidean norms.
pub const GRADIENTS: f64 = 2e-5;

fn sizes() -> TransformerSizes {
    TransformerSizes {
        vocab_size: VOCAB,
        hidden_size: WIDTH,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        intermediate_size: 128,
        max_position_embeddings: 1_100,
    }
}

pub fn bert() -> Architecture {
    Architecture::Bert(BertConfig {
        sizes: sizes(),
        type_vocab_size: 2,
        layer_norm_eps: 1e-12,
        first_position: 0,
        activation: Activation::Gelu,
        hidden_dropout: 0.1,
        attention_dropout: 0.1,
    })
}

pub fn t5() -> Architecture {
    Architecture::T5(T5Config {
        vocab_size: VOCAB,
        d_model: WIDTH,
        d_kv: 16,
        d_ff: 128,
        num_layers: 2,
        num_heads: 4,
        relative_attention_num_buckets: 32,
        relative_attention_max_distance: 128,
        layer_norm_epsilon: 1e-6,
        dropout_rate: 0.1,
    })
}

pub fn qwen3() -> Architecture {
    let decoder = DecoderShape {
        sizes: sizes(),
        num_key_value_heads: 2,
        head_dim: 16,
        rms_norm_eps: 1e-6,
        rope_theta: 1_000_000.0,
        attention_dropout: 0.1,
    };
    Architecture::Qwen(QwenConfig { version: QwenVersion::Qwen3, decoder, is_causal: true, attention_changed: false })
}

pub fn modern_bert() -> Architecture {
    Architecture::ModernBert(ModernBertConfig {
        sizes: sizes(),
        norm_eps: 1e-5,
        norm_bias: false,
        attention_bias: false,
        mlp_bias: false,
        activation: Activation::Gelu,
        local_attention: 128,
        global_attn_every_n_layers: 2,
        global_rope_theta: 160_000.0,
        local_rope_theta: 10_000.0,
        embedding_dropout: 0.1,
        attention_dropout: 0.1,
        mlp_dropout: 0.1,
    })
}

/// Fresh weights, moved so that none is zero, and adapters in front of them if there are some.
pub fn model(architecture: Architecture, pooling: Pooling, adapters: bool) -> Model {
    let mut parameters = architecture.fresh(Seed(5));
    let config: LoraConfig = serde_json::from_str(r#"{"rank": 4, "dropout": 0.1, "targets": "all-linear"}"#).unwrap();
    let adapter = adapters.then(|| lora::attach(&mut parameters, &architecture, &config, Seed(6), "made up").unwrap());
    for (at, parameter) in parameters.iter_mut().enumerate() {
        let moved = |(i, value): (usize, &mut f32)| *value += ((i * 7 + at) as f32 * 0.61).sin() * 0.05;
        parameter.values.floats_mut().iter_mut().enumerate().for_each(moved);
    }
    Model { architecture, parameters, pooling, adapter }
}

pub fn batch(lengths: &[usize]) -> TokenBatch {
    let text = |n: &usize| (0..*n).map(|at| ((at * at * 5 + at * 3 + n) % VOCAB) as u32).collect::<Vec<_>>();
    let texts: Vec<Vec<u32>> = lengths.iter().map(text).collect();
    TokenBatch::new(texts.iter().map(Vec::as_slice))
}

/// Which of a pass's results the made-up loss Σ result · weight is of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Loss {
    Embeddings,
    States,
}

pub struct Step {
    pub embeddings: Array2<f32>,
    pub states: Array2<f32>,
    pub gradients: Gradients,
}

pub fn step(backbone: &dyn Backbone, batch: &TokenBatch, dropout: Option<Dropout>, loss: Loss) -> Step {
    let (embeddings, states, tape) = backbone.embed_tokens_tracked(batch, dropout).unwrap();
    let weights = |of: &Array2<f32>| Array2::from_shape_fn(of.dim(), |(i, j)| ((i * 13 + j * 5) as f32 * 0.41).sin());
    let mut gradients = Gradients::zeros(backbone.parameters());
    match loss {
        Loss::Embeddings => backbone.backward(tape, weights(&embeddings).view(), &mut gradients),
        Loss::States => backbone.backward_tokens(tape, Upstream::states(weights(&states).view()), &mut gradients),
    }
    .unwrap();
    backbone.collect_gradients(&mut gradients).unwrap();
    Step { embeddings, states, gradients }
}

/// Largest difference, of the largest number.
pub fn apart(found: &Array2<f32>, expected: &Array2<f32>) -> f64 {
    assert_eq!(found.dim(), expected.dim());
    let largest = expected.iter().fold(0f32, |largest, x| largest.max(x.abs()));
    let pairs = found.iter().zip(expected);
    let worst = pairs
        .map(|(a, b)| f64::from((a - b).abs()))
        .fold(0f64, |worst, d| if d > worst || d.is_nan() { d } else { worst });
    worst / f64::from(largest)
}

pub fn norm(values: impl Iterator<Item = f64>) -> f64 {
    values.map(|x| x * x).sum::<f64>().sqrt()
}

fn check(architecture: fn() -> Architecture, pooling: Pooling, lengths: &[usize]) {
    let (device, batch) = (test_device(), batch(lengths));
    let mut worst = [(0f64, String::new()), (0f64, String::new())];
    for (adapters, dropout, loss) in [
        (true, None, Loss::Embeddings),
        (true, Some(Dropout { seed: 3 }), Loss::States),
        (false, Some(Dropout { seed: 4 }), Loss::Embeddings),
        (false, None, Loss::States),
    ] {
        let model = model(architecture(), pooling, adapters);
        let cpu = DeviceConfig::Cpu.open().unwrap().open_backbone(model.clone()).unwrap();
        let other = BurnBackbone::new(model, device.burn(), "test device").unwrap();
        let (expected, found) = (step(&*cpu, &batch, dropout, loss), step(&other, &batch, dropout, loss));
        let mut keep = |which: usize, error: f64, what: String| {
            if error > worst[which].0 || error.is_nan() {
                worst[which] = (error, what);
            }
        };
        let case = format!("{lengths:?}, adapters {adapters}, {dropout:?}, {loss:?}");
        keep(0, apart(&found.embeddings, &expected.embeddings), format!("embeddings, {case}"));
        keep(0, apart(&found.states, &expected.states), format!("states, {case}"));
        let plain = other.embed(&batch).unwrap();
        keep(0, apart(&plain, &cpu.embed(&batch).unwrap()), format!("embeddings without gradients, {case}"));
        let of = |gradient: &[f32]| norm(gradient.iter().map(|g| f64::from(*g)));
        let largest = expected.gradients.iter().map(|gradient| of(gradient)).fold(0.0, f64::max);
        for (at, parameter) in cpu.parameters().iter().enumerate().filter(|(_, parameter)| parameter.trainable) {
            let (a, b) = (found.gradients.at(at), expected.gradients.at(at));
            let error = norm(a.iter().zip(b).map(|(a, b)| f64::from(a - b))) / of(b).max(1e-3 * largest);
            keep(1, error, format!("gradient of {}, {case}", parameter.name));
        }
    }
    for ((error, what), limit) in worst.into_iter().zip([STATES, GRADIENTS]) {
        eprintln!("{}: {error:.1e}, at most {limit:.0e}: {what}", device.description);
        assert!(error <= limit, "{error:.2e}, expected at most {limit:.0e}: {what}");
    }
}

/// Lengths of few tokens, around a bucket, and of the longest that are usual.
const LENGTHS: [&[usize]; 4] = [&[1, 2], &[17, 5, 16], &[128, 100], &[513, 300]];

/// Lengths whose attention is computed in blocks, of which some have keys before and after them out of reach.
const BLOCKS: &[usize] = &[1_090, 700];

#[test]
fn a_bert_is_the_processors() {
    LENGTHS.iter().for_each(|lengths| check(bert, Pooling::Mean, lengths));
}

/// Rows that are no multiple of what kernels read at once, and heads of three.
#[test]
fn a_bert_of_odd_sizes_is_the_processors() {
    let odd = || match bert() {
        Architecture::Bert(config) => Architecture::Bert(BertConfig {
            sizes: TransformerSizes {
                hidden_size: 51,
                num_attention_heads: 3,
                intermediate_size: 77,
                num_hidden_layers: 1,
                ..config.sizes
            },
            ..config
        }),
        other => other,
    };
    [&[1][..], &[7, 33, 20]].into_iter().for_each(|lengths| check(odd, Pooling::Mean, lengths));
}

#[test]
fn a_t5_is_the_processors() {
    LENGTHS.into_iter().chain([BLOCKS]).for_each(|lengths| check(t5, Pooling::WeightedMean, lengths));
}

#[test]
fn a_qwen3_is_the_processors() {
    LENGTHS.into_iter().chain([BLOCKS]).for_each(|lengths| check(qwen3, Pooling::Last, lengths));
}

#[test]
fn a_modern_bert_is_the_processors() {
    LENGTHS.into_iter().chain([BLOCKS]).for_each(|lengths| check(modern_bert, Pooling::Cls, lengths));
}

#[test]
fn a_bag_is_the_processors() {
    let bag =
        || Architecture::StaticEmbedding(StaticConfig { vocab_size: VOCAB, dim: WIDTH, weighted: true, positions: 8 });
    let (device, batch) = (test_device(), batch(&[1, 17, 40]));
    let mut model = model(bag(), Pooling::Mean, false);
    model.parameters.iter_mut().for_each(|parameter| parameter.trainable = true);
    let cpu = DeviceConfig::Cpu.open().unwrap().open_backbone(model.clone()).unwrap();
    let other = BurnBackbone::new(model, device.burn(), "test device").unwrap();
    let [expected, found] =
        [&*cpu, &other as &dyn Backbone].map(|backbone| step(backbone, &batch, None, Loss::Embeddings));
    let error = apart(&found.embeddings, &expected.embeddings);
    assert!(error <= STATES, "{error:.2e}");
    for (a, b) in found.gradients.iter().zip(expected.gradients.iter()) {
        let error = norm(a.iter().zip(b).map(|(a, b)| f64::from(a - b))) / norm(b.iter().map(|b| f64::from(*b)));
        assert!(error <= GRADIENTS, "{error:.2e}");
    }
}

/// Counts what a step of adapters moves: ids and the embeddings' gradient go there, embeddings and the adapters' gradients
/// come back in two waits, and weights that do not train stay.
#[test]
fn what_crosses_in_a_step_is_counted() {
    let model = model(bert(), Pooling::Mean, true);
    let (of_frozen, of_adapters): (u64, u64) = model.parameters.iter().fold((0, 0), |(frozen, adapters), p| {
        let bytes = 4 * p.values.len() as u64;
        if p.trainable { (frozen, adapters + bytes) } else { (frozen + bytes, adapters) }
    });
    let mut backbone = BurnBackbone::new(model, test_device().burn(), "test device").unwrap();
    let start = backbone.traffic();
    assert_eq!(start.uploaded, of_frozen + of_adapters);
    // Two groups: the short texts are more than it costs to launch kernels for them alone.
    let batch = batch(&[128; 64].into_iter().chain([9; 20]).collect::<Vec<_>>());
    step(&backbone, &batch, Some(Dropout { seed: 1 }), Loss::Embeddings);
    let first = backbone.traffic();
    backbone
        .update(&mut |parameters| {
            parameters.iter_mut().filter(|p| p.trainable).for_each(|p| {
                p.values.floats_mut()[0] += 1.0;
            })
        })
        .unwrap();
    let second = backbone.traffic();
    assert_eq!(second.uploaded - first.uploaded, of_adapters, "frozen weights stay where they are");
    let (texts, dim) = (batch.len() as u64, WIDTH as u64);
    let padded = 64 * 128 + 20 * 16;
    // Of both groups: ids, a length and a place in the batch of each text, the gradient of embeddings; and once a group two
    // words for each place of dropout: eight for the embeddings, eight a layer, and one for each of its six adapters.
    let expected = 4 * padded + 8 * texts + 4 * texts * dim + 2 * 8 * (8 + 2 * (8 + 6));
    assert_eq!(first.uploaded - start.uploaded, expected);
    // Ids, lengths, keys of masks and the gradient of each group.
    assert_eq!(first.uploads - start.uploads, 2 * 4);
    assert_eq!(backbone.padding(), Some(Padding { tokens: 64 * 128 + 20 * 9, padding: 20 * 7 }));
    // This loss's pass reads the token states too.
    assert_eq!(first.downloaded - start.downloaded, 4 * texts * dim + 4 * padded * dim + of_adapters);
    assert_eq!(first.waits - start.waits, 2);
}

/// Tensors of a pass that nobody goes back through are gone with its tape, as those of a part whose gradients are cached.
/// In a process of its own, without what other tests left on the device.
#[test]
fn a_tape_that_is_dropped_leaves_nothing() {
    passes_alone("passes::tapes_that_are_dropped");
}

#[test]
#[ignore = "run by a_tape_that_is_dropped_leaves_nothing in a process of its own"]
fn tapes_that_are_dropped() {
    let device = test_device();
    if !counts_memory(&device, "a_tape_that_is_dropped_leaves_nothing") {
        return;
    }
    let in_use = || device.burn().memory_pool_usage().unwrap().bytes_in_use;
    let mut backbone = BurnBackbone::new(model(bert(), Pooling::Mean, true), device.burn(), "test device").unwrap();
    let batch = batch(&[100; 8]);
    for again in [false, true] {
        backbone.set_gradient_checkpointing(again).unwrap();
        drop(backbone.embed(&batch).unwrap());
        device.burn().sync().unwrap();
        let before = in_use();
        let (embeddings, tape) = backbone.embed_tracked(&batch, Some(Dropout { seed: 1 })).unwrap();
        let held = in_use() - before;
        drop(tape);
        device.burn().sync().unwrap();
        let left = in_use().saturating_sub(before);
        eprintln!("{}: {held} bytes with the tape, {left} without", device.description);
        // One state of a layer is more than what remains of the ids and keys of kernels' calls.
        let one_state = 8 * 112 * WIDTH as u64 * 4;
        assert!(held > 2 * one_state && left < one_state, "{held} bytes with the tape, {left} without");
        // The tape of the same pass goes back as ever.
        let (_, tape) = backbone.embed_tracked(&batch, Some(Dropout { seed: 1 })).unwrap();
        let mut gradients = Gradients::zeros(backbone.parameters());
        backbone.backward(tape, embeddings.view(), &mut gradients).unwrap();
        assert!(norm(gradients.iter().flatten().map(|g| f64::from(*g))) > 0.0);
    }
}

/// A table of tokens that does not train is on the device as in its file, in half the bytes where that has 16 bits: the same
/// numbers, forward and in the gradients of adapters.
#[test]
fn a_table_of_sixteen_bits_stays_that() {
    let (words, batch) = ("embeddings.word_embeddings.weight", batch(&[17, 5, 16]));
    let run = |kind: WeightType| {
        let mut model = model(bert(), Pooling::Mean, true);
        let at = model.parameters.position(words).unwrap();
        let table = &mut model.parameters.iter_mut().nth(at).unwrap().values;
        let bits = |value: &f32| half::f16::from_f32(*value).to_le_bytes();
        let rounded = Values::from_bytes(WeightType::F16, &table.floats().iter().flat_map(bits).collect::<Vec<u8>>());
        *table = if kind == WeightType::F16 { rounded } else { rounded.floats().into_owned().into_iter().collect() };
        let backbone = BurnBackbone::new(model, test_device().burn(), "test device").unwrap();
        let uploaded = backbone.traffic().uploaded;
        (uploaded, step(&backbone, &batch, Some(Dropout { seed: 3 }), Loss::Embeddings))
    };
    let ((more, expected), (less, found)) = (run(WeightType::F32), run(WeightType::F16));
    assert_eq!(more - less, 2 * (VOCAB * WIDTH) as u64);
    assert_eq!(found.states, expected.states);
    assert!(found.gradients.iter().eq(expected.gradients.iter()));
}

/// A frozen weight that somebody changes is on the device too.
#[test]
fn a_frozen_weight_that_changes_is_copied_again() {
    let model = model(bert(), Pooling::Mean, true);
    let mut backbone = BurnBackbone::new(model, test_device().burn(), "test device").unwrap();
    let (batch, name) = (batch(&[5, 9]), "encoder.layer.1.output.dense.weight");
    let before = backbone.embed(&batch).unwrap();
    backbone
        .update(&mut |parameters| {
            let at = parameters.position(name).unwrap();
            parameters.iter_mut().nth(at).unwrap().values.floats_mut().iter_mut().for_each(|value| *value *= 2.0);
        })
        .unwrap();
    let cpu = DeviceConfig::Cpu.open().unwrap();
    let model = Model { parameters: backbone.parameters().clone(), ..self::model(bert(), Pooling::Mean, true) };
    let expected = cpu.open_backbone(model).unwrap().embed(&batch).unwrap();
    let found = backbone.embed(&batch).unwrap();
    assert!(apart(&found, &expected) < STATES && apart(&found, &before) > 1e-2);
}

/// Gradient checkpointing, with adapters and whole, gives what is found without it.
#[test]
fn layers_that_are_computed_again_give_the_same_gradients() {
    // Of the long text no probabilities are kept.
    let (short, long) = (batch(&[17, 5, 16]), batch(&[300, 7]));
    for (architecture, pooling, batch) in [
        (bert as fn() -> _, Pooling::Mean, &long),
        (t5, Pooling::WeightedMean, &long),
        (qwen3, Pooling::Last, &short),
        (modern_bert, Pooling::Cls, &short),
    ] {
        for (adapters, loss) in [(true, Loss::Embeddings), (false, Loss::States)] {
            let model = model(architecture(), pooling, adapters);
            let mut backbone = BurnBackbone::new(model, test_device().burn(), "test device").unwrap();
            let mut run = |again: bool| {
                backbone.set_gradient_checkpointing(again).unwrap();
                step(&backbone, batch, Some(Dropout { seed: 3 }), loss)
            };
            let (expected, found) = (run(false), run(true));
            assert!(apart(&found.embeddings, &expected.embeddings) <= 1e-6);
            assert!(apart(&found.states, &expected.states) <= 1e-6);
            let size = |gradient: &[f32]| norm(gradient.iter().map(|g| f64::from(*g)));
            let largest = expected.gradients.iter().map(|gradient| size(gradient)).fold(0.0, f64::max);
            for (a, b) in found.gradients.iter().zip(expected.gradients.iter()) {
                let (size, error) = (size(b), norm(a.iter().zip(b).map(|(a, b)| f64::from(a - b))));
                // Sums in another order, in 32 bits; that of a key's bias is zero but for rounding.
                assert!(error <= 5e-6 * size.max(0.1 * largest), "{error:.2e} of {size:.2e}, largest {largest:.2e}");
            }
        }
    }
}

/// The second hundred of steps keeps less than one number a step beyond what the first, in which kernels' calls are
/// remembered, needed at most: what a step forgot would be a tensor. Not equal: what is yet to be freed when a step is
/// through differs by a few bytes. In a process of its own, without what other tests left on the device.
#[test]
fn memory_stays_over_two_hundred_steps() {
    passes_alone("passes::two_hundred_steps");
}

#[test]
#[ignore = "run by memory_stays_over_two_hundred_steps in a process of its own"]
fn two_hundred_steps() {
    let device = test_device();
    if !counts_memory(&device, "memory_stays_over_two_hundred_steps") {
        return;
    }
    let in_use = || device.burn().memory_pool_usage().unwrap().bytes_in_use;
    let mut backbone = BurnBackbone::new(model(bert(), Pooling::Mean, true), device.burn(), "test device").unwrap();
    let batch = batch(&[9, 16, 3, 12]);
    let mut state = TrainState::new(&TrainConfig::default(), backbone.parameters()).unwrap();
    state.settle(&mut backbone).unwrap();
    let mut after = |number: u64| {
        let (embeddings, tape) = backbone.embed_tracked(&batch, Some(Dropout { seed: number })).unwrap();
        backbone.backward(tape, embeddings.view(), &mut state.gradients).unwrap();
        state.gradient_norm(&mut backbone).unwrap();
        state.update(&mut backbone, 1e-4, 1.0, number).unwrap();
        device.burn().sync().unwrap();
        in_use()
    };
    let first = (1..=100).map(&mut after).max().unwrap();
    let most = (101..=200).map(&mut after).max().unwrap();
    eprintln!("{}: at most {first} bytes in use in the first hundred steps, {most} in the second", device.description);
    let one_number_a_step = 100 * size_of::<f32>() as u64;
    assert!(
        most < first + one_number_a_step,
        "at most {most} bytes in use in the second hundred steps, {first} in the first"
    );
}
