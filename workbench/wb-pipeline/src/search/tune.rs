//! The ranking's weights fitted to sets of questions of different make.

use std::{
    path::{Path, PathBuf},
    str::FromStr,
};

use anyhow::Result;
use wb_core::{EncoderRef, Error, Progress, Reranker, atomic, config, remote};
use wb_encoder::DeviceConfig;
use wb_search::{
    RankingWeights,
    ranking::READ,
    sets::{IndexedSet, Measured, SearchSet, measure, tune as fit, tune_reading, worth, worth_of_reading},
};

use wb_sql::benchmarks::files::writable;

use super::{
    Told,
    bench::{add_vectors, expect_model, indexed},
    open,
};
use crate::{encoder::open_cross_encoder, output, session};

/// A set of questions and its folder: `semble=path/to/semble`.
#[derive(Debug, Clone)]
pub struct NamedSet {
    /// The set.
    pub set: SearchSet,
    /// Its folder.
    pub folder: PathBuf,
}

impl FromStr for NamedSet {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (set, folder) = text.split_once('=').ok_or("expected SET=DIR, as in semble=path/to/semble")?;
        Ok(Self { set: set.parse()?, folder: folder.into() })
    }
}

/// Fits the weights to sets, tells what each is worth before, after, and fitted to the others alone, and writes them. A
/// cross-encoder's scores have a weight then only where it surely gains on sets that it was not fitted to.
pub fn tune(
    sets: &[NamedSet],
    encoder: Option<EncoderRef>,
    reranker: Option<EncoderRef>,
    device: DeviceConfig,
    start: &RankingWeights,
    out: Option<&Path>,
    progress: Told<'_>,
) -> Result<()> {
    if sets.is_empty() {
        let error =
            Error::value("wb search tune", "no set of questions, expected SET=DIR, as in semble=path/to/semble");
        return Err(error.with_hint("to search for the word: wb search -- tune").into());
    }
    expect_model(encoder.is_some() || reranker.is_some(), device)?;
    out.map_or(Ok(()), |file| writable(file, "--out"))?;
    let opened = encoder.map(|reference| open(&reference, device)).transpose()?;
    let reranker = reranker.map(|reference| open_cross_encoder(&reference, session::runs(), device)).transpose()?;
    let mut read = Vec::new();
    for NamedSet { set, folder } in sets {
        let mut one = indexed(*set, folder, progress)?;
        if let Some(opened) = &opened {
            add_vectors(&mut one, opened, start, progress)?;
        }
        if let Some(reranker) = &reranker {
            one.0.read(&one.1, start, (reranker, READ), progress)?;
        }
        read.push(one);
    }
    // First without the cross-encoder, so that it is held against what the others do best.
    let begin = RankingWeights { rerank: 0.0, ..start.clone() };
    let but = |left_out: Option<usize>| -> Vec<&IndexedSet> {
        read.iter().enumerate().filter(|(at, _)| Some(*at) != left_out).map(|(_, set)| set).collect()
    };
    let mut fitted = |left_out: Option<usize>, what: &str| {
        let mut gains = 0;
        fit(&but(left_out), begin.clone(), &mut |_, _| {
            gains += 1;
            progress(Progress::new("gains while fitting", gains, 0).note(what));
        })
    };
    let mut found = fitted(None, "all sets")?;
    let (mut lines, mut of_others) = (Vec::new(), Vec::new());
    for (at, (set, indexes)) in read.iter().enumerate() {
        let mut tell = |weights: &RankingWeights, by: &str| -> Result<()> {
            lines.push(line(&measure(set, indexes, weights, by)?));
            Ok(())
        };
        tell(&begin, "as it is")?;
        tell(&found, "fitted to all")?;
        if read.len() > 1 {
            let others = fitted(Some(at), &format!("without {}", set.set))?;
            tell(&others, "fitted to the others")?;
            if reranker.is_some() {
                let others = tune_reading(&but(Some(at)), &others)?;
                tell(&others, "and a cross-encoder")?;
                of_others.push(others);
            }
        }
    }
    output::table(&["set", "weights", "worth", "metrics"], &lines);
    match &reranker {
        None => found.rerank = start.rerank,
        Some(reranker) if of_others.is_empty() => {
            let why = "a gain has to hold on sets that nothing was fitted to, and there is one alone";
            output::line(format!("\n{} has the weight 0: {why}", reranker.name()));
        }
        Some(reranker) => {
            let worth = worth_of_reading(&read.iter().zip(&of_others).collect::<Vec<_>>())?;
            let (name, difference, interval) = (reranker.name(), worth.difference, worth.interval);
            output::line(format!("\n{name} gains {difference:+.4} {interval:+.4}, fitted to the other sets"));
            match interval.low > 0.0 {
                true => found = tune_reading(&but(None), &found)?,
                false => output::line("that is not surely more than nothing: its weight is 0"),
            }
        }
    }
    let text = text(sets, &found)?;
    match out {
        Some(file) => atomic::write(file, text.as_bytes())?,
        None => output::line(text),
    }
    Ok(())
}

fn line(measured: &Measured) -> Vec<String> {
    let metrics: Vec<String> =
        measured.metrics.iter().map(|(name, value)| format!("{name} {:.3}", value.value)).collect();
    vec![measured.set.to_string(), measured.contestant.clone(), format!("{:.4}", worth(measured)), metrics.join(", ")]
}

/// The weights as a file that `--weights` reads, with the sets that they were fitted to.
fn text(sets: &[NamedSet], weights: &RankingWeights) -> Result<String> {
    let sets: String = sets.iter().map(|NamedSet { set, folder }| format!(" {set}={}", folder.display())).collect();
    Ok(format!("# Fitted by `wb search tune{sets}`.\n{}", config::to_text(weights)?))
}

/// Weights that `wb search tune` wrote to a file, else the ranking's own.
///
/// # Errors
///
/// If it is no file of weights, or one is below 0 or no number.
pub fn weights(file: Option<&Path>) -> Result<RankingWeights> {
    let Some(file) = file else { return Ok(RankingWeights::shipped()?) };
    let weights: RankingWeights = config::load(&remote::local(file)?, &[])?;
    if let Some(key) = wrong_weight(&serde_json::to_value(&weights)?, "") {
        let what = format!("{}: `{key}` is below 0 or no number, expected 0 or more", file.display());
        return Err(Error::value("--weights", what).with_hint("`wb search tune` writes such a file").into());
    }
    Ok(weights)
}

/// The key of a number that no weight can be, as JSON has it.
fn wrong_weight(value: &serde_json::Value, key: &str) -> Option<String> {
    match value {
        serde_json::Value::Object(of) => of.iter().find_map(|(name, value)| match value {
            // `issue` and `excerpt` may be left out; JSON has no numbers that are none.
            serde_json::Value::Null if !matches!(name.as_str(), "issue" | "excerpt") => Some(format!("{key}{name}")),
            value => wrong_weight(value, &format!("{key}{name}.")),
        }),
        value => value.as_f64().filter(|number| *number < 0.0).map(|_| key.trim_end_matches('.').to_owned()),
    }
}
