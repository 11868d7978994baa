//! The commands that look at what there is: ls, compare, report, doctor, bench with its files.

use wb_core::{records::outcome::ContestantOutcome, run_dir::read_json};

use crate::sandbox::{Sandbox, TINY, has, told};

#[test]
fn an_empty_project_says_how_to_begin() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(sandbox.wb(&["ls"]), @r"
    exit 0
    out: no runs under runs; make one: wb run configs/quickstart.yaml
    ");
    insta::assert_snapshot!(sandbox.wb(&["check", "tiny.yaml"]), @"
    exit 0
    out: tiny.yaml: fine
    out: needs            what  state
    out: data.sources[0]  code  there
    out: data      code code
    out:           to be prepared in datasets/prepared/pairs-[hash]
    out: encoder   a bag of token vectors from scratch: 6848 numbers, 6848 trained
    out: memory    110 kB for weights, gradients and optimizer
    out: train     2 epochs in batches of 16
    out: bench     pairs
    out: lints about the pairs come after `wb data tiny.yaml`; they are not prepared yet
    ");
}

#[test]
fn benchmarks_and_defaults_are_listed() {
    let sandbox = Sandbox::new();
    let (out, _) = sandbox.succeeds(&["ls", "--benchmarks"]);
    has(&out, &["codesearchnet", "cosqa", "beir", "pairs", "spider", "bird", "synthetic-sql", "licence", "paper"]);
    sandbox.says(&["ls", "--defaults"], &["learning_rate"]);
}

#[test]
fn a_resolved_file_holds_every_default_and_means_the_same() {
    let sandbox = Sandbox::new();
    let (resolved, _) = sandbox.succeeds(&["check", "tiny.yaml", "train.epochs=7", "--resolved"]);
    assert!(resolved.contains("epochs: 7") && resolved.contains("weight_decay:"), "{resolved}");
    sandbox.write("resolved.yaml", &resolved);
    let (again, _) = sandbox.succeeds(&["check", "resolved.yaml", "--resolved"]);
    assert_eq!(again, resolved);
}

#[test]
fn a_check_tells_that_nothing_is_there_to_choose_the_best_weights_by() {
    let sandbox = Sandbox::new();
    let (out, _) = sandbox.succeeds(&["check", "tiny.yaml", "data.split.validation=0", "train.keep=best"]);
    assert!(out.contains("lint: train.keep: `best` is chosen by validation pairs"), "{out}");
    sandbox
        .fails_with(&["train", "tiny.yaml", "data.split.validation=0", "train.keep=best"], &["hint: train.keep=last"]);
    let (out, _) = sandbox.succeeds(&["check", "tiny.yaml", "data.split.validation=0", "train.keep=last"]);
    assert!(!out.contains("lint: train.keep"), "{out}");
}

#[test]
fn runs_are_listed_compared_and_reported() {
    let sandbox = Sandbox::new();
    sandbox.succeeds(&["run", "tiny.yaml"]);
    sandbox.succeeds(&["run", "tiny.yaml", "name=longer", "train.epochs=6"]);
    insta::assert_snapshot!(sandbox.wb(&["ls"]), @r"
    exit 0
    out: run                         state  scores
    out: [date]-longer-[hash]  done   bm25+trained mrr [score], bm25 mrr [score], trained mrr [score], untrained mrr [score]
    out: [date]-tiny-[hash]    done   bm25+trained mrr [score], bm25 mrr [score], trained mrr [score], untrained mrr [score]
    ");
    sandbox.says(&["ls", "--leaderboard", "MRR"], &["unlike the best", "-longer-", "train.epochs="]);
    insta::assert_snapshot!(sandbox.wb(&["report", "tiny", "longer"]), @r"
    exit 0
    out: reports/[date]-tiny-[hash].html
    out: reports/[date]-longer-[hash].html
    ");

    let (out, _) = sandbox.succeeds(&["compare", "tiny", "longer", "--no-worse"]);
    assert!(out.lines().last().unwrap().starts_with("VERDICT: "), "{out}");
    assert!(out.starts_with("measure"), "{out}");
    let same = sandbox.wb(&["compare", "tiny", "tiny"]);
    assert!(same.contains("VERDICT: MARGINAL") && same.contains("+0.0000 [+0.0000, +0.0000]"), "{same}");
    insta::assert_snapshot!(sandbox.refuses(&["compare", "tiny", "lnoger"]), @r"
    exit 2
    err: error: no run `lnoger`
    err:   hint: known: [date]-longer-[hash], [date]-tiny-[hash]
    ");
}

#[test]
fn a_benchmark_leaves_json_and_a_run_file() {
    let sandbox = Sandbox::new();
    sandbox.succeeds(&["train", "tiny.yaml"]);
    sandbox.succeeds(&["bench", "pairs", "--encoder", "latest", "--json", "dense.json", "--trec", "dense.trec"]);
    sandbox.succeeds(&["bench", "pairs", "--retriever", "bm25", "--json", "bm25.json"]);

    let json = sandbox.json("dense.json");
    let first = &json["protocols"][0];
    for key in "id language split pool metric value low high tie_best tie_worst deduplicated queries".split(' ') {
        assert!(first.get(key).is_some(), "no {key} in {first}");
    }
    assert!(first["queries"][0]["rank"].as_u64().unwrap() >= 1);
    assert!(json["not_run"].is_array());

    // What a run lacks to be compared, its own config makes.
    sandbox.refuses_with(&["compare", "tiny", "tiny"], &["hint: wb run runs/", "/config.yaml"]);

    let trec = sandbox.text("dense.trec");
    let fields: Vec<&str> = trec.lines().next().unwrap().split_whitespace().collect();
    assert_eq!((fields.len(), fields[1], fields[3]), (6, "Q0", "1"), "{fields:?}");

    let (out, _) = sandbox.succeeds(&["compare", "bm25.json", "dense.json"]);
    assert!(out.lines().last().unwrap().contains("REGRESSION"), "{out}");
    let refused = sandbox.run(&["compare", "bm25.json", "dense.json", "--no-worse"]);
    assert_eq!(refused.status.code(), Some(1), "a gate that says no is 1");
}

#[test]
fn pairs_of_other_sources_are_measured_too() {
    let sandbox = Sandbox::new();
    // Words that only the own code has: BM25 ranks every answer first; the third anchor names nobody's words.
    let pair = |id: &str, anchor: &str, positive: &str| {
        format!("{{\"id\": \"{id}\", \"anchor\": \"{anchor}\", \"positive\": \"{positive}\", \"language\": \"go\"}}\n")
    };
    sandbox.write(
        "held.jsonl",
        [
            pair("a", "sorts apples by weight", "func apples(weight int) { sort(apples) }"),
            pair("b", "counts pears in a bowl", "func pears(bowl int) { return count(bowl) }"),
            pair("c", "paints the whole house", "func apples() { return 1 }"),
        ]
        .concat(),
    );
    sandbox.succeeds(&["bench", "pairs", "--dataset", "held.jsonl", "--retriever", "bm25", "--json", "held.json"]);
    let of_command: ContestantOutcome = read_json(&sandbox.path("held.json")).unwrap();
    let full = of_command.protocols.iter().find(|score| score.id == "pairs-full").unwrap();
    assert_eq!((full.language.as_str(), full.pool), ("go", 3));
    let ranks: Vec<u64> = full.queries.iter().map(|query| query.rank).collect();
    // Nothing shares a word with the third anchor, so nothing is returned: 0 is "not found".
    assert_eq!(ranks, [1, 1, 0]);
    sandbox.write(
        "more.yaml",
        TINY.replace(
            "benchmarks: [{ benchmark: { pairs: {} } }]",
            "benchmarks: [{ benchmark: { pairs: {} } }, { benchmark: { pairs: { split: held } }, sources: [{ jsonl: { path: held.jsonl } }] }]",
        ),
    );
    sandbox.succeeds(&["run", "more.yaml"]);
    let of_run: ContestantOutcome = read_json(&sandbox.only_run("runs").join("bench/pairs2-bm25.json")).unwrap();
    assert_eq!(of_run.protocols[0].split, "held");
    assert_eq!(of_run.protocols[0].value, of_command.protocols[0].value);
    let sources = "bench.benchmarks=[{benchmark: {cosqa: {}}, dataset: code, sources: [{code: {}}]}]";
    let bench = ["bench", "pairs", "--dataset", "code", "--retriever", "bm25"];
    let refused =
        sandbox.refusals(&[&bench, &["run", "tiny.yaml", sources], &["run", "tiny.yaml", "data.split.test=0"]]);
    insta::assert_snapshot!(refused, @r"
    err: error: code: expected a file of pairs: .jsonl, .json, .parquet or .csv
    err:   hint: for other names of fields, other layouts and whole folders: `bench.benchmarks` with `sources` in a YAML
    err: error: cannot load tiny.yaml
    err:   cause: override `bench.benchmarks=[{benchmark: {cosqa: {}}, dataset: code, sources: [{code: {}}]}]`: bench.benchmarks[0].sources: only `pairs` measures on sources
    err: error: bench.benchmarks[0]: `pairs` measures held-out pairs, and there are none, expected at least one
    err:   hint: a share of data.split.test, as in data.split.test=0.05; `wb train` trains and measures nothing
    ");
}

#[test]
fn a_required_score_decides_the_exit_code() {
    let sandbox = Sandbox::new();
    let require = |what: &str| {
        let (code, _, err) = told(sandbox.run(&["bench", "pairs", "--retriever", "bm25", "--require", what]));
        (code, err)
    };
    sandbox.succeeds(&["train", "tiny.yaml"]);
    assert_eq!(require("mrr=0.5").0, Some(0));
    let (code, text) = require("mrr=0.9999");
    assert_eq!(code, Some(1));
    assert!(text.contains("required 0.9999"), "{text}");
    assert_eq!(require("speed=0.5").0, Some(2));
}

#[test]
fn the_doctor_tells_what_this_build_can_do() {
    let sandbox = Sandbox::new();
    let (out, _) = sandbox.succeeds(&["doctor"]);
    has(&out, &["wb 0.", "machine", "devices", "cpu", "forbidden by WB_OFFLINE"]);
    sandbox.says(&["doctor", "--device", "cpu"], &["nothing to test"]);
}
