//! Index and search from outside: small projects, changes, damage.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on should say where")]

mod damage;
mod history;
mod impact;
mod index;
mod issue;
mod killed;
mod notebooks;
mod patterns;
mod scip;
mod search;
mod sets;
mod structure;
mod vectors;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use wb_search::{AnswerRequest, CodeIndex, FolderFiles, IndexPlace, PartedQuestion, SearchQuestion, build};

/// A project with these files.
fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    files.iter().for_each(|(path, text)| write(folder.path(), path, text));
    folder
}

fn write(root: &Path, path: &str, text: &str) {
    let file = root.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
}

/// A command of git in a folder.
fn git(root: &Path, arguments: &[&str]) {
    let who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"];
    let done = Command::new("git").args(who).args(arguments).current_dir(root).status().unwrap();
    assert!(done.success(), "{arguments:?}");
}

fn indexed(root: &Path) -> CodeIndex {
    build(FolderFiles::of(root).unwrap(), &mut |_| {}).unwrap().0
}

fn request(text: &str, budget: Option<usize>) -> AnswerRequest {
    let question = SearchQuestion::new(text);
    let parted = PartedQuestion::whole(question.clone());
    AnswerRequest { question, parted, pattern: None, most: 5, budget, abstain: None, routed: None }
}

/// Bytes of an index, by the file that it writes.
fn bytes(index: &CodeIndex) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("index");
    index.write(&file).unwrap();
    fs::read(file).unwrap()
}

/// The file of a part of an index.
fn part(place: &IndexPlace, name: &str) -> PathBuf {
    let begin = format!("{}.{name}-", place.file.file_name().unwrap().to_string_lossy());
    let listing = fs::read_dir(place.file.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<PathBuf> =
        listing.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(&begin)).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

const PARSER: &str = "/// Reads a configuration file.\npub fn read_config(path: &Path) -> Config {\n    parse(path)\n}\n\n\
                      /// Writes logs to the disk.\npub fn write_log(line: &str) {\n    disk(line)\n}\n";
const SERVER: &str = "class Server:\n    def listen(self, port):\n        \"\"\"Waits for connections on a port.\"\"\"\n        \
                      return self.socket.accept(port)\n";
