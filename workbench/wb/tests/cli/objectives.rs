//! Objectives on the tokens of real syntax trees, from the YAML to the encoder that is written.

use std::fs;

use serde_json::Value;

use crate::sandbox::{Sandbox, TRANSFORMER, has};

const ALL: &str = "train.objectives={mlm: {weight: 0.5}, ast_nodes: {}, types: {classes: 3}}";

#[test]
fn the_plan_tells_them_and_a_bag_cannot_be_asked_for_words() {
    let sandbox = Sandbox::new();
    let (out, _) = sandbox.succeeds(&["check", "tiny.yaml", TRANSFORMER, ALL, "train.gradient_checkpointing=true"]);
    has(&out, &["also types × 0.1 (3 most common types), ast_nodes × 0.1 ("]);
    has(&out, &["mlm × 0.5 (15 % of tokens): one more pass over the code of each batch"]);
    has(&out, &["gradient checkpointing: layers are computed twice"]);
    assert!(!out.contains("lint: train.objectives"), "{out}");
    let (out, _) = sandbox.succeeds(&["check", "tiny.yaml", ALL, "train.gradient_checkpointing=true"]);
    has(&out, &["lint: train.objectives.mlm: a bag of token vectors"]);
    has(&out, &["lint: train.gradient_checkpointing: a bag of token vectors"]);
    sandbox.fails_with(&["train", "tiny.yaml", ALL], &["train.objectives.mlm: needs a transformer"]);
    assert!(sandbox.wb(&["check", "tiny.yaml", "train.objectives={asts: {}}"]).contains("expected one of `mlm`"));
}

#[test]
fn they_are_learned_and_their_heads_stay_behind() {
    let sandbox = Sandbox::new();
    let lengths = "encoder.max_tokens={query: 32, document: 64}";
    let also = ["train.gradient_checkpointing=true", "train.batch.micro_tokens=600", "train.epochs=6"];
    let arguments = [&["train", "tiny.yaml", TRANSFORMER, lengths, ALL][..], &also].concat();
    sandbox.succeeds(&arguments);
    let run = sandbox.only_run("runs");
    let steps = sandbox.lines(&run.join("metrics.jsonl"));
    for name in ["mlm", "ast_nodes", "types"] {
        let loss = |step: &Value| step["objectives"][name].as_f64().unwrap();
        let (begin, end) = (loss(&steps[0]), loss(steps.last().unwrap()));
        assert!(end < 0.9 * begin, "{name}: from {begin} to {end}");
    }
    let weights = String::from_utf8_lossy(&sandbox.weights("runs")).into_owned();
    assert!(weights.contains("embeddings.word_embeddings.weight") && !weights.contains("heads."));
    let checkpoint = fs::read_dir(run.join("checkpoints"))
        .unwrap()
        .map(|entry| entry.unwrap().path().join("weights.safetensors"))
        .find(|file| file.is_file())
        .unwrap();
    let checkpoint = String::from_utf8_lossy(&fs::read(checkpoint).unwrap()).into_owned();
    for head in ["heads.mlm.dense.weight", "heads.ast_nodes.weight", "heads.types.bias"] {
        assert!(checkpoint.contains(head), "{head}");
    }
}
