//! BM25 on real code search data, where it lies beside the checkout.

use std::{collections::BTreeMap, io::Write, path::PathBuf};

use ndarray::ArrayView1;
use serde_json::Value;
use wb_core::progress::silent;
use wb_core::statistics::bootstrap_interval;
use wb_retrieval::{Bm25Config, JudgedRanking, Metric, Retriever};

fn shared(test: &str) -> Option<PathBuf> {
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("WB_SHARED").map_or_else(beside, PathBuf::from);
    if folder.join("data").is_dir() {
        return Some(folder.join("data"));
    }
    // Past the capture of test output, so that skipped tests are seen and counted.
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: no data in {}", folder.display());
    None
}

/// MRR over the whole pool, 1 + strictly better, and the mean over all orders of ties.
fn mrr(documents: &[String], queries: &[&str], answers: &[usize]) -> (f64, f64) {
    let bm25 = Bm25Config::default().init(documents, &mut silent).unwrap();
    let scores = bm25.scores(queries, &mut silent).unwrap();
    let of_query = |(row, answer): (ArrayView1<'_, f32>, &usize)| {
        let tied = Metric::Mrr(None).of(&JudgedRanking::by_score(row.to_slice().unwrap(), &[(*answer, 1.0)]));
        (tied.best, tied.expected)
    };
    let (best, expected): (Vec<f64>, Vec<f64>) = scores.rows().into_iter().zip(answers).map(of_query).unzip();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let interval = bootstrap_interval(&best, 0.95, 1000, wb_core::Seed(1));
    assert!(interval.low < mean(&best) && mean(&best) < interval.high);
    (mean(&best), mean(&expected))
}

#[test]
fn cosqa_dev() {
    let Some(data) = shared("cosqa_dev") else { return };
    let read = |name: &str| std::fs::read_to_string(data.join("cosqa").join(name)).unwrap();
    let pool: BTreeMap<String, usize> = serde_json::from_str(&read("code_idx_map.txt")).unwrap();
    let mut documents = vec![String::new(); pool.len()];
    for (code, position) in pool {
        documents[position] = code;
    }
    let rows: Vec<Value> = serde_json::from_str(&read("cosqa-retrieval-dev-500.json")).unwrap();
    let queries: Vec<&str> = rows.iter().map(|row| row["doc"].as_str().unwrap()).collect();
    let answers: Vec<usize> = rows.iter().map(|row| row["retrieval_idx"].as_u64().unwrap() as usize).collect();
    let (best, expected) = mrr(&documents, &queries, &answers);
    assert!((best - 0.3505).abs() < 0.0005 && (expected - 0.3499).abs() < 0.0005, "{best} {expected}");
}

#[test]
fn codesearchnet_ruby_valid() {
    let Some(data) = shared("codesearchnet_ruby_valid") else { return };
    let text = std::fs::read_to_string(data.join("codesearchnet/ruby/valid.jsonl")).unwrap();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let documents: Vec<String> = rows.iter().map(|row| row["code"].as_str().unwrap().to_owned()).collect();
    let queries: Vec<&str> = rows.iter().map(|row| row["docstring"].as_str().unwrap()).collect();
    let (best, expected) = mrr(&documents, &queries, &(0..rows.len()).collect::<Vec<_>>());
    assert!(best > 0.5 && expected > 0.5 && best >= expected, "{best} {expected}");
}
