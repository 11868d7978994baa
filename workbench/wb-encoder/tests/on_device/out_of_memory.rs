//! A Vulkan device whose memory runs out while training, as its driver says it (`scripts/vulkan/limited.c`).

use std::{ffi::OsString, fs, path::Path};

use wb_core::Side;
use wb_encoder::{
    BurnBackbone, Pooling, Precision, TokenBatch,
    self_test::{ProbeReport, probe},
    train::{Meeting, MicroTokens, TokenizeRequest, TrainConfig},
};

use crate::{
    own_process::{own_process, skipped},
    passes::{VOCAB, bert, model},
    test_device,
    training::{config, losses, run_texts, steps},
};

/// Variable that tells the file of the Vulkan driver with a limit.
const DRIVER: &str = "WB_TEST_LIMITED_VULKAN";
/// Variable that tells a child where it trains.
const FOLDER: &str = "WB_TEST_TRAINS_IN";

/// Tokens of a text: what attention keeps of them is so much that whole pages of a device's memory depend on it.
const TOKENS: usize = 1_024;

/// Two steps of sixteen texts: what is kept for the way back is most of the device's memory.
fn two_steps() -> TrainConfig {
    let mut two = TrainConfig { max_steps: 2, ..config(Precision::Fp32) };
    two.batch.micro_tokens = MicroTokens::Auto;
    two
}

fn tokenize(request: TokenizeRequest<'_>) -> wb_core::Result<Vec<u32>> {
    let number: usize = request.text.split_once(' ').unwrap().1.parse().unwrap();
    let shift = if request.side == Side::Query { 0 } else { 3 };
    Ok((0..TOKENS).map(|at| ((number * 11 + at * at * (number % 5 + 1) + shift) % VOCAB) as u32).collect())
}

#[test]
#[ignore = "run by training_goes_on_where_memory_runs_out in processes of its own"]
fn trains() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mut backbone =
        BurnBackbone::new(model(bert(), Pooling::Mean, true), test_device().burn(), "test device").unwrap();
    let outcome = run_texts(&mut backbone, Path::new(&folder), false, &two_steps(), (Meeting::Vectors, &tokenize));
    outcome.warnings.iter().for_each(|warning| eprintln!("{warning}"));
}

/// Runs a test in a process of its own with this driver, and with no more than so many bytes of its device: the most bytes
/// that were there at once, and how many allocations were refused.
fn limited(driver: &OsString, test: &str, folder: &Path, memory: Option<u64>) -> (u64, u64) {
    let log = folder.join("memory");
    let mut child = own_process(test);
    child.env("VK_DRIVER_FILES", driver).env("MEMORY_LOG", &log).env(FOLDER, folder);
    child.envs(memory.map(|bytes| ("MEMORY", bytes.to_string())));
    let status = child.status().unwrap();
    assert!(status.success(), "{memory:?} bytes: {status}");
    let told = fs::read_to_string(log).unwrap();
    let (most, refusals) = told.trim().split_once(' ').unwrap();
    (most.parse().unwrap(), refusals.parse().unwrap())
}

/// The driver that can have a limit; a test that needs it is counted as skipped without.
fn driver(test: &str) -> Option<OsString> {
    let driver = std::env::var_os(DRIVER);
    if driver.is_none() {
        skipped(test, &format!("{DRIVER} is not set: it names the driver of scripts/vulkan/limited.c"));
    }
    driver
}

#[test]
#[ignore = "run by a_self_test_takes_fewer_texts_where_memory_runs_out in processes of its own"]
fn is_tried() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let text = |at: usize| -> Vec<u32> {
        let tokens = if at < 8 { 8 + at } else { TOKENS };
        (0..tokens).map(|place| ((at * 31 + place * 7) % VOCAB) as u32).collect()
    };
    let texts: Vec<Vec<u32>> = (0..16).map(text).collect();
    let batch = TokenBatch::new(texts.iter().map(Vec::as_slice));
    let model = model(bert(), Pooling::Mean, false);
    let report = probe(test_device().config, Precision::Fp32, &model, &batch, &mut |_| (), |_| ());
    fs::write(Path::new(&folder).join("report"), serde_json::to_string(&report).unwrap()).unwrap();
}

/// A device with half of the memory that all texts take at once passes its self-test, which says how many it was tried on.
#[test]
fn a_self_test_takes_fewer_texts_where_memory_runs_out() {
    let Some(driver) = driver("a_self_test_takes_fewer_texts_where_memory_runs_out") else { return };
    let folder = tempfile::tempdir().unwrap();
    let tried = |memory: Option<u64>| {
        let (most, refusals) = limited(&driver, "out_of_memory::is_tried", folder.path(), memory);
        let report = fs::read_to_string(folder.path().join("report")).unwrap();
        let report: ProbeReport = serde_json::from_str(&report).unwrap();
        assert_eq!(report.failure, None, "{report:?}");
        let of_embeddings = report.checks.iter().find(|check| check.what.starts_with("embeddings")).unwrap();
        (most, refusals, of_embeddings.what.clone())
    };
    let (most, refusals, what) = tried(None);
    assert_eq!((refusals, what.as_str()), (0, "embeddings: 1 - cosine"));
    let (held, refusals, what) = tried(Some(most / 2));
    eprintln!("{}: {most} bytes, then {held} with {refusals} refused: {what}", test_device().description);
    assert!(held <= most / 2 && refusals > 0);
    assert_eq!(what, "embeddings of 8 texts, as there is no memory for 16: 1 - cosine");
}

/// With half of the memory that the training takes by itself, it ends with the same losses, in smaller parts.
#[test]
fn training_goes_on_where_memory_runs_out() {
    let Some(driver) = driver("training_goes_on_where_memory_runs_out") else { return };
    let train = |folder: &Path, memory: Option<u64>| limited(&driver, "out_of_memory::trains", folder, memory);
    let (plenty, short) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (most, refusals) = train(plenty.path(), None);
    assert_eq!(refusals, 0);
    assert!(steps(plenty.path()).iter().all(|step| step.micro_tokens.is_none()));
    let limit = most / 2;
    let (held, refusals) = train(short.path(), Some(limit));
    assert!(held <= limit && refusals > 0, "{held} of {limit} bytes, {refusals} refused");
    let parts: Vec<_> = steps(short.path()).iter().map(|step| step.micro_tokens).collect();
    assert!(parts.iter().all(|most| most.is_some_and(|most| most < 16 * TOKENS as u64)), "{parts:?}");
    let (expected, found) = (losses(plenty.path()), losses(short.path()));
    let worst = expected.iter().zip(&found).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    eprintln!(
        "{}: {most} bytes, then at most {limit} with {refusals} refused and parts of {parts:?} tokens: losses {worst:.1e} apart",
        test_device().description
    );
    assert!(worst < 1e-5 && expected.len() == 2 && found.len() == 2, "{expected:?}, {found:?}");
}
