//! `wb report`: the HTML page and PNGs of a run.

use anyhow::Result;
use wb_core::{Error, RunDir};
use wb_pipeline::{browser, pages};

use super::End;
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
        let Some(page) = pages::run(run.folder(), &places.reports, &mut |p| bars.report(p))? else {
            return Err(Error::failed("this wb was built without the feature `report`")
                .with_hint("cargo install --path workbench/wb")
                .into());
        };
        bars.finish();
        output::line(page.display().to_string());
        if arguments.open {
            browser::open(&page);
        }
    }
    Ok(End::Done)
}
