//! A bag of token vectors out to sentence-transformers: as its `StaticEmbedding`, the plain mean of vectors without
//! special tokens, where that says the same; else with a small module of its own beside the weights.

use std::path::Path;

use serde_json::{Value, json};
use wb_core::{atomic, run_dir::write_json};

use super::{
    ExportConfig,
    layout::{Layout, Module},
};
use crate::{
    error::Result,
    folder::{Folder, sentence_transformers::WeightsOfBag},
    models::{Architecture, StaticConfig},
    parameters::{Parameter, Parameters},
    weights,
};

/// The file of the module that a folder brings along, which is Python.
pub(super) const MODULE_FILE: &str = "weighted_static_embedding.py";
const MODULE: &str = include_str!("weighted_static_embedding.py");

/// The reason why `StaticEmbedding` cannot hold a bag; none where it can.
pub(super) fn beyond_static_embedding(folder: &Folder, config: &StaticConfig) -> Option<&'static str> {
    if config.positions > 0 {
        Some("weighs tokens by their place in a text")
    } else if folder.tokenizer.special_tokens() > 0 {
        Some("reads special tokens around every text")
    } else if config.weighted && !folder.normalize {
        Some("has weights of tokens, and its embeddings are not of length 1")
    } else {
        None
    }
}

/// Makes the weighted mean a plain one, where that is possible, or says why the folder brings its own module.
///
/// With length 1 at the end, Σ exp(wᵢ)·vᵢ / Σ exp(wᵢ) points where (1/n)·Σ exp(wᵢ)·vᵢ does,
/// so a token's weight can be multiplied into its vector.
pub(super) fn fold(folder: &mut Folder, config: &StaticConfig, notes: &mut Vec<String>) {
    if let Some(why) = beyond_static_embedding(folder, config) {
        notes.push(format!(
            "{} {why}, which sentence-transformers' StaticEmbedding cannot hold: the folder brings a module of its own, \
             {MODULE_FILE}, and is opened with trust_remote_code=True",
            folder.name
        ));
        return;
    }
    if !config.weighted {
        return;
    }
    let values =
        |name: &str| folder.model.parameters.get(name).map(|p| p.values.floats().into_owned()).unwrap_or_default();
    let (mut vectors, weights) = (values("embeddings.weight"), values("token_weights"));
    for (vector, weight) in vectors.chunks_exact_mut(config.dim).zip(&weights) {
        let factor = f64::from(*weight).exp();
        vector.iter_mut().for_each(|x| *x = (f64::from(*x) * factor) as f32);
    }
    let mut parameters = Parameters::default();
    parameters.insert(Parameter {
        name: "embeddings.weight".into(),
        shape: vec![config.vocab_size, config.dim],
        values: vectors.into(),
        trainable: true,
    });
    folder.model.parameters = parameters;
    folder.model.architecture = Architecture::StaticEmbedding(StaticConfig { weighted: false, ..config.clone() });
    notes.push(
        "the weights of tokens were multiplied into their vectors; after normalization that is the same".to_owned(),
    );
}

/// Writes the whole folder.
pub(super) fn write(layout: Layout, folder: &Folder, config: &ExportConfig, to: &Path) -> Result<()> {
    let Architecture::StaticEmbedding(shape) = &folder.model.architecture else {
        return Err(wb_core::Error::data(folder.name.as_str(), "is no bag of token vectors"));
    };
    let own_module = beyond_static_embedding(folder, shape).is_some();
    let (module, path) = match layout {
        _ if own_module => (Module::WeightedStaticEmbedding, "0_WeightedStaticEmbedding"),
        Layout::Legacy => (Module::StaticEmbedding, "0_StaticEmbedding"),
        Layout::New => (Module::StaticEmbedding, ""),
    };
    let inside = to.join(path);
    let name =
        |p: &Parameter| if p.name == "embeddings.weight" { "embedding.weight".to_owned() } else { p.name.clone() };
    std::fs::create_dir_all(&inside).map_err(wb_core::Error::io("create", &inside))?;
    weights::write_as(
        &inside.join("model.safetensors"),
        folder.model.parameters.iter().map(|p| (name(p), p)),
        Some(config.dtype),
    )?;
    write_tokenizer(folder, &inside.join("tokenizer.json"))?;
    if own_module {
        atomic::write(&to.join(MODULE_FILE), MODULE.as_bytes())?;
        let add_special_tokens = folder.tokenizer.special_tokens() > 0;
        let weights = WeightsOfBag { weighted: shape.weighted, positions: shape.positions, add_special_tokens };
        write_json(&inside.join("config.json"), &weights)?;
    }
    let mut modules = vec![(module, path.to_owned())];
    if folder.normalize {
        modules.push((Module::Normalize, "1_Normalize".to_owned()));
    }
    layout.write_modules(&modules, folder, config, to)
}

/// The tokenizer cuts texts itself: the module knows no length.
fn write_tokenizer(folder: &Folder, path: &Path) -> Result<()> {
    let text = folder.tokenizer.to_json()?;
    let mut tokenizer: Value = serde_json::from_str(&text)
        .map_err(|error| wb_core::Error::data(path.display().to_string(), format!("cannot be written: {error}")))?;
    let length = folder.max_tokens.document;
    tokenizer["truncation"] =
        json!({"direction": "Right", "max_length": length, "strategy": "LongestFirst", "stride": 0});
    write_json(path, &tokenizer)
}
