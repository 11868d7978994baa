//! One run folder to one page.

use std::path::{Path, PathBuf};

use wb_core::{Progress, atomic};

use crate::{Result, charts, contestants, gather, page, run_tables::RunTables};

/// The files of a page with one chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartedPage {
    /// The page.
    pub html: PathBuf,
    /// The chart, which is in the page too.
    pub png: PathBuf,
}

impl ChartedPage {
    /// Writes the page to `file`, and the chart beside it.
    pub(crate) fn write(file: &Path, html: &str, chart: &[u8]) -> Result<Self> {
        let png = file.with_extension("png");
        atomic::write(&png, chart)?;
        atomic::write(file, html.as_bytes())?;
        Ok(Self { html: file.to_owned(), png })
    }
}

/// The files of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFiles {
    /// The page.
    pub html: PathBuf,
    /// The charts, in the order of the page.
    pub pngs: Vec<PathBuf>,
}

/// Writes `<out_folder>/<run id>.html` and `<out_folder>/<run id>/<chart>.png`.
///
/// The page holds its pictures and opens alone, without a network and without scripts.
/// Parts of the run that are missing or cannot be read are listed on it.
pub fn report(run_folder: &Path, out_folder: &Path, progress: &mut dyn FnMut(Progress)) -> Result<ReportFiles> {
    progress(Progress::new("reading the run", 0, 0));
    let run = gather::gather(run_folder)?;
    let tables = RunTables::new(&run);
    let contestants = contestants::arrange(&run.outcomes);
    let figures = charts::figures(&tables, &contestants, progress)?;
    let html = page::page(&run, &tables, &contestants, &figures)?;
    progress(Progress::new("writing the report", 0, figures.len() + 1));
    let mut pngs = Vec::new();
    for (done, figure) in figures.iter().enumerate() {
        let file = out_folder.join(&run.id).join(format!("{}.png", figure.name));
        atomic::write(&file, &figure.png)?;
        pngs.push(file);
        progress(Progress::new("writing the report", done + 1, figures.len() + 1));
    }
    // Not `with_extension`: an id may hold a dot.
    let file = out_folder.join(format!("{}.html", run.id));
    atomic::write(&file, html.as_bytes())?;
    progress(Progress::new("writing the report", figures.len() + 1, figures.len() + 1));
    Ok(ReportFiles { html: file, pngs })
}
