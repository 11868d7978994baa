//! `wb init` by its flags: a YAML that loads, runs, and is not written over.

use crate::sandbox::{Sandbox, has};

/// The file without the lines that hold what was measured.
fn written(sandbox: &Sandbox, name: &str) -> String {
    let text = sandbox.text(name);
    let measured = |line: &&str| line.starts_with("# Cost: ") || line.starts_with("# Measured by ");
    assert_eq!(text.lines().filter(measured).count(), 2, "{text}");
    text.lines().filter(|line| !measured(line)).map(|line| format!("{line}\n")).collect()
}

#[test]
fn flags_make_a_file_that_checks_and_runs() {
    let sandbox = Sandbox::new();
    let arguments = ["init", "mine.yaml", "--code", "code", "--device", "cpu", "--minutes", "2"];
    let (out, err) = sandbox.succeeds(&arguments);
    assert!(out.starts_with("mine.yaml: a bag of token vectors from scratch on the code in code, "), "{out}");
    assert!(out.ends_with("next: wb check mine.yaml\n      wb run mine.yaml\n"), "{out}");
    assert!(err.contains("measuring this machine"), "{err}");
    let text = written(&sandbox, "mine.yaml");
    let expected = [
        "# Needs: the code in code: 300 pairs before any gate; no model and no network.",
        "#   wb check mine.yaml",
        "name: mine\nseed: 17\ndevice: cpu\n",
        "    - code: { path: \"code\" }\n  split: { validation: 0.1, test: 0.1, max_test: 2500 }\n",
        "  batch: { pairs: 32 }",
        "    - benchmark: { pairs: {} }",
    ];
    has(&text, &expected);
    let (out, _) = sandbox.succeeds(&["check", "mine.yaml"]);
    assert!(out.starts_with("mine.yaml: fine\n"), "{out}");
    sandbox.says(&["run", "mine.yaml"], &["VERDICT: "]);

    // The same flags, the same text; and nothing is written over unless that is asked for.
    sandbox.refuses_with(&arguments, &["mine.yaml: is there already, and is not written over"]);
    sandbox.succeeds(&[&arguments[..], &["--force"]].concat());
    assert_eq!(written(&sandbox, "mine.yaml"), text);
}

#[test]
fn a_single_project_is_split_pair_by_pair() {
    let sandbox = Sandbox::new();
    let functions =
        ["alder", "birch", "cedar", "elm", "fir"].map(|name| sandbox.text(&format!("code/{name}/src/lib.rs"))).concat();
    sandbox.write("one/Cargo.toml", "[package]\nname = \"one\"\nversion = \"1.0.0\"\n");
    sandbox.write("one/src/lib.rs", functions);
    sandbox.succeeds(&["init", "--code", "one", "--device", "auto", "--minutes", "1", "--name", "single"]);
    let text = written(&sandbox, "single.yaml");
    assert!(text.contains("split: { by: pair, validation: 0.1,") && text.contains("name: single\n"), "{text}");
    sandbox.succeeds(&["check", "single.yaml"]);
}

#[test]
fn a_file_of_pairs_names_the_experiment() {
    let sandbox = Sandbox::new();
    let record = |at: usize| {
        format!("{{\"anchor\": \"how to count ledger {at}\", \"positive\": \"fn count_{at}() {{ ledger({at}) }}\"}}\n")
    };
    sandbox.write("my questions.jsonl", (0..90).map(record).collect::<String>());
    let (out, _) = sandbox.succeeds(&["init", "--pairs", "my questions.jsonl", "--device", "cpu", "--minutes", "1"]);
    assert!(out.ends_with("next: wb check my-questions.yaml\n      wb run my-questions.yaml\n"), "{out}");
    let text = written(&sandbox, "my-questions.yaml");
    assert!(text.contains("    - jsonl: { path: \"my questions.jsonl\" }\n"), "{text}");
    sandbox.succeeds(&["check", "my-questions.yaml"]);
}

#[test]
fn without_a_terminal_all_missing_flags_are_told_at_once() {
    let sandbox = Sandbox::new();
    let told = sandbox.refusals(&[&["init"], &["init", "a b.yaml", "--code", "code", "--minutes", "3"]]);
    insta::assert_snapshot!(told, @r"
    err: error: wb init: there is no terminal to ask on, and flags are missing: --code DIR, --pairs FILE or --registry; --device NAME; --minutes N
    err:   hint: wb init --registry --device auto --minutes 10
    err: error: wb init: there is no terminal to ask on, and flags are missing: --device NAME
    err:   hint: wb init 'a b.yaml' --code code --device auto --minutes 3
    ");
}

#[test]
fn bad_answers_are_refused_before_anything_is_written() {
    let sandbox = Sandbox::new();
    let refused = |arguments: &[&str], told: &str| {
        let arguments = [&["init", "mine.yaml", "--device", "cpu", "--minutes", "1"], arguments].concat();
        sandbox.refuses_with(&arguments, &[told]);
    };
    refused(&["--code", "nowhere"], "nowhere is not a folder, expected a tree of source files");
    refused(&["--pairs", "tiny.yaml"], "expected a file of pairs: .jsonl, .json, .parquet or .csv");
    sandbox.write("few.jsonl", "{\"anchor\": \"a\", \"positive\": \"b\"}\n");
    refused(&["--pairs", "few.jsonl"], "few.jsonl: has 1 pair, expected at least 50");
    sandbox.write("other.jsonl", "{\"title\": \"a\", \"positive\": \"b\"}\n");
    refused(&["--pairs", "other.jsonl"], "anchor");
    refused(&["--code", "code", "--name", "my name"], "expected letters, digits, `-` and `_`");
    refused(&["--code", "code", "--registry"], "cannot be used with");
    let nowhere = ["init", "no/mine.yaml", "--code", "code", "--device", "cpu", "--minutes", "1"];
    sandbox.refuses_with(&nowhere, &["no/mine.yaml: there is no folder no"]);
}
