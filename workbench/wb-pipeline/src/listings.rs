//! Lists to choose from: runs, benchmarks, tasks of synthesis.

use std::path::Path;

use anyhow::Result;
use wb_bench::BenchmarkConfig;
use wb_core::{records::outcome::OutcomeNumbers, run_dir};
use wb_sql::benchmarks::SqlBenchmark;

use crate::{external, output, session::Folders, structure};

/// Prints the runs of a folder with their states and scores.
pub fn runs(folder: &Path) -> Result<()> {
    let runs = run_dir::list(folder)?;
    if runs.is_empty() {
        output::line(format!("no runs under {}; make one: wb run configs/quickstart.yaml", folder.display()));
        return Ok(());
    }
    let mut rows = Vec::new();
    for run in &runs {
        let mut scores = Vec::new();
        for file in run.benches()? {
            let outcome: OutcomeNumbers = run_dir::read_json(&file)?;
            if let Some(score) = outcome.protocols.first() {
                scores.push(format!("{} {} {:.4}", outcome.contestant, score.metric, score.value));
            }
        }
        let state = match (run.is_done(), run.encoder().is_dir()) {
            (true, _) => "done",
            (false, true) => "trained",
            (false, false) => "unfinished",
        };
        rows.push(vec![run.id().to_owned(), state.to_owned(), scores.join(", ")]);
    }
    output::table(&["run", "state", "scores"], &rows);
    Ok(())
}

/// Prints the tasks that pairs can be written for.
pub fn tasks() -> Result<()> {
    let catalog = wb_synth::tasks::TaskCatalog::load(&[])?;
    let rows = catalog.tasks.iter().map(|task| vec![task.name(), task.task.title.clone()]);
    output::table(&["task", "pairs"], &rows.collect::<Vec<_>>());
    Ok(())
}

/// Prints the card of every benchmark, with what there is of its data.
pub fn benchmarks(external: &Path, places: Folders<'_>) -> Result<()> {
    for listed in external::all(external, places)? {
        match SqlBenchmark::named(listed.name) {
            Some(kind) => output::line(kind.card()),
            None if listed.name == structure::BENCHMARK => output::line(structure::CARD),
            None => {
                let benchmark = BenchmarkConfig::named(listed.name)?;
                let card = benchmark.benchmark().card();
                output::line(format!(
                    "{} (version {})\n  data     {}\n  licence  {}\n  paper    {}",
                    card.name, card.version, card.dataset, card.licence, card.paper
                ));
            }
        }
        output::line(format!("  state    {}", listed.state));
    }
    Ok(())
}
