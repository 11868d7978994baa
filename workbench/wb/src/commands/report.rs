//! `wb report`: the HTML page and PNGs of a run.

use std::path::{Path, PathBuf};

use anyhow::Result;
use wb_core::{Progress, RunDir};

use super::{End, open};
use crate::{
    args,
    output::{self, Bars},
};

/// `wb report`
pub fn report(arguments: &args::Report) -> Result<End> {
    let places = &arguments.places;
    let mut named = arguments.named.clone();
    if named.is_empty() {
        named.push("latest".into());
    }
    let mut bars = Bars::new();
    for name in &named {
        let run = RunDir::open(&places.runs, name)?;
        let Some(page) = page(run.folder(), &places.reports, &mut |p| bars.report(p))? else {
            anyhow::bail!(
                "this wb was built without the feature `report`; cargo install --path workbench/wb builds it with reports"
            );
        };
        bars.finish();
        output::line(page.display().to_string());
        if arguments.open {
            open::open(&page);
        }
    }
    Ok(End::Done)
}

/// Makes the page of a run; `None` where this build has no reports.
#[cfg(feature = "report")]
pub fn page(run: &Path, reports: &Path, progress: &mut dyn FnMut(Progress)) -> Result<Option<PathBuf>> {
    let page = wb_report::report(run, reports, progress)?.html;
    if let Some(runs) = run.parent() {
        wb_report::index(runs, reports)?;
    }
    Ok(Some(page))
}

/// This build has no reports.
#[cfg(not(feature = "report"))]
pub fn page(_: &Path, _: &Path, _: &mut dyn FnMut(Progress)) -> Result<Option<PathBuf>> {
    Ok(None)
}
