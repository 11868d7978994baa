//! The page of mined pairs: complete, by margin, and safe with hostile texts.

use std::fs;

use wb_core::records::negatives::{EstimateRow, NegativesCard, ScoreRow, Triple, TripleNegative};
use wb_report::triples;

use crate::{bare, keep};

fn negative(id: &str, text: &str, score: Option<f32>, rank: Option<u32>) -> TripleNegative {
    TripleNegative { id: id.into(), text: text.into(), score, rank }
}

fn card() -> NegativesCard {
    let triple = |id: &str, anchor: &str, score: f32, negatives: Vec<TripleNegative>| Triple {
        id: id.into(),
        language: "rust".into(),
        anchor: anchor.into(),
        positive: format!("fn {id}() {{ \"answer\" }}"),
        score,
        negatives,
    };
    NegativesCard {
        retriever: "all-MiniLM-L6-v2".into(),
        rules: vec![("negatives a pair".into(), "2".into()), ("relative margin".into(), "0.05".into())],
        pairs: 1234,
        queries: 1230,
        documents: 5678,
        candidates: 40_000,
        thrown: vec![
            ("positive of the query".into(), 1230),
            ("relative margin".into(), 9000),
            ("not rescored".into(), 0),
        ],
        left: 29_770,
        chosen: 2400,
        filled: 3,
        short: 70,
        without: 5,
        replaced: 0,
        ties: Vec::new(),
        scores: vec![ScoreRow { name: "positive".into(), count: 1234, values: [0.6, 0.1, 0.2, 0.5, 0.61, 0.7, 0.9] }],
        estimates: vec![EstimateRow {
            measure: "BM25 puts it above the positive".into(),
            hits: 120,
            of: 1000,
            interval: [0.1013, 0.1416],
            random_hits: 8,
            random_interval: [0.004, 0.0157],
        }],
        triples: vec![
            triple("far", "sorts a list", 0.8, vec![negative("d1", "fn a() {}", Some(0.3), Some(9))]),
            triple(
                "above",
                "</summary><script>alert(1)</script>",
                0.5,
                vec![
                    negative("d2", "<img src=x onerror=alert(2)>\u{202e}", Some(0.55), Some(1)),
                    negative("d3\"><b>", "let x = 1;", None, None),
                ],
            ),
            triple("bare", "nothing is left for this one", 0.4, Vec::new()),
            triple("close", "opens a file", 0.5, vec![negative("d4", "fn b() {}", Some(0.49), Some(2))]),
        ],
    }
}

#[test]
fn a_page_of_pairs() {
    let folder = tempfile::tempdir().unwrap();
    let file = triples(&card(), "tiny", &folder.path().join("pages/tiny.html")).unwrap();
    let html = fs::read_to_string(&file).unwrap();
    keep("triples.html", &html);
    let text = bare(&html);
    // The nearest come first.
    let places = ["class=\"query above\"", "class=\"query close\"", "class=\"query far\"", "class=\"query bare\""]
        .map(|class| text.find(class).unwrap_or_else(|| panic!("no {class}")));
    assert!(places.is_sorted());
    for told in [
        "1,234 pairs",
        "ranked by all-MiniLM-L6-v2",
        "relative margin 0.05",
        "9,000",
        "10.1 to 14.2 %",
        "drawn at random",
    ] {
        assert!(text.contains(told), "{told}");
    }
    // Every filter has its radio button and its rule.
    for class in ["above", "close", "far", "bare"] {
        assert!(
            html.contains(&format!("id=\"show-{class}\""))
                && html.contains(&format!(".shown:has(#show-{class}:checked)")),
            "{class}"
        );
    }
    assert!(!html.contains("show-near"), "no filter without pairs");
    assert!(!text.contains("not rescored"), "rules that threw nothing away are not listed");
}

#[test]
fn hostile_texts_are_only_text() {
    let folder = tempfile::tempdir().unwrap();
    let file = triples(&card(), "<i>title</i>", &folder.path().join("a.html")).unwrap();
    let html = fs::read_to_string(&file).unwrap();
    for bad in ["<script", "<img", "\"><b>", "<i>", "\u{202e}", "src=\"http", "href=\"http", "@import", "url("] {
        assert!(!html.contains(bad), "{bad}");
    }
    assert!(html.contains("default-src &#39;none&#39;") || html.contains("default-src 'none'"));
}
