//! The file that a command is given; where it is given none, recipes are listed with what they cost.

use anyhow::Result;
use wb_core::Error;
use wb_pipeline::{
    manifest::quoted,
    recipes::{self, QUICKSTART},
    typed::file_and_values,
};

use crate::args;

/// The file that was given; none where none was given, and the recipes were listed instead.
///
/// # Errors
///
/// If values are given without a file, or if there is nothing to list.
pub fn given_or_listed(command: &str, given: args::Given) -> Result<Option<args::ExperimentArguments>> {
    let (config, overrides) = file_and_values(given.config, given.overrides);
    let Some(config) = config else {
        if !overrides.is_empty() {
            let message = format!("{} has no file that it could be set in", overrides.join(" "));
            let values: Vec<String> = overrides.into_iter().map(quoted).collect();
            let hint = format!("wb {command} {QUICKSTART} {}", values.join(" "));
            return Err(Error::data(format!("wb {command}"), message).with_hint(hint).into());
        }
        recipes::list(command)?;
        return Ok(None);
    };
    Ok(Some(args::ExperimentArguments { config, overrides, device: given.device, places: given.places }))
}
