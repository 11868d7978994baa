//! Numbers of pairs and texts of an experiment: counted where its pairs are prepared, assumed from files where they
//! are not.

use std::path::Path;

use anyhow::Result;
use wb_bench::BenchmarkConfig;
use wb_code::TreeConfig;
use wb_core::remote;
use wb_data::split::SplitConfig;

use super::{
    estimate::{BenchWork, Reading},
    files,
};
use crate::{
    config::{BenchEntry, ContestantName, Experiment, SourceChoice},
    data,
};

/// Bytes of a function in CoSQA's map of functions.
const COSQA_BYTES: f64 = 400.0;
/// Bytes of a unit of a repository.
const UNIT_BYTES: f64 = 750.0;
/// Queries of CoSQA's two splits.
const COSQA_QUERIES: f64 = 1000.0;

/// Pairs of each split.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PairCounts {
    /// Pairs to learn from.
    pub train: f64,
    /// Pairs to validate on while training.
    pub validation: f64,
    /// Pairs to measure on.
    pub test: f64,
    /// True where the numbers come from sizes of files, before any gate.
    pub assumed: bool,
}

impl PairCounts {
    /// Numbers of prepared pairs, by their card.
    pub fn prepared(folder: &Path) -> Result<Self> {
        let card = data::card(folder)?;
        let of = |name: &str| card.splits.get(name).map_or(0.0, |split| split.pairs as f64);
        Ok(Self { train: of("train"), validation: of("validation"), test: of("test"), assumed: false })
    }

    /// Numbers that splits make of so many pairs, none of which a gate throws away.
    pub fn of(split: &SplitConfig, pairs: f64) -> Self {
        let at_most = |pairs: f64, most: usize| if most == 0 { pairs } else { pairs.min(most as f64) };
        Self {
            train: pairs * (1.0 - split.validation - split.test).max(0.0),
            validation: at_most(pairs * split.validation, split.max_validation),
            test: at_most(pairs * split.test, split.max_test),
            assumed: true,
        }
    }
}

/// Bytes to read, and the pairs that they are assumed to hold; no pairs where a source does not tell.
pub fn sources(sources: &[SourceChoice]) -> Result<(Reading, Option<f64>)> {
    let mut reading = Reading { threads: rayon::current_num_threads() as f64, ..Reading::default() };
    let mut pairs = 0.0;
    for source in sources {
        let Some(found) = files::of_source(source)? else {
            reading.incomplete = true;
            continue;
        };
        pairs += found.records;
        match source {
            SourceChoice::Code(_) => reading.code += found.bytes,
            _ => reading.records += found.bytes,
        }
    }
    Ok((reading, (!reading.incomplete).then_some(pairs)))
}

/// Pairs that one source is assumed to hold, by the sizes of its files; nothing where they do not tell.
pub fn assumed_pairs(source: &SourceChoice) -> Result<Option<f64>> {
    Ok(sources(std::slice::from_ref(source))?.1)
}

/// The benchmarks of an experiment, `test` being its own test pairs where their number is known.
pub fn benches(experiment: &Experiment, test: Option<f64>) -> Result<Vec<BenchWork>> {
    let measured = &experiment.bench.contestants;
    let trained = measured.contains(&ContestantName::Trained) || measured.contains(&ContestantName::Fused);
    let encoders = f64::from(u8::from(trained)) + f64::from(u8::from(measured.contains(&ContestantName::Untrained)));
    let bench = |entry: &BenchEntry| {
        let name = entry.benchmark.benchmark().card().name.to_owned();
        let texts = match &entry.benchmark {
            BenchmarkConfig::Search(search) => {
                units(experiment, entry)?.map(|units| (3.0 * search.questions as f64, units))
            }
            _ => texts(entry, test)?,
        };
        Ok(BenchWork { name, texts, encoders })
    };
    experiment.bench.benchmarks.iter().map(bench).collect()
}

/// Units of the repository that `search` asks.
fn units(experiment: &Experiment, entry: &BenchEntry) -> Result<Option<f64>> {
    let tree = match (&entry.dataset, &experiment.data) {
        (Some(folder), _) => TreeConfig { path: Some(folder.display().to_string()), ..TreeConfig::default() },
        (None, Some(data)) => data.repository()?.0.clone(),
        (None, None) => return Ok(None),
    };
    Ok(files::of_source(&SourceChoice::Code(tree))?.map(|found| found.bytes / UNIT_BYTES))
}

/// Queries and documents of a benchmark.
fn texts(entry: &BenchEntry, test: Option<f64>) -> Result<Option<(f64, f64)>> {
    let Some(folder) = &entry.dataset else {
        let pairs = if entry.sources.is_empty() { test } else { sources(&entry.sources)?.1 };
        return Ok(pairs.map(|pairs| (pairs, pairs)));
    };
    if !files::is_here(folder)? {
        return Ok(None);
    }
    let folder = &remote::local(folder)?;
    let all = files::below(folder);
    let records = |wanted: &dyn Fn(&str) -> bool| files::of_files(folder, &all, wanted).records;
    let (queries, documents) = match &entry.benchmark {
        BenchmarkConfig::Cosqa(_) => {
            let map = all.iter().find(|path| path.ends_with("code_idx_map.txt"));
            let bytes = map.and_then(|path| std::fs::metadata(path).ok()).map_or(0, |file| file.len());
            (COSQA_QUERIES, bytes as f64 / COSQA_BYTES)
        }
        BenchmarkConfig::Codesearchnet(_) => {
            // Functions of the held-out splits, whose descriptions are the queries.
            let records = records(&|path| !path.contains("train") && path.contains(".jsonl"));
            (records, records)
        }
        // They take no folder of texts.
        BenchmarkConfig::Pairs(_) | BenchmarkConfig::Search(_) => return Ok(None),
        // BEIR's layout.
        _ => (records(&|path| path.contains("queries.jsonl")), records(&|path| path.contains("corpus.jsonl"))),
    };
    Ok((queries > 0.0 && documents > 0.0).then_some((queries, documents)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_are_shares_of_all_pairs_and_have_limits() {
        let shares = serde_json::from_str(r#"{"validation": 0.1, "test": 0.2, "max_test": 150}"#).unwrap();
        let sizes = PairCounts::of(&shares, 1000.0);
        assert!((sizes.train - 700.0).abs() < 1e-9, "{sizes:?}");
        assert_eq!((sizes.validation, sizes.test, sizes.assumed), (100.0, 150.0, true));
        assert_eq!(PairCounts::of(&shares, 0.0).train, 0.0);
    }

    #[test]
    fn a_benchmark_is_counted_once_for_each_encoder() {
        let mut experiment = Experiment::default();
        let found = benches(&experiment, Some(80.0)).unwrap();
        assert_eq!(found, [BenchWork { name: "pairs".to_owned(), texts: Some((80.0, 80.0)), encoders: 2.0 }]);
        experiment.bench.contestants = vec![ContestantName::Bm25, ContestantName::Fused];
        assert_eq!(benches(&experiment, None).unwrap()[0].encoders, 1.0);
        assert_eq!(benches(&experiment, None).unwrap()[0].texts, None);
    }

    #[test]
    fn files_of_benchmarks_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, lines: usize| std::fs::write(folder.path().join(name), "{}\n".repeat(lines)).unwrap();
        write("corpus.jsonl", 30);
        write("queries.jsonl", 7);
        let json =
            format!(r#"{{"benchmark": {{"beir": {{}}}}, "dataset": {:?}}}"#, folder.path().display().to_string());
        let entry: BenchEntry = serde_json::from_str(&json).unwrap();
        assert_eq!(texts(&entry, None).unwrap(), Some((7.0, 30.0)));
        let json = json.replace("beir", "codesearchnet");
        let entry: BenchEntry = serde_json::from_str(&json).unwrap();
        assert_eq!(texts(&entry, None).unwrap(), Some((37.0, 37.0)));
        let entry: BenchEntry = serde_json::from_str(&json.replace("codesearchnet", "cosqa")).unwrap();
        assert_eq!(texts(&entry, None).unwrap(), None, "its data is not there");
    }
}
