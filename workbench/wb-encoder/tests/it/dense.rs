//! Dense layers after the pooling against sentence-transformers, and in every folder that holds them.

use std::fs;

use serde::Deserialize;
use wb_core::{Encoder, Side, progress::silent};
use wb_encoder::{
    BiEncoder, ExportConfig, ExportFormat, Folder, WeightType,
    dense::{DenseActivation, DenseLayer},
    export,
};

use crate::common::{self, compare, copy, copy_into, cpu, edit, golden, golden_json, matrix, refused, same};

#[derive(Deserialize)]
struct Expected {
    texts: Vec<String>,
    embeddings: Vec<Vec<f32>>,
}

/// The tiny BERT with the golden layers over it.
fn folder() -> tempfile::TempDir {
    let place = copy("tiny-bert");
    copy_into(&golden().join("dense"), place.path());
    place
}

fn open(folder: Folder) -> BiEncoder {
    cpu(Folder { prompts: Default::default(), ..folder })
}

#[test]
fn dense_layers_are_those_of_sentence_transformers() {
    let place = folder();
    let Expected { texts, embeddings } = golden_json("dense/expected.json");
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let read = Folder::read(place.path()).unwrap();
    assert_eq!((read.dense.len(), read.dim(), read.normalize), (2, 6, true));
    let encoder = open(read.clone());
    assert_eq!(encoder.dim(), 6);
    let found = encoder.embed(&texts, Side::Document, &mut silent).unwrap();
    same(found.view(), matrix(&embeddings).view(), 1e-5, "dense");

    // They go along wherever the encoder goes.
    for (name, format, dtype) in [
        ("st", ExportFormat::St, WeightType::F32),
        ("st6", ExportFormat::St6, WeightType::F16),
        ("own", ExportFormat::Safetensors, WeightType::F32),
    ] {
        let to = place.path().join(name);
        export(&read, &ExportConfig { format, dtype, ..Default::default() }, &|_| String::new(), &to).unwrap();
        let back = Folder::read(&to).unwrap();
        assert_eq!(back.dense == read.dense, dtype == WeightType::F32);
        let (cosine, _) = compare(open(back).embed(&texts, Side::Document, &mut silent).unwrap().view(), found.view());
        assert!(cosine >= if dtype == WeightType::F32 { 0.99999 } else { 0.999 }, "{name}: {cosine}");
    }
    // Types of weights in memory are those of all weights.
    for (dtype, layer_type) in [("f32", WeightType::F32), ("bf16", WeightType::Bf16), ("int8", WeightType::F32)] {
        let (mut kept, mut expected) = (read.clone(), read.dense.clone());
        kept.keep_as(dtype.parse().unwrap()).unwrap();
        for layer in &mut expected {
            layer.weight.mapv_inplace(|x| layer_type.rounded(x));
            layer.bias.iter_mut().for_each(|bias| bias.mapv_inplace(|x| layer_type.rounded(x)));
        }
        assert_eq!(kept.dense, expected, "{dtype}");
        assert_eq!(kept.dense == read.dense, layer_type == WeightType::F32);
    }
    let mut beyond = read.clone();
    beyond.dense[1].weight[[0, 0]] = 1e6;
    let error = beyond.keep_as("f16".parse().unwrap()).unwrap_err().to_string();
    assert!(error.contains("weight dense 1.weight") && error.contains("beyond f16"), "{error}");
    // What decides the vectors decides the fingerprint.
    let mut other = read.clone();
    other.dense[1].activation = DenseActivation::Relu;
    assert_ne!(open(other).fingerprint(), encoder.fingerprint());
    let without = Folder { dense: Vec::<DenseLayer>::new(), ..read };
    assert_ne!(open(without).fingerprint(), encoder.fingerprint());
}

#[test]
fn layers_that_cannot_be_computed_are_refused() {
    let refused = |from: &str, to: &str, expected: &str| {
        let place = folder();
        edit(&place.path().join("2_Dense/config.json"), from, to);
        refused(place.path(), expected);
    };
    refused(
        "activation.Tanh",
        "activation.GELU",
        "has activation_function `torch.nn.modules.activation.GELU`, expected Identity",
    );
    refused("\"in_features\": 32", "\"in_features\": 33", "has in_features 33, expected 32");
    refused("\"out_features\": 12", "\"out_features\": 0", "has out_features 0");
    refused("\"out_features\": 12", "\"out_features\": 13", "has shape [12, 32], expected [13, 32]");
    refused("\"bias\": true", "\"bias\": true, \"use_residual\": true", "has use_residual true");
    refused("\"sentence_embedding\"", "\"token_embeddings\"", "has module_input_name \"token_embeddings\"");
    refused("\"bias\": true", "\"bias\": false", "`linear.bias`: with shape [12] is not a weight");
    let place = folder();
    fs::remove_file(place.path().join("2_Dense/model.safetensors")).unwrap();
    common::refused(place.path(), "has no model.safetensors and no pytorch_model.bin");
}
