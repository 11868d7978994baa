//! Words behind a command: a YAML or none, values to set in it, and a folder for its first source.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use wb_core::{Error, Result};

use crate::config::{Experiment, SourceChoice};

/// Place of the folder in a YAML.
const PLACE: &str = "data.sources.0.code.path";

/// Values to set, each folder among them as the value that it stands for.
///
/// # Errors
///
/// If the YAML cannot be read, or what it reads first is no source tree.
pub(crate) fn with_folders(file: &Path, overrides: &[String]) -> Result<Vec<String>> {
    let as_value = |given: &String| match (given.contains('='), Path::new(given).is_dir()) {
        (true, _) => Ok(given.clone()),
        (false, true) => of_folder(file, given),
        (false, false) => {
            let message = "no `=` in it, and no such folder".to_owned();
            let hint = "write key.path=value, as in train.epochs=1, or a folder for the first source of code";
            Err(Error::Override { given: given.clone(), message, hint: Some(hint.to_owned()) })
        }
    };
    overrides.iter().map(as_value).collect()
}

fn of_folder(file: &Path, folder: &str) -> Result<String> {
    let experiment: Experiment = wb_core::config::load(file, &[])?;
    let first = experiment.data.as_ref().and_then(|data| data.sources.first());
    if matches!(first, Some(SourceChoice::Code(_))) {
        // A string of JSON is one of YAML too, whatever characters it has.
        return Ok(format!("{PLACE}={}", serde_json::Value::from(folder)));
    }
    let given = folder.to_owned();
    let message = "is a folder, and the first of `data.sources` is no `code` that could read it".to_owned();
    Err(Error::Override {
        given,
        message,
        hint: Some("write key.path=value, as in data.sources.0.jsonl.path=FILE".into()),
    })
}

/// The file and the values among what was typed: without a file, the first value stands in its place.
pub fn file_and_values(first: Option<PathBuf>, rest: Vec<String>) -> (Option<PathBuf>, Vec<String>) {
    let sets_a_value = |path: &Path| !path.exists() && path.to_str().is_some_and(|text| text.contains('='));
    let Some(value) = first.as_deref().filter(|first| sets_a_value(first)).and_then(Path::to_str) else {
        return (first, rest);
    };
    let mut all: Vec<String> = std::iter::once(value.to_owned()).chain(rest).collect();
    let file = all.iter().position(|text| !text.contains('=')).map(|at| PathBuf::from(all.remove(at)));
    (file, all)
}

/// The text of a file, or of standard input for `-`; what is no UTF-8 in it, as in a log, is replaced.
pub fn text_of(place: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    let read = match place == Path::new("-") {
        true => std::io::stdin().read_to_end(&mut bytes).map(|_| bytes),
        false => std::fs::read(place),
    };
    read.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).map_err(Error::io("read", place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_no_file_wherever_it_stands() {
        let split = |typed: &[&str]| {
            let mut typed = typed.iter().map(|text| (*text).to_owned());
            let first = typed.next().map(PathBuf::from);
            let (file, values) = file_and_values(first, typed.collect());
            (file.map(|file| file.display().to_string()), values.join(" "))
        };
        let told = |file: Option<&str>, values: &str| (file.map(str::to_owned), values.to_owned());
        assert_eq!(split(&[]), told(None, ""));
        assert_eq!(split(&["a.yaml"]), told(Some("a.yaml"), ""));
        assert_eq!(split(&["a.yaml", "seed=1"]), told(Some("a.yaml"), "seed=1"));
        assert_eq!(split(&["seed=1"]), told(None, "seed=1"));
        assert_eq!(split(&["seed=1", "name=x"]), told(None, "seed=1 name=x"));
        assert_eq!(split(&["seed=1", "a.yaml", "name=x"]), told(Some("a.yaml"), "seed=1 name=x"));
    }

    #[test]
    fn a_folder_is_what_the_first_source_reads() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("code.yaml", "name: a\ndata: { sources: [{ code: { path: x } }, { code: {} }] }\n");
        write("pairs.yaml", "name: a\ndata: { sources: [{ jsonl: { path: p.jsonl } }] }\n");
        let given = vec!["seed=1".to_owned(), folder.path().display().to_string()];
        let experiment = Experiment::load("wb data", &folder.path().join("code.yaml"), &given).unwrap();
        let SourceChoice::Code(tree) = &experiment.data.unwrap().sources[0] else { panic!("not code") };
        assert_eq!((tree.path.as_ref(), experiment.seed.0), (Some(&given[1]), 1));
        let refused = |file: &str, given: &[String]| {
            Experiment::load("wb data", &folder.path().join(file), given).unwrap_err().to_string()
        };
        let told = refused("pairs.yaml", &given);
        assert!(told.contains("is a folder, and the first of `data.sources` is no `code`"), "{told}");
        assert!(refused("code.yaml", &["nowhere".to_owned()]).contains("no `=` in it"));
    }

    #[test]
    fn what_search_cannot_ask_of_a_run_is_told_with_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.yaml");
        let text = "name: a\ndata: { sources: [{ code: { path: ., group: file, dataset: mine } }], \
                    split: { by: group, family: off, test: 0.3 } }\n\
                    encoder: { model: { transformer: {} }, tokenizer: { vocab_size: 300 } }\n\
                    bench: { contestants: [bm25, untrained, trained], benchmarks: [{ benchmark: { search: {} } }] }\n";
        std::fs::write(&path, text).unwrap();
        let load = |given: &str| {
            // What compares tokens is right for an encoder of one vector a token, and for no other.
            let similarity = if given.contains("late_interaction") { "maxsim" } else { "cosine" };
            Experiment::load("wb check", &path, &[format!("train.similarity={similarity}"), given.to_owned()])
        };
        load("seed=1").unwrap();
        for (given, key) in [
            ("data.sources.0.code.group=crate", "data.sources[0].code"),
            ("data.sources.0.code.path=null", "data.sources[0].code"),
            ("data.sources=[{jsonl: {path: p.jsonl}}]", "data.sources[0]"),
            ("data.split.family=prefix", "data.split"),
            ("data.split.test=0", "data.split"),
            ("data.split.datasets=[mien]", "data.split.datasets[0]"),
            ("bench.contestants=[trained, bm25+trained]", "bench.benchmarks[0].benchmark"),
            ("bench.benchmarks.0.benchmark={search: {questions: 0}}", "bench.benchmarks[0].benchmark.search.questions"),
        ] {
            let error = load(given).unwrap_err();
            assert!(error.to_string().contains(&format!("{key}: ")), "{given}: {error}");
        }
        load("bench.benchmarks.0.dataset=elsewhere").unwrap();
        load("encoder.late_interaction={}").unwrap();
    }
}
