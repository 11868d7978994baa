//! An encoder out to a folder that other tools read, checked before it appears.
//!
//! | format | for | holds |
//! |---|---|---|
//! | `st` | sentence-transformers of any version, and servers that read its older layout | all weights, pooling, prompts |
//! | `st6` | sentence-transformers 5.4 and later, in its own new layout | the same |
//! | `peft` | PEFT, and sentence-transformers with PEFT beside it | the adapters alone, over a base model |
//! | `safetensors` | `wb` itself | everything, in one `model.safetensors` with `encoder.json` beside it |
//!
//! The older layout is the default because the newer one is read wrongly, or not at all, by much of what serves embeddings.

mod cross_encoder;
mod layout;
pub mod lint;
mod multi_vector;
pub mod parity;
mod peft;
mod prepared;
mod static_embedding;
mod texts;
pub(crate) mod transformer;

use std::{fmt, fs, path::Path, str::FromStr};

use serde::{Deserialize, Serialize};
use wb_core::{atomic, suggest};

pub use self::parity::Parity;
use self::{layout::Layout, prepared::Prepared};
use crate::{
    error::{Error, Result},
    folder::{Folder, own},
    similarities::SimilarityConfig,
    weights::WeightType,
};

/// Layout of an exported folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExportFormat {
    /// A sentence-transformers folder in the layout of versions 2 to 5.3, which all later ones read too.
    #[default]
    St,
    /// A sentence-transformers folder in the layout of version 5.4 and later.
    St6,
    /// Adapters as PEFT saves them, with sentence-transformers' modules beside them.
    Peft,
    /// The folder of `wb` itself.
    Safetensors,
}

impl ExportFormat {
    const ALL: [Self; 4] = [Self::St, Self::St6, Self::Peft, Self::Safetensors];
}

impl fmt::Display for ExportFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::St => "st",
            Self::St6 => "st6",
            Self::Peft => "peft",
            Self::Safetensors => "safetensors",
        })
    }
}

impl FromStr for ExportFormat {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let known = Self::ALL.map(|format| format.to_string());
        Self::ALL.into_iter().find(|format| format.to_string() == name).ok_or_else(|| {
            let near = suggest::nearest(name, known.iter().map(String::as_str));
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            format!("`{name}`, expected {}{near}", known.join(", "))
        })
    }
}

/// Settings of an export.
#[derive(Debug, Clone, Default)]
pub struct ExportConfig {
    /// The layout.
    pub format: ExportFormat,
    /// Adds adapters into the weights. `st` and `st6` always do.
    pub merge: bool,
    /// Type of the weights on the disk.
    pub dtype: WeightType,
    /// The model that adapters belong to, as `adapter_config.json` is to name it.
    pub base: Option<String>,
    /// The base model's commit, where it is one of the hub.
    pub base_revision: Option<String>,
    /// Similarity that embeddings are compared by, which sentence-transformers is told.
    pub similarity: SimilarityConfig,
}

/// Findings of an export.
#[derive(Debug, Clone)]
pub struct Exported {
    /// Equality of the folder with the encoder that it was made of.
    pub parity: Parity,
    /// Notes for people: what the folder cannot say, and what was done to the encoder.
    pub notes: Vec<String>,
    /// Longest text of the folder, in tokens.
    pub max_tokens: usize,
    /// The folder brings a Python module along, which has to be trusted to be opened.
    pub has_own_module: bool,
}

/// Writes an encoder into a new folder, reads it back with the strict reader and compares the embeddings of 32 texts.
/// Where they differ nothing appears. `card` makes the README.md out of what was found.
pub fn export(
    source: &Folder,
    config: &ExportConfig,
    card: &dyn Fn(&Exported) -> String,
    to: &Path,
) -> Result<Exported> {
    if fs::symlink_metadata(to).is_ok() {
        return Err(Error::is_there(to));
    }
    let Prepared { folder, mut notes } = Prepared::new(source, config)?;
    let mut exported = None;
    atomic::folder_with(to, |inside| -> Result<()> {
        match config.format {
            ExportFormat::St | ExportFormat::St6 if folder.pair_reading.is_some() => {
                cross_encoder::write(&folder, config, inside)?;
            }
            ExportFormat::St => Layout::Legacy.write(&folder, config, inside)?,
            ExportFormat::St6 => Layout::New.write(&folder, config, inside)?,
            ExportFormat::Peft => peft::write(&folder, config, inside)?,
            ExportFormat::Safetensors => own::write_into(&folder, inside, Some(config.dtype))?,
        }
        let again = match config.format {
            // The base model need not be on this machine under the name that the adapters give it.
            ExportFormat::Peft => peft::read_back(&folder, inside)?,
            _ => Folder::read(inside)?,
        };
        let parity = Parity::measure(source, &folder, &again, config.dtype)?;
        parity.require(to)?;
        let found = lint::lint(inside)?;
        match config.format {
            // What is written here by default has to be right for the strictest reader.
            ExportFormat::St if !found.is_empty() && lint::applies(&folder) => {
                return Err(Error::file(to, found.join("; ")));
            }
            ExportFormat::St6 if folder.pair_reading.is_none() => notes.extend(found),
            _ => {}
        }
        let done = Exported {
            parity,
            notes: std::mem::take(&mut notes),
            max_tokens: folder.max_tokens.document,
            has_own_module: inside.join(static_embedding::MODULE_FILE).is_file(),
        };
        atomic::write(&inside.join("README.md"), card(&done).as_bytes())?;
        exported = Some(done);
        Ok(())
    })?;
    exported.ok_or_else(|| Error::data(to.display().to_string(), "was not written"))
}
