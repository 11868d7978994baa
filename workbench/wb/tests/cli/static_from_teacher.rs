//! A bag of token vectors made from another encoder, from the command line: checked, trained, measured, exported.

use crate::sandbox::Sandbox;

const MODEL: &str = "encoder.model={static_embedding: {from: teacher, dim: 8}}";

/// A project whose `bag.yaml` names no tokenizer, with a teacher beside it.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.golden_encoder("tiny-bert", "teacher");
    let text = sandbox.text("tiny.yaml");
    let without: Vec<&str> = text.lines().filter(|line| !line.contains("tokenizer:")).collect();
    assert_eq!(without.len() + 1, text.lines().count());
    sandbox.write("bag.yaml", without.join("\n"));
    sandbox
}

#[test]
fn it_is_checked_trained_measured_and_exported() {
    let sandbox = sandbox();
    let (out, _) = sandbox.succeeds(&["check", "bag.yaml", MODEL]);
    assert!(out.contains("a bag of token vectors made from teacher"), "{out}");
    assert!(out.contains("encoder.model.static_embedding.from"), "{out}");
    let arguments = ["run", "bag.yaml", "name=bag", MODEL];
    sandbox.says(&arguments, &["trained"]);
    let run = sandbox.only_run("runs");
    // The tokenizer is the teacher's, and what training began with is beside what it left.
    let ids = |file: &str| sandbox.json(&run.join(file))["model"]["vocab"].clone();
    assert_eq!(ids("encoder/tokenizer.json"), sandbox.json("teacher/tokenizer.json")["model"]["vocab"]);
    let of = |folder: &str| sandbox.json(&run.join(folder).join("encoder.json"));
    for folder in ["untrained", "encoder"] {
        let bag = of(folder)["architecture"].to_string();
        assert!(bag.contains("\"vocab_size\":387") && bag.contains("\"dim\":8"), "{folder}: {bag}");
        assert_eq!(of(folder)["special_tokens"], false, "{folder}");
    }
    let untrained = sandbox.vectors(run.join("untrained").to_str().unwrap());
    let trained = sandbox.vectors("bag");
    assert_ne!(untrained, trained);
    // Nothing is done twice.
    sandbox.notes(&arguments, &["training: unchanged"]);
    sandbox.succeeds(&["export", "bag", "--out", "models/bag", "--format", "st6"]);
    let exported = sandbox.vectors("models/bag");
    assert_eq!(exported.len(), trained.len());
    assert!(exported.iter().zip(&trained).all(|(a, b)| (a - b).abs() < 1e-5));
}

#[test]
fn what_does_not_go_with_a_teacher_is_told_before_anything_is_done() {
    let sandbox = sandbox();
    let tokenizer =
        "encoder.tokenizer: a tokenizer to be learned, and the bag takes that of the encoder that it is made from";
    sandbox.refuses_with(&["check", "tiny.yaml", MODEL], &[tokenizer, "hint: take `tokenizer` away"]);
    let model = |keys: &str| format!("encoder.model={{static_embedding: {{{keys}}}}}");
    let sif = "encoder.model.static_embedding.sif";
    for (keys, told) in [
        ("sif: 0.001", format!("{sif}: weights of a bag that is not made from another encoder")),
        ("from: teacher, sif: 1", format!("{sif}: got 1, expected at least 0 and below 1")),
        ("from: teacher, dim: 0", "encoder.model.static_embedding.dim: got 0, expected at least 1".to_owned()),
    ] {
        sandbox.refuses_with(&["check", "bag.yaml", &model(keys)], &[&told]);
    }
    sandbox.refuses_with(&["train", "bag.yaml", &model("from: nowhere/at/all")], &["nowhere/at/all"]);
    assert!(!sandbox.path("runs").join("latest").exists());
}
