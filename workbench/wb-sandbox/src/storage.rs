//! Object storage for tests of readers and writers: its keys are paths of this disk, and what is read is a copy elsewhere.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use serde_json::Value;
use tempfile::TempDir;
use wb_core::{
    Error, Result, faults,
    remote::{self, ObjectStorage, RemoteCopy, SCHEME},
};

/// The place of a path of this disk in the storage of this process, which is installed.
pub fn place_of(path: &Path) -> PathBuf {
    remote::install(DiskStorage { copies: tempfile::tempdir().unwrap(), next: AtomicUsize::new(0) });
    PathBuf::from(format!("{SCHEME}{}", path.canonicalize().unwrap_or_else(|_| path.to_owned()).display()))
}

/// A config with places of the storage for all of its paths of this disk.
#[must_use]
pub fn with_places(config: &Value) -> Value {
    match config {
        Value::String(text) if text.starts_with('/') && text.len() > 1 && Path::new(text).exists() => {
            place_of(Path::new(text)).display().to_string().into()
        }
        Value::Array(all) => all.iter().map(with_places).collect(),
        Value::Object(all) => all.iter().map(|(key, value)| (key.clone(), with_places(value))).collect(),
        other => other.clone(),
    }
}

struct DiskStorage {
    copies: TempDir,
    next: AtomicUsize,
}

fn path_of(place: &str) -> &Path {
    Path::new(place.strip_prefix(SCHEME).unwrap_or(place))
}

impl ObjectStorage for DiskStorage {
    fn copy(&self, place: &str, wanted: &dyn Fn(&str) -> bool, _: bool) -> Result<RemoteCopy> {
        let from = path_of(place);
        let folder = self.copies.path().join(self.next.fetch_add(1, Ordering::Relaxed).to_string());
        let to = folder.join(from.file_name().unwrap());
        let mut others = 0;
        if from.is_file() {
            fs::create_dir_all(&folder).unwrap();
            fs::copy(from, &to).unwrap();
        } else if from.is_dir() {
            fs::create_dir_all(&to).unwrap();
            copy_wanted(from, &to, "", wanted, &mut others);
        } else {
            return Err(Error::failed(format!("{place}: no object has this key, or one below it")));
        }
        Ok(RemoteCopy { path: to, others })
    }

    fn missing(&self, place: &str) -> Result<Option<u64>> {
        Ok(path_of(place).exists().then_some(0))
    }

    fn put(&self, file: &Path, place: &str) -> Result<()> {
        let to = path_of(place);
        faults::point().map_err(Error::io("write", to))?;
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(file, to).map(|_| ()).map_err(Error::io("write", to))
    }

    fn remove(&self, place: &str) -> Result<()> {
        faults::point().map_err(Error::io("remove", path_of(place)))?;
        let _ = fs::remove_file(path_of(place));
        Ok(())
    }
}

fn copy_wanted(from: &Path, to: &Path, below: &str, wanted: &dyn Fn(&str) -> bool, others: &mut u64) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{below}{}", entry.file_name().to_string_lossy());
        match entry.path().is_dir() {
            true => copy_wanted(&entry.path(), to, &format!("{name}/"), wanted, others),
            false if wanted(&name) => {
                fs::create_dir_all(to.join(&name).parent().unwrap()).unwrap();
                fs::copy(entry.path(), to.join(&name)).unwrap();
            }
            false => *others += 1,
        }
    }
}
