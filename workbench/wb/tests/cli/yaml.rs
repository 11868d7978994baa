//! What is wrong with a YAML: where it stands, what was expected, the near name, and nothing written.

use crate::sandbox::{Sandbox, TINY};

/// The error of `wb run` on a changed `tiny.yaml`; `wb check` has to say the same. Of a list of a family's members only
/// the first is kept: a new one changes nothing here.
fn error(sandbox: &Sandbox, from: &str, to: &str) -> String {
    assert!(TINY.contains(from), "{from}");
    sandbox.write("bad.yaml", TINY.replacen(from, to, 1));
    let run = sandbox.refuses(&["run", "bad.yaml"]);
    let check = sandbox.refuses(&["check", "bad.yaml"]);
    // Where only a file or folder is missing, the check goes on and tells all the rest.
    if !check.contains("missing: ") {
        assert_eq!(check, run);
    }
    let shortened = |line: &str| match line.split_once("expected one of ") {
        Some((before, members)) if line.contains("unknown variant") => {
            format!("{before}expected one of {}, ...\n", members.split(", ").next().unwrap_or_default())
        }
        _ => format!("{line}\n"),
    };
    run.lines().map(shortened).collect()
}

/// Place, message and hint of the error for each change of `tiny.yaml`.
fn errors(sandbox: &Sandbox, rows: &[(&str, &str)]) -> String {
    let start = "exit 2\nerr: error: cannot load bad.yaml\nerr:   cause: bad.yaml:";
    rows.iter().map(|(from, to)| behind(&error(sandbox, from, to), start)).collect()
}

fn behind(block: &str, start: &str) -> String {
    let rest = block.strip_prefix(start).unwrap_or_else(|| panic!("{block}"));
    rest.trim_end().replace("\nerr:   hint:", "\n  hint:") + "\n"
}

/// Every section may be left out: the command that cannot do without it shows the shortest one that works.
#[test]
fn a_command_says_which_section_it_needs() {
    let sandbox = Sandbox::new();
    sandbox.write("bare.yaml", "name: bare\n");
    let told = sandbox.refusals(&[&["data", "bare.yaml"], &["synth", "bare.yaml"]]);
    insta::assert_snapshot!(told, @r"
    err: error: wb data: needs `data:`, which bare.yaml does not have
    err:   hint: data: { sources: [{ code: { path: src } }] }
    err: error: wb synth: needs `snippets:`, which bare.yaml does not have
    err:   hint: snippets: { sources: [{ tree: { files: { path: src } } }] }
    ");
    sandbox.write("pairs.yaml", "name: pairs\ndata: { sources: [{ code: { path: code } }] }\n");
    for command in ["train", "run"] {
        let needs = format!("wb {command}: needs `encoder:`, which pairs.yaml does not have");
        let shortest = "hint: encoder: { model: { static_embedding: {} } }";
        sandbox.refuses_with(&[command, "pairs.yaml"], &[&needs, shortest]);
    }
    sandbox.refuses_with(&["mine-negatives", "pairs.yaml"], &["wb mine-negatives: needs `encoder:`"]);
    // What the sections that are there need is told, and nothing is said of the others.
    let (out, _) = sandbox.succeeds(&["check", "bare.yaml"]);
    assert_eq!(out, "bare.yaml: fine\n");
    let (out, _) = sandbox.succeeds(&["check", "pairs.yaml"]);
    assert!(out.contains("data      code code") && !out.contains("train ") && !out.contains("encoder"), "{out}");
    // A section that is there is checked, whichever command reads the file.
    sandbox.write(
        "wrong.yaml",
        "name: wrong\nsnippets: { sources: [{ tree: { files: { path: code } } }] }\nrules: {}\n\
        train: { epochs: 0 }\n",
    );
    let told = ["wrong.yaml:4:10: train.epochs: got 0, expected at least 1"];
    sandbox.refuses_with(&["synth", "wrong.yaml"], &told);
}

#[test]
fn what_is_no_yaml_is_told() {
    let sandbox = Sandbox::new();
    let rows = [("seed: 5", "\tseed: 5"), ("{ mnrl: { scale: 20 } }", "{ mnrl: { scale: 20 }")];
    insta::assert_snapshot!(errors(&sandbox, &rows), @r"
    2:1: name: found a tab character that violates indentation
    14:3: train.loss: did not find expected ',' or '}'
    ");
    sandbox.write("empty.yaml", "");
    sandbox.write("bytes.yaml", b"name: \xff\n");
    let told = sandbox.refusals(&[
        &["check", "empty.yaml"],
        &["check", "bytes.yaml"],
        &["run", "absent.yaml"],
        &["run", "code"],
    ]);
    insta::assert_snapshot!(told, @r"
    err: error: cannot load empty.yaml
    err:   cause: empty.yaml:1:1: missing field `name`
    err: error: cannot load bytes.yaml
    err:   cause: bytes.yaml: byte 6 is not UTF-8
    err: error: no file `absent.yaml`
    err:   hint: paths are relative to the folder in which wb is started
    err: error: cannot load code
    err:   cause: cannot read code
    err:   cause: Is a directory (os error 21)
    ");
}

#[test]
fn what_a_file_names_has_to_be_there() {
    let sandbox = Sandbox::new();
    insta::assert_snapshot!(error(&sandbox, "path: code", "path: cod"), @r"
    exit 2
    err: error: cannot read code cod
    err:   cause: cod is not a folder, expected a tree of source files
    err:   hint: give `path:` a folder of sources, or run `cargo fetch` in a Rust project first
    ");
    insta::assert_snapshot!(sandbox.refuses(&["run", "tiny.yaml", "bench.benchmarks=[{benchmark: {cosqa: {}}, dataset: nowhere}]"]), @r"
    exit 2
    err: error: cannot read bench.benchmarks[0].dataset
    err:   cause: no folder `nowhere`
    err:   hint: paths are relative to the folder in which wb is started
    ");
    sandbox.says(&["check", "tiny.yaml", "train.epochs=7", "encoder.model.static_embedding.dim=8"], &["7 epochs"]);
}
