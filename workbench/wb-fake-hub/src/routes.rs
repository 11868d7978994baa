//! The hub's addresses: a name's commit, a commit's files, a file, a large file's content, a plain file.

use serde_json::json;

use crate::{
    State,
    http::{Answer, HubRequest},
    repository::{Access, File, Repository},
};

/// Answers a request as the real hub does.
pub(crate) fn answer(state: &State, request: &HubRequest) -> Answer {
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let path = unescaped(path);
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    if request.to_store {
        let found = parts.get(1).and_then(|sha| of_content(state, sha));
        return found.map_or_else(|| Answer::new(404, "no such content"), |file| ranged(state, request, &file.bytes));
    }
    match parts.as_slice() {
        ["web", rest @ ..] => {
            let name = rest.join("/");
            let found = state.web.iter().find(|(known, _)| *known == name);
            found.map_or_else(|| Answer::new(404, "not found"), |(_, bytes)| ranged(state, request, bytes))
        }
        ["api", kind, owner, name, "revision", revision @ ..] => {
            let id = format!("{owner}/{name}");
            if let Some((_, new)) = state.renamed.iter().find(|(old, _)| *old == id) {
                let to = format!("/api/{kind}/{new}/revision/{}", revision.join("%2F"));
                return Answer::new(307, "Temporary Redirect").header("location", to);
            }
            with(state, request, (kind, &id), &revision.join("/"), |repository| {
                let files: Vec<_> = repository.files.iter().map(|file| json!({ "rfilename": file.path })).collect();
                let told =
                    json!({ "id": repository.id, "sha": repository.commit, "private": false, "siblings": files });
                Answer::new(200, told.to_string()).header("content-type", "application/json")
            })
        }
        ["api", kind, owner, name, "tree", revision] => {
            with(state, request, (kind, &format!("{owner}/{name}")), revision, |repository| {
                tree(state, repository, (kind, revision), query)
            })
        }
        ["datasets", owner, name, "resolve", revision, file @ ..] => {
            with(state, request, ("datasets", &format!("{owner}/{name}")), revision, |repository| {
                resolve(state, request, repository, &file.join("/"))
            })
        }
        [owner, name, "resolve", revision, file @ ..] => {
            with(state, request, ("models", &format!("{owner}/{name}")), revision, |repository| {
                resolve(state, request, repository, &file.join("/"))
            })
        }
        _ => refused(404, "", "Not found"),
    }
}

/// The repository at a revision, for who may read it.
fn with(
    state: &State,
    request: &HubRequest,
    (kind, id): (&str, &str),
    revision: &str,
    then: impl FnOnce(&Repository) -> Answer,
) -> Answer {
    let of_name = || state.repositories.iter().filter(|repository| repository.kind == kind && repository.id == id);
    let no_repository = || match request.token {
        // The hub does not tell strangers which repositories there are.
        None => refused(401, "RepoNotFound", "Invalid username or password."),
        Some(_) => refused(404, "RepoNotFound", "Repository not found"),
    };
    let Some(latest) = of_name().next() else { return no_repository() };
    match &latest.access {
        Access::Private(token) if request.token.as_ref() != Some(token) => return no_repository(),
        Access::Gated(token) if request.token.as_ref() != Some(token) => {
            let status = if request.token.is_some() { 403 } else { 401 };
            return refused(status, "GatedRepo", "Access to this repository is restricted.");
        }
        _ => {}
    }
    let found = match revision {
        "main" => Some(latest),
        commit => of_name().find(|repository| repository.commit == commit),
    };
    found.map_or_else(|| refused(404, "RevisionNotFound", "Invalid rev id"), then)
}

/// A page of a commit's files.
fn tree(state: &State, repository: &Repository, (kind, revision): (&str, &str), query: &str) -> Answer {
    let cursor = query.split('&').find_map(|part| part.strip_prefix("cursor=")?.parse::<usize>().ok()).unwrap_or(0);
    let entries: Vec<_> = repository
        .files
        .iter()
        .skip(cursor)
        .take(state.page)
        .map(|file| match &file.sha256 {
            Some(sha) => json!({
                "type": "file", "oid": file.oid, "size": file.bytes.len(), "path": file.path,
                "lfs": { "oid": sha, "size": file.bytes.len(), "pointerSize": 135 },
            }),
            None => json!({ "type": "file", "oid": file.oid, "size": file.bytes.len(), "path": file.path }),
        })
        .collect();
    let mut entries = entries;
    if cursor == 0 && repository.files.iter().any(|file| file.path.contains('/')) {
        entries.insert(0, json!({ "type": "directory", "oid": "0".repeat(40), "size": 0, "path": "folder" }));
    }
    let answer = Answer::new(200, json!(entries).to_string()).header("content-type", "application/json");
    let next = cursor + state.page;
    if next >= repository.files.len() {
        return answer;
    }
    let url = format!("{}/api/{kind}/{}/tree/{revision}?recursive=true&cursor={next}", state.endpoint, repository.id);
    answer.header("link", format!("<{url}>; rel=\"next\""))
}

/// A file: its content, or for a large one the place that has it.
fn resolve(state: &State, request: &HubRequest, repository: &Repository, path: &str) -> Answer {
    let Some(file) = repository.files.iter().find(|file| file.path == path) else {
        return refused(404, "EntryNotFound", "Entry not found").header("x-repo-commit", &repository.commit);
    };
    let answer = match &file.sha256 {
        Some(sha) => Answer::new(302, "Found")
            .header("location", format!("{}/content/{sha}?of={path}", state.store))
            .header("x-linked-etag", format!("\"{}\"", file.etag()))
            .header("x-linked-size", file.bytes.len().to_string()),
        None => ranged(state, request, &file.bytes).header("etag", format!("\"{}\"", file.etag())),
    };
    answer.header("x-repo-commit", &repository.commit)
}

fn of_content<'a>(state: &'a State, sha: &str) -> Option<&'a File> {
    state.repositories.iter().flat_map(|repository| &repository.files).find(|file| file.sha256.as_deref() == Some(sha))
}

/// A content from the byte on that was asked for.
fn ranged(state: &State, request: &HubRequest, bytes: &[u8]) -> Answer {
    let whole = state.faults.iter().any(|fault| fault.ignores_ranges(request));
    match request.from.filter(|_| !whole) {
        None => Answer::new(200, bytes),
        Some(from) if from as usize >= bytes.len() => {
            Answer::new(416, "").header("content-range", format!("bytes */{}", bytes.len()))
        }
        Some(from) => {
            let range = format!("bytes {from}-{}/{}", bytes.len() - 1, bytes.len());
            Answer::new(206, &bytes[from as usize..]).header("content-range", range)
        }
    }
}

fn refused(status: u16, code: &str, message: &str) -> Answer {
    let answer = Answer::new(status, json!({ "error": message }).to_string()).header("x-error-message", message);
    if code.is_empty() { answer } else { answer.header("x-error-code", code) }
}

fn unescaped(path: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|two| u8::from_str_radix(std::str::from_utf8(two).ok()?, 16).ok());
        match (first, hex) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
