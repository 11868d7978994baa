//! One vector a token from the command line: trained, measured, exported, mined with.

use std::fs;

use serde_json::Value;

use crate::sandbox::{Sandbox, TRANSFORMER};

const LATE: &str = "encoder.late_interaction={dim: 8}";
const XTR: &str = "train.similarity={xtr: {top_k: 64}}";

#[test]
fn it_is_trained_measured_exported_and_mined_with() {
    let sandbox = Sandbox::new();
    let (out, _) = sandbox.succeeds(&["check", "tiny.yaml", TRANSFORMER, LATE, XTR, "train.loss.mnrl.scale=1"]);
    assert!(out.contains("lint: train.loss.mnrl.scale: scores of `xtr` are means of cosines"), "{out}");
    let arguments = ["run", "tiny.yaml", "name=base", TRANSFORMER, LATE, XTR];
    let (out, _) = sandbox.succeeds(&arguments);
    assert!(out.contains("trained"), "{out}");
    let run = sandbox.only_run("runs");
    let encoder: Value = serde_json::from_slice(&fs::read(run.join("encoder/encoder.json")).unwrap()).unwrap();
    assert_eq!(encoder["late_interaction"]["dim"], 8);
    assert!(run.join("encoder/late_interaction.safetensors").is_file());
    let outcome: Value = serde_json::from_slice(&fs::read(run.join("bench/pairs-trained.json")).unwrap()).unwrap();
    assert!(outcome["settings"].to_string().contains("maxsim"), "{}", outcome["settings"]);
    // Nothing is done twice.
    let (_, err) = sandbox.succeeds(&arguments);
    assert!(err.contains("training: unchanged"), "{err}");

    let of_run = sandbox.scores("base");
    assert!(!of_run.is_empty());
    for format in ["st6", "safetensors"] {
        let place = format!("models/{format}");
        sandbox.succeeds(&["export", "base", "--out", &place, "--format", format]);
        assert_eq!(sandbox.scores(&place), of_run, "{format}");
    }
    let card = fs::read_to_string(sandbox.path("models/st6/README.md")).unwrap();
    for expected in
        ["MultiVectorEncoder(\"models/st6\")", "one vector for each of its tokens", "| compared by | maxsim:"]
    {
        assert!(card.contains(expected), "no {expected:?} in\n{card}");
    }

    let (out, _) = sandbox.succeeds(&[
        "mine-negatives",
        "tiny.yaml",
        "--encoder",
        "base",
        "negatives.relative_margin=0.01",
        "--out",
        "mined.jsonl",
    ]);
    assert!(out.contains("ranked by base") && out.contains("BM25 puts it above"), "{out}");
    let words = ["negatives.encoder=base", "negatives.retriever=bm25", "--out", "words.jsonl"];
    let (out, _) = sandbox.succeeds(&[&["mine-negatives", "tiny.yaml"][..], &words].concat());
    assert!(out.contains("base puts it above the positive"), "{out}");
}

#[test]
fn negatives_are_mined_again_token_by_token() {
    let sandbox = Sandbox::new();
    let refresh = ["train.refresh={every: {share: 0.5}}", "train.similarity=maxsim", "train.batch.micro_texts=9"];
    sandbox.succeeds(&[&["train", "tiny.yaml", LATE][..], &refresh].concat());
    let steps = fs::read_to_string(sandbox.only_run("runs").join("metrics.jsonl")).unwrap();
    let steps: Vec<Value> = steps.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let tokens = |step: &Value| step["tokens"].as_f64().unwrap();
    assert!(tokens(steps.last().unwrap()) > 1.5 * tokens(&steps[0]), "no negatives came");
}

#[test]
fn what_does_not_fit_together_is_told_before_anything_is_done() {
    let sandbox = Sandbox::new();
    let error = sandbox.refuses(&["check", "tiny.yaml", TRANSFORMER, LATE]);
    assert!(
        error.contains("train.similarity: compares one vector a text, and the encoder gives one a token"),
        "{error}"
    );
    assert!(error.contains("hint: train.similarity=maxsim"), "{error}");
    let error = sandbox.refuses(&["check", "tiny.yaml", "train.similarity=maxsim"]);
    assert!(error.contains("compares texts token by token, and the encoder gives one vector a text"), "{error}");
    let error = sandbox.refuses(&["check", "tiny.yaml", LATE, XTR, "train.loss={triplet: {}}"]);
    assert!(error.contains("train.loss: `triplet` has a distance of its own"), "{error}");
    let error = sandbox.refuses(&["check", "tiny.yaml", LATE, "train.similarity={xtr: {top_k: 0}}"]);
    assert!(error.contains("train.similarity.xtr.top_k: got 0, expected at least 1"), "{error}");
}
