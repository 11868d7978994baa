//! Tables as they come, and databases that are damaged or made to do harm.

use std::fs;

use rusqlite::Connection;
use tempfile::tempdir;

use super::super::{
    SnippetSet,
    tests::{get, texts},
};

const YAML: &str = "sources: [{ sqlite: { path: 'HERE/a b?.db', table: chunks, columns: { text: code, context: doc, group: nb, license: license }, language: python } }]\nfilters: { min_chars: 1 }";

fn database(folder: &std::path::Path, sql: &str) {
    Connection::open(folder.join("a b?.db")).unwrap().execute_batch(sql).unwrap();
}

fn short(set: &SnippetSet) -> Vec<(&str, &str, &str)> {
    texts(set)
}

#[test]
fn rows_in_the_order_of_their_numbers() {
    let here = tempdir().unwrap();
    database(
        here.path(),
        "CREATE TABLE chunks (code TEXT, doc TEXT, nb INTEGER, license TEXT);
         INSERT INTO chunks(rowid, code, doc, nb, license) VALUES (9, 'y = 2', NULL, 7, 'MIT'), (2, 'x = 1', 'One.', 7, NULL), (3, NULL, '', 1, '');",
    );
    let before = fs::read(here.path().join("a b?.db")).unwrap();
    let set = get(here.path(), YAML).unwrap();
    assert_eq!(short(&set), [("sqlite:chunks/2", "x = 1", "One."), ("sqlite:chunks/9", "y = 2", "")]);
    let origin = &set.snippets[1].origin;
    assert_eq!(
        (origin.group.as_str(), origin.license.as_str(), set.snippets[0].language.as_str()),
        ("7", "MIT", "python")
    );
    assert_eq!(set.card.sources[0].left_out["null `code`"], 1);
    // Nothing was written, neither into the file nor beside it.
    assert_eq!(fs::read(here.path().join("a b?.db")).unwrap(), before);
    assert_eq!(fs::read_dir(here.path()).unwrap().count(), 1);
}

#[test]
fn a_table_without_row_numbers_and_ids_of_its_own() {
    let here = tempdir().unwrap();
    database(
        here.path(),
        "CREATE TABLE chunks (id TEXT PRIMARY KEY, code TEXT) WITHOUT ROWID; INSERT INTO chunks VALUES ('b', 'y = 2'), ('a', 'x = 1');",
    );
    let yaml = YAML.replace("{ text: code, context: doc, group: nb, license: license }", "{ text: code, id: id }");
    assert_eq!(
        short(&get(here.path(), &yaml).unwrap()),
        [("sqlite:chunks/a", "x = 1", ""), ("sqlite:chunks/b", "y = 2", "")]
    );
    let yaml = YAML.replace("{ text: code, context: doc, group: nb, license: license }", "{ text: CODE }");
    assert_eq!(
        short(&get(here.path(), &yaml).unwrap()),
        [("sqlite:chunks/1", "x = 1", ""), ("sqlite:chunks/2", "y = 2", "")]
    );
}

#[test]
fn what_is_no_text_is_refused_or_counted() {
    for (value, message) in [
        ("x'ff00'", "column `code` holds bytes, expected text"),
        ("1.5", "column `code` holds a number, expected text"),
        ("CAST(x'ff' AS TEXT)", "column `code` holds a text that is not UTF-8"),
    ] {
        let here = tempdir().unwrap();
        database(
            here.path(),
            &format!(
                "CREATE TABLE chunks (code, doc, nb, license); INSERT INTO chunks(code) VALUES ('fine'), ({value});"
            ),
        );
        let error = get(here.path(), YAML).unwrap_err().to_string();
        assert!(error.ends_with(&format!("table chunks row 2: {message}")), "{error}");
        let set = get(here.path(), &format!("{YAML}\non_bad: skip\nmax_bad_share: 0.5")).unwrap();
        assert_eq!((set.snippets.len(), set.card.sources[0].bad.values().sum::<u64>()), (1, 1));
    }
}

#[test]
fn tables_and_columns_that_are_not_there() {
    let here = tempdir().unwrap();
    database(
        here.path(),
        "CREATE TABLE chunk (code, doc, nb, license);
         CREATE VIEW endless AS WITH RECURSIVE n(code) AS (SELECT 'a' UNION ALL SELECT code FROM n) SELECT * FROM n;",
    );
    for (from, to, message) in [
        ("chunks", "chunks", "no table `chunks`"),
        ("chunks", "endless", "`endless` is a view, expected a table"),
        (
            "table: chunks, columns: { text: code",
            "table: chunk, columns: { text: cod",
            "no column `cod`, table `chunk` has code, doc, nb, license",
        ),
        ("table: chunks", "table: 'a\"; DROP TABLE chunk; --'", "no table `a\"; DROP TABLE chunk; --`"),
    ] {
        let error = get(here.path(), &YAML.replace(from, to)).unwrap_err();
        assert!(error.to_string().ends_with(message), "{error}");
        assert!(error.hint().is_some() || message.contains("DROP"), "{error}");
    }
}

#[test]
fn damaged_and_busy_databases_are_refused() {
    let here = tempdir().unwrap();
    let path = here.path().join("a b?.db");
    for (bytes, message) in [(&b""[..], "the file is empty"), (&[b'x'; 4096][..], "not an SQLite database")] {
        fs::write(&path, bytes).unwrap();
        let error = get(here.path(), YAML).unwrap_err().to_string();
        assert!(error.ends_with(message), "{error}");
    }
    fs::remove_file(&path).unwrap();
    let rows: String = (0..500)
        .map(|at| format!("INSERT INTO chunks(code) VALUES ('{}');", format!("row {at} ").repeat(30)))
        .collect();
    database(here.path(), &format!("CREATE TABLE chunks (code, doc, nb, license); BEGIN; {rows} COMMIT;"));
    let whole = fs::read(&path).unwrap();
    // Every cut and every broken page is an error or fewer rows, never a panic.
    let mut refused = 0;
    for cut in (0..whole.len()).step_by(4096 + 512) {
        fs::write(&path, &whole[..cut]).unwrap();
        refused += usize::from(get(here.path(), YAML).is_err());
        let mut broken = whole.clone();
        broken[cut..(cut + 64).min(whole.len())].fill(0xff);
        fs::write(&path, &broken).unwrap();
        let _ = get(here.path(), YAML);
    }
    assert!(refused > 10, "{refused}");
    fs::write(&path, &whole).unwrap();
    assert_eq!(get(here.path(), YAML).unwrap().snippets.len(), 500);
    fs::write(here.path().join("a b?.db-wal"), b"something").unwrap();
    let error = get(here.path(), YAML).unwrap_err();
    assert!(
        error.to_string().contains("a file that ends in `-wal` lies beside it") && error.hint().is_some(),
        "{error}"
    );
}
