//! What an experiment will take, as `wb check` tells it: the last lines of its output, which all begin with `cost`.

use crate::sandbox::{Sandbox, TRANSFORMER, told};

const LATE: &str = "encoder.late_interaction={dim: 8}";
const XTR: &str = "train.similarity={xtr: {top_k: 64}}";

/// The lines of a check that measures this machine.
fn cost(sandbox: &Sandbox, arguments: &[&str]) -> Vec<String> {
    let output = sandbox.command(&[&["check", "tiny.yaml"], arguments].concat()).output().unwrap();
    let (code, out, err) = told(output);
    assert_eq!(code, Some(0), "{out}\n{err}");
    let lines: Vec<String> =
        out.lines().filter_map(|line| line.strip_prefix("cost ")).map(|line| line.trim().to_owned()).collect();
    assert!(out.lines().last().unwrap().starts_with("cost "), "{out}");
    lines
}

/// Lines of these names in this order.
fn named(lines: &[String], names: &[&str]) {
    assert_eq!(lines.len(), names.len(), "{lines:#?}");
    for (line, name) in lines.iter().zip(names) {
        assert!(line.starts_with(name), "{name} is not the name of {line:?} in {lines:#?}");
    }
}

#[test]
fn memory_and_time_by_stage() {
    let sandbox = Sandbox::new();
    let lines = cost(&sandbox, &[]);
    named(&lines, &["memory", "speed", "data", "train", "bench pairs", "in all"]);
    assert!(lines[0].contains("while training") && lines[0].contains("weights, gradients and optimizer"), "{lines:#?}");
    assert!(lines[1].contains("tokens/s embedded") && lines[1].contains("by cpu ("), "{lines:#?}");
    assert!(lines[3].contains("steps of 16 pairs") && lines[3].contains("assumed: "), "{lines:#?}");
    assert!(lines[5].ends_with(" here"), "{lines:#?}");

    // With the pairs there, nothing is assumed and nothing is to be read.
    sandbox.succeeds(&["data", "tiny.yaml"]);
    let lines = cost(&sandbox, &[]);
    named(&lines, &["memory", "speed", "train", "bench pairs", "in all"]);
    // 195 training pairs in batches of 16, two epochs; 90 test pairs.
    assert!(lines[2].contains("24 steps of 16 pairs"), "{lines:#?}");
    assert!(!lines.concat().contains("assumed"), "{lines:#?}");
    assert!(lines[3].contains("90 queries, 90 documents, embedded by 2 encoders"), "{lines:#?}");
}

#[test]
fn every_kind_of_training_is_measured() {
    let sandbox = Sandbox::new();
    let late = cost(&sandbox, &[TRANSFORMER, LATE, XTR, "train.batch.micro_tokens=256"]);
    named(&late, &["memory", "speed", "data", "train", "bench pairs", "in all"]);
    assert!(late[0].contains("activations of 260 tokens"), "{late:#?}");
    let checkpointed = cost(&sandbox, &[TRANSFORMER, "train.gradient_checkpointing=true"]);
    named(&checkpointed, &["memory", "speed", "data", "train", "bench pairs", "in all"]);
    let mined = cost(&sandbox, &["negatives={retriever: bm25, per_pair: 2}", "train.loss={triplet: {}}"]);
    named(&mined, &["memory", "speed", "data", "mining", "train", "bench pairs", "in all"]);
    assert!(mined[3].contains("not reckoned: no encoder ranks"), "{mined:#?}");
}

#[test]
fn without_a_probe_there_are_no_times() {
    let sandbox = Sandbox::new();
    let (out, _) = sandbox.succeeds(&["check", "tiny.yaml"]);
    let lines: Vec<&str> = out.lines().filter(|line| line.starts_with("cost ")).collect();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(lines[1].contains("not measured: --no-probe"), "{lines:#?}");
}

#[test]
fn a_device_that_is_not_there_is_told_and_the_processor_measured() {
    let sandbox = Sandbox::new();
    let lines = cost(&sandbox, &["device=cuda:63"]);
    named(&lines, &["memory", "device", "speed", "data", "train", "bench pairs", "in all"]);
    assert!(lines[1].contains("times are those of the processor: cannot use device `cuda:63`"), "{lines:#?}");
}
