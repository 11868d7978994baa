//! Ages of files by their commits, and what the ranking makes of them.

use std::{path::Path, process::Command};

use wb_search::{FolderFiles, RankingWeights, SearchQuestion, build};

use crate::{bytes, indexed, project, write};

fn commit(root: &Path, day: u64) {
    let git = |arguments: &[&str]| {
        let who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"];
        let date = format!("{} +0000", 1_700_000_000 + day * 86_400);
        let mut git = Command::new("git");
        git.env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date).args(who).args(arguments).current_dir(root);
        assert!(git.status().unwrap().success());
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "a change"]);
}

#[test]
fn files_that_changed_last_come_before_others_that_are_as_good() {
    let zebra = "fn stripes() {\n    zebra()\n}\n";
    let folder = project(&[("app/a.rs", zebra), ("app/b.rs", zebra), ("app/ä b.rs", "fn other() {}\n")]);
    let root = folder.path();
    let app = root.join("app");
    commit(root, 0);
    let index = indexed(&app);
    let order = |index: &wb_search::CodeIndex| {
        let weights = RankingWeights::shipped().unwrap();
        let found = index.search(&SearchQuestion::new("zebra stripes"), &weights, 9).unwrap();
        found.into_iter().map(|found| (found.path, found.signals.recent)).collect::<Vec<_>>()
    };
    assert_eq!(order(&index), [("a.rs".to_owned(), 1.0), ("b.rs".to_owned(), 1.0)]);
    write(root, "app/b.rs", &format!("{zebra}\n"));
    commit(root, 730);
    // The index is brought to another commit: the same as one that is made anew.
    let ages = |index: &wb_search::CodeIndex| index.files().iter().map(|file| file.age).collect::<Vec<_>>();
    let now = || FolderFiles::of(&app).unwrap();
    let index = index.update(&now(), &mut |_| {}).unwrap();
    assert_eq!(ages(&index), [Some(730), Some(0), Some(730)]);
    assert_eq!(bytes(&index), bytes(&build(now(), &mut |_| {}).unwrap().0));
    assert_eq!(order(&index), [("b.rs".to_owned(), 1.0), ("a.rs".to_owned(), 0.25)]);
    // What is in no commit has no age, and does not take that of others.
    write(root, "app/new.rs", "fn new() {}\n");
    write(root, "app/a.rs", "fn changed() {}\n");
    let index = index.update(&now(), &mut |_| {}).unwrap();
    assert_eq!(ages(&index), [Some(730), Some(0), None, Some(730)]);
    assert_eq!(bytes(&index), bytes(&build(now(), &mut |_| {}).unwrap().0));
    std::fs::remove_dir_all(root.join(".git")).unwrap();
    assert_eq!(ages(&indexed(&app)), [None; 4]);
}
