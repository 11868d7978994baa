//! Paths that lead to object storage, as readers and writers of files take them: what is read is a copy in the folder of
//! caches, what is written is put there once it is whole.
//!
//! A crate that knows such a storage hands it to [`install`]; no other one has to know it.

mod kept;
mod kept_folder;

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::OnceLock,
};

pub use self::kept::{bring, keep, let_go, put_back_after, put_back_or_leave, shown};
use crate::{Error, Result, atomic, fingerprint::Fingerprint, paths};

/// The scheme of places in a bucket.
pub const SCHEME: &str = "s3://";

/// A storage of objects, asked for copies of what is there and given what is to be there. Places begin with [`SCHEME`].
pub trait ObjectStorage: Send + Sync {
    /// A copy of an object, or of those below a prefix whose names below it are `wanted`, as they are now. With `asks`, a
    /// person is asked for what is large.
    ///
    /// # Errors
    ///
    /// If nothing is there, the storage does not answer, or the person says no.
    fn copy(&self, place: &str, wanted: &dyn Fn(&str) -> bool, asks: bool) -> Result<RemoteCopy>;

    /// Bytes of an object, or of those below a prefix, of which there is no copy yet; none where there is no object.
    ///
    /// # Errors
    ///
    /// If the storage does not answer.
    fn missing(&self, place: &str) -> Result<Option<u64>>;

    /// Puts a file there, over one that is.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or the storage does not take it.
    fn put(&self, file: &Path, place: &str) -> Result<()>;

    /// Takes an object away, whether it is there or not.
    ///
    /// # Errors
    ///
    /// If the storage does not answer.
    fn remove(&self, place: &str) -> Result<()>;
}

/// A copy on this disk of what is in object storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteCopy {
    /// The file, or the folder of files.
    pub path: PathBuf,
    /// Number of objects below the prefix that were not wanted.
    pub others: u64,
}

static STORAGE: OnceLock<Box<dyn ObjectStorage>> = OnceLock::new();

/// Takes the storage of this process; the first one stays.
pub fn install(storage: impl ObjectStorage + 'static) {
    STORAGE.get_or_init(|| Box::new(storage));
}

/// True for a path that leads to object storage.
pub fn is_remote(path: &Path) -> bool {
    place_of(path).is_some()
}

/// A path on this disk with what is at a path: itself, or a copy.
///
/// # Errors
///
/// If it leads to object storage, and nothing is there or nobody answers.
pub fn local(path: &Path) -> Result<PathBuf> {
    Ok(local_of(path, &|_| true)?.path)
}

/// Opens the file at a path.
///
/// # Errors
///
/// As [`local`], and if it cannot be opened.
pub fn open(path: &Path) -> Result<File> {
    File::open(local(path)?).map_err(Error::io("read", path))
}

/// [`local`] of those files of a folder whose names below it are `wanted`; a folder of this disk is not looked at.
///
/// # Errors
///
/// As [`local`].
pub fn local_of(path: &Path, wanted: &dyn Fn(&str) -> bool) -> Result<RemoteCopy> {
    match place_of(path) {
        Some(place) => storage(place)?.copy(place, wanted, true),
        None => Ok(RemoteCopy { path: path.to_owned(), others: 0 }),
    }
}

/// Bytes that [`local`] has to fetch of what is at a path; none where nothing is there.
///
/// # Errors
///
/// If it leads to object storage, and nobody answers.
pub fn missing(path: &Path) -> Result<Option<u64>> {
    place_of(path).map_or_else(|| Ok(path.exists().then_some(0)), |place| storage(place)?.missing(place))
}

/// True where something is at a path.
///
/// # Errors
///
/// As [`missing`].
pub fn exists(path: &Path) -> Result<bool> {
    Ok(missing(path)?.is_some())
}

fn place_of(path: &Path) -> Option<&str> {
    path.to_str().filter(|path| path.starts_with(SCHEME))
}

fn storage(place: &str) -> Result<&'static dyn ObjectStorage> {
    let storage = STORAGE.get().map(|storage| &**storage);
    storage.ok_or_else(|| Error::failed(format!("{place}: this program knows no object storage")))
}

/// The folder of caches for what is on its way to a place.
fn outgoing(place: &str) -> Result<PathBuf> {
    Ok(paths::caches()?.join("wb/outgoing").join(Fingerprint::builder().text(place).finish().short()))
}

/// The last part of a place.
fn name_of(place: &str) -> &str {
    place.rsplit('/').next().unwrap_or(place)
}

/// A file, or a folder of files, that is written on this disk, whatever its place. One for object storage lies in the folder
/// of caches until it is whole and [`Outgoing::send`] puts it there; after a kill it is found where it was.
#[derive(Debug)]
pub struct Outgoing {
    place: PathBuf,
    local: PathBuf,
}

impl Outgoing {
    /// Something that will be at a place.
    ///
    /// # Errors
    ///
    /// If the place is in object storage, and this disk has no folder for caches or the place no name.
    pub fn to(place: &Path) -> Result<Self> {
        let Some(remote) = place_of(place) else {
            return Ok(Self { place: place.to_owned(), local: place.to_owned() });
        };
        let remote = remote.trim_end_matches('/');
        let inside = remote.strip_prefix(SCHEME).and_then(|inside| inside.split_once('/'));
        let Some((_, name)) = inside else {
            let message = format!("`{remote}` is a bucket, expected a name in it");
            return Err(Error::failed(message).with_hint(format!("{remote}/NAME")));
        };
        Ok(Self { place: PathBuf::from(remote), local: outgoing(remote)?.join(name_of(name)) })
    }

    /// The path to write to.
    pub fn local(&self) -> &Path {
        &self.local
    }

    /// The path that something beside it will have.
    pub fn beside(&self, local: &Path) -> PathBuf {
        let name = local.file_name().unwrap_or_default();
        if is_remote(&self.place) { self.place.with_file_name(name) } else { local.to_owned() }
    }

    /// Refuses a place in object storage where something is; on this disk whoever writes there looks.
    ///
    /// # Errors
    ///
    /// If something is there, or nobody answers.
    pub fn absent(self) -> Result<Self> {
        if is_remote(&self.place) && exists(&self.place)? {
            return Err(Error::is_there(&self.place));
        }
        Ok(self)
    }

    /// Takes out what an earlier process has left on its way to object storage.
    ///
    /// # Errors
    ///
    /// If it cannot be taken out.
    pub fn anew(self) -> Result<Self> {
        match self.local.parent() {
            Some(folder) if is_remote(&self.place) && folder.is_dir() => atomic::remove_folder(folder)?,
            _ => {}
        }
        Ok(self)
    }

    /// Puts it to its place, after files that lie beside it, where that is not this disk.
    ///
    /// # Errors
    ///
    /// If the storage does not take it; what is on this disk stays.
    pub fn send(self, beside: &[PathBuf]) -> Result<()> {
        let (Some(place), Some(folder)) = (place_of(&self.place), self.local.parent()) else { return Ok(()) };
        for file in beside {
            let to = self.beside(file);
            storage(place)?.put(file, &to.to_string_lossy())?;
        }
        let mut files = Vec::new();
        match self.local.is_dir() {
            true => paths::walk(&self.local, &mut |file| files.push(file))?,
            false => files.push(self.local.clone()),
        }
        files.sort();
        for file in &files {
            let inside = file.strip_prefix(folder).unwrap_or(file);
            storage(place)?.put(file, &self.place.with_file_name("").join(inside).to_string_lossy())?;
        }
        atomic::remove_folder(folder)
    }
}

/// Refuses to make files and folders of this disk whose path leads to object storage: they would be there under odd names.
pub(crate) fn refuse(path: &Path) -> Result<()> {
    if !is_remote(path) {
        return Ok(());
    }
    let what = format!("{} is in object storage, expected a path of this disk", path.display());
    Err(Error::failed(what).with_hint("write to a folder, and copy it: aws s3 sync FOLDER s3://BUCKET/PREFIX"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_path_of_this_disk_is_itself() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.jsonl");
        assert!(!is_remote(&file) && !exists(&file).unwrap());
        assert_eq!(local(&file).unwrap(), file);
        let out = Outgoing::to(&file).unwrap();
        fs::write(out.local(), "x").unwrap();
        assert_eq!(out.beside(&file.with_extension("ids")), file.with_extension("ids"));
        out.send(&[]).unwrap();
        assert!(exists(&file).unwrap());
    }

    #[test]
    fn places_of_a_storage_need_one_and_a_name() {
        let place = Path::new("s3://bucket/a.jsonl");
        assert!(is_remote(place) && !is_remote(Path::new("s3:/bucket")));
        let error = local(place).unwrap_err().to_string();
        assert_eq!(error, "s3://bucket/a.jsonl: this program knows no object storage");
        let error = Outgoing::to(Path::new("s3://bucket/")).unwrap_err();
        assert_eq!(error.to_string(), "`s3://bucket` is a bucket, expected a name in it");
        let out = Outgoing::to(Path::new("s3://bucket/some/vectors.npy")).unwrap();
        assert!(out.local().ends_with("vectors.npy"));
        assert_eq!(out.local(), Outgoing::to(Path::new("s3://bucket/some/vectors.npy")).unwrap().local());
        assert_eq!(out.beside(Path::new("/x/vectors.ids")).to_str(), Some("s3://bucket/some/vectors.ids"));
        let error = atomic::write(place, b"x").unwrap_err();
        assert_eq!(error.to_string(), "s3://bucket/a.jsonl is in object storage, expected a path of this disk");
        assert!(!Path::new("s3:").exists());
    }
}
