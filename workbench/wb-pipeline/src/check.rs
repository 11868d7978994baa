//! The check of an experiment: what is wrong with it, or what it would do.

use std::path::Path;

use anyhow::Result;
use wb_text2sql::experiment::check_files;

use crate::{
    config::Experiment,
    cost, data,
    encoder_size::size,
    experiment::WHOLE,
    lints,
    needs::{self, Need},
    outline, output, preflight, steps, text2sql,
};

/// Prints what is wrong with an experiment, or what it would do: false where something that it needs is missing. `config` is
/// its file; with `probe` this machine is measured.
///
/// # Errors
///
/// If something is wrong with it.
pub fn check(experiment: &Experiment, config: &Path, datasets: &Path, probe: bool) -> Result<bool> {
    let needs = needs::of_experiment(experiment, config);
    if let Some(pairs) = preflight::unmade_pairs(experiment) {
        return before_synthesis(experiment, config, &needs, pairs);
    }
    let are_there = |of: &dyn Fn(&Need) -> bool| needs.iter().filter(|need| of(need)).all(Need::is_there);
    if are_there(&|_| true) {
        preflight::preflight(config, experiment, &WHOLE)?;
    }
    let rag = experiment.rag.as_ref().filter(|_| are_there(&|need| need.key == "rag.dataset"));
    if let Some(rag) = rag {
        check_files(rag)?;
    }
    let all_there = experiment.data.is_some() && are_there(&Need::is_of_data);
    let prepared = match all_there {
        true => {
            match data::fingerprint(experiment, probe) {
                Ok(None) => None,
                Ok(Some(fingerprint)) => {
                    let folder = data::folder(datasets, &fingerprint);
                    let steps = steps::planned(experiment, &folder, &fingerprint)?;
                    Some((folder, steps))
                }
                // Which device `auto` stands for is part of the pairs' name where an encoder judges them. One that fails
                // its test is told below, and nothing here needs it.
                Err(_) if probe && experiment.device.first().needs_self_test() => None,
                Err(error) => return Err(error),
            }
        }
        false => None,
    };
    let (folder, steps) = prepared.unzip();
    let steps = steps.flatten();
    // Its sizes are enough, and those come with the first small files.
    let has_sizes = !needs.iter().any(|need| need.is_own_encoder() && need.is_missing());
    let encoder = experiment.encoder.as_ref().filter(|_| has_sizes);
    let size = encoder.map(|encoder| size(experiment, encoder)).transpose()?;
    // Nothing was found wrong until here.
    output::line(format!("{}: {}", config.display(), needs::verdict(&needs)));
    needs::print(&needs);
    outline::print(experiment, folder.as_deref(), size.as_ref(), steps.as_ref());
    lints::print(lints::of_all(experiment, size.as_ref(), steps.as_ref()));
    if experiment.data.is_some() && steps.is_none() {
        let file = config.display();
        output::line(match &folder {
            None if !probe && all_there => {
                "lints about the pairs need the device that `auto` stands for, which --no-probe does not try".to_owned()
            }
            _ => format!("lints about the pairs come after `wb data {file}`; they are not prepared yet"),
        });
    }
    if let Some(rag) = rag {
        text2sql::describe(rag, experiment.llm.as_ref());
    }
    if experiment.data.is_some() && size.is_some() {
        let folder = folder.unwrap_or_default();
        cost::lines(experiment, &folder, steps.as_ref(), probe)?.into_iter().for_each(output::line);
    }
    ended(&needs)
}

/// A file whose pairs `wb synth` is yet to make.
fn before_synthesis(experiment: &Experiment, config: &Path, needs: &[Need], pairs: &Path) -> Result<bool> {
    // The pairs themselves are what comes of it.
    let needs: Vec<Need> = needs.iter().filter(|need| Path::new(&need.what) != pairs).cloned().collect();
    if needs.iter().all(Need::is_there) {
        preflight::but_pairs(experiment, &WHOLE)?;
    }
    let file = config.display();
    let verdict = needs::verdict(&needs);
    output::line(format!("{file}: {verdict}, as far as it can be known before its pairs are there"));
    needs::print(&needs);
    output::line(format!("data      {}, to be made first: wb synth {file}", pairs.display()));
    lints::print(lints::of_experiment(experiment));
    ended(&needs)
}

/// An error where something is missing: the table says what brings it.
fn ended(needs: &[Need]) -> Result<bool> {
    let missing = needs.iter().filter(|need| need.is_missing()).count();
    if missing == 0 {
        return Ok(true);
    }
    output::note(format!("error: {}", needs::verdict(needs)));
    output::note("  hint: each line of the table that says `missing` has the command that brings it");
    Ok(false)
}
