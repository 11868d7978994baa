//! Folders that a process works in for long, wherever they lie: one of object storage is brought, and put back.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use super::{is_remote, local_of, missing, name_of, outgoing, place_of, storage};
use crate::{
    Error, Result,
    atomic::{self, TemporaryFolder},
    paths,
};

/// Files that are of this machine alone.
const LOCK: &str = "lock";

/// The folders of this process.
static KEPT: Mutex<Vec<KeptFolder>> = Mutex::new(Vec::new());

/// Their paths on this disk and their places. Whoever tells something while a folder is put back asks for them.
static NAMES: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

/// Takes a folder for this process to work in until [`let_go`], and gives its path on this disk. One of this disk is itself.
/// One of object storage is a copy: those files whose paths in it are `wanted` are brought, others once [`bring`] asks for
/// them, and what has changed is put back now and then ([`keep_by`]) and in the end. What a process that dies has changed
/// since is lost; the next one, on whatever machine, begins with what was put back.
///
/// Files are put back in the order in which they were changed, and those that are gone are taken away after that: a process
/// that dies in between leaves there what one that was killed earlier leaves here. Nothing keeps two processes from working
/// on the same files at once.
///
/// # Errors
///
/// If it is in object storage, and nobody answers, or it has no name there.
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

/// Puts back what has changed in folders of [`keep`], where that was done so long ago.
///
/// # Errors
///
/// If the storage does not take it, which a later attempt may change.
pub fn keep_by(after: Duration) -> Result<()> {
    locked(&KEPT).iter_mut().filter(|folder| folder.last.elapsed() >= after).try_for_each(KeptFolder::put_back)
}

/// Puts back what has changed in all folders of [`keep`], which are gone then.
///
/// # Errors
///
/// If the storage does not take it, with the folder where all of it still is.
pub fn let_go() -> Result<()> {
    std::mem::take(&mut *locked(&KEPT)).into_iter().try_for_each(KeptFolder::let_go)
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

/// A copy of a folder in object storage.
struct KeptFolder {
    place: String,
    local: PathBuf,
    temporary: TemporaryFolder,
    /// Files as they are at the place, by their paths in the folder.
    kept: BTreeMap<PathBuf, Stamp>,
    last: Instant,
}

/// A file's length and the time of its last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Stamp {
    changed: SystemTime,
    bytes: u64,
}

impl KeptFolder {
    fn open(place: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<Self> {
        let place = place_of(place).unwrap_or_default().trim_end_matches('/').to_owned();
        let above = outgoing(&place)?;
        atomic::create_folders(&above)?;
        atomic::remove_abandoned(&above);
        let name = name_of(&place);
        let (temporary, local) = TemporaryFolder::filled(&above.join(name), |temporary| -> Result<PathBuf> {
            let local = temporary.join(name);
            fs::create_dir(&local).map_err(Error::io("create", &local))?;
            Ok(local)
        })?;
        let mut opened = Self { place, local, temporary, kept: BTreeMap::new(), last: Instant::now() };
        opened.bring(Path::new(""), wanted)?;
        Ok(opened)
    }

    /// The place of something in the folder.
    fn place_of(&self, inside: &Path) -> String {
        inside.iter().fold(self.place.clone(), |place, part| format!("{place}/{}", part.to_string_lossy()))
    }

    /// Brings those of the files at a path in the folder that are wanted and not there. They are copied once more: what
    /// readers share stays as it is.
    fn bring(&mut self, inside: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<()> {
        let place = PathBuf::from(self.place_of(inside));
        if missing(&place)?.is_none() {
            return Ok(());
        }
        let from = local_of(&place, wanted)?.path;
        let to = self.local.join(inside);
        let mut found = Vec::new();
        match from.is_dir() {
            true => {
                paths::walk(&from, &mut |file| found.push((to.join(file.strip_prefix(&from).unwrap_or(&file)), file)))?
            }
            false => found.push((to, from)),
        }
        for (copy, file) in found {
            let inside = copy.strip_prefix(&self.local).unwrap_or(&copy).to_owned();
            if self.kept.contains_key(&inside) || copy.exists() {
                continue;
            }
            let above = atomic::parent(&copy);
            fs::create_dir_all(&above).map_err(Error::io("create", &above))?;
            fs::copy(&file, &copy).map_err(Error::io("write", &copy))?;
            self.kept.insert(inside, stamp(&copy)?);
        }
        Ok(())
    }

    /// Puts back what has changed.
    fn put_back(&mut self) -> Result<()> {
        let put = self.put_changed();
        self.last = Instant::now();
        put
    }

    fn put_changed(&mut self) -> Result<()> {
        let storage = storage(&self.place)?;
        let mut found = Vec::new();
        paths::walk(&self.local, &mut |file| found.push(file))?;
        let mut now = BTreeMap::new();
        for file in found.iter().filter(|file| file.file_name().is_some_and(|name| name != LOCK)) {
            now.insert(file.strip_prefix(&self.local).unwrap_or(file).to_owned(), stamp(file)?);
        }
        let mut changed: Vec<_> = now.iter().filter(|(path, stamp)| self.kept.get(*path) != Some(*stamp)).collect();
        changed.sort_by_key(|(path, stamp)| (**stamp, *path));
        for (path, stamp) in changed {
            storage.put(&self.local.join(path), &self.place_of(path))?;
            self.kept.insert(path.clone(), *stamp);
        }
        let gone: Vec<PathBuf> = self.kept.keys().filter(|path| !now.contains_key(*path)).cloned().collect();
        for path in gone {
            storage.remove(&self.place_of(&path))?;
            self.kept.remove(&path);
        }
        Ok(())
    }

    fn let_go(mut self) -> Result<()> {
        if let Err(error) = self.put_back() {
            let left = self.temporary.path().with_file_name(atomic::writer_name());
            self.temporary.rename(&left)?;
            let left = left.join(self.local.file_name().unwrap_or_default());
            let hint = format!("all of it is here still: aws s3 sync {} {}", left.display(), self.place);
            return Err(Error::failed(format!("{} was not put back", self.place)).with_cause(error).with_hint(hint));
        }
        let above = atomic::parent(self.temporary.path());
        drop(self.temporary);
        // It stays where others of this place are.
        let _ = fs::remove_dir(above);
        Ok(())
    }
}

fn stamp(file: &Path) -> Result<Stamp> {
    let told = fs::metadata(file).and_then(|told| Ok((told.modified()?, told.len())));
    let (changed, bytes) = told.map_err(Error::io("read", file))?;
    Ok(Stamp { changed, bytes })
}
