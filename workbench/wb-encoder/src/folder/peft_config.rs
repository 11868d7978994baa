//! PEFT's `adapter_config.json`: read strictly, and written so that PEFT gives the same embeddings.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::{json, model_error};
use crate::{
    error::Result,
    lora::{LoraConfig, Patterns, Targets},
    models::Architecture,
};

/// The file's name.
pub(crate) const FILE: &str = "adapter_config.json";
/// The PEFT whose files these are.
const VERSION: &str = "0.21.2";

/// The settings of the file that an encoder computes by.
#[derive(Debug)]
pub(crate) struct PeftConfig {
    /// The model that the adapters belong to: a hub id or a folder.
    pub base: Option<String>,
    /// Rank, alpha, targets and so on, as PEFT has them: names may fit modules that an encoder does not have.
    pub lora: LoraConfig,
    /// Layers that the targets name and that get no adapter.
    pub exclude: Option<Targets>,
    /// True where only some of the layers that the targets name have an adapter.
    pub some_layers: bool,
    /// True where weights were said to be stored `[in, out]`.
    pub fan_in_fan_out: bool,
}

/// Keys that change nothing of what is computed from weights that were saved.
const HARMLESS: [&str; 11] = [
    "auto_mapping",
    "ensure_weight_tying",
    "inference_mode",
    "layers_pattern",
    "megatron_core",
    "peft_type",
    "peft_version",
    "qalora_group_size",
    "revision",
    "runtime_config",
    "task_type",
];

/// Ways to begin that leave the base model's weights as they are.
const BEGINNINGS: [&str; 3] = ["gaussian", "eva", "orthogonal"];

/// Reads the file. A key that is unknown and not off is an error: it might change what is computed.
pub(crate) fn read(path: &Path) -> Result<PeftConfig> {
    let mut keys: Map<String, Value> = json(path)?;
    let refuse = |message: String, hint: &str| Err(model_error(path, message, hint));
    match keys.get("peft_type").and_then(Value::as_str) {
        Some("LORA") => {}
        other => {
            let found = other.unwrap_or("none");
            return refuse(format!("has peft_type `{found}`, expected LORA"), "other kinds of adapters are not read");
        }
    }
    let bias = keys.remove("bias").unwrap_or_else(|| json!("none"));
    if bias != json!("none") {
        let hint = "merge it with PEFT: model.merge_and_unload().save_pretrained('merged')";
        return refuse(format!("has bias {bias}, expected \"none\": trained biases are not read"), hint);
    }
    let began = keys.remove("init_lora_weights").unwrap_or(Value::Bool(true));
    if !began.is_boolean() && !began.is_null() && !began.as_str().is_some_and(|name| BEGINNINGS.contains(&name)) {
        let hint = "save it with path_initial_model_for_weight_conversion, which makes plain adapters of it";
        return refuse(format!("has init_lora_weights {began}, which changes the base model's weights"), hint);
    }
    let mut take = |key: &str| keys.remove(key).filter(|value| !value.is_null());
    let lora = LoraConfig {
        rank: typed(path, "r", take("r"))?.unwrap_or(8),
        alpha: typed(path, "lora_alpha", take("lora_alpha"))?.unwrap_or(8.0),
        dropout: typed(path, "lora_dropout", take("lora_dropout"))?.unwrap_or(0.0),
        targets: typed(path, "target_modules", take("target_modules"))?
            .ok_or_else(|| model_error(path, "has no target_modules, expected names of layers", ""))?,
        use_rslora: typed(path, "use_rslora", take("use_rslora"))?.unwrap_or(false),
        use_dora: typed(path, "use_dora", take("use_dora"))?.unwrap_or(false),
        rank_pattern: typed(path, "rank_pattern", take("rank_pattern"))?.unwrap_or_default(),
        alpha_pattern: typed(path, "alpha_pattern", take("alpha_pattern"))?.unwrap_or_default(),
        modules_to_save: typed(path, "modules_to_save", take("modules_to_save"))?.unwrap_or_default(),
    };
    let config = PeftConfig {
        base: typed(path, "base_model_name_or_path", take("base_model_name_or_path"))?,
        lora,
        exclude: typed(path, "exclude_modules", take("exclude_modules").filter(is_on))?,
        some_layers: take("layers_to_transform").as_ref().is_some_and(is_on),
        fan_in_fan_out: typed(path, "fan_in_fan_out", take("fan_in_fan_out"))?.unwrap_or(false),
    };
    if let Some((key, value)) = keys.iter().find(|(key, value)| is_on(value) && !HARMLESS.contains(&key.as_str())) {
        let hint = "merge it with PEFT: model.merge_and_unload().save_pretrained('merged')";
        return refuse(format!("has `{key}` {value}, which is not read"), hint);
    }
    // The messages of `validate` name keys of the YAML; here the file is named.
    config.lora.validate(&path.display().to_string())?;
    Ok(config)
}

/// True where a value asks for something.
fn is_on(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(on) => *on,
        Value::Array(list) => !list.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::String(text) => !text.is_empty(),
        Value::Number(_) => true,
    }
}

fn typed<T: DeserializeOwned>(path: &Path, key: &str, value: Option<Value>) -> Result<Option<T>> {
    let Some(value) = value else { return Ok(None) };
    let shown = value.to_string();
    serde_json::from_value(value)
        .map(Some)
        .map_err(|error| model_error(path, format!("has `{key}` {shown}: {error}"), ""))
}

/// The file's content for adapters of ours beside `layers`, over a base model of this name.
///
/// PEFT looks for targets among all modules of a model, its pooler's too, so names that would fit more than our layers
/// are written out; so are modules to save, which PEFT looks for by the last letters of a name.
pub(crate) fn to_json(
    config: &LoraConfig,
    architecture: &Architecture,
    layers: &[String],
    base: &str,
    revision: Option<&str>,
) -> Value {
    let fits_more = config.targets.name("pooler.dense") || matches!(config.targets, Targets::AllLinear);
    let targets = if fits_more { json!(layers) } else { json!(config.targets) };
    let saved: Vec<String> = saved_modules(config, architecture);
    let saved = if saved.is_empty() { Value::Null } else { json!(saved) };
    json!({
        "alpha_pattern": whole_numbers(&config.alpha_pattern),
        "auto_mapping": null,
        "base_model_name_or_path": base,
        "bias": "none",
        "exclude_modules": null,
        "fan_in_fan_out": false,
        "inference_mode": true,
        "init_lora_weights": true,
        "layer_replication": null,
        "layers_pattern": null,
        "layers_to_transform": null,
        "lora_alpha": whole(config.alpha),
        "lora_bias": false,
        "lora_dropout": config.dropout,
        "megatron_config": null,
        "modules_to_save": saved,
        "peft_type": "LORA",
        "peft_version": VERSION,
        "r": config.rank,
        "rank_pattern": config.rank_pattern,
        "revision": revision,
        "target_modules": targets,
        "task_type": "FEATURE_EXTRACTION",
        "use_dora": config.use_dora,
        "use_rslora": config.use_rslora,
    })
}

/// Modules with weights of their own that train whole.
pub(crate) fn saved_modules(config: &LoraConfig, architecture: &Architecture) -> Vec<String> {
    let mut modules: Vec<String> = Vec::new();
    for spec in architecture.weights().iter().filter(|spec| config.saves(&spec.name)) {
        let module = spec.name.rsplit_once('.').map_or(spec.name.as_str(), |(module, _)| module);
        if !modules.iter().any(|known| known == module) {
            modules.push(module.to_owned());
        }
    }
    modules
}

/// PEFT types alpha as a whole number, and most are.
fn whole(value: f64) -> Value {
    if value.fract() == 0.0 && value < 1e15 { json!(value as u64) } else { json!(value) }
}

fn whole_numbers(patterns: &Patterns<f64>) -> Value {
    Value::Object(patterns.0.iter().map(|(pattern, value)| (pattern.clone(), whole(*value))).collect())
}
