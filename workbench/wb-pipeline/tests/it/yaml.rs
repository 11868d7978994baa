//! Mistakes in a YAML: where it stands, what was expected, the near name.

use std::fs;

use wb_pipeline::{config::Experiment, output::hint};

/// An experiment without a network.
const TINY: &str = include_str!("../fixtures/tiny.yaml");

/// A transformer of two layers in its place.
const TRANSFORMER: &str =
    "encoder.model={transformer: {hidden_size: 16, layers: 2, heads: 2, intermediate_size: 32, positions: 64}}";

/// Place, message and hint of what is wrong with a text or with overrides. Of a text only the first of a list of a family's
/// members is kept: a new one changes nothing here.
fn error(text: &str, overrides: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.yaml");
    fs::write(&file, text).unwrap();
    let overrides: Vec<String> = overrides.iter().map(|one| (*one).to_owned()).collect();
    let error = anyhow::Error::from(Experiment::load("wb check", &file, &overrides).unwrap_err());
    let cause = error.chain().last().unwrap().to_string();
    let cause = cause.replace(&format!("{}:", file.display()), "");
    let cause = match cause.split_once("expected one of ") {
        Some((before, members)) if overrides.is_empty() && cause.contains("unknown variant") => {
            format!("{before}expected one of {}, ...", members.split(", ").next().unwrap_or_default())
        }
        _ => cause,
    };
    let hint = hint(&error).map_or(String::new(), |hint| format!("\n  hint: {hint}"));
    format!("{cause}{hint}\n")
}

/// Errors for each change of the experiment.
fn errors(rows: &[(&str, &str)]) -> String {
    let changed = |(from, to): &(&str, &str)| {
        assert!(TINY.contains(from), "{from}");
        error(&TINY.replacen(from, to, 1), &[])
    };
    rows.iter().map(changed).collect()
}

/// Errors for each list of overrides, which name the last of them.
fn override_errors(rows: &[&[&str]]) -> String {
    let told = |overrides: &&[&str]| {
        let named = format!("override `{}`: ", overrides.last().unwrap());
        let error = error(TINY, overrides);
        error.strip_prefix(&named).unwrap_or_else(|| panic!("{error}")).to_owned()
    };
    rows.iter().map(told).collect()
}

#[test]
fn unknown_keys_have_a_place_and_a_near_name() {
    let rows = [
        ("scale: 20", "scal: 20"),
        ("    - code:", "    - coed:"),
        ("train:\n", "trian:\n"),
        ("{ mnrl: { scale: 20 } }", "{ mnlr: { scale: 20 } }"),
        ("static_embedding: { dim: 16 }", "static_embeding: { dim: 16 }"),
    ];
    insta::assert_snapshot!(errors(&rows), @r"
    13:19: train.loss.mnrl.scal: unknown field `scal`, expected one of `scale`, `temperature`, `directions`, `partition`, `hardness`, `mask_duplicates`
      hint: did you mean `scale`?
    6:7: data.sources[0].coed: unknown variant `coed`, expected one of `code`, ...
      hint: did you mean `code`?
    12:1: trian: unknown field `trian`, expected one of `name`, `seed`, `device`, `llm`, `snippets`, `synth`, `rules`, `annotate`, `review`, `ab`, `rag`, `data`, `negatives`, `encoder`, `train`, `journals`, `bench`, `work`, `run_on`, `sweep`
      hint: did you mean `train`?
    13:11: train.loss.mnlr: unknown variant `mnlr`, expected one of `mnrl`, ...
      hint: did you mean `mnrl`?
    9:12: encoder.model.static_embeding: unknown variant `static_embeding`, expected one of `static_embedding`, ...
      hint: did you mean `static_embedding`?
    ");
}

#[test]
fn wrong_types_say_what_was_expected() {
    let rows = [
        ("epochs: 2", "epochs: two"),
        ("epochs: 2", "epochs: -2"),
        ("batch: { pairs: 16 }", "batch: 16"),
        ("{ mnrl: { scale: 20 } }", "mnrl"),
        ("device: cpu", "device: gpu"),
        ("seed: 5", "seed: 99999999999999999999999"),
    ];
    insta::assert_snapshot!(errors(&rows), @r#"
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
    let rows = [("train:\n", "name: again\ntrain:\n"), ("name: tiny\n", "")];
    insta::assert_snapshot!(errors(&rows), @r"
    12:1: duplicate field `name`
    1:1: missing field `name`
    ");
}

/// Each value has the right type and makes no sense.
#[test]
fn impossible_values_are_refused() {
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
    insta::assert_snapshot!(errors(&rows), @r"
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
}

#[test]
fn impossible_overrides_are_refused() {
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
    insta::assert_snapshot!(override_errors(&rows), @r"
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
}

#[test]
fn overrides_change_values_and_are_named_where_they_do_not_fit() {
    let rows: [&[&str]; 6] = [
        &["train.epoch=7"],
        &["train.epochs"],
        &["train.epochs=many"],
        &["train.epochs=[1"],
        &["data.sources.3.code.path=x"],
        &["name.x=1"],
    ];
    insta::assert_snapshot!(override_errors(&rows), @r#"
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
