//! `wb index` and `wb search`: a project's code found by words, names and meaning.

use std::{fs, io, path::Path};

use anyhow::{Result, bail};
use wb_core::Error;
use wb_pipeline::search::{self, IndexEncoder, ProjectSearch};
use wb_search::{AnswerRequest, IndexPlace, IssueQuestion, SearchQuestion, sets::SearchSet};

use super::End;
use crate::{args, output};

/// Answers to a question, where nothing else is asked for.
const ANSWERS: usize = 10;

/// `wb index`
pub fn index(arguments: args::IndexArguments) -> Result<End> {
    let place = IndexPlace::of(&arguments.folder, arguments.index.clone())?;
    let looks = match &arguments {
        args::IndexArguments { status: true, .. } => Some(search::status(&place)?),
        args::IndexArguments { verify: true, .. } => Some(search::verify(&place)?),
        args::IndexArguments { compact: true, .. } => Some(search::compact(&place)?),
        _ => None,
    };
    if let Some(is_well) = looks {
        return Ok(if is_well { End::Done } else { End::Refused });
    }
    let encoder = match arguments.encoder {
        Some(name) => IndexEncoder::Named(name.as_str().into(), arguments.device),
        None if arguments.words => IndexEncoder::Without,
        None => IndexEncoder::Kept,
    };
    output::with_bars(|progress| search::index(&place, arguments.anew, &encoder, progress))?;
    Ok(End::Done)
}

/// `wb search`
pub fn search(arguments: args::SearchArguments) -> Result<End> {
    if let Some(args::SearchCommand::Tune(arguments)) = arguments.command {
        return tune(arguments);
    }
    let place = IndexPlace::of(&arguments.project, arguments.index)?;
    let text = arguments.question.unwrap_or_default();
    let mut question = SearchQuestion::new(&text);
    (question.below, question.roles, question.languages) = (arguments.below, arguments.kind, arguments.lang);
    let weights = search::weights(arguments.weights.as_deref())?;
    let issue = arguments.issue.as_deref().map(read).transpose()?;
    let issue = issue.map(|text| IssueQuestion::new(&text, &question, &weights));
    let most = match (arguments.number, issue.is_none() && text.is_empty()) {
        (Some(number), _) => usize::from(number),
        (None, true) => usize::MAX,
        (None, false) => ANSWERS,
    };
    let asked = ProjectSearch {
        request: AnswerRequest { question, issue, pattern: arguments.regexp, most, budget: arguments.budget },
        weights,
        fresh: arguments.fresh,
        words: arguments.words,
        json: arguments.json,
        explain: arguments.explain,
    };
    let found = output::with_bars(|progress| asked.ask(&place, progress))?;
    Ok(if found { End::Done } else { End::Refused })
}

/// `wb search tune`
fn tune(arguments: args::TuneArguments) -> Result<End> {
    let args::TuneArguments { sets, encoder, device, weights, out } = arguments;
    let encoder = encoder.map(|name| (name.as_str().into(), device));
    let weights = search::weights(weights.as_deref())?;
    output::with_bars(|progress| search::tune(&sets, encoder, &weights, out.as_deref(), progress))?;
    Ok(End::Done)
}

/// The text of a file, or of standard input.
fn read(place: &Path) -> Result<String> {
    match place == Path::new("-") {
        true => Ok(io::read_to_string(io::stdin())?),
        false => Ok(fs::read_to_string(place).map_err(Error::io("read", place))?),
    }
}

/// `wb bench search`
pub fn bench(arguments: &args::Bench) -> Result<End> {
    let (Some(set), Some(folder)) = (arguments.set, &arguments.dataset) else {
        let names = SearchSet::ALL.map(SearchSet::name).join(", ");
        bail!("wb bench search --set SET --dataset DIR: a set of {names}");
    };
    let encoder = arguments.encoder.as_deref().map(|name| (name.into(), arguments.device));
    let weights = search::weights(arguments.weights.as_deref())?;
    output::with_bars(|progress| search::bench(set, folder, encoder, &weights, arguments.json.clone(), progress))?;
    Ok(End::Done)
}
