//! A cross-encoder from the command line: trained on mined negatives, measured, reranked with, mined with, exported.

use crate::{
    killed::{assert_same, result},
    sandbox::{Sandbox, has},
};

/// A cross-encoder on tiny-bert, trained on the made-up tree.
const YAML: &str = "\
name: cross
seed: 5
device: cpu
data:
  sources:
    - code: { path: code }
  split: { validation: 0.1, test: 0.2 }
negatives: { retriever: bm25, per_pair: 3, sample: 0 }
encoder:
  model: { pretrained: bert }
  cross_encoder: { max_tokens: 36 }
train:
  loss: { binary_cross_entropy: {} }
  batch: { pairs: 8 }
  negatives: 3
  optimizer: { adamw: { learning_rate: 0.002 } }
  epochs: 3
  validate: { every: { share: 0.34 } }
bench:
  benchmarks: [{ benchmark: { pairs: {} } }]
  rerank_top: 20
";

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.golden_encoder("tiny-bert", "bert");
    sandbox.write("cross.yaml", YAML);
    sandbox
}

#[test]
fn it_is_trained_measured_used_and_exported() {
    let sandbox = project();
    let (out, _) = sandbox.succeeds(&["check", "cross.yaml"]);
    has(&out, &["cross.yaml: fine", "encoder   bert, a cross-encoder on bert 2 × 32, 4 heads: "]);
    let (out, _) = sandbox.succeeds(&["run", "cross.yaml"]);
    has(&out, &["VERDICT"]);
    let run = sandbox.only_run("runs");
    let steps = sandbox.lines(&run.join("metrics.jsonl"));
    let loss = |at: usize| steps[at]["loss"].as_f64().unwrap();
    let mean = |range: std::ops::Range<usize>| range.clone().map(loss).sum::<f64>() / range.len() as f64;
    let third = steps.len() / 3;
    assert!(mean(steps.len() - third..steps.len()) < mean(0..third), "the loss does not fall");
    let validations = sandbox.lines(&run.join("validation.jsonl"));
    assert!(validations.iter().all(|one| one["mrr"].as_f64().unwrap() > 0.0));
    // BM25, before training, after it; nothing to fuse.
    let names = sandbox.names(run.join("bench").to_str().unwrap());
    assert_eq!(names.len(), 3, "{names:?}");
    let trained = sandbox.json(
        &run.join("bench").join(
            names
                .iter()
                .find(|name| name.contains("-trained") || name.ends_with("trained.json") && !name.contains("untrained"))
                .unwrap(),
        ),
    );
    let settings = trained["settings"].to_string();
    has(&settings, &[r#"["contestant.reranked documents","20"]"#, r#"["contestant.reranker","trained"]"#]);
    assert_eq!((&trained["role"], &trained["base"]), (&"trained".into(), &"bert".into()));

    sandbox.notes(&["run", "cross.yaml"], &["training: unchanged"]);
    // Reranks what another one found, by the name of the run, and equals itself exported.
    let bench = |name: &str| {
        let words =
            ["bench", "pairs", "--retriever", "bm25", "--rerank", name, "--rerank-top", "10", "--json", "o.json"];
        sandbox.succeeds(&words);
        let both = sandbox.json("o.json");
        both.as_array().unwrap()[1]["protocols"][0]["value"].as_f64().unwrap()
    };
    let of_run = bench("cross");
    sandbox.succeeds(&["export", "cross", "--out", "models/cross"]);
    assert!((bench("models/cross") - of_run).abs() < 1e-9);
    has(&sandbox.text("models/cross/README.md"), &["CrossEncoder(", "pipeline_tag: text-ranking"]);
    assert_eq!(sandbox.json("models/cross/config.json")["architectures"][0], "BertForSequenceClassification");
    // Mines with it.
    let mine = ["mine-negatives", "cross.yaml", "--cross-encoder", "cross", "--out", "mined.jsonl"];
    sandbox.succeeds(&mine);
    // Is trained on from where it stands.
    sandbox.succeeds(&["train", "cross.yaml", "name=more", "encoder.model={pretrained: cross}", "train.max_steps=2"]);
    // Gives no vectors.
    let hint = "`wb bench NAME --rerank` measures it";
    sandbox
        .refuses_with(&["bench", "pairs", "--encoder", "cross"], &["is a cross-encoder, which scores two texts", hint]);
    sandbox.refuses_with(
        &["check", "tiny.yaml", "encoder={model: {pretrained: models/cross}}"],
        &["encoder.model.pretrained: cross is a cross-encoder", "hint: encoder.cross_encoder={}"],
    );
}

#[test]
fn a_killed_run_ends_in_the_same_bytes() {
    let sandbox = project();
    let run = ["run", "cross.yaml", "train.validate.every={steps: 2}", "train.batch.micro_texts=9"];
    sandbox.succeeds(&[&run[..], &["--runs", "reference"]].concat());
    let reference = sandbox.only_run("reference");
    for checkpoints in [0, 2] {
        let mut child = sandbox.start(&run);
        sandbox.wait_for("checkpoint", || sandbox.checkpoints("runs") > checkpoints);
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().code(), None, "it was over before it was killed");
    }
    sandbox.succeeds(&run);
    assert_same(&result(&reference), &result(&sandbox.only_run("runs")), 2);
}

#[test]
fn a_list_a_teacher_and_adapters_train_it_too() {
    let sandbox = project();
    let lora = "encoder.lora={rank: 2, targets: all-linear}";
    for (name, more) in [
        ("list", vec!["train.loss={list_net: {}}", lora]),
        ("layers", vec!["train.loss={list_net: {}}", "train.gradient_checkpointing=true", "train.batch.micro_texts=5"]),
    ] {
        let name = format!("name={name}");
        let arguments = [&["train", "cross.yaml", &name, "train.max_steps=4"][..], &more].concat();
        sandbox.succeeds(&arguments);
    }
    // A teacher's scores come with pairs.
    let line = |at: usize| {
        format!(
            "{{\"anchor\": \"how do I sort the list number {at}\", \"positive\": \"fn sort_{at}(list: &mut Vec<u32>) {{ list.sort(); }}\", \"negatives\": [\"fn read_{at}() {{}}\", \"fn open_{at}() {{}}\"], \"scores\": [{}, 0.5, -1.5]}}\n",
            2 + at % 3
        )
    };
    sandbox.write("scored.jsonl", (0..60).map(line).collect::<String>());
    let data = "data.sources=[{jsonl: {path: scored.jsonl, fields: {scores: scores}}}]";
    for loss in ["{margin_mse: {}}", "{distill_kl: {}}", "{list_net: {relevance: scores}}"] {
        let loss = format!("train.loss={loss}");
        sandbox.succeeds(&[
            "train",
            "cross.yaml",
            "negatives=null",
            data,
            &loss,
            "train.negatives=2",
            "train.max_steps=3",
        ]);
    }
}

#[test]
fn what_does_not_train_a_cross_encoder_is_told_before_anything_is_done() {
    let sandbox = project();
    let check = |given: &str, told: &[&str]| sandbox.refuses_with(&["check", "cross.yaml", given], told);
    check(
        "train.loss={mnrl: {}}",
        &["train.loss: `mnrl` compares embeddings", "hint: loss: { binary_cross_entropy: {} }"],
    );
    check(
        "negatives={}",
        &["negatives.encoder: is missing: a cross-encoder cannot rank a corpus", "negatives.retriever=bm25"],
    );
    check(
        "encoder.max_tokens={query: 8, document: 9}",
        &["encoder.max_tokens", "encoder.cross_encoder.max_tokens is the length"],
    );
    check("encoder.pooling=cls", &["encoder.pooling"]);
    check("encoder.cross_encoder.max_tokens=3", &["encoder.cross_encoder.max_tokens: got 3, expected at least 4"]);
    check(
        "encoder.cross_encoder.max_tokens=4000",
        &["encoder.cross_encoder.max_tokens: got 4000, expected more than the 3"],
    );
    check("train.objectives={mlm: {}}", &["train.objectives"]);
    check("train.refresh={every: {steps: 5}}", &["train.refresh"]);
    check("encoder.model={static_embedding: {}}", &["encoder.model: a bag of token vectors cannot read two texts"]);
    check("bench.rerank_top=0", &["bench.rerank_top: got 0"]);
    let told = ["train.loss: `binary_cross_entropy` takes a cross-encoder's numbers", "encoder.cross_encoder={}"];
    sandbox.refuses_with(&["check", "tiny.yaml", "train.loss={binary_cross_entropy: {}}"], &told);
    assert!(!sandbox.path("runs").exists());
}
