//! `configs/my-repo.yaml`: a folder behind a recipe, trained on and searched, with a verdict about files that training has
//! not seen.

use std::{fs, path::Path};

use crate::sandbox::{Sandbox, has};

const RECIPE: &str = "my-repo.yaml";
const TEACHER: &str = "encoder.model={static_embedding: {from: teacher, dim: 8}}";
const THINGS: [&str; 10] =
    ["queue", "letter", "parser", "cache", "socket", "table", "window", "ledger", "engine", "clock"];

/// A folder with the recipe and a teacher that is at hand.
fn with_recipe() -> Sandbox {
    let sandbox = Sandbox::new();
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs");
    sandbox.write(RECIPE, fs::read(configs.join(RECIPE)).unwrap());
    sandbox.golden_encoder("tiny-bert", "teacher");
    sandbox
}

fn function(verb: &str, thing: &str) -> String {
    format!(
        "/// Will {verb} every {thing} of a project with care.\npub fn {verb}_{thing}(count: usize) -> usize {{\n    \
         let {thing} = count + 1;\n    {verb}({thing})\n}}\n\n"
    )
}

#[test]
fn a_repository_is_trained_on_and_its_other_files_are_asked_for() {
    let sandbox = with_recipe();
    for thing in THINGS {
        sandbox.write(&format!("repo/src/{thing}.rs"), function("read", thing) + &function("close", thing));
    }
    // The packages of this machine are many.
    let own = "data.sources=[{code: {dataset: repository, group: file}}]";
    let run = |command: &str| sandbox.succeeds(&[command, RECIPE, TEACHER, own, "repo", "train.batch.pairs=4"]).0;
    has(&run("check"), &["my-repo.yaml: fine", "bench     search"]);
    has(&run("run"), &["VERDICT: ", "search-questions mrr", " of bm25", "trained     search-docstring"]);
    let outcome = sandbox.json(&sandbox.only_run("runs").join("bench/search-trained.json"));
    let settings = outcome["settings"].as_array().unwrap();
    let told = settings.iter().find(|pair| pair[0] == "files trained on").unwrap()[1].as_str().unwrap().to_owned();
    let seen: usize = told.strip_suffix(" of 10").unwrap().parse().unwrap();
    assert!((1..10).contains(&seen), "{told}");
    let asked = outcome["protocols"].as_array().unwrap().iter().find(|one| one["id"] == "search-symbol").unwrap();
    assert_eq!(asked["n_queries"], 2 * (10 - seen));
    sandbox.succeeds(&["index", "repo", "--encoder", "latest", "--index", "index"]);
    let found = sandbox.wb(&["search", "closes the ledger", "--project", "repo", "--index", "index"]);
    assert!(found.contains("src/ledger.rs"), "{found}");
}

#[test]
fn a_folder_without_sources_is_told_before_anything_is_called_fine() {
    let sandbox = with_recipe();
    sandbox.write("notes/readme.md", "No code.");
    let told = sandbox.wb(&["check", RECIPE, TEACHER, "notes"]);
    has(&told, &["exit 2", "notes has no source file in rust, python", "hint: name a folder of sources"]);
    assert!(!told.contains("fine"), "{told}");
}
