//! `wb encode`: texts into files of vectors.

use std::{fs, io::Write, process::Command};

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, TRANSFORMER, has};

/// Encodes some texts in every way, with a run's encoder.
fn trained(more: &[&str]) -> Sandbox {
    let sandbox = Sandbox::new();
    let train = ["train", "tiny.yaml", "name=base", TRANSFORMER, "encoder.prompts={query: 'find: '}"];
    sandbox.succeeds(&[&train[..], more].concat());
    let texts = ["sort a list", "", "read a file line by line", "fn main() {}"];
    let records = texts.iter().enumerate().map(|(at, text)| match at {
        0 => format!("{}\n", json!({ "id": "first", "text": text, "code": "x" })),
        _ => format!("{}\n", json!({ "text": text, "code": "x" })),
    });
    sandbox.write("texts.jsonl", records.collect::<String>());
    sandbox.write("texts.txt", texts.join("\n"));
    sandbox
}

fn encode(sandbox: &Sandbox, more: &[&str]) -> (String, String) {
    sandbox.succeeds(&[&["encode", "--encoder", "base"], more].concat())
}

/// The numbers of a `.npy` file of 32-bit floats, and its head.
fn npy(sandbox: &Sandbox, name: &str) -> (String, Vec<f32>) {
    let bytes = fs::read(sandbox.path(name)).unwrap();
    let numbers = bytes[128..].chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect();
    (String::from_utf8_lossy(&bytes[10..128]).trim_end().to_owned(), numbers)
}

/// The embeddings of a file of JSON lines.
fn embeddings(sandbox: &Sandbox, name: &str) -> Vec<Vec<f32>> {
    sandbox.lines(name).into_iter().map(|line| serde_json::from_value(line["embedding"].clone()).unwrap()).collect()
}

#[test]
fn formats_and_inputs_give_the_same_numbers() {
    let sandbox = trained(&[]);
    let (out, err) = encode(&sandbox, &["--in", "texts.jsonl", "--out", "made/texts.npy"]);
    assert_eq!(out, "made/texts.npy: 4 vectors of 16 numbers, one a text\nmade/texts.ids.txt\n");
    assert!(err.contains("base: documents of at most 64 tokens, without a prompt"), "{err}");
    let (head, numbers) = npy(&sandbox, "made/texts.npy");
    assert_eq!(head, "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 16), }");
    assert_eq!(sandbox.text("made/texts.ids.txt"), "first\ntexts.jsonl:2\ntexts.jsonl:3\ntexts.jsonl:4\n");
    assert_eq!(sandbox.names("made"), ["texts.ids.txt", "texts.npy"], "nothing unfinished stays");
    for vector in numbers.chunks(16) {
        assert!((vector.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-5, "{vector:?}");
    }

    encode(&sandbox, &["--in", "texts.txt", "--out", "lines.jsonl"]);
    assert_eq!(embeddings(&sandbox, "lines.jsonl").concat(), numbers);
    assert_eq!(sandbox.lines("lines.jsonl")[1]["id"], "texts.txt:2");
    let piped = ["encode", "--encoder", "latest", "--in", "-", "--in-format", "lines", "--out", "piped.npy"];
    let (code, _, err) = sandbox.with_input(&piped, &sandbox.text("texts.txt"));
    assert_eq!(code, Some(0), "{err}");
    assert_eq!(npy(&sandbox, "piped.npy").1, numbers);
    assert_eq!(sandbox.text("piped.ids.txt").lines().next(), Some("stdin.txt:1"));

    // What was written as Parquet is read as records, by any field.
    encode(&sandbox, &["--in", "texts.jsonl", "--out", "texts.parquet"]);
    encode(&sandbox, &["--in", "texts.parquet", "--field", "id", "--out", "ids.jsonl"]);
    assert_eq!(sandbox.lines("ids.jsonl")[0]["id"], "first");
    encode(&sandbox, &["--in", "texts.jsonl", "--field", "code", "--out", "code.jsonl"]);
    let code = embeddings(&sandbox, "code.jsonl");
    assert!(code.iter().all(|vector| *vector == code[0]) && code[0] != numbers[..16]);

    // A query stands behind its prompt.
    sandbox.write("prompted.txt", "find: sort a list");
    encode(&sandbox, &["--in", "texts.txt", "--side", "query", "--out", "queries.jsonl"]);
    encode(&sandbox, &["--in", "prompted.txt", "--out", "prompted.jsonl"]);
    assert_eq!(embeddings(&sandbox, "queries.jsonl")[0], embeddings(&sandbox, "prompted.jsonl")[0]);

    // Shortened: the first numbers, of length 1 again.
    encode(&sandbox, &["--in", "texts.txt", "--dim", "5", "--out", "short.jsonl"]);
    for (short, whole) in embeddings(&sandbox, "short.jsonl").iter().zip(numbers.chunks(16)) {
        let length = whole[..5].iter().map(|x| f64::from(x * x)).sum::<f64>().sqrt();
        let expected = whole[..5].iter().map(|x| (f64::from(*x) / length) as f32);
        assert!(short.len() == 5 && short.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6), "{short:?}");
    }
}

#[test]
fn a_vector_a_token_comes_with_where_texts_begin() {
    let sandbox = trained(&["encoder.late_interaction={dim: 8}", "train.similarity=maxsim"]);
    let (out, _) = encode(&sandbox, &["--in", "texts.txt", "--out", "tokens.npy"]);
    has(&out, &["vectors of 8 numbers, of 4 texts\n", "tokens.ids.txt\n", "tokens.offsets.npy\n"]);
    encode(&sandbox, &["--in", "texts.txt", "--out", "tokens.jsonl"]);
    let texts: Vec<Vec<Vec<f32>>> = sandbox
        .lines("tokens.jsonl")
        .into_iter()
        .map(|line| serde_json::from_value(line["embedding"].clone()).unwrap())
        .collect();
    let (head, numbers) = npy(&sandbox, "tokens.npy");
    let rows: usize = texts.iter().map(Vec::len).sum();
    assert!(rows > 8 && head.contains(&format!("'shape': ({rows}, 8)")), "{rows} {head}");
    assert_eq!(texts.concat().concat(), numbers);
    let bytes = fs::read(sandbox.path("tokens.offsets.npy")).unwrap();
    let offsets: Vec<i64> = bytes[128..].chunks(8).map(|bytes| i64::from_le_bytes(bytes.try_into().unwrap())).collect();
    let lengths: Vec<i64> = texts.iter().map(|text| text.len() as i64).collect();
    assert_eq!(offsets.windows(2).map(|ends| ends[1] - ends[0]).collect::<Vec<_>>(), lengths);
    encode(&sandbox, &["--in", "texts.txt", "--out", "tokens.parquet"]);
}

#[test]
fn what_was_killed_goes_on_and_ends_in_the_same_bytes() {
    let sandbox = trained(&[]);
    let lines: String = (0..60_000).map(|at| format!("open the file {at} and {} it\n", at % 97)).collect();
    sandbox.write("many.txt", lines);
    let arguments = |out: &'static str| ["encode", "--encoder", "base", "--in", "many.txt", "--out", out];
    sandbox.succeeds(&arguments("whole.npy"));

    let mut child = sandbox.start(&arguments("killed.npy"));
    sandbox.wait_for("block", || sandbox.path("killed.npy.blocks/000001.f32").is_file());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!sandbox.path("killed.npy").exists(), "it appears when it is whole");
    let (_, err) = sandbox.succeeds(&arguments("killed.npy"));
    assert!(err.contains("went on after ") && err.contains(" texts that were encoded before"), "{err}");
    assert!(fs::read(sandbox.path("whole.npy")).unwrap() == fs::read(sandbox.path("killed.npy")).unwrap());
    assert_eq!(sandbox.text("whole.ids.txt"), sandbox.text("killed.ids.txt"));
    assert!(!sandbox.path("killed.npy.blocks").exists() && !sandbox.path(".killed.npy.lock").exists());

    // Blocks of other texts under the same name are no part of it.
    fs::create_dir(sandbox.path("texts.npy.blocks")).unwrap();
    sandbox.write("texts.npy.blocks/key", "of something else");
    sandbox.write("texts.npy.blocks/000000.f32", "numbers");
    let (_, err) = encode(&sandbox, &["--in", "texts.txt", "--out", "texts.npy"]);
    assert!(!err.contains("went on"), "{err}");
    assert_eq!(npy(&sandbox, "texts.npy").1.len(), 4 * 16);
}

#[test]
fn mistakes_are_told_and_leave_nothing() {
    let sandbox = trained(&[]);
    let refused = |more: &[&str], parts: &[&str]| {
        sandbox.refuses_with(&[&["encode", "--encoder", "base"], more].concat(), parts);
    };
    refused(&["--in", "texts.txt", "--out", "vectors"], &["the name says no format", ".npy, .parquet or .jsonl"]);
    refused(&["--in", "-", "--out", "a.npy"], &["standard input: has no name", "hint: --in-format lines for a text"]);
    refused(&["--in", "nowhere.jsonl", "--out", "a.npy"], &["nowhere.jsonl"]);
    refused(&["--in", "texts.txt", "--out", "a.npy", "--dim", "17"], &["--dim: got 17, expected 1 to 16"]);
    refused(&["--in", "texts.jsonl", "--field", "body", "--out", "a.npy"], &["texts.jsonl:1", "body", "`code`"]);
    sandbox.write("bad.jsonl", "{\"text\": \"a\"}\n{\"text\": \n");
    refused(&["--in", "bad.jsonl", "--out", "a.npy"], &["bad.jsonl:2"]);
    sandbox.write("null.jsonl", "{\"text\": \"a\"}\n\n{\"text\": null}\n");
    refused(&["--in", "null.jsonl", "--out", "a.npy"], &["null.jsonl", "null `text`, expected a text"]);
    sandbox.write("empty.txt", "");
    refused(&["--in", "empty.txt", "--out", "a.npy"], &["empty.txt: no texts in it"]);
    sandbox.write("there.npy", "a person's");
    refused(&["--in", "texts.txt", "--out", "there.npy"], &["there.npy: is there already", "hint: name another place"]);
    sandbox.write("a.ids.txt", "a person's");
    refused(&["--in", "texts.txt", "--out", "a.npy"], &["a.ids.txt: is there already"]);
    assert_eq!(sandbox.text("there.npy"), "a person's");
    let nothing = ["encode", "--encoder", "base", "--in", "-", "--in-format", "records", "--out", "b.npy"];
    let (code, _, err) = sandbox.with_input(&nothing, "{\"text\": 3.5e\n");
    assert!(code == Some(2) && err.contains("stdin.jsonl:1"), "{err}");
    assert!(!sandbox.path("b.npy.blocks").exists());
}

/// The files as the libraries read them that people use.
#[test]
#[ignore = "slow: asks Python's libraries"]
fn python_reads_the_vectors_that_were_written() {
    let Some(python) = std::env::var_os("WB_PYTHON") else {
        let test = "python_reads_the_vectors_that_were_written";
        let _ = writeln!(std::io::stderr(), "SKIPPED {test}: WB_PYTHON names no Python");
        return;
    };
    let sandbox = trained(&[]);
    for out in ["texts.npy", "texts.jsonl.jsonl"] {
        encode(&sandbox, &["--in", "texts.jsonl", "--out", out]);
    }
    encode(&sandbox, &["--in", "texts.jsonl", "--out", "texts.parquet"]);
    sandbox.succeeds(&["export", "base", "--out", "exported"]);
    // The encoder as sentence-transformers computes it, and the numbers of each file beside.
    let program = "
import json, numpy as np
from sentence_transformers import SentenceTransformer
texts = [json.loads(line)['text'] for line in open('texts.jsonl')]
theirs = SentenceTransformer('exported', device='cpu').encode(texts)
ours = np.load('texts.npy')
lines = np.array([json.loads(line)['embedding'] for line in open('texts.jsonl.jsonl')], dtype=np.float32)
said = {'theirs': float(np.abs(ours - theirs).max()), 'lines': bool((lines == ours).all()), 'shape': list(ours.shape)}
try:
    import pyarrow.parquet as parquet
    table = parquet.read_table('texts.parquet').to_pydict()
    said['parquet'] = bool((np.array(table['embedding'], dtype=np.float32) == ours).all())
    said['ids'] = table['id'] == open('texts.ids.txt').read().splitlines()
except ImportError:
    said['parquet'] = said['ids'] = None
print(json.dumps(said))
";
    let output = Command::new(python).args(["-c", program]).current_dir(sandbox.path("")).output().unwrap();
    let said: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    eprintln!("encode: {said}");
    assert!(said["theirs"].as_f64().unwrap() < 1e-5, "{said}");
    assert_eq!((&said["lines"], &said["shape"]), (&json!(true), &json!([4, 16])), "{said}");
    assert!(said["parquet"] != false && said["ids"] != false, "{said}");
}
