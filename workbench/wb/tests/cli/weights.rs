//! Encoder folders that are damaged: the file and the tensor are named, and nothing is computed.

use std::{fs, path::Path};

use wb_core::{
    records::outcome::{ContestantOutcome, ContestantRole},
    run_dir::read_json,
};

use crate::sandbox::Sandbox;

/// A project with a trained run, and its encoder as `encoder/`.
fn trained() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.succeeds(&["train", "tiny.yaml"]);
    copy(&sandbox.only_run("runs").join("encoder"), &sandbox.path("encoder"));
    sandbox
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

/// A safetensors file as its header and its bytes.
fn take_apart(bytes: &[u8]) -> (serde_json::Value, Vec<u8>) {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    (serde_json::from_slice(&bytes[8..8 + length]).unwrap(), bytes[8 + length..].to_vec())
}

fn put_together(header: &serde_json::Value, data: &[u8]) -> Vec<u8> {
    let header = header.to_string().into_bytes();
    [&(header.len() as u64).to_le_bytes()[..], &header, data].concat()
}

#[test]
fn a_whole_encoder_is_measured() {
    let sandbox = trained();
    let (by_folder, by_run) = (sandbox.scores("encoder"), sandbox.scores("latest"));
    assert_eq!(by_folder, by_run);
    assert!(by_run.iter().any(|line| line.starts_with("pairs-full")), "{by_run:?}");
}

#[test]
fn a_fine_tuned_run_is_measured_under_its_own_name_beside_its_base_and_audited() {
    let sandbox = trained();
    let base = "encoder.model={pretrained: encoder}";
    sandbox.succeeds(&["train", "tiny.yaml", "name=tuned", base]);
    let bench = ["bench", "pairs", "--encoder", "tuned", "--json", "tuned.json", "--trec", "tuned.trec"];
    let (out, err) = sandbox.succeeds(&bench);
    let outcome: ContestantOutcome = read_json(&sandbox.path("tuned.json")).unwrap();
    assert!(outcome.contestant.contains("-tuned-"), "{}", outcome.contestant);
    assert_eq!((outcome.role, outcome.base.as_deref()), (ContestantRole::Trained, Some("encoder")));
    let row = out.lines().find(|line| line.contains("pairs-full") && line.contains('[')).unwrap();
    assert!(row.starts_with(&format!("{} (encoder) ", outcome.contestant)), "{row}");
    let trec = sandbox.text("tuned.trec");
    assert!(trec.lines().next().unwrap().ends_with(&format!(" {}_from_encoder", outcome.contestant)), "{trec}");

    // Each number stands with its ties and with its value without duplicates; the training pairs are looked through.
    let header = out.lines().find(|line| line.starts_with("contestant ")).unwrap();
    assert!(header.contains(" ties ") && header.contains(" no duplicates "), "{header}");
    assert!(outcome.audit.iter().any(|line| line.what.starts_with("queries nearly equal to a training anchor")));
    assert!(
        out.contains("counts of duplicates and leaks are 0") && err.contains(" training pairs of the run"),
        "{out}{err}"
    );

    // A run whose training pairs are gone says that nothing was compared.
    fs::remove_dir_all(sandbox.path("datasets/prepared")).unwrap();
    let pair = |id: &str| {
        format!(
            "{{\"id\": \"{id}\", \"anchor\": \"sorts {id}\", \"positive\": \"fn {id}() {{}}\", \"language\": \"rust\"}}\n"
        )
    };
    sandbox.write("held.jsonl", [pair("apples"), pair("pears")].concat());
    let held = ["bench", "pairs", "--dataset", "held.jsonl", "--encoder", "tuned", "--json", "held.json"];
    sandbox.notes(&held, &["warning: not compared with the training pairs of "]);
    let outcome: ContestantOutcome = read_json(&sandbox.path("held.json")).unwrap();
    assert!(outcome.warnings.iter().any(|warning| warning.starts_with("not compared with the training pairs of ")));
}

#[test]
fn damaged_weights_name_the_file_and_the_tensor() {
    let sandbox = trained();
    let whole = fs::read(sandbox.path("encoder/model.safetensors")).unwrap();
    let (header, data) = take_apart(&whole);
    let first = header.as_object().unwrap().keys().find(|name| *name != "__metadata__").unwrap().clone();
    let refused = |bytes: &[u8]| {
        sandbox.write("encoder/model.safetensors", bytes);
        sandbox.refusals(&[&["bench", "pairs", "--encoder", "encoder"]])
    };
    let longest = [&u64::MAX.to_le_bytes()[..], &whole[8..]].concat();
    let cut: [&[u8]; 4] = [&whole[..whole.len() - 10], &whole[..4], b"", &longest];
    insta::assert_snapshot!(cut.map(refused).concat(), @r"
    err: error: encoder/model.safetensors: is not a whole safetensors file (27654 bytes): incomplete metadata, file not fully covered
    err:   hint: fetch the file again and compare its size with the hub's
    err: error: encoder/model.safetensors: is not a whole safetensors file (4 bytes): header too small
    err:   hint: fetch the file again and compare its size with the hub's
    err: error: encoder/model.safetensors: is not a whole safetensors file (0 bytes): header too small
    err:   hint: fetch the file again and compare its size with the hub's
    err: error: encoder/model.safetensors: is not a whole safetensors file (27664 bytes): header too large
    err:   hint: fetch the file again and compare its size with the hub's
    ");

    let (mut other_shape, mut other_name, mut other_type) = (header.clone(), header.clone(), header.clone());
    other_shape[&first]["shape"] = serde_json::json!([200, 32]);
    let entry = other_name.as_object_mut().unwrap().remove(&first).unwrap();
    other_name[format!("{first}s")] = entry;
    other_type[&first]["dtype"] = "I32".into();
    let at = header[&first]["data_offsets"][0].as_u64().unwrap() as usize;
    let mut not_a_number = data.clone();
    not_a_number[at + 40..at + 44].copy_from_slice(&f32::NAN.to_le_bytes());
    let damaged = [(&other_shape, &data), (&other_name, &data), (&other_type, &data), (&header, &not_a_number)];
    let told = damaged.map(|(header, data)| refused(&put_together(header, data)));
    insta::assert_snapshot!(told.concat(), @r"
    err: error: encoder/model.safetensors: tensor `embeddings.weight`: has shape [200, 32], expected [400, 16] by the config beside it
    err: error: encoder/model.safetensors: tensor `embeddings.weight`: is missing, expected shape [400, 16]
    err:   hint: the file has `embeddings.weights`, which nothing expects
    err: error: encoder/model.safetensors: tensor `embeddings.weight`: has type I32, expected F32, F16 or BF16
    err: error: encoder/model.safetensors: tensor `embeddings.weight`: has NaN at position 10 of 6400, expected finite numbers
    ");
}

/// Wherever the file is cut, it is an error and not a crash.
#[test]
fn a_file_cut_anywhere_is_an_error() {
    let sandbox = trained();
    let whole = fs::read(sandbox.path("encoder/model.safetensors")).unwrap();
    for at in (0..8).map(|part| part * (whole.len() - 1) / 7) {
        sandbox.write("encoder/model.safetensors", &whole[..at]);
        sandbox.fails_with(&["bench", "pairs", "--encoder", "encoder"], &["model.safetensors"]);
    }
}

#[test]
fn a_tokenizer_that_does_not_fit_the_weights_is_refused() {
    let sandbox = trained();
    sandbox.succeeds(&["train", "tiny.yaml", "encoder.tokenizer.vocab_size=450", "--runs", "others"]);
    fs::copy(sandbox.only_run("others").join("encoder/tokenizer.json"), sandbox.path("encoder/tokenizer.json"))
        .unwrap();
    insta::assert_snapshot!(sandbox.refuses(&["bench", "pairs", "--encoder", "encoder"]), @r"
    exit 2
    err: error: encoder/tokenizer.json: has token ids up to 449, but the weights have 400 token vectors
    err:   hint: use the tokenizer that the weights were trained with
    ");
    let whole = fs::read(sandbox.path("encoder/tokenizer.json")).unwrap();
    sandbox.write("encoder/tokenizer.json", &whole[..whole.len() / 2]);
    sandbox.refuses_with(&["bench", "pairs", "--encoder", "encoder"], &["encoder/tokenizer.json"]);
    fs::remove_file(sandbox.path("encoder/tokenizer.json")).unwrap();
    insta::assert_snapshot!(sandbox.refuses(&["bench", "pairs", "--encoder", "encoder"]), @r"
    exit 2
    err: error: cannot read encoder/tokenizer.json
    err:   cause: No such file or directory (os error 2)
    ");
}
