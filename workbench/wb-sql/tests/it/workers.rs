//! Workers that hang, die or are left alone; databases that are made on the spot; several databases per question.

use std::{
    io::Write,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use wb_sql::{
    Compat,
    execute::{
        CellValue, DatabaseSource, ExecutionJudge, JudgeOptions, QueryPair, ResultTable, Statement, StatementLimits,
        StatementOutcome, Status, WorkerCommand, WorkerPool, databases,
    },
};

use crate::support::{alone, command, in_time, pool};

fn script(text: &str) -> DatabaseSource {
    DatabaseSource::Script(text.to_owned())
}

/// A statement of the shell instead of a worker.
fn shell(text: &str, seconds: f64) -> WorkerPool {
    let command = WorkerCommand { program: "/bin/sh".into(), arguments: vec!["-c".into(), text.into()] };
    WorkerPool::new(
        command,
        StatementLimits { timeout: Duration::from_secs_f64(seconds), ..StatementLimits::default() },
        1,
    )
}

#[test]
fn a_worker_that_does_not_start_is_an_error() {
    let error = shell("exit 3", 1.0).seat().execute(&script(""), "select 1", 1).unwrap_err().to_string();
    assert!(error.contains("/bin/sh") && error.contains("ready"), "{error}");
    let nowhere = WorkerCommand { program: "/nowhere/worker".into(), arguments: Vec::new() };
    let error =
        WorkerPool::new(nowhere, StatementLimits::default(), 1).seat().execute(&script(""), "select 1", 1).unwrap_err();
    assert!(error.to_string().contains("/nowhere/worker"), "{error}");
}

/// A worker that is stopped cannot stop itself: the parent ends it, and the next statement has another.
#[test]
fn a_worker_that_hangs_is_ended_and_replaced() {
    let _alone = alone();
    let pool = pool(0.3, 1);
    let mut seat = pool.seat();
    let source = script("create table t(a); insert into t values (1)");
    assert_eq!(seat.execute(&source, "select a from t", 9).unwrap().outcome, StatementOutcome::Done);
    let id = seat.worker_id().unwrap();
    assert!(Command::new("kill").args(["-STOP", &id.to_string()]).status().unwrap().success());
    let begin = Instant::now();
    assert_eq!(seat.execute(&source, "select a from t", 9).unwrap().outcome, StatementOutcome::Timeout);
    let took = begin.elapsed();
    assert!(took >= Duration::from_millis(300) && took <= Duration::from_millis(500), "{took:?}");
    assert_eq!(
        seat.execute(&source, "select a from t", 9).unwrap().table,
        ResultTable::of(vec![vec![CellValue::Int(1)]])
    );
    assert!(!std::path::Path::new(&format!("/proc/{id}")).exists(), "the worker is still there");
    assert_eq!(seat.replaced(), 1);
}

#[test]
fn a_worker_that_dies_costs_one_statement() {
    let pool = pool(5.0, 1);
    let mut seat = pool.seat();
    let source = script("");
    seat.execute(&source, "select 1", 9).unwrap();
    let id = seat.worker_id().unwrap();
    assert!(Command::new("kill").args(["-ABRT", &id.to_string()]).status().unwrap().success());
    let outcome = seat.execute(&source, "select 1", 9).unwrap().outcome;
    assert_eq!(outcome, StatementOutcome::Refused("the worker was ended by signal 6".to_owned()));
    assert_eq!(seat.execute(&source, "select 1", 9).unwrap().outcome, StatementOutcome::Done);
}

/// The parent is gone in the middle of an endless statement: the worker ends long before its time is over.
#[test]
fn a_worker_ends_with_its_parent() {
    let mut child =
        Command::new(command().program).stdin(Stdio::piped()).stdout(Stdio::null()).env_clear().spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut send = |payload: &str| {
        let mut frame = u32::try_from(payload.len()).unwrap().to_le_bytes().to_vec();
        frame.extend(&blake3::hash(payload.as_bytes()).as_bytes()[..8]);
        frame.extend(payload.as_bytes());
        stdin.write_all(&frame).unwrap();
    };
    send(r#"{"memory_bytes":268435456}"#);
    send(
        r#"{"id":1,"source":{"script":""},"sql":"with recursive t(x) as (select 1 union all select x + 1 from t) select count(*) from t","max_rows":9,"enough_cells":9,"max_bytes":9999,"max_cells":9999,"timeout_ms":60000,"discard":false}"#,
    );
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "it should be at work");
    drop(stdin);
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < Duration::from_secs(5), "it goes on alone");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn nothing_but_messages_is_read() {
    let seat = |text: &str| {
        let pool = shell(text, 1.0);
        pool.seat().execute(&script(""), "select 1", 1).map(|execution| execution.outcome)
    };
    assert!(seat("head -c 100 /dev/zero; sleep 1").is_err());
    assert!(seat("echo hello world, this is no message at all; sleep 1").is_err());
}

#[test]
fn time_outs_fire() {
    let _alone = alone();
    let pool = pool(1.0, 1);
    let mut seat = pool.seat();
    let source = script("create table t(a); insert into t values (1),(2),(3),(4),(5),(6),(7),(8),(9),(10)");
    seat.execute(&source, "select 1", 1).unwrap();
    let cross = format!("select count(*) from {}", (0..12).map(|at| format!("t t{at}")).collect::<Vec<_>>().join(", "));
    for sql in [
        "with recursive r(x) as (select 1 union all select x + 1 from r) select count(*) from r",
        &cross,
        "select max(a.a + b.a * c.a - d.a + e.a - f.a + g.a + h.a + i.a) from t a, t b, t c, t d, t e, t f, t g, t h, t i order by 1",
        // One step of SQLite's machine that takes half a minute: it is ended from outside.
        "select instr(printf('%.*c', 900000, 'a'), printf('%.*c', 450000, 'a') || 'b')",
    ] {
        let (execution, took) = in_time(&mut seat, &source, sql, 1.0);
        println!("{took:?} {sql}");
        assert_eq!(execution.outcome, StatementOutcome::Timeout, "{sql}");
        assert!(took >= Duration::from_secs(1), "{took:?} for {sql}");
    }
}

#[test]
fn rows_and_bytes_are_bounded() {
    let limits = StatementLimits { max_rows: 1000, max_bytes: 10_000, ..StatementLimits::default() };
    let pool = WorkerPool::new(command(), limits, 1);
    let mut seat = pool.seat();
    let numbers = |to: u32| {
        format!("with recursive r(x) as (select 1 union all select x + 1 from r where x < {to}) select x from r")
    };
    let some = seat.execute(&script(""), &numbers(500), 100).unwrap();
    assert!(some.truncated && some.table.len() == 100);
    let all = seat.execute(&script(""), &numbers(500), 500).unwrap();
    assert!(!all.truncated && all.table.len() == 500);
    assert!(seat.execute(&script(""), &numbers(1001), u64::MAX).unwrap().truncated);
    let long = seat.execute(&script(""), "select printf('%.*c', 20000, 'x')", 9).unwrap();
    assert_eq!(long.outcome, StatementOutcome::Refused("a result of more than 10000 bytes".to_owned()));
    // A NULL is one byte on its way and many in the parent.
    let limits = StatementLimits { max_cells: 1000, ..StatementLimits::default() };
    let pool = WorkerPool::new(command(), limits, 1);
    let nulls = format!("select {} from ({})", vec!["null"; 100].join(", "), numbers(11));
    let outcome = pool.seat().execute(&script(""), &nulls, u64::MAX).unwrap().outcome;
    assert_eq!(outcome, StatementOutcome::Refused("a result of more than 1000 values".to_owned()));
    assert_eq!(pool.seat().execute(&script(""), &nulls, 10).unwrap().table.cells.len(), 1000);
    let source = script("");
    let some = Statement { source: &source, sql: &nulls, max_rows: u64::MAX, enough_cells: 301 };
    let some = pool.seat().execute_all(&[some]).unwrap().remove(0);
    assert!(some.truncated && some.table.len() == 4, "{some:?}");
    assert_eq!(pool.seat().time(&script(""), &nulls).unwrap().outcome, StatementOutcome::Done, "no values are sent");
    // Larger than a chunk, in several messages.
    let pool = self::pool(20.0, 1);
    let big = pool.seat().execute(&script(""), &numbers(300_000), u64::MAX).unwrap();
    assert_eq!(big.table.cells.last(), Some(&CellValue::Int(300_000)));
}

#[test]
fn fresh_databases_are_made_by_their_script_and_only_read_by_the_query() {
    let pool = pool(2.0, 1);
    let mut seat = pool.seat();
    let source = script(
        "CREATE TABLE a (id INT, name VARCHAR(20), b_id INT REFERENCES b(id)); INSERT INTO a VALUES (1, 'x', 7), (2, NULL, 8); CREATE VIEW w AS SELECT id FROM a;",
    );
    let execution = seat.execute(&source, "SELECT name, id FROM a JOIN w USING (id) ORDER BY id", 9).unwrap();
    let rows = vec![vec![CellValue::Text("x".into()), CellValue::Int(1)], vec![CellValue::Null, CellValue::Int(2)]];
    assert_eq!((execution.outcome, execution.table), (StatementOutcome::Done, ResultTable::of(rows)));
    let outcome = seat.execute(&source, "DELETE FROM a", 9).unwrap().outcome;
    assert!(matches!(outcome, StatementOutcome::Refused(_)), "{outcome:?}");
    for bad in [
        "CREATE TABLE a (id INT); INSERT INTO nowhere VALUES (1)",
        "ATTACH 'x.db' AS x",
        "VACUUM INTO 'x.db'",
        "PRAGMA hard_heap_limit = 0",
        "CREATE TABLE a (x); INSERT INTO a WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x FROM r",
    ] {
        let outcome = seat.execute(&script(bad), "SELECT 1", 9).unwrap().outcome;
        assert!(matches!(outcome, StatementOutcome::SetupFailed(_)), "{outcome:?} for {bad}");
    }
    // A transaction that is left open is closed; what one script made is not in another's database.
    let open =
        seat.execute(&script("BEGIN; CREATE TABLE z (x); INSERT INTO z VALUES (5);"), "SELECT x FROM z", 9).unwrap();
    assert_eq!(open.table, ResultTable::of(vec![vec![CellValue::Int(5)]]));
    assert!(matches!(seat.execute(&script(""), "SELECT x FROM z", 9).unwrap().outcome, StatementOutcome::SqlError(_)));
}

/// Longer than a statement may be, and up to the bound of scripts.
#[test]
fn long_scripts_make_databases_up_to_their_bound() {
    let pool = pool(20.0, 1);
    let mut seat = pool.seat();
    let rows = |count: usize, text: &str| format!("insert into t values ('{text}');\n").repeat(count);
    let long = script(&format!("create table t(a); {}", rows(50_000, "a text; of some letters -- and more")));
    let DatabaseSource::Script(text) = &long else { unreachable!() };
    assert!(text.len() > 2_900_000);
    let count = |seat: &mut wb_sql::execute::Seat<'_>, source: &DatabaseSource| {
        let execution = seat.execute(source, "select count(*) from t", 9).unwrap();
        (execution.outcome, execution.table.cells.first().cloned())
    };
    assert_eq!(count(&mut seat, &long), (StatementOutcome::Done, Some(CellValue::Int(50_000))));
    // One statement of more than a megabyte.
    let one = format!("create table t(a); insert into t values {}", vec!["('some text')"; 100_000].join(", "));
    assert_eq!(count(&mut seat, &script(&one)), (StatementOutcome::Done, Some(CellValue::Int(100_000))));
    let (outcome, _) = count(&mut seat, &script(&" ".repeat((8 << 20) + 1)));
    assert!(matches!(&outcome, StatementOutcome::Refused(what) if what.contains("8388608")), "{outcome:?}");
    // Twice as long on its way.
    let (outcome, _) = count(&mut seat, &script(&"\n".repeat(8 << 20)));
    assert!(matches!(&outcome, StatementOutcome::Refused(what) if what.contains("as they are sent")), "{outcome:?}");
    // The query itself has the bound of all queries.
    let query = format!("select '{}' from t", "x".repeat(999_990));
    let outcome = seat.execute(&long, &query, 9).unwrap().outcome;
    assert!(matches!(outcome, StatementOutcome::Refused(_)), "{outcome:?}");
    assert_eq!(seat.replaced(), 0);
}

#[test]
fn values_arrive_with_their_types() {
    let pool = pool(2.0, 1);
    let sql = "SELECT NULL, 1, 1.0, 9e999, CAST(x'61ff62' AS TEXT), x'61ff62', 'a' || char(0) || 'b', sqrt(16), ceil(3), log(2, 8)";
    let row = pool.seat().execute(&script(""), sql, 9).unwrap();
    let expected = vec![
        CellValue::Null,
        CellValue::Int(1),
        CellValue::Real(1.0),
        CellValue::Real(f64::INFINITY),
        CellValue::Text("ab".into()),
        CellValue::Blob(b"a\xffb".to_vec()),
        CellValue::Text("a\0b".into()),
        CellValue::Real(4.0),
        CellValue::Int(3),
        CellValue::Real(8.0_f64.ln() / 2.0_f64.ln()),
    ];
    assert_eq!(row.table, ResultTable::of(vec![expected]));
}

fn statuses(
    options: JudgeOptions,
    cases: &[(&str, &str)],
    sources: &[DatabaseSource],
) -> Vec<(Option<Status>, Option<String>)> {
    let question = |(gold, prediction): &(&str, &str)| QueryPair {
        gold: (*gold).to_owned(),
        prediction: (*prediction).to_owned(),
        sources: sources.to_vec(),
    };
    let questions: Vec<QueryPair> = cases.iter().map(question).collect();
    let mut count = 0;
    let judgements =
        ExecutionJudge::new(pool(0.5, 2), options).judge(&questions, &mut |done| count = count.max(done)).unwrap();
    assert_eq!(count, cases.len());
    judgements.into_iter().map(|judgement| (judgement.status, judgement.message)).collect()
}

#[test]
fn every_status_is_told_apart() {
    let endless = "with recursive r(x) as (select 1 union all select x + 1 from r) select count(*) from r";
    let cases = [
        ("select a from t", "SELECT a FROM t WHERE 1"),
        ("select a from t", "select b from t"),
        ("select a from t", "select c from t"),
        ("select a from t", endless),
        ("select a from t", "delete from t"),
        ("select c from t", "select a from t"),
        ("select a from t", " "),
    ];
    let found =
        statuses(JudgeOptions::default(), &cases, &[script("create table t(a, b); insert into t values (1, 2)")]);
    let only: Vec<Option<Status>> = found.iter().map(|(status, _)| *status).collect();
    let expected = [Status::Correct, Status::Wrong, Status::SqlError, Status::Timeout, Status::Refused].map(Some);
    assert_eq!(only[..5], expected);
    assert_eq!(found[2].1.as_deref(), Some("no such column: c"));
    assert_eq!(found[5], (None, Some("gold: no such column: c".to_owned())));
    assert_eq!(found[6].0, Some(Status::SqlError));
}

/// Whose fault it is that there is nothing to run.
#[test]
fn texts_without_a_statement_are_nobodys_result() {
    let none = "select a from t where a > 9";
    let cases =
        [(none, ""), (none, " \t"), (none, ";"), (none, "-- I do not know"), ("", none), ("-- ?", none), ("", "")];
    let sources = [script("create table t(a); insert into t values (1)")];
    let gold = (None, Some("gold: there is no statement".to_owned()));
    let prediction = (Some(Status::SqlError), Some("there is no statement".to_owned()));
    for (compat, keep_distinct) in [(Compat::Official, false), (Compat::Official, true), (Compat::Strict, true)] {
        let found = statuses(JudgeOptions { compat, keep_distinct, plug_value: false }, &cases, &sources);
        assert_eq!(found[..2], [prediction.clone(), prediction.clone()], "{compat:?} {keep_distinct}");
        assert_eq!(found[4..], [gold.clone(), gold.clone(), gold.clone()], "{compat:?} {keep_distinct}");
        // What the evaluator really finds equal: a statement of nothing beside no rows.
        let right = compat == Compat::Official;
        assert!(found[2..4].iter().all(|(status, _)| (*status == Some(Status::Correct)) == right), "{found:?}");
    }
}

#[test]
fn strict_mends_what_official_keeps() {
    let sources = [script("create table t(a, b, c); insert into t values (1, 2, 1.5), (1, 2, 1.5), (3, 1, 0.5)")];
    let cases = [
        // DISTINCT.
        ("select distinct a from t", "select a from t", true, false),
        // The quick reject of mixed numbers.
        ("select a, c from t", "select a * 1.0, c from t", false, true),
        // The order of a nested query.
        ("select a from (select a from t order by b) order  by a", "select a from t order by a desc", false, false),
        ("select b from t where a in (select a from t order by a)", "select b from t order by b", false, true),
        // Two spaces hide the order from the evaluator.
        ("select a from t order  by a", "select a from t order by a desc", true, false),
        // The first of several statements.
        ("select a from t", "select a from t; select b from t", true, false),
        // No statement at all.
        ("select a from t where a > 9", "-- I do not know", true, false),
    ];
    for (compat, right) in [(Compat::Official, 2), (Compat::Strict, 3)] {
        let pairs: Vec<(&str, &str)> = cases.iter().map(|(gold, prediction, ..)| (*gold, *prediction)).collect();
        let found = statuses(JudgeOptions { compat, ..JudgeOptions::default() }, &pairs, &sources);
        for (case, (status, message)) in cases.iter().zip(found) {
            let expected = if right == 2 { case.2 } else { case.3 };
            assert_eq!(status == Some(Status::Correct), expected, "{compat:?} {case:?} {message:?}");
        }
    }
}

#[test]
fn values_are_plugged_and_distinct_is_kept_on_demand() {
    let sources = [script("create table t(a, b); insert into t values (1, 'x'), (2, 'y'), (2, 'z')")];
    let plugged = [("select a from t where b = 'y'", "select a from t where b = 'value'")];
    let status = |options, cases: &[(&str, &str)]| statuses(options, cases, &sources)[0].0;
    let plain = JudgeOptions::default();
    assert_eq!(status(plain, &plugged), Some(Status::Wrong));
    assert_eq!(status(JudgeOptions { plug_value: true, ..plain }, &plugged), Some(Status::Correct));
    let distinct = [("select distinct a from t", "select a from t")];
    assert_eq!(status(plain, &distinct), Some(Status::Correct));
    assert_eq!(status(JudgeOptions { keep_distinct: true, ..plain }, &distinct), Some(Status::Wrong));
}

/// A folder with several databases: a prediction must be right on all of them.
#[test]
fn all_databases_of_a_folder_must_agree() {
    let folder = tempfile::tempdir().unwrap();
    for (name, row) in [("a.sqlite", "(1, 1)"), ("b.sqlite.2", "(1, 2)"), ("ignored.db", "(9, 9)")] {
        let connection = rusqlite::Connection::open(folder.path().join(name)).unwrap();
        connection.execute_batch(&format!("create table t(a, b); insert into t values {row}")).unwrap();
    }
    let found = databases(folder.path()).unwrap();
    assert_eq!(found.len(), 2);
    let bytes = std::fs::read(folder.path().join("a.sqlite")).unwrap();
    assert_eq!(found[0].blake3.as_str(), blake3::hash(&bytes).to_hex().as_str());
    let cases = [("select a from t", "select b from t"), ("select a from t", "select a from t where b > 0")];
    let first: Vec<DatabaseSource> = found[..1].iter().map(|one| one.source()).collect();
    let all: Vec<DatabaseSource> = found.iter().map(|one| one.source()).collect();
    let right = |sources: &[DatabaseSource]| -> Vec<bool> {
        let found = statuses(JudgeOptions::default(), &cases, sources);
        found.iter().map(|(status, _)| *status == Some(Status::Correct)).collect()
    };
    assert_eq!(right(&first), [true, true]);
    assert_eq!(right(&all), [false, true]);
    let empty = tempfile::tempdir().unwrap();
    assert!(databases(empty.path()).unwrap_err().to_string().contains(".sqlite"));
}

/// A log beside a database has rows that the database itself lacks, and is no database.
#[test]
fn databases_that_were_not_closed_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.sqlite");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("pragma journal_mode=wal; create table t(a); insert into t values (1)").unwrap();
    let error = wb_core::Error::from(databases(folder.path()).unwrap_err());
    for said in ["shop.sqlite: its latest changes", "shop.sqlite-wal"] {
        assert!(error.to_string().contains(said), "{error}");
    }
    assert!(error.hint().unwrap().ends_with("shop.sqlite' 'PRAGMA wal_checkpoint(TRUNCATE)'"), "{error:?}");
    connection.execute_batch("pragma wal_checkpoint(truncate)").unwrap();
    let found = databases(folder.path()).unwrap();
    assert_eq!(found.len(), 1, "-wal and -shm are no databases: {found:?}");
    let source = found[0].source();
    assert_eq!(pool(2.0, 1).seat().execute(&source, "select a from t", 9).unwrap().table.len(), 1);
    drop(connection);
    // A journal of zeros is done with; any other one has to be taken back.
    std::fs::write(folder.path().join("shop.sqlite-journal"), [0; 512]).unwrap();
    assert_eq!(databases(folder.path()).unwrap().len(), 1);
    std::fs::write(folder.path().join("shop.sqlite-journal"), [0xd9; 512]).unwrap();
    assert!(databases(folder.path()).unwrap_err().to_string().contains("shop.sqlite-journal"));
}

/// A verdict does not depend on the day.
#[test]
fn strict_knows_one_day() {
    let sources = [script("create table t(a); insert into t values ('2020-01-01'), ('2024-02-29')")];
    let cases = [("select a from t where a = '2020-01-01'", "select a from t where a = date('now')")];
    let strict = JudgeOptions { compat: Compat::Strict, ..JudgeOptions::default() };
    assert_eq!(statuses(strict, &cases, &sources)[0].0, Some(Status::Correct));
    assert_eq!(statuses(JudgeOptions::default(), &cases, &sources)[0].0, Some(Status::Wrong));
}

/// What the system says of a running worker.
#[test]
fn workers_have_given_up_what_they_do_not_need() {
    let pool = pool(2.0, 1);
    let mut seat = pool.seat();
    seat.execute(&script(""), "select 1", 1).unwrap();
    let read = |name: &str| std::fs::read_to_string(format!("/proc/{}/{name}", seat.worker_id().unwrap())).unwrap();
    let limits = read("limits");
    let limit = |name: &str| -> Vec<String> {
        let line = limits.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.split_whitespace().take(2).map(str::to_owned).collect()
    };
    assert_eq!(limit("Max core file size"), ["0", "0"]);
    assert_eq!(limit("Max file size"), ["0", "0"]);
    assert_eq!(limit("Max open files"), ["64", "64"]);
    let space: u64 = limit("Max address space")[1].parse().unwrap();
    assert!((256 << 20..600 << 20).contains(&space), "{space}");
    let seconds: u64 = limit("Max cpu time")[0].parse().unwrap();
    assert!((4..=6).contains(&seconds), "{seconds} s of the processor");
    assert_eq!(read("environ"), "");
    assert_eq!(std::fs::read_link(format!("/proc/{}/cwd", seat.worker_id().unwrap())).unwrap().to_str(), Some("/"));
}

#[test]
fn without_a_database_there_is_no_verdict() {
    let found = statuses(JudgeOptions::default(), &[("select 1", "select 1")], &[]);
    assert_eq!(found, [(None, Some("no database".to_owned()))]);
    // A file that is no database, and one that is not there, are the fault of neither query.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.sqlite");
    std::fs::write(&path, "this is no database, but it is long enough to have a header that could be one. ".repeat(20))
        .unwrap();
    for path in [path.clone(), path.with_extension("gone.sqlite")] {
        let source = DatabaseSource::File(path.to_str().unwrap().to_owned());
        let found = statuses(JudgeOptions::default(), &[("select a from t", "select a from t ")], &[source]);
        assert!(found[0].0.is_none() && found[0].1.is_some(), "{found:?}");
        println!("{:?}", found[0].1);
    }
    assert!(!folder.path().join("x.gone.sqlite").exists());
}

/// Verdicts come in the order of the questions and are the same with any number of workers.
#[test]
fn verdicts_do_not_depend_on_the_number_of_workers() {
    let sources = vec![script("create table t(a, b); insert into t values (1, 2), (3, 4), (5, 4)")];
    let questions: Vec<QueryPair> = (0..200)
        .map(|at| QueryPair {
            gold: format!("select a from t where b = {} order by a", at % 5),
            prediction: format!("select a from t where b >= {} order by a desc limit {}", at % 4, at % 3),
            sources: sources.clone(),
        })
        .collect();
    let judge = |workers| {
        ExecutionJudge::new(pool(5.0, workers), JudgeOptions::default()).judge(&questions, &mut |_| {}).unwrap()
    };
    let one = judge(1);
    assert!(one.iter().any(|judgement| judgement.status == Some(Status::Correct)));
    assert!(one.iter().any(|judgement| judgement.status == Some(Status::Wrong)));
    assert_eq!(judge(4), one);
}

/// What ends a worker costs itself alone, also among statements that were handed over together.
#[test]
fn statements_that_are_handed_over_together_have_their_own_time() {
    let _alone = alone();
    let pool = pool(0.3, 1);
    let mut seat = pool.seat();
    let source = script("create table t(a); insert into t values (1), (2)");
    let stuck = "select instr(printf('%.*c', 900000, 'a'), printf('%.*c', 450000, 'a') || 'b')";
    let endless = "with recursive r(x) as (select 1 union all select x + 1 from r) select count(*) from r";
    let long = format!("select '{}'", "x".repeat(1_100_000));
    let wide = format!("select length('{}')", "x".repeat(40_000));
    let texts = [
        "select a from t",
        stuck,
        "select a from t limit 1",
        endless,
        &long,
        &wide,
        "select b from t",
        "select a from t",
    ];
    let statements: Vec<Statement<'_>> =
        texts.iter().map(|&sql| Statement { source: &source, sql, max_rows: 9, enough_cells: u64::MAX }).collect();
    let all = seat.execute_all(&statements).unwrap();
    let rows: Vec<usize> = all.iter().map(|execution| execution.table.len()).collect();
    assert_eq!(rows, [2, 0, 1, 0, 0, 1, 0, 2]);
    assert_eq!((&all[1].outcome, &all[3].outcome), (&StatementOutcome::Timeout, &StatementOutcome::Timeout));
    assert!(
        matches!(all[4].outcome, StatementOutcome::Refused(_))
            && matches!(all[6].outcome, StatementOutcome::SqlError(_))
    );
    assert_eq!(seat.replaced(), 1);
}

/// Results longer than what is asked for ahead.
#[test]
fn long_results_are_compared_to_their_end() {
    let sources = [script(
        "create table n(i); insert into n with recursive r(i) as (select 1 union all select i + 1 from r where i < 30000) select i from r",
    )];
    let cases = [
        ("select i from n", "select i from n order by i desc"),
        ("select i from n", "select i from n where i < 30000"),
        ("select i from n", "select i from n union all select 1"),
        ("select i from n where i < 9", "select i from n"),
        ("select i from n order by i", "select i from n order by i desc"),
    ];
    let found: Vec<bool> = statuses(JudgeOptions::default(), &cases, &sources)
        .into_iter()
        .map(|(status, _)| status == Some(Status::Correct))
        .collect();
    assert_eq!(found, [true, false, false, false, false]);
}

/// More than is held for later: what was dropped is run again.
#[test]
fn results_that_find_no_room_are_run_again() {
    let source = script(
        "create table n(i); insert into n with recursive r(i) as (select 1 union all select i + 1 from r where i < 250000) select i from r",
    );
    // Each has 750,000 values, of 18 MB; all are asked for together.
    let column = |at: usize| format!("i, i + {at}, i * 2");
    let gold = |at: usize| format!("select {} from n", column(at));
    let question =
        |at: usize, prediction: String| QueryPair { gold: gold(at), prediction, sources: vec![source.clone()] };
    let questions = [
        question(1, format!("{} order by i desc", gold(1))),
        question(2, gold(3)),
        question(3, format!("{} order by i desc", gold(3))),
        question(4, format!("{} where i > 1 union all select 1, 5, 3", gold(4))),
        question(1, format!("{} where i > 0", gold(1))),
    ];
    let judge = ExecutionJudge::new(pool(20.0, 1), JudgeOptions::default());
    let right = |judgement: wb_sql::execute::Judgement| judgement.correct().unwrap();
    let found: Vec<bool> = judge.judge(&questions, &mut |_| {}).unwrap().into_iter().map(right).collect();
    assert_eq!(found, [true, false, true, false, true]);
}
