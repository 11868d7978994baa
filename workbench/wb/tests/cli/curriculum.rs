//! Curricula, data sets and streaming, from the command line.

use crate::sandbox::{Sandbox, TINY};

/// `tiny.yaml` on two sources, with two stages.
pub fn staged(sandbox: &Sandbox) {
    let lines: String = (0..120)
        .map(|i| {
            let words = ["red", "green", "blue", "violet", "orange", "brown"];
            let (a, b) = (words[i % 6], words[(i / 6) % 6]);
            format!(
                "{{\"id\": \"q{i}\", \"anchor\": \"how do I paint number {i} {a} and then {b}\", \"positive\": \"{}\"}}\n",
                format!("canvas.paint({i}, \\\"{a}\\\", \\\"{b}\\\");\\ncanvas.flush({i}); ").repeat(3)
            )
        })
        .collect();
    sandbox.write("questions.jsonl", lines);
    let text = TINY
        .replace("    - code: { path: code }\n", "    - code: { path: code }\n    - jsonl: { dataset: questions, path: questions.jsonl }\n")
        .replace("  split:", "  dedupe: { near: 0 }\n  split:")
        .replace(
            "  epochs: 2\n",
            "  epochs: 2\n  curriculum:\n    - { name: easy, until: { share: 0.5 }, datasets: [questions], temperature: 0.1 }\n    - { name: all, negatives: 3 }\n",
        );
    sandbox.write("staged.yaml", text);
}

#[test]
fn a_check_shows_every_stage_with_its_steps() {
    let sandbox = Sandbox::new();
    staged(&sandbox);
    sandbox.succeeds(&["data", "staged.yaml"]);
    insta::assert_snapshot!(sandbox.wb(&["check", "staged.yaml"]), @"
    exit 0
    out: staged.yaml: fine
    out: needs            what             state
    out: data.sources[0]  code             there
    out: data.sources[1]  questions.jsonl  there
    out: data      code code
    out: data      jsonl questions.jsonl
    out:           292 training pairs, prepared already: datasets/prepared/pairs-[hash]
    out: encoder   a bag of token vectors from scratch: 6848 numbers, 6848 trained
    out: memory    110 kB for weights, gradients and optimizer
    out: train     36 steps of 16 pairs, 4.6 epochs
    out:           steps 1 to 18: easy, 82 pairs of questions, 0 hard negatives, temperature 0.100, rate × 1
    out:           steps 19 to 36: all, 292 pairs of code-1, questions, 0 hard negatives, temperature 0.050, rate × 1
    out: bench     pairs
    out: lint: train.curriculum[1].negatives: asks for 3 hard negatives, and no training pair has more than 0
    ");
    sandbox.succeeds(&["train", "staged.yaml"]);
    let stages = sandbox.json(&sandbox.only_run("runs").join("curriculum.json"));
    assert_eq!((&stages[0]["name"], &stages[1]["datasets"][1]), (&"easy".into(), &"questions".into()));
}

#[test]
fn names_and_lengths_that_do_not_fit_are_refused() {
    let sandbox = Sandbox::new();
    staged(&sandbox);
    let told = sandbox.refusals(&[
        &["run", "staged.yaml", "train.curriculum.0.datasets=[question]"],
        &["run", "staged.yaml", "train.mix={weights: {questions: 1}}"],
        &["check", "staged.yaml", "train.curriculum.1.max_tokens={query: 8, document: 65}"],
        &["check", "staged.yaml", "train.refresh={}", "data.streaming=true"],
        &["check", "staged.yaml", "data.streaming=true", "data.balance.max_per_language=5"],
    ]);
    insta::assert_snapshot!(told, @r"
    err: error: cannot load staged.yaml
    err:   cause: staged.yaml:20:44: train.curriculum[0].datasets[0]: there is no data set `question` among the training pairs, there are `code-1`, `questions`
    err:   hint: did you mean `questions`?
    err: error: cannot load staged.yaml
    err:   cause: override `train.mix={weights: {questions: 1}}`: train.mix.weights: the data set `code-1` has no weight
    err:   hint: 0 leaves a data set out; or name the data sets of each stage in train.curriculum
    err: error: train.curriculum[1].max_tokens.document: got 65, expected more than 0 and at most 64, the encoder's own
    err:   hint: encoder.max_tokens is the limit of all stages
    err: error: cannot load staged.yaml
    err:   cause: override `train.refresh={}`: train.refresh: pairs are mined in memory, and `data.streaming` keeps them on the disk
    err:   hint: train.refresh=null
    err: error: cannot load staged.yaml
    err:   cause: override `data.balance.max_per_language=5`: data.balance: cannot be used with data.streaming: it needs all pairs in memory
    ");
}

/// Killed in the middle by a stop after each checkpoint, the run ends as the one that was not.
#[test]
fn hard_negatives_are_mined_again_while_training() {
    let sandbox = Sandbox::new();
    staged(&sandbox);
    let refresh = "train.refresh={every: {steps: 9}, at_start: true}";
    let arguments =
        ["train", "staged.yaml", refresh, "negatives={mode: naive, per_pair: 2, retriever: bm25}", "--runs", "mined"];
    sandbox.succeeds(&arguments);
    sandbox.succeeds(&["train", "staged.yaml", "--runs", "plain"]);
    assert_ne!(sandbox.weights("mined"), sandbox.weights("plain"));
    let tokens = |runs: &str| -> Vec<u64> {
        let steps = sandbox.lines(&sandbox.only_run(runs).join("metrics.jsonl"));
        steps.iter().map(|step| step["tokens"].as_u64().unwrap()).collect()
    };
    // Two documents more a pair.
    assert!(tokens("mined").iter().zip(tokens("plain")).all(|(with, without)| *with > without + 16));
    let checkpoints = sandbox.only_run("mined").join("checkpoints");
    assert!(checkpoints.join("negatives-000027.json").is_file(), "{checkpoints:?}");
    let mut again = arguments;
    again[5] = "again";
    sandbox.succeeds(&again);
    assert_eq!(sandbox.weights("mined"), sandbox.weights("again"));
}

#[test]
fn pairs_from_the_disk_train_like_pairs_in_memory() {
    let sandbox = Sandbox::new();
    staged(&sandbox);
    sandbox.succeeds(&["run", "staged.yaml", "--runs", "memory"]);
    sandbox.succeeds(&["run", "staged.yaml", "data.streaming=true", "--runs", "disk"]);
    assert_eq!(sandbox.weights("memory"), sandbox.weights("disk"));
    let journal = |runs: &str| sandbox.text(&sandbox.only_run(runs).join("metrics.jsonl"));
    assert_eq!(journal("memory"), journal("disk"));
    sandbox.says(&["check", "staged.yaml", "data.streaming=true"], &["training pairs, prepared already"]);
}
