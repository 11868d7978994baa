//! The real all-MiniLM-L6-v2 on 200 real texts against sentence-transformers.

use std::io::BufRead;

use ndarray::Array2;
use serde::Deserialize;
use wb_core::{Encoder, Side, progress::silent};
use wb_encoder::{BurnBackbone, Folder, TokenBatch};

use crate::common::{compare, cpu, golden, golden_json, minilm, shared, test_device};

#[derive(Deserialize)]
struct Texts {
    source: String,
    docstring: Vec<usize>,
    code: Vec<usize>,
    made: Vec<String>,
}

fn texts(shared: &std::path::Path) -> Vec<String> {
    let golden: Texts = golden_json("minilm.json");
    let file = std::fs::File::open(shared.join("data").join(&golden.source)).unwrap();
    let rows: Vec<serde_json::Value> =
        std::io::BufReader::new(file).lines().map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    let field = |at: usize, name: &str| rows[at][name].as_str().unwrap().to_owned();
    let docstrings: Vec<String> = golden.docstring.iter().map(|at| field(*at, "docstring")).collect();
    let code: Vec<String> = golden.code.iter().map(|at| field(*at, "code")).collect();
    [docstrings, code, golden.made].concat()
}

fn expected() -> Array2<f32> {
    let bytes = std::fs::read(golden().join("minilm.safetensors")).unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let view = file.tensor("embeddings").unwrap();
    let values = view.data().chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    Array2::from_shape_vec((view.shape()[0], view.shape()[1]), values).unwrap()
}

#[test]
fn minilm_equals_sentence_transformers_on_200_texts() {
    let name = "minilm_equals_sentence_transformers_on_200_texts";
    let (Some(shared), Some(minilm)) = (shared(name), minilm(name)) else { return };
    let texts = texts(&shared);
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_eq!(texts.len(), 200);
    let folder = Folder::read(&minilm).unwrap();
    assert_eq!(folder.notes.len(), 1, "{:?}", folder.notes);
    assert!(folder.notes[0].starts_with("3 tensors not used"), "{:?}", folder.notes);

    let burn = BurnBackbone::new(folder.model.clone(), test_device().burn(), "test device").unwrap();
    let ids = folder.tokenizer.encode_all("", &texts, folder.max_tokens.document).unwrap();
    let batch = TokenBatch::new(ids.iter().map(Vec::as_slice));
    let found = wb_core::Embeddings::dense(wb_encoder::Backbone::embed(&burn, &batch).unwrap()).normalized();
    let by_cpu = cpu(folder).embed(&texts, Side::Document, &mut silent).unwrap();
    for (name, found) in [("burn", found), ("cpu", by_cpu)] {
        let (cosine, difference) = compare(found.view(), expected().view());
        eprintln!("{name}: least cosine {cosine:.8}, largest difference {difference:.2e}");
        assert!(cosine >= 0.99999 && difference <= 1e-4, "{name}: {cosine} {difference}");
    }
}

#[test]
fn minilm_gives_the_published_check_vectors() {
    let Some(minilm) = minilm("minilm_gives_the_published_check_vectors") else { return };
    let encoder = cpu(Folder::read(&minilm).unwrap());
    let texts = ["How many singers do we have?", "def add(a, b):\n    return a + b"];
    let found = encoder.encode(&texts, Side::Query, &mut silent).unwrap();
    let expected = [
        [0.030904, -0.099806, -0.053353, -0.046692, -0.058930, 0.114584, 0.035420, -0.023013],
        [-0.023788, -0.006008, -0.067126, 0.023488, -0.091375, 0.018526, 0.056720, -0.049477],
    ];
    for (row, expected) in expected.iter().enumerate() {
        for (column, value) in expected.iter().enumerate() {
            assert!((found.row(row)[column] - value).abs() < 2e-5, "{row} {column}");
        }
    }
    assert!((found.row(0).dot(&found.row(1)) + 0.012524).abs() < 2e-5);
    assert_eq!((encoder.name().as_str(), encoder.dim()), ("all-MiniLM-L6-v2", 384));
}
