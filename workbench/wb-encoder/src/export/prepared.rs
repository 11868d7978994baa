//! The encoder as the folder will hold it: adapters merged, one length for both sides, weights folded.

use super::{ExportConfig, ExportFormat, static_embedding};
use crate::{
    error::Result,
    folder::{Folder, MaxTokens},
    late_interaction::Markers,
    models::Architecture,
};

/// An encoder on its way out, and what was done to it.
pub(super) struct Prepared {
    pub folder: Folder,
    pub notes: Vec<String>,
}

impl Prepared {
    /// Refuses what a format cannot hold.
    pub fn new(source: &Folder, config: &ExportConfig) -> Result<Self> {
        let mut folder = source.clone();
        let mut notes = Vec::new();
        let refuse = |key: &str, message: String, hint: &str| Err(wb_core::Error::value(key, message).with_hint(hint));
        let name = &source.name;
        if folder.pair_reading.is_some() && config.format == ExportFormat::Peft {
            let message = format!("{name} is a cross-encoder, whose head trains beside its adapters");
            return refuse("--format peft", message, "--format st writes all weights");
        }
        match config.format {
            ExportFormat::Peft if config.merge => {
                return refuse(
                    "--merge",
                    "merged adapters are none any more, and `peft` writes adapters".into(),
                    "--format st --merge",
                );
            }
            ExportFormat::Peft if folder.lora.is_none() => {
                return refuse("--format peft", format!("{name} has no adapters"), "--format st writes all weights");
            }
            ExportFormat::Peft if config.base.is_none() => {
                let message = format!("it is not known which model the adapters of {name} belong to");
                return refuse("--format peft", message, "--base owner/name, or a folder");
            }
            ExportFormat::St | ExportFormat::St6 if folder.lora.is_some() => {
                folder.merge()?;
                if !config.merge {
                    notes.push("the adapters were added into the weights; `--format peft` keeps them apart".to_owned());
                }
            }
            _ if config.merge => folder.merge()?,
            _ => {}
        }
        if let Some(late) = folder.late_interaction.as_ref().filter(|_| config.format != ExportFormat::Safetensors) {
            if let Architecture::StaticEmbedding(_) = folder.model.architecture {
                let message =
                    format!("{name} compares single tokens of a bag, which sentence-transformers cannot hold");
                return refuse("--format", message, "--format safetensors");
            }
            if config.format == ExportFormat::St {
                notes.push(
                    "one vector a token: the layout is that of sentence-transformers 6, the first to have it".into(),
                );
            }
            if let Some(Markers { query, document }) = &late.config().markers {
                folder.tokenizer = folder.tokenizer.recognizing(&[query, document])?;
            }
            return Ok(Self { folder, notes });
        }
        if config.format != ExportFormat::Safetensors {
            if let Architecture::StaticEmbedding(shape) = folder.model.architecture.clone() {
                static_embedding::fold(&mut folder, &shape, &mut notes);
            }
            let MaxTokens { query, document } = folder.max_tokens;
            if query != document {
                notes.push(format!(
                    "sentence-transformers has one length for all texts: {} tokens here; wb cut queries at {query} and documents at {document}",
                    query.max(document)
                ));
                folder.max_tokens = MaxTokens::both(query.max(document));
            }
        }
        Ok(Self { folder, notes })
    }
}
