//! CoIR's tasks: Parquet files as folders in BEIR's layout.

use std::{fs, sync::Arc};

use arrow_array::{ArrayRef, Float64Array, StringArray};
use serde_json::json;
use tempfile::TempDir;

use super::{conversion, convert, lines, numbers, parquet, texts, told};

fn nulls(n: usize) -> ArrayRef {
    Arc::new(StringArray::from(vec![None::<&str>; n]))
}

fn corpus() -> Vec<u8> {
    parquet(vec![
        ("_id", texts(["d1", "d2"])),
        ("title", nulls(2)),
        ("partition", texts(["train", "test"])),
        ("text", texts(["one", "two\nlines"])),
        ("language", texts(["python", "python"])),
    ])
}

fn queries() -> Vec<u8> {
    parquet(vec![
        ("_id", texts(["q1", "q2", "q3"])),
        ("partition", texts(["train", "test", "test"])),
        ("text", texts(["of training", "asked", "not judged"])),
        ("title", nulls(3)),
    ])
}

fn qrels(names: [&'static str; 2]) -> Vec<u8> {
    parquet(vec![(names[0], texts(["q2"])), (names[1], texts(["d2"])), ("score", numbers([1]))])
}

#[test]
fn judged_queries_stay_and_both_ways_to_name_columns_are_known() {
    for names in [["query-id", "corpus-id"], ["query_id", "corpus_id"]] {
        let external = TempDir::new().unwrap();
        let files = [("corpus", corpus()), ("queries", queries()), ("qrels", qrels(names))];
        let counts = convert(&conversion("coir-cosqa"), &external, &files).unwrap();
        let told: Vec<(&str, u64)> = counts.iter().map(|(name, count)| (name.as_str(), *count)).collect();
        let expected = [("documents", 2), ("judgements", 1), ("queries", 1), ("queries of other splits, left out", 2)];
        assert_eq!(told, expected);
        let out = external.path().join("out");
        assert_eq!(lines(&out.join("queries.jsonl")), [json!({ "_id": "q2", "text": "asked" })]);
        assert_eq!(lines(&out.join("corpus.jsonl"))[1], json!({ "_id": "d2", "title": "", "text": "two\nlines" }));
        let judged = fs::read_to_string(out.join("qrels/test.tsv")).unwrap();
        assert_eq!(judged, "query-id\tcorpus-id\tscore\nq2\td2\t1\n");
    }
}

#[test]
fn ids_and_grades_may_be_numbers_and_titles_may_be_missing() {
    let external = TempDir::new().unwrap();
    let files = [
        ("corpus", parquet(vec![("_id", numbers([7])), ("text", texts(["x"]))])),
        ("queries", parquet(vec![("_id", numbers([3])), ("text", texts(["y"]))])),
        (
            "qrels",
            parquet(vec![
                ("query-id", numbers([3])),
                ("corpus-id", numbers([7])),
                ("score", Arc::new(Float64Array::from(vec![0.5])) as ArrayRef),
            ]),
        ),
    ];
    convert(&conversion("coir-apps"), &external, &files).unwrap();
    let out = external.path().join("out");
    assert_eq!(lines(&out.join("corpus.jsonl")), [json!({ "_id": "7", "title": "", "text": "x" })]);
    assert!(fs::read_to_string(out.join("qrels/test.tsv")).unwrap().ends_with("\n3\t7\t0.5\n"));
}

#[test]
fn files_that_do_not_belong_together_are_refused() {
    let refused = |files: [(&str, Vec<u8>); 3]| {
        let external = TempDir::new().unwrap();
        told(&convert(&conversion("coir-cosqa"), &external, &files).unwrap_err())
    };
    let names = ["query-id", "corpus-id"];
    let other = parquet(vec![
        ("query-id", texts(["q2", "q2"])),
        ("corpus-id", texts(["d2", "d9"])),
        ("score", numbers([1, 1])),
    ]);
    let message = refused([("corpus", corpus()), ("queries", queries()), ("qrels", other)]);
    assert!(message.contains("it judges document `d9` and 0 more that are not there"), "{message}");
    let twice = parquet(vec![("_id", texts(["d2", "d2"])), ("text", texts(["a", "b"]))]);
    let message = refused([("corpus", twice), ("queries", queries()), ("qrels", qrels(names))]);
    assert!(message.contains("the id `d2` is there twice"), "{message}");
    let tab = parquet(vec![("query-id", texts(["q\t2"])), ("corpus-id", texts(["d2"])), ("score", numbers([1]))]);
    let message = refused([("corpus", corpus()), ("queries", queries()), ("qrels", tab)]);
    assert!(message.contains(r#"an id is "q\t2""#), "{message}");
    let words = parquet(vec![("query-id", texts(["q2"])), ("corpus-id", texts(["d2"])), ("score", texts(["much"]))]);
    let message = refused([("corpus", corpus()), ("queries", queries()), ("qrels", words)]);
    assert!(message.contains("a judgement of query `q2` is \"much\", expected a number"), "{message}");
}
