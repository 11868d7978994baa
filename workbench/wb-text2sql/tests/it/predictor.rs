//! Predictions by rules: worked out by hand, and never anything that does not parse.

use proptest::prelude::*;
use wb_core::Hit;
use wb_sql::{Compat, execute::DatabaseSource, spider::parse};
use wb_text2sql::{
    examples::{DatabaseQuestion, ExampleDocument},
    link::{Links, Purpose},
    predict::{PredictConfig, Predictor, Ran, Reason},
    schema::{Catalogs, Cells},
    schema_recall, skeleton_match,
};

use crate::support::{PETS, catalogs, pool, run};

fn document(sql: &str) -> ExampleDocument {
    ExampleDocument { id: "train-00000".into(), db_id: "shops".into(), question: None, sql: sql.into() }
}

fn cells(catalogs: &Catalogs) -> Cells {
    let pool = pool();
    Cells::load(catalogs.get("pets").unwrap(), &mut pool.seat(), &DatabaseSource::Script(PETS.into())).unwrap()
}

fn asked(question: &str) -> DatabaseQuestion {
    DatabaseQuestion { db_id: "pets".into(), question: question.into(), gold: String::new() }
}

#[test]
fn examples_are_retargeted() {
    let folder = tempfile::tempdir().unwrap();
    let catalogs = catalogs(folder.path());
    let cells = cells(&catalogs);
    assert_eq!(cells.unread, 0);
    let pool = pool();
    let mut seat = pool.seat();
    let source = DatabaseSource::Script(PETS.into());
    for (question, example, expected) in [
        ("How many students are there?", "SELECT count(*) FROM shop", "SELECT count(*) FROM Student"),
        (
            "List the last name and age of students ordered by age.",
            "SELECT name FROM worker ORDER BY salary",
            "SELECT LName , Age FROM Student ORDER BY Age ASC",
        ),
        (
            "What are the last names of students older than 19?",
            "SELECT name FROM worker WHERE salary > 5",
            "SELECT LName FROM Student WHERE Age > 19",
        ),
        (
            "What is the average and maximum weight of pets?",
            "SELECT avg(salary) FROM worker",
            "SELECT avg(weight) , max(weight) FROM Pets",
        ),
        (
            "Which pet type has the most pets?",
            "SELECT city FROM shop GROUP BY city ORDER BY count(*) DESC LIMIT 1",
            "SELECT PetType FROM Pets GROUP BY PetType ORDER BY count(*) DESC LIMIT 1",
        ),
        (
            "What are the last names of students who have a cat?",
            "SELECT T2.name FROM shop AS T1 JOIN worker AS T2 ON T1.shop_id = T2.shop_id WHERE T1.city = 'Rome'",
            "SELECT T1.LName FROM Student AS T1 JOIN Has_Pet AS T2 ON T1.StuID = T2.StuID JOIN Pets AS T3 ON T2.PetID = T3.PetID WHERE T3.PetType = 'cat'",
        ),
        (
            "Find the last names of students without pets.",
            "SELECT name FROM shop WHERE shop_id NOT IN (SELECT shop_id FROM worker)",
            "SELECT LName FROM Student WHERE StuID NOT IN (SELECT StuID FROM Has_Pet)",
        ),
        (
            "Which pets weigh more than the average weight? Show the pet type.",
            "SELECT name FROM worker WHERE salary < (SELECT avg(salary) FROM worker)",
            "SELECT PetType FROM Pets WHERE weight > (SELECT avg(weight) FROM Pets)",
        ),
    ] {
        let documents = [document(example)];
        let predictor = Predictor::new(&catalogs, &documents).unwrap();
        let hits = [Hit { document: 0, score: 1.0 }];
        let mut run = |sql: &str| run(&mut seat, &source, sql);
        let prediction =
            predictor.predict(&asked(question), &cells, &hits, &PredictConfig::default(), &mut run).unwrap();
        let made = prediction.sql.unwrap();
        assert_eq!(made, expected, "{question}");
        assert_eq!(prediction.candidates[0].ran, Ran::Rows, "{made}");
    }
}

#[test]
fn without_an_example_the_form_is_fixed() {
    let folder = tempfile::tempdir().unwrap();
    let catalogs = catalogs(folder.path());
    let predictor = Predictor::new(&catalogs, &[]).unwrap();
    let config = PredictConfig { execution_guided: false, ..PredictConfig::default() };
    let mut never = |_: &str| -> Ran { panic!("nothing is run unless it is asked for") };
    let mut made =
        |question: &str| predictor.predict_fixed(&asked(question), &Cells::default(), &config, &mut never).unwrap().sql;
    assert_eq!(
        made("Show the age of the student with last name 'Kim'.").unwrap(),
        "SELECT Age FROM Student WHERE LName = 'Kim'"
    );
    assert_eq!(made("How many students are there?").unwrap(), "SELECT LName FROM Student");
    assert_eq!(made("What?"), Err(Reason::Column));
    let prediction = predictor.predict(&asked("How many?"), &Cells::default(), &[], &config, &mut never).unwrap();
    assert_eq!(prediction.sql, Err(Reason::NoExample));
    assert!(
        predictor
            .predict_fixed(
                &DatabaseQuestion { db_id: "no".into(), ..asked("") },
                &Cells::default(),
                &config,
                &mut never
            )
            .is_err()
    );
}

#[test]
fn execution_and_score_choose() {
    let folder = tempfile::tempdir().unwrap();
    let catalogs = catalogs(folder.path());
    let documents = [
        document("SELECT name FROM worker ORDER BY salary"),
        document("SELECT count(*) FROM worker"),
        document("no query"),
    ];
    let predictor = Predictor::new(&catalogs, &documents).unwrap();
    assert_eq!(predictor.unread(), 1);
    let hits = [0, 2, 1].map(|document| Hit { document, score: 2.0 - document as f32 });
    let choose = |guided: bool, count: Ran| {
        let config = PredictConfig { execution_guided: guided, ..PredictConfig::default() };
        let mut run = |sql: &str| if sql.contains("count") { count } else { Ran::Rows };
        let prediction = predictor
            .predict(&asked("How many students are there?"), &Cells::default(), &hits, &config, &mut run)
            .unwrap();
        let reasons: Vec<Option<Reason>> =
            prediction.candidates.iter().map(|one| one.sql.as_ref().err().copied()).collect();
        assert_eq!(reasons[1], Some(Reason::Unread));
        (prediction.chosen, reasons[2])
    };
    // `how many` asks for the count; one without rows loses, one that fails is out.
    assert_eq!(choose(false, Ran::Failed), (Some(2), None));
    assert_eq!(choose(true, Ran::Rows), (Some(2), None));
    assert_eq!(choose(true, Ran::Empty), (Some(0), None));
    assert_eq!(choose(true, Ran::Failed), (Some(0), Some(Reason::Fails)));
    assert!(
        PredictConfig { top_k: 0, ..PredictConfig::default() }
            .validate("rag")
            .unwrap_err()
            .to_string()
            .contains("rag.top_k")
    );
    assert!(PredictConfig { retrieval_weight: f64::NAN, ..PredictConfig::default() }.validate("rag").is_err());
}

#[test]
fn words_are_linked() {
    let folder = tempfile::tempdir().unwrap();
    let catalogs = catalogs(folder.path());
    let catalog = catalogs.get("pets").unwrap();
    let links = Links::new(
        "Top 3 types of pet with weight over 5 for at least 2 students named \"Kim\"",
        catalog,
        &cells(&catalogs),
    );
    let purposes: Vec<Purpose> = links.values.iter().map(|value| value.purpose).collect();
    assert_eq!(purposes, [Purpose::Limit, Purpose::Filter, Purpose::Count, Purpose::Filter]);
    let name = |column: usize| catalog.columns[column].name.as_str();
    let of_value = |at: usize| links.values[at].column.map(|(column, _)| name(column));
    assert_eq!((of_value(1), of_value(3)), (Some("weight"), Some("LName")));
    let columns: Vec<&str> = links.columns.iter().map(|mention| name(mention.columns[0].0)).collect();
    assert!(columns.contains(&"PetType") && columns.contains(&"weight"), "{columns:?}");
    assert!(links.table_score(0) > 0.9);
    // A name that SQL reserves is never linked: Spider's grammar cannot quote it.
    let links = Links::new("Show the group", catalog, &Cells::default());
    assert!(links.columns.is_empty());
}

#[test]
fn measures_of_retrieval() {
    let folder = tempfile::tempdir().unwrap();
    let catalogs = catalogs(folder.path());
    let catalog = catalogs.get("pets").unwrap();
    let read = |sql: &str| parse(sql, &catalog.schema, Compat::Official).unwrap();
    let gold = read("SELECT T1.LName FROM Student AS T1 JOIN Has_Pet AS T2 ON T1.StuID = T2.StuID WHERE T1.Age > 5");
    // Student of Student and Has_Pet; LName of LName and Age, the keys of ON do not count.
    let recall = schema_recall(&gold, &read("SELECT LName FROM Student"), catalog);
    assert_eq!((recall.tables, recall.columns), (0.5, 0.5));
    let other = read("SELECT count(*) FROM Pets");
    let same = read("SELECT weight FROM Pets AS T1 JOIN Has_Pet AS T2 ON T1.PetID = T2.PetID WHERE weight > 3");
    let found = skeleton_match(&gold, &[Some(&other), None, Some(&same), Some(&gold)]);
    assert_eq!((found.f1_at_1, found.exact_at_1, found.exact_at_3), (0.0, false, true));
    assert!((found.f1_at_3 - 1.0).abs() < 1e-12);
    assert!(!skeleton_match(&gold, &[None]).exact_at_3);
}

const EXAMPLES: [&str; 14] = [
    "SELECT name FROM shop",
    "SELECT count(*) FROM worker WHERE salary > 3 AND name = 'x'",
    "SELECT city , count(*) FROM shop GROUP BY city HAVING count(*) > 2",
    "SELECT T1.city , avg(T2.salary) FROM shop AS T1 JOIN worker AS T2 ON T1.shop_id = T2.shop_id GROUP BY T1.shop_id",
    "SELECT name FROM shop WHERE shop_id NOT IN (SELECT shop_id FROM worker WHERE salary > 3)",
    "SELECT name FROM worker WHERE salary > (SELECT avg(salary) FROM worker)",
    "SELECT name FROM shop EXCEPT SELECT T1.name FROM shop AS T1 JOIN worker AS T2 ON T1.shop_id = T2.shop_id",
    "SELECT name FROM shop WHERE city = 'a' INTERSECT SELECT name FROM shop WHERE city = 'b'",
    "SELECT max(salary) - min(salary) FROM worker",
    "SELECT DISTINCT name FROM worker ORDER BY salary DESC LIMIT 3",
    "SELECT name FROM shop WHERE city LIKE '%a%' OR name BETWEEN 'a' AND 'b'",
    "SELECT count(DISTINCT shop_id) FROM worker UNION SELECT shop_id FROM shop",
    "SELECT name FROM (SELECT name FROM shop)",
    "SELECT city FROM shop GROUP BY city HAVING avg(shop_id) > (SELECT 1 FROM shop)",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]
    #[test]
    fn whatever_is_asked_the_prediction_parses(
        words in prop::collection::vec("student|students|pets?|have|age|last|name|id|type of|weight|group|cat|Kim|'o\"x'|\"it's\"|how many|average|each|most|not|without|both|or|and|at least|2|3.5|1999|1e999|between|top|contains|é|'|\"|%", 0..14),
        example in 0_usize..14,
        with_cells in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let catalogs = catalogs(folder.path());
        let mut known = Cells::default();
        if with_cells {
            for (column, text) in [(1, "Kim"), (6, "cat"), (6, "it's"), (1, "o\"x")] {
                known.add(column, text);
            }
        }
        let documents = [document(EXAMPLES[example])];
        let predictor = Predictor::new(&catalogs, &documents).unwrap();
        let asked = asked(&words.join(" "));
        let config = PredictConfig { execution_guided: false, ..PredictConfig::default() };
        let hits = [Hit { document: 0, score: f32::NAN }];
        let schema = &catalogs.get("pets").unwrap().schema;
        for made in [
            predictor.predict(&asked, &known, &hits, &config, &mut |_| Ran::Unknown).unwrap(),
            predictor.predict_fixed(&asked, &known, &config, &mut |_| Ran::Unknown).unwrap(),
        ] {
            if let Ok(sql) = &made.sql {
                prop_assert!(parse(sql, schema, Compat::Official).is_ok(), "{}", sql);
                prop_assert!(parse(sql, schema, Compat::Strict).is_ok(), "{}", sql);
                prop_assert!(!sql.contains('\n') && !sql.contains('\t'), "{}", sql);
            }
            prop_assert!(made.candidates.iter().all(|one| !one.score.is_nan()));
        }
    }
}
