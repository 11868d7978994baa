//! Memory of known sizes, reckoned by hand. The same sums stand in `wb-encoder/src/native/stack/tests.rs`, where they are
//! held to what the tapes really hold: so they agree to the byte for texts of one length, long ones too.

use wb_core::Seed;
use wb_encoder::{
    LoraConfig, TokenizerConfig,
    folder::MaxTokens,
    models::{Activation, BertConfig, StaticConfig, T5Config, TransformerSizes},
};

use super::*;

pub fn folder(architecture: Architecture) -> Folder {
    let tokenizer = TokenizerConfig { vocab_size: 300, ..TokenizerConfig::default() };
    let tokenizer = tokenizer.train(&["a b", "a b"], std::path::Path::new("made-up")).unwrap();
    Folder::fresh("made-up", architecture, tokenizer, MaxTokens::both(128), Seed(1)).unwrap()
}

/// MiniLM's sizes with a small vocabulary.
pub fn bert() -> Architecture {
    Architecture::Bert(BertConfig {
        sizes: TransformerSizes {
            vocab_size: 300,
            hidden_size: 384,
            num_hidden_layers: 6,
            num_attention_heads: 12,
            intermediate_size: 1536,
            max_position_embeddings: 128,
        },
        type_vocab_size: 2,
        layer_norm_eps: 1e-12,
        first_position: 0,
        activation: Activation::Gelu,
        hidden_dropout: 0.1,
        attention_dropout: 0.1,
    })
}

fn t5() -> Architecture {
    Architecture::T5(T5Config {
        vocab_size: 300,
        d_model: 768,
        d_kv: 64,
        d_ff: 2048,
        num_layers: 2,
        num_heads: 12,
        relative_attention_num_buckets: 32,
        relative_attention_max_distance: 128,
        layer_norm_epsilon: 1e-6,
        dropout_rate: 0.1,
    })
}

fn train(json: &str) -> TrainConfig {
    serde_json::from_str(json).unwrap()
}

/// Texts of 128 tokens, all of one length.
fn setting(negatives: usize) -> Setting {
    of_length(128.0, negatives)
}

fn of_length(length: f64, negatives: usize) -> Setting {
    let lengths = Lengths { query: length, document: length, assumed: false };
    Setting { lengths, negatives, threads: 2, is_cpu: true, untrained: false }
}

#[test]
fn activations_of_a_bert_are_those_that_its_tape_holds() {
    let mut adapted = folder(bert());
    adapted.attach(&LoraConfig::default(), Seed(2)).unwrap();
    let plain = train(r#"{"batch": {"pairs": 8}}"#);
    // 16 texts of 128 tokens. A layer: 3 · 384 + 12 · 128 + 2 · 385 + 1536 = 4,994, and 384 where the output trains.
    let all = memory(&folder(bert()), &plain, setting(0));
    assert_eq!(all.part_tokens, 2048.0);
    assert_eq!(all.kept, 4.0 * 2048.0 * (385.0 + 6.0 * 5378.0));
    assert_eq!(memory(&adapted, &plain, setting(0)).kept, 4.0 * 2048.0 * (385.0 + 6.0 * 4994.0));
    let checkpointed = train(r#"{"batch": {"pairs": 8}, "gradient_checkpointing": true}"#);
    assert_eq!(memory(&adapted, &checkpointed, setting(0)).kept, 4.0 * 2048.0 * (385.0 + 6.0 * 384.0));
}

#[test]
fn activations_of_a_t5_are_those_that_its_tape_holds() {
    for (targets, context) in [(r#"["q", "v"]"#, 0.0), (r#"["q", "o"]"#, 768.0)] {
        let mut folder = folder(t5());
        folder.attach(&serde_json::from_str(&format!("{{\"targets\": {targets}}}")).unwrap(), Seed(2)).unwrap();
        let found = memory(&folder, &train(r#"{"batch": {"pairs": 1}, "negatives": 1}"#), setting(0));
        let layer = 2.0 * 769.0 + 3.0 * 768.0 + 12.0 * 128.0 + context + 2.0 * 2048.0;
        assert_eq!(found.kept, 4.0 * 256.0 * (769.0 + 2.0 * layer));
    }
}

/// Numbers that attention keeps do not grow with the square of a text that is taken in blocks; its buffers are those of blocks.
#[test]
fn long_texts_keep_no_probabilities() {
    let plain = train(r#"{"batch": {"pairs": 2}}"#);
    let of = |length: f64| memory(&folder(bert()), &plain, of_length(length, 0));
    let layer = |keys: f64| 3.0 * 384.0 + 12.0 * keys + 384.0 + 2.0 * 385.0 + 1536.0;
    assert_eq!(of(512.0).kept, 4.0 * 2048.0 * (385.0 + 6.0 * layer(512.0)));
    assert_eq!(of(600.0).kept, 4.0 * 2400.0 * (385.0 + 6.0 * layer(0.0)));
    // Two threads' groups: three streams, projections, context and the wide layer twice; and a head's scores three times.
    let buffer = 3.0 * 384.0 + 3.0 * 384.0 + 384.0 + 2.0 * 1536.0;
    assert_eq!(of(512.0).buffers, 4.0 * 2.0 * ((256.0 + 512.0) * buffer + 3.0 * 512.0 * 512.0));
    assert_eq!(of(600.0).buffers, 4.0 * 2.0 * ((256.0 + 600.0) * buffer + 3.0 * 256.0 * 600.0));
    // Of longer texts a device keeps nothing either, and its buffers are those of one layer's block.
    let on_device = |length: f64| {
        let setting = Setting { is_cpu: false, ..of_length(length, 0) };
        let cost = memory(&folder(bert()), &plain, setting);
        [cost.kept / length, cost.buffers / length]
    };
    let [[short, no_buffer], [kept, buffer], [longer, more]] = [256.0, 512.0, 1024.0].map(on_device);
    assert_eq!((kept, no_buffer, more), (longer, 0.0, buffer));
    assert_eq!(short - kept, 4.0 * 4.0 * 6.0 * 4.0 * 12.0 * 256.0);
    assert_eq!(buffer, 4.0 * 4.0 * 4.0 * 12.0 * 512.0);
    // Short queries keep theirs beside long documents.
    let lengths = Lengths { query: 100.0, document: 900.0, assumed: false };
    let mixed = memory(&folder(bert()), &plain, Setting { lengths, ..setting(0) }).kept;
    let expected = 4.0 * (200.0 * (385.0 + 6.0 * layer(100.0)) + 1800.0 * (385.0 + 6.0 * layer(0.0)));
    assert!((mixed - expected).abs() < 1.0, "{mixed} {expected}");
}

/// Memory of a part alone, by whichever limit comes first; the batch's vectors and scores stay.
#[test]
fn gradient_caching_keeps_a_part() {
    let of = |batch: &str| memory(&folder(bert()), &train(&format!(r#"{{"batch": {batch}}}"#)), setting(3));
    // 8 queries and 32 documents.
    let whole = of(r#"{"pairs": 8}"#);
    assert_eq!(whole.part_tokens, 40.0 * 128.0);
    assert_eq!(of(r#"{"pairs": 8, "micro_tokens": 1024}"#).part_tokens, 1024.0);
    assert_eq!(of(r#"{"pairs": 8, "micro_texts": 4}"#).part_tokens, 512.0);
    let part = of(r#"{"pairs": 8, "micro_tokens": 1024}"#);
    assert!((part.kept * 5.0 - whole.kept).abs() < 1.0, "{part:?} {whole:?}");
    // 40 vectors of 384 three times, 8 · 32 scores twice.
    assert_eq!((part.batch, whole.batch), (4.0 * (40.0 * 384.0 * 3.0 + 512.0), part.batch));
}

#[test]
fn weights_count_four_times_where_they_train() {
    let of = |json: &str| memory(&folder(bert()), &train(json), setting(0)).weights;
    let (all, trainable) = folder(bert()).model.parameters.counts();
    assert_eq!(all, trainable);
    assert_eq!(of("{}"), 4.0 * 4.0 * all as f64);
    assert_eq!(of(r#"{"ema": 0.99}"#), 4.0 * 5.0 * all as f64);
    let measured = Setting { untrained: true, ..setting(0) };
    assert_eq!(memory(&folder(bert()), &train("{}"), measured).weights, 4.0 * 5.0 * all as f64);
    let mut adapted = folder(bert());
    adapted.attach(&LoraConfig::default(), Seed(2)).unwrap();
    let (all, trainable) = adapted.model.parameters.counts();
    let found = memory(&adapted, &train("{}"), setting(0));
    assert_eq!(found.weights, 4.0 * (all + 3 * trainable) as f64);
    // 6 layers of 4 · 384² + 2 · 384 · 1536 packed for the backward pass, and eight sums of what trains.
    let linear = 6.0 * (4.0 * 384.0 * 384.0 + 2.0 * 384.0 * 1536.0);
    assert_eq!(found.copies, 4.0 * (linear + 8.0 * trainable as f64));
    // Both packed beside weights that train.
    let found = memory(&folder(bert()), &train("{}"), setting(0)).copies;
    assert!(found > 4.0 * 2.0 * linear, "{found}");
}

#[test]
fn a_bag_keeps_next_to_nothing_and_a_device_more_than_the_processor() {
    let bag = Architecture::StaticEmbedding(StaticConfig { vocab_size: 300, dim: 16, weighted: true, positions: 0 });
    let found = memory(&folder(bag), &train(r#"{"batch": {"pairs": 8}}"#), setting(0));
    assert_eq!((found.kept, found.copies), (4.0 * 2.0 * 2048.0, 0.0));
    let on_device = Setting { is_cpu: false, ..setting(0) };
    let (cpu, device) =
        (memory(&folder(bert()), &train("{}"), setting(0)), memory(&folder(bert()), &train("{}"), on_device));
    let times = device.kept / cpu.kept;
    assert!((2.0..5.0).contains(&times), "{times}");
}

/// A device has the weights and all that a step needs of those that train; in 16 bits half of the frozen matrices.
#[test]
fn a_device_has_the_state_of_a_training() {
    let on_device = Setting { is_cpu: false, ..setting(0) };
    let mut adapted = folder(bert());
    adapted.attach(&LoraConfig::default(), Seed(2)).unwrap();
    let (all, trainable) = adapted.model.parameters.counts();
    let of = |json: &str| memory(&adapted, &train(json), on_device);
    assert_eq!(of("{}").copies, 4.0 * (all + 3 * trainable) as f64);
    assert_eq!(of(r#"{"ema": 0.9}"#).copies, 4.0 * (all + 4 * trainable) as f64);
    let linear = 6.0 * (4.0 * 384.0 * 384.0 + 2.0 * 384.0 * 1536.0);
    assert_eq!(of(r#"{"precision": "bf16"}"#).copies, of("{}").copies - 2.0 * linear);
    // Two outputs and six inputs of 384 numbers a token, and a layer of all tokens, which are as many as are computed at once.
    let again = of(r#"{"gradient_checkpointing": true}"#);
    assert_eq!((again.part_tokens, again.kept), (16384.0, 4.0 * 16384.0 * 8.0 * 384.0));
    let layer = 16.0 * 384.0 + 4.0 * 12.0 * 128.0 + 4.0 * 1536.0;
    assert_eq!(again.buffers, 4.0 * 16384.0 * layer);
}
