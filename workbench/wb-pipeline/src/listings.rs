//! Lists to choose from: runs, benchmarks, tasks of synthesis.

use std::path::Path;

use anyhow::Result;
use wb_bench::BenchmarkConfig;
use wb_core::{records::outcome::OutcomeNumbers, run_dir};
use wb_sql::benchmarks::SqlBenchmark;

use crate::{external, output, session::Folders, structure};

/// Prints the runs of a folder with their states and scores; or leaderboards, of which those whose benchmark, protocol, data
/// or metric has a text, which may be empty.
pub fn runs(folder: &Path, leaderboard: Option<&str>) -> Result<()> {
    if let Some(text) = leaderboard {
        return leaderboards(folder, text);
    }
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

/// Prints leaderboards of some runs of a folder.
#[cfg(feature = "report")]
pub fn leaderboards_of(folder: &Path, ids: &[String]) -> Result<()> {
    print_leaderboards(&wb_report::leaderboards(folder, Some(ids))?.iter().collect::<Vec<_>>());
    Ok(())
}

/// Prints none.
#[cfg(not(feature = "report"))]
pub fn leaderboards_of(_: &Path, _: &[String]) -> Result<()> {
    Ok(())
}

#[cfg(feature = "report")]
fn leaderboards(folder: &Path, text: &str) -> Result<()> {
    let all = wb_report::leaderboards(folder, None)?;
    let is_meant = |board: &&wb_report::Leaderboard| {
        [&board.title, &board.place, &board.metric]
            .iter()
            .any(|told| told.to_lowercase().contains(&text.to_lowercase()))
    };
    let meant: Vec<_> = all.iter().filter(is_meant).collect();
    if meant.is_empty() {
        let place = folder.display();
        output::line(match all.len() {
            0 => format!("no benchmark was measured by a run under {place}; wb run configs/quickstart.yaml does"),
            all => format!("none of {all} leaderboards under {place} has `{text}` in its name; wb ls --leaderboard"),
        });
    }
    print_leaderboards(&meant);
    Ok(())
}

#[cfg(feature = "report")]
fn print_leaderboards(boards: &[&wb_report::Leaderboard]) {
    for (at, board) in boards.iter().enumerate() {
        if at > 0 {
            output::line("");
        }
        output::line(format!("{}: {}; {}", board.title, board.place, board.size));
        let row = |row: &wb_report::LeaderboardRow| {
            let run = if row.others.is_empty() { row.run.clone() } else { format!("{} and {}", row.run, row.others) };
            let (rank, value) = (row.rank.to_string(), format!("{} {}", row.value, row.interval));
            let cells = [&rank, &row.label, value.trim(), &row.over_bm25, &run, &row.differs.join(" ")];
            cells.map(str::to_owned).to_vec()
        };
        let head = ["#", "contestant", &board.metric, "over BM25", "run", "unlike the best"];
        output::table(&head, &board.rows.iter().map(row).collect::<Vec<_>>());
        if board.left_out > 0 {
            output::line(format!("{} more come after these", board.left_out));
        }
    }
}

#[cfg(not(feature = "report"))]
fn leaderboards(_: &Path, _: &str) -> Result<()> {
    let what = "this wb was built without the feature `report`";
    Err(wb_core::Error::failed(what).with_hint("cargo install --path workbench/wb").into())
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
