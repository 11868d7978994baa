//! An encoder that knows its texts, and data in temporary folders.

use std::{collections::HashMap, io::Write, path::PathBuf};

use ndarray::Array2;
use serde::de::DeserializeOwned;
use wb_bench::{BenchContestant, BenchmarkConfig, BenchmarkData, BenchmarkPlan, Options, audits};
use wb_core::{
    Embeddings, Encoder, Progress, Side,
    fingerprint::Fingerprint,
    records::outcome::{ContestantOutcome, ProtocolScore},
};

/// Looks vectors up by text.
pub struct Known {
    pub dim: usize,
    pub vectors: HashMap<String, Vec<f32>>,
}

impl Encoder for Known {
    fn name(&self) -> String {
        "known".into()
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_bytes(b"known")
    }

    fn encode(
        &self,
        texts: &[&str],
        _side: Side,
        _progress: &mut dyn FnMut(Progress),
    ) -> Result<Embeddings, Box<dyn std::error::Error + Send + Sync>> {
        let mut matrix = Array2::zeros((texts.len(), self.dim));
        for (mut row, text) in matrix.rows_mut().into_iter().zip(texts) {
            let vector = self.vectors.get(*text).ok_or_else(|| format!("no vector for {text:?}"))?;
            row.iter_mut().zip(vector).for_each(|(to, from)| *to = *from);
        }
        Ok(Embeddings::dense(matrix))
    }
}

pub fn plan(config: &BenchmarkConfig, folder: &std::path::Path) -> BenchmarkPlan {
    config.benchmark().plan(BenchmarkData::Folder(folder)).unwrap_or_else(|error| panic!("{error} {:?}", error.hint()))
}

pub fn measure(plan: &BenchmarkPlan, contestant: &BenchContestant<'_>) -> ContestantOutcome {
    let scorer = contestant.prepare(&plan.texts, &mut |_| ()).unwrap();
    let options = Options { audits: &audits(plan, None), ..Options::default() };
    wb_bench::run(plan, &scorer, &[], options, &mut |_| ()).unwrap()
}

/// The score of a protocol; a panic lists what there is.
pub fn score<'o>(outcome: &'o ContestantOutcome, id: &str, language: &str, metric: &str) -> &'o ProtocolScore {
    let is = |score: &&ProtocolScore| {
        (score.id.as_str(), score.language.as_str(), score.metric.as_str()) == (id, language, metric)
    };
    outcome.protocols.iter().find(is).unwrap_or_else(|| {
        let there: Vec<String> =
            outcome.protocols.iter().map(|score| format!("{} {} {}", score.id, score.language, score.metric)).collect();
        panic!("no {id} {language} {metric} among {there:?}")
    })
}

pub fn close(got: f64, want: f64, tolerance: f64, what: &str) {
    assert!((got - want).abs() <= tolerance, "{what}: got {got}, expected {want} within {tolerance}");
}

pub fn golden<T: DeserializeOwned>(name: &str) -> T {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The folder of shared data, or a counted skip.
pub fn shared(test: &str) -> Option<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("WB_SHARED").map_or(beside, PathBuf::from);
    if folder.join("data").is_dir() {
        return Some(folder);
    }
    skipped(test, &format!("no shared data at {}; set WB_SHARED to its folder", folder.display()));
    None
}

/// Says on standard error that a test did not run; written so that the test harness does not swallow it.
pub fn skipped(test: &str, reason: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {reason}");
}
