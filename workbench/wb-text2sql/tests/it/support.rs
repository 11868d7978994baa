//! What these tests share: a schema of a school's pets, workers, shared data.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use wb_sql::execute::{CellValue, DatabaseSource, Seat, StatementLimits, StatementOutcome, WorkerCommand, WorkerPool};
use wb_text2sql::{predict::Ran, schema::Catalogs};

/// Two databases: pets with students, and shops with workers.
pub const TABLES: &str = r#"[
  {"db_id": "pets", "table_names_original": ["Student", "Has_Pet", "Pets"], "table_names": ["student", "has pet", "pets"],
   "column_names_original": [[-1, "*"], [0, "StuID"], [0, "LName"], [0, "Age"], [1, "StuID"], [1, "PetID"], [2, "PetID"], [2, "PetType"], [2, "weight"], [2, "group"]],
   "column_names": [[-1, "*"], [0, "student id"], [0, "last name"], [0, "age"], [1, "student id"], [1, "pet id"], [2, "pet id"], [2, "pet type"], [2, "weight"], [2, "group"]],
   "column_types": ["text", "number", "text", "number", "number", "number", "number", "text", "number", "text"],
   "primary_keys": [1, 6], "foreign_keys": [[4, 1], [5, 6]]},
  {"db_id": "shops", "table_names_original": ["shop", "worker"], "table_names": ["shop", "worker"],
   "column_names_original": [[-1, "*"], [0, "shop_id"], [0, "name"], [0, "city"], [1, "worker_id"], [1, "shop_id"], [1, "name"], [1, "salary"]],
   "column_names": [[-1, "*"], [0, "shop id"], [0, "name"], [0, "city"], [1, "worker id"], [1, "shop id"], [1, "name"], [1, "salary"]],
   "column_types": ["text", "number", "text", "text", "number", "number", "text", "number"],
   "primary_keys": [1, 4], "foreign_keys": [[5, 1]]}
]"#;

/// The database of pets.
pub const PETS: &str = "create table Student(StuID int, LName text, Age int); \
    create table Has_Pet(StuID int, PetID int); create table Pets(PetID int, PetType text, weight real, \"group\" text); \
    insert into Student values (1, 'Smith', 20), (2, 'Kim', 22), (3, 'Lee', 19); \
    insert into Has_Pet values (1, 1), (2, 2); insert into Pets values (1, 'cat', 3.5, 'a'), (2, 'dog', 9.3, 'b');";

/// The schemas, through a file.
pub fn catalogs(folder: &Path) -> Catalogs {
    let path = folder.join("tables.json");
    fs::write(&path, TABLES).unwrap();
    Catalogs::load(&path).unwrap()
}

/// A pool of this crate's own workers.
pub fn pool() -> WorkerPool {
    let program = env!("CARGO_BIN_EXE_wb-text2sql-worker").into();
    WorkerPool::new(WorkerCommand { program, arguments: Vec::new() }, StatementLimits::default(), 2)
}

/// Runs a candidate.
pub fn run(seat: &mut Seat<'_>, source: &DatabaseSource, sql: &str) -> Ran {
    let execution = seat.execute(source, sql, 3).unwrap();
    if execution.outcome != StatementOutcome::Done {
        return Ran::Failed;
    }
    let nothing = |cell: &CellValue| matches!(cell, CellValue::Null | CellValue::Int(0));
    if execution.table.cells.iter().all(nothing) { Ran::Empty } else { Ran::Rows }
}

/// The folder of Spider's data, if it is there.
pub fn spider(test: &str) -> Option<PathBuf> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("WB_SHARED").map_or_else(beside, PathBuf::from).join("data/spider");
    if folder.is_dir() {
        return Some(folder);
    }
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: no Spider data at {}", folder.display());
    None
}
