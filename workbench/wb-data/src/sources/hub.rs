//! Files of a data set on the Hugging Face hub: from the cache on this disk, else fetched.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Progress, fingerprint::Fingerprint};
use wb_hub::{Hub, RepoKind, RepoRef};

use super::{
    fields::config_of_records,
    files::{Format, Input, fingerprint, read_file},
    gather::{Gather, stem},
    source::{PairSource, SourceRead},
};
use crate::Result;

config_of_records! {
    /// Records in files of a data set repository.
    HubConfig {
        /// `owner/name` of a data set.
        pub repo: String,
        /// A commit, a branch or a tag; empty for the main branch. What is no commit becomes one once, in
        /// `runs/hub.lock`, so that the data are the same tomorrow.
        #[serde(default)]
        pub revision: String,
        /// Files in the repository, read in this order; the ending says the format.
        pub files: Vec<String>,
    }
}

/// Files of a data set repository.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HubFiles {
    /// `owner/name`.
    pub repo: String,
    /// A commit, a branch or a tag; without one, the main branch. What is no commit becomes one once, in the lock file.
    #[serde(default)]
    pub revision: String,
    /// Files in the repository, read in this order; the suffix says the format.
    pub files: Vec<String>,
}

impl HubFiles {
    /// The repository with the first digits of its commit, for tables.
    pub fn name(&self) -> String {
        match self.revision.as_str() {
            "" => self.repo.clone(),
            revision => format!("{}@{}", self.repo, revision.get(..12).unwrap_or(revision)),
        }
    }

    /// Refuses a repository, a revision or files that cannot be read; `key` is the config path of these keys.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
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
        Ok(())
    }

    fn repository(&self, key: &str) -> wb_core::Result<RepoRef> {
        RepoRef::new(RepoKind::Dataset, &self.repo, &self.revision, &format!("{key}.repo"))
    }

    /// The files on this disk with their formats, in order; their records are named by the file as it is called there.
    pub(super) fn inputs(&self, progress: &mut dyn FnMut(Progress)) -> Result<Vec<(Input, Format)>> {
        self.validate("hub")?;
        let repo = self.repository("hub")?;
        let mut inputs = Vec::new();
        for (done, file) in self.files.iter().enumerate() {
            progress(Progress::new("fetching files", done, self.files.len()).note(file.clone()));
            let path = Hub::session().file(&repo, file)?;
            let format = Format::of(file.as_ref()).unwrap_or(Format::Jsonl);
            inputs.push((Input { path: Arc::from(path.as_path()), stem: file.clone() }, format));
        }
        Ok(inputs)
    }
}

impl HubConfig {
    fn hub_files(&self) -> HubFiles {
        HubFiles { repo: self.repo.clone(), revision: self.revision.clone(), files: self.files.clone() }
    }

    /// The files with their formats, their records named without the suffix.
    pub(super) fn inputs(&self, progress: &mut dyn FnMut(Progress)) -> Result<Vec<(Input, Format)>> {
        let without_suffix = |file: &str| match file.rsplit_once('/') {
            Some((folder, _)) => format!("{folder}/{}", stem(file.as_ref())),
            None => stem(file.as_ref()),
        };
        let inputs = self.hub_files().inputs(progress)?.into_iter();
        Ok(inputs.map(|(input, format)| (Input { stem: without_suffix(&input.stem), ..input }, format)).collect())
    }
}

impl PairSource for HubConfig {
    fn name(&self) -> String {
        format!("hub {}", self.hub_files().name())
    }

    fn kind_and_dataset(&self) -> (&'static str, &str) {
        ("hub", &self.dataset)
    }

    fn validate(&self, key: &str) -> wb_core::Result<()> {
        self.hub_files().validate(key)?;
        self.shape().validate(key)
    }

    fn fingerprint(&self) -> Result<Fingerprint> {
        let inputs = self.inputs(&mut wb_core::progress::silent)?.into_iter();
        fingerprint(self, &inputs.map(|(input, _)| input).collect::<Vec<_>>())
    }

    fn gather(&self, mut gather: Gather<'_>, progress: &mut dyn FnMut(Progress)) -> Result<SourceRead> {
        let (inputs, formats): (Vec<_>, Vec<_>) = self.inputs(progress)?.into_iter().unzip();
        for (input, format) in inputs.iter().zip(formats) {
            read_file(input, format, self.shape(), &mut gather, progress)?;
        }
        gather.finish(self.name(), fingerprint(self, &inputs)?)
    }
}
