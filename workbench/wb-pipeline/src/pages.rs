//! Pages of what was computed; none where this build has no feature `report`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use wb_core::{
    Progress,
    records::{ab::AbRecord, negatives::NegativesCard, rag::Rag},
};

/// A page and the chart that is in it too.
#[derive(Debug, Clone)]
pub struct PageFiles {
    /// The page.
    pub html: PathBuf,
    /// The chart.
    pub png: PathBuf,
}

/// Makes the page of a run, and the list of all runs beside it.
#[cfg(feature = "report")]
pub fn run(run: &Path, reports: &Path, progress: &mut dyn FnMut(Progress)) -> Result<Option<PathBuf>> {
    let page = wb_report::report(run, reports, progress)?.html;
    if let Some(runs) = run.parent() {
        wb_report::index(runs, reports)?;
    }
    Ok(Some(page))
}

/// Makes the page of a sweep's runs.
#[cfg(feature = "report")]
pub fn sweep(name: &str, ids: &[String], runs: &Path, reports: &Path) -> Result<Option<PathBuf>> {
    Ok(Some(wb_report::sweep(name, ids, runs, reports)?))
}

/// Makes the page of mined pairs.
#[cfg(feature = "report")]
pub fn triples(card: &NegativesCard, title: &str, file: &Path) -> Result<Option<PathBuf>> {
    Ok(Some(wb_report::triples(card, title, file)?))
}

/// Makes the page of a text-to-SQL experiment.
#[cfg(feature = "report")]
pub fn rag(rag: &Rag, file: &Path) -> Result<Option<PageFiles>> {
    let wb_report::ChartedPage { html, png } = wb_report::rag(rag, file)?;
    Ok(Some(PageFiles { html, png }))
}

/// Makes the page of an A/B experiment.
#[cfg(feature = "report")]
pub fn ab(
    ab: &AbRecord,
    title: &str,
    facts: Vec<String>,
    text: &dyn Fn(&str) -> Option<String>,
    file: &Path,
) -> Result<Option<PageFiles>> {
    let wb_report::ChartedPage { html, png } = wb_report::ab(ab, title, facts, text, file)?;
    Ok(Some(PageFiles { html, png }))
}

/// Makes no page.
#[cfg(not(feature = "report"))]
pub fn sweep(_: &str, _: &[String], _: &Path, _: &Path) -> Result<Option<PathBuf>> {
    Ok(None)
}

/// Makes no page.
#[cfg(not(feature = "report"))]
pub fn run(_: &Path, _: &Path, _: &mut dyn FnMut(Progress)) -> Result<Option<PathBuf>> {
    Ok(None)
}

/// Makes no page.
#[cfg(not(feature = "report"))]
pub fn triples(_: &NegativesCard, _: &str, _: &Path) -> Result<Option<PathBuf>> {
    Ok(None)
}

/// Makes no page.
#[cfg(not(feature = "report"))]
pub fn rag(_: &Rag, _: &Path) -> Result<Option<PageFiles>> {
    Ok(None)
}

/// Makes no page.
#[cfg(not(feature = "report"))]
pub fn ab(
    _: &AbRecord,
    _: &str,
    _: Vec<String>,
    _: &dyn Fn(&str) -> Option<String>,
    _: &Path,
) -> Result<Option<PageFiles>> {
    Ok(None)
}
