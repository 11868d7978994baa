//! Transformers that nobody has published, of every architecture's switches drawn at random: both ways of computing them
//! agree, on short texts and on such as are computed in blocks.

use rand::{RngExt, seq::IndexedRandom};
use wb_core::Seed;

use super::{
    attention::WHOLE,
    open,
    tests::{batch, check_batch_within, gradients_of_states, shaken},
};
use crate::{
    backbone::Dropout,
    batch::TokenBatch,
    lora::LoraConfig,
    models::{
        Activation, Architecture, BertConfig, DecoderShape, GemmaConfig, ModernBertConfig, NomicBertConfig, QwenConfig,
        QwenVersion, T5Config, TransformerSizes,
    },
    pooling::Pooling,
};

const ACTIVATIONS: [Activation; 4] = [Activation::Gelu, Activation::GeluTanh, Activation::Relu, Activation::Silu];

fn one<T: Copy>(rng: &mut impl RngExt, of: &[T]) -> T {
    *of.choose(rng).unwrap()
}

fn drawn(rng: &mut impl RngExt, dropout: f64) -> Architecture {
    let (heads, size) = (one(rng, &[2, 4, 6]), one(rng, &[4, 6, 8]));
    let sizes = TransformerSizes {
        vocab_size: 50,
        hidden_size: heads * size,
        num_hidden_layers: one(rng, &[1, 2, 3, 4]),
        num_attention_heads: heads,
        intermediate_size: rng.random_range(8..40),
        max_position_embeddings: 2 * WHOLE,
    };
    let bert = BertConfig {
        sizes,
        type_vocab_size: one(rng, &[1, 2]),
        layer_norm_eps: 1e-6,
        first_position: 0,
        activation: one(rng, &ACTIVATIONS),
        hidden_dropout: dropout,
        attention_dropout: dropout,
    };
    let decoder = DecoderShape {
        sizes,
        num_key_value_heads: one(rng, &[1, 2, heads]),
        head_dim: one(rng, &[4, 8, 10]),
        rms_norm_eps: 1e-6,
        rope_theta: one(rng, &[100.0, 10_000.0]),
        attention_dropout: dropout,
    };
    match rng.random_range(0..6) {
        0 => Architecture::Bert(BertConfig { first_position: one(rng, &[0, 2]), ..bert }),
        1 => Architecture::T5(T5Config {
            vocab_size: 50,
            d_model: sizes.hidden_size,
            d_kv: rng.random_range(3..10),
            d_ff: sizes.intermediate_size,
            num_layers: sizes.num_hidden_layers,
            num_heads: heads,
            relative_attention_num_buckets: one(rng, &[8, 16]),
            relative_attention_max_distance: 20,
            layer_norm_epsilon: 1e-6,
            dropout_rate: dropout,
        }),
        2 => Architecture::Qwen(QwenConfig {
            version: one(rng, &[QwenVersion::Qwen2, QwenVersion::Qwen3]),
            decoder,
            is_causal: rng.random(),
            attention_changed: false,
        }),
        3 => Architecture::ModernBert(ModernBertConfig {
            sizes,
            norm_eps: 1e-5,
            norm_bias: rng.random(),
            attention_bias: rng.random(),
            mlp_bias: rng.random(),
            activation: one(rng, &ACTIVATIONS),
            local_attention: one(rng, &[2, 8, 14]),
            global_attn_every_n_layers: one(rng, &[1, 2, 3]),
            global_rope_theta: 1000.0,
            local_rope_theta: 100.0,
            embedding_dropout: dropout,
            attention_dropout: dropout,
            mlp_dropout: dropout,
        }),
        4 => Architecture::NomicBert(NomicBertConfig { bert, rope_theta: 1000.0 }),
        _ => Architecture::Gemma(GemmaConfig {
            decoder,
            query_pre_attn_scalar: one(rng, &[4, 11]),
            use_bidirectional_attention: rng.random(),
            attention_changed: false,
            sliding_window: one(rng, &[3, 8]),
            full_attention: (0..sizes.num_hidden_layers).map(|_| rng.random()).collect(),
            rope_local_base_freq: 100.0,
            attention_bias: rng.random(),
            activation: one(rng, &ACTIVATIONS),
        }),
    }
}

/// A transformer of these draws, with adapters or without, on a batch, with dropout or without.
fn check(number: u64, batch: &TokenBatch) {
    let mut rng = Seed(number).stream("made up");
    let rate = one(&mut rng, &[0.0, 0.2]);
    let architecture = drawn(&mut rng, rate);
    architecture.validate("made up").unwrap();
    let pooling = one(&mut rng, &Pooling::ALL);
    let lora: LoraConfig =
        serde_json::from_str(r#"{"rank": 2, "alpha": 4, "dropout": 0.1, "targets": "all-linear"}"#).unwrap();
    let lora = rng.random::<bool>().then_some(lora);
    let dropout = (rate > 0.0).then_some(Dropout { seed: number });
    eprintln!("{number}: {architecture:?}, {pooling:?}, adapters {}, {dropout:?}", lora.is_some());
    // States are about as large as one.
    check_batch_within(2e-5, shaken(architecture, pooling, lora.as_ref(), 1.0, 0.1), batch, dropout);
}

#[test]
fn made_up_transformers_equal_burn() {
    (0..40).for_each(|number| check(number, &batch()));
}

/// A text of some blocks, one of the most tokens that are taken whole, and a short one.
#[test]
fn made_up_transformers_equal_burn_on_long_texts() {
    let text = |tokens: usize| (0..tokens as u32).map(|at| (at * at * 5 + at * 3) % 50).collect::<Vec<u32>>();
    let texts = [text(WHOLE + 100), text(3), text(WHOLE)];
    let batch = TokenBatch::new(texts.iter().map(Vec::as_slice));
    (100..112).for_each(|number| check(number, &batch));
}

/// A text alone is the work of all threads where the caller is none of them, and every bit stays.
#[test]
fn one_long_text_is_shared_and_keeps_its_bits() {
    let text: Vec<u32> = (0..2 * WHOLE as u32).map(|at| (at * at * 5 + at * 3) % 50).collect();
    let batch = TokenBatch::new([&text[..]]);
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for number in 210..214 {
        let drawn = drawn(&mut Seed(number).stream("made up"), 0.1);
        let native = open(shaken(drawn, Pooling::Mean, None, 1.0, 0.1)).unwrap();
        let run = || {
            let (states, gradients) = gradients_of_states(&*native, &batch, Some(Dropout { seed: 3 }), true);
            let gradients: Vec<Vec<f32>> = gradients.iter().cloned().collect();
            (native.embed_tokens(&batch).unwrap(), states, gradients)
        };
        assert!(run() == one.install(run), "{number}");
    }
}

/// Numbers of threads share one long text's rows and queries, and every bit stays.
#[test]
fn threads_do_not_change_long_texts() {
    let text: Vec<u32> = (0..2 * WHOLE as u32).map(|at| (at * at * 5 + at * 3) % 50).collect();
    let batch = TokenBatch::new([&text[..], &text[..7]]);
    for number in 200..206 {
        let drawn = drawn(&mut Seed(number).stream("made up"), 0.1);
        let native = open(shaken(drawn, Pooling::Mean, None, 1.0, 0.1)).unwrap();
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let (states, gradients) = gradients_of_states(&*native, &batch, Some(Dropout { seed: 3 }), true);
                let gradients: Vec<Vec<f32>> = gradients.iter().cloned().collect();
                (native.embed_tokens(&batch).unwrap(), states, gradients)
            })
        };
        assert!(with(1) == with(4), "{number}");
    }
}
