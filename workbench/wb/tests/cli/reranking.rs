//! Benchmarks whose first documents a cross-encoder orders: the metrics of sentence-transformers, records, refusals.

use std::fs;

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, has};

fn golden() -> Value {
    serde_json::from_str(include_str!("../golden/reranked.json")).unwrap()
}

/// A project with an encoder `bert/`, a cross-encoder `cross/`, and the pairs of the golden file.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.golden_rescoring(&golden());
    sandbox
}

const BENCH: [&str; 8] = ["bench", "pairs", "--dataset", "pairs.jsonl", "--encoder", "bert", "--json", "both.json"];

fn of_metric<'o>(outcome: &'o Value, metric: &str) -> &'o Value {
    let is = |score: &&Value| score["id"] == "pairs-full" && score["metric"] == metric;
    outcome["protocols"].as_array().unwrap().iter().find(is).unwrap()
}

/// The mean of a metric's values over queries whose rank is at most `k`: those below count 0 in the reference.
fn within(score: &Value, k: u64) -> f64 {
    let queries = score["queries"].as_array().unwrap();
    let found = queries.iter().filter(|query| (1..=k).contains(&query["rank"].as_u64().unwrap()));
    found.map(|query| query["value"].as_f64().unwrap()).sum::<f64>() / queries.len() as f64
}

#[test]
fn metrics_of_the_first_documents_are_those_of_sentence_transformers() {
    let sandbox = project();
    let golden = golden();
    let cases = golden["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 3);
    for case in cases {
        let top = case["top"].as_u64().unwrap();
        let k = top.to_string();
        sandbox.says(&[&BENCH[..], &["--rerank", "cross", "--rerank-top", &k]].concat(), &["bert + cross"]);
        let both = sandbox.json("both.json");
        let [plain, reranked] = both.as_array().unwrap().as_slice() else { panic!("{both}") };
        assert_eq!((&plain["contestant"], &reranked["contestant"]), (&json!("bert"), &json!("bert + cross")));
        for metric in ["mrr", "ndcg@10"] {
            let (ours, theirs) = (within(of_metric(reranked, metric), top), case[metric].as_f64().unwrap());
            assert!((ours - theirs).abs() <= 1e-9, "{metric} of {top}: {ours} {theirs}");
        }
        // Answers below stay where they were.
        let ranks = |outcome: &Value| -> Vec<u64> {
            let queries = of_metric(outcome, "mrr")["queries"].as_array().unwrap();
            queries.iter().map(|query| query["rank"].as_u64().unwrap()).collect()
        };
        for (before, after) in ranks(plain).into_iter().zip(ranks(reranked)) {
            assert!(if before > top { after == before } else { after <= top }, "{before} {after} of {top}");
        }
        let settings = reranked["settings"].to_string();
        has(&settings, &[r#"["contestant.reranker","cross"]"#, &format!(r#"["contestant.reranked documents","{k}"]"#)]);
        has(&settings, &["contestant.reranker fingerprint"]);
        assert!(!plain["settings"].to_string().contains("rerank"), "{plain}");
    }
}

#[test]
fn scores_are_kept_and_every_contestant_is_reranked() {
    let sandbox = project();
    let bench = [&BENCH[..], &["--rerank", "cross", "--rerank-top", "5"]].concat();
    sandbox.succeeds(&bench);
    let names = sandbox.names("datasets/prepared/scores");
    assert_eq!(names.len(), 1, "{names:?}");
    let kept = sandbox.path("datasets/prepared/scores").join(&names[0]);
    let (first, size) = (sandbox.json("both.json"), fs::metadata(&kept).unwrap().len());
    let reranked = 5 * golden()["pairs"].as_array().unwrap().len() as u64;
    assert_eq!(size, 16 + 24 * reranked);
    // Half of them are scored again after a stop, to the same numbers.
    fs::OpenOptions::new().write(true).open(&kept).unwrap().set_len(size / 2).unwrap();
    sandbox.succeeds(&bench);
    assert_eq!((sandbox.json("both.json"), fs::metadata(&kept).unwrap().len()), (first, size));
    let words = ["bench", "pairs", "--dataset", "pairs.jsonl", "--retriever", "bm25", "--rerank", "cross"];
    sandbox.says(&words, &["bm25 + cross"]);
}

#[test]
fn what_cannot_be_reranked_is_told_before_anything_is_computed() {
    let sandbox = project();
    let before = sandbox.listing();
    sandbox.refuses_with(&[&BENCH[..], &["--rerank", "nowhere"]].concat(), &["cannot read --rerank", "nowhere"]);
    sandbox.refuses_with(&[&BENCH[..], &["--rerank", "bert"]].concat(), &["cannot read --rerank"]);
    sandbox.refuses_with(&[&BENCH[..], &["--rerank-top", "5"]].concat(), &["--rerank"]);
    let sql = ["bench", "spider", "--predictions", "p.sql", "--rerank", "cross"];
    sandbox.refuses_with(&sql, &["--rerank is for benchmarks of retrieval: spider judges the SQL"]);
    assert_eq!(sandbox.listing(), before);
}

/// The benchmark after the one that can be reranked: nothing is scored for the first either.
#[test]
fn a_later_benchmark_without_a_pool_is_told_before_the_first_is_measured() {
    let sandbox = project();
    sandbox.succeeds(&["train", "tiny.yaml", "train.epochs=1"]);
    let annotated = "datasets/external/codesearchnet/annotated";
    let function = json!({ "id": "f", "language": "ruby", "url": "https://example.org/f", "code": "def read" });
    sandbox.write(&format!("{annotated}/corpus.jsonl"), format!("{function}\n"));
    let rows = "Language,Query,GitHubUrl,Relevance\nRuby,read a file,https://example.org/f,3\n";
    sandbox.write(&format!("{annotated}/annotationStore.csv"), rows);
    sandbox.write(&format!("{annotated}/queries.csv"), "query\nread a file\n");
    let both = ["bench", "pairs", "codesearchnet", "--retriever", "bm25"];
    sandbox.succeeds(&both);
    for more in [["--rerank", "cross"], ["--trec", "out.trec"]] {
        let expected = format!("{}: no protocol of codesearchnet that can be run here ranks a whole pool", more[0]);
        sandbox.fails_with(&[&both[..], &more].concat(), &[&expected]);
    }
    // The file of kept scores has its head and no score.
    for name in sandbox.names("datasets/prepared/scores") {
        let kept = sandbox.path("datasets/prepared/scores").join(name);
        assert!(fs::metadata(&kept).unwrap().len() <= 16, "{}", kept.display());
    }
    assert!(!sandbox.path("out.trec").exists());
}

#[test]
fn search_has_its_first_answers_read_where_that_is_asked_for() {
    let sandbox = project();
    sandbox.write("two/a.rs", "/// Reads a file.\npub fn read_file() {}\n");
    sandbox.write("two/b.rs", "/// Writes a file.\npub fn write_file() {}\n");
    let read = ["search", "read a file", "--project", "two", "--explain", "--rerank", "cross"];
    assert!(!sandbox.wb(&read[..5]).contains(", read "));
    sandbox.says(&read, &[", read 1.00, ", ", read 0.00, "]);
    sandbox.write("w.yaml", include_str!("../../../wb-search/src/ranking/weights.yaml").replace("rerank: 0.3", ""));
    sandbox.refuses_with(&[&read[..], &["--weights", "w.yaml"]].concat(), &["`rerank: 0`, expected more than 0"]);
    let bench = ["bench", "search", "--set", "own", "--dataset", "two", "--rerank", "cross"];
    sandbox.says(&bench, &["reranked", "read by cross minus wb search, no model, on the questions of both"]);
    let tuned = sandbox.wb(&["search", "tune", "own=two", "--rerank", "cross"]);
    has(&tuned, &["cross has the weight 0: a gain has to hold on sets that", "\nout: rerank: 0.0\n"]);
}
