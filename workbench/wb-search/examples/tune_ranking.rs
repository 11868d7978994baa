//! Fits the weights of the ranking to sets of questions, and tells what each set loses where it is left out of the fit.
//!
//! `cargo run --release -p wb-search --example tune_ranking semble=DIR swe-qa=DIR cqs=DIR`: the weights that
//! `RankingWeights::default()` has are what this printed. With `--as-it-is`, nothing is fitted.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example tells what it does")]

use std::path::Path;

use wb_search::{
    CodeIndex, Error, FolderFiles, RankingWeights, Result, build,
    sets::{IndexedSet, Measured, SearchSet, measure, tune, worth},
};

fn main() -> Result<()> {
    let (mut sets, mut fits) = (Vec::new(), true);
    for argument in std::env::args().skip(1) {
        if argument == "--as-it-is" {
            fits = false;
            continue;
        }
        let usage = || Error::failed(format!("got `{argument}`, expected SET=DIR"));
        let (name, folder) = argument.split_once('=').ok_or_else(usage)?;
        sets.push(indexed(name.parse().map_err(|told: String| Error::failed(told))?, Path::new(folder))?);
    }
    let start = RankingWeights::default();
    for set in &sets {
        println!("as it is     {}", told(&measure(&set.0, &set.1, &start, "")?));
    }
    if !fits {
        return Ok(());
    }
    let found = tune(&sets, start.clone(), &mut |name, value| eprintln!("{name} {value:.4}"))?;
    for set in &sets {
        println!("by all       {}", told(&measure(&set.0, &set.1, &found, "")?));
    }
    println!("{found:#?}");
    for left_out in 0..sets.len() {
        let others: Vec<IndexedSet> =
            sets.iter().enumerate().filter(|(at, _)| *at != left_out).map(|(_, set)| set.clone()).collect();
        let found = tune(&others, start.clone(), &mut |_, _| {})?;
        let (set, indexes) = &sets[left_out];
        println!("by the rest  {}", told(&measure(set, indexes, &found, "")?));
    }
    Ok(())
}

fn indexed(set: SearchSet, folder: &Path) -> Result<IndexedSet> {
    let loaded = set.load(folder)?;
    let indexes: Result<Vec<CodeIndex>> =
        loaded.repositories.iter().map(|one| Ok(build(FolderFiles::of(&one.root)?, &mut |_| {})?.0)).collect();
    Ok((loaded, indexes?))
}

fn told(measured: &Measured) -> String {
    let metrics: Vec<String> =
        measured.metrics.iter().map(|(name, value)| format!("{name} {:.3}", value.value)).collect();
    format!("{} {:.4}: {}", measured.set, worth(measured), metrics.join(", "))
}
