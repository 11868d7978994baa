//! `wb export`: an encoder out to other tools, and back in.

use std::fs;

use crate::sandbox::{Sandbox, TRANSFORMER, has};

/// A run named `base`: a transformer of two layers, trained on the made-up tree.
fn trained() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.succeeds(&["run", "tiny.yaml", "name=base", TRANSFORMER, "encoder.prompts={query: 'find: '}"]);
    sandbox
}

#[test]
fn an_exported_run_scores_the_same_and_has_a_card() {
    let sandbox = trained();
    let (out, err) = sandbox.succeeds(&["export", "base", "--out", "models/base"]);
    assert!(out.starts_with("models/base: st in f32; read back, least cosine 1.0000000 on 32 texts"), "{out}");
    assert!(err.contains("note: sentence-transformers has one length for all texts: 64 tokens here"), "{err}");
    assert!(!sandbox.scores("models/base").is_empty());

    let card = sandbox.text("models/base/README.md");
    let expected = [
        "library_name: sentence-transformers",
        "# base",
        "| architecture | bert 2 × 16, 2 heads |",
        "| query prompt | \"find: \" |",
        "model = SentenceTransformer(\"models/base\")",
        "wb run tiny.yaml name=base",
        "| code code | 300 |",
        "hidden_size: 16",
        "| pairs | pairs-full |",
        "wb export base --out models/base",
        "on 32 texts as queries and as documents: least cosine 1.0000000",
        "wb cut queries at 32 and documents at 64",
    ];
    has(&card, &expected);
    // Every number stands with its interval.
    let rows: Vec<&str> = card.lines().filter(|line| line.starts_with("| pairs | pairs-full")).collect();
    assert!(rows.len() >= 3 && rows.iter().all(|row| row.contains(" to 0.") || row.contains(" to 1.")), "{rows:#?}");

    for (format, dtype) in [("st6", "f16"), ("st", "bf16"), ("safetensors", "f32")] {
        let place = format!("models/{format}-{dtype}");
        let (out, _) = sandbox.succeeds(&["export", "latest", "--out", &place, "--format", format, "--dtype", dtype]);
        assert_eq!(out.contains("to the weights before they were rounded"), dtype != "f32", "{out}");
    }
    // With a length for each side, as it was trained.
    assert_eq!(sandbox.scores("models/safetensors-f32"), sandbox.scores("base"));
    // The folder of a run's encoder knows its run.
    let run = sandbox.only_run("runs").join("encoder");
    sandbox.succeeds(&["export", run.to_str().unwrap(), "--out", "models/by-folder"]);
    assert!(sandbox.text("models/by-folder/README.md").contains("## Results"));
}

#[test]
fn adapters_go_out_to_peft_and_come_back() {
    let sandbox = trained();
    sandbox.succeeds(&["export", "base", "--out", "models/base"]);
    let pretrained = "encoder.model={pretrained: {id: models/base}}";
    let lora = "encoder.lora={rank: 4, alpha: 8, targets: all-linear, rank_pattern: {query: 2}}";
    sandbox.succeeds(&["train", "tiny.yaml", "name=adapted", pretrained, lora]);
    let (_, err) = sandbox.succeeds(&["export", "adapted", "--out", "models/adapter", "--format", "peft"]);
    assert!(err.contains("names the base model by its folder on this machine"), "{err}");
    let config = sandbox.text("models/adapter/adapter_config.json");
    assert!(config.contains("\"peft_type\": \"LORA\"") && config.contains("models/base\""), "{config}");
    assert!(!sandbox.path("models/adapter/model.safetensors").exists());
    sandbox.succeeds(&["export", "adapted", "--out", "models/merged"]);
    // Merged, beside their base, and as they were trained (with a shorter length for queries, which are short here).
    assert_eq!(sandbox.scores("models/adapter"), sandbox.scores("models/merged"));

    // They are read beside a named base, and train further, alone.
    let further = "encoder.model={pretrained: {id: models/base, adapter: models/adapter}}";
    sandbox.says(&["check", "tiny.yaml", "name=further", further], &["train"]);
    sandbox.succeeds(&["train", "tiny.yaml", "name=further", further, "train.keep=last"]);
    let weights = |run: &str| {
        let runs = sandbox.names("runs");
        let run = runs.iter().find(|name| name.contains(&format!("-{run}-"))).unwrap();
        let read = |file: &str| fs::read(sandbox.path(&format!("runs/{run}/encoder/{file}.safetensors"))).unwrap();
        (read("model"), read("adapter"))
    };
    let (adapted, further_on) = (weights("adapted"), weights("further"));
    assert!(adapted.0 == further_on.0, "the base stays as it is");
    assert!(adapted.1 != further_on.1, "the adapters train");
    let both = ["train", "tiny.yaml", "name=both", further, "encoder.lora={rank: 4}"];
    sandbox.refuses_with(&both, &["has adapters already"]);
}

#[test]
fn nothing_is_written_over_and_what_cannot_be_held_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.succeeds(&["train", "tiny.yaml"]);
    let told = sandbox.refusals(&[
        &["export", "tiny", "--out", "models/tiny", "--format", "peft"],
        &["export", "tiny", "--out", "code"],
    ]);
    insta::assert_snapshot!(told, @r"
    err: error: --format peft: tiny has no adapters
    err:   hint: --format st writes all weights
    err: error: code: is there already, and nothing is written over
    err:   hint: name another place with --out, or take that one away
    ");
    insta::assert_snapshot!(sandbox.wb(&["export", "tiny", "--out", "models/tiny", "--format", "sf"]), @r"
    exit 2
    err: error: invalid value 'sf' for '--format <FORMAT>': `sf`, expected st, st6, peft, safetensors; did you mean `st`?
    err:
    err: For more information, try '--help'.
    ");
    sandbox.succeeds(&["export", "tiny", "--out", "models/own", "--format", "safetensors"]);
    // The quickstart's kind of model: tokens weigh by their place, too.
    let (out, err) = sandbox.succeeds(&["export", "tiny", "--out", "models/tiny"]);
    assert!(out.starts_with("models/tiny: st in f32; read back, least cosine 1.0000000"), "{out}");
    assert!(err.contains("tiny weighs tokens by their place in a text, which sentence-transformers'"), "{err}");
    let card = sandbox.text("models/tiny/README.md");
    assert!(card.contains("SentenceTransformer(\"models/tiny\", trust_remote_code=True)"), "{card}");
    let plain = "encoder.model={static_embedding: {dim: 16, positions: 0}}";
    sandbox.succeeds(&["train", "tiny.yaml", "name=plain", plain]);
    let (out, err) = sandbox.succeeds(&["export", "plain", "--out", "models/plain"]);
    assert!(out.starts_with("models/plain: st in f32"), "{out}");
    assert!(err.contains("the weights of tokens were multiplied into their vectors"), "{err}");
}
