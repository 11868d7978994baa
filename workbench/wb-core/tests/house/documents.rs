//! The pages: short, and true about the sources.

use std::{collections::BTreeSet, fs};

use wb_core::{EncoderPlace, EncoderRef};

use crate::{sources::sources, tree::root};

fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

#[test]
fn pages_are_short() {
    for (name, most) in [("README.md", 6 * 1024), ("ARCHITECTURE.md", 14 * 1024)] {
        let bytes = page(name).len();
        assert!(
            bytes <= most,
            "{name} has {bytes} bytes, at most {most} were wanted: GUIDE.md and docs/ take the rest"
        );
    }
}

/// Words in backticks in a text.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

#[test]
fn an_invariant_names_a_test_that_is_there() {
    let text = page("ARCHITECTURE.md");
    let invariants = text.split("## 3. Invariants").nth(1).unwrap().split("\n## ").next().unwrap();
    let all = sources();
    let mut names = 0;
    for row in invariants.lines().filter(|line| line.starts_with("| ")).skip(1) {
        let held_by = row.trim_end_matches('|').rsplit('|').next().unwrap();
        // Tests are sentences: words of a few letters and underscores.
        for name in quoted(held_by).into_iter().filter(|name| name.matches('_').count() > 2) {
            let definition = format!("fn {name}(");
            assert!(all.iter().any(|(_, text)| text.contains(&definition)), "no test `{name}`: {row}");
            names += 1;
        }
    }
    assert!(names > 20, "{names}");
}

#[test]
fn a_type_or_family_that_the_architecture_names_is_there() {
    let text = page("ARCHITECTURE.md");
    let all = sources();
    let mut names = 0;
    for (heading, column) in [("## 2. What flows", 1), ("## 6. Families", 2)] {
        let section = text.split(heading).nth(1).unwrap().split("\n## ").next().unwrap();
        for row in section.lines().filter(|line| line.starts_with("| `")) {
            for name in quoted(row.split('|').nth(column).unwrap()) {
                let name = name.rsplit("::").next().unwrap();
                let is_there = |text: &String| {
                    ["struct", "enum", "trait", "type", "const"].iter().any(|kind| {
                        let definition = format!("{kind} {name}");
                        let after = text.find(&definition).map(|at| &text[at + definition.len()..]);
                        after.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
                    })
                };
                assert!(all.iter().any(|(_, text)| is_there(text)), "nothing is called `{name}`: {row}");
                names += 1;
            }
        }
    }
    assert!(names > 30, "{names}");
}

/// Places that an encoder's name stands for, as the page calls them: one for each kind of [`EncoderPlace`].
const PLACES: [&str; 3] = ["a folder", "the encoder of a run", "a repository of the hub"];

#[test]
fn names_of_encoders_on_the_page_stand_for_what_it_says_and_no_kind_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let (runs, run) = (folder.path().join("runs"), "2026-11-21-quickstart-6474d2c5");
    fs::create_dir_all(runs.join(run)).unwrap();
    fs::write(runs.join(run).join("manifest.json"), "{}").unwrap();
    fs::write(runs.join("latest"), run).unwrap();
    fs::create_dir_all(folder.path().join("models/mine")).unwrap();
    let page = page("configs/README.md");
    let table = page.split("#### Names of encoders").nth(1).unwrap().split("\n#").next().unwrap();
    let mut found = BTreeSet::new();
    for row in table.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        for name in quoted(cells[1]) {
            // Where a folder of this name is: in the temporary one, which stands for this one and for the home folder.
            let there = folder.path().join(name.trim_start_matches("~/"));
            let name = if there.is_dir() { there.to_str().unwrap() } else { name };
            let place = match EncoderRef::from(name).place(&runs).unwrap() {
                EncoderPlace::Folder(_) => PLACES[0],
                EncoderPlace::Run(_) => PLACES[1],
                EncoderPlace::Hub { .. } => PLACES[2],
            };
            assert!(cells[2].starts_with(place), "{name} is {place}: {row}");
            found.insert(place);
        }
    }
    assert_eq!(found, BTreeSet::from(PLACES));
}
