//! CodeSearchNet, AdvTest and gretel's questions: rows of Parquet files as JSON lines.

use arrow_array::ArrayRef;
use serde_json::json;
use tempfile::TempDir;

use super::{conversion, convert, lines, numbers, parquet, texts, told, without_rows, words};

/// The columns of the hub's CodeSearchNet, two functions.
fn functions() -> Vec<(&'static str, ArrayRef)> {
    vec![
        ("repository_name", texts(["o/n", "o/n"])),
        ("func_path_in_repository", texts(["a.rb", "b.rb"])),
        ("func_name", texts(["A.sort", "B.read"])),
        ("whole_func_string", texts(["def sort; end", "def read; end"])),
        ("language", texts(["ruby", "ruby"])),
        ("func_code_string", texts(["def sort; end", "def read; end"])),
        ("func_code_tokens", words(["def sort ; end", "def read ; end"])),
        ("func_documentation_string", texts(["Sorts it.", "Reads it."])),
        ("func_documentation_tokens", words(["Sorts it .", "Reads it ."])),
        ("split_name", texts(["test", "test"])),
        ("func_code_url", texts(["https://github.com/o/n/a.rb#L1-L2", "https://github.com/o/n/b.rb#L1-L2"])),
    ]
}

/// The file with one column changed or, with none, left out.
fn with(name: &str, changed: Option<ArrayRef>) -> Vec<u8> {
    let mut columns = functions();
    let at = columns.iter().position(|(own, _)| *own == name).unwrap();
    match changed {
        Some(array) => columns[at].1 = array,
        None => drop(columns.remove(at)),
    }
    parquet(columns)
}

#[test]
fn functions_have_the_names_of_the_release() {
    let external = TempDir::new().unwrap();
    // Two shards, in their order.
    let files = [("functions", parquet(functions())), ("functions", parquet(functions()))];
    let counts = convert(&conversion("codesearchnet"), &external, &files).unwrap();
    assert_eq!(counts["functions"], 4);
    let written = lines(&external.path().join("out/go_test_0.jsonl.gz"));
    assert_eq!(
        written[1],
        json!({
            "repo": "o/n", "path": "b.rb", "func_name": "B.read", "original_string": "def read; end", "language": "ruby",
            "code": "def read; end", "code_tokens": ["def", "read", ";", "end"], "docstring": "Reads it.",
            "docstring_tokens": ["Reads", "it", "."], "url": "https://github.com/o/n/b.rb#L1-L2", "partition": "test",
        })
    );
    assert_eq!(written[0], written[2]);
}

#[test]
fn what_is_no_such_file_is_told() {
    let refused = |bytes: Vec<u8>| {
        let external = TempDir::new().unwrap();
        let error = convert(&conversion("codesearchnet"), &external, &[("functions", bytes)]).unwrap_err();
        let left = std::fs::read_dir(external.path().join("out")).unwrap().count();
        assert_eq!(left, 0, "a part of a file is left");
        told(&error)
    };
    let whole = parquet(functions());
    for cut in [0, 3, whole.len() / 2, whole.len() - 1] {
        assert!(refused(whole[..cut].to_vec()).contains("not a whole Parquet file"), "cut at {cut}");
    }
    let missing = refused(with("func_code_url", None));
    assert!(
        missing.contains("there is no column `func_code_url`; the file has repository_name, func_path"),
        "{missing}"
    );
    let wrong = refused(with("func_code_tokens", Some(texts(["a b", "c d"]))));
    assert!(wrong.contains("row 1: column `func_code_tokens` holds Utf8, expected a list of texts"), "{wrong}");
    let wrong = refused(with("func_name", Some(numbers([1, 2]))));
    assert!(wrong.contains("column `func_name` holds Int64, expected a text"), "{wrong}");
    let null = std::sync::Arc::new(arrow_array::StringArray::from(vec![Some("a"), None])) as ArrayRef;
    assert!(refused(with("func_code_url", Some(null))).contains("row 2: column `func_code_url` holds null"));
    assert!(refused(without_rows(functions())).contains("no row is in it"));
}

#[test]
fn bytes_that_are_changed_never_break_the_program() {
    let whole = parquet(functions());
    for at in (0..whole.len()).step_by(11) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x5a;
        let external = TempDir::new().unwrap();
        // A changed letter of a text is still a file; all else is an error.
        let _ = convert(&conversion("codesearchnet"), &external, &[("functions", bytes)]);
    }
}

#[test]
fn advtest_is_named_by_its_identifiers() {
    let file = |url: &str| {
        parquet(vec![
            ("id", numbers([0])),
            ("repo", texts([""])),
            ("path", texts(["a.py"])),
            ("func_name", texts([""])),
            ("original_string", texts([""])),
            ("language", texts(["python"])),
            ("code", texts(["def Func(arg_0): pass"])),
            ("code_tokens", words(["def Func ( arg_0 ) : pass"])),
            ("docstring", texts(["Does nothing."])),
            ("docstring_tokens", words(["Does nothing ."])),
            ("url", texts([url])),
            ("identifier", texts(["nothing"])),
            ("nwo", texts(["o/n"])),
        ])
    };
    let external = TempDir::new().unwrap();
    let files = [("test", file("https://t")), ("validation", file("https://v"))];
    let counts = convert(&conversion("advtest"), &external, &files).unwrap();
    assert_eq!(counts["functions"], 2);
    let written = lines(&external.path().join("out/valid.jsonl.gz"));
    assert_eq!(written[0]["func_name"], "nothing");
    assert_eq!((&written[0]["repo"], &written[0]["url"]), (&json!("o/n"), &json!("https://v")));
}

#[test]
fn questions_keep_all_their_columns() {
    let names = [
        "domain",
        "domain_description",
        "sql_complexity",
        "sql_complexity_description",
        "sql_task_type",
        "sql_task_type_description",
        "sql_prompt",
        "sql_context",
        "sql",
        "sql_explanation",
    ];
    let file = || {
        let mut columns = vec![("id", numbers([39325]))];
        columns.extend(names.map(|name| (name, texts([name]))));
        parquet(columns)
    };
    let external = TempDir::new().unwrap();
    convert(&conversion("synthetic-sql"), &external, &[("train", file()), ("test", file())]).unwrap();
    let written = lines(&external.path().join("out/test.jsonl"));
    assert_eq!((written.len(), &written[0]["id"], &written[0]["sql"]), (1, &json!(39325), &json!("sql")));
    assert_eq!(written[0].as_object().unwrap().len(), 11);
}
