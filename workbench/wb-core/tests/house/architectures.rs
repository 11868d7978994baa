//! A further transformer is one file and a line in a list: nothing else names it.

use std::{collections::BTreeSet, fs};

use crate::{sources::sources, tree::root};

/// Files that name an architecture for what they do with that one alone.
const NAMED: [(&str, &str); 5] = [
    // What `wb` makes from scratch, and a device is tested with.
    ("Bert", "wb-pipeline/src/config/encoder.rs"),
    ("Bert", "wb-encoder/src/self_test/mod.rs"),
    // Servers that read no other.
    ("Bert", "wb-encoder/src/export/lint.rs"),
    // XTR's layout, and tokenizers that only a library of its own reads.
    ("T5", "wb-encoder/src/folder/multi_vector.rs"),
    ("T5", "wb-encoder/src/folder/vocabulary.rs"),
];

#[test]
fn a_transformer_is_named_in_its_file_and_in_the_list() {
    let list = fs::read_to_string(root().join("workbench/wb-encoder/src/models/mod.rs")).unwrap();
    let (_, list) = list.split_once("\narchitectures! {\n").unwrap();
    let (list, _) = list.split_once("\n}\n").unwrap();
    let lines = list.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    let names: Vec<(&str, &str)> =
        lines.map(|line| line.strip_suffix("),").and_then(|line| line.split_once('(')).unwrap()).collect();
    assert!(names.len() >= 6, "{names:?}");
    let mut named = BTreeSet::new();
    for (name, text) in sources() {
        let of_tests = name.contains("/tests/") || name.ends_with("tests.rs");
        let name = name.strip_prefix("workbench/").unwrap_or(&name);
        let of_encoders = text.contains("Architecture") && !name.starts_with("wb-llm/");
        if of_tests || name.starts_with("wb-encoder/src/models/") || !of_encoders {
            continue;
        }
        let text = text.split("#[cfg(test)]").next().unwrap();
        for (variant, config) in &names {
            if text.contains(&format!("Architecture::{variant}")) || text.contains(&format!("{config} {{")) {
                named.insert((*variant, name.to_owned()));
            }
        }
    }
    let known: BTreeSet<(&str, String)> = NAMED.into_iter().map(|(variant, file)| (variant, file.to_owned())).collect();
    assert_eq!(named, known, "what is found, and what is known: ask `Transformer` instead, or say why not");
    for (_, config) in names {
        let of_file = format!("pub struct {config} {{");
        let files: Vec<String> =
            sources().into_iter().filter(|(_, text)| text.contains(&of_file)).map(|(name, _)| name).collect();
        assert_eq!(files.len(), 1, "{config}: {files:?}");
    }
}
