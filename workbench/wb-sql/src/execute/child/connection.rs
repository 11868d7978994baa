//! Databases opened so that a statement can read them and do nothing else.
//!
//! After sqlite.org/security.html, with limits that leave room for real questions. Files are opened read-only and
//! immutable; an authorizer lets through reading and deterministic functions alone; SQLite's memory is bounded; a clock
//! interrupts.

use rusqlite::{
    Connection, OpenFlags,
    config::DbConfig,
    hooks::{AuthAction, AuthContext, Authorization},
    limits::Limit,
};

use super::{limits::Clock, math, script};
use crate::execute::{
    DatabaseSource,
    protocol::{MAX_SCRIPT, MAX_SQL},
};

/// Bytes that SQLite may allocate, over all connections of a worker.
const HEAP: u64 = 64 << 20;
/// Number of databases that a worker keeps open.
const KEPT: usize = 8;
/// Steps of SQLite's machine between two looks at the clock.
const STEPS: i32 = 1000;

/// Bounds of a statement. Gold queries of Spider and BIRD stay far below them.
const LIMITS: [(Limit, i32); 11] = [
    (Limit::SQLITE_LIMIT_LENGTH, 1_000_000),
    (Limit::SQLITE_LIMIT_SQL_LENGTH, bytes(MAX_SQL)),
    (Limit::SQLITE_LIMIT_EXPR_DEPTH, 500),
    (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 100),
    (Limit::SQLITE_LIMIT_VDBE_OP, 100_000),
    (Limit::SQLITE_LIMIT_FUNCTION_ARG, 32),
    (Limit::SQLITE_LIMIT_ATTACHED, 0),
    (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100),
    (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 10),
    (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 10),
    (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
];

/// Bounds that are wider while a script makes its tables: it comes with the question, not from a model.
const LIMITS_OF_SCRIPTS: [(Limit, i32); 2] =
    [(Limit::SQLITE_LIMIT_SQL_LENGTH, bytes(MAX_SCRIPT)), (Limit::SQLITE_LIMIT_VDBE_OP, 1_000_000)];

#[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "two constants of a few millions")]
const fn bytes(count: usize) -> i32 {
    count as i32
}

/// Functions that reach out of the database, look into the process, or answer differently every time.
const DENIED: [&str; 17] = [
    "load_extension",
    "random",
    "randomblob",
    "readfile",
    "writefile",
    "edit",
    "fts3_tokenizer",
    "fts5_source_id",
    "sqlite_version",
    "sqlite_source_id",
    "sqlite_log",
    "sqlite_compileoption_get",
    "sqlite_compileoption_used",
    "sqlite_offset",
    "last_insert_rowid",
    "changes",
    "total_changes",
];

/// The databases that are open, the latest last.
pub(super) struct Connections {
    clock: Clock,
    open: Vec<(DatabaseSource, Connection)>,
}

impl Connections {
    pub fn new(clock: Clock) -> Connections {
        Connections { clock, open: Vec::with_capacity(KEPT) }
    }

    /// The connection to a database, opened if it is not.
    pub fn get(&mut self, source: &DatabaseSource) -> rusqlite::Result<&Connection> {
        let entry = match self.open.iter().position(|(known, _)| known == source) {
            Some(at) => self.open.remove(at),
            None => {
                if self.open.len() >= KEPT {
                    self.open.remove(0);
                }
                (source.clone(), open(source, &self.clock)?)
            }
        };
        self.open.push(entry);
        let at = self.open.len() - 1;
        Ok(&self.open[at].1)
    }

    /// Closes them all, which frees their memory.
    pub fn close(&mut self) {
        self.open.clear();
    }
}

fn open(source: &DatabaseSource, clock: &Clock) -> rusqlite::Result<Connection> {
    let mut connection = match source {
        DatabaseSource::File(path) => {
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            Connection::open_with_flags(address(path), flags)?
        }
        DatabaseSource::Script(_) => Connection::open_in_memory()?,
    };
    connection.execute_batch(&format!(
        "PRAGMA hard_heap_limit={HEAP}; PRAGMA temp_store=MEMORY; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; \
         PRAGMA foreign_keys=OFF;"
    ))?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    set(&connection, &LIMITS)?;
    math::add(&connection)?;
    let clock = clock.clone();
    connection.progress_handler(STEPS, Some(move || clock.is_over()))?;
    if let DatabaseSource::Script(text) = source {
        connection.authorizer(Some(may_build))?;
        set(&connection, &LIMITS_OF_SCRIPTS)?;
        script::run(&connection, text)?;
        set(&connection, &LIMITS)?;
        connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
        if !connection.is_autocommit() {
            connection.execute_batch("COMMIT")?;
        }
    }
    connection.execute_batch("PRAGMA query_only=ON")?;
    connection.authorizer(Some(may_read))?;
    Ok(connection)
}

fn set(connection: &Connection, limits: &[(Limit, i32)]) -> rusqlite::Result<()> {
    limits.iter().try_for_each(|(limit, value)| connection.set_limit(*limit, *value).map(|_| ()))
}

/// A path as SQLite's address; what means something in an address is escaped.
fn address(path: &str) -> String {
    let mut address = "file:".to_owned();
    for character in path.chars() {
        match character {
            '%' | '?' | '#' => address.push_str(&format!("%{:02x}", u32::from(character))),
            _ => address.push(character),
        }
    }
    address + "?mode=ro&immutable=1"
}

/// Reading, and functions that only compute.
fn may_read(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::Select | AuthAction::Recursive | AuthAction::Read { .. } => Authorization::Allow,
        AuthAction::Function { function_name } if is_harmless(function_name) => Authorization::Allow,
        _ => Authorization::Deny,
    }
}

/// Making tables in memory and filling them: nothing that names a file or changes how SQLite works.
fn may_build(context: AuthContext<'_>) -> Authorization {
    match context.action {
        AuthAction::CreateTable { .. }
        | AuthAction::CreateTempTable { .. }
        | AuthAction::CreateIndex { .. }
        | AuthAction::CreateTempIndex { .. }
        | AuthAction::CreateView { .. }
        | AuthAction::CreateTempView { .. }
        | AuthAction::CreateTrigger { .. }
        | AuthAction::CreateTempTrigger { .. }
        | AuthAction::DropTable { .. }
        | AuthAction::DropIndex { .. }
        | AuthAction::DropView { .. }
        | AuthAction::DropTrigger { .. }
        | AuthAction::AlterTable { .. }
        | AuthAction::Reindex { .. }
        | AuthAction::Insert { .. }
        | AuthAction::Update { .. }
        | AuthAction::Delete { .. }
        | AuthAction::Transaction { .. }
        | AuthAction::Savepoint { .. } => Authorization::Allow,
        _ => may_read(context),
    }
}

fn is_harmless(function: &str) -> bool {
    !DENIED.iter().any(|denied| function.eq_ignore_ascii_case(denied))
}
