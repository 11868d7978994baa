//! A data set in Spider's layout: two databases in the schemas, one of them there, and eleven questions.

use std::{fs, path::Path};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// Rows of the database `shop`.
pub const SHOP: &str = "
    create table item (id integer primary key, name text, price real);
    insert into item values (1, 'apple', 1.0), (2, 'pear', 2.5), (3, 'plum', 4.0);
    create table sale (id integer primary key, item_id integer references item(id), count integer);
    insert into sale values (1, 1, 5), (2, 1, 1), (3, 3, 2);";

/// Options of `wb bench spider` on the written data, before others.
pub const SPIDER: [&str; 6] = ["bench", "spider", "--dataset", "data", "--predictions", "predicted.sql"];

/// A question's database, gold query and prediction, and its verdict: hardness, em, ex, status, whether exact match
/// could read the prediction.
pub struct Case {
    pub db_id: &'static str,
    pub gold: &'static str,
    pub predicted: &'static str,
    pub verdict: Value,
}

/// Cases in three lines each. Exact match does not look at values, and its grammar has no IS NULL, which SQLite has.
const CASES: &str = r#"shop: SELECT name FROM item
SELECT name FROM item
["easy", true, true, "correct", true]
shop: SELECT count(*) FROM item
SELECT count(id) FROM item
["easy", false, true, "correct", true]
shop: SELECT name FROM item WHERE price > 2
SELECT name FROM item WHERE price > 3
["easy", true, false, "wrong", true]
shop: SELECT name FROM item ORDER BY price DESC LIMIT 1
SELEC nothing
["medium", false, false, "parse_error", false]
shop: SELECT name ,  price FROM item WHERE price > 1 ORDER BY price
SELECT nam FROM item
["medium", false, false, "sql_error", false]
shop: SELECT name FROM item WHERE id IN (SELECT item_id FROM sale)
DROP TABLE item
["hard", false, false, "refused", false]
shop: SELECT T1.name FROM item AS T1 JOIN sale AS T2 ON T1.id  =  T2.item_id GROUP BY T1.name ORDER BY T1.name LIMIT 1
WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM t) SELECT count(*) FROM t
["extra", false, false, "timeout", false]
farm: SELECT name FROM animal
SELECT name FROM animal
["easy", true, null, "correct", true]
farm: SELECT name FROM animal
SELECT id FROM animal
["easy", false, null, "wrong", true]
farm: SELECT name FROM animal
nonsense
["easy", false, null, "parse_error", false]
shop: SELECT name FROM item WHERE price > 2
SELECT name FROM item WHERE price > 2 AND name IS NOT NULL
["easy", false, true, "correct", false]"#;

/// The eleven questions of `data/`, with the predictions of `predicted.sql`.
pub fn cases() -> Vec<Case> {
    let lines: Vec<&'static str> = CASES.lines().collect();
    let case = |lines: &[&'static str]| {
        let (db_id, gold) = lines[0].split_once(": ").unwrap();
        Case { db_id, gold, predicted: lines[1], verdict: serde_json::from_str(lines[2]).unwrap() }
    };
    lines.chunks(3).map(case).collect()
}

/// A line for each question.
pub fn line_for_each(line: impl Fn(Case) -> String) -> String {
    cases().into_iter().map(line).collect()
}

/// A database file made of statements.
pub fn database(path: &Path, script: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    Connection::open(path).unwrap().execute_batch(script).unwrap();
}

/// A project with `data/` and `predicted.sql`.
pub fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    write(&sandbox);
    sandbox
}

/// Writes `data/` and `predicted.sql`.
pub fn write(sandbox: &Sandbox) {
    let tables = json!([
        {
            "db_id": "shop",
            "table_names_original": ["item", "sale"],
            "column_names_original":
                [[-1, "*"], [0, "id"], [0, "name"], [0, "price"], [1, "id"], [1, "item_id"], [1, "count"]],
            "foreign_keys": [[5, 1]],
        },
        {
            "db_id": "farm",
            "table_names_original": ["animal"],
            "column_names_original": [[-1, "*"], [0, "id"], [0, "name"]],
            "foreign_keys": [],
        },
    ]);
    sandbox.write("data/tables.json", tables.to_string());
    let pairs: Vec<(&str, &str)> = cases().iter().map(|case| (case.db_id, case.gold)).collect();
    sandbox.write("data/dev.json", dev(&pairs));
    sandbox.write("predicted.sql", line_for_each(|case| format!("{}\n", case.predicted)));
    database(&sandbox.path("data/database/shop/shop.sqlite"), SHOP);
}

/// Questions as Spider's file has them, with one entry a line: the first begins on line 2.
pub fn dev(pairs: &[(&str, &str)]) -> String {
    let entry = |(db_id, query): &(&str, &str)| json!({ "db_id": db_id, "query": query, "question": "?" }).to_string();
    format!("[\n{}\n]", pairs.iter().map(entry).collect::<Vec<_>>().join(",\n"))
}

/// `wb bench spider` on `data/`, with more options; what `--json` wrote, and what was printed.
pub fn judge(sandbox: &Sandbox, predictions: &str, more: &[&str]) -> (Value, String) {
    let base = ["bench", "spider", "--dataset", "data", "--predictions", predictions, "--json", "out.json"];
    let (out, _) = sandbox.succeeds(&[&base[..], more].concat());
    (sandbox.json("out.json"), out)
}
