//! A decoder as people come by one: checked, trained with adapters, seeing both ways or not, exported, and used again.

use crate::sandbox::{Sandbox, has};

/// A project with `qwen/`, a decoder of random weights laid out as its repositories are.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.golden_encoder("tiny-qwen3", "qwen");
    sandbox
}

const QWEN: [&str; 3] =
    ["encoder.model={pretrained: qwen}", "encoder.lora={rank: 2, targets: all-linear}", "encoder.tokenizer={}"];

fn with<'a>(command: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [command, &QWEN, more].concat()
}

#[test]
fn what_is_probably_not_meant_is_told_before_anything_is_computed() {
    let sandbox = project();
    let check = |more: &[&str]| sandbox.succeeds(&with(&["check", "tiny.yaml"], more)).0;
    let lints = |out: &str| out.lines().filter(|line| line.starts_with("lint: encoder")).count();
    let out = check(&[]);
    has(&out, &["encoder   qwen, qwen3 3 × 24, 4 heads on 2: "]);
    assert_eq!(lints(&out), 0, "{out}");
    let out = check(&["encoder.pooling=cls"]);
    has(&out, &["lint: encoder.pooling: the first token of a decoder sees itself alone"]);
    assert_eq!(lints(&check(&["encoder.pooling=cls", "encoder.bidirectional=true"])), 0);
    let out = check(&["encoder.prompts={document: 'code: '}"]);
    has(&out, &["lint: encoder.prompts.query: is left out, and qwen was made with \"Instruct: Given a question"]);
    // Without what says how it pools, as a base model is published.
    std::fs::remove_file(sandbox.path("qwen/modules.json")).unwrap();
    let out = check(&[]);
    has(&out, &["lint: encoder.pooling: only the last of a decoder's tokens has seen the whole text"]);
    assert_eq!(lints(&check(&["encoder.pooling=last"])), 0);
    assert_eq!(lints(&check(&["encoder.pooling=mean"])), 0, "it was asked for");
    let block = sandbox.wb(&["check", "tiny.yaml", "encoder.model={pretrained: BAAI/bge-code-large-en}"]);
    has(&block, &["lint: encoder.model.pretrained: there is no BAAI/bge-code-large-en", "BAAI/bge-code-v1"]);
    let block = sandbox.refuses(&["train", "tiny.yaml", "encoder.bidirectional=true"]);
    has(&block, &["encoder.bidirectional: of a model from scratch"]);
    let bert = "encoder.model={pretrained: bert}";
    sandbox.golden_encoder("tiny-bert", "bert");
    let block = sandbox.refuses(&["train", "tiny.yaml", bert, "encoder.bidirectional=false"]);
    has(
        &block,
        &["encoder.bidirectional: got false, and the encoder is bert 2 × 32, 4 heads, whose tokens see both ways"],
    );
}

#[test]
fn a_decoder_is_trained_and_exported_as_what_it_is() {
    let sandbox = project();
    let mut all = Vec::new();
    for (name, both_ways) in [("name=one", "false"), ("name=both", "true")] {
        let set = format!("encoder.bidirectional={both_ways}");
        sandbox.succeeds(&with(&["train", "tiny.yaml", name, &set, "train.epochs=1"], &[]));
        let run = name.trim_start_matches("name=");
        let own = sandbox.vectors(run);
        for format in ["st", "st6", "safetensors"] {
            let out = format!("out-{run}-{format}");
            sandbox.succeeds(&["export", run, "--format", format, "--out", &out]);
            for (found, expected) in sandbox.vectors(&out).iter().zip(&own) {
                assert!((found - expected).abs() < 1e-5, "{out}: {found} {expected}");
            }
        }
        // PEFT computes adapters over the base model, which is causal.
        let peft = ["export", run, "--format", "peft", "--out", &format!("out-{run}-peft")];
        match run {
            "both" => {
                has(&sandbox.refuses(&peft), &["the tokens of", "encoder.bidirectional", "--format st6"]);
                assert!(!sandbox.path("out-both-peft").exists());
            }
            _ => _ = sandbox.succeeds(&peft),
        }
        let config = sandbox.json(&format!("out-{run}-st/config.json"));
        assert_eq!(config.get("is_causal").map(|value| value == true), (run == "both").then_some(false));
        all.push(own);
    }
    assert_ne!(all[0], all[1]);
}
