//! Every mistake that one can make around predicted SQL has a sentence, and leaves nothing behind.

use std::fs;

use super::made_up::{SPIDER, cases, dev, project, write};

#[test]
fn what_is_missing_is_named() {
    let sandbox = project();
    let spider = |more: &[&str], said: &[&str]| {
        sandbox.refuses_with(&[&["bench", "spider"], more].concat(), said);
    };
    let ways = ["wb bench spider --predictions FILE", "wb text2sql configs/spider-rag.yaml makes them"];
    let both = [&["spider: predicted SQL expected"][..], &ways].concat();
    spider(&[], &[&both[..], &["its data is not there either: wb data get spider"]].concat());
    spider(&["--dataset", "data"], &both);
    sandbox.refuses_with(&["bench", "bird", "--dataset", "data"], &["hint: wb bench bird --predictions FILE"]);
    let predicted = ["--predictions", "predicted.sql"];
    spider(
        &predicted,
        &["datasets/external/spider: no data of spider is there", "wb data get spider", "--dataset names another"],
    );
    spider(&[&["--dataset", "dta"], &predicted[..]].concat(), &["dta: there is no such folder", "dev.json"]);
    spider(&[&["--dataset", "predicted.sql"], &predicted[..]].concat(), &["predicted.sql: not a folder"]);
    spider(
        &["--dataset", "data", "--predictions", "none.sql"],
        &["none.sql: there is no such file", "one query a line"],
    );
    let all = ["--dataset", "data", "--predictions", "predicted.sql"];
    spider(
        &[&all[..], &["--questions", "none.json"]].concat(),
        &["none.json: there is no such file", "hint: --dataset DIR has dev.json"],
    );
    spider(&[&all[..], &["--databases", "none"]].concat(), &["none: there is no such folder"]);
    fs::remove_file(sandbox.path("data/dev.json")).unwrap();
    spider(&all, &["data/dev.json: there is no such file"]);
    fs::remove_file(sandbox.path("data/tables.json")).unwrap();
    spider(&all, &["data/tables.json: there is no such file", "schemas of its databases"]);
}

#[test]
fn files_that_cannot_be_read_are_named_with_their_lines() {
    let sandbox = project();
    let questions = |text: &str, said: &[&str]| {
        sandbox.write("data/broken.json", text);
        sandbox.refuses_with(&[&SPIDER[..], &["--questions", "broken.json"]].concat(), said);
    };
    questions("[]", &["broken.json: there are no questions"]);
    questions("[\n{\"db_id\": \"shop\",\n \"query\": 5}]", &["broken.json:3:", "expected a string"]);
    questions("[\n{\"query\": \"SELECT 1\"}]", &["broken.json:2:", "missing field `db_id`"]);
    questions("[{\"db_id\": \"shop\", \"query\": \"SELECT 1\"}", &["broken.json:1:", "the array is not closed"]);
    questions("[{\"db_id\": \"shop\"}]", &["broken.json:1: a question without a gold query", "broken_gold.sql"]);
    questions(
        &dev(&[("shop", "SELECT name FROM item"), ("shpo", "SELECT 1")]),
        &["broken.json:3: ", "has no database `shpo`", "did you mean `shop`?"],
    );
    let predictions = |bytes: &[u8], said: &[&str]| {
        sandbox.write("broken.sql", bytes);
        sandbox.refuses_with(&["bench", "spider", "--dataset", "data", "--predictions", "broken.sql"], said);
    };
    sandbox.write("data/broken_gold.sql", "SELECT name FROM item\tshop\n\nSELECT name FROM item\tshop\n");
    let unasked = "[\n{\"db_id\": \"shop\"},\n{\"db_id\": \"farm\"}\n]";
    questions(
        unasked,
        &[
            "data/broken_gold.sql:3: the database is `shop`, but data/broken.json:3 asks `farm`",
            "hint: gold queries stand in the order of data/broken.json",
        ],
    );
    questions("[{\"db_id\": \"shop\"}]", &["broken_gold.sql: 2 gold queries, but data/broken.json has 1 questions"]);
    predictions(b"SELECT 1\n", &["broken.sql: 1 lines, but data/dev.json has 11 questions", "--questions"]);
    predictions(b"SELECT 1\nSELECT '\xff'\n", &["broken.sql:2: not UTF-8"]);
    let mut lines: Vec<String> = cases().iter().map(|case| format!("{}\t{}\n", case.predicted, case.db_id)).collect();
    lines[1] = "SELECT 1\tfarm\n".into();
    predictions(
        lines.concat().as_bytes(),
        &[
            "broken.sql:2: the database is `farm`, but question 2 of data/dev.json asks `shop`",
            "in the order of the questions",
        ],
    );
    lines[1] = "SELECT 1\tshpo\n".into();
    predictions(lines.concat().as_bytes(), &["broken.sql:2: the database is `shpo`", "did you mean `shop`?"]);
    sandbox.write("data/tables.json", "[{\"db_id\": \"shop\"}]");
    predictions(b"", &["data/tables.json: expected a list of schemas", "missing field"]);
    sandbox.write("data/gold.sql", "SELECT 1\tshop\nSELECT 1\n");
    fs::remove_dir_all(sandbox.path("data/database")).unwrap();
    write(&sandbox);
    let gold = [&SPIDER[..], &["--questions", "gold.sql"]].concat();
    sandbox.refuses_with(&gold, &["gold.sql:2: 1 fields, expected SQL TAB db_id"]);
}

#[test]
fn data_that_is_not_named_is_looked_for_where_it_is_put() {
    let sandbox = project();
    fs::create_dir_all(sandbox.path("datasets/external")).unwrap();
    fs::rename(sandbox.path("data"), sandbox.path("datasets/external/spider")).unwrap();
    let judge = ["bench", "spider", "--predictions", "predicted.sql", "--timeout", "1"];
    let (found, _) = sandbox.succeeds(&judge);
    let (named, _) = sandbox.succeeds(&[&judge[..], &["--dataset", "datasets/external/spider"]].concat());
    assert_eq!(found, named);
    let (out, _) = sandbox.succeeds(&["bench"]);
    let line = |name: &str| out.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    assert!(line("spider").contains("there: datasets/external/spider"), "{out}");
    assert!(line("bird").contains("missing: wb data get bird"), "{out}");
    // Its reader says which file is missing.
    fs::remove_file(sandbox.path("datasets/external/spider/tables.json")).unwrap();
    sandbox.refuses_with(&judge, &["datasets/external/spider/tables.json: there is no such file"]);
    // Rows are a file: the only one, or the only one of a test.
    let row =
        "{\"sql_context\": \"CREATE TABLE t (a INT); INSERT INTO t VALUES (1);\", \"sql\": \"SELECT a FROM t\"}\n";
    sandbox.write("one.sql", "SELECT a FROM t\n");
    sandbox.write("datasets/external/synthetic-sql/synthetic_text_to_sql_test.jsonl", row);
    let judge = ["bench", "synthetic-sql", "--predictions", "one.sql", "--require", "ex=1"];
    sandbox.succeeds(&judge);
    sandbox.write("datasets/external/synthetic-sql/synthetic_text_to_sql_train.jsonl", row);
    sandbox.succeeds(&judge);
    sandbox.write("datasets/external/synthetic-sql/another_test.jsonl", row);
    sandbox.refuses_with(&judge, &["datasets/external/synthetic-sql: no data of synthetic-sql is there"]);
}

/// What `--json` cannot write is told before hours of judging, not behind them.
#[test]
fn a_record_that_cannot_be_written_is_refused_first() {
    let sandbox = project();
    let json = |path: &str, said: &str| {
        let all = [&SPIDER[..], &["--json", path, "--timeout", "30"]].concat();
        let begin = std::time::Instant::now();
        sandbox.refuses_with(&all, &[said, "hint: --json OUT is a file"]);
        assert!(begin.elapsed().as_secs() < 20, "before an endless prediction is run");
    };
    json("data", "data: a folder, not a file");
    json("predicted.sql/out.json", "predicted.sql/out.json: cannot be written: predicted.sql is not a folder");
    // Folders on the way are made.
    sandbox.succeeds(&[&SPIDER[..], &["--timeout", "1", "--json", "new/folder/out.json"]].concat());
    assert!(sandbox.path("new/folder/out.json").exists());
}

/// Rows that stand in a log beside the database would be missing without a word.
#[test]
fn a_database_that_was_not_closed_is_refused() {
    let sandbox = project();
    let path = sandbox.path("data/database/shop/shop.sqlite");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("pragma journal_mode=wal; insert into item values (9, 'fig', 1)").unwrap();
    let all = [&SPIDER[..], &["--timeout", "1"]].concat();
    let told = ["shop.sqlite: its latest changes are not in it but in", "shop.sqlite-wal", "wal_checkpoint(TRUNCATE)"];
    sandbox.refuses_with(&all, &told);
    connection.execute_batch("pragma wal_checkpoint(truncate)").unwrap();
    sandbox.succeeds(&all);
}

#[test]
fn options_that_do_not_belong_are_refused() {
    let sandbox = project();
    let bench = |more: &[&str], said: &[&str]| sandbox.refuses_with(&[&["bench"], more].concat(), said);
    bench(&["spidr", "--dataset", "data"], &["no benchmark `spidr`", "did you mean `spider`?"]);
    bench(&["spider", "pairs"], &["spider is judged alone"]);
    bench(
        &["spider", "--encoder", "latest"],
        &["--encoder is for benchmarks of retrieval: spider judges the SQL of --predictions"],
    );
    bench(&["bird", "--retriever", "bm25"], &["--retriever is for benchmarks of retrieval"]);
    bench(&["spider", "--device", "cpu"], &["--device is for benchmarks of retrieval"]);
    bench(
        &["pairs", "--predictions", "predicted.sql"],
        &["--predictions is for spider, bird and synthetic-sql, not for pairs"],
    );
    bench(&["bird", "--plug-value"], &["--plug-value is for spider, not for bird"]);
    bench(&["synthetic-sql", "--databases", "data"], &["--databases is for spider and bird, not for synthetic-sql"]);
    bench(&["cosqa", "--languages", "ruby"], &["--languages is for codesearchnet, not for cosqa"]);
    bench(&["spider", "--iterations", "3"], &["--iterations is for bird, not for spider"]);
    bench(&["spider", "--compat", "offical"], &["expected official or strict"]);
    bench(&["spider", "--timeout", "0"], &["expected seconds, more than 0"]);
    bench(&["spider", "--workers", "0"], &["--workers"]);
    let all = ["spider", "--dataset", "data", "--predictions", "predicted.sql"];
    bench(&[&all[..], &["--require", "mrr=0.4"]].concat(), &["spider has no metric `mrr`, but em, ex, parse_rate"]);
    bench(&[&all[..], &["--require", "ex=60"]].concat(), &["expected a metric and a fraction"]);
}
