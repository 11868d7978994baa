//! A cross-encoder from the command line: trained on mined negatives, measured, reranked with, mined with, exported.

use crate::sandbox::{Sandbox, has, killed_ends_in_the_same_bytes};

/// A cross-encoder on tiny-bert in place of the bag of tiny.yaml.
const CROSS: [&str; 8] = [
    "tiny.yaml",
    "name=cross",
    "negatives={retriever: bm25, per_pair: 3}",
    "encoder={model: {pretrained: bert}, cross_encoder: {max_tokens: 36}}",
    "train.loss={binary_cross_entropy: {}}",
    "train.batch.pairs=8",
    "train.optimizer.adamw.learning_rate=0.002",
    "bench.rerank_top=20",
];

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.golden_encoder("tiny-bert", "bert");
    sandbox
}

fn with<'a>(command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[command], &CROSS[..], more].concat()
}

#[test]
fn it_is_trained_measured_used_and_exported() {
    let sandbox = project();
    let (out, _) = sandbox.succeeds(&with("check", &[]));
    has(&out, &["tiny.yaml: fine", "encoder   bert, a cross-encoder on bert 2 × 32, 4 heads: "]);
    sandbox.says(&with("run", &["train.epochs=3"]), &["VERDICT"]);
    let run = sandbox.only_run("runs");
    let steps = sandbox.lines(&run.join("metrics.jsonl"));
    let sum = |steps: &[serde_json::Value]| steps.iter().map(|step| step["loss"].as_f64().unwrap()).sum::<f64>();
    let third = steps.len() / 3;
    assert!(sum(&steps[steps.len() - third..]) < sum(&steps[..third]), "the loss does not fall");
    // BM25, before training, after it; nothing to fuse.
    let names = sandbox.names(run.join("bench").to_str().unwrap());
    assert_eq!(names.len(), 3, "{names:?}");
    let of_trained = names.iter().find(|name| name.contains("trained") && !name.contains("untrained")).unwrap();
    let trained = sandbox.json(&run.join("bench").join(of_trained));
    let settings = trained["settings"].to_string();
    has(&settings, &[r#"["contestant.reranked documents","20"]"#, r#"["contestant.reranker","trained"]"#]);
    assert_eq!((&trained["role"], &trained["base"]), (&"trained".into(), &"bert".into()));
    sandbox.notes(&with("run", &["train.epochs=3"]), &["training: unchanged"]);
    // Reranks what another one found, by the name of the run, and equals itself exported.
    let bench = |name: &str| {
        let words = ["bench", "pairs", "--retriever", "bm25", "--json", "o.json", "--rerank-top", "10", "--rerank"];
        sandbox.succeeds(&[&words[..], &[name]].concat());
        sandbox.json("o.json")[1]["protocols"][0]["value"].as_f64().unwrap()
    };
    let of_run = bench("cross");
    sandbox.succeeds(&["export", "cross", "--out", "models/cross"]);
    assert!((bench("models/cross") - of_run).abs() < 1e-9);
    has(&sandbox.text("models/cross/README.md"), &["CrossEncoder(", "pipeline_tag: text-ranking"]);
    assert_eq!(sandbox.json("models/cross/config.json")["architectures"][0], "BertForSequenceClassification");
    // Mines, is trained on from where it stands, and gives no vectors.
    sandbox.succeeds(&with("mine-negatives", &["--cross-encoder", "cross", "--out", "mined.jsonl"]));
    sandbox.succeeds(&with("train", &["name=more", "encoder.model={pretrained: cross}", "train.max_steps=2"]));
    sandbox.refuses_with(&["bench", "pairs", "--encoder", "cross"], &["is a cross-encoder, which scores two texts"]);
    let told = ["encoder.model.pretrained: cross is a cross-encoder", "hint: encoder.cross_encoder={}"];
    sandbox.refuses_with(&["check", "tiny.yaml", "encoder={model: {pretrained: models/cross}}"], &told);
}

#[test]
fn a_killed_run_ends_in_the_same_bytes() {
    let more = ["train.validate.every={steps: 2}", "train.batch.micro_texts=9"];
    killed_ends_in_the_same_bytes(&project(), &with("run", &more));
}

#[test]
fn a_list_a_teacher_and_adapters_train_it_too() {
    let sandbox = project();
    let train = |more: &[&str]| sandbox.succeeds(&with("train", &[&["train.max_steps=3"], more].concat()));
    train(&["name=list", "train.loss={list_net: {}}", "encoder.lora={rank: 2, targets: all-linear}"]);
    train(&["name=layers", "train.gradient_checkpointing=true", "train.batch.micro_texts=5"]);
    // A teacher's scores come with pairs.
    let line = |at: usize| {
        let code = |verb: &str| format!("fn {verb}_{at}(list: &mut Vec<u32>) -> usize {{ list.{verb}(); list.len() }}");
        let pair = serde_json::json!({
            "anchor": format!("how do I sort the list number {at}"), "positive": code("sort"),
            "negatives": [code("clear"), code("dedup")], "scores": [2 + at % 3, 0.5, -1.5],
        });
        format!("{pair}\n")
    };
    sandbox.write("scored.jsonl", (0..60).map(line).collect::<String>());
    let data = "data.sources=[{jsonl: {path: scored.jsonl, fields: {scores: scores}}}]";
    for loss in ["margin_mse: {}", "distill_kl: {}", "cosent: {}", "list_net: {relevance: scores}"] {
        let filter = "data.filter.min_positive_chars=20";
        train(&["negatives=null", data, filter, "train.negatives=2", &format!("train.loss={{{loss}}}")]);
    }
}

#[test]
fn what_does_not_train_a_cross_encoder_is_told_before_anything_is_done() {
    let sandbox = project();
    for (given, told) in [
        ("train.loss={mnrl: {}}", "train.loss: `mnrl` compares embeddings"),
        ("negatives={}", "negatives.encoder: is missing: a cross-encoder cannot rank a corpus"),
        ("encoder.max_tokens={query: 8, document: 9}", "encoder.cross_encoder.max_tokens is the length of both"),
        ("encoder.pooling=cls", "encoder.pooling: is of encoders"),
        ("encoder.cross_encoder.max_tokens=3", "encoder.cross_encoder.max_tokens: got 3, expected at least 4"),
        ("encoder.cross_encoder.max_tokens=4000", "got 4000, expected more than the 3 special tokens"),
        ("train.objectives={mlm: {}}", "train.objectives: is of encoders"),
        ("train.refresh={every: {steps: 5}}", "train.refresh: is of encoders"),
        ("encoder.model={static_embedding: {}}", "encoder.model: a bag of token vectors cannot read two texts"),
        ("bench.rerank_top=0", "bench.rerank_top: got 0"),
    ] {
        sandbox.refuses_with(&with("check", &[given]), &[told]);
    }
    let told = ["train.loss: `binary_cross_entropy` takes a cross-encoder's numbers", "encoder.cross_encoder={}"];
    sandbox.refuses_with(&["check", "tiny.yaml", "train.loss={binary_cross_entropy: {}}"], &told);
    assert!(!sandbox.path("runs").exists());
}
