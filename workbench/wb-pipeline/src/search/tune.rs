//! The ranking's weights fitted to sets of questions of different make.

use std::{
    path::{Path, PathBuf},
    str::FromStr,
};

use anyhow::Result;
use wb_core::{EncoderRef, Error, Progress, atomic, config, remote};
use wb_encoder::DeviceConfig;
use wb_search::{
    RankingWeights,
    sets::{IndexedSet, Measured, SearchSet, measure, tune as fit, worth},
};

use super::{
    Told,
    bench::{add_vectors, indexed},
    open,
};
use crate::output;

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

/// Fits the weights to sets, tells what each is worth before, after, and fitted to the others alone, and writes them.
pub fn tune(
    sets: &[NamedSet],
    encoder: Option<(EncoderRef, DeviceConfig)>,
    start: &RankingWeights,
    out: Option<&Path>,
    progress: Told<'_>,
) -> Result<()> {
    if sets.is_empty() {
        let error =
            Error::value("wb search tune", "no set of questions, expected SET=DIR, as in semble=path/to/semble");
        return Err(error.with_hint("to search for the word: wb search -- tune").into());
    }
    let opened = encoder.map(|(reference, device)| open(&reference, device)).transpose()?;
    let mut read = Vec::new();
    for NamedSet { set, folder } in sets {
        let mut one = indexed(*set, folder, progress)?;
        if let Some(opened) = &opened {
            add_vectors(&mut one, opened, start, progress)?;
        }
        read.push(one);
    }
    let mut fitted = |left_out: Option<usize>, what: &str| {
        let is_in = |(at, _): &(usize, &IndexedSet)| Some(*at) != left_out;
        let sets: Vec<&IndexedSet> = read.iter().enumerate().filter(is_in).map(|(_, set)| set).collect();
        let mut gains = 0;
        fit(&sets, start.clone(), &mut |_, _| {
            gains += 1;
            progress(Progress::new("gains while fitting", gains, 0).note(what));
        })
    };
    let found = fitted(None, "all sets")?;
    let mut lines = Vec::new();
    for (at, (set, indexes)) in read.iter().enumerate() {
        let mut tell = |weights: &RankingWeights, by: &str| -> Result<()> {
            lines.push(line(&measure(set, indexes, weights, by)?));
            Ok(())
        };
        tell(start, "as it is")?;
        tell(&found, "fitted to all")?;
        if read.len() > 1 {
            tell(&fitted(Some(at), &format!("without {}", set.set))?, "fitted to the others")?;
        }
    }
    output::table(&["set", "weights", "worth", "metrics"], &lines);
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
pub fn weights(file: Option<&Path>) -> Result<RankingWeights> {
    Ok(match file {
        Some(file) => config::load(&remote::local(file)?, &[])?,
        None => RankingWeights::shipped()?,
    })
}
