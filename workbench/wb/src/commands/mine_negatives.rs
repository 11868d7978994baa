//! `wb mine-negatives`: hard negatives for training pairs, with an account, an estimate of false ones, and a page.

use anyhow::Result;
use wb_core::Error;
use wb_pipeline::{
    data, encoder,
    mine::{self, Extras, Out},
    mined_for::{MinedFor, mined_for},
    pages, preflight,
    typed::file_and_values,
};

use super::{End, experiment};
use crate::{
    args, interrupt,
    output::{self, Bars},
};

/// `wb mine-negatives`
pub fn mine_negatives(arguments: &args::MineNegatives) -> Result<End> {
    // Everything typed is checked before anything is computed.
    let (overridden, line) = with_overrides(arguments)?;
    let experiment = experiment::load("wb mine-negatives", &overridden)?;
    experiment.data()?;
    let out = arguments.out.as_deref().map(|path| Out::new(path, &arguments.format, arguments.scores)).transpose()?;
    let config = experiment.negatives.clone().unwrap_or_default();
    if config.include_positives && !out.as_ref().is_some_and(Out::keeps_order) {
        let what =
            "negatives.include_positives makes rankings with positives in them, which are no negatives to train on";
        return Err(Error::failed(what).with_hint("--out mined.jsonl --format n-tuple").into());
    }
    experiment.check_encoder_to_mine_with(&config)?;
    experiment::prepare(&experiment, &overridden, &["data.", "encoder.", "negatives."])?;
    preflight::sections(&experiment, &["negatives."])?;
    if let Some(line) = line {
        output::line(line);
    }
    let places = &overridden.places;
    interrupt::listen()?;
    let mut bars = Bars::new();
    let mut progress = |p| bars.report(p);
    let data = data::data(&experiment, &places.datasets, &mut progress)?;
    let extras = Extras { out: out.as_ref(), candidates: arguments.candidates.as_deref() };
    let stage = mine::mine(&experiment, &data, places.folders(), &extras, &mut progress)?;
    bars.finish();

    mine::print(&stage.card);
    output::line("");
    output::line(format!("by id   {}", stage.folder.join(mine::NEGATIVES).display()));
    if let Some(out) = &out {
        output::line(format!("out     {}, scores beside it in {}", out.path().display(), out.scores_path().display()));
    }
    if let Some(candidates) = &arguments.candidates {
        output::line(format!("to be scored: {}", candidates.display()));
    }
    let title = format!("{}-{}", experiment.name, stage.fingerprint.short());
    let file = places.reports.join(format!("negatives-{title}.html"));
    match pages::triples(&stage.card, &title, &file)? {
        Some(page) => output::line(page.display().to_string()),
        None => output::line(stage.folder.join("negatives.json").display().to_string()),
    }
    Ok(End::Done)
}

/// The file with its values, and a line that says so where it was not named. Options are values of the file: so they are
/// checked and kept as such.
fn with_overrides(arguments: &args::MineNegatives) -> Result<(args::ExperimentArguments, Option<String>)> {
    let args::Given { config, overrides, device, places } = arguments.given.clone();
    let (config, mut overrides) = file_and_values(config, overrides);
    // Quoted as JSON, which is YAML, so that no name is taken for something else.
    let quoted = |text: &str| serde_json::to_string(text);
    if let Some(retriever) = &arguments.retriever {
        encoder::check_retriever(retriever)?;
        overrides.push("negatives.retriever=bm25".to_owned());
    }
    if let Some(encoder) = &arguments.encoder {
        overrides.push("negatives.retriever=encoder".to_owned());
        overrides.push(format!("negatives.encoder={}", quoted(encoder)?));
    }
    if let Some(rescore) = &arguments.rescore {
        overrides.push(format!("negatives.rescore={{file: {}}}", quoted(&rescore.display().to_string())?));
    }
    if let Some(cross) = &arguments.cross_encoder {
        overrides.push(format!("negatives.rescore={{cross_encoder: {{model: {}}}}}", quoted(cross)?));
    }
    let MinedFor { config, overrides, line } = mined_for(config, overrides, &places.runs)?;
    Ok((args::ExperimentArguments { config, overrides, device, places }, line))
}
