//! Every YAML under `configs/`: it loads, means the same when it is written and loaded again, and has its keys explained.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use wb_pipeline::config::Experiment;

use crate::tree::{files, root};

/// The files of `configs/`.
pub fn configs() -> Vec<PathBuf> {
    let found = files(&root().join("configs"), "yaml");
    assert!(found.iter().any(|path| path.ends_with("quickstart.yaml")), "{found:?}");
    found
}

/// The file with every default filled in. It is not looked at whether its data are on this machine.
pub fn resolved(path: &Path) -> String {
    let loaded = Experiment::load("wb check", path, &[]);
    let experiment = loaded.unwrap_or_else(|error| panic!("{}: {error:#}", path.display()));
    wb_core::config::to_text(&experiment).unwrap()
}

#[test]
fn every_config_loads_and_means_the_same_when_it_is_loaded_again() {
    let folder = tempfile::tempdir().unwrap();
    for path in configs() {
        let once = resolved(&path);
        let file = folder.path().join("resolved.yaml");
        fs::write(&file, &once).unwrap();
        assert_eq!(resolved(&file), once, "{}", path.display());
    }
}

#[test]
fn a_config_is_named_like_its_file() {
    for path in configs() {
        let text = resolved(&path);
        let name = text.lines().find_map(|line| line.strip_prefix("name: ")).unwrap();
        assert_eq!(Some(name), path.file_stem().and_then(|stem| stem.to_str()), "{}", path.display());
    }
}

/// Without validation pairs there is nothing to choose the best weights by, and training refuses to.
#[test]
fn a_config_without_validation_pairs_keeps_its_last_weights() {
    for path in configs() {
        let text = resolved(&path);
        let has_none = text.lines().any(|line| ["validation: 0", "validation: 0.0"].contains(&line.trim()));
        assert!(!has_none || text.lines().any(|line| line.trim() == "keep: last"), "{}", path.display());
    }
}

/// `wb run` without a file lists it.
#[test]
fn every_config_tells_what_it_costs() {
    for path in configs() {
        let text = fs::read_to_string(&path).unwrap();
        let head: Vec<&str> = text.lines().take_while(|line| line.starts_with('#')).collect();
        assert!(head.iter().any(|line| line.starts_with("# Cost: ")), "{}: no `# Cost: ...`", path.display());
    }
}

/// The recipe that the flagship follows, number by number, in the order of the file.
#[test]
fn the_flagship_has_the_numbers_of_its_recipe() {
    let text = resolved(&root().join("configs/xtr-lora.yaml"));
    let mut lines = text.lines().map(|line| line.trim_start_matches([' ', '-']));
    let numbers = "per_pair: 31, query: 32, document: 512, dim: 128, rank: 32, alpha: 64.0, q, k, v, o, wi_0, wi_1, wo, \
                   top_k: 256, pairs: 64, accumulate: 4, negatives: 3, temperature: 0.1, negatives: 7, \
                   temperature: 0.07, negatives: 15, temperature: 0.05, negatives: 31, learning_rate: 0.00001, \
                   warmup_steps: 5000, epochs: 3";
    for wanted in numbers.split(", ") {
        assert!(lines.any(|line| line == wanted), "no `{wanted}`, or not in its place:\n{text}");
    }
}

/// The page is what `wb ls --defaults` prints: a key that it does not have cannot be found by anyone.
#[test]
fn every_key_is_explained() {
    let page = fs::read_to_string(root().join("configs/README.md")).unwrap();
    let mut unexplained = BTreeSet::new();
    for path in configs() {
        let text = resolved(&path);
        // Data sets have names of the user's choice, which are keys of `train.mix.weights`.
        let names: BTreeSet<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("dataset: ")).collect();
        for key in keys(&text) {
            if !names.contains(key.as_str())
                && !page.contains(&format!("`{key}`"))
                && !page.contains(&format!("{key}:"))
            {
                unexplained.insert(key);
            }
        }
    }
    assert!(unexplained.is_empty(), "configs/README.md does not explain {unexplained:?}");
}

/// The keys of a resolved file, which is written in block style: one key at the beginning of a line.
fn keys(yaml: &str) -> BTreeSet<String> {
    let key = |line: &str| {
        let (key, rest) = line.trim_start_matches([' ', '-']).split_once(':')?;
        let is_word = key.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        (is_word && !key.is_empty() && (rest.is_empty() || rest.starts_with(' '))).then(|| key.to_owned())
    };
    yaml.lines().filter_map(key).collect()
}

/// What the page says to be the default is the default: rows of the form ``| `key` | `default` | ...``.
#[test]
fn defaults_on_the_page_are_the_defaults() {
    let page = fs::read_to_string(root().join("configs/README.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let smallest = folder.path().join("smallest.yaml");
    let text = "name: smallest\ndata: { sources: [{ code: {} }] }\nencoder: { model: { static_embedding: {} } }\n";
    fs::write(&smallest, text).unwrap();
    let resolved = resolved(&smallest);
    // A key that stands in several places has several rows and several defaults: one of them has to be right.
    let mut rows: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let mut cells = row.split('|').skip(1).map(str::trim);
        let (Some(key), Some(default)) = (cells.next().and_then(quoted), cells.next().and_then(quoted)) else {
            continue;
        };
        rows.entry(key).or_default().push(default);
    }
    let mut checked = 0;
    for (key, told) in rows {
        let set: Vec<&str> = resolved.lines().filter_map(|line| value_of(line, key)).collect();
        // The name is no default: the file above gives it.
        if key != "name" && !set.is_empty() {
            let is_told = set.iter().any(|value| told.iter().any(|default| same(value, default)));
            assert!(is_told, "{key}: the page says {told:?}, the code {set:?}");
            checked += 1;
        }
    }
    assert!(checked > 25, "only {checked} defaults were found on the page");
}

fn quoted(cell: &str) -> Option<&str> {
    cell.strip_prefix('`')?.strip_suffix('`').filter(|inner| !inner.contains('`'))
}

fn value_of<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    line.trim_start_matches([' ', '-'])
        .strip_prefix(key)?
        .strip_prefix(':')
        .map(str::trim)
        .filter(|value| !value.is_empty())
}

/// `1e-6` and `1.0e-6`, `""` and `''` are the same.
fn same(a: &str, b: &str) -> bool {
    let number = |text: &str| text.replace('_', "").parse::<f64>().ok();
    let plain = |text: &str| text.trim_matches(['"', '\'']).to_owned();
    match (number(a), number(b)) {
        (Some(a), Some(b)) => a == b,
        _ => plain(a) == plain(b),
    }
}
