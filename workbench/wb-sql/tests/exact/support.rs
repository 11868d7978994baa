//! What the tests of exact match share: schemas, files, one verdict.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use wb_sql::{
    Compat,
    exact::{ExactMatch, compare},
    spider::{DatabaseSchema, DatabaseSchemas, parse, prediction},
};

/// A file of `tests/golden`.
pub fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// Our own small schemas.
pub fn schemas() -> DatabaseSchemas {
    DatabaseSchemas::load(&golden("spider-tables.json")).unwrap()
}

/// The folder of Spider's data, if it is there.
pub fn spider(test: &str) -> Option<PathBuf> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("WB_SHARED").map_or_else(beside, PathBuf::from).join("data/spider");
    if folder.is_dir() {
        return Some(folder);
    }
    // Past the capture of test output, so that skipped tests are seen and counted.
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: no Spider data at {}", folder.display());
    None
}

/// The verdict on a prediction, and whether it cannot be read.
pub fn judge(gold: &str, text: &str, schema: &DatabaseSchema, compat: Compat) -> (ExactMatch, bool) {
    let gold = parse(gold, schema, compat).unwrap();
    let predicted = parse(&prediction(text, compat), schema, compat);
    let unread = predicted.is_err();
    (compare(&gold, &predicted.unwrap_or_default(), schema, compat), unread)
}
