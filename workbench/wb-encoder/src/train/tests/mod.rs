//! Training from end to end, on a bag of token vectors small enough to see through.

mod curriculum;
mod distilled;
mod faults;
mod killed;
mod late_interaction;
mod not_a_number;
mod out_of_memory;
mod stopped;

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use ndarray::{Array2, ArrayView2};
use rand::RngExt;
use serde::Deserialize;
use tempfile::TempDir;
use wb_core::{
    Pair, PairSet, Progress, Seed, Side,
    fingerprint::Fingerprint,
    progress::silent,
    records::journal::{StepRecord, ValidationRecord},
};

use super::{
    optimizer::{AdamW, clip_factor, gradient_squares},
    step::{StepOptions, accumulate},
    *,
};
use crate::{
    backbone::{BackboneTape, Dropout},
    batch::TokenBatch,
    error::{Error, failed_on},
    parameters::{Gradients, Parameter, Parameters},
};

const DIM: usize = 16;
const WORDS: usize = 400;
/// A text with this token has an embedding that is not a number.
const POISON: u32 = 399;

/// Mean of token vectors, with dropout of whole numbers of an embedding, and a weight that does not train.
struct Bag {
    parameters: Parameters,
    /// The token ids of every batch that it is trained with, a line each, where somebody wants to know.
    log: Option<std::sync::Mutex<fs::File>>,
    /// Passes so far.
    passes: Arc<AtomicUsize>,
    /// The passes of training so far.
    trained: AtomicUsize,
    broken: Option<Broken>,
    /// Most tokens of a pass of training; more, and memory runs out.
    room: Arc<AtomicUsize>,
}

/// A pass of training that goes wrong, counted from 1, and how.
struct Broken {
    pass: usize,
    what: Wrong,
}

enum Wrong {
    /// A text's embedding is not a number.
    Embedding,
    /// A text and its answer are farther apart than numbers can tell.
    Distance,
    /// The loss is fine, and a gradient is not a number.
    Gradient,
}

struct BagTape {
    batch: TokenBatch,
    mask: Array2<f32>,
}

impl Bag {
    fn new() -> Self {
        let mut rng = Seed(1).stream("bag");
        let values = (0..WORDS * DIM).map(|_| rng.random_range(-0.1..0.1)).collect();
        let mut parameters = Parameters::default();
        parameters.insert(Parameter {
            name: "embeddings.weight".into(),
            shape: vec![WORDS, DIM],
            values,
            trainable: true,
        });
        parameters.insert(Parameter {
            name: "frozen.weight".into(),
            shape: vec![2],
            values: vec![0.5, -0.5].into(),
            trainable: false,
        });
        Self {
            parameters,
            log: None,
            passes: Arc::default(),
            trained: AtomicUsize::new(0),
            broken: None,
            room: Arc::new(AtomicUsize::new(usize::MAX)),
        }
    }

    fn weights(&self) -> Vec<u32> {
        self.parameters.iter().flat_map(|p| p.values.floats().into_owned()).map(f32::to_bits).collect()
    }
}

impl Backbone for Bag {
    fn dim(&self) -> usize {
        DIM
    }

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn update(&mut self, change: &mut dyn FnMut(&mut Parameters)) -> Result<()> {
        change(&mut self.parameters);
        Ok(())
    }

    fn embed(&self, batch: &TokenBatch) -> Result<Array2<f32>> {
        Ok(self.embed_tracked(batch, None)?.0)
    }

    fn embed_tracked(&self, batch: &TokenBatch, dropout: Option<Dropout>) -> Result<(Array2<f32>, BackboneTape)> {
        let table = self.parameters.floats(0);
        let mut mask = Array2::ones((batch.len(), DIM));
        if let Some(log) = self.log.as_ref().filter(|_| dropout.is_some()) {
            let line = format!("{:?}\n", batch.ids());
            std::io::Write::write_all(&mut *log.lock().unwrap(), line.as_bytes()).unwrap();
        }
        if dropout.is_some() && batch.ids().len() > self.room.load(Ordering::Relaxed) {
            return Err(failed_on(
                "bag",
                "it failed",
                "device error\nout of device memory allocating 64 bytes\n  0: a",
            ));
        }
        self.passes.fetch_add(1, Ordering::Relaxed);
        let trained = self.trained.fetch_add(usize::from(dropout.is_some()), Ordering::Relaxed) + 1;
        let broken = self.broken.as_ref().filter(|broken| dropout.is_some() && broken.pass == trained);
        if let Some(dropout) = dropout {
            for (text, mut row) in mask.outer_iter_mut().enumerate() {
                let mut rng = Seed(dropout.seed).stream_at("mask", batch.place(text));
                row.mapv_inplace(|_| if rng.random_bool(0.1) { 0.0 } else { 1.0 / 0.9 });
            }
        }
        let mut rows = Array2::zeros((batch.len(), DIM));
        for (mut row, text) in rows.outer_iter_mut().zip(batch.texts()) {
            for token in text {
                let vector = &table[*token as usize * DIM..][..DIM];
                row.iter_mut().zip(vector).for_each(|(sum, x)| *sum += x / text.len() as f32);
            }
            if text.contains(&POISON) {
                row.fill(f32::NAN);
            }
        }
        rows *= &mask;
        match broken.map(|broken| &broken.what) {
            Some(Wrong::Embedding) => rows.row_mut(3).fill(f32::NAN),
            Some(Wrong::Distance) => {
                rows.row_mut(0).fill(1e19);
                // In batches of eight without negatives, its answer.
                rows.row_mut(8).fill(-1e19);
            }
            // What goes back through the mask is then not a number.
            Some(Wrong::Gradient) => mask.row_mut(3).fill(f32::NAN),
            None => {}
        }
        Ok((rows, Box::new(BagTape { batch: batch.clone(), mask })))
    }

    fn backward(
        &self,
        tape: BackboneTape,
        at_embeddings: ArrayView2<'_, f32>,
        gradients: &mut Gradients,
    ) -> Result<()> {
        let tape = tape.downcast::<BagTape>().unwrap();
        let at_rows = &at_embeddings * &tape.mask;
        for (row, text) in at_rows.outer_iter().zip(tape.batch.texts()) {
            for token in text {
                let vector = &mut gradients.at_mut(0)[*token as usize * DIM..][..DIM];
                vector.iter_mut().zip(row).for_each(|(sum, g)| *sum += g / text.len() as f32);
            }
        }
        Ok(())
    }
}

/// Words are `a7`, `p7`, ...: anchors' words are tokens 0 to 99, positives' 100 to 199.
fn tokenize(text: &str, side: Side) -> Result<Vec<u32>> {
    assert!(!text.starts_with('a') || side == Side::Query);
    let token = |word: &str| {
        let number: u32 = word[1..].parse().unwrap();
        if word.starts_with('p') { 100 + number } else { number }
    };
    Ok(text.split(' ').map(token).collect())
}

/// Tokenizes with prompts, which are words too, and limits.
fn wanted(wanted: TokenizeRequest<'_>) -> Result<Vec<u32>> {
    let mut ids = tokenize(&format!("{}{}", wanted.prompt.unwrap_or_default(), wanted.text), wanted.side)?;
    ids.truncate(wanted.max_tokens.unwrap_or(usize::MAX));
    Ok(ids)
}

/// Mines, for each of the 64 pairs, the three other positives that are nearest to its anchor.
fn mine(backbone: &dyn Backbone, _: u64, progress: &mut dyn FnMut(Progress)) -> Result<Option<RefreshedNegatives>> {
    progress(Progress::new("mining", 0, 64));
    let pairs = apart();
    let embed = |text: &dyn Fn(&Pair) -> &str, side| -> Result<Array2<f32>> {
        let ids: Vec<Vec<u32>> = pairs.pairs().iter().map(|pair| tokenize(text(pair), side)).collect::<Result<_>>()?;
        backbone.embed(&TokenBatch::new(ids.iter().map(Vec::as_slice)))
    };
    let scores = embed(&|pair| &pair.anchor, Side::Query)?.dot(&embed(&|pair| &pair.positive, Side::Document)?.t());
    let hardest = |row: usize| {
        let mut others: Vec<u32> = (0..64).filter(|other| *other != row as u32).collect();
        others.sort_by(|a, b| scores[[row, *b as usize]].total_cmp(&scores[[row, *a as usize]]).then(a.cmp(b)));
        others.truncate(3);
        others
    };
    let texts = pairs.pairs().iter().map(|pair| pair.positive.clone()).collect();
    Ok(Some(RefreshedNegatives { texts, negatives: (0..64).map(hardest).collect() }))
}

fn pair(id: usize, anchor: String, positive: String) -> Pair {
    Pair { id: format!("pair-{id}"), anchor, positive, ..Pair::default() }
}

/// 64 pairs whose words tell nothing about each other before training.
fn apart() -> PairSet {
    PairSet::new((0..64).map(|i| pair(i, format!("a{i}"), format!("p{i}"))).collect()).unwrap()
}

fn config(change: impl FnOnce(&mut TrainConfig)) -> TrainConfig {
    let mut config = TrainConfig::default();
    config.batch.pairs = 8;
    config.max_steps = 20;
    config.epochs = 100;
    config.validate = ValidateConfig { every: Every::Steps(4), pairs: 50 };
    let OptimizerConfig::Adamw(adamw) = &mut config.optimizer;
    adamw.learning_rate = 0.02;
    change(&mut config);
    config
}

/// A training on pairs that are their own validation, in a folder.
pub(super) fn job<'a>(
    pairs: &'a PairSet,
    tokenize: &'a Tokenize<'a>,
    config: &'a TrainConfig,
    folder: &Path,
    stop: &'a Stop,
) -> TrainJob<'a> {
    TrainJob {
        pairs: pairs.into(),
        validation: pairs,
        tokenize,
        meeting: Meeting::Vectors,
        code: None,
        special_tokens: [0, 0],
        config,
        seed: Seed(17),
        refresh: None,
        guide: None,
        files: TrainFiles {
            metrics: folder.join("metrics.jsonl"),
            validation: folder.join("validation.jsonl"),
            curriculum: folder.join("curriculum.json"),
            checkpoints: folder.join("checkpoints"),
        },
        resume: false,
        build: "",
        stop,
    }
}

/// The folder of a run: removed at the end where it is its own.
enum Folder {
    Own(TempDir),
    Given(std::path::PathBuf),
}

impl Folder {
    fn new() -> Self {
        Self::Own(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        match self {
            Self::Own(folder) => folder.path(),
            Self::Given(folder) => folder,
        }
    }
}

struct Run {
    folder: Folder,
    pairs: PairSet,
    validation: PairSet,
    /// Reads the pairs as if they did not fit into memory.
    streamed: bool,
    config: TrainConfig,
    guide: Option<Box<Guide<'static>>>,
    stop: Arc<AtomicBool>,
    /// The stop that is asked in place of the flag.
    asked: Option<Stop>,
    build: String,
}

impl Run {
    fn new(config: TrainConfig) -> Self {
        Self {
            folder: Folder::new(),
            pairs: apart(),
            validation: apart(),
            streamed: false,
            config,
            guide: None,
            stop: Arc::default(),
            asked: None,
            build: "1.0 (abc)".into(),
        }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn train(&self, bag: &mut Bag, resume: bool, progress: &mut dyn FnMut(Progress)) -> Result<TrainOutcome> {
        let stop = self.asked.clone().unwrap_or_else(|| Stop::when(&self.stop));
        let job = TrainJob {
            pairs: if self.streamed { TrainPairs::Stream(&self.pairs) } else { (&self.pairs).into() },
            validation: &self.validation,
            refresh: Some(&mine),
            guide: self.guide.as_deref(),
            resume,
            build: &self.build,
            ..job(&self.pairs, &wanted, &self.config, self.folder.path(), &stop)
        };
        train(bag, &job, progress)
    }

    /// Trains until this step is done, and stops.
    fn train_until(&self, step: u64, resume: bool) -> TrainOutcome {
        self.stop.store(false, Ordering::Relaxed);
        let outcome =
            self.train(&mut Bag::new(), resume, &mut |p| self.stop.store(p.done >= step, Ordering::Relaxed)).unwrap();
        self.stop.store(false, Ordering::Relaxed);
        assert!(outcome.stopped);
        assert_eq!(outcome.steps, step);
        outcome
    }

    fn finish(&self, resume: bool) -> (Finished, TrainOutcome) {
        let mut bag = Bag::new();
        let outcome = self.train(&mut bag, resume, &mut silent).unwrap();
        let read = |name: &str| fs::read_to_string(self.path(name)).unwrap();
        (
            Finished { metrics: read("metrics.jsonl"), validation: read("validation.jsonl"), weights: bag.weights() },
            outcome,
        )
    }

    fn checkpoints(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path("checkpoints")).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// A guide that sees which pair a text belongs to, by its number.
struct Matching;

impl wb_core::Encoder for Matching {
    fn name(&self) -> String {
        "matching".into()
    }

    fn dim(&self) -> usize {
        64
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_bytes(b"matching")
    }

    fn encode(
        &self,
        texts: &[&str],
        _: Side,
        _: &mut dyn FnMut(Progress),
    ) -> Result<wb_core::Embeddings, Box<dyn std::error::Error + Send + Sync>> {
        let number = |text: &str| text[1..].split(' ').next().unwrap().parse::<usize>().unwrap() % 64;
        let own = |(row, column): (usize, usize)| f32::from(u8::from(number(texts[row]) == column));
        Ok(wb_core::Embeddings::dense(Array2::from_shape_fn((texts.len(), 64), own)))
    }
}

/// The results that two runs are compared by.
#[derive(Debug, PartialEq)]
struct Finished {
    metrics: String,
    validation: String,
    weights: Vec<u32>,
}

fn records<T: for<'a> Deserialize<'a>>(text: &str) -> Vec<T> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn sixty_four_pairs_are_learned_by_heart() {
    let mut run = Run::new(config(|c| c.max_steps = 200));
    run.config.validate = ValidateConfig { every: Every::Share(0.25), pairs: 64 };
    let (finished, outcome) = run.finish(false);
    let validations: Vec<ValidationRecord> = records(&finished.validation);
    assert_eq!(validations.iter().map(|v| v.step).collect::<Vec<_>>(), [0, 50, 100, 150, 200]);
    assert!(validations[0].mrr < 0.2, "{}", validations[0].mrr);
    assert_eq!(outcome.best_mrr, 1.0);
    let steps: Vec<StepRecord> = records(&finished.metrics);
    assert_eq!(steps.len(), 200);
    assert!(steps[199].loss < 0.1 * steps[0].loss);
    assert_eq!((steps[0].pairs, steps[0].tokens), (8, 16));
    assert_eq!(steps[7].epoch, 1.0);
    // 0.1 of 200 steps is warm-up.
    assert_eq!((steps[0].learning_rate, steps[19].learning_rate), (0.02 / 20.0, 0.02));
    let best: Vec<_> = validations.iter().filter(|v| v.best).collect();
    assert_eq!(best.last().unwrap().step, outcome.best_step);
    assert_eq!(fs::read_to_string(run.path("checkpoints/best")).unwrap(), format!("step-{:06}\n", outcome.best_step));
}

/// Every loss learns what it is for, from pairs that have what it needs, and says so where they have not.
#[test]
fn every_loss_learns() {
    let losses = [
        (r#"{"mnrl": {"directions": ["query_to_doc", "query_to_query", "doc_to_query", "doc_to_doc"]}}"#, 0.95),
        (r#"{"mnrl": {"temperature": 0.1, "hardness": {"hard_negatives": 2}}}"#, 0.95),
        (r#"{"gist": {"guide": {"id": "matching"}, "temperature": 0.05}}"#, 0.95),
        (r#"{"triplet": {"margin": 0.5}}"#, 0.5),
        (r#"{"triplet": {"distance": "euclidean", "margin": 0.5}}"#, 0.3),
        (r#"{"margin_mse": {}}"#, 0.5),
        (r#"{"distill_kl": {"temperature": 0.1}}"#, 0.5),
        (r#"{"cosent": {}}"#, 0.5),
        (r#"{"matryoshka": {"dims": [16, 8], "loss": {"mnrl": {}}}}"#, 0.95),
    ];
    for (json, least) in losses {
        let mut run = Run::new(config(|c| (c.max_steps, c.loss) = (200, serde_json::from_str(json).unwrap())));
        run.config.validate = ValidateConfig { every: Every::Steps(200), pairs: 64 };
        let with_negatives = |(at, pair): (usize, Pair)| Pair {
            negatives: (1..4).map(|k| format!("p{}", (at + 17 * k) % 64).into()).collect(),
            scores: vec![0.9, 0.1, 0.2, 0.0],
            ..pair
        };
        run.pairs = PairSet::new(apart().pairs().iter().cloned().enumerate().map(with_negatives).collect()).unwrap();
        run.guide = json.contains("gist").then(|| Box::new(Matching) as Box<Guide<'static>>);
        // Held-out pairs without negatives and scores: MRR is measured, and the loss where it can be.
        let needs = run.config.loss.needs();
        let lacks = needs.negatives || needs.scores;
        let (finished, outcome) = run.finish(false);
        let last = records::<ValidationRecord>(&finished.validation).pop().unwrap();
        assert!(last.mrr > least, "{json}: MRR {}", last.mrr);
        assert_eq!(last.loss.is_some(), !lacks, "{json}");
        assert_eq!(outcome.warnings.len(), usize::from(lacks), "{:?}", outcome.warnings);
        let steps: Vec<StepRecord> = records(&finished.metrics);
        assert!(steps[199].loss < 0.8 * steps[0].loss, "{json}: {} {}", steps[0].loss, steps[199].loss);
        // With what it needs, held-out pairs have a loss too.
        let mut again = Run::new(TrainConfig { max_steps: 4, ..run.config.clone() });
        again.validation = PairSet::new(run.pairs.pairs().to_vec()).unwrap();
        (again.pairs, again.guide) = (run.pairs, run.guide);
        let last = records::<ValidationRecord>(&again.finish(false).0.validation).pop().unwrap();
        assert!(last.loss.is_some_and(f64::is_finite), "{json}");
    }
    let refused = |json: &str| {
        let run = Run::new(config(|c| c.loss = serde_json::from_str(json).unwrap()));
        run.train(&mut Bag::new(), false, &mut silent).unwrap_err().to_string()
    };
    let found = refused(r#"{"gist": {"guide": {"id": "x"}}}"#);
    assert_eq!(found, "train.loss: the loss asks a guide, and there is none here");
    assert!(refused(r#"{"cosent": {}}"#).starts_with("pair pair-0: has 0 scores, expected 1"));
    assert!(refused(r#"{"matryoshka": {"dims": [17]}}"#).contains("17 is longer than the model's embeddings"));
}

#[test]
fn shuffled_labels_teach_nothing_about_held_out_pairs() {
    // A pair is two of 20 topics, told in one language on each side; held-out pairs are other couples of the same topics.
    let couples: Vec<(usize, usize)> = (0..20).flat_map(|x| (0..x).map(move |y| (x, y))).collect();
    let order = Seed(3).permutation_at("couples", 0, couples.len());
    let train = |shuffled: bool| {
        let make = |(at, i): (usize, &usize)| {
            let other = if shuffled { order[(at + 71) % 140] } else { *i };
            let ((x, y), (u, v)) = (couples[*i], couples[other]);
            pair(at, format!("a{x} a{y}"), format!("p{u} p{v}"))
        };
        let held_out = order[140..].iter().map(|i| couples[*i]).enumerate();
        let held_out = held_out.map(|(at, (x, y))| pair(at, format!("a{x} a{y}"), format!("p{x} p{y}"))).collect();
        let mut run = Run::new(config(|c| (c.batch.pairs, c.max_steps, c.keep) = (28, 150, Keep::Last)));
        run.pairs = PairSet::new(order[..140].iter().enumerate().map(make).collect()).unwrap();
        run.validation = PairSet::new(held_out).unwrap();
        let (finished, _) = run.finish(false);
        records::<ValidationRecord>(&finished.validation).last().unwrap().mrr
    };
    let (right, shuffled) = (train(false), train(true));
    // Chance among 50 is (1 + 1/2 + ... + 1/50)/50 = 0.09.
    assert!(right > 0.8, "{right}");
    assert!(shuffled < 0.2, "{shuffled}");
}

#[test]
fn the_same_seed_gives_the_same_run_to_the_last_bit() {
    let (one, _) = Run::new(config(|_| {})).finish(false);
    let (two, _) = Run::new(config(|_| {})).finish(false);
    assert_eq!(one, two);
    assert_eq!(records::<StepRecord>(&one.metrics).len(), 20);
}

#[test]
fn stopped_and_resumed_equals_not_stopped_to_the_last_bit() {
    let variants: [fn(&mut TrainConfig); 5] = [
        |_| {},
        |c| c.keep = Keep::Last,
        |c| c.batch.accumulate = 3,
        |c| c.batch.micro_tokens = MicroTokens::Most(5),
        |c| c.interpolate = 0.25,
    ];
    for change in variants {
        let reference = Run::new(config(change)).finish(false);
        // 10 is between two validations, 12 is at one; and stopped twice in a row.
        let stops: [&[u64]; 3] = [&[10], &[12], &[1, 10]];
        for stops in stops {
            let run = Run::new(config(change));
            for (i, stop) in stops.iter().enumerate() {
                run.train_until(*stop, i > 0);
            }
            let resumed = run.finish(true);
            assert_eq!(resumed.0, reference.0);
            assert_eq!((resumed.1.best_step, resumed.1.best_mrr), (reference.1.best_step, reference.1.best_mrr));
        }
    }
}

#[test]
fn interpolated_weights_lie_on_the_way_and_training_is_the_same() {
    let (whole, _) = Run::new(config(|_| {})).finish(false);
    let (half, _) = Run::new(config(|c| c.interpolate = 0.5)).finish(false);
    let (none, _) = Run::new(config(|c| c.interpolate = 0.0)).finish(false);
    assert_eq!((&half.metrics, &half.validation), (&whole.metrics, &whole.validation));
    assert_eq!(none.weights, Bag::new().weights());
    assert_ne!(whole.weights, none.weights);
    for ((before, half), after) in none.weights.iter().zip(&half.weights).zip(&whole.weights) {
        let [before, half, after] = [before, half, after].map(|bits| f32::from_bits(*bits));
        assert_eq!(half, before + 0.5 * (after - before));
    }
}

#[test]
fn a_validation_that_is_broken_off_is_done_after_the_resume() {
    let reference = Run::new(config(|_| {})).finish(false).0;
    for step in [0, 8, 20] {
        let run = Run::new(config(|_| {}));
        let mut stop = |p: Progress| {
            if p.done == step && p.note.starts_with("validating, 50 of") {
                run.stop.store(true, Ordering::Relaxed);
            }
        };
        let outcome = run.train(&mut Bag::new(), false, &mut stop).unwrap();
        assert!(outcome.stopped);
        assert_eq!(outcome.steps, step);
        run.stop.store(false, Ordering::Relaxed);
        assert_eq!(run.finish(true).0, reference);
    }
}

#[test]
fn a_finished_run_resumes_to_the_same_end() {
    let run = Run::new(config(|_| {}));
    let first = run.finish(false);
    assert_eq!(run.finish(true).0, first.0);
}

#[test]
fn a_checkpoint_that_cannot_be_written_leaves_the_one_before() {
    let reference = Run::new(config(|_| {})).finish(false).0;
    let run = Run::new(config(|_| {}));
    let in_the_way = run.path("checkpoints/step-000012");
    let error = run.train(&mut Bag::new(), false, &mut |p| {
        if p.done == 9 {
            fs::write(&in_the_way, "a file where a folder should be").unwrap();
        }
    });
    let error = error.unwrap_err().to_string();
    assert!(error.contains("step-000012"), "{error}");
    assert!(run.checkpoints().contains(&"step-000008".to_owned()), "{:?}", run.checkpoints());
    fs::remove_file(&in_the_way).unwrap();
    // A crash in the middle of writing leaves a folder with a temporary name.
    fs::create_dir(run.path("checkpoints/.step-000012.77.tmp")).unwrap();
    assert_eq!(run.finish(true).0, reference);
    assert!(!run.checkpoints().iter().any(|name| name.ends_with(".tmp")));
}

#[test]
fn a_damaged_checkpoint_is_passed_over_and_told() {
    let reference = Run::new(config(|_| {})).finish(false).0;
    let damages: [fn(&Path); 3] = [
        |step| {
            let mut bytes = fs::read(step.join("weights.safetensors")).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            fs::write(step.join("weights.safetensors"), bytes).unwrap();
        },
        |step| fs::write(step.join("MANIFEST.json"), "").unwrap(),
        |step| fs::remove_file(step.join("optimizer.safetensors")).unwrap(),
    ];
    for damage in damages {
        let run = Run::new(config(|_| {}));
        run.train_until(14, false);
        damage(&run.path("checkpoints/step-000014"));
        let (finished, outcome) = run.finish(true);
        assert_eq!(finished, reference);
        assert_eq!(outcome.warnings.len(), 1);
        assert!(outcome.warnings[0].contains("step-000014 is damaged"), "{:?}", outcome.warnings);
    }
}

#[test]
fn old_checkpoints_go_and_the_best_stays() {
    let run = Run::new(config(|_| {}));
    let (_, outcome) = run.finish(false);
    let names = run.checkpoints();
    assert!(names.len() <= 4, "{names:?}");
    assert!(names.contains(&"step-000020".to_owned()) && names.contains(&format!("step-{:06}", outcome.best_step)));
}

#[test]
fn a_journal_that_lost_lines_is_an_error() {
    let run = Run::new(config(|_| {}));
    run.train_until(10, false);
    let metrics = fs::read_to_string(run.path("metrics.jsonl")).unwrap();
    fs::write(run.path("metrics.jsonl"), metrics.lines().take(7).map(|line| format!("{line}\n")).collect::<String>())
        .unwrap();
    let error = run.train(&mut Bag::new(), true, &mut silent).unwrap_err();
    assert!(
        error.to_string().ends_with("metrics.jsonl: holds 7 steps, expected the 10 before the checkpoint"),
        "{error}"
    );
}

#[test]
fn a_changed_config_or_other_pairs_do_not_resume() {
    let mut run = Run::new(config(|_| {}));
    run.train_until(10, false);
    run.config.clip_norm = 2.0;
    let error = run.train(&mut Bag::new(), true, &mut silent).unwrap_err();
    assert!(error.to_string().ends_with("changed since then: config (train.clip_norm: 1.0, now 2.0)"), "{error}");
    run.config.clip_norm = 1.0;
    run.pairs = PairSet::new(run.pairs.pairs()[1..].to_vec()).unwrap();
    let error = run.train(&mut Bag::new(), true, &mut silent).unwrap_err();
    assert!(error.to_string().ends_with("changed since then: pairs"), "{error}");
    let error = run.train(&mut Bag::new(), false, &mut silent).unwrap_err();
    assert!(error.to_string().contains("an earlier training stands here"), "{error}");
}

#[test]
fn another_build_does_not_go_on() {
    let mut run = Run::new(config(|_| {}));
    run.train_until(10, false);
    run.build = "1.0 (def+)".into();
    let error = run.train(&mut Bag::new(), true, &mut silent).unwrap_err();
    let text = error.to_string();
    assert!(text.ends_with("changed since then: code (code: 1.0 (abc), now 1.0 (def+))"), "{text}");
    assert_eq!(error.hint(), Some("go on with the build that began it, or start a new run"));
    run.config.clip_norm = 2.0;
    let text = run.train(&mut Bag::new(), true, &mut silent).unwrap_err().to_string();
    assert!(text.ends_with("code, config (code: 1.0 (abc), now 1.0 (def+); train.clip_norm: 1.0, now 2.0)"), "{text}");
    run.config.clip_norm = 1.0;
    run.build = "1.0 (abc)".into();
    assert_eq!(run.finish(true).0, Run::new(config(|_| {})).finish(false).0);
}

#[test]
fn weights_that_do_not_train_stay_as_they_are() {
    let run = Run::new(config(|c| c.keep = Keep::Last));
    let mut bag = Bag::new();
    run.train(&mut bag, false, &mut silent).unwrap();
    assert_eq!(bag.parameters.at(1), Bag::new().parameters.at(1));
    assert_ne!(bag.parameters.at(0), Bag::new().parameters.at(0));
}

/// Loss and gradients of a batch of texts, so many of them hard negatives of each pair.
fn accumulated(
    bag: &Bag,
    texts: &[Vec<u32>],
    negatives: usize,
    dropout: Option<Seed>,
    micro_tokens: usize,
    weight: f32,
) -> (f64, Gradients) {
    let pairs = texts.len() / (2 + negatives);
    let batch = prefetch::TrainBatch {
        pairs: (0..pairs as u32).collect(),
        tokens: TokenBatch::new(texts.iter().map(Vec::as_slice)),
        labels: crate::losses::Labels::distinct(pairs, negatives),
    };
    let loss = LossOnEmbeddings::new(Default::default(), &Default::default());
    let (mut gradients, stop) = (Gradients::zeros(&bag.parameters), Stop::default());
    let options = StepOptions { dropout, micro_tokens, micro_texts: 0, weight, stop: &stop };
    (accumulate(bag, Meeting::Vectors, &loss, &batch, 3, options, &mut gradients).unwrap(), gradients)
}

#[test]
fn cached_gradients_equal_those_of_the_whole_batch() {
    let bag = Bag::new();
    let texts: Vec<Vec<u32>> = (0..48u32).map(|i| (0..1 + i % 5).map(|k| (i * 7 + k * 31) % 300).collect()).collect();
    for dropout in [None, Some(Seed(9))] {
        let run = |micro_tokens, weight| accumulated(&bag, &texts, 1, dropout, micro_tokens, weight);
        let (whole, expected) = run(0, 1.0);
        for micro_tokens in [1, 7, 30] {
            let (found, gradients) = run(micro_tokens, 1.0);
            assert!((found - whole).abs() < 1e-6);
            let apart = gradients.at(0).iter().zip(expected.at(0)).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            assert!(apart < 1e-6, "{apart}");
        }
        let (_, half) = run(7, 0.5);
        assert!(half.at(0).iter().zip(expected.at(0)).all(|(a, b)| (2.0 * a - b).abs() < 1e-6));
    }
}

/// Dropout's second pass over a part must meet the masks of the first: the gradient of the loss
/// that was computed is then found by finite differences of that same loss.
#[test]
fn cached_gradients_replay_dropout() {
    let texts: Vec<Vec<u32>> = (0..12u32).map(|i| vec![i, i + 20]).collect();
    let mut bag = Bag::new();
    let run = |bag: &Bag| accumulated(bag, &texts, 0, Some(Seed(9)), 6, 1.0);
    let (_, gradients) = run(&bag);
    let step = 1e-4;
    for at in (0..12 * DIM).step_by(5) {
        let mut moved = |by: f32| {
            bag.parameters.iter_mut().next().unwrap().values.floats_mut()[at] += by;
            let loss = run(&bag).0;
            bag.parameters.iter_mut().next().unwrap().values.floats_mut()[at] -= by;
            loss
        };
        let slope = (moved(step) - moved(-step)) / (2.0 * f64::from(step));
        let found = f64::from(gradients.at(0)[at]);
        assert!((slope - found).abs() < 0.02 * (1.0 + found.abs()), "{slope} {found}");
    }
}

#[test]
fn adamw_equals_torch() {
    let golden: serde_json::Value = serde_json::from_str(include_str!("../../../tests/golden/losses.json")).unwrap();
    let numbers = |of: &serde_json::Value| serde_json::from_value::<[Vec<f32>; 2]>(of.clone()).unwrap();
    let [matrix, bias] = numbers(&golden["adamw"]["start"]);
    let mut parameters = Parameters::default();
    parameters.insert(Parameter {
        name: "dense.weight".into(),
        shape: vec![3, 4],
        values: matrix.into(),
        trainable: true,
    });
    parameters.insert(Parameter {
        name: "other".into(),
        shape: vec![2, 2],
        values: vec![1.0; 4].into(),
        trainable: false,
    });
    parameters.insert(Parameter {
        name: "token_weights".into(),
        shape: vec![12],
        values: bias.into(),
        trainable: true,
    });
    let mut config = AdamwConfig { weight_decay: 0.1, betas: [0.9, 0.99], eps: 1e-6, ..AdamwConfig::default() };
    config.rate_factors.insert("token_weights".into(), 3.0);
    let mut optimizer = AdamW::new(&OptimizerConfig::Adamw(config.clone()), &parameters).unwrap();
    let mut gradients = Gradients::zeros(&parameters);
    for step in golden["adamw"]["steps"].as_array().unwrap() {
        let ([of_matrix, of_bias], expected_norm) = (numbers(&step["gradients"]), step["norm"].as_f64().unwrap());
        gradients.at_mut(0).copy_from_slice(&of_matrix);
        gradients.at_mut(2).copy_from_slice(&of_bias);
        let norm = gradient_squares(&gradients).sqrt();
        assert!((norm / expected_norm - 1.0).abs() < 1e-5, "{norm} is not {expected_norm}");
        optimizer.update(&mut parameters, &mut gradients, 0.02, clip_factor(norm, 1.0));
        assert!(gradients.iter().flatten().all(|g| *g == 0.0));
        for (place, expected) in [0, 2].into_iter().zip(numbers(&step["weights"])) {
            for (found, expected) in parameters.at(place).values.floats().iter().zip(&expected) {
                assert!((found - expected).abs() < 2e-6, "{found} is not {expected}");
            }
        }
    }
    assert_eq!(parameters.at(1).values.floats(), [1.0; 4].as_slice());
    config.rate_factors.insert("tokenweights".into(), 3.0);
    let error = AdamW::new(&OptimizerConfig::Adamw(config), &parameters).unwrap_err();
    assert!(error.to_string().contains("no trained weight has `tokenweights` in its name"), "{error}");
}
