//! Files of a Hugging Face repository at a pinned revision: from the hub's cache on disk, else from the hub.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use wb_core::{Progress, Task, fingerprint::Fingerprint};

use super::{
    fields::{AnchorPart, Fields, Nulls, PositivePart, Shape},
    files::{Format, Input, fingerprint, read_file},
    gather::{Gather, stem},
    source::{Source, SourceRead},
};
use crate::{Error, Result};

/// Files of a data set repository.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubConfig {
    /// `owner/name`.
    pub repo: String,
    /// Commit hash, 40 hex digits: a branch would be other data tomorrow.
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
    /// Refuses values that make no sense; `key` is the config path of the source.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        check(key, &self.repo, &self.revision)?;
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
        let mut inputs = Vec::new();
        for (done, file) in self.files.iter().enumerate() {
            progress(Progress::new("fetching files", done, self.files.len()).note(file.clone()));
            let path = fetch(Kind::Dataset, &self.repo, &self.revision, file)?;
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
        format!("hub {}@{}", self.repo, self.revision.get(..12).unwrap_or(&self.revision))
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

/// What a repository holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A data set.
    Dataset,
    /// A model.
    Model,
}

impl Kind {
    /// What works without the hub.
    fn elsewhere(self) -> &'static str {
        match self {
            Self::Dataset => "name a file on this disk with a `jsonl` or `parquet` source",
            Self::Model => "name a folder with config.json, model.safetensors and tokenizer.json",
        }
    }
}

/// Refuses a repository name or revision that cannot be one; `key` is the config path of both.
pub fn check(key: &str, repo: &str, revision: &str) -> wb_core::Result<()> {
    let named = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    if !(repo.split('/').count() <= 2 && repo.split('/').all(named)) {
        return Err(wb_core::Error::value(format!("{key}.repo"), format!("got `{repo}`, expected `owner/name`")));
    }
    if revision.len() != 40 || !revision.chars().all(|c| c.is_ascii_hexdigit()) {
        let message = format!("got `{revision}`, expected a commit hash of 40 hex digits");
        let hint = "the repository's page shows it under \"History\"; a branch would be other data tomorrow";
        return Err(wb_core::Error::value(format!("{key}.revision"), message).with_hint(hint));
    }
    Ok(())
}

/// A file of a repository on this disk: the cached one, else downloaded, unless `WB_OFFLINE=1` or the build has no `hub`.
pub fn fetch(kind: Kind, repo: &str, revision: &str, file: &str) -> Result<PathBuf> {
    Hub::of_environment().fetch(kind, repo, revision, file)
}

/// [`fetch`] for a file that a repository need not have: nothing where the hub says that there is none, or where
/// the hub may not be asked and the cache has none. Any other failure is an error: half a model is none.
pub fn fetch_optional(kind: Kind, repo: &str, revision: &str, file: &str) -> Result<Option<PathBuf>> {
    Hub::of_environment().fetch_optional(kind, repo, revision, file)
}

/// Where files are kept, and whether and whom to ask for those that are not there.
struct Hub {
    folder: Option<PathBuf>,
    offline: bool,
    /// Nothing for the usual one (`$HF_ENDPOINT`, else huggingface.co).
    endpoint: Option<String>,
}

impl Hub {
    fn of_environment() -> Self {
        let offline = std::env::var_os("WB_OFFLINE").is_some_and(|value| !value.is_empty() && value != "0");
        Self { folder: cache_folder(), offline, endpoint: None }
    }

    fn fetch(&self, kind: Kind, repo: &str, revision: &str, file: &str) -> Result<PathBuf> {
        let folder = self.cache(repo, revision, file)?;
        if let Some(path) = cached(folder, kind, repo, revision, file) {
            return Ok(path);
        }
        let elsewhere = kind.elsewhere();
        if self.offline {
            let message = "not in the hub's cache, and WB_OFFLINE forbids to ask for it";
            return Err(
                failed(repo, revision, file, message).with_hint(format!("run once without WB_OFFLINE, or {elsewhere}"))
            );
        }
        if !cfg!(feature = "hub") {
            let message = "not in the hub's cache, and this build cannot ask the hub";
            return Err(
                failed(repo, revision, file, message).with_hint(format!("build with `--features hub`, or {elsewhere}"))
            );
        }
        download(folder, self.endpoint.as_deref(), kind, repo, revision, file)?.ok_or_else(|| {
            failed(repo, revision, file, "the hub has no such file, revision or repository")
                .with_hint("its page on the hub lists them; one that is not public needs HF_TOKEN")
        })
    }

    fn fetch_optional(&self, kind: Kind, repo: &str, revision: &str, file: &str) -> Result<Option<PathBuf>> {
        let folder = self.cache(repo, revision, file)?;
        let path = cached(folder, kind, repo, revision, file);
        if path.is_some() || self.offline || !cfg!(feature = "hub") {
            return Ok(path);
        }
        download(folder, self.endpoint.as_deref(), kind, repo, revision, file)
    }

    fn cache(&self, repo: &str, revision: &str, file: &str) -> Result<&Path> {
        self.folder.as_deref().ok_or_else(|| {
            failed(repo, revision, file, "there is no home folder for the hub's cache")
                .with_hint("set HF_HOME to a folder")
        })
    }
}

fn failed(repo: &str, revision: &str, file: &str, message: &str) -> Error {
    Error::Hub { repo: format!("{repo}@{revision}: {file}"), message: message.into(), hint: None, source: None }
}

/// The file in a hub cache, as `huggingface_hub` and `hf-hub` lay it out.
fn cached(folder: &Path, kind: Kind, repo: &str, revision: &str, file: &str) -> Option<PathBuf> {
    let prefix = match kind {
        Kind::Dataset => "datasets",
        Kind::Model => "models",
    };
    let folder = folder.join(format!("{prefix}--{}", repo.replace('/', "--")));
    let path = folder.join("snapshots").join(revision).join(file);
    path.is_file().then_some(path)
}

/// `$HF_HUB_CACHE`, `$HF_HOME/hub` or `~/.cache/huggingface/hub`.
fn cache_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("HF_HUB_CACHE")
        .or_else(|| set("HF_HOME").map(|home| home.join("hub")))
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("huggingface").join("hub")))
        .or_else(|| std::env::home_dir().map(|home| home.join(".cache").join("huggingface").join("hub")))
}

#[cfg(not(feature = "hub"))]
fn download(_: &Path, _: Option<&str>, _: Kind, repo: &str, revision: &str, file: &str) -> Result<Option<PathBuf>> {
    Err(failed(repo, revision, file, "this build cannot ask the hub"))
}

/// Nothing where the hub answers that there is no such file.
#[cfg(feature = "hub")]
fn download(
    folder: &Path,
    endpoint: Option<&str>,
    kind: Kind,
    repo: &str,
    revision: &str,
    file: &str,
) -> Result<Option<PathBuf>> {
    let ask = || -> std::result::Result<(PathBuf, u64), hf_hub::api::sync::ApiError> {
        let mut builder =
            hf_hub::api::sync::ApiBuilder::from_env().with_progress(false).with_cache_dir(folder.to_owned());
        if let Some(endpoint) = endpoint {
            builder = builder.with_endpoint(endpoint.to_owned());
        }
        let api = builder.build()?;
        let kind = match kind {
            Kind::Dataset => hf_hub::RepoType::Dataset,
            Kind::Model => hf_hub::RepoType::Model,
        };
        let repo = api.repo(hf_hub::Repo::with_revision(repo.to_owned(), kind, revision.to_owned()));
        let size = api.metadata(&repo.url(file))?.size() as u64;
        Ok((repo.download(file)?, size))
    };
    // The client asserts what a server sends; a server that sends something else is an error here, not the end.
    let (path, size) = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(ask)) {
        Ok(Ok(downloaded)) => downloaded,
        Ok(Err(error)) if is_absent(&error) => return Ok(None),
        Ok(Err(error)) => {
            let hint = "see whether the machine has a network and the hub can be reached; what came is kept";
            return Err(failed(repo, revision, file, "not fetched").with_cause(error).with_hint(hint));
        }
        Err(_) => return Err(failed(repo, revision, file, "not fetched: the server's answer makes no sense")),
    };
    let length = std::fs::metadata(&path).map_err(wb_core::Error::io("read", &path))?.len();
    if length != size {
        // The blob behind the link goes too, or the next attempt would take it for whole.
        let blob = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        let _ = std::fs::remove_file(&path).and(std::fs::remove_file(blob));
        return Err(
            failed(repo, revision, file, &format!("{length} bytes came, expected {size}")).with_hint("try again")
        );
    }
    // A server that answers with another commit has not been asked for a commit.
    cached(folder, kind, repo, revision, file)
        .map(Some)
        .ok_or_else(|| failed(repo, revision, file, "the hub answered with another revision"))
}

#[cfg(feature = "hub")]
fn is_absent(error: &hf_hub::api::sync::ApiError) -> bool {
    use hf_hub::api::sync::ApiError;
    match error {
        ApiError::RequestError(error) => matches!(**error, ureq::Error::StatusCode(404)),
        ApiError::TooManyRetries(error) => is_absent(error),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REVISION: &str = "0123456789012345678901234567890123456789";

    fn hub(folder: &Path, offline: bool, endpoint: Option<String>) -> Hub {
        Hub { folder: Some(folder.into()), offline, endpoint }
    }

    #[test]
    fn the_cache_is_looked_at_first_and_offline_is_respected() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(format!("datasets--o--n/snapshots/{REVISION}/data/a.jsonl"));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "{}").unwrap();
        let fetch = |kind, file| hub(folder.path(), true, None).fetch(kind, "o/n", REVISION, file);
        assert_eq!(fetch(Kind::Dataset, "data/a.jsonl").unwrap(), path);
        for (kind, file) in [(Kind::Model, "data/a.jsonl"), (Kind::Dataset, "data/b.jsonl")] {
            let error = fetch(kind, file).unwrap_err();
            assert!(
                error.to_string().ends_with("not in the hub's cache, and WB_OFFLINE forbids to ask for it"),
                "{error}"
            );
            assert!(error.hint().is_some());
        }
    }

    /// A server on this machine that knows one file of one commit.
    #[cfg(feature = "hub")]
    fn server(body: &'static str, commit: &'static str) -> String {
        use std::io::{BufRead, BufReader, Write};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
                let request = lines.next().unwrap_or_default();
                let range =
                    lines.take_while(|line| !line.is_empty()).find(|line| line.to_lowercase().starts_with("range:"));
                let found = request.contains(&format!("/datasets/o/n/resolve/{REVISION}/data/a.jsonl "));
                let first = range.is_some_and(|range| range.ends_with("bytes=0-0"));
                let sent = if first { &body[..1] } else { body };
                let status = if found { "206 Partial Content" } else { "404 Not Found" };
                let answer = format!(
                    "HTTP/1.1 {status}\r\netag: \"abc\"\r\nx-repo-commit: {commit}\r\ncontent-range: bytes 0-0/{}\r\n\
                     content-length: {}\r\nconnection: close\r\n\r\n{sent}",
                    body.len(),
                    sent.len()
                );
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        format!("http://{address}")
    }

    #[test]
    #[cfg(feature = "hub")]
    fn a_file_is_fetched_once_and_then_read_from_the_cache() {
        let folder = tempfile::tempdir().unwrap();
        let online = hub(folder.path(), false, Some(server("{\"anchor\": 1}\n", REVISION)));
        let path = online.fetch(Kind::Dataset, "o/n", REVISION, "data/a.jsonl").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"anchor\": 1}\n");
        assert_eq!(hub(folder.path(), true, None).fetch(Kind::Dataset, "o/n", REVISION, "data/a.jsonl").unwrap(), path);
        let error = online.fetch(Kind::Dataset, "o/n", REVISION, "data/b.jsonl").unwrap_err();
        let absent = "data/b.jsonl: the hub has no such file, revision or repository";
        assert!(error.to_string().ends_with(absent) && error.hint().is_some(), "{error}");
        let unreachable = hub(folder.path(), false, Some("http://127.0.0.1:1".into()));
        let error = unreachable.fetch(Kind::Model, "o/n", REVISION, "c").unwrap_err();
        assert!(error.to_string().ends_with("c: not fetched"), "{error}");
        // A file that may be absent is absent where the hub says so, not where the hub cannot be asked.
        assert_eq!(online.fetch_optional(Kind::Dataset, "o/n", REVISION, "data/b.jsonl").unwrap(), None);
        assert_eq!(online.fetch_optional(Kind::Dataset, "o/n", REVISION, "data/a.jsonl").unwrap(), Some(path));
        let error = unreachable.fetch_optional(Kind::Model, "o/n", REVISION, "c").unwrap_err();
        assert!(error.to_string().ends_with("c: not fetched"), "{error}");
        assert_eq!(hub(folder.path(), true, None).fetch_optional(Kind::Model, "o/n", REVISION, "c").unwrap(), None);
    }

    #[test]
    #[cfg(feature = "hub")]
    fn another_commit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let other = "9999999999999999999999999999999999999999";
        let hub = hub(folder.path(), false, Some(server("x", other)));
        let error = hub.fetch(Kind::Dataset, "o/n", REVISION, "data/a.jsonl").unwrap_err();
        assert!(error.to_string().ends_with("the hub answered with another revision"), "{error}");
    }
}
