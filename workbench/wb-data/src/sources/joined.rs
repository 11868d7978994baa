//! Two files of records that are joined by a key: the same problem solved in two languages.

use std::{collections::BTreeMap, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Pair, Progress, Task, fingerprint::Fingerprint};

use super::{
    files::{Input, Item, fingerprint},
    gather::Gather,
    jsonl,
    record::{Record, text_of},
    source::{PairSource, SourceRead},
};
use crate::{Error, RecordPlace, Result};

/// One side of a join: JSON lines, or one JSON array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JoinedSide {
    /// The file.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub path: PathBuf,
    /// The field with the text; `a|b` and `a+b` as everywhere.
    pub text: String,
    /// The field with the key.
    pub key: String,
}

/// Records of the left file are anchors, those of the right with the same key positives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JoinedConfig {
    /// The anchors: a map of `path` (JSON lines or one JSON array), `text` (the field with the text) and `key` (the
    /// field with the key, unique in the file).
    pub left: JoinedSide,
    /// The positives, with the three keys of `left`.
    pub right: JoinedSide,
    /// The data set that its pairs belong to; without it, the source's kind and position.
    #[serde(default)]
    pub dataset: String,
    /// Only what follows the last of this in a key is compared: with `/`, `Python/3` meets `Java/3`; empty for whole
    /// keys.
    #[serde(default)]
    pub key_after: String,
    /// The language of the positives.
    #[serde(default)]
    pub language: String,
    /// The task of every pair.
    #[serde(default = "code2code")]
    pub task: Task,
}

/// The task of pairs whose two sides are code.
pub(super) fn code2code() -> Task {
    Task::Code2code
}

impl JoinedConfig {
    fn inputs(&self) -> Result<[Input; 2]> {
        Ok([Input::at(&self.left.path)?, Input::at(&self.right.path)?])
    }

    /// Texts with their keys and places in file order.
    fn side(
        &self,
        side: &JoinedSide,
        input: &Input,
        gather: &mut Gather<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<(String, String, RecordPlace)>> {
        let mut rows: Vec<(String, String, RecordPlace)> = Vec::new();
        let mut lines: BTreeMap<String, usize> = BTreeMap::new();
        let mut row = |record: &Record<'_>| -> Result<Option<(String, String, RecordPlace)>> {
            let key = text_of(record, &side.key)?.unwrap_or_default();
            let key = match self.key_after.is_empty() {
                true => key,
                false => key.rsplit_once(self.key_after.as_str()).map_or(key.clone(), |(_, key)| key.to_owned()),
            };
            if let Some(before) = lines.insert(key.clone(), record.place.line) {
                let message = format!("the key `{key}` was given before on line {before}, expected unique keys");
                return Err(Error::record(record.place.clone(), "duplicate key", message));
            }
            Ok(text_of(record, &side.text)?.map(|text| (key, text, record.place.clone())))
        };
        let mut sink = |item: Item<'_>| {
            match item {
                Item::Blank(count) => gather.leave_out("blank line", count),
                Item::Bad(error) => gather.refuse(error)?,
                Item::Record(record) => match row(&record) {
                    Ok(Some(row)) => rows.push(row),
                    Ok(None) => gather.leave_out(format!("null `{}`", side.text), 1),
                    Err(error) => gather.refuse(error)?,
                },
            }
            Ok(())
        };
        jsonl::records(&input.path, &mut sink, progress)?;
        Ok(rows)
    }
}

impl PairSource for JoinedConfig {
    fn name(&self) -> String {
        format!("joined {} {}", self.left.path.display(), self.right.path.display())
    }

    fn kind_and_dataset(&self) -> (&'static str, &str) {
        ("joined", &self.dataset)
    }

    fn validate(&self, key: &str) -> wb_core::Result<()> {
        for (name, side) in [("left", &self.left), ("right", &self.right)] {
            for (field, value) in [("text", &side.text), ("key", &side.key)] {
                if value.trim().is_empty() {
                    return Err(Error::value(format!("{key}.{name}.{field}"), "got nothing, expected a field"));
                }
            }
        }
        Ok(())
    }

    fn fingerprint(&self) -> Result<Fingerprint> {
        fingerprint(self, &self.inputs()?)
    }

    fn gather(&self, mut gather: Gather<'_>, progress: &mut dyn FnMut(Progress)) -> Result<SourceRead> {
        let [left, right] = self.inputs()?;
        let anchors = self.side(&self.left, &left, &mut gather, progress)?;
        let mut positives: BTreeMap<String, String> = self
            .side(&self.right, &right, &mut gather, progress)?
            .into_iter()
            .map(|(key, text, _)| (key, text))
            .collect();
        for (key, anchor, place) in anchors {
            let Some(positive) = positives.remove(&key) else {
                gather.leave_out("no counterpart", 1);
                continue;
            };
            let id = format!("{}-{}:{key}", left.stem, right.stem);
            // One problem is one group: its solutions must not stand on both sides of a split.
            let mut pair =
                Pair { id, task: self.task, language: self.language.clone(), anchor, positive, ..Pair::default() };
            pair.origin.group = key;
            gather.push(pair, place, &left.stem)?;
        }
        if !positives.is_empty() {
            gather.leave_out("no counterpart", positives.len() as u64);
        }
        gather.finish(self.name(), self.fingerprint()?)
    }
}
