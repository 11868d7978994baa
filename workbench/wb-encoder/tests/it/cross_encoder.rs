//! Tiny random cross-encoders of both families against sentence-transformers' `CrossEncoder.predict`; what is refused.

use std::{collections::BTreeMap, fs, path::Path};

use serde::Deserialize;
use serde_json::{Value, json};
use wb_core::{Reranker, progress::silent};
use wb_encoder::{
    CrossEncoder, TrainedCrossEncoder,
    cross_encoder::losses::{binary_cross_entropy, list_net},
};

use crate::common::{copy, golden, golden_json, gradient_error, read_json};

#[derive(Deserialize)]
struct Golden {
    pairs: Vec<(String, String)>,
    ids: Vec<Vec<u32>>,
    types: Vec<Vec<u32>>,
    scores: Vec<f32>,
}

const NAMES: [&str; 2] = ["tiny-cross-encoder", "tiny-cross-encoder-roberta"];

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
        assert!(encoder.notes().is_empty(), "{:?}", encoder.notes());
        let found = encoder.tokenize(&pairs(&golden)).unwrap();
        for (at, pair) in golden.pairs.iter().enumerate() {
            assert_eq!((&found[at].ids, &found[at].types), (&golden.ids[at], &golden.types[at]), "{name}: {pair:?}");
        }
        assert_eq!(golden.ids.iter().filter(|ids| ids.len() == 36).count(), 4 + usize::from(name != NAMES[0]) * 2);
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
        "F/config.json: has architectures `BertModel`, expected one of BertForSequenceClassification, Roberta",
    );
    check(bert, config, &|value| value["architectures"] = json!(null), "has architectures nothing, expected one of");
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
        "`pooler.dense.weight`: is missing",
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
    loss: f64,
    gradients: BTreeMap<String, [f64; 2]>,
}

#[test]
fn losses_and_gradients_are_those_of_sentence_transformers() {
    for name in NAMES {
        let trained = TrainedCrossEncoder::read(&golden().join(name)).unwrap();
        let golden: Training = golden_json(&format!("{name}-training.json"));
        let pairs: Vec<(&str, &str)> = golden.pairs.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        let tokens = load(name).0.tokenize(&pairs).unwrap();
        assert_eq!(golden.losses.len(), 3);
        for (kind, expected) in &golden.losses {
            let (numbers, tape) = trained.numbers(&tokens, None).unwrap();
            let (loss, at_numbers) = match kind.as_str() {
                "binary_cross_entropy" => binary_cross_entropy(&numbers, &expected.labels),
                _ => list_net(&numbers, &expected.labels, &golden.lists),
            };
            assert!((loss - expected.loss).abs() <= 1e-4 * expected.loss, "{name} {kind}: {loss} {}", expected.loss);
            let found = trained.backward(tape, &at_numbers).unwrap();
            let names = trained.backbone().parameters().iter().map(|one| one.name.as_str());
            let of_backbone = names.zip(found.backbone.iter().map(Vec::as_slice));
            let of_head = found.head.iter().map(|(name, one)| (name.as_str(), one.as_slice()));
            let all: Vec<(&str, &[f32])> = of_backbone.chain(of_head).collect();
            assert_eq!(all.len(), expected.gradients.len(), "{name}");
            let mut worst = 0f64;
            for (weight, gradient) in all {
                // What is added to all numbers of a list changes nothing: rounding is all that both have.
                if let (true, [one]) = (kind.starts_with("list_net"), gradient) {
                    let theirs = expected.gradients[weight][0];
                    assert!(f64::from(one.abs()).max(theirs.abs()) < 1e-6, "{name} {kind} {weight}: {one} {theirs}");
                    continue;
                }
                let error = gradient_error(weight, gradient, expected.gradients[weight]);
                assert!(error <= 1e-4, "{name} {kind} {weight}: {error}");
                worst = worst.max(error);
            }
            eprintln!("{name} {kind}: loss {loss} for {}, gradients within {worst:.1e}", expected.loss);
        }
    }
}
