//! The page of an A/B experiment: complete, and safe with hostile texts.

use std::fs;

use wb_core::{
    records::ab::{AbErrors, AbFound, AbMetric, AbRecord, AbRow, ErrorClass},
    statistics::Interval,
};
use wb_report::ab;

use crate::{bare, keep};

fn found(id: &str, useful: Option<bool>, class: Option<ErrorClass>) -> AbFound {
    AbFound { id: id.into(), useful, class }
}

fn experiment() -> AbRecord {
    let metric = |name: &str, means: [f64; 2], low: f64| AbMetric {
        name: name.into(),
        means,
        difference: means[1] - means[0],
        relative: Some((means[1] - means[0]) / means[0]),
        interval: Interval { low, high: 0.4 },
        p_value: 0.0625,
        p_bootstrap: 0.041,
        wins_ties_losses: [5, 4, 1],
        perfect: [1, 4],
    };
    let row = |id: &str, text: &str, useful: [u64; 2], found: [Vec<AbFound>; 2]| AbRow {
        id: id.into(),
        text: text.into(),
        useful,
        precision_3: useful.map(|count| count as f64 / 3.0),
        precision_5: [0.2, 0.4],
        mrr_5: [0.5, 1.0],
        found,
    };
    AbRecord {
        arms: ["code".into(), "annotation".into()],
        metrics: vec![
            metric("precision@3", [14.0 / 30.0, 20.0 / 30.0], 0.0333),
            metric("precision@5", [0.44, 0.6], -0.02),
            metric("mrr@5", [0.61, 0.8], 0.01),
        ],
        queries: vec![
            row(
                "smote",
                "apply SMOTE for imbalanced classification",
                [0, 2],
                [
                    vec![
                        found("fraud#1", Some(false), Some(ErrorClass::ThemeWithoutTechnique)),
                        found("x\"><b>", None, Some(ErrorClass::Other)),
                    ],
                    vec![found("churn#2", Some(true), None)],
                ],
            ),
            row(
                "hostile",
                "</summary><script>alert(1)</script>",
                [1, 1],
                [vec![], vec![found("churn#2", Some(false), None)]],
            ),
        ],
        errors: ErrorClass::ALL.map(|class| AbErrors { class, results: [7, 3] }).to_vec(),
        unjudged: [1, 0],
    }
}

#[test]
fn a_page_tells_all_and_runs_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let text = |id: &str| {
        id.starts_with("churn").then(|| "SMOTE().fit_resample(x, y)  # <img src=x onerror=alert(2)>".to_owned())
    };
    let facts = vec!["26 snippets, searched by all-MiniLM-L6-v2.".to_owned()];
    let files = ab(&experiment(), "annotations", facts, &text, &folder.path().join("ab.html")).unwrap();
    let html = fs::read_to_string(&files.html).unwrap();
    keep("ab.html", &html);
    assert!(!html.contains("<script") && !html.contains("<img src=x") && !html.contains("\"><b>"));
    let words = bare(&html);
    for expected in [
        "BETTER",
        "precision@3 .667 of annotation against .467 of code, difference +.200 [.033, .400], p = .062, 2 queries",
        "Nobody judged 1 of the first five results of code and 0 of annotation",
        "theme without technique",
        "keyword over-reliance",
        "of no use: theme without technique",
        "nobody judged it, counts as of no use: other",
        "0 and 2 of 3",
        "&lt;/summary&gt;&lt;script&gt;alert(1)&lt;/script&gt;",
        "+43 %",
        "5 / 4 / 1",
        "Nothing was found.",
    ] {
        assert!(words.contains(expected), "{expected}\n{words}");
    }
    assert!(fs::read(&files.png).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn the_word_says_whether_it_is_sure() {
    let folder = tempfile::tempdir().unwrap();
    let word = |low: f64, high: f64| {
        let mut experiment = experiment();
        experiment.metrics[0].interval = Interval { low, high };
        let files = ab(&experiment, "t", Vec::new(), &|_| None, &folder.path().join("ab.html")).unwrap();
        let words = bare(&fs::read_to_string(files.html).unwrap());
        ["BETTER", "WORSE", "NOT SURE"].into_iter().find(|word| words.contains(word)).unwrap()
    };
    assert_eq!(
        [word(0.1, 0.2), word(-0.2, -0.1), word(-0.1, 0.2), word(0.0, 0.2)],
        ["BETTER", "WORSE", "NOT SURE", "NOT SURE"]
    );
}
