//! Copies of what is in buckets of S3, in a folder of this disk, for readers that take paths; and files put there.

use std::{
    collections::HashSet,
    fs::{self, OpenOptions},
    io::{Seek, SeekFrom, Write as _},
    path::{Component, Path, PathBuf},
};

use wb_core::{
    Error, Progress, atomic,
    download::{Demand, Meter, Observer},
    fingerprint::{Fingerprint, FingerprintBuilder},
    paths, publish,
    remote::{ObjectStorage, RemoteCopy, SCHEME},
};

use crate::{
    Result, Store, TryAgain,
    store::{FoundObject, variables_of_environment},
};

/// A file of every copy of a prefix that is whole; hidden, so that no reader takes it for one of the objects.
const WHOLE: &str = ".whole";
/// Objects from this size on are gone on with where a download was cut.
const LARGE: u64 = 16 << 20;
/// Attempts at a copy while what is copied changes.
const AT_MOST: usize = 5;

/// Buckets of S3, with copies of their objects below a folder. A copy is named by what it is a copy of, so that an object
/// that changes is copied again and one that stays is not; the folder may be taken away at any time that nobody reads.
pub struct Buckets {
    /// The folder of copies; none for that in the folder of caches.
    folder: Option<PathBuf>,
    observer: Box<dyn Observer>,
    /// Variables of the environment, by which servers and keys are found.
    variables: Vec<(String, String)>,
}

impl Buckets {
    /// Buckets as this process's environment has them, with copies in the folder of caches.
    pub fn of_environment(observer: impl Observer + 'static) -> Self {
        Self { folder: None, observer: Box::new(observer), variables: variables_of_environment() }
    }

    /// Buckets as an environment has them, with copies in a folder.
    pub fn new(folder: PathBuf, variables: Vec<(String, String)>, observer: impl Observer + 'static) -> Self {
        Self { folder: Some(folder), observer: Box::new(observer), variables }
    }

    /// The folder that is named by what is in it.
    fn named(&self, key: &FingerprintBuilder) -> Result<PathBuf> {
        let copies = self.folder.clone().map_or_else(|| Ok(paths::caches()?.join("wb/objects")), Ok::<_, Error>)?;
        Ok(copies.join(key.finish().short()))
    }

    /// A bucket, and the key of a place in it.
    fn open<'p>(&self, place: &'p str) -> Result<(Store, &'p str)> {
        let inside = place.strip_prefix(SCHEME).unwrap_or(place);
        let (bucket, key) = inside.split_once('/').unwrap_or((inside, ""));
        Ok((Store::open_by(&format!("{SCHEME}{bucket}"), &self.variables)?, key))
    }

    /// The copy of an object, there or not: below a name that tells it from all others and from what it was.
    fn path(&self, store: &Store, object: &FoundObject) -> Result<PathBuf> {
        let mut key = self.key_of(store);
        add_to(&mut key, object);
        Ok(self.named(&key)?.join(safe(store, &object.key)?))
    }

    fn key_of(&self, store: &Store) -> FingerprintBuilder {
        let mut key = Fingerprint::builder();
        for (name, value) in self.variables.iter().filter(|(name, _)| name.starts_with("AWS_ENDPOINT")) {
            key.text(name).text(value);
        }
        key.text(&store.place());
        key
    }

    /// Brings what is not there yet; `what` is told to who is asked.
    fn bring(&self, store: &Store, what: &str, objects: &[FoundObject], asks: bool) -> Result<Vec<PathBuf>> {
        let paths = objects.iter().map(|object| self.path(store, object)).collect::<Result<Vec<_>>>()?;
        let missing: Vec<usize> = (0..objects.len()).filter(|at| !is_copy(&paths[*at], &objects[*at])).collect();
        let bytes = missing.iter().map(|at| objects[*at].bytes).sum();
        if missing.is_empty() {
            return Ok(paths);
        }
        let demand = Demand { what: what.into(), files: missing.len(), bytes };
        if asks && let Some((message, hint)) = self.observer.refuses(&demand) {
            return Err(Error::failed(format!("{what}: {message}")).with_hint(hint));
        }
        let mut meter = Meter::new(&*self.observer, bytes);
        let (large, small): (Vec<usize>, Vec<usize>) = missing.into_iter().partition(|at| objects[*at].bytes >= LARGE);
        let brought = self.bring_small(store, objects, &paths, &small, &mut meter).and_then(|()| {
            large.iter().try_for_each(|at| self.bring_large(store, &objects[*at], &paths[*at], &mut meter))
        });
        self.observer.finished();
        brought.map(|()| paths)
    }

    /// Brings objects many at a time, each whole in memory.
    fn bring_small(
        &self,
        store: &Store,
        objects: &[FoundObject],
        paths: &[PathBuf],
        small: &[usize],
        meter: &mut Meter<'_>,
    ) -> Result<()> {
        for at in small.iter().filter(|at| objects[**at].bytes == 0) {
            atomic::write(&paths[*at], b"")?;
        }
        // Less than a part each, so that a piece is a whole object.
        let wanted: Vec<(FoundObject, u64)> = small.iter().map(|at| (objects[*at].clone(), 0)).collect();
        store.pieces(&wanted, |number, piece| {
            meter.file(&wanted[number].0.key);
            meter.add(piece.len() as u64);
            atomic::write(&paths[small[number]], piece)
        })
    }

    /// Brings an object piece by piece, after those that an attempt before this one has left.
    fn bring_large(&self, store: &Store, object: &FoundObject, path: &Path, meter: &mut Meter<'_>) -> Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        atomic::create_folders(folder)?;
        meter.file(&object.key);
        if path.is_file() && !is_copy(path, object) {
            atomic::remove_file(path)?;
        }
        let mut waiting =
            |progress: Progress| self.observer.note(&format!("{}: waiting {}", object.key, progress.note));
        let grow = |part: &Path, _: &mut dyn FnMut(Progress)| -> Result<()> {
            let failed = |error| Error::io("write", part)(error);
            let mut file =
                OpenOptions::new().create(true).append(false).write(true).truncate(false).open(part).map_err(failed)?;
            let begun = file.metadata().map_err(failed)?.len().min(object.bytes);
            meter.shift(begun as i64);
            file.set_len(begun).and_then(|()| file.seek(SeekFrom::Start(begun))).map_err(failed)?;
            store.pieces(&[(object.clone(), begun)], |_, piece| {
                meter.add(piece.len() as u64);
                file.write_all(piece).map_err(failed)
            })?;
            file.sync_all().map_err(failed)
        };
        publish::file(path, &mut waiting, grow).map(|_| ())
    }

    /// A folder with objects under their names below a prefix.
    fn folder(&self, store: &Store, prefix: &str, objects: &[FoundObject], copies: &[PathBuf]) -> Result<PathBuf> {
        let mut key = self.key_of(store);
        key.text(prefix);
        objects.iter().for_each(|object| add_to(&mut key, object));
        let folder = self.named(&key)?.join(safe(store, prefix)?);
        publish::folder(&folder, WHOLE, |inside| {
            let mut made = HashSet::new();
            for (object, copy) in objects.iter().zip(copies) {
                let to = inside.join(safe(store, below(prefix, &object.key))?);
                let above = to.parent().unwrap_or(inside).to_owned();
                if made.insert(above.clone()) {
                    fs::create_dir_all(&above).map_err(Error::io("create", &above))?;
                }
                // The same file under a second name; a second file where the disk knows no such thing.
                if fs::hard_link(copy, &to).is_err() {
                    fs::copy(copy, &to).map_err(Error::io("write", &to))?;
                }
            }
            atomic::write(&inside.join(WHOLE), b"")
        })?;
        Ok(folder)
    }

    /// The object of a key, or those below it; names of folders, as some programs leave them, aside.
    fn at(&self, store: &Store, key: &str) -> Result<Vec<FoundObject>> {
        let object = if key.is_empty() || key.ends_with('/') { None } else { store.look(key)? };
        if let Some(object) = object {
            return Ok(vec![object]);
        }
        let all = store.below(key.trim_matches('/'))?;
        // In the order of keys, others may stand between a folder and what is in it.
        let is_folder = |object: &FoundObject| {
            let inside = format!("{}/", object.key);
            let first = all.partition_point(|other| other.key < inside);
            object.bytes == 0 && all.get(first).is_some_and(|other| other.key.starts_with(&inside))
        };
        Ok(all.iter().filter(|object| !is_folder(object)).cloned().collect())
    }

    /// A copy as things are at one moment.
    fn copied(&self, place: &str, wanted: &dyn Fn(&str) -> bool, asks: bool) -> Result<RemoteCopy> {
        let (store, key) = self.open(place)?;
        let all = self.at(&store, key)?;
        let prefix = key.trim_matches('/');
        if let [object] = all.as_slice()
            && object.key == prefix
        {
            let paths = self.bring(&store, place, &all, asks)?;
            return Ok(RemoteCopy { path: paths.into_iter().next().unwrap_or_default(), others: 0 });
        }
        if all.is_empty() {
            let what = format!("{place}: no object has this key, or one below it");
            return Err(Error::failed(what).with_hint(format!("aws s3 ls --recursive {place}")));
        }
        let n = all.len();
        let objects: Vec<FoundObject> = all.into_iter().filter(|object| wanted(below(prefix, &object.key))).collect();
        let copies = self.bring(&store, place, &objects, asks)?;
        let path = self.folder(&store, prefix, &objects, &copies)?;
        Ok(RemoteCopy { path, others: (n - objects.len()) as u64 })
    }
}

impl ObjectStorage for Buckets {
    fn copy(&self, place: &str, wanted: &dyn Fn(&str) -> bool, asks: bool) -> Result<RemoteCopy> {
        for _ in 1..AT_MOST {
            match self.copied(place, wanted, asks) {
                // Others write there. What did not change is not fetched again.
                Err(error) if error.kind() == Some(&TryAgain::AtOnce) => {}
                copied => return copied,
            }
        }
        self.copied(place, wanted, asks)
    }

    fn missing(&self, place: &str) -> Result<Option<u64>> {
        let (store, key) = self.open(place)?;
        let objects = self.at(&store, key)?;
        let mut bytes = 0;
        for object in &objects {
            bytes += if is_copy(&self.path(&store, object)?, object) { 0 } else { object.bytes };
        }
        Ok((!objects.is_empty()).then_some(bytes))
    }

    fn put(&self, file: &Path, place: &str) -> Result<()> {
        let (store, key) = self.open(place)?;
        store.replace(key, file)
    }

    fn remove(&self, place: &str) -> Result<()> {
        let (store, key) = self.open(place)?;
        store.remove_key(key)
    }
}

/// True where a copy is there. One that a crash of the system has cut is not.
fn is_copy(path: &Path, object: &FoundObject) -> bool {
    fs::metadata(path).is_ok_and(|file| file.len() == object.bytes)
}

/// An object and what it is now, into a key.
fn add_to(key: &mut FingerprintBuilder, object: &FoundObject) {
    key.text(&object.key).text(object.version.as_deref().unwrap_or_default()).number(object.bytes);
}

/// The name of an object below a prefix.
fn below<'k>(prefix: &str, key: &'k str) -> &'k str {
    key.strip_prefix(prefix).unwrap_or(key).trim_start_matches('/')
}

/// A key as a path that leads nowhere but down.
fn safe<'k>(store: &Store, key: &'k str) -> Result<&'k Path> {
    let path = Path::new(key);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
    if is_plain && !key.contains(['\0', '\\']) {
        return Ok(path);
    }
    let what = format!("{}/{key} has no name that a file can have", store.place());
    Err(Error::failed(what).with_hint("give it another key"))
}
