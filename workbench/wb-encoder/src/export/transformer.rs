//! A transformer as transformers reads it: `config.json`, `model.safetensors`, and the tokenizer's three files.

use std::path::Path;

use serde_json::{Map, Value, json};
use wb_core::run_dir::write_json;

use crate::{
    error::{Error, Result},
    folder::Folder,
    late_interaction,
    models::{HubTokens, Transformer},
    tokenizer::Tokenizer,
    weights::{self, WeightType},
};

/// Tokens by their role: BERT's name, RoBERTa's, T5's, Qwen's, Gemma's.
const ROLES: [(&str, &[&str]); 7] = [
    ("bos_token", &["<bos>"]),
    ("unk_token", &["[UNK]", "<unk>"]),
    ("sep_token", &["[SEP]", "</s>"]),
    ("pad_token", &["[PAD]", "<pad>", "<|endoftext|>"]),
    ("cls_token", &["[CLS]", "<s>"]),
    ("mask_token", &["[MASK]", "<mask>"]),
    ("eos_token", &["</s>", "<eos>", "<|im_end|>", "<|endoftext|>"]),
];

/// `config.json` and `model.safetensors`.
pub(super) fn write_weights(folder: &Folder, dtype: WeightType, to: &Path) -> Result<()> {
    write_json(&to.join("config.json"), &config(folder, dtype)?)?;
    let of_model = folder.model.parameters.iter().filter(|p| p.name != late_interaction::WEIGHT);
    let named = of_model.map(|p| (p.name.clone(), p));
    weights::write_as(&to.join("model.safetensors"), named, Some(dtype))
}

/// The content of `config.json`.
pub(super) fn config(folder: &Folder, dtype: WeightType) -> Result<Value> {
    let Some(transformer) = folder.model.architecture.transformer() else {
        return Err(Error::data(folder.name.as_str(), "is no transformer"));
    };
    let tokens = HubTokens { pad: pad_token(folder)?, end: folder.tokenizer.id("</s>") };
    let mut config = transformer.to_hub(tokens);
    config["pad_token_id"] = json!(tokens.pad);
    // Both names of the type: transformers renamed it.
    config["dtype"] = json!(dtype.torch_name());
    config["torch_dtype"] = json!(dtype.torch_name());
    Ok(config)
}

/// `tokenizer.json`, and beside it what transformers wants to be told of it.
pub(super) fn write_tokenizer(folder: &Folder, to: &Path) -> Result<()> {
    let tokenizer = &folder.tokenizer;
    tokenizer.write(&to.join("tokenizer.json"))?;
    let roles = folder.model.architecture.transformer().map(Transformer::special_roles).unwrap_or_default();
    let mut special: Map<String, Value> = ROLES
        .iter()
        .filter(|(role, _)| roles.contains(role))
        .filter_map(|(role, names)| {
            names.iter().find(|name| tokenizer.id(name).is_some()).map(|name| ((*role).to_owned(), json!(name)))
        })
        .collect();
    let pad = pad_token(folder)?;
    if let Some(token) = tokenizer.token(pad) {
        special.insert("pad_token".into(), json!(token));
    }
    write_json(&to.join("special_tokens_map.json"), &special)?;
    let mut config = json!({
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": folder.max_tokens.document,
        "clean_up_tokenization_spaces": false,
        "padding_side": "right",
        "truncation_side": "right",
    });
    if let Value::Object(map) = &mut config {
        map.extend(special);
    }
    if let Some(reading) = &folder.pair_reading {
        // Versions of transformers differ in what a class of no model gives.
        let mut names = vec!["input_ids", "attention_mask"];
        if reading.tells_types() {
            names.insert(1, "token_type_ids");
        }
        config["model_input_names"] = json!(names);
    }
    write_json(&to.join("tokenizer_config.json"), &config)
}

/// The token that fills up shorter texts of a batch. It is masked, so any token would do; but RoBERTa counts
/// its positions from that token's id.
pub(crate) fn pad_token(folder: &Folder) -> Result<u32> {
    let tokenizer: &Tokenizer = &folder.tokenizer;
    let Some(transformer) = folder.model.architecture.transformer() else { return Ok(0) };
    if let Some(pad) = transformer.pad_token_id() {
        return Ok(pad);
    }
    let mut named = ROLES.iter().filter(|(role, _)| *role == "pad_token").flat_map(|(_, names)| names.iter().copied());
    named.find_map(|name| tokenizer.id(name)).or(tokenizer.token(0).map(|_| 0)).ok_or_else(|| {
        Error::data(folder.name.as_str(), "has a tokenizer without a token of id 0, expected one to fill up with")
    })
}
