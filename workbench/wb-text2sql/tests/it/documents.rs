//! Files of examples, texts to embed, and the map beside an index.

use std::fs;

use wb_text2sql::{
    examples::{CorpusMap, ExampleDocument, TextFormat, asked, training},
    schema::Catalogs,
};

use crate::support::catalogs;

const QUESTIONS: &str = r#"[
  {"db_id": "shops", "question": "How many shops?", "query": "SELECT count(*) FROM shop"},
  {"db_id": "pets", "SpiderQuestion": "Names?", "SpiderSynQuestion": "x", "query": "SELECT LName FROM Student"}
]"#;

#[test]
fn both_files_become_documents_with_stable_names() {
    let folder = tempfile::tempdir().unwrap();
    let mut catalogs = catalogs(folder.path());
    let (questions, gold) = (folder.path().join("train.json"), folder.path().join("gold.sql"));
    fs::write(&questions, QUESTIONS).unwrap();
    fs::write(
        &gold,
        "select  COUNT(*) from shop;\tshops\nSELECT count(*) FROM shop\tshops\nSELECT city FROM shop\tshops\n",
    )
    .unwrap();
    let read = training(&[&questions], Some(&gold), &mut catalogs).unwrap();
    let names: Vec<(&str, Option<&str>)> =
        read.documents.iter().map(|one| (one.id.as_str(), one.question.as_deref())).collect();
    // The first line of gold is a question's; the second says it again, and is one more.
    assert_eq!(
        names,
        [
            ("train-00000", Some("How many shops?")),
            ("train-00001", Some("Names?")),
            ("gold-00001", None),
            ("gold-00002", None)
        ]
    );
    assert_eq!(read.repeated, 1);
    assert_eq!(training(&[&questions], None, &mut catalogs).unwrap().documents, read.documents[..2]);
    let questions = asked(&questions, &catalogs).unwrap();
    assert_eq!((questions[1].question.as_str(), questions[1].gold.as_str()), ("Names?", "SELECT LName FROM Student"));
}

#[test]
fn mistakes_are_told_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let mut catalogs = catalogs(folder.path());
    let (questions, gold) = (folder.path().join("train.json"), folder.path().join("gold.sql"));
    let mut error = |questions_: &str, gold_: &str| {
        fs::write(&questions, questions_).unwrap();
        fs::write(&gold, gold_).unwrap();
        training(&[&questions], Some(&gold), &mut catalogs).unwrap_err().to_string()
    };
    let row = |db_id: &str, question: &str, query: &str| {
        format!(r#"[{{"db_id": "{db_id}", "question": "{question}", "query": "{query}"}}]"#)
    };
    for (questions, gold, expected) in [
        ("{}".to_owned(), "", "train.json:1:"),
        ("[{\n\"db_id\": 3}]".to_owned(), "", "train.json:2:"),
        (row("shop", "a", "b"), "", "train.json:entry 0: no schema for the database `shop`"),
        (row("shops", " ", "b"), "", "train.json:entry 0: the question is empty"),
        (row("shops", "a", ""), "", "train.json:entry 0: the query is empty"),
        (row("shops", "a", "b"), "\nselect 1 shops", "gold.sql:2: there is no tab"),
        (row("shops", "a", "b"), "select 1\tsops", "gold.sql:1: no schema"),
    ] {
        let error = error(&questions, gold);
        assert!(error.contains(expected), "{error}, expected {expected}");
    }
    assert!(Catalogs::load(&folder.path().join("none.json")).unwrap_err().to_string().contains("none.json"));
}

#[test]
fn texts_have_the_parts_that_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let catalogs = catalogs(folder.path());
    let document = ExampleDocument {
        id: "train-00000".into(),
        db_id: "shops".into(),
        question: Some("How many shops?".into()),
        sql: "SELECT count(*) FROM shop".into(),
    };
    let context = "database: shops\nshop(shop_id number primary key, name text, city text)\n\
        worker(worker_id number primary key, shop_id number, name text, salary number)\nforeign keys: worker.shop_id = shop.shop_id";
    let text = |context, question, sql| {
        TextFormat { context, question, sql, form: false }.document(&document, &catalogs).unwrap()
    };
    assert_eq!(
        TextFormat::default().document(&document, &catalogs).unwrap(),
        format!("{context}\nSELECT count(*) FROM shop")
    );
    assert_eq!(text(false, true, false), "How many shops?");
    assert_eq!(text(false, true, true), "How many shops?\nSELECT count(*) FROM shop");
    assert_eq!(text(true, true, false), format!("{context}\nHow many shops?"));
    let form = |sql: &str, question| {
        let format = TextFormat { context: false, question, sql: false, form: true };
        format.document(&ExampleDocument { sql: sql.into(), ..document.clone() }, &catalogs).unwrap()
    };
    assert_eq!(form("SELECT COUNT(*) FROM shop", false), "select count ( _ ) from _");
    assert_eq!(form("SELECT COUNT(*) FROM shop", true), "How many shops?\nselect count ( _ ) from _");
    // What cannot be read has no form, and a text must say something.
    assert_eq!(form("SELEC 1", false), "SELEC 1");
    let none = TextFormat { context: false, question: false, sql: false, form: false };
    assert!(none.validate("rag.text").unwrap_err().to_string().contains("rag.text"));
}

#[test]
fn a_map_is_checked_against_its_index() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(wb_text2sql::examples::MAP_NAME);
    let document = ExampleDocument { id: "train-00000".into(), db_id: "shops".into(), question: None, sql: "x".into() };
    let map = CorpusMap::new([(&document, "one".to_owned()), (&document, "two".to_owned())]);
    map.write(&path).unwrap();
    assert_eq!(CorpusMap::read(&path, 2).unwrap(), map);
    assert!(CorpusMap::read(&path, 3).unwrap_err().to_string().contains("2 entries, but the index has 3"));
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("\"position\": 1", "\"position\": 2")).unwrap();
    assert!(CorpusMap::read(&path, 2).unwrap_err().to_string().contains("position 2, expected 1"));
}
