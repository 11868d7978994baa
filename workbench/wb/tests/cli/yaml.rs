//! What is wrong with a YAML: where it stands, what was expected, the near name, and nothing written.

use crate::sandbox::{Sandbox, TINY, TRANSFORMER};

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

/// Message and hint of the error for each list of overrides of `tiny.yaml`, which names the last of them.
fn override_errors(sandbox: &Sandbox, rows: &[&[&str]]) -> String {
    let error = |overrides: &&[&str]| {
        let last = overrides.last().unwrap();
        let start = format!("exit 2\nerr: error: cannot load tiny.yaml\nerr:   cause: override `{last}`: ");
        behind(&sandbox.refuses(&[&["run", "tiny.yaml"], *overrides].concat()), &start)
    };
    rows.iter().map(error).collect()
}

fn behind(block: &str, start: &str) -> String {
    let rest = block.strip_prefix(start).unwrap_or_else(|| panic!("{block}"));
    rest.trim_end().replace("\nerr:   hint:", "\n  hint:") + "\n"
}

#[test]
fn unknown_keys_have_a_place_and_a_near_name() {
    let sandbox = Sandbox::new();
    let rows = [
        ("scale: 20", "scal: 20"),
        ("    - code:", "    - coed:"),
        ("train:\n", "trian:\n"),
        ("{ mnrl: { scale: 20 } }", "{ mnlr: { scale: 20 } }"),
        ("static_embedding: { dim: 16 }", "static_embeding: { dim: 16 }"),
    ];
    insta::assert_snapshot!(errors(&sandbox, &rows), @r"
    13:19: train.loss.mnrl.scal: unknown field `scal`, expected one of `scale`, `temperature`, `directions`, `partition`, `hardness`, `mask_duplicates`
      hint: did you mean `scale`?
    6:7: data.sources[0].coed: unknown variant `coed`, expected one of `code`, ...
      hint: did you mean `code`?
    12:1: trian: unknown field `trian`, expected one of `name`, `seed`, `device`, `llm`, `snippets`, `synth`, `rules`, `annotate`, `review`, `ab`, `rag`, `data`, `negatives`, `encoder`, `train`, `journals`, `bench`
      hint: did you mean `train`?
    13:11: train.loss.mnlr: unknown variant `mnlr`, expected one of `mnrl`, ...
      hint: did you mean `mnrl`?
    9:12: encoder.model.static_embeding: unknown variant `static_embeding`, expected one of `static_embedding`, ...
      hint: did you mean `static_embedding`?
    ");
}

#[test]
fn wrong_types_say_what_was_expected() {
    let sandbox = Sandbox::new();
    let rows = [
        ("epochs: 2", "epochs: two"),
        ("epochs: 2", "epochs: -2"),
        ("batch: { pairs: 16 }", "batch: 16"),
        ("{ mnrl: { scale: 20 } }", "mnrl"),
        ("device: cpu", "device: gpu"),
        ("seed: 5", "seed: 99999999999999999999999"),
    ];
    insta::assert_snapshot!(errors(&sandbox, &rows), @r#"
    16:11: train.epochs: got string "two", expected a whole number from 0
    16:11: train.epochs: got integer `-2`, expected a whole number from 0
    14:10: train.batch: got integer `16`, expected keys with values, as in `{ key: value }`
    13:9: train.loss: got a name alone, expected a map with this name as its key, as in `{ name: {} }`
    3:9: device: unknown device `gpu`, expected one of auto, cpu, cuda, cuda:1, metal, vulkan, wgpu
      hint: did you mean `cpu`?
    2:7: seed: got integer `99999999999999999999999`, expected a whole number from 0
    "#);
}

#[test]
fn duplicate_and_missing_keys_are_told() {
    let sandbox = Sandbox::new();
    let rows = [("train:\n", "name: again\ntrain:\n"), ("name: tiny\n", "")];
    insta::assert_snapshot!(errors(&sandbox, &rows), @r"
    12:1: duplicate field `name`
    1:1: missing field `name`
    ");
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

/// Each value has the right type and makes no sense; it is refused before anything is written.
#[test]
fn impossible_values_are_refused_before_anything_is_written() {
    let sandbox = Sandbox::new();
    let rows = [
        ("pairs: 16", "pairs: 0"),
        ("scale: 20", "scale: 0"),
        ("test: 0.2", "test: 1.5"),
        ("learning_rate: 0.01", "learning_rate: -0.01"),
        ("dim: 16", "dim: 0"),
        ("epochs: 2", "epochs: 0"),
        ("query: 32", "query: 0"),
        ("vocab_size: 400", "vocab_size: 10"),
        ("name: tiny", "name: ../tiny"),
        ("    - code: { path: code }\n", "    []\n"),
        ("split: { validation: 0.1, test: 0.2 }", "split: { validation: 0.6, test: 0.5 }"),
    ];
    insta::assert_snapshot!(errors(&sandbox, &rows), @r"
    14:12: train.batch.pairs: got 0, expected at least 1
    13:19: train.loss.mnrl.scale: got 0, expected a number above 0
      hint: 20 suits cosines, 1 dot products; it is the inverse of a temperature
    7:29: data.split.test: got 1.5, expected a share from 0 to less than 1
    15:25: train.optimizer.adamw.learning_rate: got -0.01, expected a number above 0
    9:32: encoder.model.static_embedding.dim: got 0, expected at least 1
    16:3: train.epochs: got 0, expected at least 1
    11:17: encoder.max_tokens.query: got 0, expected more than 0
    10:16: encoder.tokenizer.vocab_size: got 10, expected at least 259: the special tokens and the bytes
    1:1: name: `../tiny`, expected letters, digits, `-` and `_`: it becomes part of a folder's name
    5:3: data.sources: is empty, expected at least one source
      hint: sources: [{ code: {} }]
    7:29: data.split.test: got 0.6 + 0.5, expected less than 1, or nothing is left to train on
    ");
    insta::assert_snapshot!(error(&sandbox, "path: code", "path: cod"), @r"
    exit 2
    err: error: cannot read code cod
    err:   cause: cod is not a folder, expected a tree of source files
    err:   hint: give `path:` a folder of sources, or run `cargo fetch` in a Rust project first
    ");
}

#[test]
fn impossible_overrides_are_refused_before_anything_is_written() {
    let sandbox = Sandbox::new();
    let rows: [&[&str]; 12] = [
        &["encoder.lora={rank: 0}"],
        &["encoder.lora={rank: 4}"],
        &["train.optimizer.adamw.learning_rate=0"],
        &["train.schedule={cosine: {warmup: 2}}"],
        &["train.schedule={cosine: {warmup: 0.1, warmup_steps: 50}}"],
        &["bench.bm25={k1: -1}"],
        &["bench.fusion={linear: {weight: 7}}"],
        &["bench.contestants=[trained, trianed]"],
        &["bench.benchmarks=[{benchmark: {pairs: {}}, dataset: code}]"],
        &["bench.benchmarks=[{benchmark: {cosqa: {}}}]"],
        &[TRANSFORMER, "encoder.model.transformer.heads=3"],
        &[TRANSFORMER, "encoder.max_tokens.document=65"],
    ];
    insta::assert_snapshot!(override_errors(&sandbox, &rows), @r"
    encoder.lora.rank: got 0, expected at least 1
    encoder.lora: adapters on a model from scratch: its frozen weights would be random
      hint: take `lora` away, or use `model: { pretrained: ... }`
    train.optimizer.adamw.learning_rate: got 0, expected a number above 0
    train.schedule.cosine.warmup: got 2, expected a share from 0 to 1
      hint: for a number of steps: warmup_steps: 2
    train.schedule.cosine.warmup_steps: warm-up stands here twice: as 50 steps, and as the share 0.1 (`warmup`)
      hint: keep one of `warmup: 0.1` and `warmup_steps: 50`; `warmup=null` takes the share out
    bench.bm25.k1: unknown field `k1`, expected `tokens` or `repeated`
    bench.fusion.linear: unknown variant `linear`, expected one of `z_score`, `min_max`, `reciprocal_rank`
    bench.contestants[1]: unknown variant `trianed`, expected one of `bm25`, `untrained`, `trained`, `bm25+trained`
      hint: did you mean `trained`?
    bench.benchmarks[0].dataset: `pairs` measures on the run's own test pairs, or on `sources`, and takes no folder
    bench.benchmarks[0].dataset: is missing, expected the folder with the benchmark's data
    encoder.model.transformer.heads: got 3, expected a divisor of hidden_size 16
    encoder.max_tokens.document: got 65, expected at most 64: the model has no more positions
      hint: set encoder.model.transformer.positions, or a smaller encoder.max_tokens
    ");
    insta::assert_snapshot!(sandbox.refuses(&["run", "tiny.yaml", "bench.benchmarks=[{benchmark: {cosqa: {}}, dataset: nowhere}]"]), @r"
    exit 2
    err: error: cannot read bench.benchmarks[0].dataset
    err:   cause: no folder `nowhere`
    err:   hint: paths are relative to the folder in which wb is started
    ");
}

#[test]
fn overrides_change_values_and_are_named_where_they_do_not_fit() {
    let sandbox = Sandbox::new();
    sandbox.says(&["check", "tiny.yaml", "train.epochs=7", "encoder.model.static_embedding.dim=8"], &["7 epochs"]);
    let rows: [&[&str]; 6] = [
        &["train.epoch=7"],
        &["train.epochs"],
        &["train.epochs=many"],
        &["train.epochs=[1"],
        &["data.sources.3.code.path=x"],
        &["name.x=1"],
    ];
    insta::assert_snapshot!(override_errors(&sandbox, &rows), @r#"
    train.epoch: unknown field `epoch`, expected one of `similarity`, `loss`, `batch`, `mix`, `prompts`, `curriculum`, `negatives`, `refresh`, `optimizer`, `schedule`, `epochs`, `max_steps`, `clip_norm`, `gradient_checkpointing`, `precision`, `objectives`, `dropout`, `token_dropout`, `ema`, `validate`, `keep`, `interpolate`
      hint: did you mean `epochs`?
    no `=` in it, and no such folder
      hint: write key.path=value, as in train.epochs=1, or a folder for the first source of code
    train.epochs: got string "many", expected a whole number from 0
    its value is not YAML: did not find expected ',' or ']' at line 2 column 1, while parsing a flow sequence
    no position 3 in a list of 1, the first is 0
    nothing can stand under `x`: what is above it is a single value
    "#);
}
