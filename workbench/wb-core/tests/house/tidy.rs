//! The house rules that a compiler does not check: arrows downward, heavy crates at home, small files that say what they are.

use std::{fs, path::Path};

use serde_json::Value;

use crate::{
    sources::{crates, sources},
    tree::root,
};

/// What a crate uses, but for its tests.
fn uses(package: &Value) -> Vec<String> {
    let all = package["dependencies"].as_array().unwrap().iter();
    all.filter(|one| one["kind"] != "dev").map(|one| one["name"].as_str().unwrap().to_owned()).collect()
}

/// The floor of each crate; a crate uses only crates of lower floors.
const FLOORS: [(&str, u32); 22] = [
    ("wb-core", 1),
    ("wb-fake-hub", 1),
    ("wb-fake-llm", 1),
    ("wb-sandbox", 2),
    ("wb-agents", 2),
    ("wb-hub", 2),
    ("wb-code", 2),
    ("wb-encoder", 2),
    ("wb-retrieval", 2),
    ("wb-search", 3),
    ("wb-report", 2),
    ("wb-shards", 2),
    ("wb-llm", 2),
    ("wb-data", 3),
    ("wb-ranks", 3),
    ("wb-bench", 4),
    ("wb-mcp", 4),
    ("wb-sql", 4),
    ("wb-synth", 4),
    ("wb-text2sql", 5),
    ("wb-pipeline", 6),
    ("wb", 7),
];

#[test]
fn arrows_point_downward() {
    let floor = |name: &str| FLOORS.iter().find(|(known, _)| *known == name).map(|(_, floor)| *floor);
    for (name, package) in crates() {
        let own = floor(&name).unwrap_or_else(|| panic!("{name} has no floor in this test"));
        for used in uses(&package) {
            if let Some(other) = floor(&used) {
                assert!(other < own, "{name} (floor {own}) may not use {used} (floor {other})");
            }
        }
    }
}

/// Crates that take long to build have one home each, so that the others are built and tested without them.
const HOMES: [(&str, &[&str]); 39] = [
    ("burn", &["wb-encoder"]),
    ("burn-flex", &["wb-encoder"]),
    ("burn-cuda", &["wb-encoder"]),
    ("burn-wgpu", &["wb-encoder"]),
    ("burn-std", &["wb-encoder"]),
    ("burn-cubecl", &["wb-encoder"]),
    ("cubecl", &["wb-encoder"]),
    ("cubecl-runtime", &["wb-encoder"]),
    ("tokenizers", &["wb-encoder"]),
    ("rusqlite", &["wb-synth", "wb-sql"]),
    ("candle-core", &["wb-llm"]),
    ("candle-nn", &["wb-llm"]),
    ("candle-transformers", &["wb-llm"]),
    ("llguidance", &["wb-llm"]),
    ("ureq", &["wb-llm", "wb-hub"]),
    ("safetensors", &["wb-encoder"]),
    // Matrix products: of models, and of queries with documents.
    ("gemm", &["wb-encoder", "wb-retrieval"]),
    ("tantivy", &["wb-retrieval"]),
    ("arrow", &["wb-data"]),
    ("parquet", &["wb-data"]),
    ("hf-hub", &["wb-hub"]),
    ("zip", &["wb-data"]),
    ("polars", &["wb-report"]),
    ("plotters", &["wb-report"]),
    // Pages, prompts, and the chat templates of models.
    ("minijinja", &["wb-report", "wb-synth", "wb-llm", "wb-text2sql"]),
    ("tree-sitter", &["wb-code"]),
    ("tree-sitter-rust", &["wb-code"]),
    ("tree-sitter-python", &["wb-code"]),
    ("serde_yaml", &["wb-core"]),
    ("clap", &["wb"]),
    ("terminal_size", &["wb"]),
    ("anyhow", &["wb", "wb-pipeline"]),
    ("ctrlc", &["wb"]),
    ("rmcp", &["wb-mcp"]),
    ("tokio", &["wb-mcp", "wb-shards"]),
    ("object_store", &["wb-shards"]),
    ("reqwest", &["wb-shards"]),
    ("hyper", &["wb-mcp"]),
    ("hyper-util", &["wb-mcp"]),
];

#[test]
fn heavy_crates_are_at_home() {
    for (name, package) in crates() {
        for used in uses(&package) {
            if let Some((_, homes)) = HOMES.iter().find(|(heavy, _)| *heavy == used) {
                assert!(homes.contains(&name.as_str()), "{name} may not use {used}, whose home is {homes:?}");
            }
        }
    }
}

#[test]
fn files_begin_by_saying_what_they_are() {
    let silent: Vec<String> =
        sources().into_iter().filter(|(_, text)| !text.starts_with("//! ")).map(|(name, _)| name).collect();
    assert!(silent.is_empty(), "no `//!` sentence at the beginning of {silent:#?}");
}

/// Whoever opens a file should be able to read it: 400 lines, not counting its tests.
#[test]
fn files_are_short() {
    let is_test = |name: &str| name.contains("/tests/") || name.ends_with("/tests.rs");
    let length = |text: &str| text.lines().take_while(|line| line.trim() != "#[cfg(test)]").count();
    let long: Vec<String> = sources()
        .into_iter()
        .filter(|(name, text)| !is_test(name) && length(text) > 400)
        .map(|(name, text)| format!("{name}: {} lines", length(&text)))
        .collect();
    assert!(long.is_empty(), "longer than 400 lines before the tests: {long:#?}");
}

/// Names that a text takes from the root of its crate, at once or in a list: `crate::Name`, `crate::{Name, …}`. A module
/// begins with a small letter, what `lib.rs` only passes on with a capital.
fn names_from_the_root(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for (at, root) in text.match_indices("crate::") {
        let rest = &text[at + root.len()..];
        if text[..at].ends_with(|before: char| before.is_alphanumeric() || before == '_') {
            continue;
        }
        if let Some(list) = rest.strip_prefix('{') {
            let mut depth = 0;
            let first_level = |mark: char| {
                depth += i32::from(mark == '{') - i32::from(mark == '}');
                depth < 0 || (depth == 0 && mark == ',')
            };
            let list = list.split_once(';').map_or(list, |(list, _)| list);
            names.extend(list.split(first_level).map(str::trim));
        } else {
            names.push(rest);
        }
    }
    names.retain(|name| name.starts_with(|first: char| first.is_ascii_uppercase()));
    names
}

/// What a module uses is named by the module where it stands, so that the list of a file's imports says what it depends on.
#[test]
fn modules_of_the_encoder_import_each_other_by_path() {
    let within = |name: &str| name.starts_with("workbench/wb-encoder/src/") && !name.ends_with("src/lib.rs");
    let mut upward = Vec::new();
    for (name, text) in sources().into_iter().filter(|(name, _)| within(name)) {
        let first_line = |taken: &str| taken.lines().next().unwrap_or_default().to_owned();
        upward.extend(names_from_the_root(&text).into_iter().map(|taken| format!("{name}: {}", first_line(taken))));
    }
    assert!(upward.is_empty(), "name the module, as in `crate::pooling::Pooling`: {upward:#?}");
}

#[test]
fn names_from_the_root_are_seen_in_lists_too() {
    let text =
        "use crate::{Pooling, batch::{Deep, Deeper}, error::Error, Stop}; use wb_crate::Other; crate::Tape crate::a::B";
    assert_eq!(names_from_the_root(text), ["Pooling", "Stop", "Tape crate::a::B"]);
}

/// Lines that a crate has at most, with its tests: the command line has arguments, dispatch and the terminal, and what it
/// computes or tells of results belongs to the crates below.
const LINES: [(&str, usize); 1] = [("wb", 12_000)];

#[test]
fn crates_stay_within_their_lines() {
    let all = sources();
    for (name, most) in LINES {
        let of_crate = all.iter().filter(|(path, _)| path.starts_with(&format!("workbench/{name}/")));
        let lines: usize = of_crate.map(|(_, text)| text.lines().count()).sum();
        assert!(lines < most, "{name} has {lines} lines, fewer than {most} were wanted");
    }
}

#[test]
fn exceptions_from_lints_have_a_reason() {
    let mut without = Vec::new();
    for (name, text) in sources() {
        for kind in ["allow", "expect"] {
            for opening in [format!("#[{kind}("), format!("#![{kind}(")] {
                for (at, _) in text.match_indices(&opening) {
                    let attribute = text[at..].split(']').next().unwrap();
                    // This file names them in strings.
                    if !attribute.contains("reason = \"") && !name.ends_with("it/tidy.rs") {
                        without.push(format!("{name}:{}: {attribute}]", text[..at].lines().count()));
                    }
                }
            }
        }
    }
    assert!(without.is_empty(), "{without:#?}");
}

/// What `println` and `eprintln` say in a test that passes is swallowed, and `scripts/ci.sh` counts lines `SKIPPED NAME: why`
/// whose name has no space.
#[test]
fn skipped_tests_are_seen_and_counted() {
    let word = concat!("SKIP", "PED ");
    let swallowed = |line: &str| line.contains("println!(");
    let uncounted = |line: &str| {
        let name = line.split(word).nth(1).unwrap_or_default().split(": ").next().unwrap_or_default();
        name.contains(' ')
    };
    let mut wrong = Vec::new();
    for (path, text) in sources() {
        for line in text.lines().filter(|line| line.contains(word) && !line.trim_start().starts_with("//")) {
            if swallowed(line) || uncounted(line) {
                wrong.push(format!("{path}: {}", line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Products of matrices, whose bounds are checked before, one of them by an instruction that has no safe face; and an
/// option of the allocator, which is set in C.
#[test]
fn unsafe_code_stands_in_four_files() {
    let switch = |word: &str| [word, "unsafe_code"].concat();
    let switches = ["allow(", "expect(", "warn("].map(switch);
    let uses = |text: &str| switches.iter().any(|switch| text.contains(switch));
    let mut users: Vec<String> = sources().into_iter().filter(|(_, text)| uses(text)).map(|(name, _)| name).collect();
    users.sort();
    let kernels = ["bf16.rs", "matmul.rs", "packed.rs"].map(|name| format!("workbench/wb-encoder/src/kernels/{name}"));
    let allocator = "workbench/wb-pipeline/src/allocator.rs".to_owned();
    assert_eq!(users, kernels.into_iter().chain([allocator]).collect::<Vec<_>>());
}

/// A closure in `dispatch` itself may be compiled for any processor; `wb_core::simd` has the way that is not.
#[test]
fn loops_are_handed_to_a_level_of_instructions_in_one_way() {
    let call = concat!(".disp", "atch(");
    let is_closure = |rest: &str| ["#[", "|", "move"].iter().any(|begin| rest.trim_start().starts_with(begin));
    let of_closures = |text: &str| text.match_indices(call).any(|(at, _)| is_closure(&text[at + call.len()..]));
    let wrong: Vec<String> =
        sources().into_iter().filter(|(_, text)| of_closures(text)).map(|(name, _)| name).collect();
    assert!(wrong.is_empty(), "call `wb_core::simd::dispatched` with the closure: {wrong:?}");
}

/// Files in which one of these words stands, but for tests.
fn users_outside_tests(words: &[String]) -> Vec<String> {
    let is_user = |text: &str| words.iter().any(|word| text.split("#[cfg(test)]").next().unwrap().contains(word));
    let users = sources().into_iter().filter(|(name, text)| !name.contains("/tests/") && is_user(text));
    users.map(|(name, _)| name).collect()
}

/// The YAML library is old; whoever replaces it has one file to change.
#[test]
fn one_file_knows_the_yaml_library() {
    let word = ["serde", "_yaml::"].concat();
    let users = users_outside_tests(&[word]);
    assert_eq!(users, ["workbench/wb-core/src/config.rs"]);
}

/// Whatever is unfinished has a name that nobody else's has, and goes to its place in one way.
#[test]
fn one_crate_names_what_is_unfinished() {
    let mut users = users_outside_tests(&[["process::", "id()"].concat(), ["fs::", "rename("].concat()]);
    users.retain(|name| !name.starts_with("workbench/wb-core/") && !name.contains("/tests"));
    assert!(users.is_empty(), "see wb_core::atomic and wb_core::publish: {users:?}");
}

#[test]
fn the_top_level_holds_what_everyone_expects_there() {
    let allowed = "Cargo.toml Cargo.lock README.md GUIDE.md ARCHITECTURE.md CONTRIBUTING.md CHANGELOG.md LICENSE-MIT \
                   LICENSE-APACHE clippy.toml deny.toml rustfmt.toml workbench configs docs datasets runs reports \
                   notebooks scripts launchers target";
    for entry in fs::read_dir(root()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            name.starts_with('.') || allowed.split(' ').any(|one| one == name),
            "{name} does not belong on the top level"
        );
    }
}

#[test]
fn a_crate_lies_in_a_folder_of_its_name() {
    for (name, package) in crates() {
        let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned();
        assert_eq!(folder.strip_prefix(root()).unwrap(), Path::new("workbench").join(&name));
        assert_eq!(package["publish"], serde_json::json!([]), "{name}: nothing is published by accident");
    }
}
