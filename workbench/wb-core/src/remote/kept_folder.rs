//! A folder of object storage that a process works in on this disk: brought, and put back.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    path::{Path, PathBuf},
    time::{Instant, SystemTime},
};

use super::{ObjectStorage, SCHEME, name_of, outgoing, place_of, storage};
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

/// A copy of a folder in object storage. Its files are named by their paths in it.
pub(super) struct KeptFolder {
    pub place: String,
    pub local: PathBuf,
    temporary: TemporaryFolder,
    /// Files at the place.
    there: BTreeMap<PathBuf, There>,
    /// Folders in it that were brought as a whole: what goes from them here goes there, also where nothing is put.
    whole: BTreeSet<PathBuf>,
    /// The last time that something was put back.
    pub last: Instant,
}

/// A file at the place; with the stamp that it had here when it was brought or put there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum There {
    /// Counted.
    Counts(Stamp),
    /// Put there, and not counted yet.
    Put(Stamp),
    /// Uncounted: another left it, or is at it, or it was about to be put.
    Left,
}

impl There {
    fn stamp(self) -> Option<Stamp> {
        match self {
            Self::Counts(stamp) | Self::Put(stamp) => Some(stamp),
            Self::Left => None,
        }
    }

    fn counts(self) -> bool {
        matches!(self, Self::Counts(_))
    }
}

/// A file's length and the time of its last change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Stamp {
    changed: SystemTime,
    bytes: u64,
}

impl KeptFolder {
    pub fn open(place: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<Self> {
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
        let (there, whole) = Default::default();
        let mut opened = Self { place, local, temporary, there, whole, last: Instant::now() };
        opened.bring(Path::new(""), wanted)?;
        Ok(opened)
    }

    /// The place of something in the folder.
    fn place_of(&self, inside: &Path) -> String {
        inside.iter().fold(self.place.clone(), |place, part| format!("{place}/{}", part.to_string_lossy()))
    }

    /// Brings those of the files at a path in the folder that are wanted and not there. They are copied once more: what
    /// readers share stays as it is.
    pub fn bring(&mut self, inside: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<()> {
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
                        self.there.entry(name).or_insert(There::Left);
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
        match (copy.exists(), self.there.get(&name).and_then(|there| there.stamp())) {
            (true, Some(brought)) if anew && brought == stamp(&copy)? => atomic::remove_file(&copy)?,
            // Taken away here.
            (true, _) | (false, Some(_)) => return Ok(()),
            (false, None) => {}
        }
        let above = atomic::parent(&copy);
        fs::create_dir_all(&above).map_err(Error::io("create", &above))?;
        fs::copy(file, &copy).map_err(Error::io("write", &copy))?;
        self.there.insert(name, There::Counts(stamp(&copy)?));
        Ok(())
    }

    /// Puts back what has changed.
    pub fn put_back(&mut self) -> Result<()> {
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
            if self.there.get(name).and_then(|there| there.stamp()) != Some(*stamp) {
                folders.entry(folder_of(name).map(Path::to_owned)).or_default().push((name.clone(), *stamp));
            }
        }
        for (name, there) in &self.there {
            let folder = folder_of(name).map(Path::to_owned);
            let is_ours = folder.as_ref().is_none_or(|folder| self.whole.contains(folder));
            let is_due = match there {
                There::Put(_) => true,
                There::Counts(_) => is_ours && !now.contains_key(name),
                There::Left => false,
            };
            if is_due {
                folders.entry(folder).or_default();
            }
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
        let in_folder = |name: &Path| folder_of(name) == folder;
        let is_put = |(name, there): (&PathBuf, &There)| in_folder(name) && matches!(there, There::Put(_));
        let puts = !changed.is_empty() || self.there.iter().any(is_put);
        if folder.is_some() {
            for (name, _) in changed {
                self.there.entry(name.clone()).or_insert(There::Left);
            }
        }
        let marker =
            folder.filter(|_| puts).map(|folder| (self.not_counting(folder), self.place_of(&folder.join(PUTTING))));
        let marker = marker.filter(|(names, _)| !names.is_empty());
        if let Some((names, place)) = &marker {
            let file = self.temporary.path().join(PUTTING);
            let bytes = serde_json::to_vec(names).map_err(|error| Error::data(place, error.to_string()))?;
            atomic::write(&file, &bytes)?;
            storage.put(&file, place)?;
        }
        for (name, stamp) in changed {
            storage.put(&self.local.join(name), &self.place_of(name))?;
            let counts = marker.as_ref().is_none_or(|(names, _)| !names.contains(name));
            self.there.insert(name.clone(), if counts { There::Counts(*stamp) } else { There::Put(*stamp) });
        }
        // What does not count goes before all that is there counts, and what counts only after that. Where this process puts
        // nothing, what does not count may be what another is at.
        self.remove_gone(|name, there| puts && in_folder(name) && !there.counts() && !now.contains_key(name))?;
        if let Some((_, place)) = &marker {
            storage.remove(place)?;
            for (_, there) in self.there.iter_mut().filter(|(name, _)| in_folder(name)) {
                *there = there.stamp().map_or(There::Left, There::Counts);
            }
        }
        self.remove_gone(|name, there| in_folder(name) && there.counts() && !now.contains_key(name))
    }

    /// Names in a folder of files at the place that do not count.
    fn not_counting(&self, folder: &Path) -> BTreeSet<PathBuf> {
        let all = self.there.iter().filter(|(name, there)| folder_of(name) == Some(folder) && !there.counts());
        all.map(|(name, _)| name.clone()).collect()
    }

    /// Takes files at the place away.
    fn remove_gone(&mut self, is_gone: impl Fn(&Path, &There) -> bool) -> Result<()> {
        let gone: Vec<PathBuf> =
            self.there.iter().filter(|(name, there)| is_gone(name, there)).map(|(name, _)| name.clone()).collect();
        for name in gone {
            storage(&self.place)?.remove(&self.place_of(&name))?;
            self.there.remove(&name);
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
    pub fn put_back_or_leave(&mut self) -> Result<()> {
        let Err(error) = self.put_back() else { return Ok(()) };
        // Whoever puts it there by hand puts there what does not count then, too: what is not here.
        let marked = self.there.iter().filter(|(_, there)| !there.counts()).filter_map(|(name, _)| folder_of(name));
        for folder in marked.collect::<BTreeSet<&Path>>() {
            let mut names = self.not_counting(folder);
            names.retain(|name| !self.local.join(name).exists());
            let bytes = serde_json::to_vec(&names).unwrap_or_default();
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

    pub fn let_go(mut self) -> Result<()> {
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
