//! Training on the device that `WB_TEST_DEVICE` names: the losses of the processor, and the same bytes after a kill.

use std::{fs, path::Path, sync::Arc, thread, time::Duration};

use wb_core::{
    Pair, PairSet, Seed, Side,
    progress::silent,
    records::journal::{StepRecord, ValidationRecord},
};
use wb_encoder::{
    Backbone, BurnBackbone, DeviceConfig, Folder, LateInteractionConfig, Precision, Stop,
    similarities::SimilarityConfig,
    train::{
        Every, Meeting, OptimizerConfig, Tokenize, TokenizeRequest, TrainConfig, TrainFiles, TrainJob, TrainOutcome,
        ValidateConfig, train,
    },
};

use crate::{
    own_process::own_process,
    passes::{VOCAB, bert, model, norm},
    test_device,
};

/// Variable that tells a child, which is killed, where it trains.
const KILLED: &str = "WB_TEST_KILLED_ON_DEVICE";

/// Largest difference of a step's loss from the processor's.
const LOSS: f64 = 1e-3;

/// Number of hard negatives in a config whose pairs are to have some.
pub const HARD: usize = 2;

/// Texts of 3 to 20 tokens; a pair's have something in common.
fn pairs(hard: bool) -> PairSet {
    let negative = |at: usize| Arc::from(format!("p {}", at % 48));
    let pair = |i: usize| Pair {
        id: format!("pair-{i}"),
        anchor: format!("a {i}"),
        positive: format!("p {i}"),
        negatives: if hard { vec![negative(i * 7 + 3), negative(i + 5)] } else { Vec::new() },
        ..Pair::default()
    };
    PairSet::new((0..48).map(pair).collect()).unwrap()
}

fn tokenize(text: &str, _: Side) -> wb_core::Result<Vec<u32>> {
    let (side, number) = text.split_once(' ').unwrap();
    let (number, shift) = (number.parse::<usize>().unwrap(), if side == "a" { 0 } else { 5 });
    let token = |at: usize| if at.is_multiple_of(3) { number * 4 } else { number * number + at * 7 + shift };
    Ok((0..3 + (number * 5 + shift) % 18).map(|at| (token(at) % VOCAB) as u32).collect())
}

/// Twenty steps of adapters.
pub fn config(precision: Precision) -> TrainConfig {
    let mut config = TrainConfig { max_steps: 20, epochs: 100, ema: 0.9, precision, ..TrainConfig::default() };
    config.batch.pairs = 8;
    config.validate = ValidateConfig { every: Every::Steps(4), pairs: 48 };
    let OptimizerConfig::Adamw(adamw) = &mut config.optimizer;
    adamw.learning_rate = 2e-3;
    config
}

/// Trains, or goes on.
pub fn run(backbone: &mut dyn Backbone, folder: &Path, resume: bool, config: &TrainConfig) {
    run_meeting(backbone, folder, resume, config, Meeting::Vectors);
}

fn run_meeting(backbone: &mut dyn Backbone, folder: &Path, resume: bool, config: &TrainConfig, meeting: Meeting<'_>) {
    let tokenize = |wanted: TokenizeRequest<'_>| tokenize(wanted.text, wanted.side);
    run_texts(backbone, folder, resume, config, (meeting, &tokenize));
}

/// Trains on texts that become these tokens, or goes on.
pub fn run_texts(
    backbone: &mut dyn Backbone,
    folder: &Path,
    resume: bool,
    config: &TrainConfig,
    texts: (Meeting<'_>, &Tokenize<'_>),
) -> TrainOutcome {
    run_drawn(backbone, folder, resume, config, texts, Seed(17))
}

/// Trains with dropout and an order of the pairs that this seed draws, or goes on.
fn run_drawn(
    backbone: &mut dyn Backbone,
    folder: &Path,
    resume: bool,
    config: &TrainConfig,
    (meeting, tokenize): (Meeting<'_>, &Tokenize<'_>),
    seed: Seed,
) -> TrainOutcome {
    let (pairs, stop) = (pairs(config.negatives == HARD), Stop::default());
    let job = TrainJob {
        pairs: (&pairs).into(),
        validation: &pairs,
        tokenize,
        meeting,
        code: None,
        special_tokens: [0, 0],
        config,
        seed,
        refresh: None,
        guide: None,
        files: TrainFiles {
            metrics: folder.join("metrics.jsonl"),
            validation: folder.join("validation.jsonl"),
            curriculum: folder.join("curriculum.json"),
            checkpoints: folder.join("checkpoints"),
        },
        resume,
        build: "",
        stop: &stop,
    };
    let outcome = train(backbone, &job, &mut silent).unwrap();
    assert_eq!(outcome.steps, config.max_steps);
    outcome
}

fn on_device(folder: &Path, resume: bool, config: &TrainConfig) {
    let model = model(bert(), wb_encoder::Pooling::Mean, true);
    run(&mut BurnBackbone::new(model, test_device().burn(), "test device").unwrap(), folder, resume, config);
}

pub fn steps(folder: &Path) -> Vec<StepRecord> {
    let text = fs::read_to_string(folder.join("metrics.jsonl")).unwrap_or_default();
    // The last line may be half written where somebody is writing.
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

pub fn losses(folder: &Path) -> Vec<f64> {
    steps(folder).iter().map(|step| step.loss).collect()
}

/// That of the last validation.
pub fn mrr(folder: &Path) -> f64 {
    let text = fs::read_to_string(folder.join("validation.jsonl")).unwrap();
    serde_json::from_str::<ValidationRecord>(text.lines().last().unwrap()).unwrap().mrr
}

/// Standard deviation of the last MRR among seeds, of this model on the processor: what nobody can tell from noise.
pub fn noise_of_mrr(config: &TrainConfig) -> f64 {
    let mrr_of = |seed| {
        let folder = tempfile::tempdir().unwrap();
        let model = model(bert(), wb_encoder::Pooling::Mean, true);
        let mut backbone = DeviceConfig::Cpu.open().unwrap().open_backbone(model).unwrap();
        let tokenize = |wanted: TokenizeRequest<'_>| tokenize(wanted.text, wanted.side);
        run_drawn(&mut *backbone, folder.path(), false, config, (Meeting::Vectors, &tokenize), Seed(seed));
        mrr(folder.path())
    };
    let mrrs: Vec<f64> = (1..=8).map(mrr_of).collect();
    let mean = mrrs.iter().sum::<f64>() / mrrs.len() as f64;
    (mrrs.iter().map(|mrr| (mrr - mean).powi(2)).sum::<f64>() / (mrrs.len() - 1) as f64).sqrt()
}

/// The bytes of the last checkpoint and of the journals.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let last = folder.join("checkpoints/step-000020");
    let mut all: Vec<_> = fs::read_dir(&last).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.extend(["metrics.jsonl", "validation.jsonl"].map(|name| folder.join(name)));
    all.sort();
    all.iter().map(|file| (file.file_name().unwrap().display().to_string(), fs::read(file).unwrap())).collect()
}

#[test]
fn twenty_steps_have_the_losses_of_the_processor() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let model = model(bert(), wb_encoder::Pooling::Mean, true);
    run(
        &mut *DeviceConfig::Cpu.open().unwrap().open_backbone(model).unwrap(),
        here.path(),
        false,
        &config(Precision::Fp32),
    );
    on_device(there.path(), false, &config(Precision::Fp32));
    let (expected, found) = (losses(here.path()), losses(there.path()));
    assert_eq!((expected.len(), found.len()), (20, 20));
    let worst = expected.iter().zip(&found).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    eprintln!("{}: losses {:.4} to {:.4}, at most {worst:.1e} apart", test_device().description, found[0], found[19]);
    assert!(worst < LOSS, "{worst:.1e} apart: {expected:?}, {found:?}");
    let mean = |losses: &[f64]| losses.iter().sum::<f64>() / losses.len() as f64;
    assert!(mean(&found[10..]) < mean(&found[..5]) - 0.1, "nothing was learned: {found:?}");
}

/// Late interaction, whose matrix trains on the host while adapters train on the device: the losses of the processor, and
/// its weights.
#[test]
fn late_interaction_trains_on_both_sides() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tiny-bert");
    let mut folder = Folder::read(&golden).unwrap();
    let late = LateInteractionConfig { dim: 16, expansion: 4, ..LateInteractionConfig::default() };
    folder.add_late_interaction(&late, Seed(2), "late").unwrap();
    folder.attach(&serde_json::from_str(r#"{"rank": 2, "targets": ["query"]}"#).unwrap(), Seed(4)).unwrap();
    let late = folder.late_interaction.as_ref().unwrap();
    let config = TrainConfig { similarity: SimilarityConfig::Maxsim, ..config(Precision::Fp32) };
    let run = |mut backbone: Box<dyn Backbone>| {
        let place = tempfile::tempdir().unwrap();
        run_meeting(&mut *backbone, place.path(), false, &config, Meeting::Tokens(late));
        let weights = |name: &str| backbone.parameters().get(name).unwrap().values.floats().into_owned();
        let trained = ["late_interaction.weight", "encoder.layer.0.attention.self.query.lora_B.weight"].map(weights);
        (losses(place.path()), trained)
    };
    let (expected, weights) = run(DeviceConfig::Cpu.open().unwrap().open_backbone(folder.model.clone()).unwrap());
    let device = test_device();
    let other = BurnBackbone::new(folder.model.clone(), device.burn(), "test device").unwrap();
    let (found, others) = run(Box::new(other));
    let worst = expected.iter().zip(&found).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    eprintln!("{}: losses {:.4} to {:.4}, at most {worst:.1e} apart", device.description, found[0], found[19]);
    assert!(worst < LOSS && found[19] < found[0], "{worst:.1e} apart: {expected:?}, {found:?}");
    for (a, b) in weights.iter().zip(&others) {
        let apart = norm(a.iter().zip(b).map(|(a, b)| f64::from(a - b))) / norm(a.iter().map(|a| f64::from(*a)));
        assert!(apart < 1e-2, "weights are {apart:.1e} apart");
    }
}

/// The config with most to remember: with a scaled loss, which overflows in the first steps. In 32 bits where each of the
/// processes would make the kernels of 16 bits anew, which takes minutes.
fn killed_config() -> TrainConfig {
    match test_device().is_cpu() {
        true => overflowing(Precision::F16),
        false => config(Precision::Fp32),
    }
}

/// A config whose gradients are great.
pub fn overflowing(precision: Precision) -> TrainConfig {
    let loss = serde_json::from_str(r#"{"mnrl": {"scale": 2000}}"#).unwrap();
    TrainConfig { loss, ..config(precision) }
}

/// The work of the next test's child processes, and not a test.
#[test]
#[ignore = "run by killed_and_resumed_ends_in_the_same_bytes in processes of its own"]
fn train_to_be_killed() {
    let Some(folder) = std::env::var_os(KILLED) else { return };
    on_device(Path::new(&folder), true, &killed_config());
}

#[test]
fn killed_and_resumed_ends_in_the_same_bytes() {
    let (whole, broken) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    on_device(whole.path(), false, &killed_config());
    // Killed after the sixth step and after the eleventh: checkpoints are written every fourth.
    for steps in [6, 11, usize::MAX] {
        let mut child = own_process("training::train_to_be_killed").env(KILLED, broken.path()).spawn().unwrap();
        let status = loop {
            if losses(broken.path()).len() >= steps {
                child.kill().unwrap();
            }
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            thread::sleep(Duration::from_millis(2));
        };
        assert_eq!(status.success(), steps == usize::MAX, "{status}, {} steps", losses(broken.path()).len());
    }
    for ((name, found), (_, expected)) in files(broken.path()).into_iter().zip(files(whole.path())) {
        assert!(found == expected, "{name} is another than without a kill");
    }
}
