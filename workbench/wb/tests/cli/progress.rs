//! A long training tells of itself while it runs, also where nobody looks at a terminal.

use crate::sandbox::{Sandbox, has, told};

/// Lines that begin like this, without what follows.
fn lines<'a>(err: &'a str, stage: &str) -> Vec<&'a str> {
    err.lines().filter(|line| line.starts_with(stage)).collect()
}

#[test]
fn a_piped_training_has_a_line_every_so_often() {
    let sandbox = Sandbox::new();
    let long = ["train", "tiny.yaml", "train.epochs=40", "train.validate.every={steps: 20}"];
    let (code, _, err) = told(sandbox.command(&long).env("WB_PROGRESS_SECONDS", "0.05").output().unwrap());
    assert_eq!(code, Some(0), "{err}");
    assert!(!err.contains('\x1b') && !err.contains('\r'), "nothing is drawn where there is no terminal: {err}");
    let of_training = lines(&err, "training  ");
    let running: Vec<&&str> = of_training.iter().filter(|line| line.contains(" after ")).collect();
    assert!(running.len() > 2, "{err}");
    let parts = [" pairs/s, ETA ", ", loss ", ", learning rate ", ", val MRR ", " (best ", ", epoch "];
    has(running[running.len() - 1], &parts);
}

#[test]
fn a_quick_training_says_nothing_of_its_steps() {
    let sandbox = Sandbox::new();
    let (_, err) = sandbox.succeeds(&["train", "tiny.yaml", "train.epochs=1"]);
    assert!(!lines(&err, "training  ").iter().any(|line| line.contains(" after ")), "{err}");
}

#[test]
fn an_interval_that_is_none_is_told() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["data", "tiny.yaml"]);
    let (code, _, err) = told(command.env("WB_PROGRESS_SECONDS", "often").output().unwrap());
    assert_eq!(code, Some(0), "{err}");
    assert!(err.contains("WB_PROGRESS_SECONDS is often, expected a number of seconds from 0.01 to 86400"), "{err}");
}
