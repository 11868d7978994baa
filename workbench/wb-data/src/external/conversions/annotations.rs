//! CodeSearchNet's human judgements with the functions that they are about, which are looked up among the released ones.
//!
//! The judgements name functions by their addresses, and nobody publishes those functions alone. A judged function that
//! has no docstring is in no split of the release, and cannot be found.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::{BufRead, Read},
    path::{Path, PathBuf},
};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;
use wb_core::Progress;

use super::{
    as_it_is::copy,
    conversion::{ConversionCounts, Convert, Inputs, count},
    lines,
};
use crate::{Error, RecordPlace, Result, sources::open};

/// `annotationStore.csv` and `queries.csv` as they are, and `corpus.jsonl`: `id`, `language`, `url` and `code` of every
/// judged function that is among CodeSearchNet's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Annotations;

const STORE: &str = "annotationStore.csv";
const QUERIES: &str = "queries.csv";

/// The part of a row that names a function.
#[derive(Deserialize)]
struct Row {
    #[serde(rename = "Language")]
    language: String,
    #[serde(rename = "GitHubUrl")]
    url: String,
}

/// The part of a released function that is needed.
#[derive(Deserialize)]
struct Function {
    url: Option<String>,
    language: Option<String>,
    code: Option<String>,
}

impl Convert for Annotations {
    fn convert(&self, inputs: &Inputs<'_>, to: &Path, progress: &mut dyn FnMut(Progress)) -> Result<ConversionCounts> {
        let store = inputs.one(STORE)?;
        let judged = judged(store)?;
        copy(store, &to.join(STORE))?;
        copy(inputs.one(QUERIES)?, &to.join(QUERIES))?;
        let files = functions(inputs.external)?;
        progress(Progress::new("looking for functions", 0, files.len()));
        let found: Vec<Vec<Function>> = files.par_iter().map(|path| look(path, &judged)).collect::<Result<_>>()?;
        let mut missing = judged.clone();
        let mut counts = ConversionCounts::new();
        let written = lines::write(&to.join("corpus.jsonl"), |lines| {
            for function in found.into_iter().flatten() {
                let (Some(url), Some(code)) = (function.url, function.code) else { continue };
                // The first of several with one address.
                let Some(language) = missing.remove(&url) else { continue };
                let language = function.language.map_or(language, |own| own.to_lowercase());
                lines.json(&json!({ "id": url, "language": language, "url": url, "code": code }))?;
            }
            Ok(())
        })?;
        count(&mut counts, "judged functions", written);
        for language in missing.into_values() {
            count(&mut counts, &format!("judged functions of {language} that are not here, left out"), 1);
        }
        match written {
            0 => Err(Error::file(store, "none of the functions that it judges is among CodeSearchNet's files here")
                .with_hint("wb data get codesearchnet codesearchnet-train codesearchnet-annotations")),
            _ => Ok(counts),
        }
    }

    fn ready(&self, external: &Path) -> Result<()> {
        if functions(external)?.is_empty() {
            let message = "there is no function of CodeSearchNet, among which the judged ones are looked up";
            return Err(Error::file(&external.join("codesearchnet"), message).with_hint(
                "wb data get codesearchnet codesearchnet-annotations; with codesearchnet-train too, more are found",
            ));
        }
        Ok(())
    }

    fn beside(&self, external: &Path) -> Result<Vec<String>> {
        let named = functions(external)?.into_iter().map(|path| {
            let bytes = fs::metadata(&path).map_err(Error::io("read", &path))?.len();
            let inside = path.strip_prefix(external).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            Ok(format!("{inside} {bytes}"))
        });
        named.collect()
    }
}

/// The addresses that somebody judged, with their languages.
fn judged(store: &Path) -> Result<BTreeMap<String, String>> {
    let table = |error: csv::Error| Error::file(store, "not a table as expected").with_cause(error);
    let mut reader = csv::Reader::from_path(store).map_err(table)?;
    let rows = reader.deserialize().map(|row: std::result::Result<Row, _>| row.map_err(table));
    rows.map(|row| row.map(|row| (row.url, row.language.to_lowercase()))).collect()
}

/// The files of functions that are there, every split of every language, in the order of their paths.
fn functions(external: &Path) -> Result<Vec<PathBuf>> {
    let is_split = |name: &str| {
        let stem = name.strip_suffix(".gz").unwrap_or(name).strip_suffix(".jsonl");
        stem.is_some_and(|stem| ["train", "valid", "test"].iter().any(|split| stem.contains(split)))
    };
    let mut found = BTreeSet::new();
    for language in folder(&external.join("codesearchnet"))? {
        let name = language.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        if ["annotated", "advtest"].contains(&&*name) {
            continue;
        }
        let packed = language.join("final").join("jsonl");
        let shards = folder(&packed)?.into_iter().map(|split| folder(&split));
        let shards: Vec<Vec<PathBuf>> = shards.collect::<Result<_>>()?;
        for path in folder(&language)?.into_iter().chain(shards.into_iter().flatten()) {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if path.is_file() && is_split(&name) {
                found.insert(path);
            }
        }
    }
    Ok(found.into_iter().collect())
}

/// The entries of a folder that are not hidden; none where it is none.
fn folder(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(Vec::new());
    }
    let mut paths = Vec::new();
    for entry in fs::read_dir(path).map_err(Error::io("read", path))? {
        let entry = entry.map_err(Error::io("read", path))?;
        if !entry.file_name().to_string_lossy().starts_with('.') {
            paths.push(entry.path());
        }
    }
    Ok(paths)
}

/// The judged functions of a file.
fn look(path: &Path, judged: &BTreeMap<String, String>) -> Result<Vec<Function>> {
    /// Bytes that no function exceeds.
    const LONGEST: u64 = 1 << 28;
    let mut reader = open(path)?.reader;
    let mut found = Vec::new();
    let (mut line, mut number) = (Vec::new(), 0);
    loop {
        line.clear();
        let read = (&mut reader).take(LONGEST).read_until(b'\n', &mut line).map_err(Error::io("read", path))?;
        if read == 0 {
            return Ok(found);
        }
        number += 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        let function: Function = serde_json::from_slice(&line).map_err(|error| {
            let message = format!("not a function of CodeSearchNet: {error}");
            Error::record(RecordPlace::line(&path.into(), number), "not a function", message)
        })?;
        if function.url.as_ref().is_some_and(|url| judged.contains_key(url)) {
            found.push(function);
        }
    }
}
