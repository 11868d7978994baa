//! `wb index` that is ended at any moment, or has no room to write: the index before it answers, and the next run goes on.
#![cfg(unix)]

use std::{
    fs,
    path::Path,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use crate::sandbox::Sandbox;

/// A project of many small files, which all say a word.
fn project(sandbox: &Sandbox, word: &str) {
    for file in 0..300 {
        let function = |at: usize| {
            format!("/// Counts {word} {at} of {file}.\nfn {word}_{file}_{at}() {{\n    {word}({at})\n}}\n")
        };
        sandbox.write(&format!("project/m{file}.rs"), (0..12).map(function).collect::<String>());
    }
}

/// Ends `wb index` at so many moments between its begin and its end.
fn killed(times: u32) {
    let sandbox = Sandbox::new();
    sandbox.golden_encoder("tiny-bert", "bert");
    let index = ["index", "project", "--index", "kept/index", "--encoder", "bert"];
    let search = |word: &str| {
        let asked = ["search", word, "--project", "project", "--index", "kept/index", "-n", "1", "--words"];
        sandbox.wb(&asked)
    };
    project(&sandbox, "zebra");
    sandbox.succeeds(&index);
    project(&sandbox, "giraffe");
    // A run to the end says how long one takes; what it leaves is taken away again.
    fs::create_dir(sandbox.path("before")).unwrap();
    copy(&sandbox.path("kept"), &sandbox.path("before"));
    let started = Instant::now();
    sandbox.succeeds(&index);
    let whole = started.elapsed();
    let expected = ["index", "index.vectors"].map(|name| fs::read(sandbox.path("kept").join(name)).unwrap());
    let restore = || {
        fs::remove_dir_all(sandbox.path("kept")).unwrap();
        copy(&sandbox.path("before"), &sandbox.path("kept"));
        let _ = fs::remove_dir_all(sandbox.path(".cache"));
    };
    let (mut before, mut after, mut left) = (0, 0, 0);
    for at in 0..times {
        restore();
        let mut child = sandbox.start(&index);
        // Moments that lie apart as the golden ratio's multiples do: none is near another.
        thread::sleep(whole.mul_f64(f64::from(at) * 0.618_034 % 1.0) + Duration::from_millis(1));
        child.kill().unwrap();
        child.wait().unwrap();
        let (old, new) = (search("zebra"), search("giraffe"));
        match (old.starts_with("exit 0\n"), new.starts_with("exit 0\n")) {
            (true, false) => before += 1,
            (false, true) => after += 1,
            _ => panic!("neither the index before nor the one after: {old}\n{new}"),
        }
        let verified = sandbox.wb(&["index", "project", "--index", "kept/index", "--verify"]);
        assert!(verified.starts_with("exit 0\n"), "{verified}");
        sandbox.succeeds(&index);
        let names = ["index", "index.vectors"];
        // What is unfinished may still be written by somebody, for all that is known for a minute.
        let (unfinished, whole): (Vec<String>, Vec<String>) =
            sandbox.names("kept").into_iter().partition(|name| name.starts_with('.'));
        assert_eq!(whole, names);
        unfinished.iter().for_each(|name| age(&sandbox.path("kept").join(name)));
        left += unfinished.len();
        sandbox.write("project/new.rs", "fn new() {}\n");
        sandbox.succeeds(&index);
        assert_eq!(sandbox.names("kept"), names, "nothing unfinished is left");
        fs::remove_file(sandbox.path("project/new.rs")).unwrap();
        sandbox.succeeds(&index);
        for (name, expected) in names.iter().zip(&expected) {
            assert!(fs::read(sandbox.path("kept").join(name)).unwrap() == *expected, "{name} ends in other bytes");
        }
    }
    println!("{times} ended, {before} with the index before and {after} with the one after, {left} files unfinished");
    assert!(before > 0, "none was ended before the index was written");
}

/// Makes a file two minutes old.
fn age(file: &Path) {
    let then = std::time::SystemTime::now() - Duration::from_secs(120);
    fs::File::open(file).unwrap().set_modified(then).unwrap();
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

#[test]
fn an_index_that_is_ended_leaves_the_one_before_and_goes_on() {
    killed(4);
}

/// Takes a minute or two.
#[test]
#[ignore = "slow"]
fn an_index_that_is_ended_fifty_times_leaves_the_one_before_and_goes_on() {
    killed(50);
}

#[test]
fn without_room_the_index_before_answers() {
    let sandbox = Sandbox::new();
    project(&sandbox, "zebra");
    let index = ["index", "project", "--index", "kept/index"];
    sandbox.succeeds(&index);
    let before = fs::read(sandbox.path("kept/index")).unwrap();
    project(&sandbox, "giraffe");
    // No file may grow beyond 64 KiB, as on a disk that is full; the signal that says so is left aside.
    let mut limited = Command::new("sh");
    let script = format!("trap '' XFSZ; ulimit -f 64; exec {} {}", env!("CARGO_BIN_EXE_wb"), index.join(" "));
    limited.args(["-c", &script]).current_dir(sandbox.path("")).env("HOME", sandbox.path(""));
    let output = limited.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && told.contains("cannot write kept/index"), "{told}");
    assert!(fs::read(sandbox.path("kept/index")).unwrap() == before);
    assert_eq!(sandbox.names("kept"), ["index"], "nothing unfinished is left");
    let found = sandbox.wb(&["search", "zebra", "--project", "project", "--index", "kept/index", "-n", "1"]);
    assert!(found.starts_with("exit 0\n"), "{found}");
    sandbox.succeeds(&index);
    assert!(
        sandbox.wb(&["search", "giraffe", "--project", "project", "--index", "kept/index"]).starts_with("exit 0\n")
    );
}
