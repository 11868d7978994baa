//! Tiny random models of both families against sentence-transformers: token ids, embeddings, gradients.

use std::collections::BTreeMap;

use ndarray::{Array2, s};
use serde::Deserialize;
use wb_core::{Side, progress::silent};
use wb_encoder::{Folder, Gradients, Pooling, TokenBatch};

use crate::common::{both, compare, cpu, golden_json, gradient_error, matrix, same, tiny};

#[derive(Deserialize)]
struct Golden {
    texts: Vec<String>,
    ids: Vec<Vec<u32>>,
    whole: Vec<Vec<f32>>,
    query: Vec<Vec<f32>>,
    embeddings: BTreeMap<String, Vec<Vec<f32>>>,
    gradients: BTreeMap<String, [f64; 2]>,
}

fn load(name: &str) -> (Folder, Golden) {
    (tiny(name), golden_json(&format!("{name}.json")))
}

const NAMES: [&str; 2] = ["tiny-bert", "tiny-roberta"];

#[test]
fn folders_say_what_they_are() {
    let (bert, _) = load("tiny-bert");
    assert_eq!((bert.model.pooling, bert.normalize), (Pooling::Mean, true));
    assert_eq!((bert.max_tokens.query, bert.max_tokens.document), (24, 24));
    assert_eq!((bert.prompts.query.as_str(), bert.prompts.document.as_str()), ("query: ", "passage: "));
    let (roberta, _) = load("tiny-roberta");
    assert_eq!((roberta.model.pooling, roberta.normalize), (Pooling::Cls, false));
    assert_eq!(roberta.max_tokens.query, 24);
    assert_eq!(roberta.model.architecture.max_tokens(), Some(42));
}

#[test]
fn token_ids_are_those_of_transformers() {
    for name in NAMES {
        let (folder, golden) = load(name);
        for (text, expected) in golden.texts.iter().zip(&golden.ids) {
            assert_eq!(&folder.tokenizer.encode("", text, 24).unwrap(), expected, "{name}: {text:?}");
        }
    }
}

#[test]
fn embeddings_are_those_of_sentence_transformers() {
    for name in NAMES {
        let (folder, golden) = load(name);
        let batch = TokenBatch::new(golden.ids.iter().map(Vec::as_slice));
        for pooling in Pooling::ALL {
            let mode = pooling.hub_name();
            let mut model = folder.model.clone();
            model.pooling = pooling;
            for (path, backbone) in both(&model) {
                let found = backbone.embed(&batch).unwrap();
                same(found.view(), matrix(&golden.embeddings[mode]).view(), 1e-4, format!("{name} {mode} {path}"));
                let (tracked, _) = backbone.embed_tracked(&batch, None).unwrap();
                let (_, difference) = compare(tracked.view(), found.view());
                assert!(difference <= 1e-5, "{name} {mode} {path}: {difference}");
            }
        }
    }
}

#[test]
fn the_whole_encoder_gives_the_same_embeddings_in_the_texts_order() {
    for name in NAMES {
        let (mut folder, golden) = load(name);
        let prompts = std::mem::take(&mut folder.prompts);
        let texts: Vec<&str> = golden.texts.iter().map(String::as_str).collect();
        let encoder = cpu(folder.clone());
        let found = encoder.embed(&texts, Side::Document, &mut silent).unwrap();
        same(found.view(), matrix(&golden.whole).view(), 1e-4, name);
        assert_eq!(encoder.embed(&[], Side::Query, &mut silent).unwrap().texts(), 0);
        if golden.query.is_empty() || prompts.query.is_empty() {
            continue;
        }
        folder.prompts = prompts;
        let encoder = cpu(folder);
        let found = encoder.embed(&texts[3..6], Side::Query, &mut silent).unwrap();
        same(found.view(), matrix(&golden.query).view(), 1e-4, format!("{name}, query"));
    }
}

#[test]
fn gradients_are_those_of_torch() {
    for name in NAMES {
        let (folder, golden) = load(name);
        let mut model = folder.model;
        model.pooling = Pooling::Mean;
        let batch = TokenBatch::new(golden.ids.iter().map(Vec::as_slice));
        for (path, backbone) in both(&model) {
            let (embeddings, tape) = backbone.embed_tracked(&batch, None).unwrap();
            // loss = Σ embedding · sin(0.37 · (31 row + 7 column)), as the script has it.
            let at = Array2::from_shape_fn(embeddings.dim(), |(i, j)| (0.37 * (31 * i + 7 * j) as f64).sin() as f32);
            let mut gradients = Gradients::zeros(backbone.parameters());
            backbone.backward(tape, at.slice(s![.., ..]), &mut gradients).unwrap();
            let mut seen = 0;
            for (position, parameter) in backbone.parameters().iter().enumerate() {
                let error = gradient_error(&parameter.name, gradients.at(position), golden.gradients[&parameter.name]);
                assert!(error <= 2e-4, "{name} {path} {}: {error}", parameter.name);
                seen += 1;
            }
            assert_eq!(seen, golden.gradients.len());
        }
    }
}

#[derive(Deserialize)]
struct Forms {
    texts: Vec<String>,
    ids: Vec<Vec<u32>>,
    embeddings: Vec<Vec<f32>>,
}

#[test]
fn a_unixcoder_is_read_in_its_encoder_only_form() {
    let folder = tiny("tiny-unixcoder");
    assert!(folder.notes.iter().any(|note| note.contains("<s> <encoder-only> </s> text </s>")), "{:?}", folder.notes);
    let expected: Forms = golden_json("tiny-unixcoder.json");
    let place = tempfile::tempdir().unwrap();
    // As read, and after it was written out and read again: the form is part of the tokenizer's file.
    let out = place.path().join("out");
    wb_encoder::export(&folder, &wb_encoder::ExportConfig::default(), &|_| String::new(), &out).unwrap();
    for folder in [folder, Folder::read(&out).unwrap()] {
        for (text, ids) in expected.texts.iter().zip(&expected.ids) {
            assert_eq!(&folder.tokenizer.encode("", text, 24).unwrap(), ids, "{text:?}");
        }
        let texts: Vec<&str> = expected.texts.iter().map(String::as_str).collect();
        let encoder = cpu(folder);
        let found = encoder.embed(&texts, Side::Document, &mut silent).unwrap();
        same(found.view(), matrix(&expected.embeddings).view(), 1e-4, "tiny-unixcoder");
    }
}
