//! What happens while predictions are judged: the program replaced, a record that cannot be written any more, results
//! that are mostly nothing.
#![cfg(target_os = "linux")]

use std::{
    fs,
    process::{Child, Command, Stdio},
};

use super::made_up::{SPIDER, dev, project};
use crate::sandbox::told;

/// Workers of a running command.
fn workers(child: &Child) -> usize {
    let tasks = fs::read_dir(format!("/proc/{}/task", child.id())).into_iter().flatten().flatten();
    let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    children.map(|text| text.split_whitespace().count()).sum()
}

/// The name of the program can stand for another one by the time when a worker has to be replaced.
#[test]
fn a_program_that_is_replaced_goes_on_with_itself() {
    let sandbox = project();
    // Each ends its worker: one step of SQLite's machine that takes half a minute.
    let stuck = "SELECT instr(printf('%.*c', 900000, 'a'), printf('%.*c', 450000, 'a') || 'b')";
    sandbox.write("data/few.json", dev(&[("shop", "SELECT name FROM item"); 3]));
    sandbox.write("few.sql", format!("{stuck}\n{stuck} , 1\nSELECT item.name FROM item\n"));
    let program = sandbox.path("wb-copy");
    fs::copy(env!("CARGO_BIN_EXE_wb"), &program).unwrap();
    let original = sandbox.command(&[]);
    let mut command = Command::new(&program);
    command.current_dir(sandbox.path("")).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, value) in original.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.args(["bench", "spider", "--dataset", "data", "--predictions", "few.sql", "--questions", "data/few.json"]);
    let child = command.args(["--timeout", "1", "--workers", "1"]).spawn().unwrap();
    sandbox.wait_for("worker", || workers(&child) > 0);
    sandbox.write("another", "this is no program");
    fs::rename(sandbox.path("another"), &program).unwrap();
    let (code, out, err) = told(child.wait_with_output().unwrap());
    assert_eq!(code, Some(0), "{out}{err}");
    assert!(out.contains("status      correct 1, wrong 0, parse_error 0, sql_error 0, timeout 2, refused 0"), "{out}");
}

/// What was judged is printed, whatever becomes of the record.
#[test]
fn figures_are_printed_before_the_record_is_written() {
    let sandbox = project();
    let mut command = sandbox.command(&[&SPIDER[..], &["--json", "late.json", "--timeout", "1"]].concat());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    sandbox.wait_for("worker", || workers(&child) > 0);
    fs::create_dir(sandbox.path("late.json")).unwrap();
    let (code, out, err) = told(child.wait_with_output().unwrap());
    assert_eq!(code, Some(2), "{out}{err}");
    assert!(err.contains("late.json") && out.contains("status      correct 4, wrong 2"), "{out}{err}");
}

/// A thousand NULLs in a row are a kilobyte on their way, and were two dozen in here; sixteen such results together were
/// gigabytes.
#[test]
fn results_of_nothing_take_no_memory() {
    let sandbox = project();
    let count = 64;
    sandbox.write("data/few.json", dev(&vec![("shop", "SELECT name FROM item"); count]));
    let tables: Vec<String> = (0..9).map(|at| format!("item i{at}")).collect();
    let prediction = |at: usize| {
        let nulls = vec!["NULL"; 1500 + at].join(",");
        format!("SELECT {nulls} FROM {}\n", tables.join(" JOIN "))
    };
    sandbox.write("few.sql", (0..count).map(prediction).collect::<String>());
    let arguments =
        ["bench", "spider", "--dataset", "data", "--predictions", "few.sql", "--questions", "data/few.json"];
    let mut command = sandbox.command(&[&arguments[..], &["--workers", "2"]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        most = most.max(peak.map_or(0, |peak| peak.parse::<u64>().unwrap() / 1024));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(out.contains("correct 0, wrong 64, parse_error 0, sql_error 0, timeout 0, refused 0"), "{out}");
    assert!((1..300).contains(&most), "{most} MiB");
}
