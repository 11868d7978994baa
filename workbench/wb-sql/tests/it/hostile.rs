//! Statements that mean harm: refused or cut in time, with nothing changed and nobody hurt.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rusqlite::Connection;
use wb_core::fingerprint::Fingerprint;
use wb_sql::execute::{Database, DatabaseSource, Seat, StatementOutcome};

use crate::support::{LATE, alone, in_time, pool};

/// How a statement may end.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    /// It runs: there is no harm in it.
    Runs,
    /// SQLite cannot run it.
    Error,
    /// It is not let through.
    Refused,
    /// It is cut.
    Cut,
    /// Either of the last two, or it has more rows than may be.
    Stopped,
}

fn long_list() -> String {
    format!("select * from singer where id in ({})", vec!["1"; 60_000].join(","))
}

/// A hundred long texts side by side.
fn wide() -> String {
    format!("select {}", vec!["printf('%.*c', 900000, 'x')"; 100].join(", "))
}

fn deep() -> String {
    format!("select {}1{}", "(".repeat(5000), ")".repeat(5000))
}

fn statements() -> Vec<(String, End)> {
    use End::{Cut, Error, Refused, Runs, Stopped};
    let mut all: Vec<(String, End)> = [
        ("select count(*) from singer", Runs),
        ("select s.name, count(*) over () from singer s join v on s.id=v.id order by 1", Runs),
        ("select sum(x) from (with recursive t(x) as (select 1 union all select x+1 from t where x<10) select x from t)", Runs),
        ("DROP TABLE singer", Refused),
        ("DELETE FROM singer", Refused),
        ("INSERT INTO singer VALUES(3,'c')", Refused),
        ("UPDATE singer SET name = 'x'", Refused),
        ("CREATE TABLE x(y)", Refused),
        ("CREATE TEMP TABLE x(y)", Refused),
        ("CREATE VIRTUAL TABLE x USING fts5(y)", Refused),
        ("ATTACH 'pwn.db' AS p", Refused),
        ("VACUUM INTO 'stolen.db'", Refused),
        ("VACUUM", Refused),
        ("PRAGMA journal_mode=WAL", Refused),
        ("PRAGMA table_info(singer)", Refused),
        ("PRAGMA hard_heap_limit=0", Refused),
        ("PRAGMA writable_schema=ON", Refused),
        ("select * from pragma_table_info('singer')", Refused),
        ("select name from sqlite_master", Runs),
        ("WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM t) SELECT count(*) FROM t", Cut),
        ("WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM t) SELECT x FROM t", Stopped),
        ("WITH RECURSIVE t(x) AS (SELECT 1 UNION SELECT x+1 FROM t) SELECT max(x) FROM t", Stopped),
        ("select randomblob(1000000000)", Refused),
        ("select random()", Refused),
        ("select hex(zeroblob(1000000000))", Refused),
        ("select printf('%.*c', 100000000, 'x')", Refused),
        ("select printf('%.*c', 900000, 'x')", Runs),
        ("WITH RECURSIVE t(x) AS (SELECT 'a' UNION ALL SELECT x||x FROM t) SELECT length(x) FROM t", Refused),
        ("select group_concat(a.name) from singer a, singer b, singer c, (with recursive t(x) as (select 1 union all select x+1 from t where x<100000) select x from t)", Stopped),
        ("select load_extension('/lib/x86_64-linux-gnu/libc.so.6')", Refused),
        ("select writefile('w','x')", Error),
        ("select readfile('/etc/passwd')", Error),
        ("select 1; DROP TABLE singer", Refused),
        ("BEGIN IMMEDIATE", Refused),
        ("SAVEPOINT a", Refused),
        ("select like('%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%a%ab', printf('%.*c',90000,'a'))", Stopped),
        ("select like('%a%a%a%a%a%a%a%a%a%a%b', printf('%.*c',90000,'a'))", Runs),
        ("select instr(printf('%.*c', 900000, 'a'), printf('%.*c', 450000, 'a') || 'b')", Cut),
        ("select * from (select 1 union select 2 union select 3 union select 4 union select 5 union select 6 union select 7 union select 8 union select 9 union select 10 union select 11 union select 12)", Runs),
        ("select count(*) from json_each(printf('[%s]', printf('%.*c',300000,'1')))", Runs),
        ("SELECT count(*) FROM singer a,singer b,singer c,singer d,singer e,singer f,singer g,singer h,singer i,singer j,singer k,singer l,singer m,singer n,singer o,singer p,singer q,singer r,singer s,singer t,singer u,singer v,singer w,singer x,singer y,singer z", Stopped),
        ("select a.name || b.name from singer a, singer b order by printf('%.*c', 900000, a.name)", Runs),
        ("with recursive t(x, y) as (select 1, printf('%.*c', 500000, 'x') union all select x+1, y from t where x < 10000) select y from t order by x desc", Stopped),
        ("", Runs),
        ("garbage", Error),
    ]
    .into_iter()
    .map(|(sql, end)| (sql.to_owned(), end))
    .collect();
    // A program of more steps than SQLite may make of a statement counts as one that needs too much memory.
    all.extend([(long_list(), Refused), (wide(), Refused), (deep(), Error)]);
    all
}

/// A small database in a folder of its own.
struct Field {
    folder: tempfile::TempDir,
    database: PathBuf,
}

impl Field {
    fn new() -> Field {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("d # 100% ?.sqlite");
        let connection = Connection::open(&database).unwrap();
        let script = "create table singer(id integer primary key,name text); insert into singer values(1,'a'),(2,'b');
                      create view v as select * from singer;";
        connection.execute_batch(script).unwrap();
        Field { folder, database }
    }

    fn source(&self) -> DatabaseSource {
        Database::open(&self.database).unwrap().source()
    }

    /// The database's hash, and all files beside it.
    fn state(&self) -> (Fingerprint, Vec<String>) {
        (Database::open(&self.database).unwrap().blake3, names(self.folder.path()))
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut all: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    all.sort();
    all
}

/// The most memory that the seat's worker ever had, in MiB.
fn peak(seat: &Seat<'_>) -> u64 {
    let status = |id| fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    let text = seat.worker_id().map(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

const TIMEOUT: f64 = 0.5;

#[test]
fn hostile_statements_do_no_harm() {
    let _alone = alone();
    let field = Field::new();
    let (before, here) = (field.state(), names(Path::new(".")));
    let pool = pool(TIMEOUT, 1);
    let mut seat = pool.seat();
    seat.execute(&field.source(), "select 1", 1).unwrap();
    let mut most = 0;
    for (sql, end) in statements() {
        let (execution, took) = in_time(&mut seat, &field.source(), &sql, TIMEOUT);
        let shown: String = sql.chars().take(90).collect();
        println!("{took:>9.1?} {:?} {} {shown}", execution.outcome, execution.table.len());
        let as_meant = match &execution.outcome {
            // The bound of rows stops a statement, too.
            StatementOutcome::Done => end == if execution.truncated { End::Stopped } else { End::Runs },
            StatementOutcome::SqlError(_) => end == End::Error,
            StatementOutcome::Refused(_) => end == End::Refused || end == End::Stopped,
            StatementOutcome::Timeout => end == End::Cut || end == End::Stopped,
            StatementOutcome::SetupFailed(_) => false,
        };
        assert!(as_meant, "{end:?} expected, {:?} for {shown}", execution.outcome);
        most = most.max(peak(&seat));
    }
    println!("peak {most} MiB, {} workers replaced", seat.replaced());
    assert!(most <= 128, "{most} MiB");
    assert_eq!(field.state(), before);
    assert_eq!(names(Path::new(".")), here);
}

/// Numbers that look random and are the same every time.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        usize::try_from((mixed ^ (mixed >> 27)) >> 33).unwrap() % end
    }
}

/// A statement changed, joined with another, or hidden in something harmless.
fn variant(draw: &mut Draw, all: &[(String, End)]) -> String {
    let mut sql = all[draw.below(all.len())].0.clone();
    for _ in 0..=draw.below(3) {
        let other = all[draw.below(all.len())].0.clone();
        sql = match draw.below(12) {
            0 => sql.chars().map(|one| if draw.below(2) == 0 { one.to_ascii_uppercase() } else { one }).collect(),
            1 => sql.replacen(' ', "/* ; */\n", 1 + draw.below(3)),
            2 => format!("select 1; {sql}"),
            3 => format!("{sql}; {other}"),
            4 => format!("select * from ({sql}) x, ({other}) y"),
            5 => format!("with z as ({sql}) {other}"),
            6 => format!("explain {sql}"),
            7 => format!("{sql} union all {other}"),
            8 => format!("-- {other}\n{sql}"),
            9 => format!("with recursive r(n) as (select 1 union all select n + 1 from r) select n, ({sql}) from r"),
            10 => {
                let words: Vec<&str> = sql.split(' ').collect();
                let gone = draw.below(words.len());
                words
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| *at != gone)
                    .map(|(_, word)| *word)
                    .collect::<Vec<_>>()
                    .join(" ")
            }
            _ => {
                let mut bytes = sql.into_bytes();
                if !bytes.is_empty() {
                    let at = draw.below(bytes.len());
                    bytes[at] = b"'\"();,*x0\n`["[draw.below(12)];
                }
                String::from_utf8_lossy(&bytes).into_owned()
            }
        };
        sql.truncate(sql.floor_char_boundary(200_000));
    }
    sql
}

#[test]
fn variants_of_hostile_statements_do_no_harm() {
    let _alone = alone();
    let field = Field::new();
    let (before, here) = (field.state(), names(Path::new(".")));
    let all = statements();
    let mut draw = Draw(7);
    let variants: Vec<String> = (0..600).map(|_| variant(&mut draw, &all)).collect();
    let source = field.source();
    let timeout = 0.15;
    let pool = pool(timeout, 2);
    let work = |seat: &mut Seat<'_>, (): &mut (), sql: &String| {
        let begin = Instant::now();
        let execution = seat.execute(&source, sql, u64::MAX)?;
        // The time to start a worker is no time of the statement.
        let took = if seat.replaced() > 0 && execution.outcome != StatementOutcome::Timeout {
            execution.elapsed
        } else {
            begin.elapsed()
        };
        Ok((execution, took, peak(seat)))
    };
    let ends = pool.each(&variants, work, &mut |_| {}).unwrap();
    let (mut counts, mut latest, mut most) = ([0; 5], Duration::ZERO, 0);
    for (sql, (execution, took, peak)) in variants.iter().zip(&ends) {
        let which = match execution.outcome {
            StatementOutcome::Done => 0,
            StatementOutcome::SqlError(_) => 1,
            StatementOutcome::Refused(_) => 2,
            StatementOutcome::Timeout => 3,
            StatementOutcome::SetupFailed(_) => 4,
        };
        counts[which] += 1;
        if let StatementOutcome::Refused(what) = &execution.outcome {
            assert!(!what.contains("worker"), "{what}: {sql}");
        }
        latest = latest.max(*took);
        most = most.max(*peak);
    }
    println!("done, error, refused, timeout, setup: {counts:?}; latest {latest:?}; peak {most} MiB");
    for (sql, _) in
        variants.iter().zip(&ends).filter(|(_, (_, took, _))| *took > Duration::from_secs_f64(timeout) + LATE)
    {
        in_time(&mut pool.seat(), &source, sql, timeout);
    }
    assert!(most <= 128, "{most} MiB");
    assert!(counts[1] > 50 && counts[2] > 50 && counts[3] > 10 && counts[4] == 0, "{counts:?}");
    assert_eq!(field.state(), before);
    assert_eq!(names(Path::new(".")), here);
}
