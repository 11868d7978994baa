//! No text makes the judge panic or slow, and a gold query matches itself however it is written.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use wb_sql::{
    Compat,
    exact::{compare, component_f1, hardness, parts},
    spider::{MAX_DEPTH, ParseError, parse, skeleton, tokenize},
};

use super::support::{golden, schemas};

const BOTH: [Compat; 2] = [Compat::Official, Compat::Strict];

#[rustfmt::skip]
const SOUP: &[&str] = &[
    "select", "from", "where", "group", "by", "order", "limit", "union", "intersect", "except", "join", "on", "as", "and",
    "or", "not", "in", "like", "between", "is", "null", "distinct", "desc", "having", "none", "max", "count", "(", "(",
    ")", ")", ",", ";", "*", "+", "-", "=", "!=", ">", "<", ">=", "! =", ".", "..", ". . .", "?", "!", "'", "\"", "`",
    "--", "/*", "*/", "[", "]", "“", "’", "«", "gonna", "cannot", "ship", "port", "T1", "T1.id", "id", "name", "type",
    "5", "5.", "-5", "1e3", "nan", "'x'", "\"y z\"", "co.", "b.", "é", "\u{a0}", "\n", "value", "__val_0_3__", "all",
];

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec((0..SOUP.len(), any::<bool>()), 0..60).prop_map(|picks| {
        picks.into_iter().map(|(place, space)| format!("{}{}", SOUP[place], if space { " " } else { "" })).collect()
    })
}

fn golds() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(golden("spider-gold.sql")).unwrap();
    let pairs = text.lines().map(|line| line.split_once('\t').unwrap());
    pairs.map(|(sql, db_id)| (sql.to_owned(), db_id.to_owned())).collect()
}

fn survives(text: &str) {
    let schemas = schemas();
    for schema in schemas.ids().map(|id| schemas.get(id).unwrap()) {
        for compat in BOTH {
            let _ = tokenize(text, compat);
            if let Ok(query) = parse(text, schema, compat) {
                let _ = (hardness(&query), skeleton(&query), query.names(), parts(&query));
                let verdict = compare(&query, &query, schema, compat);
                // NaN equals nothing, within a nested FROM or where a connector is missing.
                assert!(verdict.em || text.contains("nan"), "{text}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_survived(text in "\\PC{0,80}") {
        survives(&text);
    }

    #[test]
    fn any_words_are_survived(text in soup()) {
        survives(&text);
        survives(&format!("SELECT id FROM Ship WHERE {text}"));
        survives(&format!("SELECT {text} FROM Ship {text}"));
    }

    #[test]
    fn gold_matches_itself_in_any_case_and_spacing(place in 0usize..49, upper in any::<bool>(), space in "[ \t\n]{1,3}") {
        let (gold, db_id) = golds().swap_remove(place);
        let schemas = schemas();
        let schema = schemas.get(&db_id).unwrap();
        if let Ok(query) = parse(&gold, schema, Compat::Official) {
            let text = gold.replace(' ', &space);
            let text = if upper { text.to_uppercase() } else { text.to_lowercase() };
            let written = parse(&text, schema, Compat::Official).unwrap();
            let verdict = compare(&query, &written, schema, Compat::Official);
            prop_assert!(verdict.em != gold.contains("= nan)"), "{text}");
            prop_assert!((component_f1(&parts(&query), &parts(&query)) - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn deep_nesting_is_an_error_and_no_overflow() {
    let schemas = schemas();
    let schema = schemas.get("harbor").unwrap();
    let nested = |depth: usize| {
        format!("{}SELECT id FROM Ship{}", "SELECT id FROM Ship WHERE id IN (".repeat(depth - 1), ")".repeat(depth - 1))
    };
    let arms = |depth: usize| vec!["SELECT id FROM Ship"; depth].join(" UNION ");
    let froms =
        |depth: usize| format!("{}SELECT * FROM Ship", "SELECT * FROM ( ".repeat(depth - 1)) + &")".repeat(depth - 1);
    for make in [&nested as &dyn Fn(usize) -> String, &arms, &froms] {
        for compat in BOTH {
            let text = make(MAX_DEPTH);
            let query = parse(&text, schema, compat).unwrap();
            assert!(compare(&query, &query.clone(), schema, compat).em);
            let _ = (skeleton(&query), query.names(), parts(&query), hardness(&query));
            for depth in [MAX_DEPTH + 1, 20_000] {
                assert_eq!(parse(&make(depth), schema, compat), Err(ParseError::Depth { limit: MAX_DEPTH }));
            }
        }
    }
    let _ = parse(&"(".repeat(100_000), schema, Compat::Official);
}

#[test]
fn time_grows_with_the_length() {
    let schemas = schemas();
    let schema = schemas.get("harbor").unwrap();
    let select = "SELECT id FROM Ship WHERE ";
    let start = Instant::now();
    for (head, unit) in [
        (select, "id = 3 AND "),
        (select, "id = name "),
        (select, "id = (1) "),
        ("SELECT ", "id , "),
        ("", "from "),
        ("", "as a "),
        (select, "( "),
        ("SELECT id FROM ", "Ship "),
        ("", "! "),
        ("", "!) "),
        ("", "a.b. "),
        ("", ". "),
        ("", "-"),
        ("", "`"),
        ("", ","),
        ("", "'"),
        ("", "\""),
        ("", "a"),
        ("", "select ( from "),
        ("", "a. A) "),
        ("", "gonna."),
        ("", "!)"),
        ("", "[x] "),
        ("", "/*"),
        ("", ".,!"),
    ] {
        let text = format!("{head}{}", unit.repeat(200_000 / unit.len()));
        for compat in BOTH {
            let _ = parse(&text, schema, compat);
        }
    }
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}
