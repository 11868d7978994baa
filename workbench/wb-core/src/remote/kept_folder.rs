//! Folders that a process works in for long, wherever they lie: one of object storage is brought, and put back.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use super::{ObjectStorage, SCHEME, is_remote, name_of, outgoing, place_of, storage};
use crate::{
    Error, Result,
    atomic::{self, TemporaryFolder},
    paths,
};

/// Files that are of this machine alone.
const LOCK: &str = "lock";
/// Ending of files that grow until they are whole, and are nothing to others before.
const PART: &str = ".part";
/// Ending of files that only grow, and are cut to what counts by who goes on with them.
const JOURNAL: &str = "jsonl";
/// The object of a folder while new files are put into it: their names, which do not count as long as it is there. Where it
/// stays, whoever put them has died, or was refused.
const PUTTING: &str = ".putting.json";

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
/// grow first, and so are files that lie beside those folders, after them. Nothing keeps two processes from working on the same files at once.
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

/// A copy of a folder in object storage. Its files are named by their paths in it.
struct KeptFolder {
    place: String,
    local: PathBuf,
    temporary: TemporaryFolder,
    /// Files at the place, as they were here when they were brought or put there; without a stamp those that do not count.
    there: BTreeMap<PathBuf, Option<Stamp>>,
    /// New files that were put there and do not count yet.
    uncounted: BTreeSet<PathBuf>,
    /// Folders in it that were brought as a whole: what goes from them here goes there, also where nothing is put.
    whole: BTreeSet<PathBuf>,
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
        if place.len() < SCHEME.len() {
            return Err(Error::failed(format!("`{SCHEME}` names no bucket")).with_hint("s3://BUCKET/PREFIX"));
        }
        let above = outgoing(&place)?;
        atomic::create_folders(&above)?;
        atomic::remove_abandoned(&above);
        let name = name_of(&place);
        let (temporary, local) = TemporaryFolder::filled(&above.join(name), |temporary| -> Result<PathBuf> {
            let local = temporary.join(name);
            fs::create_dir(&local).map_err(Error::io("create", &local))?;
            Ok(local)
        })?;
        let (there, uncounted, whole) = Default::default();
        let mut opened = Self { place, local, temporary, there, uncounted, whole, last: Instant::now() };
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
        let place = self.place_of(inside);
        let storage = storage(&place)?;
        if storage.missing(&place)?.is_some() {
            let from = storage.copy(&place, &|name| name.ends_with(PUTTING) || wanted(name), false)?.path;
            let mut found = Vec::new();
            match from.is_dir() {
                true => paths::walk(&from, &mut |file| found.push((inside.join(below(&from, &file)), file)))?,
                false => found.push((inside.to_owned(), from.clone())),
            }
            let mut putting = BTreeMap::new();
            for (name, file) in found {
                if let Some(folder) = folder_of(&name) {
                    if !putting.contains_key(folder) {
                        putting.insert(folder.to_owned(), self.putting(storage, folder, (inside, &from))?);
                    }
                    if putting[folder].contains(&name) {
                        self.there.entry(name).or_insert(None);
                        continue;
                    }
                }
                self.copy(name, &file, inside.components().count() == 1)?;
            }
        }
        if inside.components().count() == 1 {
            self.whole.insert(inside.to_owned());
        }
        Ok(())
    }

    /// Names of files of a folder that do not count, where what is at a path was copied.
    fn putting(
        &self,
        storage: &dyn ObjectStorage,
        folder: &Path,
        (copied, copy): (&Path, &Path),
    ) -> Result<BTreeSet<PathBuf>> {
        let place = self.place_of(&folder.join(PUTTING));
        let file = match folder.strip_prefix(copied) {
            Ok(inside) => copy.join(inside).join(PUTTING),
            Err(_) if storage.missing(&place)?.is_none() => return Ok(BTreeSet::new()),
            Err(_) => storage.copy(&place, &|_| true, false)?.path,
        };
        if !file.is_file() {
            return Ok(BTreeSet::new());
        }
        let bytes = fs::read(&file).map_err(Error::io("read", &file))?;
        serde_json::from_slice(&bytes).map_err(|error| Error::json(Path::new(&place), &error))
    }

    /// Copies a file that counts, where it is not here; with `anew` also one that was brought and stayed as it was.
    fn copy(&mut self, name: PathBuf, file: &Path, anew: bool) -> Result<()> {
        let copy = self.local.join(&name);
        match (copy.exists(), self.there.get(&name)) {
            (true, Some(Some(brought))) if anew && *brought == stamp(&copy)? => atomic::remove_file(&copy)?,
            // Taken away here.
            (true, _) | (false, Some(Some(_))) => return Ok(()),
            (false, _) => {}
        }
        let above = atomic::parent(&copy);
        fs::create_dir_all(&above).map_err(Error::io("create", &above))?;
        fs::copy(file, &copy).map_err(Error::io("write", &copy))?;
        self.there.insert(name, Some(stamp(&copy)?));
        Ok(())
    }

    /// Puts back what has changed.
    fn put_back(&mut self) -> Result<()> {
        let put = self.put_changed();
        self.last = Instant::now();
        // A folder that nothing happens to for a day counts as abandoned where locks do not reach.
        let _ = File::open(self.temporary.path()).and_then(|folder| folder.set_modified(SystemTime::now()));
        put
    }

    fn put_changed(&mut self) -> Result<()> {
        let now = self.files()?;
        let mut folders: BTreeMap<Option<PathBuf>, Vec<(PathBuf, Stamp)>> = BTreeMap::new();
        for (name, stamp) in &now {
            if self.there.get(name) != Some(&Some(*stamp)) {
                folders.entry(folder_of(name).map(Path::to_owned)).or_default().push((name.clone(), *stamp));
            }
        }
        for (name, _) in self.there.iter().filter(|(name, stamp)| stamp.is_some() && !now.contains_key(*name)) {
            let folder = folder_of(name).map(Path::to_owned);
            if folder.as_ref().is_none_or(|folder| self.whole.contains(folder)) {
                folders.entry(folder).or_default();
            }
        }
        for name in &self.uncounted {
            folders.entry(folder_of(name).map(Path::to_owned)).or_default();
        }
        // Files beside folders may name what is in these.
        let beside = folders.remove(&None).map(|changed| (None, changed));
        for (folder, mut changed) in folders.into_iter().chain(beside) {
            changed.sort_by_cached_key(|(name, stamp)| (!is_journal(name), *stamp, name.clone()));
            self.put_into(folder.as_deref(), &changed, &now)?;
        }
        Ok(())
    }

    /// Puts files into one folder of the place, so that new ones count all or not at all, and takes away what is gone.
    fn put_into(
        &mut self,
        folder: Option<&Path>,
        changed: &[(PathBuf, Stamp)],
        now: &BTreeMap<PathBuf, Stamp>,
    ) -> Result<()> {
        let storage = storage(&self.place)?;
        let mut marker = folder.map(|folder| self.place_of(&folder.join(PUTTING)));
        let in_folder = |name: &Path| folder_of(name) == folder;
        if let Some(place) = &marker {
            let news =
                changed.iter().map(|(name, _)| name).filter(|name| !matches!(self.there.get(*name), Some(Some(_))));
            self.uncounted.extend(news.cloned());
            let mut names: BTreeSet<&Path> = self.uncounted.iter().map(PathBuf::as_path).collect();
            names.extend(self.there.iter().filter(|(_, stamp)| stamp.is_none()).map(|(name, _)| name.as_path()));
            names.retain(|name| in_folder(name));
            if names.is_empty() {
                marker = None;
            } else {
                let file = self.temporary.path().join(PUTTING);
                let bytes = serde_json::to_vec(&names).map_err(|error| Error::data(place, error.to_string()))?;
                atomic::write(&file, &bytes)?;
                storage.put(&file, place)?;
            }
        }
        for (name, stamp) in changed {
            storage.put(&self.local.join(name), &self.place_of(name))?;
            self.there.insert(name.clone(), Some(*stamp));
        }
        // What does not count goes before all that is there counts, and what counts only after that.
        let gone = |this: &Self, counts: bool| -> Vec<PathBuf> {
            let is_gone = |name: &&PathBuf| in_folder(name) && !now.contains_key(*name);
            let all = this.there.iter().filter(|(name, _)| is_gone(name));
            // What does not count is another's that is at it, unless this one puts files there.
            let all = all.filter(|(_, stamp)| stamp.is_some() || !changed.is_empty());
            all.filter(|(name, stamp)| (stamp.is_some() && !this.uncounted.contains(*name)) == counts)
                .map(|(name, _)| name.clone())
                .collect()
        };
        for counts in [false, true] {
            for name in gone(self, counts) {
                storage.remove(&self.place_of(&name))?;
                self.there.remove(&name);
                self.uncounted.remove(&name);
            }
            if let (false, Some(marker)) = (counts, &marker) {
                storage.remove(marker)?;
                self.uncounted.retain(|name| !in_folder(name));
            }
        }
        Ok(())
    }

    /// The files that are here, those of this machine alone aside.
    fn files(&self) -> Result<BTreeMap<PathBuf, Stamp>> {
        let mut found = Vec::new();
        paths::walk(&self.local, &mut |file| found.push(file))?;
        let mut now = BTreeMap::new();
        for file in found {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            if name != LOCK && !name.ends_with(PART) {
                now.insert(below(&self.local, &file).to_owned(), stamp(&file)?);
            }
        }
        Ok(now)
    }

    /// Puts back what has changed; where that fails, all of it gets a name under which it stays.
    fn put_back_or_leave(&mut self) -> Result<()> {
        let Err(error) = self.put_back() else { return Ok(()) };
        // Whoever puts it there by hand puts there what does not count, too.
        let not_here = self.there.iter().filter(|(name, stamp)| stamp.is_none() && !self.local.join(name).exists());
        let not_here: BTreeSet<&Path> = not_here.map(|(name, _)| name.as_path()).collect();
        let folders: BTreeSet<&Path> = not_here.iter().copied().filter_map(folder_of).collect();
        let marked = self.uncounted.iter().filter_map(|name| folder_of(name)).chain(folders).collect::<BTreeSet<_>>();
        for folder in marked {
            let of_folder: Vec<&&Path> = not_here.iter().filter(|name| folder_of(name) == Some(folder)).collect();
            let bytes = serde_json::to_vec(&of_folder).unwrap_or_default();
            // What cannot be said is no reason to lose the files.
            let _ = fs::write(self.local.join(folder).join(PUTTING), bytes);
        }
        let name = self.local.file_name().unwrap_or_default();
        let left = self.temporary.path().with_file_name(atomic::writer_name());
        let left = match self.temporary.rename(&left) {
            Ok(()) => left,
            Err(_) => self.temporary.path().to_owned(),
        };
        let hint = format!("all of it is here still: aws s3 sync {} {}", left.join(name).display(), self.place);
        Err(Error::failed(format!("{} was not put back", self.place)).with_cause(error).with_hint(hint))
    }

    fn let_go(mut self) -> Result<()> {
        if let Err(error) = self.put_back_or_leave() {
            // It stays, whatever its name.
            std::mem::forget(self.temporary);
            return Err(error);
        }
        let above = atomic::parent(self.temporary.path());
        drop(self.temporary);
        // It stays where others of this place are.
        let _ = fs::remove_dir(above);
        Ok(())
    }
}

/// The first folder of a file's path; none for one that lies beside folders.
fn folder_of(name: &Path) -> Option<&Path> {
    let mut parts = name.iter();
    parts.next().filter(|_| parts.next().is_some()).map(Path::new)
}

fn is_journal(name: &Path) -> bool {
    name.extension().is_some_and(|ending| ending == JOURNAL)
}

fn below<'f>(folder: &Path, file: &'f Path) -> &'f Path {
    file.strip_prefix(folder).unwrap_or(file)
}

fn stamp(file: &Path) -> Result<Stamp> {
    let told = fs::metadata(file).and_then(|told| Ok((told.modified()?, told.len())));
    let (changed, bytes) = told.map_err(Error::io("read", file))?;
    Ok(Stamp { changed, bytes })
}
