//! Training with one vector a token, from end to end, on a tiny BERT from scratch.

use std::sync::atomic::AtomicBool;

use wb_core::{Encoder as _, Interaction, progress::silent};

use super::*;
use crate::{
    folder::Folder as Encoder, late_interaction::LateInteractionConfig, lora::LoraConfig, native::open,
    similarities::SimilarityConfig,
};

const NOUNS: [&str; 12] =
    ["list", "file", "number", "name", "add", "sort", "read", "line", "word", "age", "singer", "function"];

/// An anchor asks for two words, in any order; its positive has them among others.
fn pairs() -> PairSet {
    let pair = |at: usize| {
        let (a, b, c) = (NOUNS[at % 12], NOUNS[(at / 12 + at + 1) % 12], NOUNS[(at * 5 + 3) % 12]);
        Pair {
            id: format!("p{at}"),
            anchor: format!("{b} {a} {at}"),
            positive: format!("def {a} ( {b} , {at} ) : return {c}"),
            negatives: vec![format!("def {c} ( {a} , {} ) : return {b}", at + 1).into()],
            scores: vec![2.0, 0.5],
            ..Pair::default()
        }
    };
    PairSet::new((0..48).map(pair).collect()).unwrap()
}

struct Course {
    place: TempDir,
    config: TrainConfig,
    lora: bool,
}

impl Course {
    fn new(similarity: &str, loss: &str) -> Self {
        let mut config = TrainConfig {
            similarity: serde_json::from_str(similarity).unwrap(),
            loss: serde_json::from_str(loss).unwrap(),
            keep: Keep::Last,
            max_steps: 60,
            epochs: 100,
            ..TrainConfig::default()
        };
        config.batch.pairs = 8;
        config.validate = ValidateConfig { every: Every::Steps(10), pairs: 48 };
        let OptimizerConfig::Adamw(adamw) = &mut config.optimizer;
        adamw.learning_rate = 4e-3;
        Self { place: tempfile::tempdir().unwrap(), config, lora: false }
    }

    fn encoder(&self) -> Encoder {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/tiny-bert");
        let mut folder = Encoder::read(&golden).unwrap();
        let late = LateInteractionConfig { dim: 16, expansion: 8, skip_punctuation: true, ..Default::default() };
        folder.add_late_interaction(&late, Seed(2), "late").unwrap();
        if self.lora {
            let lora: LoraConfig =
                serde_json::from_str(r#"{"rank": 2, "targets": ["query"], "dropout": 0.1}"#).unwrap();
            folder.attach(&lora, Seed(4)).unwrap();
        } else {
            folder.model.parameters.iter_mut().for_each(|parameter| parameter.trainable = true);
        }
        folder
    }

    /// Trains; `stop_after` ends it early. Gives the outcome, all weights, and the journals.
    fn train(&self, resume: bool, stop_after: u64) -> (Result<TrainOutcome>, Parameters, [String; 2]) {
        let folder = self.encoder();
        let mut backbone = open(folder.model.clone()).unwrap();
        let (pairs, stop) = (pairs(), Arc::new(AtomicBool::new(false)));
        let path = |name: &str| self.place.path().join(name);
        let late = folder.late_interaction.as_ref().unwrap();
        let tokenize = |wanted: TokenizeRequest<'_>| late.tokenize(&folder.tokenizer, "", wanted.text, wanted.side, 24);
        let watched = Stop::when(&stop);
        let job = TrainJob {
            meeting: Meeting::Tokens(late),
            special_tokens: [1, 1],
            resume,
            ..job(&pairs, &tokenize, &self.config, self.place.path(), &watched)
        };
        let mut seen = |progress: Progress| stop.store(progress.done >= stop_after, Ordering::Relaxed);
        let outcome = train(backbone.as_mut(), &job, &mut seen);
        let read = |name: &str| fs::read_to_string(path(name)).unwrap_or_default();
        (outcome, backbone.parameters().clone(), [read("metrics.jsonl"), read("validation.jsonl")])
    }
}

fn mrrs(journal: &str) -> Vec<f64> {
    journal.lines().map(|line| serde_json::from_str::<ValidationRecord>(line).unwrap().mrr).collect()
}

/// The matrix trains whole in any case, the model's own weights where there are no adapters.
#[test]
fn the_matrix_trains_beside_adapters_and_without() {
    for lora in [false, true] {
        let mut course = Course::new(r#"{"xtr": {"top_k": 24}}"#, r#"{"distill_kl": {}}"#);
        (course.lora, course.config.max_steps) = (lora, 3);
        let before = course.encoder().model.parameters;
        let (outcome, weights, _) = course.train(false, u64::MAX);
        outcome.unwrap();
        let moved = |name: &str| before.get(name) != weights.get(name);
        assert!(moved(crate::late_interaction::WEIGHT), "the matrix did not train");
        assert_eq!(moved("encoder.layer.0.attention.self.query.weight"), !lora);
        assert_eq!(moved("encoder.layer.0.attention.self.query.lora_B.weight"), lora);
    }
}

/// Texts of two tokens that tell nothing about each other before training, on a bag of token vectors.
#[test]
fn both_similarities_learn_and_so_does_distillation() {
    let architecture = crate::models::Architecture::StaticEmbedding(crate::models::StaticConfig {
        vocab_size: 400,
        dim: 16,
        weighted: false,
        positions: 0,
    });
    let late = Course::new(r#""maxsim""#, r#"{"mnrl": {}}"#).encoder().late_interaction.unwrap();
    let tokenize = |wanted: TokenizeRequest<'_>| -> Result<Vec<u32>> {
        let number: u32 = wanted.text[1..].parse().unwrap();
        Ok(if wanted.text.starts_with('a') {
            vec![number, 100 + number % 8]
        } else {
            vec![150 + number, 250 + number % 5, 260 + number % 7]
        })
    };
    let pair = |id: usize| Pair {
        negatives: vec![format!("p{}", (id + 7) % 48).into()],
        scores: vec![4.0, 0.0],
        ..super::pair(id, format!("a{id}"), format!("p{id}"))
    };
    let pairs = PairSet::new((0..48).map(pair).collect()).unwrap();
    for (similarity, loss) in [
        (r#""maxsim""#, r#"{"mnrl": {}}"#),
        (r#"{"xtr": {"top_k": 16}}"#, r#"{"mnrl": {"scale": 10}}"#),
        (r#""maxsim""#, r#"{"distill_kl": {}}"#),
    ] {
        let mut course = Course::new(similarity, loss);
        let OptimizerConfig::Adamw(adamw) = &mut course.config.optimizer;
        adamw.learning_rate = 0.02;
        let mut parameters = architecture.fresh(Seed(6));
        parameters.insert(late.fresh(16, Seed(2)));
        let model = crate::models::Model {
            architecture: architecture.clone(),
            parameters,
            pooling: crate::pooling::Pooling::Mean,
            adapter: None,
        };
        let mut backbone = open(model).unwrap();
        let (path, stop) = (|name: &str| course.place.path().join(name), Stop::default());
        let job = TrainJob {
            meeting: Meeting::Tokens(&late),
            ..job(&pairs, &tokenize, &course.config, course.place.path(), &stop)
        };
        train(backbone.as_mut(), &job, &mut silent).unwrap();
        let metrics = fs::read_to_string(path("metrics.jsonl")).unwrap();
        let losses: Vec<f64> =
            metrics.lines().map(|line| serde_json::from_str::<StepRecord>(line).unwrap().loss).collect();
        let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
        assert!(mean(&losses[50..]) < 0.7 * mean(&losses[..5]), "{similarity} {loss}: {losses:?}");
        let mrrs = mrrs(&fs::read_to_string(path("validation.jsonl")).unwrap());
        assert!(mrrs[6] > mrrs[0] + 0.2, "{similarity} {loss}: {mrrs:?}");
    }
}

#[test]
fn stopped_and_resumed_equals_not_stopped_to_the_last_bit() {
    for (similarity, micro_texts) in [(r#"{"xtr": {"top_k": 24}}"#, 0), (r#""maxsim""#, 5)] {
        let course = |_| {
            let mut course = Course::new(similarity, r#"{"mnrl": {}}"#);
            (course.config.batch.micro_texts, course.config.max_steps, course.config.ema) = (micro_texts, 24, 0.9);
            course
        };
        let (_, expected, journals) = course(()).train(false, u64::MAX);
        let halves = course(());
        let (outcome, weights, _) = halves.train(true, 13);
        assert!(outcome.unwrap().stopped && weights != expected);
        let (outcome, weights, resumed) = halves.train(true, u64::MAX);
        assert!(!outcome.unwrap().stopped);
        assert!(weights == expected && resumed == journals);
    }
}

#[test]
fn the_encoder_and_the_similarity_have_to_agree() {
    let error = Course::new(r#""cosine""#, r#"{"mnrl": {}}"#).train(false, u64::MAX).0.unwrap_err();
    assert_eq!(error.to_string(), "train.similarity: compares one vector a text, and the encoder gives one a token");
    let mut run = Run::new(config(|_| {}));
    run.config.similarity = SimilarityConfig::Maxsim;
    let error = run.train(&mut Bag::new(), false, &mut silent).unwrap_err();
    assert_eq!(
        error.to_string(),
        "train.similarity: compares texts token by token, and the encoder gives one vector a text"
    );
}

/// The encoder that mines hard negatives while training gives the vectors that the encoder itself would give.
#[test]
fn the_encoder_of_the_moment_equals_the_encoder() {
    let folder = Course::new(r#""maxsim""#, r#"{"mnrl": {}}"#).encoder();
    let late = folder.late_interaction.clone().unwrap();
    let backbone = open(folder.model.clone()).unwrap();
    let tokenize = |wanted: TokenizeRequest<'_>| late.tokenize(&folder.tokenizer, "", wanted.text, wanted.side, 24);
    let prompts = PromptsConfig::default();
    let stop = AtomicBool::new(false);
    let moment = Moment {
        backbone: backbone.as_ref(),
        late_interaction: Some(&late),
        tokenize: &tokenize,
        prompts: &prompts,
        stop: &stop,
    };
    let mut plain = folder.clone();
    plain.prompts = crate::folder::Prompts::default();
    plain.max_tokens = crate::folder::MaxTokens::both(24);
    let encoder = crate::bi_encoder::BiEncoder::open(plain, &crate::device::DeviceConfig::Cpu.open().unwrap()).unwrap();
    assert_eq!((moment.interaction(), encoder.interaction()), (Interaction::MaxSim, Interaction::MaxSim));
    for side in [Side::Query, Side::Document] {
        let found = moment.encode(&NOUNS, side, &mut silent).unwrap();
        assert_eq!(found, encoder.encode(&NOUNS, side, &mut silent).unwrap());
    }
    stop.store(true, Ordering::Relaxed);
    assert!(moment.encode(&NOUNS, Side::Query, &mut silent).is_err());
}
