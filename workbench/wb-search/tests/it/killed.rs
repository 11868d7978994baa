//! A process that indexes and is ended at any moment, or has no room to write: the index before answers, and the next run
//! goes on.
#![cfg(unix)]

use std::{
    env, fs,
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant, SystemTime},
};

use wb_core::faults;
use wb_search::{CodeIndex, IndexPlace, RankingWeights, SearchQuestion, VectorStore, vector_store};

use crate::{vectors::ByMeaning, write};

/// The folder that a child indexes.
const FOLDER: &str = "WB_TEST_INDEXED_FOLDER";

/// A project of many small files, which all say a word.
fn project(folder: &Path, word: &str) {
    for file in 0..300 {
        let function =
            |at: usize| format!("/// Counts {word} {at} of {file}.\nfn {word}_{file}_{at}() {{\n    {at}\n}}\n");
        write(folder, &format!("project/m{file}.rs"), &(0..12).map(function).collect::<String>());
    }
}

fn place(folder: &Path) -> IndexPlace {
    IndexPlace::of(&folder.join("project"), Some(folder.join("kept/index"))).unwrap()
}

/// A child process, which brings the index of a folder and its vectors up to date.
#[test]
#[ignore = "part of other tests"]
fn child() {
    let Some(folder) = env::var_os(FOLDER) else { return };
    let (place, encoder) = (place(Path::new(&folder)), ByMeaning::new());
    let kept = place.update(false, &mut |_| {}).and_then(|(mut update, _)| {
        update.embed(&vector_store(encoder.made_by())?, &encoder, &mut |_| {})?;
        update.structures(&mut |_| {})?;
        update.keep()
    });
    if let Err(error) = kept {
        panic!("told: {error}");
    }
}

/// The command of a child; `before` is what a shell does first.
fn command(folder: &Path, before: &str) -> Command {
    let mut command = Command::new("sh");
    let script = format!("{before}exec \"$0\" --exact killed::child --ignored --nocapture");
    command.args(["-c", &script]).arg(env::current_exe().unwrap());
    command.env(FOLDER, folder).env("HOME", folder).env_remove("XDG_CACHE_HOME");
    command
}

fn indexing(folder: &Path) -> Child {
    command(folder, "").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn indexed(folder: &Path) {
    assert!(indexing(folder).wait().unwrap().success());
}

/// True where the index, which has to be whole, answers with a word.
fn answers(folder: &Path, word: &str) -> bool {
    let place = place(folder);
    let mut index = place.read().unwrap().unwrap();
    // Units, vectors and structures are of one moment.
    let files = index.files().len();
    let [_, _, structures] = index.verify().unwrap();
    let vectors = index.kept_vectors().unwrap().unwrap();
    let unread = place.update_of(index.clone()).unwrap().structures(&mut |_| {}).unwrap();
    assert_eq!((structures, unread, index.set_vectors(vectors)), (files, 0, 0));
    finds(&index, word)
}

fn finds(index: &CodeIndex, word: &str) -> bool {
    !index.search(&SearchQuestion::new(word), &RankingWeights::shipped().unwrap(), 1).unwrap().is_empty()
}

fn names(folder: &Path) -> Vec<String> {
    let listing = fs::read_dir(folder.join("kept")).unwrap();
    let mut names: Vec<String> = listing.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// All of an index, but who wrote it.
fn kept(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let names = names(folder).into_iter().filter(|name| name != "index.wb-lock");
    names.map(|name| (name.clone(), fs::read(folder.join("kept").join(name)).unwrap())).collect()
}

/// The kinds of files that an index has.
fn kinds(folder: &Path) -> Vec<String> {
    names(folder).iter().map(|name| name.split('-').next().unwrap().to_owned()).collect()
}

/// All that there is once nothing unfinished is left.
const WHOLE: [&str; 5] = ["index", "index.structures", "index.units", "index.vectors", "index.wb"];

/// Ends a child at so many moments between its begin and its end.
fn ended(times: u32) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (mut before, mut after) = (0, 0);
    for at in 0..times {
        project(folder, "zebra");
        indexed(folder);
        project(folder, "giraffe");
        let _ = fs::remove_dir_all(folder.join(".cache"));
        // A copy that is not ended says how long one takes, and in which bytes it ends.
        let other = tempfile::tempdir().unwrap();
        let copied = Command::new("cp").arg("-rp").arg(folder.join("project")).arg(other.path()).status().unwrap();
        assert!(copied.success());
        let copied = Command::new("cp").arg("-rp").arg(folder.join("kept")).arg(other.path()).status().unwrap();
        assert!(copied.success());
        let started = Instant::now();
        indexed(other.path());
        let whole = started.elapsed();
        let mut child = indexing(folder);
        // Multiples of the golden ratio: no moment is near another.
        thread::sleep(whole.mul_f64(f64::from(at) * 0.618_034 % 1.0) + Duration::from_millis(1));
        child.kill().unwrap();
        child.wait().unwrap();
        match (answers(folder, "zebra"), answers(folder, "giraffe")) {
            (true, false) => before += 1,
            (false, true) => after += 1,
            (old, new) => panic!("neither the index before ({old}) nor the one after ({new})"),
        }
        // What is unfinished may still be written by somebody, for all that is known for a minute.
        for name in names(folder).into_iter().filter(|name| name.starts_with('.')) {
            let then = SystemTime::now() - Duration::from_secs(120);
            fs::File::open(folder.join("kept").join(name)).unwrap().set_modified(then).unwrap();
        }
        write(folder, "project/new.rs", "fn new() {}\n");
        indexed(folder);
        assert_eq!(kinds(folder), WHOLE, "nothing unfinished is left");
        fs::remove_file(folder.join("project/new.rs")).unwrap();
        indexed(folder);
        assert!(kept(folder) == kept(other.path()), "it ends in other bytes");
    }
    assert!(before > 0, "{times} ended, {after} of them too late");
}

#[test]
fn an_index_that_is_ended_leaves_the_one_before_and_goes_on() {
    ended(4);
}

#[test]
#[ignore = "slow"]
fn an_index_that_is_ended_fifty_times_leaves_the_one_before_and_goes_on() {
    ended(50);
}

/// Indexes a project that says a word, and changes the word; what was kept.
fn indexed_before_a_change(folder: &Path) -> Vec<(String, Vec<u8>)> {
    project(folder, "zebra");
    indexed(folder);
    let before = kept(folder);
    project(folder, "giraffe");
    before
}

#[test]
fn without_room_the_index_before_answers() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let before = indexed_before_a_change(folder);
    // No file may grow beyond 64 blocks, as on a disk that is full; the signal that says so is left aside.
    let output = command(folder, "trap '' XFSZ; ulimit -f 64; ").output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains("told: cannot write ") && told.contains("kept/index"), "{told}");
    assert!(kept(folder) == before && answers(folder, "zebra"));
    assert_eq!(kinds(folder), WHOLE, "nothing unfinished is left");
    indexed(folder);
    assert!(answers(folder, "giraffe"));
}

#[test]
fn without_room_a_question_is_answered_from_memory() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let before = indexed_before_a_change(folder);
    let (place, encoder) = (place(folder), ByMeaning::new());
    faults::fail_at(1, true);
    let mut update = place.update_unless_busy(&mut |_| {}).unwrap();
    let store = VectorStore::below(&folder.join("vectors"), encoder.made_by());
    let embedded = update.embed(&store, &encoder, &mut |_| {}).unwrap();
    let (index, error) = update.try_to_keep();
    assert!(faults::clear() && embedded > 0);
    let error = error.unwrap_err().to_string();
    assert!(error.starts_with("cannot write ") && error.contains("kept/index"), "{error}");
    assert!(finds(&index, "giraffe") && !finds(&index, "zebra") && index.vectors().is_some());
    assert!(kept(folder) == before && answers(folder, "zebra"));
}
