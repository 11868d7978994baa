//! A repository's own questions: of files that were not trained on, by words and with vectors.

use std::{
    collections::{HashMap, HashSet},
    fs,
};

use wb_bench::{BenchContestant, Benchmark, BenchmarkData, BenchmarkPlan, benchmarks::SearchConfig};
use wb_retrieval::Bm25Config;

use crate::support::{Known, measure, score};

const STORE: &str = "/// Reads all records of the store.\nfn load() -> u8 {\n    1\n}\n";
const LOG: &str = "/// Writes down what happened today.\nfn tell() -> u8 {\n    2\n}\n";

/// A plan in which only `a.rs` may be asked for.
fn plan() -> BenchmarkPlan {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.rs"), STORE).unwrap();
    fs::write(folder.path().join("b.rs"), LOG).unwrap();
    let trained_on = HashSet::from(["b.rs".to_owned(), "gone.rs".to_owned()]);
    let data = BenchmarkData::Repository { folder: folder.path(), trained_on: &trained_on };
    SearchConfig::default().plan(data).unwrap()
}

#[test]
fn only_files_that_were_not_trained_on_are_asked_for_and_all_are_searched() {
    let plan = plan();
    let ids: Vec<String> = plan.protocols.iter().map(|one| one.protocol().id().to_owned()).collect();
    assert_eq!(ids, ["search-questions", "search-docstring", "search-symbol"]);
    assert_eq!(plan.not_run[0].id, "search-commit");
    assert!(plan.settings.contains(&("files trained on".into(), "1 of 2".into())), "{:?}", plan.settings);
    // The documentation of what is asked for is not there to be read, that of the others is.
    let texts = plan.texts.documents.as_strs();
    assert!(texts.len() == 2 && !texts[0].contains("Reads all") && texts[1].contains("Writes down"), "{texts:?}");
    assert_eq!(plan.texts.queries.as_strs(), ["Reads all records of the store", "load"]);
}

/// No unit has a word of the documentation that was taken out; by meaning, the one that is meant is found.
#[test]
fn vectors_are_part_of_the_ranking_and_bm25_is_the_ranking_without() {
    let plan = plan();
    let words = measure(&plan, &BenchContestant::Bm25(Bm25Config::default()));
    let value = |outcome, id, metric| score(outcome, id, "all", metric).value;
    assert_eq!((value(&words, "search-docstring", "mrr"), value(&words, "search-symbol", "mrr")), (0.0, 1.0));
    let texts = plan.texts.documents.as_strs();
    let mut vectors = HashMap::new();
    vectors.insert(texts[0].to_owned(), vec![2.0, 0.0]);
    vectors.insert(texts[1].to_owned(), vec![0.0, 1.0]);
    plan.texts.queries.as_strs().iter().for_each(|text| _ = vectors.insert((*text).to_owned(), vec![3.0, 0.0]));
    let known = Known { dim: 2, vectors };
    let meaning = measure(&plan, &BenchContestant::Encoder(&known));
    assert_eq!((value(&meaning, "search-questions", "mrr"), value(&meaning, "search-symbol", "mrr")), (1.0, 1.0));
    let found = score(&meaning, "search-docstring", "all", "mrr");
    assert_eq!((found.pool, found.queries[0].rank, found.queries[0].id.as_str()), (2, 1, "docstring:0"));
}

#[test]
fn what_the_ranking_cannot_take_is_refused() {
    let plan = plan();
    let known = BenchContestant::Bm25(Bm25Config::default()).prepare(&plan.texts, &mut |_| ()).unwrap();
    let zero = Known { dim: 2, vectors: plan_vectors(&plan) };
    let scorer = BenchContestant::Encoder(&zero).prepare(&plan.texts, &mut |_| ()).unwrap();
    let fused = scorer.with_bm25(Bm25Config::default(), Default::default());
    let options = wb_bench::Options::default();
    assert!(wb_bench::run(&plan, &known, &[], options, &mut |_| ()).is_ok());
    let error = wb_bench::run(&plan, &fused, &[], options, &mut |_| ()).unwrap_err();
    assert!(error.to_string().starts_with("bm25+known cannot be measured by `search`"), "{error}");
    assert_eq!(error.hint().unwrap(), "bench.contestants=[bm25, untrained, trained]");
}

fn plan_vectors(plan: &BenchmarkPlan) -> HashMap<String, Vec<f32>> {
    let texts = [&plan.texts.documents, &plan.texts.queries].into_iter().flat_map(|side| side.as_strs());
    texts.map(|text| (text.to_owned(), vec![1.0, 0.0])).collect()
}
