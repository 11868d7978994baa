//! `wb bench bird` and `wb bench synthetic-sql`, by hand.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use serde_json::{Value, json};

use super::made_up::{SHOP, database};
use crate::{
    sandbox::{Sandbox, has},
    tables::parquet_bytes,
};

#[test]
fn bird_is_judged_by_sets_of_rows() {
    let sandbox = Sandbox::new();
    let question = |id: u32, db_id: &str, sql: &str, difficulty: &str| json!({ "question_id": id, "db_id": db_id, "question": "?", "evidence": "", "SQL": sql, "difficulty": difficulty });
    let questions = json!([
        question(7, "shop", "SELECT item_id FROM sale", "simple"),
        question(9, "shop", "SELECT id, name FROM item WHERE id < 3", "simple"),
        question(12, "shop", "SELECT name FROM item", "moderate"),
        question(13, "farm", "SELECT name FROM animal", "challenging"),
        question(15, "shop", "SELECT nowhere FROM item", "challenging"),
    ]);
    sandbox.write("mini/mini_dev_sqlite.json", serde_json::to_string_pretty(&questions).unwrap());
    database(&sandbox.path("mini/dev_databases/shop/shop.sqlite"), SHOP);
    let predicted = |sql: &str, db_id: &str| format!("{sql}\t----- bird -----\t{db_id}");
    let mut predictions = json!({
        // Duplicates do not count; the order of columns does.
        "0": predicted("SELECT DISTINCT item_id FROM sale", "shop"),
        "1": predicted("SELECT name, id FROM item WHERE id < 3", "shop"),
        "2": predicted("SELEC name", "shop"),
        "3": predicted("SELECT name FROM animal", "farm"),
        "4": predicted("SELECT name FROM item", "shop"),
    });
    sandbox.write("predicted.json", predictions.to_string());
    let base = ["bench", "bird", "--dataset", "mini", "--predictions", "predicted.json"];
    let more = ["--iterations", "9", "--workers", "1", "--json", "out.json"];
    let (out, _) = sandbox.succeeds(&[&base[..], &more].concat());
    let written = sandbox.json("out.json");
    let column = |key: &str| -> Vec<Value> {
        written["questions"].as_array().unwrap().iter().map(|question| question[key].clone()).collect()
    };
    assert_eq!(column("id"), [7, 9, 12, 13, 15]);
    assert_eq!(column("ex"), [json!(true), json!(false), json!(false), Value::Null, json!(false)]);
    assert_eq!(column("soft_f1")[..3], [json!(1.0), json!(1.0), json!(0.0)]);
    assert_eq!(column("status"), [json!("correct"), json!("wrong"), json!("parse_error"), Value::Null, json!("wrong")]);
    let rewards = column("reward");
    assert!(rewards[0].as_f64().unwrap() >= 0.25 && rewards[1] == 0.0, "{rewards:?}");
    let figure = |level: &str, key: &str| written["totals"][level][key].clone();
    assert_eq!(figure("simple", "ex"), json!({ "value": 0.5, "of": 2, "right": 1 }));
    assert_eq!(figure("all", "ex"), json!({ "value": 0.25, "of": 4, "right": 1 }));
    assert_eq!(figure("all", "soft_f1"), json!({ "value": 0.5, "of": 4 }));
    let of_ves = rewards[0].as_f64().unwrap().sqrt() * 100.0 / 4.0;
    assert!((figure("all", "r_ves")["value"].as_f64().unwrap() - of_ves).abs() < 1e-9);
    let told = ["bird: 5 questions", "1 gold queries cannot be run", "(farm): 1 questions have no ex", "challenging"];
    has(&out, &told);

    // Without times.
    sandbox.succeeds(
        &[&base[..], &["--iterations", "0", "--json", "out.json", "--require", "ex=0.25", "judged=0.8"]].concat(),
    );
    // The fifth of the questions whose database is not there has neither ex nor the other scores.
    let block = sandbox.wb(&[&base[..], &["--iterations", "0", "--require", "ex=0.25", "soft_f1=0.1"]].concat());
    assert!(
        block.starts_with("exit 1") && block.matches("over 4 of 5 questions, and 1 have none").count() == 2,
        "{block}"
    );
    assert_eq!(sandbox.json("out.json")["totals"]["all"]["r_ves"], json!({ "value": null, "of": 0 }));

    let refused = |predictions: &Value, said: &str| {
        sandbox.write("predicted.json", predictions.to_string());
        sandbox.refuses_with(&base, &[said]);
    };
    predictions["4"] = predicted("SELECT 1", "farm").into();
    refused(&predictions, "predicted.json: entry 4: the database is `farm`, but the question asks `shop`");
    predictions.as_object_mut().unwrap().shift_remove("1");
    refused(&predictions, "predicted.json: 4 predictions, but mini/mini_dev_sqlite.json has 5 questions");
    predictions["1"] = "SELECT 1".into();
    refused(&predictions, "the key `1` stands behind `4`");
    refused(&json!([]), "predicted.json:1:");
    // As they stand in the file: a map would forget the first of two.
    let text = |members: &[&str]| format!("{{\n{}\n}}", members.join(",\n"));
    let ok = "\"0\": \"SELECT 1\"";
    for (members, said) in [
        (
            &[ok, "\"1\": \"SELECT 1\"", "\"1\": \"SELECT 2\"", "\"3\": \"\"", "\"4\": \"\""][..],
            "predicted.json:4: the key `1` is there twice, first on line 3",
        ),
        (&[ok, "\"01\": \"\"", "\"1\": \"\""], "predicted.json:4: the key `1` is there twice, first on line 3"),
        (&[ok, "\"one\": \"SELECT 1\""], "predicted.json:3: the key `one` is no number"),
        (&[ok, "\"1\": null"], "predicted.json:3: the prediction `1` is null, expected a text"),
        (&[ok, "\"1\": [\"SELECT 1\"]"], "predicted.json:3: the prediction `1` is [\"SELECT 1\"], expected a text"),
        (
            &[ok, "\"2\": \"\"", "\"1\": \"\"", "\"3\": \"\"", "\"4\": \"\""],
            "predicted.json:4: the key `1` stands behind `2`",
        ),
        (&[ok, "\"1\" \"SELECT 1\""], "predicted.json:3:"),
    ] {
        sandbox.write("predicted.json", text(members));
        sandbox.refuses_with(&base, &[said, "hint: "]);
    }
    for (broken, said) in [("{\"0\": \"a\"", "expected `,` or `}`"), ("{\"0\": \"a\"} x", "expected nothing behind")] {
        sandbox.write("predicted.json", broken);
        sandbox.refuses_with(&base, &[said]);
    }
    predictions = json!({ "0": "", "1": "", "2": "", "3": "", "4": "" });
    sandbox.write("predicted.json", predictions.to_string());
    // All of its figures come from databases.
    for (databases, said) in [
        ("none", "none: there is no such folder"),
        ("mini", "mini: none of the databases of the questions is there (farm, shop)"),
    ] {
        let hint = "hint: --databases DIR has a folder for each";
        sandbox.refuses_with(&[&base[..], &["--databases", databases]].concat(), &[said, hint]);
    }
    std::fs::rename(sandbox.path("mini/dev_databases"), sandbox.path("elsewhere")).unwrap();
    refused(&predictions, "mini/dev_databases: there is no such folder");
    sandbox.succeeds(&[&base[..], &["--databases", "elsewhere", "--iterations", "0"]].concat());
    std::fs::remove_file(sandbox.path("mini/mini_dev_sqlite.json")).unwrap();
    refused(&predictions, "mini_dev_sqlite.json: there is no such file");
}

#[test]
fn rows_bring_their_own_databases() {
    let sandbox = Sandbox::new();
    let context = "CREATE TABLE t (a INT, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, 'y');";
    let row = |id: u32, context: &str, sql: &str, complexity: &str| {
        json!({ "id": id, "domain": "tests", "sql_complexity": complexity, "sql_prompt": "?", "sql_context": context, "sql": sql })
            .to_string()
    };
    let rows = [
        row(1, context, "SELECT a FROM t", "basic SQL"),
        row(2, context, "SELECT b FROM t WHERE a = 2;", "basic SQL"),
        row(3, context, "INSERT INTO t VALUES (3, 'z')", "basic SQL"),
        row(4, "CREATE TABLE t (a INT", "SELECT a FROM t", "aggregation"),
        row(5, context, "SELECT count(*) FROM t", "aggregation"),
    ];
    sandbox.write("rows.jsonl", rows.join("\n"));
    sandbox.write("predicted.sql", "SELECT a FROM t\nSELECT b FROM t\nSELECT 1\nSELECT 1\nSELECT count(value FROM t\n");
    let base = ["bench", "synthetic-sql", "--dataset", "rows.jsonl", "--predictions", "predicted.sql"];
    let (out, _) =
        sandbox.succeeds(&[&base[..], &["--json", "out.json", "--require", "ex=0.33", "judged=0.6"]].concat());
    let block = sandbox.wb(&[&base[..], &["--require", "ex=0.33"]].concat());
    assert!(block.starts_with("exit 1") && block.contains("over 3 of 5 questions, and 2 have none"), "{block}");
    let written = sandbox.json("out.json");
    let column = |key: &str| -> Vec<Value> {
        written["questions"].as_array().unwrap().iter().map(|question| question[key].clone()).collect()
    };
    assert_eq!(column("ex"), [json!(true), json!(false), Value::Null, Value::Null, json!(false)]);
    assert_eq!(column("status"), [json!("correct"), json!("wrong"), Value::Null, Value::Null, json!("parse_error")]);
    assert_eq!(written["totals"]["basic SQL"]["ex"], json!({ "value": 0.5, "of": 2, "right": 1 }));
    assert_eq!(written["totals"]["all"]["ex"]["of"], 3);
    assert_eq!(written["domains"]["tests"]["questions"], 5);
    assert_eq!(written["counts"], json!({ "questions": 5, "context_failed": 1, "gold_failed": 1 }));
    has(&out, &["not judged  1 rows whose sql_context SQLite cannot run, 1 whose sql is no query or fails"]);

    // As they are published, with columns that are not needed.
    let values: Vec<Value> = rows.iter().map(|row| serde_json::from_str(row).unwrap()).collect();
    let texts = ["domain", "sql_complexity", "sql_prompt", "sql_context", "sql"];
    sandbox.write("rows.parquet", parquet(&values, &texts));
    let published = ["bench", "synthetic-sql", "--dataset", "rows.parquet", "--predictions", "predicted.sql"];
    sandbox.succeeds(&[&published[..], &["--json", "parquet.json"]].concat());
    let mut of_parquet = sandbox.json("parquet.json");
    of_parquet["inputs"] = written["inputs"].clone();
    assert_eq!(of_parquet, written);

    let refused = |dataset: &str, said: &str| {
        let judge = ["bench", "synthetic-sql", "--dataset", dataset, "--predictions", "predicted.sql"];
        sandbox.refuses_with(&judge, &[said]);
    };
    sandbox.write("few.jsonl", &rows[0]);
    refused("few.jsonl", "predicted.sql: 5 lines, but few.jsonl has 1 rows");
    refused("few.jsonl", "one prediction for each row of --dataset, in its order");
    sandbox.write("more.jsonl", rows.join("\n") + "\n");
    std::fs::remove_file(sandbox.path("predicted.sql")).unwrap();
    refused("more.jsonl", "hint: --predictions FILE has one query a line, in the order of the rows of --dataset");
    sandbox.write("broken.parquet", "PAR1");
    refused("broken.parquet", "broken.parquet: not a whole Parquet file");
    sandbox.write("half.parquet", parquet(&values, &["sql"]));
    refused("half.parquet", "half.parquet: row 1: missing field `sql_context`");
    sandbox.write("broken.jsonl", format!("{}\n{{\"sql\": \"SELECT 1\"}}\n", rows[0]));
    refused("broken.jsonl", "broken.jsonl:2:");
}

/// Rows as a Parquet file: their `id`, and texts.
fn parquet(rows: &[Value], texts: &[&str]) -> Vec<u8> {
    let ids: ArrayRef = Arc::new(rows.iter().map(|row| row["id"].as_i64()).collect::<Int64Array>());
    let text = |name: &&str| -> (String, ArrayRef) {
        ((*name).to_owned(), Arc::new(rows.iter().map(|row| row[*name].as_str()).collect::<StringArray>()))
    };
    let columns = std::iter::once(("id".to_owned(), ids)).chain(texts.iter().map(text));
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    parquet_bytes(&batch)
}
