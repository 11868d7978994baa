//! Memory of long texts, on a device that `WB_TEST_DEVICE` names and that counts it.

use wb_encoder::{Architecture, Backbone, BurnBackbone, Pooling};

use crate::{
    own_process::{counts_memory, passes_alone},
    passes::{batch, model, qwen3},
    test_device,
};

/// Tokens of the text: scores of all queries and keys, for four heads, take 268 MB, and attention has several of them.
const TOKENS: usize = 4096;
/// Bytes that the device may have taken: scores of a block are 34 MB.
const MOST: u64 = 400_000_000;

#[test]
fn a_long_text_needs_no_square_of_its_length() {
    passes_alone("long_texts::a_long_text");
}

#[test]
#[ignore = "run by a_long_text_needs_no_square_of_its_length in a process of its own"]
fn a_long_text() {
    let device = test_device();
    if !counts_memory(&device, "a_long_text_needs_no_square_of_its_length") {
        return;
    }
    let Architecture::Qwen(mut config) = qwen3() else { return };
    config.decoder.sizes.max_position_embeddings = TOKENS;
    let model = model(Architecture::Qwen(config), Pooling::Last, false);
    let backbone = BurnBackbone::new(model, device.burn(), "test device").unwrap();
    drop(backbone.embed(&batch(&[TOKENS])).unwrap());
    let taken = device.burn().memory_pool_usage().unwrap().bytes_reserved;
    eprintln!("{}: {taken} bytes for a text of {TOKENS} tokens", device.description);
    assert!(taken <= MOST, "{taken} bytes for a text of {TOKENS} tokens, at most {MOST}");
}
