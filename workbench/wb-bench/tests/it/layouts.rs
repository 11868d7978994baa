//! Layouts that are found, refused, and listed as not run.

use std::{fs, io::Write, path::Path};

use serde_json::json;
use wb_bench::{
    BenchContestant, Benchmark, BenchmarkConfig, BenchmarkData,
    benchmarks::{CodeSearchNetConfig, PairsConfig},
};
use wb_core::{Pair, PairSet};
use wb_retrieval::Bm25Config;

use crate::support::{measure, plan, score};

fn function(index: usize, language: &str) -> String {
    json!({
        "url": format!("https://example.org/{language}/{index}"), "language": language, "func_name": format!("read{index}Words"),
        "code": format!("def read_{index}"), "code_tokens": ["def", format!("read_{index}"), "(", ")"],
        "docstring": "-", "docstring_tokens": ["reads", "number", index.to_string()],
    })
    .to_string()
        + "\n"
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut packer = flate2::write::GzEncoder::new(fs::File::create(path).unwrap(), flate2::Compression::fast());
        packer.write_all(text.as_bytes()).unwrap();
        packer.finish().unwrap();
    } else {
        fs::write(path, text).unwrap();
    }
}

fn rows(range: std::ops::Range<usize>, language: &str) -> String {
    range.map(|index| function(index, language)).collect()
}

#[test]
fn native_files_original_shards_and_what_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    write(&at("ruby/test.jsonl"), &rows(0..30, "ruby"));
    write(&at("ruby/valid.jsonl.gz"), &rows(30..40, "ruby"));
    write(&at("go/final/jsonl/test/go_test_1.jsonl.gz"), &rows(20..25, "go"));
    write(&at("go/final/jsonl/test/go_test_0.jsonl.gz"), &rows(0..20, "go"));
    let plan = plan(&BenchmarkConfig::named("codesearchnet").unwrap(), folder.path());
    let outcome = measure(&plan, &BenchContestant::Bm25(Bm25Config::default()));
    let pool = |id: &str, language: &str| score(&outcome, id, language, "mrr").pool;
    // Sorted files: go before ruby; "all" first, and a reduced batch stays reduced: 55, then 10 for ruby's 10.
    assert_eq!(pool("csn-1000", "all"), 55);
    assert_eq!(pool("csn-full", "go"), 25);
    let pools: Vec<(String, String, u64)> = outcome
        .protocols
        .iter()
        .filter(|score| score.id == "csn-1000")
        .map(|score| (score.language.clone(), score.split.clone(), score.pool))
        .collect();
    let row = |language: &str, split: &str, pool| (language.to_owned(), split.to_owned(), pool);
    assert_eq!(
        pools,
        [
            row("all", "test", 55),
            row("all", "valid", 10),
            row("go", "test", 10),
            row("ruby", "test", 10),
            row("ruby", "valid", 10)
        ]
    );
    // Validation first, then test, both splits searched.
    assert_eq!(pool("csn-clean-full", "ruby"), 40);
    let first = score(&outcome, "csn-full", "go", "mrr");
    assert_eq!(first.queries[0].id, "https://example.org/go/0");
    for (id, part) in [
        ("csn-clean-full", "go: only test.jsonl is there"),
        ("csn-ndcg-all", "annotated/corpus.jsonl"),
        ("advtest", "AdvTest/test.jsonl"),
        ("cosqa-6267", "code_idx_map.txt"),
        ("coir-csn", "coir-csn/{corpus.jsonl"),
        ("mteb-csn", "mteb-csn"),
    ] {
        assert!(
            outcome.not_run.iter().any(|not| not.id == id && not.reason.contains(part)),
            "{id}: {:?}",
            outcome.not_run
        );
    }
    let json = serde_json::to_value(&outcome).unwrap();
    for key in [
        "id",
        "language",
        "split",
        "pool",
        "metric",
        "value",
        "low",
        "high",
        "tie_best",
        "tie_worst",
        "deduplicated",
        "queries",
    ] {
        assert!(json["protocols"][0].get(key).is_some(), "{key}");
    }
    assert!(outcome.examples.len() == 16 && outcome.examples[0].returned.len() <= 3, "{}", outcome.examples.len());
}

#[test]
fn advtest_and_the_cleaned_release_are_recognised() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    write(&at("ruby/test.jsonl"), &rows(0..5, "ruby"));
    write(&at("ruby/codebase.jsonl"), &rows(0..50, "ruby"));
    write(&at("AdvTest/test.jsonl"), &rows(0..7, "python").replace("code_tokens", "function_tokens"));
    let plan = plan(&BenchmarkConfig::named("codesearchnet").unwrap(), folder.path());
    let outcome = measure(&plan, &BenchContestant::Bm25(Bm25Config::default()));
    assert_eq!(score(&outcome, "csn-clean-full", "ruby", "mrr").pool, 50);
    assert_eq!(score(&outcome, "advtest", "python", "mrr").pool, 7);
    assert!(outcome.protocols.iter().all(|score| score.id != "csn-full" || score.language == "ruby"));
}

#[test]
fn every_body_of_texts_is_audited_under_its_protocol() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    write(&at("python/test.jsonl"), &rows(0..5, "python"));
    write(&at("python/codebase.jsonl"), &rows(0..50, "python"));
    write(&at("AdvTest/test.jsonl"), &rows(60..67, "python"));
    for collection in ["coir-one", "coir-two"] {
        write(&at(collection).join("corpus.jsonl"), &format!("{{\"_id\": \"d\", \"text\": \"of {collection}\"}}\n"));
        write(&at(collection).join("queries.jsonl"), "{\"_id\": \"q\", \"text\": \"what is there\"}\n");
        write(&at(collection).join("qrels/test.tsv"), "query-id\tcorpus-id\tscore\nq\td\t1\n");
    }
    let plan = plan(&BenchmarkConfig::named("codesearchnet").unwrap(), folder.path());
    let outcome = measure(&plan, &BenchContestant::Bm25(Bm25Config::default()));
    let what = "documents equal to an earlier one in the pool: ";
    let audited: Vec<(&str, u64)> =
        outcome.audit.iter().filter_map(|line| Some((line.what.strip_prefix(what)?, line.of))).collect();
    // The rules of MTEB and of sentence-transformers measure the very texts of CoIR's.
    let expected = [
        ("csn-full python test", 5),
        ("csn-clean-full python test", 50),
        ("advtest python test", 7),
        ("coir-one all test", 1),
        ("coir-two all test", 1),
    ];
    assert_eq!(audited, expected);
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let config = CodeSearchNetConfig::default();
    let error = config.plan(BenchmarkData::Folder(folder.path())).unwrap_err();
    assert!(error.to_string().ends_with("no data of benchmark codesearchnet found"), "{error}");
    assert!(error.hint().unwrap().contains("LANGUAGE/test.jsonl"), "{error}");
    let gone = config.plan(BenchmarkData::Folder(&folder.path().join("gone"))).unwrap_err();
    assert!(gone.to_string().contains("gone"), "{gone}");
    write(
        &folder.path().join("ruby/test.jsonl"),
        &(rows(0..2, "ruby") + "{\"url\": \"u\", \"docstring_tokens\": []}\n"),
    );
    let error = config.plan(BenchmarkData::Folder(folder.path())).unwrap_err();
    assert!(error.to_string().contains("test.jsonl:3: no `code_tokens`"), "{error}");
    write(&folder.path().join("ruby/test.jsonl"), &rows(0..2, "ruby"));
    let wanted = CodeSearchNetConfig { languages: vec!["rubi".into()], ..CodeSearchNetConfig::default() };
    let error = wanted.plan(BenchmarkData::Folder(folder.path())).unwrap_err();
    assert_eq!(error.to_string(), "no language `rubi`");
    let raw =
        CodeSearchNetConfig { text: wb_bench::layouts::codesearchnet::TextMode::Raw, ..CodeSearchNetConfig::default() };
    let plan = raw.plan(BenchmarkData::Folder(folder.path())).unwrap();
    assert!(plan.warnings[0].starts_with("text raw:") && plan.settings.contains(&("text".into(), "raw".into())));
}

#[test]
fn pairs_are_a_benchmark_of_their_own() {
    let pair = |index: usize, language: &str| Pair {
        id: format!("{language}-{index}"),
        language: language.into(),
        anchor: format!("reads record number {index}"),
        positive: format!("fn read_record_{index}() {{}}"),
        ..Pair::default()
    };
    let pairs: Vec<Pair> =
        (0..1010).map(|index| pair(index, "rust")).chain((0..5).map(|index| pair(index + 5000, "go"))).collect();
    let set = PairSet::new(pairs).unwrap();
    let config = PairsConfig::default();
    let plan = config.plan(BenchmarkData::Pairs(&set)).unwrap();
    let outcome = measure(&plan, &BenchContestant::Bm25(Bm25Config::default()));
    let row = |id: &str, language: &str| {
        let score = score(&outcome, id, language, "mrr");
        (score.pool, score.n_queries)
    };
    assert_eq!(row("pairs-full", "all"), (1015, 1015));
    assert_eq!(row("pairs-1000", "all"), (1000, 1000));
    assert_eq!(row("pairs-1000", "rust"), (1000, 1000));
    assert_eq!(row("pairs-1000", "go"), (5, 5));
    assert!(score(&outcome, "pairs-full", "all", "mrr").value > 0.99);
    assert!(config.plan(BenchmarkData::Pairs(&PairSet::default())).is_err());
}

#[test]
fn runs_are_written_for_other_tools() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("go/valid.jsonl"), &rows(0..12, "go"));
    let plan = plan(&BenchmarkConfig::named("codesearchnet").unwrap(), folder.path());
    let scorer = BenchContestant::Bm25(Bm25Config::default()).prepare(&plan.texts, &mut |_| ()).unwrap();
    let out = folder.path().join("run.txt");
    assert_eq!(wb_bench::write_trec(&plan, &scorer, &out, &mut |_| ()).unwrap(), ("csn-full".to_owned(), 12));
    let text = fs::read_to_string(out).unwrap();
    let first: Vec<&str> = text.lines().next().unwrap().split(' ').collect();
    assert_eq!((first[0], first[1], first[3], first[5]), ("https://example.org/go/0", "Q0", "1", "bm25"));
}

#[test]
fn what_a_reader_would_find_is_known_by_the_names_of_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    let is_in = |name: &str, place: &str| BenchmarkConfig::named(name).unwrap().benchmark().is_in(&at(place)).unwrap();
    // A folder of the right name and without the files is none.
    fs::create_dir_all(at("codesearchnet/ruby")).unwrap();
    write(&at("codesearchnet/README.md"), "to be put here");
    write(&at("cosqa/code_idx_map.txt"), "{}");
    for name in ["codesearchnet", "cosqa", "beir", "pairs"] {
        assert!(!is_in(name, "nowhere") && !is_in(name, "codesearchnet") && !is_in(name, "cosqa"), "{name}");
    }
    write(&at("codesearchnet/ruby/valid.jsonl.gz"), "");
    write(&at("shards/go/final/jsonl/test/go_test_0.jsonl.gz"), "");
    write(&at("judged/annotated/corpus.jsonl"), "");
    write(&at("judged/annotated/qrels.jsonl"), "");
    write(&at("cosqa/cosqa-retrieval-dev-500.json"), "[]");
    for file in ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"] {
        write(&at("collection").join(file), "");
    }
    for place in ["codesearchnet", "shards", "judged", "cosqa", "collection"] {
        assert!(is_in("codesearchnet", place), "{place}");
    }
    assert!(is_in("cosqa", "cosqa") && !is_in("cosqa", "codesearchnet"));
    assert!(is_in("beir", "collection") && !is_in("beir", "judged"));
    assert!(!is_in("pairs", "collection"));
}
