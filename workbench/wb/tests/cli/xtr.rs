//! The flagship config on a tiny model: `configs/xtr-lora.yaml` with its very keys, scaled down, on a folder laid out as
//! google/xtr-base-en is; killed, resumed, exported and measured again.
#![cfg(unix)]

use std::{fs, path::Path};

use serde_json::Value;

use crate::sandbox::{Sandbox, killed_ends_in_the_same_bytes};

/// Keys with less than in the file; all other keys are the file's.
const SMALLER: [&str; 14] = [
    "xtr-lora.yaml",
    "device=cpu",
    "data.sources=[{code: {path: code}}]",
    "data.split={validation: 0.1, test: 0.2}",
    "negatives={retriever: bm25, per_pair: 15}",
    "encoder.model={pretrained: {id: models/xtr-base-en}}",
    "encoder.max_tokens={query: 16, document: 40}",
    "encoder.late_interaction.dim=8",
    "encoder.lora={rank: 8, alpha: 16, dropout: 0.1, targets: [q, k, v, o, wi_0, wi_1, wo]}",
    "train.negatives=15",
    "train.batch={pairs: 16, accumulate: 2, micro_tokens: 512}",
    "train.optimizer.adamw.learning_rate=0.003",
    "train.schedule.linear.warmup_steps=3",
    "bench.benchmarks=[{benchmark: {pairs: {}}}]",
];

/// A random T5 of two layers with the files that the hub's folder has: no modules, the projection as torch saves it.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let golden = crates.join("wb-encoder/tests/golden");
    for (folder, file) in [
        ("tiny-t5", "config.json"),
        ("tiny-t5", "model.safetensors"),
        ("tiny-t5", "tokenizer.json"),
        ("tiny-t5", "tokenizer_config.json"),
        ("xtr", "2_Dense/config.json"),
        ("xtr", "2_Dense/pytorch_model.bin"),
    ] {
        sandbox.write(&format!("models/xtr-base-en/{file}"), fs::read(golden.join(folder).join(file)).unwrap());
    }
    sandbox.write("xtr-lora.yaml", fs::read(crates.join("../configs/xtr-lora.yaml")).unwrap());
    sandbox
}

fn arguments<'a>(command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&[command][..], &SMALLER, more].concat()
}

#[test]
fn the_check_says_what_would_be_done() {
    let sandbox = sandbox();
    let (out, _) = sandbox.succeeds(&arguments("check", &[]));
    assert!(out.contains("xtr-lora.yaml: fine"), "{out}");
    // Per layer 4 matrices of 24 to 16 and 16 to 24, and 3 of 24 to 40, with adapters of rank 8; the projection whole.
    let adapters = 2 * 8 * (4 * (24 + 16) + 3 * (24 + 40));
    assert!(out.contains(&format!("{} trained", adapters + 24 * 8)), "{out}");
    assert!(out.contains("negatives 15 a pair, ranked by BM25"), "{out}");
    let lints: Vec<&str> = out.lines().filter(|line| line.starts_with("lint: ")).collect();
    assert_eq!(lints.len(), 1, "{lints:#?}");
    assert!(lints[0].contains("train.batch.pairs=32 train.batch.accumulate=1"), "{lints:#?}");

    // With the pairs prepared the steps are known, and how many of them warm up.
    sandbox.succeeds(&arguments("data", &[]));
    let (out, _) = sandbox.succeeds(&arguments("check", &[]));
    for (stage, what) in [
        ("easy", "3 hard negatives, temperature 0.100"),
        ("medium", "7 hard negatives, temperature 0.070"),
        ("hard", "15 hard negatives, temperature 0.050"),
    ] {
        let is_it = |line: &str| line.contains(&format!(": {stage}, ")) && line.contains(what);
        assert!(out.lines().any(is_it), "no {stage} with {what} in\n{out}");
    }
    let (out, _) = sandbox.succeeds(&arguments("check", &["train.schedule.linear.warmup_steps=5000"]));
    assert!(out.contains("lint: train.schedule.linear: 5000 steps of warm-up, and training has "), "{out}");
}

#[test]
fn it_trains_and_a_killed_run_ends_in_the_same_bytes() {
    let sandbox = sandbox();
    let validate = "train.validate.every={steps: 3}";
    let run = killed_ends_in_the_same_bytes(&sandbox, &arguments("run", &[validate]));

    // What the file asks for is what happened.
    let steps = sandbox.lines(&run.join("metrics.jsonl"));
    let rates: Vec<f64> = steps.iter().map(|step| step["learning_rate"].as_f64().unwrap()).collect();
    for (step, share) in [(0, 1.0 / 3.0), (1, 2.0 / 3.0), (2, 1.0), (3, 1.0)] {
        assert!((rates[step] - 0.003 * share).abs() < 1e-9, "step {}: {}", step + 1, rates[step]);
    }
    assert!(rates[4..].windows(2).all(|two| two[1] < two[0]), "{rates:?}");
    let stages = sandbox.json(&run.join("curriculum.json"));
    assert!(stages.to_string().contains("hard"), "{stages}");
    let loss = |step: &Value| step["loss"].as_f64().unwrap();
    assert!(steps.iter().all(|step| loss(step).is_finite()), "{steps:#?}");
    let encoder = sandbox.json(&run.join("encoder/encoder.json"));
    assert_eq!(encoder["late_interaction"]["dim"], 8);
    for file in ["adapter.safetensors", "late_interaction.safetensors", "model.safetensors"] {
        assert!(run.join("encoder").join(file).is_file(), "{file}");
    }

    // Exported as sentence-transformers' multi-vector encoder and as adapters of PEFT, it ranks as it did.
    let of_run = sandbox.scores("xtr-lora");
    assert!(!of_run.is_empty());
    sandbox.succeeds(&["export", "xtr-lora", "--out", "models/st"]);
    assert_eq!(sandbox.scores("models/st"), of_run);
    sandbox.succeeds(&["export", "xtr-lora", "--out", "models/peft", "--format", "peft"]);
    assert_eq!(sandbox.scores("models/peft"), of_run);
    let modules = sandbox.text("models/st/modules.json");
    assert!(modules.contains("MultiVectorMask") && modules.contains("1_Dense"), "{modules}");
}
