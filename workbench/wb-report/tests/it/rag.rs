//! The page of text-to-SQL with retrieved examples: complete, honest about what it leaves out, and safe with hostile
//! texts.

use std::{fs, path::Path};

use wb_core::{
    records::rag::{Rag, RagAnswer, RagArm, RagCost, RagExample, RagForms, RagLevel, RagPair, RagQuestion, RagShare},
    statistics::Interval,
};
use wb_report::rag;

use crate::{bare, check_html_with, ink, keep};

fn share(right: u64, of: u64) -> RagShare {
    let value = if of == 0 { 0.0 } else { right as f64 / of as f64 };
    RagShare { right, of, value, interval: Interval { low: (value - 0.1).max(0.0), high: (value + 0.1).min(1.0) } }
}

fn arm(name: &str, retriever: Option<&str>, ex: u64, em: u64) -> RagArm {
    let level = |hardness: &str, of: u64| RagLevel {
        hardness: hardness.into(),
        em: share(em.min(of), of),
        ex: share(ex.min(of), of),
    };
    RagArm {
        name: name.into(),
        retriever: retriever.map(str::to_owned),
        em: share(em, 6),
        ex: share(ex, 6),
        parsed: share(6, 6),
        valid: share(5, 6),
        levels: vec![level("easy", 4), level("medium", 0), level("extra", 2)],
        table_recall: 0.875,
        column_recall: 0.8125,
        forms: retriever.map(|_| RagForms { f1_at_1: 0.61, f1_at_3: 0.72, exact_at_1: 0.153, exact_at_3: 0.284 }),
        leaks_removed: 1234,
        short: 2,
        without_prediction: 1,
        cost: None,
    }
}

fn answer(ex: Option<bool>, em: bool, sql: &str) -> RagAnswer {
    let status = match ex {
        Some(true) => "correct",
        Some(false) => "wrong",
        None => "sql_error",
    };
    RagAnswer { sql: sql.into(), message: None, em, ex, status: status.into(), examples: Vec::new() }
}

/// One answer an arm: without, bm25, tuned, oracle.
fn question(index: usize, hardness: Option<&str>, right: [bool; 4]) -> RagQuestion {
    let mut arms: Vec<RagAnswer> =
        right.iter().map(|right| answer(Some(*right), *right, "SELECT count(*) FROM singer")).collect();
    for (at, arm) in arms.iter_mut().enumerate().skip(1) {
        arm.examples = vec![RagExample {
            id: format!("train-{at:05}"),
            score: 22.154_991,
            db_id: "flight_1".into(),
            question: (at == 1).then(|| "How many aircrafts do we have?".to_owned()),
            sql: "SELECT count(*) FROM Aircraft".into(),
        }];
    }
    RagQuestion {
        index,
        db_id: "concert_singer".into(),
        question: format!("How many singers do we have? ({index})"),
        gold: "SELECT count(*) FROM singer WHERE name = 'Ann'".into(),
        hardness: hardness.map(str::to_owned),
        arms,
    }
}

fn pair(metric: &str, first: &str, second: &str, difference: f64, low: f64, high: f64) -> RagPair {
    RagPair {
        metric: metric.into(),
        first: first.into(),
        second: second.into(),
        only_first: 1,
        only_second: 2,
        p_value: 0.0121,
        difference,
        interval: Interval { low, high },
    }
}

fn experiment() -> Rag {
    let (t, f) = (true, false);
    let hash = "ab".repeat(32);
    Rag {
        name: "spider-rag".into(),
        protocols: ["spider-em-official".into(), "spider-ex-official".into()],
        facts: vec!["queries by rules: no language model".into(), format!("databases blake3 {hash}")],
        top_k: 3,
        arms: vec![
            arm("without", None, 2, 1),
            arm("bm25", Some(&format!("bm25 {hash}")), 3, 3),
            arm("tuned", Some("encoder"), 3, 2),
            arm("oracle", Some("the gold query's form"), 5, 4),
        ],
        pairs: vec![
            pair("em", "without", "bm25", 1.0 / 3.0, -0.1, 0.6),
            pair("ex", "bm25", "tuned", 0.0, -0.3, 0.3),
            pair("ex", "without", "bm25", 1.0 / 6.0, 0.05, 0.4),
            pair("ex", "without", "oracle", 0.5, 0.2, 0.8),
        ],
        questions: vec![
            question(0, Some("easy"), [f, t, t, t]),
            question(1, Some("easy"), [t, f, f, t]),
            question(2, Some("easy"), [f, f, t, t]),
            question(3, Some("easy"), [f, f, f, t]),
            question(4, Some("extra"), [f, f, f, f]),
            question(5, None, [t, t, t, f]),
        ],
    }
}

/// The whole page, and the same without pictures and style.
fn page(record: &Rag, folder: &Path) -> (String, String) {
    let files = rag(record, &folder.join("rag.html")).unwrap();
    let html = fs::read_to_string(&files.html).unwrap();
    let words = bare(&html);
    (html, words)
}

/// What stands in a group's part of the page.
fn group<'a>(words: &'a str, class: &str) -> &'a str {
    let (_, rest) = words.split_once(&format!("<section class=\"{class}\">")).unwrap_or_else(|| panic!("no {class}"));
    rest.split_once("</section>").unwrap().0
}

#[test]
fn a_page_tells_all() {
    let folder = tempfile::tempdir().unwrap();
    let mut record = experiment();
    record.arms[1].cost = Some(RagCost {
        asked: 8,
        rejected: 1,
        prompt_tokens: Some(6000),
        completion_tokens: Some(600),
        latency_median_ms: Some(812.4),
        latency_p95_ms: Some(2300.0),
        repairs: 2,
        repaired: 1,
    });
    record.arms[2].cost = Some(RagCost { asked: 6, ..RagCost::default() });
    record.questions[4].arms[0] = RagAnswer {
        sql: String::new(),
        message: Some("the tables are not connected".into()),
        status: "parse_error".into(),
        ..answer(Some(false), false, "")
    };
    let (html, words) = page(&record, folder.path());
    keep("rag.html", &html);
    for expected in [
        "BETTER",
        "EX .500 of bm25 against .333 of without, difference +.167 [.050, .400], McNemar&#39;s p = .012, 2 better and 1 worse of 6",
        "EM .500 of bm25 against .167 of without, difference +.333 [−.100, .600]",
        "bm25 is the best of 2 retrieving arms on these same questions",
        "Ceiling: oracle chooses its examples by the gold query and reaches EX .833 and EM .667; bm25 goes 33 % of the way there from without.",
        "databases blake3 abababababab…<br>",
        "Protocols: spider-ex-official (EX), spider-em-official (EM).",
        "no examples",
        "ceiling: reads the gold query",
        ".500<span class=\"interval\">[.400, .600]</span><span class=\"count\">3 of 6</span>",
        "colspan=\"2\">easy, 4</th>",
        "colspan=\"2\">extra, 2</th>",
        "bm25 abababababab…",
        "<td class=\"n\">.153</td>",
        "<td class=\"n\">1,234</td>",
        "<td class=\"n\">1,100</td><td class=\"n\">0.81 s</td><td class=\"n\">2.30 s</td><td class=\"n\">1 of 2</td>",
        "<td class=\"n\">–</td><td class=\"n\">–</td><td class=\"n\">–</td><td class=\"n\">0 of 0</td>",
        "Question 5, concert_singer, of unknown hardness.",
        "<span class=\"no\">cannot be read</span>: EX wrong, EM wrong",
        "No query.",
        "the tables are not connected",
        "1 retrieved",
        "22.15 <span class=\"mono\">train-00001</span> flight_1</span><br>How many aircrafts do we have?",
        "<b>SELECT</b> <b>count</b>(*) <b>FROM</b> Aircraft",
        "<i>&#39;Ann&#39;</i>",
    ] {
        assert!(words.contains(expected), "{expected}\n{words}");
    }
    assert!(!words.contains("medium"), "a hardness without questions is not shown");
    assert!(!words.contains("no verdict of execution"));
    // Comparisons with the first arm come before others.
    let places = ["<th>bm25</th><td>without</td>", "<th>oracle</th><td>without</td>", "<th>tuned</th><td>bm25</td>"]
        .map(|row| words.find(row).unwrap_or_else(|| panic!("no {row}")));
    assert!(places.is_sorted());
    let (width, height, drawn) = ink(&folder.path().join("rag.png"));
    assert!(width > 2000 && height > 500 && drawn > 100_000, "{width} × {height}, {drawn}");
}

#[test]
fn every_question_stands_in_the_group_of_what_retrieval_did() {
    let folder = tempfile::tempdir().unwrap();
    let (html, words) = page(&experiment(), folder.path());
    for (class, index) in [("helped", 0), ("hurt", 1), ("others", 2), ("ceiling", 3), ("wrong", 4), ("allright", 5)] {
        let group = group(&words, class);
        assert!(group.contains(&format!("Question {index}, ")), "{class}: {group}");
        assert_eq!(group.matches("<details class=\"query").count(), 1, "{class}");
        assert!(
            html.contains(&format!("id=\"show-{class}\""))
                && html.contains(&format!(".shown:has(#show-{class}:checked) section:not(.{class})")),
            "{class}"
        );
    }
    // Two hardnesses, and no filter for what is unknown.
    assert_eq!(words.matches("name=\"level\"").count(), 3);
    assert!(words.contains("class=\"query l0\"") && words.contains("class=\"query l2\""));
    assert!(html.contains(".shown:has(#level-1:checked) .query:not(.l1)"));
}

#[test]
fn the_word_says_whether_it_is_sure() {
    let folder = tempfile::tempdir().unwrap();
    let word = |change: &dyn Fn(&mut Rag)| {
        let mut record = experiment();
        change(&mut record);
        let (_, words) = page(&record, folder.path());
        let said = words.split_once("class=\"word\">").unwrap().1;
        said.split_once('<').unwrap().0.to_owned()
    };
    let bounds = |low: f64, high: f64| word(&move |record| record.pairs[2].interval = Interval { low, high });
    assert_eq!(
        [bounds(0.1, 0.2), bounds(-0.2, -0.1), bounds(-0.1, 0.2), bounds(0.0, 0.2)],
        ["BETTER", "WORSE", "NOT SURE", "NOT SURE"]
    );
    // The arm that reads the gold query is never the headline.
    assert_eq!(word(&|record| drop(record.arms.drain(1..3))), "NOTHING COMPARED");
    assert_eq!(word(&|record| record.arms.truncate(1)), "NOTHING COMPARED");
    assert_eq!(word(&|record| record.arms.clear()), "NOTHING COMPARED");
}

#[test]
fn without_databases_exact_match_speaks() {
    let folder = tempfile::tempdir().unwrap();
    let mut record = experiment();
    for arm in &mut record.arms {
        arm.ex = RagShare::default();
    }
    for question in &mut record.questions {
        question.arms.iter_mut().for_each(|answer| answer.ex = None);
    }
    let (_, words) = page(&record, folder.path());
    for expected in [
        "NOT SURE",
        "<p class=\"said\">EM .500 of bm25",
        "No question has a verdict of execution.",
        "by exact match, in brackets",
        "(✓)",
        "EX unknown, EM right",
        "<td class=\"n value\">–</td>",
        "EX not measured, EM .500",
    ] {
        assert!(words.contains(expected), "{expected}\n{words}");
    }
    assert!(!words.contains("class=\"said\">EX"));
}

#[test]
fn a_large_experiment_stays_a_small_page_and_says_what_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut record = experiment();
    let right = [[false, true, true, true], [true, true, true, true], [false, false, false, false]];
    record.questions = (0..900)
        .map(|index| {
            let mut question = question(index, Some("easy"), right[index % 3]);
            for answer in &mut question.arms {
                answer.examples = vec![
                    RagExample {
                        id: "train-00001".into(),
                        score: 1.0,
                        db_id: "flight_1".into(),
                        question: Some("Which of them? ".repeat(20)),
                        sql: "SELECT T1.name FROM club AS T1 WHERE T1.id = 1 AND T1.x = 2 ".repeat(20),
                    };
                    5
                ];
            }
            question
        })
        .collect();
    let (html, words) = page(&record, folder.path());
    assert!(html.len() < 2_500_000, "{} bytes", html.len());
    let helped = group(&words, "helped");
    let shown = helped.matches("<details class=\"query").count();
    assert!((5..60).contains(&shown), "{shown}: there is no room for 60 of this size");
    assert!(
        helped
            .contains(&format!("{shown} of them are shown, spread evenly over the file; {} are left out", 300 - shown))
    );
    let last = helped.rsplit("Question ").next().unwrap().split(',').next().unwrap();
    assert!(last.parse::<usize>().unwrap() > 700, "{last}: the end of the file is shown too");
    // Small ones are bounded by their number.
    record.questions.iter_mut().for_each(|question| question.arms.iter_mut().for_each(|arm| arm.examples.clear()));
    let (_, words) = page(&record, folder.path());
    assert_eq!(group(&words, "wrong").matches("<details class=\"query").count(), 60);
    assert!(group(&words, "wrong").contains("240 are left out"));
}

#[test]
fn hostile_texts_are_only_text() {
    let folder = tempfile::tempdir().unwrap();
    for text in [
        "</summary></details></section><script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "\" onmouseover=\"alert(1)",
        "' autofocus onfocus='alert(1)",
        "</style><svg/onload=alert(1)>",
        "{{ title }}{% include 'x' %}",
        "SELECT '</pre><script>' \u{2028}\u{202e}\u{0}",
    ] {
        let mut record = experiment();
        record.name = text.into();
        record.protocols[0] = text.into();
        record.facts.push(text.into());
        for arm in &mut record.arms {
            arm.name.push_str(text);
            arm.retriever = Some(text.into());
            for level in &mut arm.levels {
                level.hardness.push_str(text);
            }
        }
        for pair in &mut record.pairs {
            pair.first.push_str(text);
            pair.second.push_str(text);
        }
        for question in &mut record.questions {
            (question.db_id, question.question, question.gold) = (text.into(), text.into(), text.into());
            question.hardness = Some(format!("easy{text}"));
            for answer in &mut question.arms {
                (answer.sql, answer.message, answer.status) = (text.into(), Some(text.into()), text.into());
                for example in &mut answer.examples {
                    (example.id, example.db_id, example.sql) = (text.into(), text.into(), text.into());
                    example.question = Some(text.into());
                }
            }
        }
        let (html, words) = page(&record, folder.path());
        check_html_with(&words, text, "i input label section", "checked colspan for type");
        // The style has no text of the record.
        let style = html.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0;
        assert!(!style.contains("alert") && !style.contains("url("), "{text}");
        assert!(html.contains("content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'"));
    }
}
