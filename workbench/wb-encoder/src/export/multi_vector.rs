//! An encoder of one vector a token as sentence-transformers 6 has it: the modules of its `MultiVectorEncoder`.

use std::path::Path;

use serde_json::{Value, json};
use wb_core::run_dir::write_json;

use super::{
    ExportConfig,
    layout::{Layout, Module},
    transformer,
};
use crate::{
    error::Result,
    folder::Folder,
    late_interaction::{LateInteraction, Markers, PUNCTUATION, WEIGHT},
    weights,
};

/// Everything but the transformer's config and weights.
pub(super) fn write_around(folder: &Folder, late: &LateInteraction, config: &ExportConfig, to: &Path) -> Result<()> {
    transformer::write_tokenizer(folder, to)?;
    let settings = late.config();
    let expansion = settings.expansion.min(folder.max_tokens.query);
    let expansion = match expansion {
        0 => Value::Null,
        length => json!({"strategy": "min", "attend": settings.attend, "token": null, "length": length}),
    };
    write_json(
        &to.join("sentence_bert_config.json"),
        &json!({
            "transformer_task": "feature-extraction",
            "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
            "module_output_name": "token_embeddings",
            "query_length": folder.max_tokens.query,
            "document_length": folder.max_tokens.document,
            "query_expansion": expansion,
        }),
    )?;
    write_matrix(folder, late, config, &to.join("1_Dense"))?;
    let skipped: Vec<String> = PUNCTUATION.chars().filter(|_| settings.skip_punctuation).map(String::from).collect();
    write_json(
        &to.join("2_MultiVectorMask/config.json"),
        &json!({"skiplist_words": skipped, "skiplist_tasks": ["document"], "keep_only_token_ids": null}),
    )?;
    write_json(
        &to.join("3_Normalize/config.json"),
        &json!({"module_input_name": "token_embeddings", "module_output_name": "token_embeddings"}),
    )?;
    let modules = [
        (Module::Transformer, ""),
        (Module::Dense, "1_Dense"),
        (Module::MultiVectorMask, "2_MultiVectorMask"),
        (Module::Normalize, "3_Normalize"),
    ];
    Layout::New.write_list(&modules, to)?;
    let prompt = |marker: fn(&Markers) -> &str, prompt: &str| {
        format!("{}{prompt}", settings.markers.as_ref().map(marker).unwrap_or_default())
    };
    let about = json!({
        "__version__": Layout::New.versions(folder),
        "model_type": "MultiVectorEncoder",
        "prompts": {
            "query": prompt(|m| &m.query, &folder.prompts.query),
            "document": prompt(|m| &m.document, &folder.prompts.document),
        },
        "default_prompt_name": null,
        "similarity_fn_name": "maxsim",
    });
    write_json(&to.join("config_sentence_transformers.json"), &about)
}

fn write_matrix(folder: &Folder, late: &LateInteraction, config: &ExportConfig, to: &Path) -> Result<()> {
    let Some(matrix) = folder.model.parameters.get(WEIGHT) else {
        return Err(wb_core::Error::data(folder.name.as_str(), format!("has no weight `{WEIGHT}`")));
    };
    let settings = json!({
        "in_features": matrix.shape[1],
        "out_features": late.dim(),
        "bias": false,
        "activation_function": "torch.nn.modules.linear.Identity",
        "module_input_name": "token_embeddings",
        "module_output_name": "token_embeddings",
    });
    write_json(&to.join("config.json"), &settings)?;
    let named = [("linear.weight".to_owned(), matrix)];
    weights::write_as(&to.join("model.safetensors"), named.into_iter(), Some(config.dtype))
}
