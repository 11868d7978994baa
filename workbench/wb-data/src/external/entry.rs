//! An entry of the catalog: a data set's name, its license, where its files come from, and the folders that it becomes.

use serde::Serialize;
use wb_hub::Digest;

use super::conversions::Conversion;

/// A data set that can be fetched by its name.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The name that a person types.
    pub name: String,
    /// Its name in the literature, in a few words.
    pub title: String,
    /// Benchmarks and recipes that read it.
    pub used_by: &'static str,
    /// Its license, as its publishers tell it.
    pub license: &'static str,
    /// Bytes to fetch, about; none where nobody knows before the hub is asked.
    pub about: Option<u64>,
    /// Things to know that are not seen from the rest, in one sentence; empty for none.
    pub note: &'static str,
    /// The folders that it becomes.
    pub parts: Vec<DataSetFolder>,
}

impl Entry {
    /// The languages that its parts are told apart by, in their order; none where they are not.
    pub fn languages(&self) -> Vec<&'static str> {
        let mut languages: Vec<&'static str> = self.parts.iter().filter_map(|part| part.language).collect();
        languages.dedup();
        languages
    }

    /// The parts of these languages; an empty list keeps all.
    #[must_use]
    pub fn in_languages(mut self, wanted: &[String]) -> Self {
        if !wanted.is_empty() {
            self.parts.retain(|part| part.language.is_none_or(|own| wanted.iter().any(|language| language == own)));
        }
        self
    }
}

/// A folder of a data set; it appears whole or not at all.
#[derive(Debug, Clone, Serialize)]
pub struct DataSetFolder {
    /// Its place under `datasets/external`, with slashes.
    #[serde(skip)]
    pub place: String,
    /// Other places under `datasets/external` where a person may have put the same; readers prefer these.
    #[serde(skip)]
    pub instead: Vec<String>,
    /// The language that `--languages` chooses it by.
    #[serde(skip)]
    pub language: Option<&'static str>,
    /// Records, as its publishers count them; none where they were not seen to.
    #[serde(skip)]
    pub records: Option<u64>,
    /// Servers with the files that are wanted of them.
    pub origins: Vec<ServedFiles>,
    /// The way from these files to the folder.
    pub conversion: Conversion,
}

impl DataSetFolder {
    /// A part without languages that nobody puts elsewhere.
    pub(super) fn new(place: impl Into<String>, conversion: Conversion, origins: Vec<ServedFiles>) -> Self {
        Self { place: place.into(), instead: Vec::new(), language: None, records: None, origins, conversion }
    }
}

/// A server with the files that are wanted of it.
#[derive(Debug, Clone, Serialize)]
pub struct ServedFiles {
    /// The server.
    pub server: Server,
    /// The files.
    pub files: Vec<WantedFile>,
}

impl ServedFiles {
    /// Files of a data set of the hub at a commit; their hashes are those that the hub lists.
    pub(super) fn hub(id: &str, commit: &str, files: impl IntoIterator<Item = WantedFile>) -> Self {
        let server = Server::Hub { id: id.to_owned(), commit: commit.to_owned() };
        Self { server, files: files.into_iter().collect() }
    }

    /// Files of a repository on GitHub at a commit.
    pub(super) fn github(id: &str, commit: &str, files: impl IntoIterator<Item = WantedFile>) -> Self {
        let server = Server::Github { id: id.to_owned(), commit: commit.to_owned() };
        Self { server, files: files.into_iter().collect() }
    }

    /// Files below an address that names no version.
    pub(super) fn web(address: &str, files: impl IntoIterator<Item = WantedFile>) -> Self {
        Self { server: Server::Web { address: address.to_owned() }, files: files.into_iter().collect() }
    }
}

/// A place that files are fetched from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Server {
    /// A data set of the Hugging Face hub.
    Hub {
        /// `owner/name`.
        id: String,
        /// 40 hex digits, or a branch or tag that a person asked for.
        commit: String,
    },
    /// A repository on GitHub.
    Github {
        /// `owner/name`.
        id: String,
        /// 40 hex digits, or a branch or tag that a person asked for.
        commit: String,
    },
    /// A plain address.
    Web {
        /// The address without the files' names, `https://...`.
        address: String,
    },
}

impl Server {
    /// The server at another commit, branch or tag; a plain address has none.
    #[must_use]
    pub fn at(&self, revision: &str) -> Self {
        match self {
            Self::Hub { id, .. } => Self::Hub { id: id.clone(), commit: revision.to_owned() },
            Self::Github { id, .. } => Self::Github { id: id.clone(), commit: revision.to_owned() },
            Self::Web { address } => Self::Web { address: address.clone() },
        }
    }

    /// The address of a file; none where the hub's own client knows it.
    pub(super) fn address(&self, path: &str) -> Option<String> {
        match self {
            Self::Hub { .. } => None,
            Self::Github { id, commit } => Some(format!("https://raw.githubusercontent.com/{id}/{commit}/{path}")),
            Self::Web { address } => Some(format!("{address}/{path}")),
        }
    }
}

impl std::fmt::Display for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Hub { id, commit } => write!(f, "hub datasets/{id}@{commit}"),
            Self::Github { id, commit } => write!(f, "github.com/{id}@{commit}"),
            Self::Web { address } => f.write_str(address),
        }
    }
}

/// A file that is wanted, or several of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WantedFile {
    /// Its path at the server. On the hub one `*` may stand for a part of the name: `test-*.parquet` is every shard.
    pub path: String,
    /// The name by which the conversion asks for it.
    pub name: String,
    /// Bytes, where they are known.
    #[serde(skip)]
    pub bytes: Option<u64>,
    /// Its content, where it is known.
    #[serde(skip)]
    pub digest: Option<Digest>,
}

impl WantedFile {
    /// A file under its own name.
    pub(super) fn new(path: impl Into<String>) -> Self {
        let path = path.into();
        let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
        Self { path, name, bytes: None, digest: None }
    }

    /// Under another name.
    #[must_use]
    pub(super) fn called(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Sets the number of bytes.
    #[must_use]
    pub(super) fn of(mut self, bytes: u64) -> Self {
        self.bytes = Some(bytes);
        self
    }

    /// Sets the SHA-256, in hex.
    #[must_use]
    pub(super) fn sha256(mut self, hex: &str) -> Self {
        self.digest = Some(Digest::Sha256(hex.to_owned()));
        self
    }

    /// Sets the name that git has for the content, in hex.
    #[must_use]
    pub(super) fn git(mut self, hex: &str) -> Self {
        self.digest = Some(Digest::Git(hex.to_owned()));
        self
    }

    /// True where a path is one of those that are meant.
    pub(super) fn fits(&self, path: &str) -> bool {
        match self.path.split_once('*') {
            None => self.path == path,
            Some((before, after)) => {
                let rest = path.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
                rest.is_some_and(|between| !between.contains('/'))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_a_part_of_a_name() {
        let wanted = WantedFile::new("ruby/test-*.parquet");
        assert!(wanted.fits("ruby/test-00000-of-00001.parquet") && wanted.fits("ruby/test-00000-of-00001-abc.parquet"));
        for other in ["ruby/train-00000.parquet", "ruby/test-a/b.parquet", "go/ruby/test-1.parquet", "ruby/test-.jsonl"]
        {
            assert!(!wanted.fits(other), "{other}");
        }
        assert!(WantedFile::new("a/b.json").fits("a/b.json") && !WantedFile::new("a/b.json").fits("a/b.jsonl"));
        assert_eq!(WantedFile::new("a/b.json").name, "b.json");
    }
}
