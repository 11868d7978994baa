//! Files of a data set on the Hugging Face hub: from the cache on this disk, else fetched.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use wb_core::{Progress, Task, fingerprint::Fingerprint};
use wb_hub::{Hub, RepoKind, RepoRef};

use super::{
    fields::{AnchorPart, Fields, Nulls, PositivePart, Shape},
    files::{Format, Input, fingerprint, read_file},
    gather::{Gather, stem},
    source::{Source, SourceRead},
};
use crate::Result;

/// Files of a data set repository.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubConfig {
    /// `owner/name`.
    pub repo: String,
    /// A commit, a branch or a tag; without one, the main branch. What is no commit becomes one once, in the lock file.
    #[serde(default)]
    pub revision: String,
    /// Files in the repository, read in this order; the suffix says the format.
    pub files: Vec<String>,
    /// The data set that its pairs belong to; without it, the record's own, or the source's kind and position.
    #[serde(default)]
    pub dataset: String,
    /// Names of the fields.
    #[serde(default)]
    pub fields: Fields,
    /// Only records whose field has this value (`{ label: 1 }`); the others are counted.
    #[serde(default)]
    pub only: BTreeMap<String, Value>,
    /// The task of every pair; null for the record's own `task`, or text2code.
    #[serde(default)]
    pub task: Option<Task>,
    /// The language of pairs whose record names none.
    #[serde(default)]
    pub language: String,
    /// Which part of the anchor's field: `whole` or `first_paragraph`.
    #[serde(default)]
    pub anchor_part: AnchorPart,
    /// Which part of the positive's field: `whole` or `without_docstring` (Python).
    #[serde(default)]
    pub positive_part: PositivePart,
    /// Records with a null in the anchor or the positive: `refuse` or `drop`.
    #[serde(default)]
    pub nulls: Nulls,
}

impl HubConfig {
    fn repository(&self, key: &str) -> wb_core::Result<RepoRef> {
        RepoRef::new(RepoKind::Dataset, &self.repo, &self.revision, &format!("{key}.repo"))
    }

    fn shape(&self) -> Shape {
        Shape {
            fields: self.fields.clone(),
            only: self.only.clone(),
            task: self.task,
            language: self.language.clone(),
            anchor_part: self.anchor_part,
            positive_part: self.positive_part,
            nulls: self.nulls,
        }
    }

    fn inputs(&self, progress: &mut dyn FnMut(Progress)) -> Result<Vec<Input>> {
        self.validate("hub")?;
        let repo = self.repository("hub")?;
        let mut inputs = Vec::new();
        for (done, file) in self.files.iter().enumerate() {
            progress(Progress::new("fetching files", done, self.files.len()).note(file.clone()));
            let path = Hub::session().file(&repo, file)?;
            let stem = match file.rsplit_once('/') {
                Some((folder, _)) => format!("{folder}/{}", stem(file.as_ref())),
                None => stem(file.as_ref()),
            };
            inputs.push(Input { path: Arc::from(path.as_path()), stem });
        }
        Ok(inputs)
    }
}

impl Source for HubConfig {
    fn name(&self) -> String {
        match self.revision.as_str() {
            "" => format!("hub {}", self.repo),
            revision => format!("hub {}@{}", self.repo, revision.get(..12).unwrap_or(revision)),
        }
    }

    fn kind_and_dataset(&self) -> (&'static str, &str) {
        ("hub", &self.dataset)
    }

    fn validate(&self, key: &str) -> wb_core::Result<()> {
        self.repository(key)?;
        if self.files.is_empty() {
            return Err(wb_core::Error::value(format!("{key}.files"), "got no file, expected at least one"));
        }
        for (index, file) in self.files.iter().enumerate() {
            if Format::of(file.as_ref()).is_none() {
                let message =
                    format!("got `{file}`, expected a name that ends in .parquet, .jsonl, .json, .csv (.gz too)");
                return Err(wb_core::Error::value(format!("{key}.files[{index}]"), message));
            }
            if file.split('/').any(|part| part.is_empty() || part == "." || part == "..") {
                let message = format!("got `{file}`, expected a path inside the repository");
                return Err(wb_core::Error::value(format!("{key}.files[{index}]"), message));
            }
        }
        self.shape().validate(key)
    }

    fn fingerprint(&self) -> Result<Fingerprint> {
        fingerprint(self, &self.inputs(&mut wb_core::progress::silent)?)
    }

    fn gather(&self, mut gather: Gather<'_>, progress: &mut dyn FnMut(Progress)) -> Result<SourceRead> {
        let inputs = self.inputs(progress)?;
        let shape = self.shape();
        for (file, input) in self.files.iter().zip(&inputs) {
            let format = Format::of(file.as_ref()).unwrap_or(Format::Jsonl);
            read_file(input, format, &shape, &mut gather, progress)?;
        }
        gather.finish(self.name(), fingerprint(self, &inputs)?)
    }
}
