//! One data set to its place: what is missing is fetched, converted, and put there whole or not at all.

use std::{
    fs,
    path::{Path, PathBuf},
};

use wb_core::{Progress, atomic, lock::FileLock};
use wb_hub::Hub;

use super::{
    conversions::{ConversionCounts, Inputs},
    entry::{DataSetFolder, Entry, Server},
    fetch::{self, Fetched},
    record::FetchRecord,
    state::{FolderState, recipe, state},
};
use crate::Result;

/// The target of a data set, and the servers to take.
pub struct FetchRequest<'a> {
    /// The folder of all data sets of others.
    pub external: &'a Path,
    /// The client that fetches.
    pub hub: &'a Hub,
    /// Stands in place of `https://` of plain addresses; see [`super::MIRROR`].
    pub mirror: Option<String>,
    /// Another commit, branch or tag than the catalog's; what the catalog knows of contents does not count then.
    pub revision: Option<String>,
    /// Makes again what is there.
    pub force: bool,
}

impl<'a> FetchRequest<'a> {
    /// A request to the hub of this process and the mirror of its environment.
    pub fn new(external: &'a Path) -> Self {
        let mirror = fetch::mirror_of_environment();
        Self { external, hub: Hub::session(), mirror, revision: None, force: false }
    }

    /// A server at the revision that is asked for.
    pub(super) fn server(&self, server: &Server) -> Server {
        self.revision.as_ref().map_or_else(|| server.clone(), |revision| server.at(revision))
    }

    fn state(&self, entry: &Entry, part: &DataSetFolder) -> Result<FolderState> {
        state(entry, part, self.external, self.revision.as_deref())
    }

    /// True where a part in this state is made.
    fn makes(&self, state: &FolderState, part: &DataSetFolder) -> bool {
        match state {
            FolderState::Missing => true,
            FolderState::There | FolderState::Other => self.force,
            // Beside what readers prefer nothing is put that nobody would read.
            FolderState::ByHand(path) => self.force && *path == self.external.join(&part.place),
        }
    }
}

/// A part of a data set after [`get`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// Its folder.
    pub place: PathBuf,
    /// Its end.
    pub outcome: FolderOutcome,
}

/// The end of [`get`] for a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FolderOutcome {
    /// Made now, of so much; what was left out is counted by its reason.
    Made(ConversionCounts),
    /// Left as it was made before.
    There,
    /// Left as it was fetched before, of other files.
    Other,
    /// A person put this there, and it stays.
    ByHand(PathBuf),
}

/// A part, and whether it is to be made.
struct Planned<'a> {
    part: &'a DataSetFolder,
    makes: bool,
    state: FolderState,
}

/// Plans the parts of a data set; an error where something is missing for one that has another name.
fn planned<'a>(entry: &'a Entry, request: &FetchRequest<'_>) -> Result<Vec<Planned<'a>>> {
    let plan = |part: &'a DataSetFolder| {
        let state = request.state(entry, part)?;
        let makes = request.makes(&state, part);
        if makes {
            part.conversion.member().ready(request.external)?;
        }
        Ok(Planned { part, makes, state })
    };
    entry.parts.iter().map(plan).collect()
}

/// The work that a data set takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToCome {
    /// Folders that are to be made.
    pub folders: usize,
    /// Bytes that are to be fetched for them.
    pub bytes: u64,
    /// Files to fetch of which nobody knows the size.
    pub unknown: usize,
}

/// The work that a data set takes; asks the hub for lists of files, and fetches nothing else.
pub fn to_come(entry: &Entry, request: &FetchRequest<'_>) -> Result<ToCome> {
    let planned = planned(entry, request)?;
    let parts: Vec<&DataSetFolder> =
        planned.iter().filter(|planned| planned.makes).map(|planned| planned.part).collect();
    let (folders, mut bytes, mut unknown) = (parts.len(), 0, 0);
    for (server, wanted) in fetch::by_server(request, &parts) {
        if let Server::Hub { id, commit } = &server {
            let look = request.hub.look(&fetch::repository(id, commit)?, &|paths| fetch::chosen(paths, &wanted));
            bytes += look.bytes();
            unknown += if look.unknown.is_some() { wanted.len() } else { 0 };
            continue;
        }
        for file in wanted {
            match file.bytes.filter(|_| request.revision.is_none()) {
                Some(count) => bytes += count,
                None => unknown += 1,
            }
        }
    }
    Ok(ToCome { folders, bytes, unknown })
}

/// Fetches a data set and makes its folders; those that are there already stay, and cost nothing.
pub fn get(entry: &Entry, request: &FetchRequest<'_>, progress: &mut dyn FnMut(Progress)) -> Result<Vec<Done>> {
    let held = FileLock::take(&request.external.join(".lock"), request.external);
    let _held = held.map_err(|error| error.with_hint("wait for it, or name another folder: --external DIR"))?;
    for part in &entry.parts {
        // What a killed process left is put back or taken out: nobody else writes here now.
        let above = request.external.join(&part.place);
        if let Some(above) = above.parent().filter(|above| above.is_dir()) {
            atomic::restore_folders(above)?;
            atomic::remove_leftovers(above)?;
        }
    }
    let planned = planned(entry, request)?;
    let to_make: Vec<&DataSetFolder> =
        planned.iter().filter(|planned| planned.makes).map(|planned| planned.part).collect();
    let incoming = request.external.join(".incoming").join(&entry.name);
    let fetched = match to_make.is_empty() {
        true => Vec::new(),
        false => fetch::fetch(request, &entry.name, &to_make, &incoming, progress)?,
    };
    let mut fetched = fetched.into_iter();
    let mut done = Vec::new();
    for Planned { part, makes, state } in planned {
        let files = if makes { fetched.next() } else { None };
        let outcome = match (files, state) {
            (Some(files), _) => FolderOutcome::Made(make(entry, part, &files, request, progress)?),
            (None, FolderState::Other) => FolderOutcome::Other,
            (None, FolderState::ByHand(path)) => FolderOutcome::ByHand(path),
            (None, FolderState::There | FolderState::Missing) => FolderOutcome::There,
        };
        done.push(Done { place: request.external.join(&part.place), outcome });
    }
    if incoming.is_dir() {
        // All of it is in its place now.
        atomic::remove_folder(&incoming)?;
        // Of another data set something may be there still.
        let _ = fs::remove_dir(request.external.join(".incoming"));
    }
    Ok(done)
}

/// Converts a part's files, and lets the folder appear when all of it is right.
fn make(
    entry: &Entry,
    part: &DataSetFolder,
    fetched: &Fetched,
    request: &FetchRequest<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Result<ConversionCounts> {
    let place = request.external.join(&part.place);
    let inputs = Inputs { files: &fetched.inputs, external: request.external };
    let mut counts = ConversionCounts::new();
    atomic::replace_folder_with(&place, |into| -> Result<()> {
        counts = part.conversion.member().convert(&inputs, into, progress)?;
        let record = FetchRecord {
            name: entry.name.clone(),
            title: entry.title.clone(),
            license: entry.license.to_owned(),
            made: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            recipe: recipe(part, request.external, request.revision.as_deref())?,
            sources: fetched.taken.clone(),
            counts: counts.clone(),
        };
        record.write(into)
    })?;
    Ok(counts)
}
