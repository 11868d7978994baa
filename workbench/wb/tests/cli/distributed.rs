//! One training by two processes: it comes to the bytes of one process with two devices, also where a rank dies.

use std::{
    net::TcpListener,
    process::{Child, Stdio},
};

use crate::sandbox::{Sandbox, TRANSFORMER, assert_same, has, result, told};

/// Dropout, gradients of several batches and of parts of them, and weights that are those of the last step.
const TRAINS: [&str; 8] = [
    "train",
    "tiny.yaml",
    TRANSFORMER,
    "train.batch={pairs: 8, accumulate: 2, micro_texts: 6}",
    "train.keep=last",
    "train.epochs=6",
    "train.validate.every={steps: 5}",
    "--runs",
];

/// One of two ranks that meet at a port.
fn rank(sandbox: &Sandbox, rank: &str, port: u16) -> Child {
    let port = port.to_string();
    let ranks = [("RANK", rank), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", &port)];
    let mut command = sandbox.command(&[&TRAINS[..], &["ranks", "device=cpu", "--distributed"]].concat());
    command.envs(ranks).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

#[test]
fn two_ranks_train_what_two_devices_train_also_where_one_is_killed() {
    let sandbox = Sandbox::new();
    sandbox.succeeds(&[&TRAINS[..], &["reference", "device=[cpu, cpu]"]].concat());
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let both = || ["1", "0"].map(|number| rank(&sandbox, number, port));
    let [mut other, first] = both();
    sandbox.wait_for("checkpoint", || sandbox.checkpoints("ranks") > 1);
    other.kill().unwrap();
    let (code, _, err) = told(first.wait_with_output().unwrap());
    has(&err, &["error: rank 1 on ", " has ended", "hint: the same command on all ranks goes on"]);
    assert_eq!((code, other.wait().unwrap().code()), (Some(75), None));
    let ends = both().map(|child| told(child.wait_with_output().unwrap()));
    assert_eq!(ends.each_ref().map(|(code, ..)| *code), [Some(0); 2], "{ends:?}");
    has(&ends[0].2, &["rank 1 of 2: cpu (", "for rank 0 at 127.0.0.1:"]);
    assert_same(&result(&sandbox.only_run("reference")), &result(&sandbox.only_run("ranks")), 1);
    sandbox.refuses_with(&[&TRAINS[..], &["ranks", "--distributed"]].concat(), &["no launcher has said which rank"]);
}
