//! Tiny random cross-encoders of both families against sentence-transformers' `CrossEncoder.predict`; what is refused.

use std::{collections::BTreeMap, fs, path::Path};

use serde::Deserialize;
use serde_json::{Value, json};
use wb_core::{Reranker, Seed, progress::silent};
use wb_encoder::{
    Backbone, BiEncoder, CrossEncoder, DeviceConfig, ExportConfig, ExportFormat, Folder, Gradients, LoraConfig,
    OpenDevice, PairReadingConfig, ScoreActivation, Stop, TokenBatch, export,
    losses::{Labels, LossConfig, LossOnEmbeddings, PairLabels},
    similarities::SimilarityConfig,
    train::{
        Meeting,
        prefetch::TrainBatch,
        step::{StepOptions, accumulate},
    },
};

use crate::common::{both, copy, golden, golden_json, gradient_error, read_json, tiny};

#[derive(Deserialize)]
struct Golden {
    pairs: Vec<(String, String)>,
    ids: Vec<Vec<u32>>,
    types: Vec<Vec<u32>>,
    scores: Vec<f32>,
}

const NAMES: [&str; 6] = [
    "tiny-cross-encoder",
    "tiny-cross-encoder-roberta",
    "tiny-cross-encoder-modernbert",
    "tiny-cross-encoder-nomic",
    "tiny-cross-encoder-qwen3",
    "tiny-cross-encoder-gemma",
];

fn load(name: &str) -> (CrossEncoder, Golden) {
    (CrossEncoder::read(&golden().join(name)).unwrap(), golden_json(&format!("{name}.json")))
}

fn pairs(golden: &Golden) -> Vec<(&str, &str)> {
    golden.pairs.iter().map(|(query, document)| (query.as_str(), document.as_str())).collect()
}

#[test]
fn tokens_and_their_types_are_those_of_transformers() {
    for name in NAMES {
        let (encoder, golden) = load(name);
        assert_eq!((encoder.max_tokens(), encoder.name().as_str()), (36, name));
        let found = encoder.tokenize(&pairs(&golden)).unwrap();
        for (at, pair) in golden.pairs.iter().enumerate() {
            assert_eq!((&found[at].ids, &found[at].types), (&golden.ids[at], &golden.types[at]), "{name}: {pair:?}");
        }
        assert!(golden.ids.iter().filter(|ids| ids.len() == 36).count() >= 4, "{name}");
    }
}

#[test]
fn scores_are_those_of_sentence_transformers() {
    for name in NAMES {
        let (encoder, golden) = load(name);
        let found = encoder.scores(&pairs(&golden), &mut silent).unwrap();
        for ((found, expected), pair) in found.iter().zip(&golden.scores).zip(&golden.pairs) {
            assert!((found - expected).abs() <= 1e-5, "{name}: {found} {expected} {pair:?}");
        }
        assert_eq!(found.len(), golden.scores.len());
        assert!(encoder.scores(&[], &mut silent).unwrap().is_empty());
    }
}

/// Kept scores and bounded memory rest on this.
#[test]
fn a_score_depends_on_its_two_texts_alone_and_not_on_threads() {
    for name in NAMES {
        let (encoder, golden) = load(name);
        let pairs = pairs(&golden);
        // Many of them, so that they are cut into many groups.
        let many: Vec<(&str, &str)> = (0..700).map(|at| pairs[(at * at + at / 7) % pairs.len()]).collect();
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| encoder.scores(&many, &mut silent).unwrap())
        };
        let together = on(1);
        assert_eq!(on(3), together);
        let alone: Vec<f32> =
            pairs.iter().map(|pair| encoder.scores(std::slice::from_ref(pair), &mut silent).unwrap()[0]).collect();
        for (at, score) in together.iter().enumerate() {
            let expected = alone[(at * at + at / 7) % pairs.len()];
            assert_eq!(score.to_bits(), expected.to_bits(), "{name} {at}: {score} {expected}");
        }
    }
}

#[test]
fn fewer_tokens_are_another_model() {
    let (encoder, golden) = load(NAMES[0]);
    let (before, pairs) = (encoder.fingerprint(), pairs(&golden));
    assert_eq!(before, load(NAMES[0]).0.fingerprint());
    assert_ne!(before, load(NAMES[1]).0.fingerprint());
    let shorter = encoder.with_max_tokens(20, "key").unwrap();
    assert_ne!(shorter.fingerprint(), before);
    assert!(shorter.tokenize(&pairs).unwrap().iter().all(|tokens| tokens.ids.len() <= 20));
    let refused = shorter.with_max_tokens(41, "key").err().unwrap().to_string();
    assert_eq!(
        refused,
        "key: got 41, expected more than the 3 special tokens and at most tiny-cross-encoder's 40 positions"
    );
    let progress = &mut |progress: wb_core::Progress| assert!(progress.done <= progress.total);
    load(NAMES[1]).0.score(&pairs, progress).unwrap();
}

fn edit(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value: Value = read_json(path);
    change(&mut value);
    fs::write(path, value.to_string()).unwrap();
}

fn refused(folder: &Path) -> String {
    let error = CrossEncoder::read(folder).err().unwrap();
    let (text, place) = (error.to_string(), folder.display().to_string());
    format!("{} | {}", text.replace(&place, "F"), error.hint().unwrap_or_default())
}

#[test]
fn what_it_does_not_know_is_refused_with_what_it_does() {
    let check = |name: &str, file: &str, change: &dyn Fn(&mut Value), expected: &str| {
        let folder = copy(name);
        edit(&folder.path().join(file), change);
        let found = refused(folder.path());
        assert!(found.contains(expected), "{found}\n{expected}");
    };
    let (bert, roberta) = (NAMES[0], NAMES[1]);
    let config = "config.json";
    check(
        bert,
        config,
        &|value| value["architectures"] = json!(["BertModel"]),
        "F/config.json: has architectures `BertModel`, expected `BertForSequenceClassification` by its model_type",
    );
    check(
        bert,
        config,
        &|value| value["architectures"] = json!(null),
        "has architectures nothing, expected `BertForSequenceClassification`",
    );
    check(
        bert,
        config,
        &|value| value["id2label"] = json!({"0": "no", "1": "yes"}),
        "F/config.json: has 2 labels, expected 1 | a model that sorts texts into classes gives no score",
    );
    let without = |value: &mut Value| {
        value.as_object_mut().unwrap().remove("id2label");
    };
    check(bert, config, &without, "has 2 labels, as no `id2label` means, expected 1");
    check(
        roberta,
        config,
        &|value| value["architectures"] = json!(["BertForSequenceClassification"]),
        "has architectures `BertForSequenceClassification`, expected one of RobertaForSequenceClassification, XLMRoberta",
    );
    check(bert, config, &|value| value["hidden_size"] = json!(48), "has shape [387, 24], expected [387, 48]");
    check(
        roberta,
        config,
        &|value| value["sentence_transformers"]["activation_fn"] = json!("torch.nn.modules.activation.Tanh"),
        "F/config.json: has activation_fn `torch.nn.modules.activation.Tanh`, expected torch's Sigmoid or Identity",
    );
    let saved = "config_sentence_transformers.json";
    check(
        bert,
        saved,
        &|value| value["activation_fn"] = json!("mine.Squash"),
        "F/config_sentence_transformers.json: has activation_fn `mine.Squash`",
    );
    let prompted = |value: &mut Value| {
        value["prompts"] = json!({"rank": "query: "});
        value["default_prompt_name"] = json!("rank");
    };
    check(bert, saved, &prompted, "puts the prompt \"query: \" before texts, expected none");
    check(
        bert,
        "modules.json",
        &|value| value[0]["type"] = json!("sentence_transformers.sparse_encoder.modules.Router"),
        "F/modules.json: has Router, expected one Transformer in the folder itself",
    );
    check(
        bert,
        "tokenizer_config.json",
        &|value| value["truncation_side"] = json!("left"),
        "F/tokenizer_config.json: has truncation_side `left`, expected right",
    );
    check(bert, config, &|value| value["type_vocab_size"] = json!(1), "token_type_embeddings.weight");
    assert!(refused(&golden().join("tiny-bert")).contains("expected one Transformer"));
    let absent = refused(Path::new("absent"));
    assert!(absent.starts_with("F: is no folder | a cross-encoder is a folder with"), "{absent}");
}

#[test]
fn a_folder_s_activation_and_lengths_are_taken() {
    let (encoder, golden) = load(NAMES[0]);
    let pairs = pairs(&golden);
    let logistic = encoder.scores(&pairs, &mut silent).unwrap();
    let folder = copy(NAMES[0]);
    edit(&folder.path().join("config_sentence_transformers.json"), |value| {
        value["activation_fn"] = json!("torch.nn.modules.linear.Identity");
    });
    edit(&folder.path().join("tokenizer_config.json"), |value| {
        value["model_max_length"] = json!(512);
    });
    let plain = CrossEncoder::read(folder.path()).unwrap();
    assert_eq!((plain.max_tokens(), plain.notes().len()), (40, 1));
    let plain = plain.with_max_tokens(36, "key").unwrap().scores(&pairs, &mut silent).unwrap();
    for (x, score) in plain.iter().zip(&logistic) {
        assert!((1.0 / (1.0 + (-x).exp()) - score).abs() < 1e-6, "{x} {score}");
    }
    // Without any word of it, the logistic function.
    fs::remove_file(folder.path().join("config_sentence_transformers.json")).unwrap();
    let silent_on_it = CrossEncoder::read(folder.path()).unwrap().with_max_tokens(36, "key").unwrap();
    assert_eq!(silent_on_it.scores(&pairs, &mut silent).unwrap(), logistic);
}

#[derive(Deserialize)]
struct Training {
    pairs: Vec<(String, String)>,
    lists: Vec<usize>,
    losses: BTreeMap<String, TrainingLoss>,
}

#[derive(Deserialize)]
struct TrainingLoss {
    labels: Vec<f32>,
    /// Documents of each anchor that the loss is given, its first ones.
    lists: Vec<usize>,
    loss: f64,
    gradients: BTreeMap<String, [f64; 2]>,
}

/// The anchors with the first documents of each, as training has them; a label for each document is its score.
fn batch(folder: &Folder, golden: &Training, expected: &TrainingLoss) -> TrainBatch {
    let tokens = |text: &str| folder.tokenizer.encode("", text, usize::MAX).unwrap();
    let (mut anchors, mut numbers, mut scores) = (Vec::new(), Vec::new(), Vec::new());
    let (mut start, mut label) = (0, 0);
    for (all, used) in golden.lists.iter().zip(&expected.lists) {
        anchors.push(tokens(&golden.pairs[start].0));
        numbers.push((start as u32..(start + used) as u32).collect::<Vec<u32>>());
        scores.push(expected.labels[label..label + used].to_vec());
        (start, label) = (start + all, label + used);
    }
    let of = |at: usize| PairLabels { anchor: 1000 + at as u32, documents: &numbers[at], scores: &scores[at] };
    let labels = Labels::by_column(&(0..anchors.len()).map(of).collect::<Vec<_>>());
    let documents = labels.documents().iter().map(|at| tokens(&golden.pairs[*at as usize].1));
    let texts: Vec<Vec<u32>> = anchors.iter().cloned().chain(documents).collect();
    let tokens = TokenBatch::new(texts.iter().map(Vec::as_slice));
    TrainBatch { pairs: (0..anchors.len() as u32).collect(), tokens, labels }
}

fn loss(json: &str) -> LossOnEmbeddings {
    LossOnEmbeddings::new(SimilarityConfig::Cosine, &serde_json::from_str::<LossConfig>(json).unwrap())
}

fn options(stop: &Stop, micro_texts: usize) -> StepOptions<'_> {
    StepOptions { dropout: None, micro_tokens: 0, micro_texts, weight: 1.0, stop }
}

fn step(backbone: &dyn Backbone, folder: &Folder, json: &str, batch: &TrainBatch, parts: usize) -> (f64, Gradients) {
    let stop = Stop::default();
    let mut gradients = Gradients::zeros(backbone.parameters());
    let options = options(&stop, parts);
    let found = accumulate(backbone, Meeting::of(folder), &loss(json), batch, 0, options, &mut gradients).unwrap();
    (found, gradients)
}

/// On burn and on the processor, at once and in parts.
#[test]
fn losses_and_gradients_are_those_of_sentence_transformers() {
    for name in NAMES {
        let folder = Folder::read_cross_encoder(&golden().join(name)).unwrap();
        let golden: Training = golden_json(&format!("{name}-training.json"));
        assert_eq!(golden.losses.len(), 4);
        for (device, backbone) in both(&folder.model) {
            for (kind, expected) in &golden.losses {
                let json = match kind.as_str() {
                    "binary_cross_entropy" => r#"{"binary_cross_entropy": {"relevance": "scores"}}"#,
                    "list_net" => r#"{"list_net": {"relevance": "scores"}}"#,
                    "list_net_one_positive" => r#"{"list_net": {}}"#,
                    _ => r#"{"margin_mse": {}}"#,
                };
                let batch = batch(&folder, &golden, expected);
                let (loss, found) = step(backbone.as_ref(), &folder, json, &batch, 0);
                let off = (loss - expected.loss).abs() / expected.loss;
                assert!(off <= 1e-4, "{name} {device} {kind}: {loss} {}", expected.loss);
                let parameters = backbone.parameters();
                assert_eq!(parameters.len(), expected.gradients.len(), "{name}");
                let mut worst = 0f64;
                for (one, gradient) in parameters.iter().zip(found.iter()) {
                    let weight = one.name.strip_prefix("score_head.").unwrap_or(&one.name);
                    // What is added to all numbers of a list changes nothing: rounding is all that both have.
                    if let (true, [g]) = (kind != "binary_cross_entropy", gradient.as_slice()) {
                        let theirs = expected.gradients[weight][0];
                        assert!(f64::from(g.abs()).max(theirs.abs()) < 3e-6, "{name} {kind} {weight}: {g} {theirs}");
                        continue;
                    }
                    let error = gradient_error(weight, gradient, expected.gradients[weight]);
                    assert!(error <= 1e-4, "{name} {device} {kind} {weight}: {error}");
                    worst = worst.max(error);
                }
                let (again, in_parts) = step(backbone.as_ref(), &folder, json, &batch, 5);
                assert!((again - loss).abs() <= 1e-6 * loss, "{name} {kind}: {again} {loss}");
                let apart = in_parts.iter().flatten().zip(found.iter().flatten());
                let apart = apart.map(|(a, b)| (a - b).abs()).fold(0f32, f32::max);
                assert!(apart < 1e-5, "{name} {device} {kind}: {apart}");
                eprintln!("{name} {device} {kind}: loss {loss} for {}, gradients within {worst:.1e}", expected.loss);
            }
        }
    }
}

/// Those of another device are those of the processor.
#[test]
fn scores_are_the_same_on_burn() {
    for name in NAMES {
        let folder = Folder::read_cross_encoder(&golden().join(name)).unwrap();
        let (encoder, golden) = load(name);
        let pairs = encoder.tokenize(&pairs(&golden)).unwrap();
        let reading = folder.pair_reading.as_ref().unwrap();
        let [(_, burn), (_, cpu)] = both(&folder.model);
        let texts: Vec<Vec<u32>> = pairs.iter().map(|pair| pair.ids.clone()).collect();
        let types: Vec<u32> = pairs.iter().flat_map(|pair| pair.types.clone()).collect();
        assert_eq!(types.contains(&1), name == NAMES[0], "{name}");
        let batch = reading.batch(&pairs);
        assert_eq!(batch.len(), texts.len());
        let (a, b) = (burn.embed(&batch).unwrap(), cpu.embed(&batch).unwrap());
        let apart = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0f32, f32::max);
        assert!(apart < 2e-5, "{name}: {apart}");
    }
}

fn processor() -> OpenDevice {
    DeviceConfig::Cpu.open().unwrap()
}

/// An encoder becomes a cross-encoder whose new layers train beside adapters; its folder, read again, and what is exported
/// of it give the same scores.
#[test]
fn an_encoder_begins_a_cross_encoder_that_is_kept_and_exported() {
    let texts = [("sort a list", "def sort(xs): return sorted(xs)"), ("read a file", "open a file and read it")];
    for name in ["tiny-bert", "tiny-roberta", "tiny-modernbert", "tiny-nomic", "tiny-qwen3", "tiny-gemma"] {
        let mut folder = tiny(name);
        let config = PairReadingConfig { max_tokens: Some(30) };
        folder.add_pair_reading(&config, ScoreActivation::Identity, Seed(3), "key").unwrap();
        let refused = BiEncoder::open_frozen(folder.clone(), &processor()).err().unwrap().to_string();
        assert!(refused.contains("is a cross-encoder, which scores two texts"), "{refused}");
        folder
            .attach(
                &LoraConfig {
                    targets: serde_json::from_str("\"all-linear\"").unwrap(),
                    rank: 4,
                    ..LoraConfig::default()
                },
                Seed(4),
            )
            .unwrap();
        let trained: Vec<&str> =
            folder.model.parameters.iter().filter(|one| one.trainable).map(|one| one.name.as_str()).collect();
        assert!(trained.iter().any(|name| name.starts_with("score_head.")), "{trained:?}");
        assert!(trained.iter().all(|name| name.starts_with("score_head.") || name.contains("lora_")), "{trained:?}");
        // Adapters that do something.
        for one in folder.model.parameters.iter_mut().filter(|one| one.name.contains("lora_B")) {
            one.values.floats_mut().iter_mut().enumerate().for_each(|(at, x)| *x = (at as f32 * 0.7).sin() * 0.05);
        }
        let scores =
            |folder: Folder| CrossEncoder::open(folder, &processor()).unwrap().scores(&texts, &mut silent).unwrap();
        let expected = scores(folder.clone());
        assert!(expected[0] != expected[1] && expected[0] != 0.0, "{expected:?}");
        let place = tempfile::tempdir().unwrap();
        folder.write(&place.path().join("own")).unwrap();
        let own = Folder::read(&place.path().join("own")).unwrap();
        assert_eq!(own.model.parameters, folder.model.parameters, "{name}");
        assert_eq!(scores(own), expected, "{name}");
        for format in [ExportFormat::St, ExportFormat::St6, ExportFormat::Safetensors] {
            let (to, config) = (place.path().join(format.to_string()), ExportConfig { format, ..Default::default() });
            let exported = export(&folder, &config, &|_| String::new(), &to).unwrap();
            assert!(exported.parity.difference < 1e-5, "{name}: {:?}", exported.parity);
            for (found, expected) in scores(Folder::read(&to).unwrap()).iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-5, "{name} {format}: {found} {expected}");
            }
        }
        let config = ExportConfig { format: ExportFormat::Peft, base: Some("x/y".into()), ..Default::default() };
        let refused = export(&folder, &config, &|_| String::new(), &place.path().join("peft")).unwrap_err();
        assert!(refused.to_string().contains("is a cross-encoder"), "{refused}");
    }
    let config = PairReadingConfig::default();
    let refused = tiny("tiny-t5").add_pair_reading(&config, ScoreActivation::Sigmoid, Seed(0), "encoder.x");
    let refused = refused.unwrap_err().to_string();
    assert!(refused.starts_with("encoder.x: tiny-t5 is t5"), "{refused}");
}

/// A cross-encoder that is yet to be fetched takes the memory of the real one.
#[test]
fn one_of_16_bits_is_reckoned_as_such_before_its_weights_are_there() {
    let folder = copy(NAMES[4]);
    fs::remove_file(folder.path().join("model.safetensors")).unwrap();
    let bytes_of_a_number = |dtype: &str| {
        edit(&folder.path().join("config.json"), |value| value["dtype"] = json!(dtype));
        let sized = Folder::sized_like(folder.path(), Seed(0)).unwrap();
        let matrices = sized.model.parameters.iter().filter(|one| one.shape.len() > 1);
        let each: Vec<usize> = matrices.map(|one| one.values.memory() / one.values.len()).collect();
        assert!(each.len() > 20 && each.iter().all(|bytes| *bytes == each[0]), "{each:?}");
        each[0]
    };
    assert_eq!(["float32", "bfloat16", "float16"].map(bytes_of_a_number), [4, 2, 2]);
}
