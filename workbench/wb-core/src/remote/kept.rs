//! Folders that a process works in for long, wherever they lie: those of object storage are copies, brought and put back.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::{is_remote, kept_folder::KeptFolder};
use crate::{Error, Result};

/// The folders of this process.
static KEPT: Mutex<Vec<KeptFolder>> = Mutex::new(Vec::new());

/// Their paths on this disk and their places; apart from them, as notes are told while they are brought and put back.
static NAMES: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

/// Takes a folder for this process to work in until [`let_go`], and gives its path on this disk. One of this disk is itself.
/// One of object storage is a copy: those files whose paths in it are `wanted` are brought, others once [`bring`] asks for
/// them, and what has changed is put back now and then ([`put_back_after`]) and in the end. What a process that dies has
/// changed since is lost; the next one, on whatever machine, begins with what was put back.
///
/// New files in one folder of it (those of a run, of a set of pairs) are put back all or not at all: until all of them are
/// there, an object beside them says that they do not count. Files that are written over are put one by one, those that only
/// grow first; so are files that lie beside those folders, and last of all. Nothing keeps two processes from working on the
/// same files at once.
///
/// # Errors
///
/// If it is in object storage, and nobody answers, or it names no bucket.
pub fn keep(place: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<PathBuf> {
    if !is_remote(place) {
        return Ok(place.to_owned());
    }
    let folder = KeptFolder::open(place, wanted)?;
    let local = folder.local.clone();
    locked(&NAMES).push((local.to_string_lossy().into_owned(), folder.place.clone()));
    locked(&KEPT).push(folder);
    Ok(local)
}

/// Brings all that is kept at a path, where that is in a folder of [`keep`] and not there yet.
///
/// # Errors
///
/// If the storage does not answer.
pub fn bring(path: &Path) -> Result<()> {
    let mut all = locked(&KEPT);
    let of_path = all.iter_mut().find_map(|folder| Some((path.strip_prefix(&folder.local).ok()?.to_owned(), folder)));
    of_path.map_or(Ok(()), |(inside, folder)| folder.bring(&inside, &|_| true))
}

/// Puts back what has changed in folders of [`keep`], where the last time is longer ago than this.
///
/// # Errors
///
/// If the storage does not take it, which a later attempt may change.
pub fn put_back_after(time: Duration) -> Result<()> {
    let mut all = locked(&KEPT);
    let due = all.iter_mut().filter(|folder| folder.last.elapsed() >= time);
    due.map(KeptFolder::put_back).fold(Ok(()), Result::and)
}

/// Puts back what has changed in all folders of [`keep`] for a process that is about to end, whatever its threads do.
///
/// # Errors
///
/// Those of [`let_go`].
pub fn put_back_or_leave() -> Vec<Error> {
    locked(&KEPT).iter_mut().filter_map(|folder| folder.put_back_or_leave().err()).collect()
}

/// Puts back what has changed in all folders of [`keep`], which are gone then.
///
/// # Errors
///
/// One for each folder that the storage does not take, with the path where all of it still is.
pub fn let_go() -> Vec<Error> {
    // Held until all is put back: whoever wants to end the process waits for it.
    locked(&KEPT).drain(..).filter_map(|folder| folder.let_go().err()).collect()
}

/// A text with the places in object storage that paths in folders of [`keep`] stand for.
pub fn shown(text: &str) -> Cow<'_, str> {
    let mut shown = Cow::Borrowed(text);
    for (local, place) in locked(&NAMES).iter().filter(|(local, _)| text.contains(local)) {
        shown = Cow::Owned(shown.replace(local, place));
    }
    shown
}

fn locked<T>(all: &'static Mutex<T>) -> MutexGuard<'static, T> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}
