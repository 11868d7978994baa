//! Memory of long texts, on a device that `WB_TEST_DEVICE` names and that counts it.

use wb_encoder::{Architecture, Backbone, BurnBackbone, Dropout, Gradients, Model, Pooling};

use crate::{
    own_process::{counts_memory, passes_alone},
    passes::{batch, model, qwen3},
    test_device,
};

/// Tokens of the text: scores of all queries and keys, for four heads, take 268 MB, and attention has several of them.
const TOKENS: usize = 4096;
/// Bytes that the device may have taken: scores of a block are 34 MB.
const MOST: u64 = 400_000_000;
/// Tokens of a text that is trained on, whose probabilities of one layer take 67 MB.
const TRAINED: usize = 2048;
/// Bytes that a step may have taken: more than half of it are scores of a block and what is computed of them, 17 MB each.
const MOST_TRAINED: u64 = 220_000_000;

/// A Qwen3 that takes texts of so many tokens.
fn long(tokens: usize, layers: usize, adapters: bool) -> Model {
    let Architecture::Qwen(mut config) = qwen3() else { panic!("a Qwen3 is expected") };
    config.decoder.sizes.max_position_embeddings = tokens;
    config.decoder.sizes.num_hidden_layers = layers;
    model(Architecture::Qwen(config), Pooling::Last, adapters)
}

#[test]
fn a_long_text_needs_no_square_of_its_length() {
    passes_alone("long_texts::a_long_text");
}

#[test]
fn a_step_on_a_long_text_keeps_no_square_of_its_length() {
    passes_alone("long_texts::a_step_on_a_long_text");
}

#[test]
#[ignore = "run by a_step_on_a_long_text_keeps_no_square_of_its_length in a process of its own"]
fn a_step_on_a_long_text() {
    let device = test_device();
    if !counts_memory(&device, "a_step_on_a_long_text_keeps_no_square_of_its_length") {
        return;
    }
    let backbone = BurnBackbone::new(long(TRAINED, 8, true), device.burn(), "test device").unwrap();
    let batch = batch(&[TRAINED]);
    let (embeddings, tape) = backbone.embed_tracked(&batch, Some(Dropout { seed: 1 })).unwrap();
    let kept = device.burn().memory_pool_usage().unwrap().bytes_in_use;
    let mut gradients = Gradients::zeros(backbone.parameters());
    backbone.backward(tape, embeddings.view(), &mut gradients).unwrap();
    let taken = device.burn().memory_pool_usage().unwrap().bytes_reserved;
    eprintln!("{}: {kept} bytes kept, {taken} taken for a step on a text of {TRAINED} tokens", device.description);
    assert!(taken <= MOST_TRAINED, "{taken} bytes for a step on a text of {TRAINED} tokens, at most {MOST_TRAINED}");
}

#[test]
#[ignore = "run by a_long_text_needs_no_square_of_its_length in a process of its own"]
fn a_long_text() {
    let device = test_device();
    if !counts_memory(&device, "a_long_text_needs_no_square_of_its_length") {
        return;
    }
    let backbone = BurnBackbone::new(long(TOKENS, 2, false), device.burn(), "test device").unwrap();
    drop(backbone.embed(&batch(&[TOKENS])).unwrap());
    let taken = device.burn().memory_pool_usage().unwrap().bytes_reserved;
    eprintln!("{}: {taken} bytes for a text of {TOKENS} tokens", device.description);
    assert!(taken <= MOST, "{taken} bytes for a text of {TOKENS} tokens, at most {MOST}");
}
