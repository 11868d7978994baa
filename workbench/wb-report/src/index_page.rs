//! The list of runs: one line each, newest first, with a link where there is a report.

use std::path::{Path, PathBuf};

use minijinja::Value;
use serde::Serialize;
use wb_core::{atomic, manifest::Manifest, records::compare::VerdictFile, run_dir};

use crate::{
    Result,
    template::{self, safe},
    words,
};

#[derive(Serialize)]
struct Index {
    style: Value,
    runs: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    id: String,
    link: String,
    started: String,
    device: String,
    word: &'static str,
    class: &'static str,
    line: String,
}

/// Writes `<out_folder>/index.html` out of all runs under `runs_folder`; returns the file.
pub fn index(runs_folder: &Path, out_folder: &Path) -> Result<PathBuf> {
    let mut runs = Vec::new();
    for run in run_dir::list(runs_folder)?.into_iter().rev() {
        // A part that cannot be read leaves its cell empty; the run's own report says why.
        let manifest: Manifest = run_dir::read_json(&run.manifest()).unwrap_or_default();
        let verdict: Option<VerdictFile> = run_dir::read_json(&run.verdict()).ok();
        let has_page = out_folder.join(format!("{}.html", run.id())).is_file();
        let word = match (run.is_done(), &verdict) {
            (false, _) => "not finished",
            (true, None) => "no verdict",
            (true, Some(verdict)) => verdict.verdict.as_str(),
        };
        runs.push(Line {
            id: run.id().to_owned(),
            link: if has_page { format!("{}.html", address(run.id())) } else { String::new() },
            started: manifest.started,
            device: manifest.device,
            class: if run.is_done() { words::verdict(verdict.as_ref().map(|file| file.verdict)).0 } else { "none" },
            word,
            line: verdict.as_ref().map_or_else(String::new, |file| file.said().to_owned()),
        });
    }
    let file = out_folder.join("index.html");
    atomic::write(&file, template::render(template::INDEX, &Index { style: safe(template::STYLE), runs })?.as_bytes())?;
    Ok(file)
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
