//! Made-up vectors with many ties; expected values by `scripts/golden-bench.py`.

use std::{collections::BTreeMap, collections::HashMap, fs};

use serde::Deserialize;
use serde_json::json;
use wb_bench::{
    BenchContestant, BenchmarkConfig,
    benchmarks::BeirConfig,
    protocols::{
        Context, Protocol,
        csn_1000::{BatchFunction, Csn1000},
        ranked::{PoolQuery, QueryPool, RankedProtocol, TieTreatment},
    },
    texts::BenchmarkTexts,
};
use wb_core::Seed;
use wb_retrieval::{Metric, TieRule};

use crate::support::{Known, close, golden, measure, plan, score};

#[derive(Deserialize)]
struct Csn1000Case {
    code: Vec<Option<Vec<f32>>>,
    query: Vec<Option<Vec<f32>>>,
    batch: usize,
    mrr: f64,
    ranks: Vec<(usize, u64)>,
}

#[test]
fn csn_1000_equals_scipy_and_numpy_with_ties_and_missing_texts() {
    for (index, case) in golden::<Vec<Csn1000Case>>("csn-1000.json").into_iter().enumerate() {
        let mut texts = BenchmarkTexts::default();
        let mut vectors = HashMap::new();
        let mut functions = Vec::new();
        for (row, (code, query)) in case.code.iter().zip(&case.query).enumerate() {
            let mut number = |side: &str, vector: &Option<Vec<f32>>| {
                let vector = vector.as_ref()?;
                let text = format!("{side} {row}");
                vectors.insert(text.clone(), vector.clone());
                Some(if side == "code" { texts.documents.number(&text) } else { texts.queries.number(&text) })
            };
            functions.push(BatchFunction {
                id: row.to_string(),
                code: number("code", code),
                query: number("query", query),
            });
        }
        let known = Known { dim: 3, vectors };
        let scorer = BenchContestant::Encoder(&known).prepare(&texts, &mut |_| ()).unwrap();
        let (id, language, split) = ("csn-1000".to_owned(), "made-up".to_owned(), "test".to_owned());
        let protocol = Csn1000 { id, description: "", language, split, functions, batch: case.batch };
        let measured = protocol.measure(&scorer, Context { seed: Seed(0) }).unwrap();
        let [score] = measured.scores.as_slice() else { panic!("one score") };
        let ranks: Vec<(usize, u64)> =
            score.queries.iter().map(|query| (query.id.parse().unwrap(), query.rank)).collect();
        assert_eq!(ranks, case.ranks, "case {index}");
        close(score.value, case.mrr, 1e-12, "mrr");
        assert!(score.tie_best > 1.1 * score.value && score.tie_worst == score.value, "case {index}: ties");
        assert!(score.tie_best >= score.tie_expected && score.tie_expected >= score.tie_worst);
    }
}

#[derive(Deserialize)]
struct ArgsortCase {
    documents: Vec<Vec<f32>>,
    queries: Vec<Vec<f32>>,
    answers: Vec<usize>,
    ranks: Vec<u64>,
    mrr: f64,
}

#[test]
fn ranks_equal_an_argsort_read_backwards() {
    for case in golden::<Vec<ArgsortCase>>("argsort.json") {
        let mut texts = BenchmarkTexts::default();
        let mut vectors = HashMap::new();
        let mut part = QueryPool::default();
        for (index, vector) in case.documents.iter().enumerate() {
            let text = format!("document {index}");
            part.ids.push(index.to_string());
            part.texts.push(texts.documents.number(&text));
            vectors.insert(text, vector.clone());
        }
        for (index, (vector, answer)) in case.queries.iter().zip(&case.answers).enumerate() {
            let text = format!("query {index}");
            let number = texts.queries.number(&text);
            part.queries.push(PoolQuery {
                id: index.to_string(),
                text: number,
                relevant: vec![(*answer, 1.0)],
                missing: vec![],
            });
            vectors.insert(text, vector.clone());
        }
        let ranked = RankedProtocol {
            id: "argsort".into(),
            description: "",
            language: String::new(),
            split: String::new(),
            parts: vec![part],
            ties: TieTreatment::Ordered(TieRule::LastPosition),
            ignore_identical_ids: false,
            metrics: vec![("mrr".into(), Metric::Mrr(Some(1000)))],
        };
        let known = Known { dim: 4, vectors };
        let scorer = BenchContestant::Encoder(&known).prepare(&texts, &mut |_| ()).unwrap();
        let scores = ranked.measure(&scorer, Context { seed: Seed(0) }).unwrap().scores;
        assert_eq!(scores[0].queries.iter().map(|query| query.rank).collect::<Vec<_>>(), case.ranks);
        close(scores[0].value, case.mrr, 1e-12, "mrr");
    }
}

#[derive(Deserialize)]
struct BeirCase {
    corpus: Vec<serde_json::Value>,
    queries: Vec<serde_json::Value>,
    qrels: BTreeMap<String, BTreeMap<String, i64>>,
    vectors: HashMap<String, Vec<f32>>,
    coir: BTreeMap<String, f64>,
    mteb: BTreeMap<String, f64>,
    st: BTreeMap<String, f64>,
}

#[test]
fn three_evaluators_rules_on_one_data_set() {
    let case: BeirCase = golden("beir.json");
    let folder = tempfile::tempdir().unwrap();
    let lines = |records: &[serde_json::Value]| records.iter().map(|record| format!("{record}\n")).collect::<String>();
    fs::write(folder.path().join("corpus.jsonl"), lines(&case.corpus)).unwrap();
    fs::write(folder.path().join("queries.jsonl"), lines(&case.queries)).unwrap();
    fs::create_dir(folder.path().join("qrels")).unwrap();
    let mut table = String::from("query-id\tcorpus-id\tscore\n");
    for (query, grades) in &case.qrels {
        grades.iter().for_each(|(document, grade)| table += &format!("{query}\t{document}\t{grade}\n"));
    }
    fs::write(folder.path().join("qrels/test.tsv"), table).unwrap();
    let config = BenchmarkConfig::Beir(BeirConfig { name: "small".into(), ..BeirConfig::default() });
    let plan = plan(&config, folder.path());
    assert!(plan.warnings[0].contains("1 judgements"), "{:?}", plan.warnings);
    let known = Known { dim: 4, vectors: case.vectors };
    let outcome = measure(&plan, &BenchContestant::Encoder(&known));
    for (rules, expected) in [("coir", &case.coir), ("mteb", &case.mteb), ("st", &case.st)] {
        for (metric, value) in expected {
            let got = score(&outcome, &format!("{rules}-small"), "all", metric);
            close(got.value, *value, 1e-9, &format!("{rules} {metric}"));
        }
    }
    assert_eq!(score(&outcome, "coir-small", "all", "ndcg@10").n_queries, 14);
    assert_eq!(score(&outcome, "st-small", "all", "ndcg@10").n_queries, 13);
    assert!(outcome.warnings.iter().any(|warning| warning.contains("equal scores leave it between")));
}

#[test]
fn duplicates_are_taken_out_of_the_pool() {
    // Two copies of the answer's text and one better document, twice: 2 1 1 by rank.
    let folder = tempfile::tempdir().unwrap();
    let texts = ["better", "answer", "answer", "better"];
    let record = |(line, text): (usize, &&str)| json!({"url": format!("u{line}"), "language": "go", "func_name": "f", "code_tokens": [text], "docstring_tokens": ["asked"]});
    let lines: String = texts.iter().enumerate().map(|row| format!("{}\n", record(row))).collect();
    fs::create_dir(folder.path().join("go")).unwrap();
    fs::write(folder.path().join("go/test.jsonl"), lines).unwrap();
    let vector = |x: f32, y: f32| vec![x, y];
    let vectors = [
        ("better", vector(1.0, 0.0)),
        ("answer", vector(1.0, 1.0)),
        ("asked", vector(1.0, 0.25)),
        ("f", vector(1.0, 0.0)),
    ];
    let known = Known { dim: 2, vectors: vectors.map(|(text, vector)| (text.to_owned(), vector)).into() };
    let plan = plan(&BenchmarkConfig::named("codesearchnet").unwrap(), folder.path());
    let outcome = measure(&plan, &BenchContestant::Encoder(&known));
    let mrr = score(&outcome, "csn-full", "go", "mrr");
    // Of the four documents, both `better` rank 1 and tie, both `answer` rank 3 and tie.
    assert_eq!(mrr.queries.iter().map(|query| query.rank).collect::<Vec<_>>(), [1, 3, 3, 1]);
    close(mrr.value, (1.0 + 1.0 + 2.0 / 3.0) / 4.0, 1e-12, "best");
    close(mrr.tie_worst, (0.5 + 0.5 + 0.25 + 0.25) / 4.0, 1e-12, "worst");
    close(mrr.tie_expected, (0.75 * 2.0 + (1.0 / 3.0 + 0.25)) / 4.0, 1e-12, "expected");
    // Without duplicates each text stands once: ranks 1 2 2 1.
    close(mrr.deduplicated.unwrap(), 0.75, 1e-12, "deduplicated");
    // In csn-1000 the queries are the pool, all of one text: every rank is 4, and 1 without duplicates.
    let csn = score(&outcome, "csn-1000", "go", "mrr");
    assert_eq!((csn.pool, csn.value, csn.deduplicated), (4, 0.25, Some(1.0)));
    let line = outcome.audit.iter().find(|line| line.what.starts_with("documents equal")).unwrap();
    assert_eq!((line.count, line.of), (2, 4));
}
