//! Data that is not what it should be: the file, the line, and nothing half done.

use std::fs;

use crate::sandbox::Sandbox;

const JSONL: &str = "data.sources=[{jsonl: {path: pairs.jsonl}}]";

/// Pairs as JSON lines, one a group.
fn pairs(n: usize) -> String {
    let words = ["river", "engine", "garden", "violin", "compass", "kettle", "harbour", "meadow", "falcon", "ribbon"];
    let word = |at: usize| words[at % words.len()];
    let line = |at: usize| {
        let (a, b, c) = (word(at), word(at / 10), word(at / 3 + 5));
        format!(
            "{{\"anchor\": \"how to move a {a} over the {b} number {at} with a {c}\", \"positive\": \"def move_{a}_{at}({b}):\\n    for {c} in {b}.all({at}):\\n        yield {a}({c}, {at}) # {a} {b} {c} and what is left of it\\n    return {b}.close_{c}({at})\", \"group\": \"g{at}\"}}\n"
        )
    };
    (0..n).map(line).collect()
}

#[test]
fn bad_records_are_told_with_file_and_line() {
    let sandbox = Sandbox::new();
    let good = pairs(30);
    let refused = |bytes: &[u8]| {
        sandbox.write("pairs.jsonl", [good.as_bytes(), bytes].concat());
        sandbox.refuses(&["run", "tiny.yaml", JSONL])
    };
    insta::assert_snapshot!(refused(b"{\"anchor\": \"half a reco"), @r"
    exit 2
    err: error: cannot read jsonl pairs.jsonl
    err:   cause: pairs.jsonl:31:23: the last line ends inside its record, as if the file was cut off
    err:   hint: get the file again, or `on_bad: skip` to go on without this line
    ");
    insta::assert_snapshot!(refused(b"{\"anchor\": \"not \xff\xfe UTF-8\", \"positive\": \"x\"}\n"), @r"
    exit 2
    err: error: cannot read jsonl pairs.jsonl
    err:   cause: pairs.jsonl:31:17: byte 0xff is not UTF-8
    ");
    insta::assert_snapshot!(refused(b"{\"ancor\": \"a typo in a field's name\", \"positive\": \"x\"}\n"), @r"
    exit 2
    err: error: cannot read jsonl pairs.jsonl
    err:   cause: pairs.jsonl:31:1: no field `anchor`, the record has `ancor`, `positive`
    err:   hint: did you mean `ancor`?
    ");
    insta::assert_snapshot!(refused(b"{\"anchor\": \"a number\", \"positive\": 7}\n"), @r"
    exit 2
    err: error: cannot read jsonl pairs.jsonl
    err:   cause: pairs.jsonl:31:24: field `positive` is a number, expected a string or an array of strings
    ");
    insta::assert_snapshot!(refused(b"[1, 2]\n"), @r"
    exit 2
    err: error: cannot read jsonl pairs.jsonl
    err:   cause: pairs.jsonl:31:1: expected an object `{...}` with one field for each side
    ");
    insta::assert_snapshot!(sandbox.refuses(&["run", "tiny.yaml", "data.sources=[{jsonl: {path: absent.jsonl}}]"]), @r"
    exit 2
    err: error: cannot read jsonl absent.jsonl
    err:   cause: cannot read absent.jsonl
    err:   cause: No such file or directory (os error 2)
    ");
}

#[test]
fn bad_records_are_skipped_and_counted_where_that_was_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.write("pairs.jsonl", [pairs(300).as_bytes(), b"{\"anchor\": \"half a reco\n"].concat());
    sandbox.says(&["data", "tiny.yaml", JSONL, "data.on_bad=skip"], &["300 pairs"]);
    let card = sandbox.json(&format!("datasets/prepared/{}/data.json", sandbox.names("datasets/prepared")[0]));
    insta::assert_snapshot!(card["sources"][0]["skipped"], @r#"{"not JSON":1}"#);
    // One in a hundred is an accident, more is the wrong file.
    sandbox.write("pairs.jsonl", [pairs(30).as_bytes(), b"{\"anchor\": \"half a reco\n"].concat());
    insta::assert_snapshot!(sandbox.wb(&["data", "tiny.yaml", JSONL, "data.on_bad=skip"]), @r"
    exit 2
    err: error: cannot read jsonl pairs.jsonl
    err:   cause: jsonl pairs.jsonl: 1 of 31 are bad, more than `max_bad_share` 0.01 (not JSON: 1)
    err:   cause: pairs.jsonl:31:23: the line ends inside its record, expected one whole object a line
    err:   hint: look at the first bad record; the file or the field names may be wrong
    ");
}

#[test]
fn nothing_left_to_train_on_is_an_error_that_says_what_took_it() {
    let sandbox = Sandbox::new();
    let told = sandbox.refusals(&[
        &["run", "tiny.yaml", "data.filter.min_anchor_chars=4000"],
        &["run", "tiny.yaml", "data.sources.0.code.languages=[go]"],
    ]);
    insta::assert_snapshot!(told, @r"
    err: error: no training pairs are left: filter left 0 of 300, most for `anchor too short`: 300
    err:   hint: loosen the gate that took most, for example `filter: { min_positive_chars: 20 }`
    err: error: cannot read code code
    err:   cause: code has no source file in go
    err:   hint: name a folder of sources, or set `languages:` to those of the tree
    ");
    insta::assert_snapshot!(sandbox.wb(&["run", "tiny.yaml", "train.batch.pairs=1000"]), @r"
    exit 2
    err: error: train.batch.pairs: 1000 pairs are needed for a batch, and 195 training pairs cannot fill one
    err:   hint: a smaller train.batch.pairs, or train.batch.drop_last=false
    ");
}

#[test]
fn a_benchmark_that_is_cut_short_is_told_with_its_place() {
    let sandbox = Sandbox::new();
    sandbox.write("cosqa/code_idx_map.txt", "{\"def a():\\n    return 1\": 0, \"def b():\\n  ");
    sandbox.write("cosqa/cosqa-retrieval-dev-500.json", "[]");
    sandbox.write("csn/ruby/test.jsonl", "{\"repo\": \"a/b\", \"pat");
    let told = sandbox.refusals(&[
        &["bench", "cosqa", "--dataset", "cosqa", "--retriever", "bm25"],
        &["bench", "codesearchnet", "--dataset", "csn", "--retriever", "bm25"],
    ]);
    insta::assert_snapshot!(told, @r"
    err: error: cosqa/code_idx_map.txt: not JSON as expected
    err:   cause: EOF while parsing a string at line 1 column 43
    err: error: csn/ruby/test.jsonl:1: the record is cut off
    err:   cause: EOF while parsing a string at line 1 column 20
    ");
}

#[test]
fn a_damaged_run_is_told_not_shown() {
    let sandbox = Sandbox::new();
    sandbox.succeeds(&["run", "tiny.yaml"]);
    let file = sandbox.only_run("runs").join("bench/pairs-trained.json");
    let text = sandbox.text(&file);
    fs::write(&file, &text[..text.len() / 2]).unwrap();
    sandbox.fails_with(&["ls"], &["pairs-trained.json:"]);
    // The page shows what is whole, and says what is not.
    let (page, _) = sandbox.succeeds(&["report"]);
    assert!(sandbox.text(page.trim()).contains("pairs-trained.json"), "nothing is silent");
}
