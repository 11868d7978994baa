//! A small encoder that follows a larger one, from the command line: by pairs, by texts without labels, and after a kill.

use std::{fs, path::PathBuf};

use crate::sandbox::{Sandbox, has, killed_ends_in_the_same_bytes};

const FOLLOW: [&str; 6] = [
    "train",
    "tiny.yaml",
    "name=student",
    "encoder.model={static_embedding: {dim: 8}}",
    "train.loss={distill_embeddings: {teacher: teacher}}",
    "train.epochs=12",
];

/// A project with a trained encoder of 16 numbers, `teacher/`.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.succeeds(&["train", "tiny.yaml", "name=teacher", "train.epochs=12", "--runs", "teachers"]);
    fs::rename(sandbox.only_run("teachers").join("encoder"), sandbox.path("teacher")).unwrap();
    sandbox
}

/// A field of the first validation and of the last.
fn first_and_last(sandbox: &Sandbox, run: &std::path::Path, field: &str) -> [f64; 2] {
    let lines = sandbox.lines(&run.join("validation.jsonl"));
    [&lines[0], &lines[lines.len() - 1]].map(|line| line[field].as_f64().unwrap())
}

/// The run whose id has this name in it.
fn run_of(sandbox: &Sandbox, name: &str) -> PathBuf {
    let ids = sandbox.names("runs");
    sandbox.path("runs").join(ids.iter().find(|id| id.contains(name)).unwrap())
}

#[test]
fn a_small_bag_follows_a_teacher_whose_vectors_are_longer() {
    let sandbox = project();
    let (out, _) = sandbox.succeeds(&[&["check"], &FOLLOW[1..]].concat());
    assert!(out.contains("train.loss.teacher") && out.contains("teacher"), "{out}");
    for (by, similarity) in [("cosine", "cosine"), ("mse", "dot")] {
        let loss = format!("train.loss={{distill_embeddings: {{teacher: teacher, by: {by}}}}}");
        let (name, similarity) = (format!("name=by-{by}"), format!("train.similarity={similarity}"));
        sandbox.succeeds(&[&FOLLOW[..], &[&loss, &name, &similarity]].concat());
        let run = run_of(&sandbox, &format!("by-{by}"));
        let [before, after] = first_and_last(&sandbox, &run, "mrr");
        assert!(after > before + 0.1, "{by}: MRR {before}, {after}");
        // 1 less the mean cosine to the teacher, or the mean squared difference.
        let [before, after] = first_and_last(&sandbox, &run, "loss");
        assert!(after < 0.6 * before, "{by}: loss {before}, {after}");
        assert!(run.join("teacher-components.safetensors").is_file());
        assert!(sandbox.json(&run.join("manifest.json"))["fingerprints"]["teacher"].is_string());
    }
    sandbox.notes(&[&FOLLOW[..], &["name=by-cosine"]].concat(), &["training: unchanged"]);
}

#[test]
fn texts_without_labels_train_beside_pairs_and_alone() {
    let sandbox = project();
    let words = ["ledger", "packet", "matrix", "sentence", "voucher", "planet", "recipe", "socket"];
    let text =
        |at: usize| format!("{{\"text\": \"text {at} about every {} of the {}\"}}\n", words[at % 8], words[at / 8 % 8]);
    sandbox.write("texts.jsonl", (0..60).map(text).collect::<String>() + "{\"text\": \"short\"}\n" + &text(3));
    let texts = "{jsonl: {path: texts.jsonl, fields: {anchor: text, positive: null}}}";
    let both = format!("data.sources=[{{code: {{path: code}}}}, {texts}]");
    let (out, _) = sandbox.succeeds(&["data", "tiny.yaml", &both]);
    has(&out, &["       62 pairs  jsonl texts.jsonl", ", 60 of them texts without a label"]);
    let folders = sandbox.names("datasets/prepared").into_iter().filter(|name| name.starts_with("pairs-"));
    let mut cards = folders.map(|name| sandbox.json(&format!("datasets/prepared/{name}/data.json")));
    let card = cards.find(|card| card["splits"]["train"]["texts"] != 0).unwrap();
    assert_eq!((&card["splits"]["train"]["texts"], &card["splits"]["test"]["texts"]), (&60.into(), &0.into()));
    let gate = |at: usize| card["gates"][at]["dropped"].to_string();
    assert!(gate(0).contains("\"text too short\":1") && gate(1).contains("same positive"), "{card:#}");
    // Who needs pairs says so, in a lint and before the first step.
    let (out, _) = sandbox.succeeds(&["check", "tiny.yaml", &both]);
    has(&out, &["60 of ", "are texts without a label, which training will refuse"]);
    sandbox.fails_with(&["train", "tiny.yaml", &both], &["is a text without a label, as 60 of ", "`mnrl` needs pairs"]);
    sandbox.fails_with(
        &["mine-negatives", "tiny.yaml", &both, "negatives={retriever: bm25}"],
        &["negatives are mined for pairs"],
    );
    let consistency = ["data", "tiny.yaml", &both, "data.consistency={by: bm25, top: 9}"];
    sandbox.fails_with(&consistency, &["data.consistency: ranks the positive of every pair, and 60 of "]);

    sandbox.succeeds(&[&FOLLOW[..], &[&both, "name=beside"]].concat());
    let [before, after] = first_and_last(&sandbox, &run_of(&sandbox, "beside"), "mrr");
    assert!(after > before + 0.1, "MRR {before}, {after}");
    let disk = [&both, "name=disk", "data.streaming=true", "data.dedupe.near=0", "data.split.by=pair"];
    sandbox.succeeds(&[&FOLLOW[..], &disk].concat());
    // Alone there is nothing to validate on.
    let alone = format!("data.sources=[{texts}]");
    let alone = [&FOLLOW[..], &[&alone, "name=alone", "train.batch.pairs=1"]].concat();
    sandbox.fails_with(&alone, &["train.keep: `best` needs validation pairs", "hint: train.keep=last"]);
    sandbox.succeeds(&[&alone[..], &["train.keep=last", "name=lonely"]].concat());
    let steps = sandbox.lines(&run_of(&sandbox, "lonely").join("metrics.jsonl"));
    let loss = |steps: &[serde_json::Value]| steps.iter().map(|step| step["loss"].as_f64().unwrap()).sum::<f64>();
    assert_eq!(steps.len(), 720);
    assert!(loss(&steps[660..]) < 0.3 * loss(&steps[..60]), "{} {}", loss(&steps[660..]), loss(&steps[..60]));
}

#[test]
fn what_cannot_be_followed_is_told_before_anything_is_done() {
    let sandbox = project();
    let wide = "encoder.model={static_embedding: {dim: 32}}";
    let told = "train.loss.teacher: its vectors have 16 numbers, and the model's have 32";
    for command in ["check", "train"] {
        let hint = "hint: name a teacher with 32 numbers";
        sandbox.refuses_with(&[&[command], &FOLLOW[1..], &[wide]].concat(), &[told, hint]);
    }
    for (given, told) in [
        ("train.similarity=maxsim", "train.loss: `distill_embeddings` compares one vector a text with the teacher's"),
        ("train.loss={distill_embeddings: {}}", "train.loss.distill_embeddings"),
        ("train.loss={distill_embeddings: {teacher: nobody}}", "nobody"),
    ] {
        sandbox.refuses_with(&[&FOLLOW[..], &[given]].concat(), &[told]);
    }
}

#[test]
fn a_run_with_a_teacher_that_is_killed_ends_in_the_same_bytes() {
    let sandbox = project();
    sandbox.golden_encoder("tiny-bert", "bert");
    let loss = "train.loss={matryoshka: {dims: [8, 4], loss: {distill_embeddings: {teacher: bert}}}}";
    let arguments = [&FOLLOW[..], &[loss, "train.validate.every={steps: 5}"]].concat();
    assert!(killed_ends_in_the_same_bytes(&sandbox, &arguments).join("teacher-components.safetensors").is_file());
}
