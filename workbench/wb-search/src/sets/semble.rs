//! semble's own benchmark: `repos.json`, `annotations/NAME.json`, `corpora/NAME`.

use std::path::Path;

use serde::Deserialize;

use super::{LoadedSet, SearchSet, SetQuestion, Target, read_json, repository};
use crate::Result;

#[derive(Deserialize)]
struct Listed {
    name: String,
    language: String,
    #[serde(default)]
    benchmark_root: Option<String>,
}

#[derive(Deserialize)]
struct Annotation {
    query: String,
    #[serde(default)]
    relevant: Vec<Place>,
    #[serde(default)]
    secondary: Vec<Place>,
    #[serde(default)]
    category: Option<String>,
}

/// A file, or lines of one. Not told apart by serde, so that an error says which key is missing.
#[derive(Deserialize)]
struct Lines {
    path: String,
    start_line: Option<u32>,
    end_line: Option<u32>,
}

struct Place(Target);

impl<'de> Deserialize<'de> for Place {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        if let serde_json::Value::String(path) = value {
            return Ok(Self(Target::of(&path, None)));
        }
        let Lines { path, start_line, end_line } = serde_json::from_value(value).map_err(serde::de::Error::custom)?;
        Ok(Self(Target::of(&path, start_line.zip(end_line).map(|(from, to)| [from, to]))))
    }
}

pub(super) fn load(folder: &Path) -> Result<LoadedSet> {
    let listed: Vec<Listed> = read_json(&folder.join("repos.json"))?;
    let mut set = LoadedSet::empty(SearchSet::Semble);
    for Listed { name, language, benchmark_root } in listed {
        let annotations = folder.join("annotations").join(format!("{name}.json"));
        let root = folder.join("corpora").join(&name).join(benchmark_root.unwrap_or_default());
        // A part of the benchmark has a part of its repositories, as its own scorer takes them.
        if !annotations.is_file() && !root.is_dir() {
            continue;
        }
        let asked: Vec<Annotation> = read_json(&annotations)?;
        if !root.is_dir() {
            set.left_out += asked.len();
            continue;
        }
        let number = set.repositories.len();
        set.repositories.push(repository(&name, &language, root)?);
        for (asked, at) in asked.into_iter().zip(0..) {
            let primary = asked.relevant.len();
            let targets = asked.relevant.into_iter().chain(asked.secondary).map(|place| place.0).collect();
            let (id, category) = (format!("{name}:{at}"), asked.category.unwrap_or_default());
            let question = SetQuestion::new(id, asked.query, number, category, targets);
            set.questions.push(SetQuestion { primary, ..question });
        }
    }
    Ok(set)
}
