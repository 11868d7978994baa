//! The page's content, put together from the run, and the HTML made of it.

use minijinja::Value;
use serde::Serialize;

use crate::{
    Result,
    charts::{Figure, FigurePlace},
    compared::{self, Told},
    contestants::Contestant,
    data_uri,
    gather::{Missing, RunContents},
    numbers::count,
    queries::{self, Queries},
    run_tables::RunTables,
    sections::{self, AuditView, ContestantView, DataView, Noted},
    stages::{self, StageView},
    table::{self, DetailTable, ScoreTable},
    template::{self, safe},
    words,
};

#[derive(Serialize)]
struct Page<'a> {
    run: &'a str,
    started: &'a str,
    device: &'a str,
    version: &'a str,
    banner: Banner,
    unfinished: Option<String>,
    missing: &'a [Missing],
    problems: &'a [String],
    summaries: Vec<ScoreTable>,
    training: String,
    stages: Vec<StageView>,
    training_figures: Vec<FigureView>,
    score_figures: Vec<FigureView>,
    rank_figures: Vec<FigureView>,
    tests: Vec<Told>,
    queries: Vec<Queries>,
    data: Option<DataView>,
    audits: Vec<AuditView>,
    details: Vec<DetailTable>,
    contestants: Vec<ContestantView>,
    not_run: Vec<Noted>,
    warnings: Vec<Noted>,
    command: &'a str,
    manifest: Vec<(String, String)>,
    fingerprints: Vec<(&'a String, &'a String)>,
    config: Option<&'a str>,
}

#[derive(Serialize)]
struct Banner {
    word: &'static str,
    class: &'static str,
    line: String,
    meaning: &'static str,
}

#[derive(Serialize)]
struct FigureView {
    name: String,
    wide: bool,
    width: u32,
    height: u32,
    alt: String,
    caption: String,
    source: Value,
}

/// Makes the page.
pub fn page(run: &RunContents, tables: &RunTables, contestants: &[Contestant], figures: &[Figure]) -> Result<String> {
    let manifest = run.manifest.as_ref();
    let field = |of: fn(&wb_core::manifest::Manifest) -> &String| manifest.map_or("", |manifest| of(manifest).as_str());
    let content = Page {
        run: &run.id,
        started: field(|manifest| &manifest.started),
        device: field(|manifest| &manifest.device),
        version: field(|manifest| &manifest.version),
        banner: banner(run),
        unfinished: unfinished(run),
        missing: &run.missing,
        problems: &run.problems,
        summaries: table::summaries(tables, contestants),
        training: sections::training(run),
        stages: stages::table(run),
        training_figures: at(figures, FigurePlace::Training),
        score_figures: at(figures, FigurePlace::Scores),
        rank_figures: at(figures, FigurePlace::Ranks),
        tests: compared::tell(run, tables, contestants),
        queries: queries::queries(run, contestants),
        data: run.data.as_ref().map(sections::data),
        audits: sections::audits(run),
        details: table::details(run, tables, contestants),
        contestants: sections::settings(run, contestants),
        not_run: sections::not_run(run, contestants),
        warnings: sections::warnings(run, contestants),
        command: field(|manifest| &manifest.command),
        manifest: manifest.map(sections::manifest).unwrap_or_default(),
        fingerprints: manifest.map(|manifest| manifest.fingerprints.iter().collect()).unwrap_or_default(),
        config: run.config.as_deref(),
    };
    template::render(template::PAGE, &content)
}

fn banner(run: &RunContents) -> Banner {
    let (word, line) = match &run.verdict {
        Some(file) => (file.verdict.as_str(), file.said().to_owned()),
        None => ("NO VERDICT", String::new()),
    };
    let (class, meaning) = words::verdict(run.verdict.as_ref().map(|file| file.verdict));
    Banner { word, class, line, meaning }
}

/// Tells how far a run without `DONE` came.
fn unfinished(run: &RunContents) -> Option<String> {
    if run.finished {
        return None;
    }
    Some(match run.steps.last() {
        Some(last) => format!("The last step that it wrote is step {}.", count(last.step)),
        None => "It wrote no training step.".to_owned(),
    })
}

fn at(figures: &[Figure], place: FigurePlace) -> Vec<FigureView> {
    figures
        .iter()
        .filter(|figure| figure.place == place)
        .map(|figure| FigureView {
            name: figure.name.clone(),
            wide: figure.wide,
            width: figure.size.0,
            height: figure.size.1,
            alt: figure.alt.clone(),
            caption: figure.caption.clone(),
            source: safe(data_uri::png(&figure.png)),
        })
        .collect()
}
