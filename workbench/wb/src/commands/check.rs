//! `wb check`: what is wrong with a YAML, or what it would do.

use anyhow::Result;
use wb_pipeline::check;

use super::{End, experiment, recipes};
use crate::{args, output};

/// `wb check`
pub fn check(args::Check { given, resolved, no_probe }: args::Check) -> Result<End> {
    let Some(arguments) = recipes::given_or_listed("check", given)? else { return Ok(End::Done) };
    let experiment = experiment::load("wb check", &arguments)?;
    if resolved {
        output::line(wb_core::config::to_text(&experiment)?.trim_end());
        return Ok(End::Done);
    }
    let is_whole = check::check(&experiment, &arguments.config, &arguments.places.datasets, !no_probe)?;
    Ok(if is_whole { End::Done } else { End::Error })
}
