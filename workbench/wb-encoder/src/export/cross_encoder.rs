//! A cross-encoder as sentence-transformers' `CrossEncoder` and transformers read it.

use std::path::Path;

use serde_json::{Value, json};
use wb_core::run_dir::write_json;

use super::{
    ExportConfig, ExportFormat,
    layout::{Layout, Module},
    transformer,
};
use crate::{
    cross_encoder::ScoreActivation,
    error::{Error, Result},
    folder::Folder,
    models::score_head::PREFIX,
    weights,
};

/// `config.json` of transformers' class with one label, the weights under its names, the tokenizer; for the layout of
/// sentence-transformers 5.4 and later also its modules and settings. The older one says all in `config.json`, and is
/// read by version 4 and later.
pub(super) fn write(folder: &Folder, config: &ExportConfig, to: &Path) -> Result<()> {
    let missing = || Error::data(folder.name.as_str(), "is no cross-encoder on a transformer");
    let reading = folder.pair_reading.as_ref().ok_or_else(missing)?;
    let transformer = folder.model.architecture.transformer().ok_or_else(missing)?;
    let scored = transformer.scored_as(None)?.ok_or_else(missing)?;
    let activation = match reading.activation {
        ScoreActivation::Sigmoid => "torch.nn.modules.activation.Sigmoid",
        ScoreActivation::Identity => "torch.nn.modules.linear.Identity",
    };

    let mut keys: Value = transformer::config(folder, config.dtype)?;
    keys["architectures"] = json!([scored.classes[0]]);
    keys["id2label"] = json!({"0": "LABEL_0"});
    keys["label2id"] = json!({"LABEL_0": 0});
    keys["sentence_transformers"] = json!({"activation_fn": activation, "version": "5.0.0"});
    reading.head.write_keys(&mut keys);
    write_json(&to.join("config.json"), &keys)?;

    let named = folder.model.parameters.iter().map(|one| {
        let of_head = one.name.strip_prefix(PREFIX);
        // The pooler of a BERT belongs to the network, as transformers names it.
        let name = match of_head {
            Some(name) if name.starts_with("pooler.") => format!("{}{name}", scored.holder),
            Some(name) => name.to_owned(),
            None => format!("{}{}", scored.holder, one.name),
        };
        (name, one)
    });
    weights::write_as(&to.join("model.safetensors"), named, Some(config.dtype))?;
    transformer::write_tokenizer(folder, to)?;
    if config.format == ExportFormat::St {
        return Ok(());
    }
    Layout::New.write_list(&[(Module::Transformer, "")], to)?;
    let of_module = json!({
        "transformer_task": "sequence-classification",
        "modality_config": {"text": {"method": "forward", "method_output_name": "logits"}},
        "module_output_name": "scores",
    });
    write_json(&to.join("sentence_bert_config.json"), &of_module)?;
    let about = json!({
        "__version__": Layout::New.versions(folder),
        "activation_fn": activation,
        "default_prompt_name": null,
        "model_type": "CrossEncoder",
        "prompts": {},
    });
    write_json(&to.join("config_sentence_transformers.json"), &about)
}
