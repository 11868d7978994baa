//! Numbers that a tape keeps, by hand.

use wb_core::Seed;

use crate::{
    backbone::Backbone,
    batch::TokenBatch,
    lora::{self, LoraConfig},
    models::{Activation, Architecture, BertConfig, T5Config, TransformerSizes},
    native::{
        attention::WHOLE,
        backbone::{BatchTape, NativeBackbone},
        linear::AdaptedWeights,
        stack::NativeStack,
    },
    parameters::Gradients,
    pooling::Pooling,
};

fn backbone(architecture: &Architecture, lora_config: Option<&LoraConfig>) -> NativeBackbone {
    let mut parameters = architecture.fresh(Seed(1));
    let adapter =
        lora_config.map(|config| lora::attach(&mut parameters, architecture, config, Seed(2), "tiny").unwrap());
    let stack = NativeStack::new(architecture.stack().unwrap(), AdaptedWeights::new(parameters, adapter)).unwrap();
    NativeBackbone::new(stack, Pooling::Mean)
}

/// Numbers that a tracked pass keeps for each token of texts of so many tokens.
fn numbers_per_token(backbone: &mut NativeBackbone, length: usize, checkpointing: bool) -> usize {
    backbone.set_gradient_checkpointing(checkpointing).unwrap();
    backbone.forget_tapes();
    let text = vec![5; length];
    let batch = TokenBatch::new([text.as_slice(), text.as_slice()]);
    let tape = backbone.embed_tracked(&batch, None).unwrap().1.downcast::<BatchTape>().unwrap();
    tape.groups.iter().map(|(_, tape)| tape.numbers()).sum::<usize>() / batch.ids().len()
}

/// MiniLM's sizes, with adapters as by default. By hand, for each layer and token: query, key and value 3 · 384,
/// 12 heads' probabilities for each of n tokens where they are at most 512, context 384 (where it trains or is adapted), two normalizations
/// of 384 + 1, input of the activation 1536.
#[test]
fn checkpointing_keeps_a_tenth_of_a_bert_and_less() {
    let architecture = Architecture::Bert(BertConfig {
        sizes: TransformerSizes {
            vocab_size: 100,
            hidden_size: 384,
            num_hidden_layers: 6,
            num_attention_heads: 12,
            intermediate_size: 1536,
            max_position_embeddings: 1024,
        },
        type_vocab_size: 2,
        layer_norm_eps: 1e-12,
        first_position: 0,
        activation: Activation::Gelu,
        hidden_dropout: 0.1,
        attention_dropout: 0.1,
    });
    for adapted in [false, true] {
        let mut bert = backbone(&architecture, adapted.then(LoraConfig::default).as_ref());
        for n in [128, 256, 600] {
            let kept = if n > WHOLE { 0 } else { 12 * n };
            let layer = 3 * 384 + kept + if adapted { 0 } else { 384 } + 2 * 385 + 1536;
            assert_eq!(numbers_per_token(&mut bert, n, false), 385 + 6 * layer);
            assert_eq!(numbers_per_token(&mut bert, n, true), 385 + 6 * 384);
        }
    }
}

/// The sizes of two layers of T5 v1.1 base. By hand, for each layer and token: two normalizations of 768 + 1,
/// query, key and value 3 · 768, 12 heads' probabilities for each of n tokens, context 768 (where it trains or is
/// adapted), the gate's input 2 · 2048; and the last normalization.
#[test]
fn checkpointing_keeps_a_tenth_of_a_t5_and_less() {
    let architecture = Architecture::T5(T5Config {
        vocab_size: 100,
        d_model: 768,
        d_kv: 64,
        d_ff: 2048,
        num_layers: 2,
        num_heads: 12,
        relative_attention_num_buckets: 32,
        relative_attention_max_distance: 128,
        layer_norm_epsilon: 1e-6,
        dropout_rate: 0.1,
    });
    for (targets, context) in [(r#"["q", "v"]"#, 0), (r#"["q", "o"]"#, 768)] {
        let config: LoraConfig = serde_json::from_str(&format!("{{\"targets\": {targets}}}")).unwrap();
        let mut t5 = backbone(&architecture, Some(&config));
        let layer = 2 * 769 + 3 * 768 + 12 * 128 + context + 2 * 2048;
        assert_eq!(numbers_per_token(&mut t5, 128, false), 769 + 2 * layer);
        assert_eq!(numbers_per_token(&mut t5, 128, true), 769 + 2 * 768);
    }
}

/// Long texts side by side, and one after the other: a thread never begins another text in the middle of one.
#[test]
fn no_more_buffers_are_in_use_than_threads() {
    let tiny = BertConfig::tiny(0.0);
    let sizes = TransformerSizes { max_position_embeddings: 1200, ..tiny.sizes };
    let architecture = Architecture::Bert(BertConfig { sizes, ..tiny });
    let texts: Vec<Vec<u32>> = (0..24).map(|text| vec![5; if text % 3 == 0 { 300 } else { 1100 }]).collect();
    for some in [1, 3, 24] {
        let bert = backbone(&architecture, None);
        let batch = TokenBatch::new(texts[24 - some..].iter().map(Vec::as_slice));
        for _ in 0..3 {
            let (embeddings, tape) = bert.embed_tracked(&batch, None).unwrap();
            let mut gradients = Gradients::zeros(bert.parameters());
            bert.backward(tape, embeddings.view(), &mut gradients).unwrap();
        }
        let (found, threads) = (bert.n_scratches(), rayon::current_num_threads());
        assert!((1..=threads).contains(&found), "{found} buffers of {threads} threads for {some} texts");
    }
}
