//! Contents of the code or the pairs of `wb init`: looked at before anything is chosen.

use std::{collections::BTreeSet, fs, path::Path};

use crate::{config::SourceChoice, cost};
use anyhow::{Context, Result};
use wb_code::{TreeConfig, read_tree, tree_files};
use wb_core::{Error, progress::silent};
use wb_data::{OnBad, split::family};

/// Fewer pairs are no training.
const LEAST: usize = 50;
/// A tree of at most so many bytes is read to count its documented functions.
const READ: u64 = 32 << 20;
/// Records that are read of a file of pairs.
const RECORDS: usize = 200;
/// Fewer families of groups than this are not held out whole: one of them would be a quarter of everything.
const GROUPS: usize = 5;

/// Endings of files of pairs.
const ENDINGS: [&str; 4] = [".jsonl", ".json", ".parquet", ".csv"];

/// Code or pairs, as they were named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataChoice {
    /// A folder of source code.
    Code(String),
    /// A file of pairs.
    Pairs(String),
    /// Cargo's registry sources.
    Registry,
}

impl DataChoice {
    /// Reads what was typed: nothing is the registry, a file of pairs goes by its ending, all else is a folder of code.
    pub fn of_text(text: &str) -> Self {
        let text = text.trim();
        let name = text.to_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        match text {
            "" => Self::Registry,
            _ if ENDINGS.iter().any(|ending| name.ends_with(ending)) && !Path::new(text).is_dir() => {
                Self::Pairs(text.to_owned())
            }
            _ => Self::Code(text.to_owned()),
        }
    }
}

/// Code or pairs that are there.
#[derive(Debug, Clone, PartialEq)]
pub struct InitMaterial {
    /// Number of pairs, before any gate.
    pub pairs: f64,
    /// True where they were counted, and not reckoned from the sizes of files.
    pub counted: bool,
    /// True where pairs are split one by one, because there are too few groups to hold some out.
    pub by_pair: bool,
    /// A name for an experiment with it.
    pub name: String,
    /// The material in words: `the code in ../my-project`.
    pub what: String,
    /// The source, as YAML in one line.
    pub source: String,
}

impl InitMaterial {
    /// Looks at it; what is not there, holds no code, or lacks a field is an error.
    pub fn look(data: &DataChoice) -> Result<Self> {
        match data {
            DataChoice::Code(path) => code(Some(path)),
            DataChoice::Pairs(path) => pairs(path),
            DataChoice::Registry => code(None),
        }
    }
}

/// A tree of source code, or Cargo's registry.
fn code(path: Option<&str>) -> Result<InitMaterial> {
    let tree = TreeConfig { path: path.map(str::to_owned), ..TreeConfig::default() };
    let files = tree_files(&tree)?.files;
    let bytes =
        || files.iter().filter_map(|file| fs::metadata(&file.absolute).ok()).map(|file| file.len()).sum::<u64>();
    let groups: BTreeSet<&str> = files.iter().map(|file| family(&file.origin.group)).collect();
    let counted = path.is_some() && bytes() <= READ;
    let pairs = match counted {
        true => read_tree(&tree, &mut silent)?.pairs.len() as f64,
        false => cost::assumed_pairs(&SourceChoice::Code(tree))?.unwrap_or(0.0),
    };
    enough(path.unwrap_or("Cargo's registry"), pairs, "documented functions")?;
    let by_pair = groups.len() < GROUPS;
    let Some(path) = path else {
        let (name, what) = ("registry".to_owned(), "the Rust crates in Cargo's registry".to_owned());
        return Ok(InitMaterial { pairs, counted, by_pair, name, what, source: "code: {}".to_owned() });
    };
    let folder = Path::new(path).canonicalize().ok();
    let name = folder.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    Ok(InitMaterial {
        pairs,
        counted,
        by_pair,
        name: as_name(&name.unwrap_or_default()),
        what: format!("the code in {path}"),
        source: format!("code: {{ path: {} }}", quoted(path)?),
    })
}

fn pairs(path: &str) -> Result<InitMaterial> {
    let source = SourceChoice::of_file(Path::new(path))?;
    let (mut seen, mut groups) = (0, BTreeSet::new());
    let mut take = |pair: wb_core::Pair| {
        seen += 1;
        // A pair without a group is a group by itself.
        let group = if pair.origin.group.is_empty() { pair.id } else { family(&pair.origin.group).to_owned() };
        groups.insert(group);
        // An error is what ends the reading.
        if seen < RECORDS { Ok(()) } else { Err(wb_core::Error::Stopped) }
    };
    let read = source.each(0, OnBad::Stop, &mut take, &mut silent);
    let more = seen >= RECORDS;
    if !more {
        read.with_context(|| format!("cannot read {}", source.name()))?;
    }
    let assumed = if more { cost::assumed_pairs(&source)? } else { None };
    let pairs = assumed.unwrap_or(seen as f64).max(seen as f64);
    enough(path, pairs, "pairs")?;
    let kind = match &source {
        SourceChoice::Parquet(_) => "parquet",
        SourceChoice::Csv(_) => "csv",
        _ => "jsonl",
    };
    let file = Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(InitMaterial {
        pairs,
        counted: !more,
        by_pair: groups.len() < GROUPS,
        name: as_name(file.split('.').next().unwrap_or_default()),
        what: format!("the pairs in {path}"),
        source: format!("{kind}: {{ path: {} }}", quoted(path)?),
    })
}

/// Refuses data that is too little to learn anything from.
fn enough(place: &str, pairs: f64, what: &str) -> Result<()> {
    if pairs >= LEAST as f64 {
        return Ok(());
    }
    let what = if pairs == 1.0 { what.trim_end_matches('s') } else { what };
    let message = format!("has {pairs:.0} {what}, expected at least {LEAST}");
    Err(Error::data(place, message).with_hint("name a folder or a file with more, or take --registry").into())
}

/// A text as the name of an experiment: letters, digits, `-` and `_`.
pub fn as_name(text: &str) -> String {
    let fine = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
    let name: String = text.chars().map(fine).collect();
    let name = name.trim_matches('-');
    if name.is_empty() { "mine".to_owned() } else { name.to_owned() }
}

/// A text as YAML, quoted as JSON.
fn quoted(text: &str) -> Result<String> {
    Ok(serde_json::to_string(text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let path = path.display().to_string();
        (folder, path)
    }

    fn records(count: usize) -> String {
        (0..count).map(|at| format!("{{\"anchor\": \"question {at}\", \"positive\": \"answer {at}\"}}\n")).collect()
    }

    #[test]
    fn a_file_of_pairs_is_counted_or_reckoned() {
        let (_folder, path) = file("my.pairs.jsonl", &records(60));
        let found = InitMaterial::look(&DataChoice::Pairs(path.clone())).unwrap();
        assert_eq!((found.pairs, found.counted, found.by_pair, found.name.as_str()), (60.0, true, false, "my"));
        assert_eq!(found.source, format!("jsonl: {{ path: {} }}", quoted(&path).unwrap()));
        let (_folder, path) = file("many.jsonl", &records(5000));
        let found = InitMaterial::look(&DataChoice::Pairs(path)).unwrap();
        assert!(!found.counted && (4900.0..5100.0).contains(&found.pairs), "{found:?}");
    }

    #[test]
    fn what_cannot_be_trained_on_is_refused() {
        let told = |data: &DataChoice| crate::output::in_one_line(&InitMaterial::look(data).unwrap_err());
        let (_folder, path) = file("few.jsonl", &records(3));
        assert!(told(&DataChoice::Pairs(path)).contains("has 3 pairs, expected at least 50"));
        let (_folder, path) = file("other.jsonl", "{\"question\": \"a\", \"positive\": \"b\"}\n");
        assert!(told(&DataChoice::Pairs(path)).contains("anchor"));
        assert!(told(&DataChoice::Pairs("notes.txt".to_owned())).contains("expected a file of pairs"));
        assert!(told(&DataChoice::Pairs("nowhere.jsonl".to_owned())).contains("nowhere.jsonl"));
        assert!(told(&DataChoice::Code("nowhere".to_owned())).contains("nowhere is not a folder"));
        let (folder, _) = file("notes.txt", "no code");
        assert!(
            told(&DataChoice::Code(folder.path().display().to_string())).contains("has no source file in rust, python")
        );
        let (folder, _) =
            file("one.py", "def f():\n    \"\"\"Returns the number one, always and at once.\"\"\"\n    return 1\n");
        assert!(told(&DataChoice::Code(folder.path().display().to_string())).contains("expected at least 50"));
    }

    #[test]
    fn data_goes_by_what_was_typed() {
        let rows = [
            ("", DataChoice::Registry),
            ("  \n", DataChoice::Registry),
            ("../my-project", DataChoice::Code("../my-project".to_owned())),
            (" pairs.jsonl\n", DataChoice::Pairs("pairs.jsonl".to_owned())),
            ("a b/pairs.JSONL.gz", DataChoice::Pairs("a b/pairs.JSONL.gz".to_owned())),
            ("x.parquet", DataChoice::Pairs("x.parquet".to_owned())),
            ("x.csv", DataChoice::Pairs("x.csv".to_owned())),
        ];
        for (text, expected) in rows {
            assert_eq!(DataChoice::of_text(text), expected, "{text:?}");
        }
    }

    #[test]
    fn names_are_made_of_what_is_allowed() {
        for (text, expected) in [
            ("my-project", "my-project"),
            ("my.project v2", "my-project-v2"),
            ("..", "mine"),
            ("über", "ber"),
            ("a_b", "a_b"),
        ] {
            assert_eq!(as_name(text), expected);
        }
    }
}
