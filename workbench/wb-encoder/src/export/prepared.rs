//! The encoder as the folder will hold it: adapters merged, one length for both sides, weights folded.

use super::{ExportConfig, ExportFormat, layout::Layout, static_embedding};
use crate::{
    error::Result,
    folder::{Folder, MaxTokens},
    late_interaction::Markers,
    models::{Architecture, Transformer},
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
            // PEFT computes the adapters over the base model, whose own `config.json` says what its tokens see.
            ExportFormat::Peft if attention_changed(&folder) => {
                let message = format!(
                    "the tokens of {name} see others than those of its base model do (encoder.bidirectional), which adapters cannot say"
                );
                return refuse("--format peft", message, "--format st6");
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
        notes.extend(note_of_version(&folder, config.format));
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

fn attention_changed(folder: &Folder) -> bool {
    folder.model.architecture.transformer().is_some_and(Transformer::attention_changed)
}

/// The version of transformers that a folder needs, where its layout alone would do with an older one.
fn note_of_version(folder: &Folder, format: ExportFormat) -> Option<String> {
    let layout = match format {
        ExportFormat::St if folder.late_interaction.is_none() => Layout::Legacy,
        ExportFormat::St | ExportFormat::St6 => Layout::New,
        ExportFormat::Peft | ExportFormat::Safetensors => return None,
    };
    let [major, minor] = layout.first_transformers(folder);
    let architecture = &folder.model.architecture;
    let kind = architecture.transformer()?.kind();
    // A decoder could be causal, and is not.
    let is_open_decoder = !architecture.is_causal() && architecture.clone().set_bidirectional(false, "").is_ok();
    let silently = match is_open_decoder {
        true => {
            ": its tokens see those after them, which older versions pass over in config.json, and give other vectors"
        }
        false => "",
    };
    ([major, minor] > layout.transformers())
        .then(|| format!("{kind} is opened with transformers {major}.{minor} or later{silently}"))
}
