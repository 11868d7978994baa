//! `wb ls`: runs with their scores, or what there is to choose from.

use anyhow::Result;
use wb_bench::BenchmarkConfig;
use wb_core::{records::outcome::ContestantOutcome, run_dir};
use wb_pipeline::{config, external};
use wb_sql::benchmarks::SqlBenchmark;

use super::End;
use crate::{args, output};

/// `wb ls`
pub fn ls(arguments: &args::Ls) -> Result<End> {
    if arguments.benchmarks {
        benchmarks(arguments)?;
    } else if arguments.tasks {
        tasks()?;
    } else if arguments.schema {
        output::line(config::schema()?);
    } else if arguments.defaults {
        output::line(config::with_tables(include_str!("../../../../configs/README.md"))?.trim_end());
    } else {
        runs(arguments)?;
    }
    Ok(End::Done)
}

fn runs(arguments: &args::Ls) -> Result<()> {
    let runs = run_dir::list(&arguments.places.runs)?;
    if runs.is_empty() {
        output::line(format!(
            "no runs under {}; make one: wb run configs/quickstart.yaml",
            arguments.places.runs.display()
        ));
        return Ok(());
    }
    let mut rows = Vec::new();
    for run in &runs {
        let mut scores = Vec::new();
        for file in run.benches()? {
            let outcome: ContestantOutcome = run_dir::read_json(&file)?;
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

fn tasks() -> Result<()> {
    let catalog = wb_synth::tasks::TaskCatalog::load(&[])?;
    let rows = catalog.tasks.iter().map(|task| vec![task.name(), task.task.title.clone()]);
    output::table(&["task", "pairs"], &rows.collect::<Vec<_>>());
    Ok(())
}

fn benchmarks(arguments: &args::Ls) -> Result<()> {
    for listed in external::all(&arguments.external, arguments.places.folders())? {
        match SqlBenchmark::named(listed.name) {
            Some(kind) => output::line(kind.card()),
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
