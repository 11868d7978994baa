//! Records of JSON lines, Parquet and CSV, on this disk or in a data set on the hub.

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wb_code::canonical_name;
use wb_core::{Error, Progress};
use wb_data::sources::{
    HubFiles, Mapped,
    texts::{TextFields, TextFiles, each_text},
};

use super::{
    Result, Snippet,
    cut::{CutConfig, cut},
    source::{SnippetSource, Take},
};

/// Files to read, and their fields.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RecordSnippets {
    /// A file, or a folder whose Parquet, JSON and CSV files are read; either this or `hub`.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub path: Option<PathBuf>,
    /// Files of a data set on the hub; either this or `path`.
    pub hub: Option<HubFiles>,
    /// Names of the fields.
    pub fields: TextFields,
    /// Only records whose field has this value (`{ language: Python }`); the others are counted.
    pub only: BTreeMap<String, Value>,
    /// The language of records that name none.
    pub language: String,
    /// Cuts longer texts to pieces; null leaves them whole.
    pub cut: Option<CutConfig>,
}

impl SnippetSource for RecordSnippets {
    fn kind(&self) -> &'static str {
        "records"
    }

    fn place(&self) -> String {
        match (&self.path, &self.hub) {
            (Some(path), _) => format!("records {}", path.display()),
            (None, Some(hub)) => format!("records {}", hub.name()),
            (None, None) => "records".to_owned(),
        }
    }

    fn validate(&self, key: &str) -> wb_core::Result<()> {
        match (&self.path, &self.hub) {
            (Some(_), Some(_)) => return Err(Error::value(key, "got `path` and `hub`, expected one of them")),
            (None, None) => return Err(Error::value(key, "got neither `path` nor `hub`, expected one of them")),
            (None, Some(hub)) => hub.validate(&format!("{key}.hub"))?,
            (Some(_), None) => {}
        }
        self.cut.map_or(Ok(()), |cut| cut.validate(&format!("{key}.cut")))?;
        self.fields.validate(&self.only, key)
    }

    fn each(&self, take: &mut Take<'_>, progress: &mut dyn FnMut(Progress)) -> Result<()> {
        let files = match (&self.path, &self.hub) {
            (Some(path), _) => TextFiles::Path(path),
            (None, Some(hub)) => TextFiles::Hub(hub),
            (None, None) => return Err(Error::value("records", "got neither `path` nor `hub`")),
        };
        let mut give = |mapped| {
            match mapped {
                Ok(Mapped::To(record)) => self.record(*record, take),
                Ok(Mapped::LeftOut(reason)) => take.leave_out(reason, 1),
                Err(error) => take.bad(error)?,
            }
            Ok(())
        };
        let read = each_text(files, &self.fields, &self.only, &mut give, progress)?;
        (0..read).for_each(|_| take.file());
        Ok(())
    }
}

impl RecordSnippets {
    fn record(&self, record: wb_data::sources::texts::TextRecord, take: &mut Take<'_>) {
        let language = if record.language.is_empty() { self.language.clone() } else { record.language };
        let mut origin = record.origin;
        if origin.path.is_empty() {
            // What names no file of its own is found again by its record.
            let file = record.place.path.file_name().unwrap_or_default().to_string_lossy();
            origin.path = format!("{file}:{}", record.place.line);
        }
        let whole = Snippet {
            id: record.id,
            language: canonical_name(&language),
            text: record.text,
            context: record.context,
            origin,
        };
        let Some(config) = self.cut else { return take.snippet(whole) };
        let pieces = cut(&whole.text, take.tokens, config);
        if pieces.len() == 1 {
            return take.snippet(whole);
        }
        for (number, piece) in pieces.into_iter().enumerate() {
            let id = format!("{}/{}", whole.id, number + 1);
            take.snippet(Snippet { id, text: whole.text[piece].to_owned(), ..whole.clone() });
        }
    }
}
