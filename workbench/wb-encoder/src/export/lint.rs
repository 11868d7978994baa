//! Checks of the strictest readers of a sentence-transformers folder: servers such as text-embeddings-inference.

use std::path::Path;

use serde_json::Value;

use crate::{
    error::Result,
    folder::{Folder, json},
    models::Architecture,
    pooling::Pooling,
};

/// True where the lint is about such an encoder: bags of token vectors have another layout, late interaction
/// has one that such servers do not know, and other ways to pool than these are newer, which older ones refuse by name.
pub(super) fn applies(folder: &Folder) -> bool {
    let pools = matches!(folder.model.pooling, Pooling::Mean | Pooling::Cls);
    let one_vector = folder.late_interaction.is_none() && folder.pair_reading.is_none() && pools;
    matches!(folder.model.architecture, Architecture::Bert(_)) && one_vector
}

/// Sentences about what is missing; none where a strict reader is content.
pub fn lint(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut check = |fine: bool, sentence: &str| {
        if !fine {
            found.push(sentence.to_owned());
        }
    };
    let read = |name: &str| -> Result<Value> {
        let path = folder.join(name);
        if path.is_file() { json(&path) } else { Ok(Value::Null) }
    };
    let number = |value: &Value| value.as_u64().unwrap_or(0);

    let config = read("config.json")?;
    let names =
        |key: &str| config[key].as_array().is_some_and(|list| !list.is_empty() && list.iter().all(Value::is_string));
    check(names("architectures"), "config.json has no list `architectures`");
    check(config["model_type"].is_string(), "config.json has no `model_type`");
    let positions = number(&config["max_position_embeddings"]);
    check(positions > 0, "config.json has no `max_position_embeddings`");
    check(config["pad_token_id"].is_u64(), "config.json has no `pad_token_id`, a number");
    check(folder.join("tokenizer.json").is_file(), "there is no tokenizer.json beside config.json");
    check(folder.join("model.safetensors").is_file(), "there is no model.safetensors beside config.json");

    let settings = read("sentence_bert_config.json")?;
    let length = number(&settings["max_seq_length"]);
    check(length > 0, "sentence_bert_config.json has no `max_seq_length`");
    // RoBERTa's positions begin after the padding token's id.
    let begin = if config["model_type"] == "bert" { 0 } else { number(&config["pad_token_id"]) + 1 };
    check(positions == 0 || length + begin <= positions, "max_seq_length is more than there are positions");

    let pooling = read("1_Pooling/config.json")?;
    let modes =
        ["cls_token", "mean_tokens", "max_tokens", "mean_sqrt_len_tokens"].map(|mode| format!("pooling_mode_{mode}"));
    let booleans = modes.iter().all(|mode| pooling[mode.as_str()].is_boolean());
    check(
        booleans,
        "1_Pooling/config.json has no booleans pooling_mode_cls_token, _mean_tokens, _max_tokens, _mean_sqrt_len_tokens",
    );
    let on = |mode: &String| pooling[mode.as_str()] == Value::Bool(true);
    check(!booleans || on(&modes[0]) != on(&modes[1]), "1_Pooling/config.json pools neither by cls nor by mean alone");
    check(number(&pooling["word_embedding_dimension"]) > 0, "1_Pooling/config.json has no `word_embedding_dimension`");

    let modules = read("modules.json")?;
    let types = modules.as_array().map(Vec::as_slice).unwrap_or_default().iter().map(|module| module["type"].as_str());
    let known = types.map(|name| name.is_some_and(|name| name.starts_with("sentence_transformers.models.")));
    let known: Vec<bool> = known.collect();
    check(
        !known.is_empty() && known.iter().all(|known| *known),
        "modules.json has classes other than sentence_transformers.models.*",
    );
    Ok(found)
}
