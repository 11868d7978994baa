//! CodeSearchNet's human judgements and the functions that they are about.

use std::{fs, io::Write, path::Path};

use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{conversion, convert, lines};

const STORE: &str = "Language,Query,GitHubUrl,Relevance,Notes
Python,sort a list,https://a,3,
Python,sort a list,https://b,1,\"two
lines\"
Python,read a file,https://a,0,
Ruby,sort a list,https://c,2,
";

fn function(url: &str, language: &str) -> Value {
    json!({ "url": url, "language": language, "code": format!("code of {url}"), "code_tokens": ["x"] })
}

fn packed(path: &Path, functions: &[Value]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut packer = GzEncoder::new(fs::File::create(path).unwrap(), Compression::fast());
    functions.iter().for_each(|function| writeln!(packer, "{function}").unwrap());
    packer.finish().unwrap();
}

fn files() -> [(&'static str, Vec<u8>); 2] {
    [("annotationStore.csv", STORE.into()), ("queries.csv", b"query\nsort a list\nread a file\n".to_vec())]
}

#[test]
fn judged_functions_are_found_and_the_others_counted() {
    let external = TempDir::new().unwrap();
    let of = |path: &str| external.path().join("codesearchnet").join(path);
    packed(
        &of("python/final/jsonl/test/python_test_0.jsonl.gz"),
        &[function("https://a", "python"), function("https://x", "python")],
    );
    // As people put it there themselves, and the same function a second time.
    fs::create_dir_all(of("ruby")).unwrap();
    fs::write(of("ruby/valid.jsonl"), format!("{}\n\n{}\n", function("https://c", "Ruby"), function("https://a", "x")))
        .unwrap();
    packed(&of("AdvTest/test.jsonl.gz"), &[function("https://b", "python")]);
    let counts = convert(&conversion("codesearchnet-annotations"), &external, &files()).unwrap();
    assert_eq!(counts["judged functions"], 2);
    assert_eq!(counts["judged functions of python that are not here, left out"], 1);
    let out = external.path().join("out");
    let expected = [("https://a", "python"), ("https://c", "ruby")].map(
        |(url, language)| json!({ "id": url, "language": language, "url": url, "code": format!("code of {url}") }),
    );
    assert_eq!(lines(&out.join("corpus.jsonl")), expected);
    assert_eq!(fs::read_to_string(out.join("annotationStore.csv")).unwrap(), STORE);
    assert!(out.join("queries.csv").is_file());
}

#[test]
fn without_functions_nothing_begins_and_without_judged_ones_nothing_is_written() {
    let external = TempDir::new().unwrap();
    let conversion = conversion("codesearchnet-annotations");
    let error = conversion.member().ready(external.path()).unwrap_err();
    assert!(error.hint().unwrap().contains("wb data get codesearchnet codesearchnet-annotations"), "{error}");
    packed(&external.path().join("codesearchnet/go/test.jsonl.gz"), &[function("https://x", "go")]);
    conversion.member().ready(external.path()).unwrap();
    assert_eq!(conversion.member().beside(external.path()).unwrap().len(), 1);
    let error = convert(&conversion, &external, &files()).unwrap_err();
    assert!(error.to_string().contains("none of the functions that it judges"), "{error}");
}
