//! cqs' questions: `v3_*.json`, `corpus/`.
//!
//! Recall is what cqs' own runner counts (`src/cli/commands/eval/runner.rs` of its repository): a unit of the gold's file with
//! the gold's name. Lines are not looked at there, as those of the questions are from other days than the corpus: of the 109
//! development questions, 37 have gold lines in which the gold's name does not stand. Units by lines are counted too, as
//! others have measured them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::{LoadedSet, SearchSet, SetQuestion, Target, read_json, repository};
use crate::{Error, Result};

#[derive(Deserialize)]
struct File {
    queries: Vec<Asked>,
}

#[derive(Deserialize)]
struct Asked {
    query: String,
    #[serde(default)]
    category: String,
    #[serde(default)]
    gold_chunk: Option<Gold>,
}

#[derive(Deserialize)]
struct Gold {
    origin: String,
    name: Option<String>,
    line_start: u32,
    line_end: u32,
}

pub(super) fn load(folder: &Path) -> Result<LoadedSet> {
    let listing = fs::read_dir(folder).map_err(Error::io("read", folder))?;
    let is_questions = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("v3_") && name.ends_with(".json")
    };
    let mut files: Vec<PathBuf> = listing.filter_map(|entry| Some(entry.ok()?.path())).filter(is_questions).collect();
    files.sort();
    if files.is_empty() {
        let what = format!("{} has no questions, expected files like v3_dev.v2.json", folder.display());
        return Err(Error::failed(what).with_hint("`--dataset` is the folder of the set itself"));
    }
    let repositories = vec![repository("cqs", "rust", folder.join("corpus"))?];
    let (mut questions, mut left_out) = (Vec::new(), 0);
    for path in files {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let file: File = read_json(&path)?;
        for (at, asked) in file.queries.into_iter().enumerate() {
            let Some(Gold { origin, name: symbol, line_start, line_end }) = asked.gold_chunk else {
                left_out += 1;
                continue;
            };
            let targets = vec![Target::of(&origin, Some([line_start, line_end]))];
            let question = SetQuestion::new(format!("{name}:{at}"), asked.query, 0, asked.category, targets);
            questions.push(SetQuestion { symbol, ..question });
        }
    }
    Ok(LoadedSet { repositories, questions, left_out, ..LoadedSet::empty(SearchSet::Cqs) })
}
