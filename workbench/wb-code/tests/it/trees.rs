//! Trees of files: groups, order, what is left aside, fingerprints.

use std::{fs, path::Path};

use tempfile::TempDir;
use wb_code::{GroupBy, Language, TreeConfig, TreeRead, read_tree, tree_fingerprint};

const DOCUMENTED: &str = "/// Says how many there are.\npub fn count() -> usize {\n    3\n}\n";

fn write(root: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn tree(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), files);
    folder
}

fn config(folder: &TempDir) -> TreeConfig {
    TreeConfig { path: Some(folder.path().to_str().unwrap().to_owned()), ..TreeConfig::default() }
}

fn read(config: &TreeConfig) -> TreeRead {
    read_tree(config, &mut |_| {}).unwrap()
}

fn ids(read: &TreeRead) -> Vec<&str> {
    read.pairs.iter().map(|pair| pair.id.as_str()).collect()
}

fn skipped(read: &TreeRead) -> Vec<(&str, u64)> {
    read.skipped.iter().map(|(reason, count)| (reason.as_str(), *count)).collect()
}

#[test]
fn a_registry_is_grouped_by_crate_and_only_the_newest_version_counts() {
    let manifest = "[package]\nname = \"a-b\"\nlicense = \"MIT OR Apache-2.0\"\n";
    let folder = tree(&[
        ("index-1/a-b-0.9.10/Cargo.toml", manifest),
        ("index-1/a-b-0.9.10/src/lib.rs", DOCUMENTED),
        ("index-1/a-b-0.10.0/Cargo.toml", manifest),
        ("index-1/a-b-0.10.0/src/lib.rs", DOCUMENTED),
        ("index-1/a-b-0.10.0/src/vendor/mod.rs", DOCUMENTED),
        ("index-1/a-b-0.10.0/fuzz/Cargo.toml", "[package]\nname = \"fuzz\"\n"),
        ("index-1/a-b-0.10.0/macros/Cargo.toml", "[package]\nname = \"macros\"\n"),
        ("index-1/a-b-0.10.0/macros/src/lib.rs", DOCUMENTED),
        ("index-1/a-b-0.10.0/tests/it.rs", DOCUMENTED),
        ("index-1/c-1.0.0+x/Cargo.toml", "[package]\nname = \"c\"\n"),
        ("index-1/c-1.0.0+x/lib.rs", "/// ```\n/// code only\n/// ```\nfn f() { g() }\n"),
        ("index-1/c-1.0.0+x/bad.rs", "/// Doc.\nfn f( { }\n/// Declared.\nextern \"C\" { /// Only.\nfn h(); }\n"),
    ]);
    let read = read(&config(&folder));
    assert_eq!(
        ids(&read),
        ["rust:a-b/macros/src/lib.rs#L2", "rust:a-b/src/lib.rs#L2", "rust:a-b/src/vendor/mod.rs#L2"]
    );
    let pair = &read.pairs[1];
    assert_eq!((pair.anchor.as_str(), pair.language.as_str()), ("Says how many there are.", "rust"));
    assert_eq!(pair.positive, "pub fn count() -> usize {\n    3\n}");
    assert_eq!((pair.origin.group.as_str(), pair.origin.path.as_str()), ("a-b", "src/lib.rs"));
    assert_eq!((pair.origin.lines, pair.origin.license.as_str()), ([2, 4], "MIT OR Apache-2.0"));
    assert_eq!(skipped(&read), [("older version of a crate", 1), ("tests, benchmarks, examples", 1)]);
    assert_eq!(read.rejected["no prose in the doc comment"], 1);
    assert_eq!((read.files, read.groups), (5, 2));
}

#[test]
fn a_workspace_is_grouped_by_package() {
    let folder = tree(&[
        ("Cargo.toml", "[workspace]\nmembers = []\n[workspace.package]\nlicense = \"MIT\"\n"),
        ("one/Cargo.toml", "[package]\nname = \"first\"\nlicense.workspace = true\n"),
        ("one/src/lib.rs", DOCUMENTED),
        ("two/Cargo.toml", "[package]\nname = \"second\"\nlicense = \"ISC\"\n"),
        ("two/src/lib.rs", DOCUMENTED),
        ("two/copy/Cargo.toml", "[package]\nname = \"first\"\n"),
        ("two/copy/src/lib.rs", DOCUMENTED),
    ]);
    let read = read(&config(&folder));
    assert_eq!(
        ids(&read),
        ["rust:first/one/src/lib.rs#L2", "rust:first/two/copy/src/lib.rs#L2", "rust:second/src/lib.rs#L2"]
    );
    let licenses: Vec<&str> = read.pairs.iter().map(|pair| pair.origin.license.as_str()).collect();
    assert_eq!(licenses, ["MIT", "MIT", "ISC"]);
    assert_eq!(read.groups, 2);
}

#[test]
fn other_trees_are_grouped_by_folder_or_file() {
    let python = "def f():\n    \"\"\"Says how many.\"\"\"\n    return 3\n";
    let folder = tree(&[("a/x.py", python), ("b/x.py", python), ("b/c/y.rs", DOCUMENTED), ("z.py", python)]);
    let by = |group| {
        let read = read(&TreeConfig { group, ..config(&folder) });
        let groups =
            read.pairs.iter().map(|pair| (pair.origin.group.clone(), pair.origin.path.clone(), pair.id.clone()));
        groups.collect::<Vec<_>>()
    };
    let owned = |group: &str, path: &str, id: &str| (group.to_owned(), path.to_owned(), id.to_owned());
    let auto = by(GroupBy::Auto);
    assert_eq!(
        auto[..3],
        [
            owned("a", "x.py", "python:a/x.py#L1"),
            owned("b", "c/y.rs", "rust:b/c/y.rs#L2"),
            owned("b", "x.py", "python:b/x.py#L1")
        ]
    );
    assert_eq!(by(GroupBy::TopFolder), auto);
    assert_eq!(by(GroupBy::File)[1], owned("b/c/y.rs", "y.rs", "rust:b/c/y.rs#L2"));
    let name = folder.path().file_name().unwrap().to_str().unwrap();
    assert_eq!(by(GroupBy::One)[1], owned(name, "b/c/y.rs", &format!("rust:{name}/b/c/y.rs#L2")));
}

#[test]
fn what_is_not_read_is_counted() {
    let folder = tree(&[
        (".gitignore", "ignored/\n"),
        (".hidden/a.rs", DOCUMENTED),
        ("ignored/a.rs", DOCUMENTED),
        ("node_modules/a.js", "/** Doc. */\nfunction f() { return 1; }\n"),
        ("src/lib.min.js", "/** Doc. */\nfunction f() { return 1; }\n"),
        ("target/CACHEDIR.TAG", ""),
        ("target/debug/a.rs", DOCUMENTED),
        ("src/big.rs", &DOCUMENTED.repeat(10)),
        ("src/lib.rs", DOCUMENTED),
        ("src/lib_test.go", "// F is one.\nfunc F() {}\n"),
        ("src/two.js", "/** One. */ function a() { return 1; } /** Two. */ function b() { return 2; }\n"),
        ("readme.md", "text"),
    ]);
    fs::write(folder.path().join("src/latin.rs"), b"/// Caf\xe9.\nfn f() {}\n").unwrap();
    let read = read(&TreeConfig { max_file_bytes: 300, ..config(&folder) });
    let name = folder.path().file_name().unwrap().to_str().unwrap();
    let expected = ["rust:src/lib.rs#L2", "javascript:src/two.js#L1", "javascript:src/two.js#L1.2"];
    assert_eq!(ids(&read), expected, "{name}");
    let reasons = [
        ("build output", 1),
        ("minified", 1),
        ("not utf-8", 1),
        ("tests, benchmarks, examples", 1),
        ("too large", 1),
        ("vendored", 1),
    ];
    assert_eq!(skipped(&read), reasons);
}

#[test]
fn limits_choose_the_same_groups_whatever_else_there_is() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let files: Vec<(String, &str)> = names.iter().map(|name| (format!("{name}/x.rs"), DOCUMENTED)).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
    let folder = tree(&files);
    let two = read(&TreeConfig { max_groups: Some(2), ..config(&folder) });
    let three = read(&TreeConfig { max_groups: Some(3), ..config(&folder) });
    assert_eq!((two.groups, two.skipped["beyond max_groups"]), (2, 4));
    assert!(two.pairs.iter().all(|pair| three.pairs.contains(pair)));
    assert_eq!(read(&TreeConfig { max_files: Some(1), ..config(&folder) }).files, 1);
}

#[test]
fn the_order_does_not_depend_on_threads() {
    let files: Vec<(String, String)> = (0..60)
        .map(|index| {
            (
                format!("m{}/f{index}.rs", index % 7),
                format!("/// Number {index} of them.\nfn f{index}() {{ g({index}) }}\n"),
            )
        })
        .collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let folder = tree(&files);
    let mut seen = Vec::new();
    let first = read_tree(&config(&folder), &mut |progress| seen.push((progress.done, progress.total))).unwrap();
    assert_eq!(seen.last(), Some(&(60, 60)));
    let mut sorted = first.pairs.iter().map(|pair| (&pair.origin.group, &pair.origin.path)).collect::<Vec<_>>();
    sorted.sort();
    assert_eq!(sorted, first.pairs.iter().map(|pair| (&pair.origin.group, &pair.origin.path)).collect::<Vec<_>>());
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let again = pool.install(|| read(&config(&folder)));
        assert_eq!((&again.pairs, &again.fingerprint), (&first.pairs, &first.fingerprint));
    }
}

#[test]
fn the_fingerprint_sees_files_come_change_and_go() {
    let folder = tree(&[("a/x.rs", DOCUMENTED), ("a/readme.md", "text")]);
    let config = config(&folder);
    let first = tree_fingerprint(&config).unwrap();
    assert_eq!(read(&config).fingerprint, first);
    write(folder.path(), &[("a/readme.md", "other text")]);
    assert_eq!(tree_fingerprint(&config).unwrap(), first, "files of no language do not count");
    write(folder.path(), &[("a/y.rs", DOCUMENTED)]);
    let added = tree_fingerprint(&config).unwrap();
    assert_ne!(added, first);
    write(folder.path(), &[("a/y.rs", "/// Says how many.\nfn count() {}\n")]);
    let changed = tree_fingerprint(&config).unwrap();
    assert_ne!(changed, added);
    fs::remove_file(folder.path().join("a/y.rs")).unwrap();
    assert_eq!(tree_fingerprint(&config).unwrap(), first);
    let other = TreeConfig { include_tests: true, ..config };
    assert_ne!(tree_fingerprint(&other).unwrap(), first);
}

#[test]
fn wrong_trees_and_values_are_refused() {
    let folder = tree(&[("readme.md", "text")]);
    let error = read_tree(&config(&folder), &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("has no source file in rust, python"), "{error}");
    assert!(error.hint().is_some());
    assert_eq!(tree_fingerprint(&config(&folder)).unwrap_err().to_string(), error.to_string());
    let nowhere = TreeConfig { path: Some("no/such/folder".to_owned()), ..TreeConfig::default() };
    let error = tree_fingerprint(&nowhere).unwrap_err();
    assert_eq!(error.to_string(), "no/such/folder is not a folder, expected a tree of source files");
    for (config, expected) in [
        (TreeConfig { max_file_bytes: 0, ..TreeConfig::default() }, "data.max_file_bytes: got 0, expected 1 or more"),
        (TreeConfig { max_groups: Some(0), ..TreeConfig::default() }, "data.max_groups: got 0, expected 1 or more"),
        (
            TreeConfig { max_anchor_chars: 3, ..TreeConfig::default() },
            "data.max_anchor_chars: got 3, expected 20 or more",
        ),
        (
            TreeConfig { languages: vec![Language::Go, Language::Go], ..TreeConfig::default() },
            "data.languages: `go` stands there twice",
        ),
    ] {
        assert_eq!(config.validate("data").unwrap_err().to_string(), expected);
    }
    let optional = TreeConfig { optional: true, ..nowhere };
    let absent = read(&optional);
    assert_eq!((absent.files, skipped(&absent)), (0, vec![("no such folder", 1)]));
    assert_eq!(absent.fingerprint, tree_fingerprint(&optional).unwrap());
}

#[test]
fn yaml_reads_as_written() {
    let config: TreeConfig = serde_yaml::from_str("path: src\nlanguages: [rust, cpp]\ngroup: top_folder\n").unwrap();
    assert_eq!(config.languages, [Language::Rust, Language::Cpp]);
    assert_eq!((config.group, config.max_file_bytes), (GroupBy::TopFolder, 1 << 20));
    let error = serde_yaml::from_str::<TreeConfig>("grup: file").unwrap_err().to_string();
    assert!(error.contains("unknown field `grup`"), "{error}");
}
