//! Readers on hand-made good and bad files.

use std::{fs, io::Write, sync::Arc};

use arrow_array::{
    ArrayRef, DictionaryArray, Int64Array, LargeStringArray, ListArray, RecordBatch, StructArray,
    builder::StringBuilder, types::Int32Type,
};
use flate2::{Compression, write::GzEncoder};
use parquet::arrow::ArrowWriter;
use proptest::prelude::*;
use serde_json::json;
use wb_core::progress::silent;
use wb_data::{Error, OnBad, Tolerance};

use crate::support::{SourceConfig, message, read, read_bytes, source, told};

const GOOD: &str = "{\"anchor\": \"a\", \"positive\": \"b\"}\n{\"anchor\": \"c\", \"positive\": \"d\", \"language\": \"Rust\", \"group\": \"g\"}\n";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn json_lines_in_every_dress() {
    let expected = read_bytes("x.jsonl", "jsonl", GOOD.as_bytes(), OnBad::Stop).unwrap().pairs;
    assert_eq!(expected.len(), 2);
    assert_eq!((expected[0].id.as_str(), expected[1].id.as_str()), ("x:1", "x:2"));
    assert_eq!((expected[1].language.as_str(), expected[1].origin.group.as_str()), ("rust", "g"));
    let check = |name: &str, bytes: &[u8]| {
        assert_eq!(read_bytes(name, "jsonl", bytes, OnBad::Stop).unwrap().pairs, expected, "{name}");
    };
    check("x.jsonl", [b"\xef\xbb\xbf", GOOD.as_bytes()].concat().as_slice());
    check("x.jsonl", GOOD.replace('\n', "\r\n").as_bytes());
    check("x.jsonl", GOOD.trim_end().as_bytes());
    check("x.jsonl.gz", &gzip(GOOD.as_bytes()));
    check(
        "x.jsonl.gz",
        &[gzip(GOOD.lines().next().unwrap().as_bytes()), gzip(b"\n"), gzip(GOOD.lines().nth(1).unwrap().as_bytes())]
            .concat(),
    );
    check("x.json", GOOD.as_bytes());
    let array = format!("[{}]", GOOD.trim_end().replace('\n', ",\n"));
    check("x.json", array.as_bytes());
    check("x.json.gz", &gzip(array.as_bytes()));
    let blank = read_bytes("x.jsonl", "jsonl", GOOD.replace('\n', "\n \n").as_bytes(), OnBad::Stop).unwrap();
    assert_eq!((blank.pairs.len(), blank.skipped.get("blank line")), (2, Some(&1)));
}

#[test]
fn bad_lines_name_their_place() {
    let check = |bytes: &[u8], expected: &str| {
        let found = message(read_bytes("x.jsonl", "jsonl", bytes, OnBad::Stop), "x.jsonl");
        assert_eq!(found, expected);
    };
    let second = |line: &[u8]| [b"{\"anchor\": \"a\", \"positive\": \"b\"}\n", line].concat();
    check(&second(b"{\"anchor\": \"\xff\"}\n"), "x.jsonl:2:13: byte 0xff is not UTF-8");
    check(&second(b"{\"anchor\": \0}\n"), "x.jsonl:2:12: a NUL byte, expected text");
    check(
        &second(b"{\"anchor\": \"c\", \"posi"),
        "x.jsonl:2:21: the last line ends inside its record, as if the file was cut off",
    );
    check(
        &second(b"{\"anchor\": \"c\",\n\"positive\": 1}\n"),
        "x.jsonl:2:15: the line ends inside its record, expected one whole object a line",
    );
    check(
        &second(b"{\"anchor\": \"c\", \"positive\": \"d\"} x\n"),
        "x.jsonl:2:34: text after the record, expected the end of the line",
    );
    check(&second(b"{'anchor'}\n"), "x.jsonl:2:2: not JSON: key must be a string");
    check(&second(b"[1, 2]\n"), "x.jsonl:2:1: expected an object `{...}` with one field for each side");
    check(
        &second(b"{\"anchor\": \"c\", \"positve\": \"d\"}\n"),
        "x.jsonl:2:1: no field `positive`, the record has `anchor`, `positve`",
    );
    check(
        &second(b"{\"anchor\": \"c\", \"positive\": 3}\n"),
        "x.jsonl:2:17: field `positive` is a number, expected a string or an array of strings",
    );
    check(
        &second(b"{\"anchor\": [\"c\", 1], \"positive\": \"d\"}\n"),
        "x.jsonl:2:2: field `anchor` is an array with a number in it, expected a string or an array of strings",
    );
    check(
        &second(b"{\"anchor\": null, \"positive\": \"d\"}\n"),
        "x.jsonl:2:2: field `anchor` is null, expected a string or an array of strings",
    );
    check(b"\xff\xfe{\0", "x.jsonl:1:1: the file is UTF-16, expected UTF-8");
    let near =
        read_bytes("x.jsonl", "jsonl", &second(b"{\"anchor\": \"c\", \"positve\": \"d\"}\n"), OnBad::Stop).unwrap_err();
    assert_eq!(near.hint(), Some("did you mean `positve`?"));
}

#[test]
fn bad_arrays_name_their_place() {
    let check = |text: &str, expected: &str| {
        let found = message(read_bytes("x.json", "jsonl", text.as_bytes(), OnBad::Stop), "x.json");
        assert_eq!(found, expected);
    };
    let item = "{\"anchor\": \"a\", \"positive\": \"b\"}";
    check(&format!("[{item}"), "x.json:1:34: the file ends inside the array, as if it was cut off");
    check(&format!("[{item}, "), "x.json:1:36: the file ends inside the array, as if it was cut off");
    check(&format!("[\n{item},\n{{\"anchor\": "), "x.json:3:11: the file ends inside the array, as if it was cut off");
    check(&format!("[{item}] x"), "x.json:1:36: text after the array, expected the end of the file");
    check(&format!("[{item} {item}]"), "x.json:1:35: not JSON: expected `,` or `]` after an item of the array");
    check(&format!("[{item},]"), "x.json:1:35: not JSON: expected value");
    check(&format!("[\n{item},\n 7]"), "x.json:3:2: expected an object `{...}` with one field for each side");
    check(
        "[\n{\"anchor\": \"a\",\n \"positive\": {}}]",
        "x.json:3:2: field `positive` is an object, expected a string or an array of strings",
    );
    assert_eq!(read_bytes("x.json", "jsonl", b" [ ] ", OnBad::Stop).unwrap().pairs, []);
}

#[test]
fn a_cut_gzip_file_is_told_as_such() {
    let lines: String =
        (0..2000).map(|at| format!("{{\"anchor\": \"a{at}\", \"positive\": \"b{}\"}}\n", at * 7919 % 1009)).collect();
    let whole = gzip(lines.as_bytes());
    for on_bad in [OnBad::Stop, OnBad::Skip] {
        let found = message(read_bytes("x.jsonl.gz", "jsonl", &whole[..whole.len() / 2], on_bad), "x.jsonl.gz");
        assert!(found.contains("the compressed file ends early"), "{found}");
        let found = message(read_bytes("x.jsonl.gz", "jsonl", lines.as_bytes(), on_bad), "x.jsonl.gz");
        assert!(found.starts_with("x.jsonl.gz:1:1: not a gzip stream"), "{found}");
    }
}

#[test]
fn skipping_counts_and_has_a_limit() {
    let lines = |bad: usize| -> String {
        (0..200)
            .map(|at| {
                if at < bad {
                    "{\"anchor\": 1, \"positive\": \"\"}\n".to_owned()
                } else {
                    format!("{{\"anchor\": \"a{at}\", \"positive\": \"b\"}}\n")
                }
            })
            .collect()
    };
    let read = read_bytes("x.jsonl", "jsonl", lines(2).as_bytes(), OnBad::Skip).unwrap();
    assert_eq!((read.pairs.len(), read.skipped.get("wrong type")), (198, Some(&2)));
    let error = read_bytes("x.jsonl", "jsonl", lines(3).as_bytes(), OnBad::Skip).unwrap_err();
    let expected = "3 of 200 are bad, more than `max_bad_share` 0.01 (wrong type: 3)";
    assert!(error.to_string().ends_with(expected), "{error}");
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("x.jsonl:1:2: field `anchor` is a number"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.jsonl");
    fs::write(&path, lines(20)).unwrap();
    let tenth = |max_bad_share| Tolerance { on_bad: OnBad::Skip, max_bad_share };
    let read = |share| source(json!({"jsonl": {"path": path}})).read(0, tenth(share), &mut silent);
    assert_eq!(read(0.1).unwrap().pairs.len(), 180);
    assert!(read(0.099).unwrap_err().to_string().contains("20 of 200 are bad"));
    assert!(tenth(1.5).validate("data").unwrap_err().to_string().starts_with("data.max_bad_share: got 1.5"));
}

#[test]
fn duplicate_ids_name_both_lines() {
    let text = "{\"id\": 1, \"anchor\": \"a\", \"positive\": \"b\"}\n{\"id\": \"1\", \"anchor\": \"c\", \"positive\": \"d\"}\n";
    let found = message(read_bytes("x.jsonl", "jsonl", text.as_bytes(), OnBad::Stop), "x.jsonl:2");
    assert!(
        found.starts_with("x.jsonl:2:1: the id `1` was given before at ")
            && found.contains("x.jsonl:1:1, expected unique ids"),
        "{found}"
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.jsonl");
    fs::write(&path, text).unwrap();
    let read = read(json!({"jsonl": {"path": path, "fields": {"id": null}}})).unwrap();
    assert_eq!(read.pairs.iter().map(|pair| pair.id.as_str()).collect::<Vec<_>>(), ["x:1", "x:2"]);
}

#[test]
fn fields_are_mapped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.jsonl");
    let record = json!({
        "meta": {"doc": "Sum.\n\nReturns int.", "n": 7}, "a.b": "dotted", "tokens": ["x", "+", "y"], "head": "def f():\n",
        "code": "def f():\n    \"\"\"Sum.\"\"\"\n    return 1\n", "empty": null, "negs": ["p", "q"], "task": "code2code", "label": 1, "license": "MIT"
    });
    fs::write(&path, format!("{record}\n")).unwrap();
    let one = |more: serde_json::Value| {
        let mut config = json!({"path": path});
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        read(json!({"jsonl": config})).map(|read| (read.pairs.into_iter().next(), read.skipped))
    };
    let fields = json!({"anchor": "empty|meta.doc", "positive": "head+code", "negatives": "negs", "id": "meta.n"});
    let pair = one(json!({"fields": fields})).unwrap().0.unwrap();
    let code = "def f():\ndef f():\n    \"\"\"Sum.\"\"\"\n    return 1\n";
    assert_eq!(told(&pair), ["Sum.\n\nReturns int.", code, "7"]);
    assert_eq!((pair.negatives.len(), pair.task, pair.origin.license.as_str()), (2, wb_core::Task::Code2code, "MIT"));
    let parts = json!({"fields": {"anchor": "meta.doc", "positive": "code"}, "anchor_part": "first_paragraph", "positive_part": "without_docstring", "language": "python", "task": "text2code"});
    let pair = one(parts).unwrap().0.unwrap();
    assert_eq!(told(&pair)[..2], ["Sum.", "def f():\n    return 1\n"]);
    assert_eq!((pair.language.as_str(), pair.task), ("python", wb_core::Task::Text2code));
    let fields = json!({"anchor": "a.b", "positive": "tokens"});
    let pair = one(json!({"fields": fields, "only": {"label": 1}})).unwrap().0.unwrap();
    assert_eq!(told(&pair)[..2], ["dotted", "x + y"]);
    let (pair, skipped) = one(json!({"fields": fields, "only": {"label": "0"}})).unwrap();
    assert_eq!((pair, skipped.get("not `label: 0`")), (None, Some(&1)));
    let (pair, skipped) = one(json!({"fields": {"anchor": "a.b", "positive": "head+empty"}, "nulls": "drop"})).unwrap();
    assert_eq!((pair, skipped.get("null `empty`")), (None, Some(&1)));
    assert!(serde_json::from_value::<SourceConfig>(json!({"jsonl": {"path": "x", "feilds": {}}})).is_err());
    let bad: SourceConfig =
        serde_json::from_value(json!({"jsonl": {"path": "x", "fields": {"anchor": "a|"}}})).unwrap();
    assert!(bad.validate("s").unwrap_err().to_string().starts_with("s.jsonl.fields.anchor: got `a|`"));
}

#[test]
fn scores_are_one_or_one_for_each_document() {
    let scores = |negatives: serde_json::Value, scores: serde_json::Value| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.jsonl");
        let record = json!({"anchor": "a", "positive": "p", "negatives": negatives, "scores": scores});
        fs::write(&path, format!("{record}\n")).unwrap();
        read(json!({"jsonl": {"path": path}})).map(|read| read.pairs[0].scores.clone()).map_err(|e| e.to_string())
    };
    assert_eq!(scores(json!(null), json!(0.5)).unwrap(), [0.5]);
    assert_eq!(scores(json!(["n", "m"]), json!([0.5, -1, 2.25])).unwrap(), [0.5, -1.0, 2.25]);
    assert_eq!(scores(json!(["n"]), json!([3])).unwrap(), [3.0]);
    assert_eq!(scores(json!(["n"]), json!("[0.5, 0.25]")).unwrap(), [0.5, 0.25]);
    assert_eq!(scores(json!(null), json!(null)).unwrap(), [0.0; 0]);
    let refused = [
        (json!(["n"]), json!([1, 2, 3]), "field `scores` is 3 numbers, expected one number, or 2: the positive's"),
        (json!(null), json!([1, 2]), "field `scores` is 2 numbers, expected one number"),
        (json!(null), json!("good"), "field `scores` is a string, expected one number"),
        (json!(null), json!([1, null]), "field `scores` is null, expected one number"),
        (json!(null), json!(1e300), "field `scores` is a number out of range, expected one number"),
    ];
    for (negatives, given, expected) in refused {
        let found = scores(negatives, given).unwrap_err();
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn yaml_is_read_with_its_positions() {
    #[derive(serde::Serialize, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Data {
        on_bad: OnBad,
        sources: Vec<SourceConfig>,
        #[serde(default)]
        prepare: wb_data::PrepareConfig,
    }
    let read = |text: &str| wb_core::config::from_text::<Data>(text, "x.yaml".as_ref());
    let text = "on_bad: skip
sources:
  - jsonl: { path: a.jsonl, fields: { anchor: a|b, id: null }, only: { label: 1, good: true, of: x, none: null }, task: code2code }
  - parquet: { path: a.parquet, positive_part: without_docstring, nulls: drop }
  - csv: { path: a.csv }
  - parallel_lines: { anchors: a, positives: b }
  - joined:
      left: { path: a, text: x+y, key: k }
      right: { path: b, text: x, key: k }
  - code_map: { path: m.txt, anchor_part: first_paragraph }
  - hub: { repo: o/n, revision: 0123456789012345678901234567890123456789, files: [a.parquet] }
prepare:
  filter: { min_anchor_chars: 10 }
  dedupe: { exact: pair, same_anchor: keep, near: 0.9 }
  split: { by: pair, family: off, max_test: 100 }
  leaks: { drop_leaks: false }
  balance: { max_per_language: 1000 }
";
    let data = read(text).unwrap();
    assert_eq!(data.on_bad, OnBad::Skip);
    assert!(data.sources.iter().all(|source| source.validate("sources").is_ok()));
    assert!(data.prepare.validate("prepare").is_ok());
    let SourceConfig::Jsonl(files) = &data.sources[0] else { panic!("{:?}", data.sources[0]) };
    assert_eq!(
        (files.fields.id.as_ref(), files.only["label"].as_u64(), files.task),
        (None, Some(1), Some(wb_core::Task::Code2code))
    );
    // What is written comes back the same: the resolved config of a run.
    let again =
        wb_core::config::from_text::<Data>(&wb_core::config::to_text(&data).unwrap(), "y.yaml".as_ref()).unwrap();
    assert_eq!((again.sources, again.prepare), (data.sources, data.prepare));
    let check = |from: &str, to: &str, expected: &str| {
        assert!(text.contains(from));
        let found = read(&text.replace(from, to)).err().unwrap().to_string();
        assert!(found.starts_with(expected), "{found}");
    };
    check("jsonl:", "jsonlines:", "x.yaml:3:");
    check("{ anchor: a|b", "{ anchr: a|b", "x.yaml:3:");
    let unknown = "x.yaml:5:12: sources[2].csv.pth: unknown field `pth`, expected one of `path`, `dataset`, `fields`";
    check("csv: { path: a.csv }", "csv: { pth: a.csv }", unknown);
    check("same_anchor: keep,", "same_anchor: kept,", "x.yaml:14:");
}

#[test]
fn folders_are_read_in_order() {
    let folder = tempfile::tempdir().unwrap();
    for (name, anchor) in [("b/train.jsonl", "b"), ("a/train.jsonl", "a"), ("top.jsonl", "t"), ("notes.txt", "-")] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{{\"anchor\": \"{anchor}\", \"positive\": \"p\"}}\n")).unwrap();
    }
    let found = read(json!({"jsonl": {"path": folder.path()}})).unwrap();
    assert_eq!(
        found.pairs.iter().map(|pair| pair.id.as_str()).collect::<Vec<_>>(),
        ["a/train:1", "b/train:1", "top:1"]
    );
    assert_eq!(found.skipped.get("file of another format"), Some(&1));
    let none = read(json!({"csv": {"path": folder.path()}})).unwrap_err().to_string();
    assert!(none.ends_with("no file ends in .csv, .csv.gz (4 others are there)"), "{none}");
    assert!(matches!(read(json!({"csv": {"path": folder.path().join("absent.csv")}})), Err(Error::Io { .. })));
}

#[test]
fn the_fingerprint_sees_content_and_config() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.jsonl");
    fs::write(&path, GOOD).unwrap();
    let config = json!({"jsonl": {"path": path}});
    let one = source(config.clone()).fingerprint().unwrap();
    assert_eq!(read(config.clone()).unwrap().fingerprint, one);
    assert_ne!(source(json!({"jsonl": {"path": path, "language": "go"}})).fingerprint().unwrap(), one);
    fs::write(&path, GOOD.replace("\"a\"", "\"z\"")).unwrap();
    assert_ne!(source(config).fingerprint().unwrap(), one);
}

#[test]
fn csv_rows() {
    let text = "query,pos,neg\na,\"b, \"\"c\"\"\nd\",\ne,f,g\n";
    let pairs = read_bytes("x.csv", "csv", text.as_bytes(), OnBad::Stop).unwrap().pairs;
    assert_eq!((&told(&pairs[0])[..2], pairs[0].negatives.len()), (["a", "b, \"c\"\nd"].as_slice(), 0));
    assert_eq!((pairs[1].id.as_str(), pairs[1].negatives.as_slice()), ("x:4", ["g".into()].as_slice()));
    let check = |bytes: &[u8], expected: &str| {
        assert_eq!(message(read_bytes("x.csv", "csv", bytes, OnBad::Stop), "x.csv"), expected);
    };
    check(b"query,pos\na,b\nc\n", "x.csv:3:1: 1 fields, expected 2 as in the header");
    check(
        b"query,pos\na,\"b\nc\n",
        "x.csv:2:1: the file ends inside a quoted field, as if it was cut off or a quote is missing",
    );
    check(b"query,pos\na,\xff\n", "x.csv:2:1: a field is not UTF-8 from its byte 1 on");
    check(b"query,pos\na,\0\n", "x.csv:2:1: a NUL byte, expected text");
    check(b"query,posi\na,b\n", "x.csv:2:1: no field `positive`, the record has `query`, `posi`");
    assert_eq!(read_bytes("x.csv", "csv", b"\xef\xbb\xbfquery,pos\r\na,b\r\n", OnBad::Stop).unwrap().pairs.len(), 1);
    assert_eq!(read_bytes("x.csv", "csv", b"", OnBad::Stop).unwrap().pairs.len(), 0);
}

fn parquet_file(batch: &RecordBatch) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn parquet_batch() -> RecordBatch {
    let tokens =
        ListArray::from_nested_iter::<StringBuilder, _, _, _>([["x", "y"], ["z", "w"]].map(|row| Some(row.map(Some))));
    let meta =
        StructArray::try_from(vec![("doc", Arc::new(LargeStringArray::from(vec!["Sum.", "Größe\0"])) as ArrayRef)])
            .unwrap();
    let language: DictionaryArray<Int32Type> = ["go", "go"].into_iter().collect();
    RecordBatch::try_from_iter([
        ("meta", Arc::new(meta) as ArrayRef),
        ("code_tokens", Arc::new(tokens)),
        ("language", Arc::new(language)),
        ("id", Arc::new(Int64Array::from(vec![1_i64, 2]))),
        ("label", Arc::new(arrow_array::Float64Array::from(vec![0.5, 1.0]))),
        ("other", Arc::new(arrow_array::BinaryArray::from(vec![b"a".as_slice(), b"b"]))),
    ])
    .unwrap()
}

#[test]
fn parquet_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.parquet");
    fs::write(&path, parquet_file(&parquet_batch())).unwrap();
    let fields = json!({"anchor": "meta.doc", "positive": "code_tokens"});
    let pairs = read(json!({"parquet": {"path": path, "fields": fields}})).unwrap().pairs;
    assert_eq!(told(&pairs[0]), ["Sum.", "x y", "1"]);
    assert_eq!((pairs[1].anchor.as_str(), pairs[1].language.as_str()), ("Größe\0", "go"));
    let refused = |anchor: &str| {
        let fields = json!({"anchor": anchor, "positive": "code_tokens"});
        message(read(json!({"parquet": {"path": path, "fields": fields}})), "x.parquet")
    };
    let found = refused("label");
    assert_eq!(found, "x.parquet: row 1: field `label` is a number, expected a string or an array of strings");
    let found = refused("other");
    assert!(found.starts_with("x.parquet: row 1: column `other` holds Binary"), "{found}");
    let found = refused("docs");
    assert!(found.starts_with("x.parquet: row 1: no field `docs`, the record has "), "{found}");
    let found = message(read_bytes("y.parquet", "parquet", b"PAR1 no PAR1", OnBad::Skip), "y.parquet");
    assert_eq!(found, "y.parquet: not a whole Parquet file");
}

#[test]
fn parallel_lines_belong_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let config =
        json!({"parallel_lines": {"anchors": path("a.java"), "positives": path("a.cs"), "language": "csharp"}});
    fs::write(path("a.java"), "int a;\r\nint b;").unwrap();
    fs::write(path("a.cs"), "int A;\nint B;\n").unwrap();
    let pairs = read(config.clone()).unwrap().pairs;
    assert_eq!(told(&pairs[1]), ["int b;", "int B;", "a:2"]);
    assert_eq!((pairs[0].task, pairs[0].language.as_str()), (wb_core::Task::Code2code, "csharp"));
    fs::write(path("a.cs"), "int A;\n").unwrap();
    let found = message(read(config.clone()), "a.cs");
    assert!(found.starts_with("a.cs:2:1: the file ends after line 1, expected as many lines as "), "{found}");
    fs::write(path("a.cs"), b"int A;\n\xff\n").unwrap();
    assert_eq!(message(read(config), "a.cs"), "a.cs:2:1: byte 0xff is not UTF-8");
}

#[test]
fn joined_records_share_a_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(
        path("l.jsonl"),
        "{\"k\": \"P/1\", \"t\": \"a\"}\n{\"k\": \"P/2\", \"t\": \"b\"}\n{\"k\": \"P/3\", \"t\": null}\n",
    )
    .unwrap();
    fs::write(path("r.jsonl"), "{\"k\": \"J/2\", \"t\": \"B\"}\n{\"k\": \"J/4\", \"t\": \"D\"}\n").unwrap();
    let side = |name: &str| json!({"path": path(name), "text": "t", "key": "k"});
    let joined = || read(json!({"joined": {"left": side("l.jsonl"), "right": side("r.jsonl"), "key_after": "/"}}));
    let found = joined().unwrap();
    assert_eq!(found.pairs.len(), 1);
    assert_eq!(told(&found.pairs[0]), ["b", "B", "l-r:2"]);
    assert_eq!((found.skipped.get("no counterpart"), found.skipped.get("null `t`")), (Some(&2), Some(&1)));
    fs::write(path("r.jsonl"), "{\"k\": \"J/2\", \"t\": \"B\"}\n{\"k\": \"X/2\", \"t\": \"D\"}\n").unwrap();
    let found = message(joined(), "r.jsonl");
    assert_eq!(found, "r.jsonl:2:1: the key `2` was given before on line 1, expected unique keys");
}

#[test]
fn hub_configs_are_checked_and_offline_is_respected() {
    let hub = |repo: &str, revision: &str, file: &str| {
        serde_json::from_value::<SourceConfig>(json!({"hub": {"repo": repo, "revision": revision, "files": [file]}}))
            .unwrap()
    };
    let hash = "0123456789012345678901234567890123456789";
    let check = |repo, revision, file, expected: &str| {
        let found = hub(repo, revision, file).validate("s").unwrap_err().to_string();
        assert!(found.starts_with(expected), "{found}");
    };
    check("o/n", "a branch", "a.parquet", "s.hub.repo: got revision `a branch`, expected a branch, a tag or a commit");
    check("o/n/m", hash, "a.parquet", "s.hub.repo: got `o/n/m`");
    check("../n", hash, "a.parquet", "s.hub.repo: got `../n`");
    check("o/n", hash, "../a.parquet", "s.hub.files[0]: got `../a.parquet`");
    check("o/n", hash, "a.txt", "s.hub.files[0]: got `a.txt`");
    assert!(hub("o/n", hash, "data/a.jsonl.gz").validate("s").is_ok());
}

proptest! {
    #[test]
    fn mutated_text_files_never_panic(at in 0_usize..2000, byte in any::<u8>(), cut in 0_usize..2000, skip in any::<bool>()) {
        let lines: String = (0..20).map(|n| format!("{{\"id\": \"i{n}\", \"anchor\": \"ä{n}\", \"positive\": [\"x\", \"y{n}\"]}}\n")).collect();
        let array = format!("[{}]", lines.trim_end().replace('\n', ","));
        let csv: String = std::iter::once("anchor,positive\n".to_owned()).chain((0..20).map(|n| format!("\"a{n}\",ü{n}\n"))).collect();
        let zipped = gzip(lines.as_bytes());
        for (name, kind, mut bytes) in [("x.jsonl", "jsonl", lines.into_bytes()), ("x.json", "jsonl", array.into_bytes()), ("x.csv", "csv", csv.into_bytes()), ("x.jsonl.gz", "jsonl", zipped)] {
            let length = bytes.len();
            bytes[at % length] = byte;
            bytes.truncate(length - cut.saturating_sub(1000) % length);
            let on_bad = if skip { OnBad::Skip } else { OnBad::Stop };
            if let Err(error) = read_bytes(name, kind, &bytes, on_bad) {
                // A place (`x.jsonl:3:1`), or what was too much to skip.
                let text = error.to_string();
                let place = text.find(name).map(|at| &text[at + name.len()..]).unwrap_or_default();
                let named = place.starts_with(':') && place[1..].starts_with(|c: char| c.is_ascii_digit());
                prop_assert!(named || error.to_string().contains(" are bad, more than "), "{}", text);
            }
        }
    }

    #[test]
    fn mutated_parquet_files_never_panic(flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), cut in 0_usize..40) {
        let mut bytes = parquet_file(&parquet_batch());
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(bytes.len() - cut.saturating_sub(20));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.parquet");
        fs::write(&path, &bytes).unwrap();
        let config = source(json!({"parquet": {"path": path, "fields": {"anchor": "meta.doc", "positive": "code_tokens"}}}));
        let result = config.read(0, OnBad::Stop, &mut silent);
        if let Err(error) = result {
            prop_assert!(error.to_string().contains("x.parquet"), "{}", error);
        }
    }
}

#[test]
#[ignore = "a measurement: run by hand"]
fn two_hundred_megabytes_of_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.jsonl");
    let line =
        format!("{{\"anchor\": \"{}\", \"positive\": \"{}\"}}\n", "word ".repeat(20), "let x = f(y);\\n".repeat(60));
    fs::write(&path, line.repeat(200_000_000 / line.len())).unwrap();
    let start = std::time::Instant::now();
    let pairs = read(json!({"jsonl": {"path": path}})).unwrap().pairs;
    eprintln!("{} pairs in {:?}", pairs.len(), start.elapsed());
}
