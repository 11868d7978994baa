//! The hub's answers: the commit of a name, the list of a commit's files, and the files themselves.

use std::io::Read;

use serde::{Deserialize, de::DeserializeOwned};
use ureq::http::{HeaderMap, Uri};

use wb_core::download::{Meter, Observer};

use crate::{
    Digest, Listing, Pinned, RemoteFile, RepoKind, RepoRef, Result, Settings, WebFile, Why,
    answers::About,
    cache::{Cache, part_of},
    client::Client,
    listing::is_inside,
    patience::{Attempts, Trouble},
    repo::is_commit,
    transfer::{self, Coming},
};

/// Limit of an answer's bytes: none of the interface is longer.
const MAX_BYTES: u64 = 64 << 20;
/// Limit of a list's pages: repositories have fewer.
const MAX_PAGES: usize = 1000;

/// Asks the hub.
pub(crate) struct Online<'a> {
    client: Client<'a>,
    observer: &'a dyn Observer,
}

#[derive(Deserialize)]
struct OfRevision {
    id: Option<String>,
    sha: Option<String>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "type")]
    kind: String,
    path: String,
    #[serde(default)]
    size: u64,
    #[serde(default)]
    oid: String,
    lfs: Option<Lfs>,
}

#[derive(Deserialize)]
struct Lfs {
    oid: String,
    size: u64,
}

impl<'a> Online<'a> {
    pub(crate) fn new(settings: &'a Settings, observer: &'a dyn Observer) -> Self {
        Self { client: Client::new(settings), observer }
    }

    /// The commit that a name stands for now.
    pub(crate) fn commit(&self, repo: &RepoRef) -> Result<String> {
        let url = format!(
            "{}/api/{}/{}/revision/{}",
            self.client.settings.endpoint,
            repo.kind.plural(),
            repo.id,
            repo.revision().replace('/', "%2F")
        );
        let about = About { what: repo.to_string(), repo: Some((repo.kind, repo.id.clone())) };
        let (answer, _): (OfRevision, _) = self.json(&url, &about)?;
        if let Some(id) = answer.id.filter(|id| *id != repo.id) {
            self.observer.note(&format!("{} is called {id} on the hub now; name it so", repo.id));
        }
        let nonsense = || about.error(Why::Nonsense, "the hub names no commit for it");
        answer.sha.filter(|sha| is_commit(sha)).ok_or_else(nonsense)
    }

    /// All files of a commit.
    pub(crate) fn listing(&self, repo: &Pinned) -> Result<Listing> {
        let endpoint = &self.client.settings.endpoint;
        let about = About { what: repo.to_string(), repo: Some((repo.kind, repo.id.clone())) };
        let mut url = format!("{endpoint}/api/{}/{}/tree/{}?recursive=true", repo.kind.plural(), repo.id, repo.commit);
        let mut files = Vec::new();
        for _ in 0..MAX_PAGES {
            let (entries, headers): (Vec<Entry>, HeaderMap) = self.json(&url, &about)?;
            for entry in entries.into_iter().filter(|entry| entry.kind == "file") {
                if !is_inside(&entry.path) {
                    let message = format!("the hub lists `{}`, which is no path inside a repository", entry.path);
                    return Err(about.error(Why::Nonsense, message));
                }
                files.push(match entry.lfs {
                    Some(lfs) => RemoteFile { path: entry.path, size: lfs.size, digest: Digest::Sha256(lfs.oid) },
                    None => RemoteFile { path: entry.path, size: entry.size, digest: Digest::Git(entry.oid) },
                });
            }
            match next_page(&headers, endpoint) {
                Some(next) => url = next,
                None => {
                    files.sort_by(|a, b| a.path.cmp(&b.path));
                    return Ok(Listing { files });
                }
            }
        }
        Err(about.error(Why::Nonsense, format!("its list of files has more than {MAX_PAGES} pages")))
    }

    /// Fetches listed files into the cache.
    pub(crate) fn files(&self, repo: &Pinned, files: &[RemoteFile], cache: &Cache) -> Result<()> {
        let mut meter = Meter::new(self.observer, files.iter().map(|file| file.size).sum());
        // Who fetches the same files is told of once, not at each of them.
        let mut waited_for = String::new();
        let result = files.iter().try_for_each(|file| self.file(repo, file, cache, &mut meter, &mut waited_for));
        self.observer.finished();
        result
    }

    fn file(
        &self,
        repo: &Pinned,
        file: &RemoteFile,
        cache: &Cache,
        meter: &mut Meter<'_>,
        waited_for: &mut String,
    ) -> Result<()> {
        meter.file(&file.path);
        let hash = file.digest.hex();
        let waiting = |holder: &str| {
            if waited_for != holder {
                self.observer.note(&format!("{repo}: {}: waiting for {holder}", file.path));
                holder.clone_into(waited_for);
            }
        };
        let _held = cache.hold(repo, hash, waiting)?;
        let blob = cache.blob(repo, hash);
        // Another process may have brought it while this one waited, or another commit has the same content.
        if std::fs::metadata(&blob).is_ok_and(|found| found.len() == file.size) {
            meter.shift(file.size as i64);
            return cache.link(repo, file);
        }
        let of_kind = if repo.kind == RepoKind::Dataset { "datasets/" } else { "" };
        let endpoint = &self.client.settings.endpoint;
        let url = format!("{endpoint}/{of_kind}{}/resolve/{}/{}", repo.id, repo.commit, escaped(&file.path));
        let coming = Coming {
            url: &url,
            about: About { what: format!("{repo}: {}", file.path), repo: Some((repo.kind, repo.id.clone())) },
            size: Some(file.size),
            digest: Some(&file.digest),
            commit: Some(&repo.commit),
            part: &part_of(&blob),
            to: &blob,
        };
        transfer::fetch(&self.client, &coming, self.observer, meter)?;
        cache.link(repo, file)
    }

    /// Fetches files at plain addresses to their places.
    pub(crate) fn web(&self, files: &[&WebFile]) -> Result<()> {
        let mut meter = Meter::new(self.observer, files.iter().filter_map(|file| file.size).sum());
        let result = files.iter().try_for_each(|file| {
            meter.file(file.url.rsplit('/').next().unwrap_or(&file.url));
            let digest = file.sha256.clone().map(Digest::Sha256);
            let coming = Coming {
                url: &file.url,
                about: About { what: file.url.clone(), repo: None },
                size: file.size,
                digest: digest.as_ref(),
                commit: None,
                part: &part_of(&file.to),
                to: &file.to,
            };
            transfer::fetch(&self.client, &coming, self.observer, &mut meter)
        });
        self.observer.finished();
        result
    }

    /// Reads an address of the interface.
    fn json<T: DeserializeOwned>(&self, url: &str, about: &About) -> Result<(T, HeaderMap)> {
        let attempts = Attempts::new(self.client.settings.patience, self.observer);
        let (bytes, headers) = attempts.ask(|| {
            let opened = self.client.get(url, None, about)?;
            let mut bytes = Vec::new();
            let read = opened.body.into_with_config().limit(MAX_BYTES).reader().read_to_end(&mut bytes);
            let cut = || about.error(Why::Unreachable, "the answer was cut");
            read.map_err(|source| Trouble::again(cut().with_cause(source), None))?;
            Ok((bytes, opened.last))
        })?;
        let nonsense = |error| {
            let hint = "a page of a proxy or of a login in between? HF_ENDPOINT names the server that is asked";
            about.error(Why::Nonsense, format!("{url} answers what is not the hub's")).with_cause(error).with_hint(hint)
        };
        Ok((serde_json::from_slice(&bytes).map_err(nonsense)?, headers))
    }
}

/// The address after `rel="next"`, at the endpoint that was asked: a mirror repeats the hub's own.
fn next_page(headers: &HeaderMap, endpoint: &str) -> Option<String> {
    let link = headers.get("link")?.to_str().ok()?;
    let next = link.split(',').find(|part| part.contains("rel=\"next\""))?;
    let address = next.trim().strip_prefix('<')?.split_once('>')?.0;
    let uri: Uri = address.parse().ok()?;
    let path = uri.path_and_query()?.as_str();
    let at = path.find("/api/")?;
    Some(format!("{endpoint}{}", &path[at..]))
}

/// A path inside a repository, for an address.
fn escaped(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~/".contains(&byte);
    path.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_at_the_endpoint_that_was_asked() {
        let mut headers = HeaderMap::new();
        let link = "<https://huggingface.co/api/models/o/n/tree/main?recursive=true&cursor=abc>; rel=\"next\"";
        headers.insert("link", link.parse().unwrap());
        let expected = "http://127.0.0.1:1/hf/api/models/o/n/tree/main?recursive=true&cursor=abc";
        assert_eq!(next_page(&headers, "http://127.0.0.1:1/hf").as_deref(), Some(expected));
        assert_eq!(next_page(&HeaderMap::new(), "x"), None);
    }

    #[test]
    fn names_of_files_are_escaped_for_addresses() {
        assert_eq!(escaped("data/a b+ü.json"), "data/a%20b%2B%C3%BC.json");
    }
}
