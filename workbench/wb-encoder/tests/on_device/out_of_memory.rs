//! Training on a device that has too little memory for a batch, which `WB_TEST_DEVICE` names: in smaller parts, with the
//! same losses.

use std::{fs, path::Path, process::Command};

use wb_encoder::{
    Backbone, BurnBackbone, Pooling,
    train::{Every, Keep, Meeting, MicroTokens, TokenizeRequest, TrainConfig, TrainOutcome, ValidateConfig},
};

use crate::{
    own_process::{own_process, skipped},
    passes::{VOCAB, batch, bert, model},
    test_device,
    training::{config, losses, run_texts, steps},
};

/// Variable that tells a child where it trains, and another how much memory it may take, beside what it has before the
/// first step, if it may not take as much as it wants.
const FOLDER: &str = "WB_TEST_OUT_OF_MEMORY";
const ROOM: &str = "WB_TEST_ROOM";
/// Tokens of a text: for one of them attention keeps some ten megabytes.
const TOKENS: usize = 256;

/// Two steps of 24 pairs: 12,288 tokens.
fn two_steps() -> TrainConfig {
    let mut config = TrainConfig { max_steps: 2, keep: Keep::Last, ema: 0.0, ..config(Default::default()) };
    config.batch.pairs = 24;
    config.batch.micro_tokens = MicroTokens::Auto;
    config.validate = ValidateConfig { every: Every::Share(1.0), pairs: 48 };
    config
}

/// Texts of the same length, none like another.
fn tokenize(wanted: TokenizeRequest<'_>) -> wb_core::Result<Vec<u32>> {
    let (side, number) = wanted.text.split_once(' ').unwrap();
    let (number, shift) = (number.parse::<usize>().unwrap(), if side == "a" { 0 } else { 5 });
    Ok((0..TOKENS).map(|at| ((number * number + at * (7 + number) + shift) % VOCAB) as u32).collect())
}

/// Lets this process take so many more bytes of address space, of which a device of software takes its memory.
fn limit_memory(room: u64) {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let taken = status.lines().find_map(|line| line.strip_prefix("VmSize:")?.trim().strip_suffix(" kB")).unwrap();
    let most = taken.parse::<u64>().unwrap() * 1024 + room;
    let process = std::process::id().to_string();
    let set = Command::new("prlimit").args(["--pid", &process, &format!("--as={most}")]).status().unwrap();
    assert!(set.success(), "prlimit: {set}");
}

#[test]
#[ignore = "run by a_batch_that_is_too_much_is_halved in processes of its own"]
fn train_in_little_memory() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let model = model(bert(), Pooling::Mean, true);
    let mut backbone = BurnBackbone::new(model, test_device().burn(), "test device").unwrap();
    // The kernels that a step needs are there before memory is short.
    drop(backbone.embed_tracked(&batch(&[TOKENS]), None).unwrap());
    if let Ok(room) = std::env::var(ROOM) {
        limit_memory(room.parse().unwrap());
    }
    let outcome: TrainOutcome =
        run_texts(&mut backbone, Path::new(&folder), false, &two_steps(), (Meeting::Vectors, &tokenize));
    fs::write(Path::new(&folder).join("warnings"), outcome.warnings.join("\n")).unwrap();
}

/// Trains in a process of its own.
fn child(folder: &Path, room: Option<u64>) {
    let mut command = own_process("out_of_memory::train_in_little_memory");
    if let Some(room) = room {
        command.env(ROOM, room.to_string());
    }
    let status = command.env(FOLDER, folder).status().unwrap();
    assert!(status.success(), "room {room:?}: {status}");
}

#[test]
fn a_batch_that_is_too_much_is_halved() {
    let device = test_device();
    if device.is_cpu() || !device.description.contains("llvmpipe") {
        let reason = format!("{} does not take its memory from this process", device.description);
        return skipped("a_batch_that_is_too_much_is_halved", &reason);
    }
    let (whole, halved) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    child(whole.path(), None);
    child(halved.path(), Some(300_000_000));
    let warnings = fs::read_to_string(halved.path().join("warnings")).unwrap();
    eprintln!("{}: {warnings}", device.description);
    assert!(warnings.contains("the device's memory ran out in step 1"), "{warnings}");
    assert_eq!(fs::read_to_string(whole.path().join("warnings")).unwrap(), "");
    let parts = steps(halved.path()).last().unwrap().micro_tokens.unwrap();
    assert!(parts < 24 * 2 * TOKENS as u64, "parts of {parts} tokens");
    for (found, expected) in losses(halved.path()).into_iter().zip(losses(whole.path())) {
        assert!((found - expected).abs() <= 1e-5 * expected, "loss {found}, {expected} with all memory");
    }
}
