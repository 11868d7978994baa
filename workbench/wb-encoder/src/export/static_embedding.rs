//! A bag of token vectors as sentence-transformers' `StaticEmbedding`: the plain mean of vectors, no special tokens.

use std::path::Path;

use serde_json::{Value, json};
use wb_core::run_dir::write_json;

use super::{
    ExportConfig,
    layout::{Layout, Module},
};
use crate::{Architecture, Folder, Parameter, Parameters, Result, models::StaticConfig, weights};

/// Makes the weighted mean a plain one, where that is possible, or says why it is not.
///
/// With length 1 at the end, Σ exp(wᵢ)·vᵢ / Σ exp(wᵢ) points where (1/n)·Σ exp(wᵢ)·vᵢ does,
/// so a token's weight can be multiplied into its vector.
pub(super) fn fold(folder: &mut Folder, config: &StaticConfig, notes: &mut Vec<String>) -> Result<()> {
    let refuse = |why: &str| {
        let message =
            format!("{} {why}; sentence-transformers' StaticEmbedding is the plain mean of token vectors", folder.name);
        let hint = "--format safetensors keeps everything, for wb itself";
        Err(wb_core::Error::value("--format", message).with_hint(hint).into())
    };
    if config.positions > 0 {
        return refuse("weighs tokens by their place in a text");
    }
    if folder.tokenizer.special_tokens() > 0 {
        return refuse("reads special tokens around every text");
    }
    if !config.weighted {
        return Ok(());
    }
    if !folder.normalize {
        return refuse("has weights of tokens, and its embeddings are not of length 1");
    }
    let values = |name: &str| folder.model.parameters.get(name).map(|p| p.values.clone()).unwrap_or_default();
    let (mut vectors, weights) = (values("embeddings.weight"), values("token_weights"));
    for (vector, weight) in vectors.chunks_exact_mut(config.dim).zip(&weights) {
        let factor = f64::from(*weight).exp();
        vector.iter_mut().for_each(|x| *x = (f64::from(*x) * factor) as f32);
    }
    let mut parameters = Parameters::default();
    parameters.insert(Parameter {
        name: "embeddings.weight".into(),
        shape: vec![config.vocab_size, config.dim],
        values: vectors,
        trainable: true,
    });
    folder.model.parameters = parameters;
    folder.model.architecture = Architecture::StaticEmbedding(StaticConfig { weighted: false, ..config.clone() });
    notes.push(
        "the weights of tokens were multiplied into their vectors; after normalization that is the same".to_owned(),
    );
    Ok(())
}

/// Writes the whole folder.
pub(super) fn write(layout: Layout, folder: &Folder, config: &ExportConfig, to: &Path) -> Result<()> {
    let path = match layout {
        Layout::Legacy => "0_StaticEmbedding",
        Layout::New => "",
    };
    let inside = to.join(path);
    let name =
        |p: &Parameter| if p.name == "embeddings.weight" { "embedding.weight".to_owned() } else { p.name.clone() };
    std::fs::create_dir_all(&inside).map_err(wb_core::Error::io("create", &inside))?;
    weights::write_as(
        &inside.join("model.safetensors"),
        folder.model.parameters.iter().map(|p| (name(p), p)),
        config.dtype,
    )?;
    write_tokenizer(folder, &inside.join("tokenizer.json"))?;
    let mut modules = vec![(Module::StaticEmbedding, path.to_owned())];
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
    Ok(write_json(path, &tokenizer)?)
}
