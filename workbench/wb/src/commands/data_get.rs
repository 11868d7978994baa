//! `wb data get`: data sets of others, listed or fetched.

use std::path::Path;

use anyhow::Result;
use wb_data::external::{self, Entry, FetchRequest};
use wb_pipeline::data_sets;

use super::End;
use crate::{
    args,
    output::{self, Bars},
};

/// Fetches what is named; without a name, prints the list.
pub fn get(arguments: &args::DataGet) -> Result<End> {
    if arguments.names.is_empty() {
        data_sets::list(&arguments.external)?;
        return Ok(End::Done);
    }
    let entries = external::find(&arguments.names, &arguments.languages)?;
    if let (Some(revision), true) = (&arguments.revision, entries.len() > 1) {
        let message = format!("got `{revision}` for {} data sets, expected one", entries.len());
        return Err(wb_core::Error::value("--revision", message).into());
    }
    let request = FetchRequest {
        revision: arguments.revision.clone(),
        force: arguments.force,
        ..FetchRequest::new(&arguments.external)
    };
    for entry in &entries {
        fetch(entry, &request, &|line| output::line(line))?;
    }
    Ok(End::Done)
}

/// Fetches data sets that something else needs; none is no work.
pub fn bring(names: &[String], external: &Path) -> Result<()> {
    for entry in external::find(names, &[])? {
        // It is no result of what needs it.
        fetch(&entry, &FetchRequest::new(external), &|line| output::note(line))?;
    }
    Ok(())
}

/// One data set, told before and after.
fn fetch(entry: &Entry, request: &FetchRequest<'_>, say: &dyn Fn(String)) -> Result<()> {
    data_sets::announce(entry, &external::to_come(entry, request)?);
    let mut bars = Bars::new();
    let done = external::get(entry, request, &mut |progress| bars.report(progress));
    bars.finish();
    done?.iter().map(data_sets::line).for_each(say);
    Ok(())
}
