//! A run folder read into memory, with a note of every part that is missing or cannot be read.

use std::{fs, path::Path};

use serde::de::DeserializeOwned;
use wb_core::{
    RunDir,
    error::json_message,
    manifest::Manifest,
    records::{
        compare::{PairedTest, VerdictFile},
        data::DataCard,
        journal::{StageRecord, StepRecord, ValidationRecord},
        outcome::ContestantOutcome,
    },
};

use crate::{Error, Result};

/// The content of a run folder.
#[derive(Debug, Default)]
pub struct RunContents {
    /// The folder's name: the run's id.
    pub id: String,
    /// True where `DONE` is there.
    pub finished: bool,
    /// `manifest.json`.
    pub manifest: Option<Manifest>,
    /// `config.yaml`, as text.
    pub config: Option<String>,
    /// `data.json`.
    pub data: Option<DataCard>,
    /// `metrics.jsonl`.
    pub steps: Vec<StepRecord>,
    /// `validation.jsonl`.
    pub validations: Vec<ValidationRecord>,
    /// `curriculum.json`; a training without a curriculum has none.
    pub stages: Vec<StageRecord>,
    /// `bench/*.json`, by file name.
    pub outcomes: Vec<ContestantOutcome>,
    /// `compare.json`.
    pub compared: Vec<PairedTest>,
    /// `verdict.json`.
    pub verdict: Option<VerdictFile>,
    /// Parts that are not there.
    pub missing: Vec<Missing>,
    /// Parts that are there and cannot be read, or contradict each other.
    pub problems: Vec<String>,
}

/// A part that is not there.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Missing {
    /// The file or folder.
    pub part: String,
    /// Content that the page lacks without it.
    pub lacks: &'static str,
}

/// Reads a run folder. Only a folder that is no run at all is an error.
pub fn gather(folder: &Path) -> Result<RunContents> {
    let not_a_run = |reason| {
        let what = format!("{} is not a run folder: {reason}", folder.display());
        Error::failed(what).with_hint("`wb ls` lists the runs that there are")
    };
    let resolved = fs::canonicalize(folder).map_err(|_| not_a_run("there is no such folder"))?;
    if !resolved.is_dir() {
        return Err(not_a_run("it is a file"));
    }
    let name = resolved.to_str().ok_or_else(|| not_a_run("its name is not UTF-8"))?;
    let place = RunDir::open(Path::new(""), name)?;
    let mut run = RunContents { id: place.id().to_owned(), finished: place.is_done(), ..RunContents::default() };
    run.manifest = run.read_json(&place.manifest(), "the command, the machine and the fingerprints");
    run.config = run.read_text(&place.config(), "the resolved config");
    run.data = run.read_json(&place.data(), "what was read, what was dropped and why, the splits and the leak audit");
    run.steps = run.read_lines(&place.metrics(), "the loss and learning-rate curves");
    run.validations = run.read_lines(&place.validation(), "the validation curve");
    if place.curriculum().is_file() {
        run.stages = run.read_json(&place.curriculum(), "the stages of the curriculum").unwrap_or_default();
    }
    run.outcomes = run.read_bench(&place)?;
    run.compared = run.read_json(&place.compare(), "the paired test against the baseline").unwrap_or_default();
    run.verdict = run.read_json(&place.verdict(), "the verdict");
    if run.holds_nothing() {
        return Err(not_a_run("it holds none of config.yaml, manifest.json, data.json, metrics.jsonl, bench/"));
    }
    run.check_ids();
    Ok(run)
}

impl RunContents {
    fn holds_nothing(&self) -> bool {
        let nothing_read =
            self.manifest.is_none() && self.config.is_none() && self.data.is_none() && self.outcomes.is_empty();
        nothing_read
            && self.steps.is_empty()
            && self.validations.is_empty()
            && self.problems.is_empty()
            && !self.finished
    }

    fn check_ids(&mut self) {
        if let Some(manifest) = &self.manifest
            && manifest.run != self.id
        {
            self.problems
                .push(format!("manifest.json is of run `{}`, the folder is named `{}`", manifest.run, self.id));
        }
    }

    /// The bytes of a part; a missing part is noted.
    fn read(&mut self, file: &Path, lacks: &'static str) -> Option<Vec<u8>> {
        match fs::read(file) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                self.missing.push(Missing { part: name(file), lacks });
                None
            }
            Err(error) => {
                self.problems.push(format!("{} cannot be read: {error}", name(file)));
                None
            }
        }
    }

    fn read_text(&mut self, file: &Path, lacks: &'static str) -> Option<String> {
        let bytes = self.read(file, lacks)?;
        if let Err(error) = std::str::from_utf8(&bytes) {
            let from = error.valid_up_to();
            self.problems
                .push(format!("{} is not UTF-8 from byte {from} on; unreadable bytes are shown as �", name(file)));
        }
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn read_json<T: DeserializeOwned>(&mut self, file: &Path, lacks: &'static str) -> Option<T> {
        let bytes = self.read(file, lacks)?;
        serde_json::from_slice(&bytes)
            .map_err(|error| self.problems.push(format!("{} cannot be read: {error}", name(file))))
            .ok()
    }

    /// JSON lines; a line that cannot be read (the last one of a run that was stopped, a loss that is no number) is counted.
    fn read_lines<T: DeserializeOwned>(&mut self, file: &Path, lacks: &'static str) -> Vec<T> {
        let Some(bytes) = self.read(file, lacks) else { return Vec::new() };
        let mut records = Vec::new();
        let mut unreadable: Vec<String> = Vec::new();
        for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match serde_json::from_slice(line) {
                Ok(record) => records.push(record),
                Err(error) => {
                    let message = json_message(&error);
                    unreadable.push(format!("line {}, column {}: {message}", index + 1, error.column()));
                }
            }
        }
        if let Some(first) = unreadable.first() {
            let (bad, all) = (unreadable.len(), records.len() + unreadable.len());
            self.problems.push(format!("{}: {bad} of {all} lines left out, the first at {first}", name(file)));
        }
        records
    }

    fn read_bench(&mut self, place: &RunDir) -> Result<Vec<ContestantOutcome>> {
        let files = place.benches()?;
        let mut outcomes = Vec::new();
        for file in &files {
            let outcome = fs::read(file).map_err(|error| error.to_string()).and_then(|bytes| {
                serde_json::from_slice::<ContestantOutcome>(&bytes).map_err(|error| error.to_string())
            });
            match outcome {
                Ok(outcome) => outcomes.push(outcome),
                Err(error) => self.problems.push(format!("bench/{} cannot be read: {error}", name(file))),
            }
        }
        if files.is_empty() {
            self.missing.push(Missing { part: "bench/".to_owned(), lacks: "every measured number" });
        }
        Ok(outcomes)
    }
}

fn name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}
