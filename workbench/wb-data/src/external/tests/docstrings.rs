//! code-docstring-corpus: three files that belong line to line.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use serde_json::json;
use tempfile::TempDir;

use super::{conversion, convert, lines, told};

const CODE: &str = "def f(x): DCNL  DCSP return x\ndef g(): DCNL  DCSP pass\ndef h(): DCNL  DCSP pass\n";
const TEXT: &str = "'Gives it back. DCNL It isn\\'t changed.'\n'Does nothing.'\n''\n";
const PLACE: &str = "github/o/n/a/b.py 3\ngithub/o/m/c.py 10\ngithub/o/m/c.py 20\n";

fn files(text: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(CODE.as_bytes()).unwrap();
    let mut files = vec![("declbodies.train.gz", packer.finish().unwrap())];
    files.extend(["declbodies.valid", "declbodies.test"].map(|name| (name, CODE.into())));
    files.extend(["descriptions.train", "descriptions.valid", "descriptions.test"].map(|name| (name, text.to_vec())));
    files.extend(["metadata.train", "metadata.valid", "metadata.test"].map(|name| (name, PLACE.into())));
    files
}

#[test]
fn functions_become_records_and_empty_descriptions_are_counted() {
    let external = TempDir::new().unwrap();
    let counts = convert(&conversion("code_docstring_corpus"), &external, &files(TEXT.as_bytes())).unwrap();
    assert_eq!((counts["functions"], counts["without a docstring in quotes, left out"]), (6, 3));
    let written = lines(&external.path().join("out/train.jsonl"));
    assert_eq!(
        written[0],
        json!({
            "code": "def f(x):\n    return x", "docstring": "Gives it back.\nIt isn't changed.", "language": "python",
            "repo": "o/n", "path": "a/b.py", "line": 3,
        })
    );
}

#[test]
fn other_encodings_are_counted_and_files_of_other_lengths_refused() {
    let external = TempDir::new().unwrap();
    let counts = convert(&conversion("code_docstring_corpus"), &external, &files(b"'caf\xe9'\n'b'\n'c'\n")).unwrap();
    assert_eq!((counts["functions"], counts["not UTF-8, left out"]), (6, 3));
    let external = TempDir::new().unwrap();
    let error = convert(&conversion("code_docstring_corpus"), &external, &files(b"'a'\n'b'\n")).unwrap_err();
    assert!(told(&error).contains("it ends after 2 lines, and "), "{error}");
}
