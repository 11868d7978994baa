//! Definitions and calls measured on what others wrote down of them.

use std::{collections::BTreeMap, path::Path, str::FromStr};

use anyhow::Result;
use serde::Serialize;
use wb_code::structure::{StructureCase, StructureSet};
use wb_core::{
    Seed,
    run_dir::write_json,
    statistics::{RESAMPLES, bootstrap_interval},
    suggest,
};
use wb_search::sets::{MetricValue, SearchSet};

use crate::{output, requirements};

/// The name of the benchmark in commands.
pub const BENCHMARK: &str = "structure";

/// The card of the benchmark.
pub const CARD: &str = "\
structure (version 1)
  data     stack-graphs: tests of github/stack-graphs, `^ defined: LINE` below names; pycg: PyCG's micro-benchmark, callgraph.json;
           scip, scip-imported: projects with an index.scip each, by scip-python, scip-typescript or another indexer
  licence  MIT or Apache-2.0; Apache-2.0; the projects' own
  paper    Stack Graphs, arXiv:2211.01224; PyCG, arXiv:2103.00587";

/// Wrong answers that are told one by one.
const TOLD: usize = 10;

/// A set of questions for `wb bench`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionSet {
    /// One of `wb bench search`.
    Search(SearchSet),
    /// One of `wb bench structure`.
    Structure(StructureSet),
}

impl FromStr for QuestionSet {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        let structure = StructureSet::ALL.into_iter().find(|set| set.name() == name).map(Self::Structure);
        let found = structure.or_else(|| SearchSet::ALL.into_iter().find(|set| set.name() == name).map(Self::Search));
        let names = || SearchSet::ALL.map(SearchSet::name).into_iter().chain(StructureSet::ALL.map(StructureSet::name));
        found.ok_or_else(|| match suggest::hint(name, names()) {
            Some(hint) => format!("{hint}; the sets are {}", names().collect::<Vec<_>>().join(", ")),
            None => format!("expected one of {}", names().collect::<Vec<_>>().join(", ")),
        })
    }
}

/// A set of questions to ask, and what to do with the answers.
pub struct StructureBench<'a> {
    /// The set.
    pub set: StructureSet,
    /// The folder that its archive was unpacked into.
    pub folder: &'a Path,
    /// File to write the numbers to.
    pub json: Option<&'a Path>,
    /// Metrics with the least value that each has to reach.
    pub require: Vec<(String, f64)>,
}

/// Numbers of a set, as `wb bench search` writes its own.
#[derive(Debug, Serialize)]
struct MeasuredStructure<'a> {
    set: &'static str,
    contestant: &'static str,
    metrics: BTreeMap<&'static str, MetricValue>,
    by_category: BTreeMap<&'a str, BTreeMap<&'static str, MetricValue>>,
    questions: &'a [StructureCase],
}

impl StructureBench<'_> {
    /// Options of `wb bench` that it takes.
    pub const OPTIONS: [&'static str; 4] = ["--dataset", "--json", "--require", "--set"];

    /// Asks the set's questions and tells what came out; true where it reaches what is required.
    pub fn run(self) -> Result<bool> {
        let Self { set, folder, json, require } = self;
        let cases = set.measure(folder)?;
        let mut kinds: BTreeMap<&str, Vec<&StructureCase>> = BTreeMap::new();
        cases.iter().for_each(|case| kinds.entry(&case.category).or_default().push(case));
        let by_category = kinds.iter().map(|(kind, cases)| (*kind, metrics(set, cases))).collect();
        let all: Vec<&StructureCase> = cases.iter().collect();
        let measured = MeasuredStructure {
            set: set.name(),
            contestant: "wb",
            metrics: metrics(set, &all),
            by_category,
            questions: &cases,
        };
        tell(&measured, &kinds);
        if let Some(path) = json {
            write_json(path, &measured)?;
        }
        let known: BTreeMap<String, f64> =
            measured.metrics.iter().map(|(name, value)| ((*name).to_owned(), value.value)).collect();
        requirements::reached(&known, &require, set.name())
    }
}

/// Metrics of cases with 95 % intervals over what was asked of them all.
fn metrics(set: StructureSet, cases: &[&StructureCase]) -> BTreeMap<&'static str, MetricValue> {
    let share = |right: fn(&StructureCase) -> usize, all: fn(&StructureCase) -> usize| {
        let values: Vec<f64> =
            cases.iter().flat_map(|case| (0..all(case)).map(|at| f64::from(u8::from(at < right(case))))).collect();
        let interval = bootstrap_interval(&values, 0.95, RESAMPLES, Seed(7));
        let value = values.iter().sum::<f64>() / values.len().max(1) as f64;
        MetricValue { value, low: interval.low, high: interval.high }
    };
    let wrong = cases.iter().map(|case| case.exact_wrong).sum::<usize>() as f64;
    let exact_wrong = ("exact_wrong", MetricValue { value: wrong, low: wrong, high: wrong });
    let recall = share(|case| case.right, |case| case.expected);
    let precision = ("precision", share(|case| case.answered_right, |case| case.answered));
    match set {
        StructureSet::StackGraphs => BTreeMap::from([("assertions", recall), exact_wrong]),
        StructureSet::PyCg => BTreeMap::from([precision, ("recall", recall)]),
        StructureSet::Scip | StructureSet::ScipImported => BTreeMap::from([precision, ("recall", recall), exact_wrong]),
    }
}

fn tell(measured: &MeasuredStructure<'_>, kinds: &BTreeMap<&str, Vec<&StructureCase>>) {
    let files = measured.questions.len();
    output::line(format!("{}: {files} programs", measured.set));
    let value = |value: &MetricValue| match value.value.fract() == 0.0 && value.value > 1.0 {
        true => format!("{}", value.value),
        false => format!("{:.3} [{:.3}, {:.3}]", value.value, value.low, value.high),
    };
    let names: Vec<&str> = measured.metrics.keys().copied().collect();
    let row = |kind: &str, programs: usize, metrics: &BTreeMap<&'static str, MetricValue>| {
        let values = names.iter().map(|name| metrics.get(name).map(value).unwrap_or_default());
        [kind.to_owned(), programs.to_string()].into_iter().chain(values).collect::<Vec<String>>()
    };
    let mut rows: Vec<Vec<String>> = measured
        .by_category
        .iter()
        .map(|(kind, metrics)| row(kind, kinds.get(kind).map_or(0, Vec::len), metrics))
        .collect();
    rows.push(row("all", files, &measured.metrics));
    let head: Vec<&str> = ["kind", "programs"].into_iter().chain(names.iter().copied()).collect();
    output::table(&head, &rows);
    let wrong: Vec<String> = measured
        .questions
        .iter()
        .flat_map(|case| case.wrong.iter().map(|line| format!("{}: {line}", case.name)))
        .collect();
    if !wrong.is_empty() {
        output::line("");
        wrong.iter().take(TOLD).for_each(output::note);
        if wrong.len() > TOLD {
            output::note(format!("and {} more, in what --json writes", wrong.len() - TOLD));
        }
    }
}
