//! What the tests of this crate share: a pool of real workers, shared data, made-up databases.

use std::{
    io::Write,
    path::{Path, PathBuf},
    sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard},
    time::{Duration, Instant},
};

use wb_sql::execute::{DatabaseSource, Execution, Seat, StatementLimits, WorkerCommand, WorkerPool, databases};

/// The command that starts a worker: this crate's own.
pub fn command() -> WorkerCommand {
    WorkerCommand { program: env!("CARGO_BIN_EXE_wb-sql-worker").into(), arguments: Vec::new() }
}

/// A pool whose statements have so many seconds.
pub fn pool(seconds: f64, workers: usize) -> WorkerPool {
    WorkerPool::new(
        command(),
        StatementLimits { timeout: Duration::from_secs_f64(seconds), ..StatementLimits::default() },
        workers,
    )
}

/// The folder of shared data, or a counted skip.
pub fn shared(test: &str) -> Option<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("WB_SHARED").map_or(beside, PathBuf::from);
    if folder.join("data/spider").is_dir() {
        return Some(folder.join("data/spider"));
    }
    skipped(test, &format!("no shared data at {}; set WB_SHARED to its folder", folder.display()));
    None
}

/// Says on standard error that a test did not run; written so that the test harness does not swallow it.
pub fn skipped(test: &str, reason: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {reason}");
}

pub fn lines(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

/// The databases of a Spider id; none where the folder is not there.
pub fn sources(spider: &Path, id: &str) -> Vec<DatabaseSource> {
    let folder = spider.join("database").join(id);
    databases(&folder).map(|all| all.iter().map(|one| one.source()).collect()).unwrap_or_default()
}

static QUIET: RwLock<()> = RwLock::new(());

/// While this is held, no test of this crate that keeps the processor busy runs: for measurements of time.
pub fn alone() -> RwLockWriteGuard<'static, ()> {
    QUIET.write().unwrap_or_else(PoisonError::into_inner)
}

/// Held by tests that keep the processor busy.
pub fn busy() -> RwLockReadGuard<'static, ()> {
    QUIET.read().unwrap_or_else(PoisonError::into_inner)
}

/// What a time-out may be late by.
pub const LATE: Duration = Duration::from_millis(200);

/// Runs a statement that may take so many seconds and returns its end. Where it is late, it has two tries more: whatever
/// else runs on the machine can hold up any process, but not every time.
pub fn in_time(seat: &mut Seat<'_>, source: &DatabaseSource, sql: &str, seconds: f64) -> (Execution, Duration) {
    for attempt in 1.. {
        // A worker that was ended is replaced outside of the measurement.
        seat.execute(source, "select 1", 1).unwrap();
        let begin = Instant::now();
        let execution = seat.execute(source, sql, u64::MAX).unwrap();
        let took = begin.elapsed();
        if took <= Duration::from_secs_f64(seconds) + LATE {
            return (execution, took);
        }
        let shown: String = sql.chars().take(90).collect();
        assert!(attempt < 3, "late for the third time: {took:?} for {shown}");
    }
    unreachable!()
}
