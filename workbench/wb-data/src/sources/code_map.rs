//! A JSON object of Python functions, as CoSQA keeps its pool: each function's own docstring describes it.

use std::{fs, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wb_core::{Pair, Progress, Task, fingerprint::Fingerprint};

use super::{
    fields::AnchorPart,
    files::{Input, fingerprint},
    gather::Gather,
    jsonl::not_json,
    source::{PairSource, SourceRead},
};
use crate::{Error, RecordPlace, Result, text};

/// `{"def f(): ...": 0, ...}`: the anchor is the docstring, the positive the function without it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodeMapConfig {
    /// A JSON object `{"def f(): ...": 0, ...}`. Anchor: the function's docstring; positive: the function without it.
    /// Functions without one are counted.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub path: PathBuf,
    /// The data set that its pairs belong to; without it, the source's kind and position.
    #[serde(default)]
    pub dataset: String,
    /// The part of the docstring that is read: `whole` or `first_paragraph`.
    #[serde(default)]
    pub anchor_part: AnchorPart,
}

impl CodeMapConfig {
    fn input(&self) -> Result<Input> {
        Input::at(&self.path)
    }
}

impl PairSource for CodeMapConfig {
    fn name(&self) -> String {
        format!("code_map {}", self.path.display())
    }

    fn kind_and_dataset(&self) -> (&'static str, &str) {
        ("code_map", &self.dataset)
    }

    fn validate(&self, key: &str) -> wb_core::Result<()> {
        match self.path.as_os_str().is_empty() {
            true => Err(Error::value(format!("{key}.path"), "got nothing, expected a file")),
            false => Ok(()),
        }
    }

    fn fingerprint(&self) -> Result<Fingerprint> {
        fingerprint(self, &[self.input()?])
    }

    fn gather(&self, mut gather: Gather<'_>, progress: &mut dyn FnMut(Progress)) -> Result<SourceRead> {
        let Input { path, stem } = self.input()?;
        let bytes = fs::read(&path).map_err(Error::io("read", &*path))?;
        progress(Progress::new("reading pairs", bytes.len(), bytes.len()));
        let codes: Map<String, Value> = serde_json::from_slice(&bytes).map_err(|error| {
            let place = RecordPlace::line(&path, error.line().max(1)).at(error.column());
            match error.is_data() {
                true => Error::record(place, "wrong type", "expected one object of functions and their numbers"),
                false => not_json(place, &error),
            }
        })?;
        for (item, (code, index)) in codes.into_iter().enumerate() {
            // One entry a line is how such files are written; the opening brace is the first.
            let place = RecordPlace::line(&path, item + 2);
            let Some(index) = index.as_u64() else {
                gather.refuse(Error::record(
                    place,
                    "wrong type",
                    format!("the value is {index}, expected a number"),
                ))?;
                continue;
            };
            let Some((doc, positive)) = wb_code::split_docstring(&code) else {
                gather.leave_out("no docstring", 1);
                continue;
            };
            let anchor = match self.anchor_part {
                AnchorPart::Whole => doc,
                AnchorPart::FirstParagraph => text::first_paragraph(&doc).to_owned(),
            };
            let id = format!("{stem}:{index}");
            let pair =
                Pair { id, task: Task::Text2code, language: "python".into(), anchor, positive, ..Pair::default() };
            gather.push(pair, place, &stem)?;
        }
        gather.finish(self.name(), self.fingerprint()?)
    }
}
