//! The list of all runs with what they got: leaderboards, runs and data, each a question over the records of all runs.

mod cards;
mod differs;
mod leaderboard;
mod list;
mod records;

use std::path::{Path, PathBuf};

pub use leaderboard::{Leaderboard, LeaderboardRow};
use polars::prelude::{DataFrame, DataType, Expr, PolarsError, PolarsResult, col};
use serde::Serialize;
use wb_core::atomic;

use self::{
    cards::{DataCardView, LossView},
    list::ListedRun,
    records::RunFrames,
};
use crate::{Error, Result, template};

#[derive(Serialize)]
struct RunsPage {
    title: String,
    runs: Vec<ListedRun>,
    leaderboards: Vec<Leaderboard>,
    cards: Vec<DataCardView>,
    losses: Vec<LossView>,
}

/// The leaderboards of all runs under a folder, or of those with some ids.
pub fn leaderboards(runs_folder: &Path, ids: Option<&[String]>) -> Result<Vec<Leaderboard>> {
    leaderboard::leaderboards(&frames(runs_folder, ids)?, &|_| String::new()).map_err(not_a_table("leaderboards"))
}

/// Writes `<out_folder>/index.html` out of all runs under `runs_folder`; returns the file.
///
/// A part of a run that cannot be read leaves its cells empty; the run's own report says why.
pub fn index(runs_folder: &Path, out_folder: &Path) -> Result<PathBuf> {
    page("Runs", &frames(runs_folder, None)?, out_folder, "index.html")
}

/// Writes `<out_folder>/sweep-NAME.html` out of the runs of a sweep; returns the file.
pub fn sweep(name: &str, ids: &[String], runs_folder: &Path, out_folder: &Path) -> Result<PathBuf> {
    page(&format!("Sweep {name}"), &frames(runs_folder, Some(ids))?, out_folder, &format!("sweep-{name}.html"))
}

fn frames(runs_folder: &Path, ids: Option<&[String]>) -> Result<RunFrames> {
    let mut all = records::read(runs_folder)?;
    all.retain(|run| ids.is_none_or(|ids| ids.contains(&run.id)));
    RunFrames::new(&all).map_err(not_a_table("records"))
}

fn page(title: &str, frames: &RunFrames, out_folder: &Path, name: &str) -> Result<PathBuf> {
    let link = |run: &str| {
        let has_page = out_folder.join(format!("{run}.html")).is_file();
        if has_page { format!("{}.html", address(run)) } else { String::new() }
    };
    let page = RunsPage {
        title: title.to_owned(),
        runs: list::list(frames, &link).map_err(not_a_table("runs"))?,
        leaderboards: leaderboard::leaderboards(frames, &link).map_err(not_a_table("leaderboards"))?,
        cards: cards::cards(frames, &link).map_err(not_a_table("data cards"))?,
        losses: cards::losses(frames).map_err(not_a_table("dropped pairs"))?,
    };
    let file = out_folder.join(name);
    atomic::write(&file, template::render(template::INDEX, &page)?.as_bytes())?;
    Ok(file)
}

/// Makes errors of a table in memory that could not be made; a defect.
fn not_a_table(table: &'static str) -> impl Fn(PolarsError) -> Error {
    move |source| Error::failed(format!("cannot make the table `{table}`")).with_cause(source)
}

/// The columns of these names.
fn columns(names: &[&str]) -> Vec<Expr> {
    names.iter().map(|name| col(*name)).collect()
}

/// Columns of texts; a text that is missing is empty.
fn texts<const N: usize>(frame: &DataFrame, columns: [&str; N]) -> PolarsResult<[Vec<String>; N]> {
    let mut found = columns.map(|_| Vec::new());
    for (values, column) in found.iter_mut().zip(columns) {
        let texts = frame.column(column)?.str()?;
        values.extend(texts.iter().map(|text| text.unwrap_or_default().to_owned()));
    }
    Ok(found)
}

/// Columns of numbers; a number that is missing is not a number.
fn numbers<const N: usize>(frame: &DataFrame, columns: [&str; N]) -> PolarsResult<[Vec<f64>; N]> {
    let mut found = columns.map(|_| Vec::new());
    for (values, column) in found.iter_mut().zip(columns) {
        let numbers = frame.column(column)?.cast(&DataType::Float64)?;
        values.extend(numbers.f64()?.iter().map(|number| number.unwrap_or(f64::NAN)));
    }
    Ok(found)
}

/// A file name as a relative address: everything but letters, digits, `-`, `_` and `.` by its bytes, and `./` before it.
fn address(name: &str) -> String {
    let mut address = String::from("./");
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => address.push(byte as char),
            _ => address.push_str(&format!("%{byte:02X}")),
        }
    }
    address
}

#[cfg(test)]
mod tests {
    #[test]
    fn addresses_stay_in_the_folder() {
        assert_eq!(super::address("javascript:alert(1)"), "./javascript%3Aalert%281%29");
        assert_eq!(super::address("2026-11-21-tiny-ab12"), "./2026-11-21-tiny-ab12");
        assert_eq!(super::address("é\"x"), "./%C3%A9%22x");
    }
}
