//! The records of all runs as tables, which the questions of the page are asked of, lazily: each names the columns that
//! it reads, and Polars plans the rest.

use std::{collections::BTreeMap, fs, path::Path};

use polars::prelude::{IntoLazy, LazyFrame, PolarsResult, df};
use wb_core::{
    config,
    manifest::Manifest,
    records::{
        compare::VerdictFile,
        data::DataCard,
        outcome::{OutcomeNumbers, ProtocolScore},
    },
    run_dir,
};

use super::differs::FlatConfig;
use crate::{Result, contestants};

/// The records of one run that the page asks for.
#[derive(Debug, Default)]
pub struct RunRecords {
    /// The run's id.
    pub id: String,
    /// True where the run has its `DONE`.
    pub finished: bool,
    /// `manifest.json`.
    pub manifest: Manifest,
    /// `verdict.json`.
    pub verdict: Option<VerdictFile>,
    /// `data.json`.
    pub card: Option<DataCard>,
    /// `bench/*.json`, by file name.
    pub benches: Vec<OutcomeNumbers>,
    /// `config.yaml`.
    pub config: FlatConfig,
}

/// The benchmark's settings in one order: `chunk seed 17, text raw`.
fn settings_of_benchmark(outcome: &OutcomeNumbers) -> String {
    let mut all: Vec<String> = outcome.benchmark_settings().map(|(name, value)| format!("{name} {value}")).collect();
    all.sort();
    all.join(", ")
}

/// Reads the runs of a folder, oldest first. A file that cannot be read is as one that is not there.
pub fn read(folder: &Path) -> Result<Vec<RunRecords>> {
    let mut all = Vec::new();
    for run in run_dir::list(folder)? {
        let files = run.benches().unwrap_or_default();
        all.push(RunRecords {
            id: run.id().to_owned(),
            finished: run.is_done(),
            manifest: run_dir::read_json(&run.manifest()).unwrap_or_default(),
            verdict: run_dir::read_json(&run.verdict()).ok(),
            card: run_dir::read_json(&run.data()).ok(),
            config: fs::read_to_string(run.config()).map(|text| config::flat(&text)).unwrap_or_default(),
            benches: files.iter().filter_map(|file| run_dir::read_json(file).ok()).collect(),
        });
    }
    all.sort_by(|a, b| a.age().cmp(&b.age()));
    Ok(all)
}

impl RunRecords {
    /// Start of the run, and its id; where the manifest does not tell, the id alone, which begins with the day.
    fn age(&self) -> (&str, &str) {
        let started = self.manifest.started.as_str();
        (if started.is_empty() { &self.id } else { started }, &self.id)
    }
}

/// The tables of all runs. `order` is the run's place by age, and the same in each.
pub struct RunFrames {
    /// One row a run: `order`, `run`, `finished`, `verdict`, `said`, `started`, `device`.
    pub runs: LazyFrame,
    /// One row a number, by the runs' age: `row`, `order`, `run`, `benchmark`, `version`, `dataset`, `settings`,
    /// `protocol`, `split`, `language`, `metric`, `contestant` (its fingerprint), `role` (its number), `label`, `color`,
    /// `base`, `pool`, `queries`, `value`, `low`, `high`.
    pub scores: LazyFrame,
    /// One row a run with a data card: `order`, `run`, `data` (what it is known by), `fingerprint`, `sources`, `read`,
    /// `repeated` (pairs that gates added), `train`, `validation`, `test`, `groups`, `leaked`, `tested`, `licenses`.
    pub cards: LazyFrame,
    /// One row a reason for which a gate dropped pairs, by the runs' age: `data`, `gate`, `reason`, `pairs`.
    pub dropped: LazyFrame,
    /// The config of each run.
    pub configs: BTreeMap<String, FlatConfig>,
}

impl RunFrames {
    /// Makes the tables of these runs, oldest first.
    pub fn new(runs: &[RunRecords]) -> PolarsResult<Self> {
        let configs = runs.iter().map(|run| (run.id.clone(), run.config.clone())).collect();
        let (scores, cards, dropped) = (scores(runs)?, cards(runs)?, dropped(runs)?);
        Ok(Self { runs: run_rows(runs)?, scores, cards, dropped, configs })
    }
}

fn run_rows(runs: &[RunRecords]) -> PolarsResult<LazyFrame> {
    let verdict = |run: &RunRecords| run.verdict.as_ref().map(|file| file.verdict.as_str());
    let said = |run: &RunRecords| run.verdict.as_ref().map(|file| file.said().to_owned());
    let table = df!(
        "order" => (0..runs.len() as u32).collect::<Vec<_>>(),
        "run" => runs.iter().map(|run| run.id.as_str()).collect::<Vec<_>>(),
        "finished" => runs.iter().map(|run| run.finished).collect::<Vec<_>>(),
        "verdict" => runs.iter().map(verdict).collect::<Vec<_>>(),
        "said" => runs.iter().map(said).collect::<Vec<_>>(),
        "started" => runs.iter().map(|run| run.manifest.started.as_str()).collect::<Vec<_>>(),
        "device" => runs.iter().map(|run| run.manifest.device.as_str()).collect::<Vec<_>>(),
    )?;
    Ok(table.lazy())
}

fn scores(runs: &[RunRecords]) -> PolarsResult<LazyFrame> {
    let mut rows: Vec<(u32, &RunRecords, &OutcomeNumbers, &ProtocolScore<_>)> = Vec::new();
    for (order, run) in (0..).zip(runs) {
        for bench in &run.benches {
            rows.extend(bench.protocols.iter().map(|number| (order, run, bench, number)));
        }
    }
    let table = df!(
        "row" => (0..rows.len() as u32).collect::<Vec<_>>(),
        "order" => rows.iter().map(|row| row.0).collect::<Vec<_>>(),
        "run" => rows.iter().map(|row| row.1.id.as_str()).collect::<Vec<_>>(),
        "benchmark" => rows.iter().map(|row| row.2.benchmark.as_str()).collect::<Vec<_>>(),
        "version" => rows.iter().map(|row| row.2.version).collect::<Vec<_>>(),
        "dataset" => rows.iter().map(|row| row.2.dataset_fingerprint.as_str()).collect::<Vec<_>>(),
        "settings" => rows.iter().map(|row| settings_of_benchmark(row.2)).collect::<Vec<_>>(),
        "role" => rows.iter().map(|row| row.2.role as u32).collect::<Vec<_>>(),
        "contestant" => rows.iter().map(|row| row.2.contestant_fingerprint.as_str()).collect::<Vec<_>>(),
        "label" => rows.iter().map(|row| contestants::label(&row.2.contestant, row.2.role)).collect::<Vec<_>>(),
        "color" => rows.iter().map(|row| contestants::color(row.2.role, 0) as u32).collect::<Vec<_>>(),
        "base" => rows.iter().map(|row| row.2.base.as_deref()).collect::<Vec<_>>(),
        "protocol" => rows.iter().map(|row| row.3.id.as_str()).collect::<Vec<_>>(),
        "split" => rows.iter().map(|row| row.3.split.as_str()).collect::<Vec<_>>(),
        "language" => rows.iter().map(|row| row.3.language.as_str()).collect::<Vec<_>>(),
        "metric" => rows.iter().map(|row| row.3.metric.as_str()).collect::<Vec<_>>(),
        "pool" => rows.iter().map(|row| row.3.pool).collect::<Vec<_>>(),
        "queries" => rows.iter().map(|row| row.3.n_queries).collect::<Vec<_>>(),
        "value" => rows.iter().map(|row| row.3.value).collect::<Vec<_>>(),
        "low" => rows.iter().map(|row| row.3.interval.low).collect::<Vec<_>>(),
        "high" => rows.iter().map(|row| row.3.interval.high).collect::<Vec<_>>(),
    )?;
    Ok(table.lazy())
}

/// The runs with a data card, each with its place by age.
fn carded(runs: &[RunRecords]) -> Vec<(u32, &RunRecords, &DataCard)> {
    (0..).zip(runs).filter_map(|(order, run)| Some((order, run, run.card.as_ref()?))).collect()
}

/// The name by which runs share data: its fingerprint, or the run itself where its manifest does not have one.
fn data_of(run: &RunRecords) -> &str {
    run.manifest.fingerprints.get("data").unwrap_or(&run.id)
}

fn cards(runs: &[RunRecords]) -> PolarsResult<LazyFrame> {
    let rows = carded(runs);
    let fingerprint = |run: &RunRecords| run.manifest.fingerprints.get("data").cloned();
    let read = |card: &DataCard| card.sources.iter().fold(0u64, |sum, source| sum.saturating_add(source.pairs));
    let repeated =
        |card: &DataCard| -> u64 { card.gates.iter().map(|gate| gate.after.saturating_sub(gate.before)).sum() };
    let side = |card: &DataCard, name: &str| card.splits.get(name).map_or(0, |split| split.pairs);
    let groups = |card: &DataCard| card.splits.values().fold(0u64, |sum, split| sum.saturating_add(split.groups));
    let worst = |card: &DataCard| card.leaks.iter().map(|leak| (leak.count, leak.of)).max().unwrap_or_default();
    let table = df!(
        "order" => rows.iter().map(|row| row.0).collect::<Vec<_>>(),
        "run" => rows.iter().map(|row| row.1.id.as_str()).collect::<Vec<_>>(),
        "data" => rows.iter().map(|row| data_of(row.1)).collect::<Vec<_>>(),
        "fingerprint" => rows.iter().map(|row| fingerprint(row.1)).collect::<Vec<_>>(),
        "sources" => rows.iter().map(|row| row.2.sources.len() as u64).collect::<Vec<_>>(),
        "read" => rows.iter().map(|row| read(row.2)).collect::<Vec<_>>(),
        "repeated" => rows.iter().map(|row| repeated(row.2)).collect::<Vec<_>>(),
        "train" => rows.iter().map(|row| side(row.2, "train")).collect::<Vec<_>>(),
        "validation" => rows.iter().map(|row| side(row.2, "validation")).collect::<Vec<_>>(),
        "test" => rows.iter().map(|row| side(row.2, "test")).collect::<Vec<_>>(),
        "groups" => rows.iter().map(|row| groups(row.2)).collect::<Vec<_>>(),
        "leaked" => rows.iter().map(|row| worst(row.2).0).collect::<Vec<_>>(),
        "tested" => rows.iter().map(|row| worst(row.2).1).collect::<Vec<_>>(),
        "licenses" => rows.iter().map(|row| row.2.licenses.len() as u64).collect::<Vec<_>>(),
    )?;
    Ok(table.lazy())
}

fn dropped(runs: &[RunRecords]) -> PolarsResult<LazyFrame> {
    let mut rows: Vec<(&str, &str, &str, u64)> = Vec::new();
    for (_, run, card) in carded(runs) {
        for gate in &card.gates {
            rows.extend(gate.dropped.iter().map(|(reason, pairs)| (data_of(run), &*gate.name, &**reason, *pairs)));
        }
    }
    let table = df!(
        "data" => rows.iter().map(|row| row.0).collect::<Vec<_>>(),
        "gate" => rows.iter().map(|row| row.1).collect::<Vec<_>>(),
        "reason" => rows.iter().map(|row| row.2).collect::<Vec<_>>(),
        "pairs" => rows.iter().map(|row| row.3).collect::<Vec<_>>(),
    )?;
    Ok(table.lazy())
}
