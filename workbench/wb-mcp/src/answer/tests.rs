//! Answers within their budgets.

use proptest::prelude::*;

use super::*;

fn place(at: &str, text: &str, head: usize) -> FoundPlace {
    let head = text.lines().take(head).collect::<Vec<_>>().join("\n");
    FoundPlace { at: at.into(), text: text.into(), head, ..FoundPlace::default() }
}

fn page(skip: usize, budget: usize) -> AnswerPage {
    AnswerPage { skip, budget }
}

#[test]
fn places_are_whole_then_short_then_bare() {
    let long = "fn long() {\n".to_owned() + &"    call();\n".repeat(160);
    let found =
        vec![place("a.rs:1-2", "fn a() {\n}", 1), place("b.rs:1-161", &long, 1), place("c.rs:1", &"x".repeat(1100), 1)];
    let answer = ToolAnswer::default().within(page(0, 300), found, true);
    let texts: Vec<(&str, Option<&str>)> = answer["answers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["at"].as_str().unwrap(), one.get("text").and_then(Value::as_str)))
        .collect();
    assert_eq!(texts, [("a.rs:1-2", Some("fn a() {\n}")), ("b.rs:1-161", Some("fn long() {")), ("c.rs:1", None)]);
    assert_eq!((&answer["answers"][1]["part"], answer.get("next")), (&Value::from("head"), None));
}

#[test]
fn excerpts_become_whole_where_there_is_room() {
    let excerpt = |at: &str, n: usize| FoundPlace {
        part: Some(Extent::Excerpt),
        shown: "1, 9".into(),
        whole: Some("call();\n".repeat(n)),
        ..place(at, "fn a() {\n…\n}", 1)
    };
    // 1,200 bytes hold all lines of the first and of the last, but not of the second.
    let found = vec![excerpt("a.rs:1-40", 40), excerpt("b.rs:1-90", 90), excerpt("c.rs:1-30", 30)];
    let answer = ToolAnswer::default().within(page(0, 300), found, true);
    let parts: Vec<(&Value, usize)> = answer["answers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (&one["part"], one["text"].as_str().unwrap().len()))
        .collect();
    assert_eq!(parts, [(&Value::Null, 320), (&Value::from("excerpt"), 14), (&Value::Null, 240)]);
    let shown: Vec<Option<&str>> = (0..3).map(|at| answer["answers"][at]["shown"].as_str()).collect();
    assert_eq!(shown, [None, Some("1, 9"), None]);
    assert!(answer.to_string().len() <= 300 * CHARS);
}

#[test]
fn the_next_page_begins_where_this_one_ends() {
    let all: Vec<FoundPlace> = (0..100).map(|n| place(&format!("src/file-{n}.rs:1"), &"y".repeat(50), 1)).collect();
    let (mut skip, mut seen) = (0, Vec::new());
    loop {
        let answer = ToolAnswer::default().within(page(skip, 300), all[skip..].to_vec(), true);
        seen.extend(answer["answers"].as_array().unwrap().iter().map(|one| one["at"].as_str().unwrap().to_owned()));
        match answer.get("next").and_then(Value::as_u64) {
            Some(next) => skip = next as usize,
            None => break,
        }
    }
    assert_eq!(seen, all.iter().map(|place| place.at.clone()).collect::<Vec<_>>());
}

#[test]
fn a_place_that_never_fits_is_counted_and_passed() {
    let huge = place(&"very/long/".repeat(200), "", 1);
    let answer = ToolAnswer::default().within(page(5, 300), vec![huge, place("b.rs:1", "", 1)], true);
    assert_eq!(answer["answers"][0]["at"], "b.rs:1");
    assert_eq!(answer["notes"][0], "1 too large for the budget");
    let huge = place(&"very/long/".repeat(200), "", 1);
    let only = ToolAnswer::default().within(page(5, 300), vec![huge], false);
    assert_eq!(only["next"], 6);
}

#[test]
fn texts_do_no_more_than_stand_there() {
    let hostile = "a\u{1b}]0;title\u{7}b\u{202e}c\u{e0041}d\r\n\te\u{0}\u{9b}2J";
    let found = vec![place(&format!("{hostile}.rs:1"), hostile, 1)];
    let answer = ToolAnswer { empty: Some(hostile.into()), ..ToolAnswer::default() }.within(page(0, 300), found, true);
    let expected = "a\u{fffd}]0;title\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}\n\te\u{fffd}\u{fffd}2J";
    assert_eq!((&answer["answers"][0]["text"], &answer["empty"]), (&Value::from(expected), &Value::from(expected)));
    assert_eq!(answer["answers"][0]["at"], format!("{expected}.rs:1"));
}

proptest! {
    #[test]
    fn an_answer_is_never_larger_than_its_budget(
        texts in proptest::collection::vec((".{0,300}", "(?s).{0,900}", 0usize..5, proptest::option::of(".{0,900}")), 0..12),
        notes in proptest::collection::vec(".{0,400}", 0..5),
        empty in proptest::option::of("(?s).{0,4000}"),
        stale in proptest::collection::vec("[a-z]{1,20}", 0..9),
        budget in 300usize..2000,
        skip in 0usize..1_000_000,
    ) {
        let found: Vec<FoundPlace> = texts.iter().map(|(at, text, head, whole)| FoundPlace { whole: whole.clone(), ..place(at, text, *head) }).collect();
        let n_found = found.len();
        let commit = Some("0".repeat(64));
        let answer = ToolAnswer { commit, notes, empty, stale, ..ToolAnswer::default() };
        let told = answer.within(page(skip, budget), found, true);
        prop_assert!(told.to_string().len() <= budget * CHARS, "{} bytes", told.to_string().len());
        let n = told["answers"].as_array().unwrap().len();
        prop_assert!(n == n_found || told.get("next").is_some() || told.get("notes").is_some());
    }
}
