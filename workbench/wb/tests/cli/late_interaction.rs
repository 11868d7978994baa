//! One vector a token from the command line: trained, measured, exported, mined with.

use serde_json::Value;

use crate::sandbox::{Sandbox, TRANSFORMER, has};

const LATE: &str = "encoder.late_interaction={dim: 8}";
const XTR: &str = "train.similarity={xtr: {top_k: 64}}";

#[test]
fn it_is_trained_measured_exported_and_mined_with() {
    let sandbox = Sandbox::new();
    let (out, _) = sandbox.succeeds(&["check", "tiny.yaml", TRANSFORMER, LATE, XTR, "train.loss.mnrl.scale=1"]);
    assert!(out.contains("lint: train.loss.mnrl.scale: scores of `xtr` are means of cosines"), "{out}");
    let arguments = ["run", "tiny.yaml", "name=base", TRANSFORMER, LATE, XTR];
    sandbox.says(&arguments, &["trained"]);
    let run = sandbox.only_run("runs");
    let encoder = sandbox.json(&run.join("encoder/encoder.json"));
    assert_eq!(encoder["late_interaction"]["dim"], 8);
    assert!(run.join("encoder/late_interaction.safetensors").is_file());
    let outcome = sandbox.json(&run.join("bench/pairs-trained.json"));
    assert!(outcome["settings"].to_string().contains("maxsim"), "{}", outcome["settings"]);
    // Nothing is done twice.
    sandbox.notes(&arguments, &["training: unchanged"]);

    let of_run = sandbox.scores("base");
    assert!(!of_run.is_empty());
    for format in ["st6", "safetensors"] {
        let place = format!("models/{format}");
        sandbox.succeeds(&["export", "base", "--out", &place, "--format", format]);
        assert_eq!(sandbox.scores(&place), of_run, "{format}");
    }
    let told = ["MultiVectorEncoder(\"models/st6\")", "one vector for each of its tokens", "| compared by | maxsim:"];
    has(&sandbox.text("models/st6/README.md"), &told);

    let mine = ["mine-negatives", "tiny.yaml"];
    let by_encoder = ["--encoder", "base", "negatives.relative_margin=0.01", "--out", "mined.jsonl"];
    sandbox.says(&[&mine[..], &by_encoder].concat(), &["ranked by base", "BM25 puts it above"]);
    let words = ["negatives.encoder=base", "negatives.retriever=bm25", "--out", "words.jsonl"];
    sandbox.says(&[&mine[..], &words].concat(), &["base puts it above the positive"]);
}

#[test]
fn a_project_is_found_by_the_vectors_of_tokens() {
    let sandbox = Sandbox::new();
    sandbox.succeeds(&["train", "tiny.yaml", "name=base", TRANSFORMER, LATE, XTR, "train.max_steps=2"]);
    sandbox.write("project/a.rs", "/// Sends a job again.\nfn retry(job: u8) -> u8 {\n    job + 1\n}\n");
    sandbox.write("project/b.rs", "/// Reads the settings.\nfn load() -> u8 {\n    2\n}\n");
    let made = sandbox.wb(&["index", "project", "--index", "index", "--encoder", "base"]);
    let told = made.split_once("2 texts embedded now, by ").expect(&made).1;
    let vectors: usize =
        told.split_once('(').unwrap().1.split_once(" vectors of 8 numbers)").unwrap().0.parse().unwrap();
    assert!(vectors > 20, "{told}");
    let asked = sandbox.wb(&["search", "job", "--project", "project", "--index", "index", "--explain"]);
    has(&asked, &["a.rs:1-4  retry", ", meaning "]);
    // The same in the ranking that a recipe measures with.
    let own = ["bench", "search", "--set", "own", "--dataset", "project", "--encoder", "base"];
    sandbox.says(&own, &["with vectors"]);
    let yaml = "bench={contestants: [bm25, trained], benchmarks: [{benchmark: {search: {}}, dataset: project}]}";
    let run = ["run", "tiny.yaml", "name=searched", TRANSFORMER, LATE, XTR, "train.max_steps=2", yaml];
    sandbox.says(&run, &["trained     search-docstring"]);
}

#[test]
fn negatives_are_mined_again_token_by_token() {
    let sandbox = Sandbox::new();
    let refresh = ["train.refresh={every: {share: 0.5}}", "train.similarity=maxsim", "train.batch.micro_texts=9"];
    sandbox.succeeds(&[&["train", "tiny.yaml", LATE][..], &refresh].concat());
    let steps = sandbox.lines(&sandbox.only_run("runs").join("metrics.jsonl"));
    let tokens = |step: &Value| step["tokens"].as_f64().unwrap();
    assert!(tokens(steps.last().unwrap()) > 1.5 * tokens(&steps[0]), "no negatives came");
}

#[test]
fn what_does_not_fit_together_is_told_before_anything_is_done() {
    let sandbox = Sandbox::new();
    let check = |more: &[&str], told: &[&str]| sandbox.refuses_with(&[&["check", "tiny.yaml"], more].concat(), told);
    let of_tokens = "train.similarity: compares one vector a text, and the encoder gives one a token";
    check(&[TRANSFORMER, LATE], &[of_tokens, "hint: train.similarity=maxsim"]);
    let of_texts = "compares texts token by token, and the encoder gives one vector a text";
    check(&["train.similarity=maxsim"], &[of_texts]);
    let of_distances = "train.loss: `triplet` has a distance of its own";
    check(&[LATE, XTR, "train.loss={triplet: {}}"], &[of_distances]);
    let of_none = "train.similarity.xtr.top_k: got 0, expected at least 1";
    check(&[LATE, "train.similarity={xtr: {top_k: 0}}"], &[of_none]);
}
