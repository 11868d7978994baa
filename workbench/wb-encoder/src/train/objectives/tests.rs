//! Objectives on a tiny BERT and on made-up code whose "syntax" and "types" a few lines can find.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{Arc, atomic::AtomicBool},
};

use ndarray::Array2;
use serde::Deserialize;
use wb_core::{Pair, PairSet, Progress, records::journal::StepRecord};

use super::*;
use crate::{
    folder::Folder,
    native::open,
    stop::Stop,
    tokenizer::Tokenizer,
    train::{
        TrainJob, TrainOutcome,
        config::{Every, Keep, TrainConfig, ValidateConfig},
        curriculum::stages,
        optimizer::OptimizerConfig,
        step::StepOptions,
        tests::job,
        train,
    },
};

fn folder(name: &str) -> Folder {
    Folder::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)).unwrap()
}

/// `name : Type = number ;` and such: numbers are kind 0, words 1, and what is in brackets is inside a node of kind 2.
fn nodes(text: &str, language: &str) -> Vec<(Range<usize>, Option<u16>)> {
    if language != "made-up" {
        return Vec::new();
    }
    let mut found = vec![(0..text.len(), None)];
    if let (Some(begin), Some(end)) = (text.find('('), text.find(')')) {
        found.push((begin..end + 1, Some(2)));
    }
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let begin = word.as_ptr() as usize - text.as_ptr() as usize;
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
        found.push((begin..begin + word.len(), Some(if is_number { 0 } else { 1 })));
    }
    found.sort_by_key(|(bytes, _)| (bytes.start, std::cmp::Reverse(bytes.end)));
    found
}

fn types(text: &str, language: &str) -> Vec<DeclaredType> {
    if language != "made-up" {
        return Vec::new();
    }
    let declared = |(at, _): (usize, &str)| {
        let name = text[..at].trim_end().rsplit(' ').next()?;
        let written = text[at + 1..].trim_start().split(' ').next()?;
        let place = |word: &str| {
            let begin = word.as_ptr() as usize - text.as_ptr() as usize;
            begin..begin + word.len()
        };
        Some(DeclaredType { name: place(name), annotation: place(written), type_name: written.to_owned() })
    };
    text.match_indices(':').filter_map(declared).collect()
}

const KINDS: [&str; 3] = ["number", "word", "brackets"];

/// Calls `work` with what objectives know of made-up code.
fn with_code<R>(tokenizer: &Tokenizer, work: impl FnOnce(CodeTokens<'_>) -> R) -> R {
    let tokenize = |wanted: TokenizeRequest<'_>| tokenizer.encode_with_places("", wanted.text, 24);
    let kinds = KINDS.map(String::from);
    work(CodeTokens {
        tokenize: &tokenize,
        mask_token: tokenizer.mask_token(),
        node_kinds: &kinds,
        nodes: &nodes,
        types: &types,
    })
}

/// Names of one letter are lists, longer ones numbers.
fn pairs() -> PairSet {
    let code = |i: usize| {
        let name = ["a", "b", "sort", "index", "x", "first"][i % 6];
        let of_type = if name.len() == 1 { "list" } else { "number" };
        format!("def {name} : {of_type} = ( {} + {name} ) return {}", i * 7 % 50, i % 10)
    };
    let pair = |i: usize| Pair {
        id: i.to_string(),
        language: "made-up".into(),
        anchor: format!("read the {} of file {i}", ["name", "list", "items", "lines"][i % 4]),
        positive: code(i),
        ..Pair::default()
    };
    PairSet::new((0..48).map(pair).collect()).unwrap()
}

/// Calls `work` with the pairs as training has them.
fn with_table<R>(pairs: &[Pair], work: impl FnOnce(&PairTable<'_>, &Views) -> R) -> R {
    let table = PairTable::in_memory(pairs, 0);
    let config = TrainConfig::default();
    let views = Views::new(&stages(&config, table.datasets()).unwrap(), table.datasets(), &config.prompts);
    work(&table, &views)
}

fn config(json: &str) -> ObjectivesConfig {
    let config: ObjectivesConfig = serde_json::from_str(json).unwrap();
    config.validate("objectives").unwrap();
    config
}

const ALL: &str = r#"{"mlm": {"weight": 0.5}, "ast_nodes": {"weight": 0.3}, "types": {"weight": 0.7, "classes": 1}}"#;

#[test]
fn questions_hide_what_would_answer_them() {
    let folder = folder("tiny-bert");
    let mask = folder.tokenizer.mask_token().unwrap();
    with_code(&folder.tokenizer, |code| {
        let pairs = pairs();
        let mut backbone = open(folder.model.clone()).unwrap();
        let all: Vec<u32> = (0..pairs.len() as u32).collect();
        let (objectives, asked, again, other) = with_table(pairs.pairs(), |table, views| {
            let objectives =
                Objectives::open(&config(ALL), Some(&code), table, Seed(3), backbone.as_mut()).unwrap().unwrap();
            let batch = BatchCode { pairs: &all, stage: 0, table, views };
            let [asked, again, other] = [7, 7, 8].map(|number| objectives.ask(batch, number).unwrap());
            (objectives, asked, again, other)
        });
        let names: Vec<&str> = objectives.list.iter().map(|objective| objective.name()).collect();
        assert_eq!(names, ["types", "ast_nodes", "mlm"]);
        // One class by the config: lists and numbers are equally common, and `list` is first in the alphabet.
        assert_eq!(objectives.list[0].classes(), ["list", "other"]);
        let (mut told, mut random, mut same, mut candidates) = (0, 0, 0, 0);
        for (pair, asked) in pairs.pairs().iter().zip(&asked) {
            let whole = folder.tokenizer.encode_with_places("", &pair.positive, 24).unwrap();
            let [of_types, of_nodes, of_words] = &asked.questions[..] else { panic!("three objectives") };
            let written = types(&pair.positive, "made-up").remove(0);
            for (token, place) in whole.places.iter().enumerate() {
                let Some(place) = place else {
                    assert_eq!(asked.ids[token], whole.ids[token], "special tokens stay");
                    continue;
                };
                let in_type = written.annotation.start <= place.start && place.end <= written.annotation.end;
                let in_name = written.name.start <= place.start && place.end <= written.name.end;
                let class = of_types.iter().find(|question| question.token == token).map(|question| question.class);
                assert_eq!(class, in_name.then(|| u32::from(written.type_name != "list")));
                if in_type {
                    assert_eq!(asked.ids[token], mask, "written types are hidden");
                }
                let word = of_words.iter().find(|question| question.token == token);
                assert!(word.is_none_or(|word| word.class == whole.ids[token] && !in_type && !in_name));
                candidates += usize::from(!in_type && !in_name);
                if word.is_some() {
                    told += 1;
                    same += usize::from(asked.ids[token] == whole.ids[token]);
                    random += usize::from(asked.ids[token] != whole.ids[token] && asked.ids[token] != mask);
                } else if !in_type {
                    assert_eq!(asked.ids[token], whole.ids[token]);
                }
                let text = &pair.positive[place.clone()];
                let kind = of_nodes.iter().find(|question| question.token == token).map(|question| question.class);
                let expected = match text {
                    "(" | ")" | "+" => Some(2),
                    ":" | "=" => None,
                    number if number.bytes().all(|byte| byte.is_ascii_digit()) => Some(0),
                    _ => Some(1),
                };
                assert_eq!(kind, expected, "{text} of {}", pair.positive);
            }
        }
        // 15 % of about 600 candidates; of these 10 % stay and 10 % become another token.
        let share = told as f64 / candidates as f64;
        assert!(candidates > 500 && (share - 0.15).abs() < 0.05, "{told} of {candidates}");
        assert!(same < told / 3 && random < told / 3, "{same} and {random} of {told}");
        // The same batch hides the same, another hides others.
        assert!(asked.iter().zip(&again).all(|(a, b)| a.ids == b.ids && a.questions == b.questions));
        assert!(asked.iter().zip(&other).any(|(a, b)| a.ids != b.ids));
    });
}

/// Shares among many hidden tokens: 80 % become the mask token, 10 % another, 10 % stay.
#[test]
fn hidden_tokens_are_shared_out_as_in_bert() {
    let folder = folder("tiny-bert");
    with_code(&folder.tokenizer, |code| {
        let mlm = mlm::Mlm::open(&MlmConfig::default(), &code, &folder.model.parameters).unwrap();
        let ids = vec![200; 100_000];
        let (places, taken) = (vec![Some(0..1); ids.len()], vec![false; ids.len()]);
        let mut text = CodeText { text: "", language: "", ids, places, taken, draws: TokenDraws::new(9, 0) };
        let questions = mlm.ask(&mut text);
        let of = |count: usize, all: usize| count as f64 / all as f64;
        assert!((of(questions.len(), 100_000) - 0.15).abs() < 0.004, "{}", questions.len());
        let mask = folder.tokenizer.mask_token().unwrap();
        let masked = text.ids.iter().filter(|id| **id == mask).count();
        let random = text.ids.iter().filter(|id| **id != mask && **id != 200).count();
        assert!((of(masked, questions.len()) - 0.8).abs() < 0.02, "{masked}");
        assert!((of(random, questions.len()) - 0.1).abs() < 0.015, "{random}");
        assert!(questions.iter().all(|question| question.class == 200));
    });
}

#[derive(Deserialize)]
struct GoldenMlm {
    head: BTreeMap<String, Vec<f32>>,
    ids: Vec<Vec<u32>>,
    places: Vec<usize>,
    labels: Vec<u32>,
    loss: f64,
    gradients: BTreeMap<String, [f64; 2]>,
}

#[test]
fn masked_language_modelling_equals_transformers() {
    let golden: BTreeMap<String, serde_json::Value> =
        serde_json::from_str(include_str!("../../../tests/golden/tokens.json")).unwrap();
    for (name, mut golden) in golden {
        let expected: GoldenMlm = serde_json::from_value(golden["mlm"].take()).unwrap();
        let folder = folder(&name);
        with_code(&folder.tokenizer, |code| {
            let mut backbone = open(folder.model.clone()).unwrap();
            let mlm = mlm::Mlm::open(&MlmConfig::default(), &code, backbone.parameters()).unwrap();
            backbone
                .update(&mut |parameters| {
                    for spec in mlm.head(32) {
                        let mut weight = crate::models::fresh_weight(spec, Seed(1));
                        weight.values.floats_mut().copy_from_slice(&expected.head[&weight.name]);
                        parameters.insert(weight);
                    }
                })
                .unwrap();
            let batch = TokenBatch::new(expected.ids.iter().map(Vec::as_slice));
            let (_, states, tape) = backbone.embed_tokens_tracked(&batch, None).unwrap();
            let n = expected.labels.len();
            let mut gradients = Gradients::zeros(backbone.parameters());
            let mut at_states = Array2::zeros(states.dim());
            let questions = (expected.places.clone(), expected.labels.clone());
            let both = (&states, &mut at_states);
            let sum = judge(&mlm, &questions, 1.0 / n as f32, both, backbone.parameters(), &mut gradients);
            let loss = sum / n as f64;
            assert!((loss - expected.loss).abs() < 1e-4 * expected.loss, "{name}: {loss} {}", expected.loss);
            backbone.backward_tokens(tape, Upstream::states(at_states.view()), &mut gradients).unwrap();
            let mut seen = 0;
            for (place, parameter) in backbone.parameters().iter().enumerate() {
                let [norm, projection] = expected.gradients[&parameter.name];
                let found = gradients.at(place);
                let length = found.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
                let along: f64 = found.iter().enumerate().map(|(i, g)| f64::from(*g) * (0.7 * i as f64).sin()).sum();
                // A key's bias moves all scores of a row alike: its gradient is zero but for rounding.
                let scale = if parameter.name.ends_with("key.bias") { 1.0 } else { norm };
                let error = ((length - norm).abs() / scale).max((along - projection).abs() / scale);
                assert!(error <= 5e-4, "{name} {}: {error}: {length} {norm} {along} {projection}", parameter.name);
                seen += 1;
            }
            assert_eq!(seen, expected.gradients.len());
        });
    }
}

/// The gradient of Σ weight · loss, of every objective's head and of the model below; and parts make no difference.
#[test]
fn gradients_equal_finite_differences_and_parts_change_nothing() {
    let folder = folder("tiny-bert");
    with_code(&folder.tokenizer, |code| {
        let pairs = pairs();
        let mut backbone = open(folder.model.clone()).unwrap();
        let table = PairTable::in_memory(pairs.pairs(), 0);
        let objectives =
            Objectives::open(&config(ALL), Some(&code), &table, Seed(3), backbone.as_mut()).unwrap().unwrap();
        // Fresh heads are so small that everything is nearly equally likely.
        backbone
            .update(&mut |parameters| {
                for head in parameters.iter_mut().filter(|p| is_head(&p.name)) {
                    head.values
                        .floats_mut()
                        .iter_mut()
                        .enumerate()
                        .for_each(|(i, v)| *v += 0.3 * ((i * 5 + 1) as f32).sin());
                }
            })
            .unwrap();
        let batch: Vec<u32> = (0..12).collect();
        let stop = Stop::default();
        let options = StepOptions { dropout: Some(Seed(4)), micro_tokens: 0, micro_texts: 0, weight: 0.5, stop: &stop };
        let run = |backbone: &dyn Backbone, options| {
            let mut gradients = Gradients::zeros(backbone.parameters());
            let losses = with_table(pairs.pairs(), |table, views| {
                let code = BatchCode { pairs: &batch, stage: 0, table, views };
                objectives.accumulate(backbone, code, 5, options, &mut gradients).unwrap()
            });
            assert!(losses.iter().all(|found| found.asked > 5 && found.loss > 0.1), "{losses:?}");
            let weights = objectives.list.iter().map(|objective| objective.weight());
            (losses.iter().zip(weights).map(|(found, weight)| 0.5 * weight * found.loss).sum::<f64>(), gradients)
        };
        let (whole, gradients) = run(backbone.as_ref(), options);
        for (micro_tokens, micro_texts) in [(20, 0), (70, 0), (0, 5)] {
            let (loss, of_parts) = run(backbone.as_ref(), StepOptions { micro_tokens, micro_texts, ..options });
            assert!((loss - whole).abs() < 1e-5 * whole, "{loss} {whole}");
            let largest = gradients.iter().flatten().fold(0.0f32, |size, g| size.max(g.abs()));
            for ((a, b), parameter) in of_parts.iter().zip(gradients.iter()).zip(backbone.parameters().iter()) {
                let size = b.iter().fold(1e-2 * largest, |size, g| size.max(g.abs()));
                let worst = a.iter().zip(b).fold(0.0f32, |worst, (a, b)| worst.max((a - b).abs()));
                assert!(worst <= 2e-5 * size, "{}: {worst} of {size}", parameter.name);
            }
        }
        let names: Vec<String> = backbone.parameters().iter().map(|p| p.name.clone()).collect();
        for (place, name) in names.iter().enumerate() {
            // Along the gradient the loss changes by its length.
            let along: Vec<f32> = gradients.at(place).to_vec();
            let length = along.iter().map(|g| f64::from(*g).powi(2)).sum::<f64>().sqrt();
            if length < 1e-4 {
                assert!(name.ends_with("key.bias"), "{name} has no gradient");
                continue;
            }
            let mut moved = |by: f64| {
                let mut shift = |by: f64| {
                    let step = (by / length) as f32;
                    let mut change = |parameters: &mut Parameters| {
                        let values = parameters.iter_mut().nth(place).unwrap().values.floats_mut();
                        values.iter_mut().zip(&along).for_each(|(v, g)| *v += step * g);
                    };
                    backbone.update(&mut change).unwrap();
                };
                shift(by);
                let before = backbone.parameters().clone();
                let (loss, _) = run(backbone.as_ref(), options);
                assert_eq!(&before, backbone.parameters());
                loss
            };
            let h = 4e-3;
            let up = moved(h);
            let down = moved(-2.0 * h);
            moved(h);
            let slope = (up - down) / (2.0 * h);
            assert!((slope - length).abs() < 0.02 * length + 2e-4, "{name}: {slope} by differences, {length}");
        }
    });
}

struct Run {
    folder: tempfile::TempDir,
    config: TrainConfig,
}

impl Run {
    fn new(objectives: &str) -> Self {
        let mut config = TrainConfig { objectives: config(objectives), keep: Keep::Last, ..TrainConfig::default() };
        config.batch.pairs = 8;
        config.max_steps = 80;
        config.epochs = 100;
        config.validate = ValidateConfig { every: Every::Steps(10), pairs: 20 };
        let OptimizerConfig::Adamw(adamw) = &mut config.optimizer;
        adamw.learning_rate = 4e-3;
        Self { folder: tempfile::tempdir().unwrap(), config }
    }

    /// Trains; `stop_after` ends it early. Gives the outcome, all weights as bits, and the steps.
    fn train(&self, resume: bool, stop_after: usize) -> (Result<TrainOutcome>, Vec<u32>, Vec<StepRecord>) {
        let mut folder = folder("tiny-bert");
        folder.model.parameters = folder.model.architecture.fresh(Seed(5));
        let mut backbone = open(folder.model.clone()).unwrap();
        let (pairs, stop) = (pairs(), Arc::new(AtomicBool::new(false)));
        let path = |name: &str| self.folder.path().join(name);
        let outcome = with_code(&folder.tokenizer, |code| {
            let tokenize = |wanted: TokenizeRequest<'_>| folder.tokenizer.encode("", wanted.text, 24);
            let watched = Stop::when(&stop);
            let job = TrainJob {
                code: Some(code),
                special_tokens: [1, 1],
                resume,
                ..job(&pairs, &tokenize, &self.config, self.folder.path(), &watched)
            };
            let mut seen = |progress: Progress| {
                if progress.done as usize >= stop_after {
                    stop.store(true, std::sync::atomic::Ordering::Relaxed);
                }
            };
            train(backbone.as_mut(), &job, &mut seen)
        });
        let weights =
            backbone.parameters().iter().flat_map(|p| p.values.floats().into_owned()).map(f32::to_bits).collect();
        assert!(backbone.parameters().iter().all(|p| !is_head(&p.name)), "heads are not part of the model");
        assert_eq!(backbone.parameters().len(), folder.model.parameters.len());
        let journal = fs::read_to_string(path("metrics.jsonl")).unwrap_or_default();
        (outcome, weights, journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }
}

#[test]
fn objectives_are_learned_beside_the_pairs() {
    let (outcome, _, steps) = Run::new(ALL).train(false, usize::MAX);
    outcome.unwrap();
    for name in ["mlm", "ast_nodes", "types"] {
        let mean =
            |steps: &[StepRecord]| steps.iter().map(|step| step.objectives[name]).sum::<f64>() / steps.len() as f64;
        let (begin, end) = (mean(&steps[..5]), mean(&steps[75..]));
        assert!(end < 0.7 * begin, "{name}: from {begin} to {end}");
    }
    assert!(steps[79].loss < steps[0].loss, "{} {}", steps[0].loss, steps[79].loss);
}

#[test]
fn no_weight_is_no_objective_to_the_last_bit() {
    let (_, plain, steps) = Run::new("{}").train(false, usize::MAX);
    let none = r#"{"mlm": {"weight": 0}, "ast_nodes": {"weight": 0.0}, "types": {"weight": 0}}"#;
    let (_, zero, of_zero) = Run::new(none).train(false, usize::MAX);
    assert!(plain == zero && steps == of_zero);
    let (_, some, _) = Run::new(r#"{"ast_nodes": {"weight": 0.01}}"#).train(false, usize::MAX);
    assert!(plain != some);
}

#[test]
fn stopped_and_resumed_equals_not_stopped_to_the_last_bit() {
    let (_, expected, steps) = Run::new(ALL).train(false, usize::MAX);
    let run = Run::new(ALL);
    let (outcome, weights, _) = run.train(true, 13);
    assert!(outcome.unwrap().stopped && weights != expected);
    let (outcome, weights, resumed) = run.train(true, usize::MAX);
    assert!(!outcome.unwrap().stopped);
    assert!(weights == expected && resumed == steps);
}

#[test]
fn what_cannot_be_is_told() {
    let folder = folder("tiny-bert");
    let bag = Folder::fresh(
        "bag",
        crate::models::Architecture::StaticEmbedding(crate::models::StaticConfig {
            vocab_size: folder.tokenizer.vocab_size(),
            dim: 8,
            weighted: false,
            positions: 0,
        }),
        folder.tokenizer.clone(),
        crate::folder::MaxTokens { query: 24, document: 24 },
        Seed(1),
    )
    .unwrap();
    let pairs = pairs();
    with_code(&folder.tokenizer, |code| {
        let open_with = |json: &str, model: &crate::models::Model, code: Option<&CodeTokens<'_>>, pairs: &[Pair]| {
            let mut backbone = open(model.clone()).unwrap();
            let table = PairTable::in_memory(pairs, 0);
            let opened = Objectives::open(&config(json), code, &table, Seed(1), backbone.as_mut());
            opened.map(|_| ()).unwrap_err().to_string()
        };
        let error = open_with(r#"{"mlm": {}}"#, &bag.model, Some(&code), pairs.pairs());
        assert!(error.starts_with("train.objectives.mlm: needs a transformer"), "{error}");
        let error = open_with(r#"{"ast_nodes": {}}"#, &folder.model, None, pairs.pairs());
        assert!(error.starts_with("train.objectives: need texts"), "{error}");
        let other = Pair { language: "other".into(), ..pairs.pairs()[0].clone() };
        let error = open_with(r#"{"types": {}}"#, &folder.model, Some(&code), &[other]);
        assert!(error.starts_with("train.objectives.types: no declared type"), "{error}");
        let no_mask = CodeTokens { mask_token: None, ..code };
        let error = open_with(r#"{"types": {}}"#, &folder.model, Some(&no_mask), pairs.pairs());
        assert!(error.contains("the tokenizer has none of [MASK], <mask>, [PAD]"), "{error}");
    });
    // A bag learns syntax and types from the tokens alone.
    with_code(&folder.tokenizer, |code| {
        let mut backbone = open(bag.model.clone()).unwrap();
        let json = r#"{"ast_nodes": {}, "types": {}}"#;
        let all: Vec<u32> = (0..pairs.len() as u32).collect();
        let mut gradients = Gradients::default();
        let found = with_table(pairs.pairs(), |table, views| {
            let objectives =
                Objectives::open(&config(json), Some(&code), table, Seed(1), backbone.as_mut()).unwrap().unwrap();
            gradients = Gradients::zeros(backbone.parameters());
            let code = BatchCode { pairs: &all, stage: 0, table, views };
            let stop = Stop::default();
            let options = StepOptions { dropout: None, micro_tokens: 0, micro_texts: 0, weight: 1.0, stop: &stop };
            objectives.accumulate(backbone.as_ref(), code, 0, options, &mut gradients).unwrap()
        });
        assert!(found.iter().all(|found| found.asked > 40 && found.loss.is_finite()));
        assert!(gradients.iter().all(|gradient| gradient.iter().any(|g| *g != 0.0)));
    });
}

/// The side that is code follows from the task; and whatever the data set, its language and prompts go with it.
#[test]
fn the_code_of_a_pair_is_that_of_its_task() {
    let pair = |id: &str, task, anchor: &str, positive: &str| Pair {
        id: id.into(),
        task,
        anchor: anchor.into(),
        positive: positive.into(),
        ..Pair::default()
    };
    let pairs = [
        pair("a", Task::Text2code, "text", "code"),
        pair("b", Task::Code2text, "code", "text"),
        pair("c", Task::Code2code, "code", "other"),
    ];
    let table = PairTable::in_memory(&pairs, 0);
    let sides = |pair| code_sides(&table, pair).into_iter().map(|(text, side)| (table.text(text).unwrap(), side));
    assert_eq!(sides(0).collect::<Vec<_>>(), [("code".into(), Side::Document)]);
    assert_eq!(sides(1).collect::<Vec<_>>(), [("code".into(), Side::Query)]);
    assert_eq!(sides(2).collect::<Vec<_>>(), [("code".into(), Side::Query), ("other".into(), Side::Document)]);
}
