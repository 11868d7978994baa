//! Locks on files: one process at a time, and the others are told which one.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    path::Path,
};

use crate::{Error, Result, atomic};

/// Holds a place for this process; the operating system lets go when the process ends, however it ends.
#[derive(Debug)]
#[must_use = "the place is free again when this is dropped"]
pub struct FileLock(#[expect(dead_code, reason = "held for its lock, which ends with it")] File);

impl FileLock {
    /// Takes the lock file `path`, which is made where it is not there; [`Error::Locked`] says who holds `place`.
    pub fn take(path: &Path, place: &Path) -> Result<Self> {
        let mut file = open(path)?;
        match file.try_lock() {
            Ok(()) => Self::signed(file, path),
            Err(TryLockError::WouldBlock) => {
                Err(Error::Locked { path: place.to_path_buf(), holder: holder(&mut file), hint: None })
            }
            Err(TryLockError::Error(source)) => Err(refused(path, source)),
        }
    }

    /// Takes the lock file `path`, and waits where another process holds it; `waiting` is told which.
    pub fn wait(path: &Path, waiting: impl FnOnce(&str)) -> Result<Self> {
        let mut file = open(path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                waiting(&holder(&mut file));
                file.lock().map_err(|source| refused(path, source))?;
            }
            Err(TryLockError::Error(source)) => return Err(refused(path, source)),
        }
        Self::signed(file, path)
    }

    /// Writes into the file who holds it.
    fn signed(mut file: File, path: &Path) -> Result<Self> {
        let command: Vec<String> = std::env::args().collect();
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
        let holder = format!("pid {} on {} since {now} ({})", std::process::id(), host(), command.join(" "));
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(holder.as_bytes()))
            .map_err(Error::io("write", path))?;
        Ok(Self(file))
    }
}

/// Name of this host; nothing where the system does not tell it.
pub fn host() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

fn open(path: &Path) -> Result<File> {
    if let Some(folder) = path.parent() {
        atomic::create_folders(folder)?;
    }
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).map_err(Error::io("lock", path))
}

/// The system's numbers for a file system without locks: `ENOLCK`, and the names of `EOPNOTSUPP`.
const NO_LOCKS: &[i32] = if cfg!(target_os = "linux") { &[37, 95] } else { &[77, 45, 102] };

/// The error of a lock that the system does not give. Without one, two processes would write one file, so nothing goes
/// on without.
fn refused(path: &Path, source: io::Error) -> Error {
    let no_locks = source.kind() == io::ErrorKind::Unsupported
        || cfg!(unix) && source.raw_os_error().is_some_and(|number| NO_LOCKS.contains(&number));
    if !no_locks {
        return Error::io("lock", path)(source);
    }
    let message = format!("cannot be locked, as its file system has no locks ({source})");
    Error::data(path.display().to_string(), message).with_hint(
        "use a folder on a disk of this machine (HF_HOME moves the hub's cache, --index an index), or mount the shared one with \
         locks",
    )
}

/// Holder of the file, as far as it tells.
fn holder(file: &mut File) -> String {
    let mut holder = String::new();
    // Who it is is a help, not a need.
    let _ = file.read_to_string(&mut holder);
    if holder.is_empty() { "another process".to_owned() } else { holder }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_the_first_is_or_waits_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("inside/lock");
        let first = FileLock::take(&path, folder.path()).unwrap();
        let error = FileLock::take(&path, folder.path()).unwrap_err();
        let who = format!("{} is in use by pid {} on ", folder.path().display(), std::process::id());
        assert!(error.to_string().starts_with(&who), "{error}");
        assert_eq!(error.hint(), Some("wait for it, or stop it"));
        let (told, is_told) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| FileLock::wait(&path, |holder| told.send(holder.to_owned()).unwrap()));
            assert!(is_told.recv().unwrap().starts_with("pid "));
            assert!(!second.is_finished());
            drop(first);
            drop(second.join().unwrap().unwrap());
        });
        drop(FileLock::wait(&path, |holder| panic!("{holder} holds it")).unwrap());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_system_without_locks_is_told_with_a_way_out() {
        let path = Path::new("/shared/lock");
        // ENOLCK and EOPNOTSUPP.
        for number in [37, 95] {
            let error = refused(path, io::Error::from_raw_os_error(number));
            assert!(error.to_string().starts_with("/shared/lock: cannot be locked, as its file system"), "{error}");
            assert!(error.hint().unwrap().contains("a disk of this machine"), "{error:?}");
        }
        let other = refused(path, io::ErrorKind::PermissionDenied.into());
        assert!(matches!(other, Error::Io { action: "lock", .. }), "{other}");
    }
}
