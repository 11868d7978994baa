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
            return Ok(Self(Target { path, lines: None }));
        }
        let Lines { path, start_line, end_line } = serde_json::from_value(value).map_err(serde::de::Error::custom)?;
        Ok(Self(Target { path, lines: start_line.zip(end_line).map(|(from, to)| [from, to]) }))
    }
}

pub(super) fn load(folder: &Path) -> Result<LoadedSet> {
    let listed: Vec<Listed> = read_json(&folder.join("repos.json"))?;
    let mut set =
        LoadedSet { set: SearchSet::Semble, repositories: Vec::new(), questions: Vec::new(), left_out: 0, copy: None };
    for Listed { name, language, benchmark_root } in listed {
        let annotations = folder.join("annotations").join(format!("{name}.json"));
        let root = folder.join("corpora").join(&name).join(benchmark_root.unwrap_or_default());
        let number = set.repositories.len();
        set.repositories.push(repository(&name, &language, root)?);
        let asked: Vec<Annotation> = read_json(&annotations)?;
        set.questions.extend(asked.into_iter().enumerate().map(|(at, asked)| SetQuestion {
            id: format!("{name}:{at}"),
            text: asked.query,
            asked: None,
            repository: number,
            category: asked.category.unwrap_or_default(),
            primary: asked.relevant.len(),
            targets: asked.relevant.into_iter().chain(asked.secondary).map(|place| place.0).collect(),
        }));
    }
    Ok(set)
}
