//! The recipes for the encoders of today with their very keys, on tiny models of the same kinds: twenty steps, exported
//! and the same vectors again.

use std::{fs, path::Path};

use crate::sandbox::{Sandbox, has};

/// Keys with less than in every file; all other keys are the file's.
const SMALLER: [&str; 6] = [
    "device=cpu",
    "data.split={validation: 0.1, test: 0.2}",
    "encoder.max_tokens={query: 32, document: 48}",
    "train.batch.pairs=8",
    "train.max_steps=20",
    "bench={contestants: [trained], benchmarks: [{benchmark: {pairs: {}}}]}",
];

/// Trains a recipe on a golden folder.
fn check(recipe: &str, golden: &str, described: &str, more: &[&str]) {
    let sandbox = Sandbox::new();
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    let file = format!("{recipe}.yaml");
    sandbox.write(&file, fs::read(configs.join(&file)).unwrap());
    sandbox.golden_encoder(golden, "model");
    let run = |command: &str| {
        let arguments = [&[command, &file, "encoder.model={pretrained: model}"][..], &SMALLER, more].concat();
        sandbox.succeeds(&arguments)
    };
    let (out, _) = run("check");
    has(&out, &[&format!("{file}: fine"), &format!("encoder   model, {described}: ")]);
    assert!(!out.contains("lint: encoder"), "{out}");
    run("run");
    let steps = sandbox.lines(&sandbox.only_run("runs").join("metrics.jsonl"));
    assert_eq!(steps.len(), 20);
    assert!(steps.iter().all(|step| step["loss"].as_f64().is_some_and(f64::is_finite)), "{steps:#?}");
    sandbox.succeeds(&["export", recipe, "--out", "exported"]);
    let (of_run, exported) = (sandbox.vectors(recipe), sandbox.vectors("exported"));
    assert_eq!(of_run.len(), exported.len());
    for (found, expected) in exported.iter().zip(&of_run) {
        assert!((found - expected).abs() < 1e-4, "{found} {expected}");
    }
}

const CODE: &str = "data.sources=[{code: {path: code}}]";
/// Not more than the models are wide.
const RANK: &str = "encoder.lora.rank=4";

#[test]
fn qwen3_embedding_lora() {
    check("qwen3-embedding-lora", "tiny-qwen3", "qwen3 3 × 24, 4 heads on 2", &[CODE, RANK]);
}

#[test]
fn coderank_lora() {
    check("coderank-lora", "tiny-nomic", "nomic_bert 3 × 24, 4 heads", &[CODE, RANK]);
}

#[test]
fn modernbert_xtr() {
    let bm25 = "negatives={retriever: bm25, per_pair: 3}";
    check(
        "modernbert-xtr",
        "tiny-modernbert",
        "modernbert 4 × 24, 4 heads",
        &[CODE, bm25, "encoder.late_interaction.dim=8"],
    );
}

#[test]
fn bge_code_annealing() {
    let sources = "data.sources=[{code: {path: code, dataset: docstrings}}]";
    let stages = "train.curriculum=[{name: text, until: {share: 0.3}}, {name: hard code, learning_rate_factor: 0.1}]";
    let bm25 = "negatives={retriever: bm25, per_pair: 3}";
    check(
        "bge-code-annealing",
        "tiny-qwen2",
        "qwen2 3 × 24, 4 heads on 2",
        &[sources, "data.difficulty=null", stages, bm25, RANK],
    );
}
