//! Records with one text each, for those who want no pairs: the same files, field names and errors as [`super::SourceConfig`].

use std::{collections::BTreeMap, io::BufRead as _, path::Path, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wb_core::{Origin, Progress, remote};

use super::{
    HubFiles,
    files::{Item, list_all, records},
    jsonl::{check_line, open, read_error},
    record::{Mapped, Record, left_out, optional, roots, text_of, validate_only},
};
use crate::{RecordPlace, Result};

/// Fields of a record that hold its text and what is known of it. Names as in [`super::Fields`]; all but `text` may be
/// absent from a record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TextFields {
    /// The text: one string, or an array of strings that is joined by single spaces.
    pub text: String,
    /// Words about the text: a docstring, a title; nothing for none.
    pub context: String,
    /// The id; null for `<file>:<line>`.
    pub id: Option<String>,
    /// Programming language.
    pub language: String,
    /// The unit that it belongs to: a repository.
    pub group: String,
    /// File inside the group.
    pub path: String,
    /// License.
    pub license: String,
}

impl Default for TextFields {
    fn default() -> Self {
        Self {
            text: "text|code|content".into(),
            context: String::new(),
            id: None,
            language: "language".into(),
            group: "origin.group|group|repo|repo_name".into(),
            path: "origin.path|path".into(),
            license: "origin.license|license".into(),
        }
    }
}

impl TextFields {
    /// Refuses a text without a name, and `only` with values that no field is compared with.
    pub fn validate(&self, only: &BTreeMap<String, Value>, key: &str) -> wb_core::Result<()> {
        if self.text.split(['|', '+']).any(|part| part.trim().is_empty()) {
            let message = format!("got `{}`, expected a field name, `a|b` or `a+b`", self.text);
            return Err(wb_core::Error::value(format!("{key}.fields.text"), message));
        }
        validate_only(only, key)
    }

    /// Top-level names that a reader of tables must fetch.
    pub(super) fn roots(&self, only: &BTreeMap<String, Value>) -> Vec<String> {
        let names = [&self.text, &self.context, &self.language, &self.group, &self.path, &self.license];
        let names = names.into_iter().chain(&self.id).chain(only.keys());
        roots(names.map(String::as_str))
    }

    pub(super) fn pick(
        &self,
        record: &Record<'_>,
        only: &BTreeMap<String, Value>,
        stem: &str,
    ) -> Result<Mapped<TextRecord>> {
        if let Some(reason) = left_out(only, record)? {
            return Ok(Mapped::LeftOut(reason));
        }
        let Some(text) = text_of(record, &self.text)? else {
            return Ok(Mapped::LeftOut(format!("null `{}`", self.text)));
        };
        let id = match &self.id {
            Some(name) => optional(record, name)?,
            None => String::new(),
        };
        Ok(Mapped::To(Box::new(TextRecord {
            id: if id.is_empty() { format!("{stem}:{}", record.place.line) } else { id },
            text,
            context: optional(record, &self.context)?,
            language: optional(record, &self.language)?.to_lowercase(),
            origin: Origin {
                group: optional(record, &self.group)?,
                path: optional(record, &self.path)?,
                license: optional(record, &self.license)?,
                ..Origin::default()
            },
            place: record.place.clone(),
        })))
    }
}

/// Files to read records from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TextFiles<'a> {
    /// A file, or a folder whose Parquet, JSON and CSV files are read in order of their paths, subfolders too.
    Path(&'a Path),
    /// Files of a data set on the hub, in this order.
    Hub(&'a HubFiles),
    /// A file of one text a line, plain or gzipped; a blank line is an empty text. No field is asked for.
    Lines(&'a Path),
}

/// One record with a text.
#[derive(Debug, Clone, PartialEq)]
pub struct TextRecord {
    /// The record's own id, else `<file>:<line>`.
    pub id: String,
    /// The text.
    pub text: String,
    /// Words that speak of the text.
    pub context: String,
    /// Programming language in lower case, empty where it is not known.
    pub language: String,
    /// Group, path and license, as far as the record has them.
    pub origin: Origin,
    /// The place of its record.
    pub place: RecordPlace,
}

/// Gives every record, or what is wrong with it, to `take`, in the order of files and lines; an error of `take` ends the
/// reading.
/// Returns how many files were read.
pub fn each_text(
    files: TextFiles<'_>,
    fields: &TextFields,
    only: &BTreeMap<String, Value>,
    take: &mut dyn FnMut(Result<Mapped<TextRecord>>) -> Result<()>,
    progress: &mut dyn FnMut(Progress),
) -> Result<u64> {
    let inputs = match files {
        TextFiles::Path(path) => list_all(path)?,
        TextFiles::Hub(files) => files.inputs(progress)?,
        TextFiles::Lines(path) => return each_line(path, take, progress),
    };
    let roots = fields.roots(only);
    for (input, format) in &inputs {
        let mut sink = |item: Item<'_>| match item {
            Item::Blank(count) => (0..count).try_for_each(|_| take(Ok(Mapped::LeftOut("blank line".into())))),
            Item::Bad(error) => take(Err(error)),
            Item::Record(record) => take(fields.pick(&record, only, &input.stem)),
        };
        records(input, *format, &roots, &mut sink, progress)?;
    }
    Ok(inputs.len() as u64)
}

/// Gives every line to `take`, as a text with the id `<file>:<line>`.
fn each_line(
    path: &Path,
    take: &mut dyn FnMut(Result<Mapped<TextRecord>>) -> Result<()>,
    progress: &mut dyn FnMut(Progress),
) -> Result<u64> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let path: Arc<Path> = Arc::from(remote::local(path)?);
    let mut opened = open(&path)?;
    for number in 1.. {
        let mut line = Vec::new();
        let read = opened.reader.read_until(b'\n', &mut line);
        if read.map_err(|error| read_error(&path, number, error))? == 0 {
            break;
        }
        let place = RecordPlace::line(&path, number);
        take(check_line(&place, &line).map(|(text, _)| {
            Mapped::To(Box::new(TextRecord {
                id: format!("{name}:{number}"),
                text: text.to_owned(),
                context: String::new(),
                language: String::new(),
                origin: Origin::default(),
                place: place.clone(),
            }))
        }))?;
        if number % 4096 == 0 {
            opened.tell(&path, progress);
        }
    }
    opened.tell(&path, progress);
    Ok(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<std::result::Result<(String, String), String>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        std::fs::write(&path, bytes).unwrap();
        let mut found = Vec::new();
        let mut take = |item: Result<Mapped<TextRecord>>| {
            found.push(match item {
                Ok(Mapped::To(record)) => Ok((record.id, record.text)),
                Ok(Mapped::LeftOut(reason)) => Err(reason),
                Err(error) => Err(error.to_string().rsplit('/').next().unwrap_or_default().to_owned()),
            });
            Ok(())
        };
        let files = each_text(
            TextFiles::Lines(&path),
            &TextFields::default(),
            &BTreeMap::new(),
            &mut take,
            &mut wb_core::progress::silent,
        );
        assert_eq!(files.unwrap(), 1);
        found
    }

    #[test]
    fn every_line_is_a_text_and_a_blank_one_an_empty_text() {
        let text = |id: &str, text: &str| Ok((id.to_owned(), text.to_owned()));
        let found = lines(b"\xef\xbb\xbfone\n\n  three \r\nfour");
        assert_eq!(
            found,
            [text("a.txt:1", "one"), text("a.txt:2", ""), text("a.txt:3", "  three "), text("a.txt:4", "four")]
        );
        assert_eq!(lines(b""), []);
        assert_eq!(lines(b"a\nb\xff\n"), [text("a.txt:1", "a"), Err("a.txt:2:2: byte 0xff is not UTF-8".to_owned())]);
    }
}
