//! The files of a data set, on this disk: those of the hub in its cache, the others in a folder until they are used.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use wb_core::Progress;
use wb_hub::{Digest, Hub, RepoKind, RepoRef, WebFile, Why};

use super::{
    conversions::Input,
    entry::{DataSetFolder, Server, WantedFile},
    get::FetchRequest,
    record::Taken,
};
use crate::{Error, Result};

/// The variable that names a mirror of plain addresses: it stands in place of their `https://`.
pub const MIRROR: &str = "WB_DATA_MIRROR";

/// The mirror that this process's environment names.
pub(super) fn mirror_of_environment() -> Option<String> {
    std::env::var(MIRROR).ok().filter(|mirror| !mirror.is_empty())
}

/// A part's files, as its conversion asks for them and as its record tells them.
#[derive(Debug, Default)]
pub(super) struct Fetched {
    pub(super) inputs: Vec<Input>,
    pub(super) taken: Vec<Taken>,
}

/// A file that is wanted, with what the server calls it.
struct Found<'a> {
    wanted: &'a WantedFile,
    server: Server,
    path: String,
    on_disk: PathBuf,
}

/// Fetches the files of parts: of each repository in one go, and of plain addresses in one.
pub(super) fn fetch(
    request: &FetchRequest<'_>,
    name: &str,
    parts: &[&DataSetFolder],
    incoming: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<Fetched>> {
    let mut snapshots = BTreeMap::new();
    for (server, wanted) in by_server(request, parts) {
        if let Server::Hub { id, commit } = &server {
            let snapshot = of_hub(request.hub, name, (id, commit), &wanted)?;
            snapshots.insert(server, snapshot);
        }
    }
    let found: Vec<Vec<Found<'_>>> =
        parts.iter().map(|part| found(request, part, &snapshots, incoming)).collect::<Result<_>>()?;
    of_web(request, name, found.iter().flatten())?;
    let total = found.iter().map(Vec::len).sum();
    let mut done = 0;
    let mut all = Vec::new();
    for files in &found {
        let mut fetched = Fetched::default();
        for file in files {
            progress(Progress::new("checking files", done, total).note(file.path.clone()));
            fetched.taken.push(checked(request, file)?);
            fetched.inputs.push(Input { name: file.wanted.name.clone(), path: file.on_disk.clone() });
            done += 1;
        }
        all.push(fetched);
    }
    Ok(all)
}

/// Every server with all that the parts want of it.
pub(super) fn by_server<'a>(
    request: &FetchRequest<'_>,
    parts: &[&'a DataSetFolder],
) -> BTreeMap<Server, Vec<&'a WantedFile>> {
    let mut all: BTreeMap<Server, Vec<&WantedFile>> = BTreeMap::new();
    for origin in parts.iter().flat_map(|part| &part.origins) {
        all.entry(request.server(&origin.server)).or_default().extend(&origin.files);
    }
    all
}

/// The paths of a repository that are wanted.
pub(super) fn chosen(paths: &[&str], wanted: &[&WantedFile]) -> Vec<String> {
    let fits = |path: &&&str| wanted.iter().any(|one| one.fits(path));
    paths.iter().filter(fits).map(|path| (*path).to_owned()).collect()
}

/// A repository of the hub by its id and revision.
pub(super) fn repository(id: &str, revision: &str) -> Result<RepoRef> {
    RepoRef::new(RepoKind::Dataset, id, revision, "--revision")
}

/// A repository's files on this disk, and the paths of all that it has, as far as that is known.
struct Snapshot {
    folder: PathBuf,
    paths: Vec<String>,
    commit: String,
}

fn of_hub(hub: &Hub, name: &str, (id, revision): (&str, &str), wanted: &[&WantedFile]) -> Result<Snapshot> {
    let paths: RefCell<Vec<String>> = RefCell::default();
    let choose = |all: &[&str]| {
        *paths.borrow_mut() = all.iter().map(|path| (*path).to_owned()).collect();
        chosen(all, wanted)
    };
    let fetched = hub.fetch(&repository(id, revision)?, &choose).map_err(|error| of_revision(error, name))?;
    let mut paths = paths.into_inner();
    if paths.is_empty() {
        // Nobody may be asked, and another program cached these files: its folder is all that is known.
        list(&fetched.folder, "", &mut paths)?;
    }
    Ok(Snapshot { folder: fetched.folder, paths, commit: fetched.repo.commit })
}

fn list(folder: &Path, before: &str, paths: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(Error::io("read", folder))? {
        let entry = entry.map_err(Error::io("read", folder))?;
        let name = format!("{before}{}", entry.file_name().to_string_lossy());
        match entry.path().is_dir() {
            true => list(&entry.path(), &format!("{name}/"), paths)?,
            false => paths.push(name),
        }
    }
    paths.sort();
    Ok(())
}

/// Says what helps where a server no longer has what the catalog names.
fn of_revision(error: Error, name: &str) -> Error {
    let message = match Why::of(&error) {
        Some(Why::NoRevision) => "the hub does not have the revision that was asked for",
        Some(Why::NoFile) => "the server does not have a file that was asked for",
        Some(Why::WrongBytes) => "the server does not have the bytes that the catalog names",
        _ => return error,
    };
    Error::data(name, message).with_cause(error).with_hint(format!(
        "`wb data get {name} --revision main` takes what is published today; figures may then differ from others'"
    ))
}

/// The files of a part with their places on this disk, those of plain addresses not there yet.
fn found<'a>(
    request: &FetchRequest<'_>,
    part: &'a DataSetFolder,
    snapshots: &BTreeMap<Server, Snapshot>,
    incoming: &Path,
) -> Result<Vec<Found<'a>>> {
    let mut all = Vec::new();
    for origin in &part.origins {
        let server = request.server(&origin.server);
        for wanted in &origin.files {
            let Some(snapshot) = snapshots.get(&server) else {
                let version = match &server {
                    Server::Github { commit, .. } => commit.replace('/', "-"),
                    _ => "web".to_owned(),
                };
                let on_disk = incoming.join(version).join(&wanted.name);
                all.push(Found { wanted, server: server.clone(), path: wanted.path.clone(), on_disk });
                continue;
            };
            let before = all.len();
            let exact = match &server {
                Server::Hub { id, .. } => Server::Hub { id: id.clone(), commit: snapshot.commit.clone() },
                other => other.clone(),
            };
            for path in snapshot.paths.iter().filter(|path| wanted.fits(path)) {
                let on_disk = snapshot.folder.join(path);
                if on_disk.is_file() {
                    all.push(Found { wanted, server: exact.clone(), path: path.clone(), on_disk });
                }
            }
            if all.len() == before {
                let paths = snapshot.paths.iter().map(String::as_str);
                let hint =
                    wb_core::suggest::hint(&wanted.path, paths).unwrap_or_else(|| "it has no file at all".into());
                let message = format!("there is no file `{}`", wanted.path);
                let place = exact.to_string();
                return Err(Error::data(place, message).with_hint(hint));
            }
        }
    }
    Ok(all)
}

fn of_web<'a, 'f: 'a>(
    request: &FetchRequest<'_>,
    name: &str,
    found: impl Iterator<Item = &'a Found<'f>>,
) -> Result<()> {
    let mut files: Vec<WebFile> = Vec::new();
    for file in found {
        let Some(url) = file.server.address(&file.path) else { continue };
        if files.iter().any(|other| other.to == file.on_disk) {
            continue;
        }
        // What the catalog knows of a file is of the revision that it names.
        let known = request.revision.is_none();
        let sha256 = match &file.wanted.digest {
            Some(Digest::Sha256(hex)) if known => Some(hex.clone()),
            _ => None,
        };
        let size = file.wanted.bytes.filter(|_| known);
        files.push(WebFile { url: mirrored(&url, request.mirror.as_deref()), to: file.on_disk.clone(), size, sha256 });
    }
    request.hub.web(&files).map_err(|error| of_revision(error, name))
}

/// An address at the mirror, where there is one.
fn mirrored(url: &str, mirror: Option<&str>) -> String {
    match (mirror, url.strip_prefix("https://")) {
        (Some(mirror), Some(rest)) => format!("{}/{rest}", mirror.trim_end_matches('/')),
        _ => url.to_owned(),
    }
}

/// The file's line in the record; an error where it is not the one that the catalog knows.
fn checked(request: &FetchRequest<'_>, file: &Found<'_>) -> Result<Taken> {
    let sha256 = Digest::Sha256(String::new()).of_same_kind(&file.on_disk)?;
    if let Some(expected) = file.wanted.digest.as_ref().filter(|_| request.revision.is_none()) {
        let got = match expected {
            Digest::Sha256(_) => sha256.clone(),
            Digest::Git(_) => expected.of_same_kind(&file.on_disk)?,
        };
        if !got.hex().eq_ignore_ascii_case(expected.hex()) {
            // Plain files are fetched again; the hub's own are what its list says, and are Python's too.
            if file.server.address("").is_some() {
                wb_core::atomic::remove_file(&file.on_disk)?;
            }
            let message = format!("wrong bytes came: their hash is {}, expected {}", got.hex(), expected.hex());
            let hint = "give the same command again; if it stays so, `--revision main` takes what is published today";
            return Err(Error::file(&file.on_disk, message).with_hint(hint));
        }
    }
    let bytes = fs::metadata(&file.on_disk).map_err(Error::io("read", &file.on_disk))?.len();
    let (from, path) = (file.server.to_string(), file.path.clone());
    Ok(Taken { from, path, bytes, sha256: sha256.hex().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_stands_in_place_of_the_scheme() {
        let url = "https://raw.githubusercontent.com/o/n/abc/a.json";
        assert_eq!(mirrored(url, None), url);
        let expected = "http://127.0.0.1:80/web/raw.githubusercontent.com/o/n/abc/a.json";
        assert_eq!(mirrored(url, Some("http://127.0.0.1:80/web/")), expected);
        assert_eq!(mirrored("http://other/a", Some("http://m")), "http://other/a");
    }
}
