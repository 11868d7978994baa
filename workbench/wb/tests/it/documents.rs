//! The pages: true about what the program lists itself. What they print as commands is typed by the slow tests.

use std::{fs, path::Path, process::Command};

fn page(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).unwrap()
}

/// Standard output of `wb` in an empty folder.
fn in_empty_folder(arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_wb"));
    let output = command.args(arguments).env("WB_OFFLINE", "1").current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn every_command_is_in_the_guide() {
    let (help, guide) = (in_empty_folder(&["--help"]), page("GUIDE.md"));
    let listed = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    // Lines that go on are indented further.
    let entries = listed.lines().filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    let names: Vec<&str> = entries.filter_map(|entry| entry.split_whitespace().next()).collect();
    assert!(names.len() > 12, "{names:?}");
    for name in names.into_iter().filter(|name| *name != "help") {
        assert!(guide.contains(&format!("| `wb {name}")), "GUIDE.md's table of commands lacks `wb {name}`");
    }
}

/// The first words of a table's rows, below its head and down to an empty line.
fn first_column(table: &str) -> Vec<&str> {
    let rows = table.lines().skip(1).take_while(|line| !line.is_empty());
    rows.filter_map(|line| line.split_whitespace().next()).collect()
}

#[test]
fn every_benchmark_is_in_the_list_of_keys_or_in_the_guide() {
    let (list, pages) = (in_empty_folder(&["bench"]), page("configs/README.md") + &page("GUIDE.md"));
    let names = first_column(&list);
    for known in ["codesearchnet", "pairs", "spider", "bird"] {
        assert!(names.contains(&known), "{known} in {list}");
    }
    for name in names {
        let is_there = pages
            .lines()
            .any(|line| line.contains(&format!("`{name}`")) || line.contains("wb bench") && line.contains(name));
        assert!(is_there, "configs/README.md and GUIDE.md lack the benchmark `{name}`");
    }
}

#[test]
fn every_data_set_that_is_fetched_is_in_the_list() {
    let (list, page) = (in_empty_folder(&["data", "get"]), page("datasets/README.md"));
    let names = first_column(&list);
    assert!(names.len() > 12, "{list}");
    for name in names {
        let task = name.strip_prefix("coir-");
        let is_there =
            page.contains(&format!("`{name}`")) || task.is_some_and(|task| page.contains(&format!("`{task}`")));
        assert!(is_there, "datasets/README.md lacks `{name}`");
    }
}
