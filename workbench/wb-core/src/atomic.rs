//! Files and folders that appear whole or not at all.

use std::{
    fs::{self, File},
    hash::{BuildHasher, RandomState},
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{Error, Result, faults, lock, remote};

/// Writes a file so that a reader, or a crash, sees the old content or the new, never a part:
/// a temporary file beside it, flushed to the disk, renamed, and the folder flushed.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_with(path, |file| file.write_all(bytes)).map_err(|error| full(error, bytes.len()))
}

/// Says how many bytes were needed where there is no space left for them.
pub fn full(error: Error, bytes: usize) -> Error {
    match error {
        Error::Io { path, source, .. } if source.kind() == std::io::ErrorKind::StorageFull => {
            Error::DiskFull { path, bytes: bytes as u64, source }
        }
        other => other,
    }
}

/// [`write()`] for content that is made piece by piece.
pub fn write_with(path: &Path, fill: impl FnOnce(&mut File) -> std::io::Result<()>) -> Result<()> {
    remote::refuse(path)?;
    let folder = parent(path);
    create_folders(&folder)?;
    let temporary = temporary_name(path);
    let filled = faults::point()
        .and_then(|()| File::create_new(&temporary))
        .and_then(|mut file| {
            hold(&file);
            faults::point()?;
            fill(&mut file)?;
            faults::point()?;
            file.sync_all()
        })
        .map_err(Error::io("write", path))
        .and_then(|()| rename(&temporary, path));
    if filled.is_err() {
        // Nothing half-written stays behind; the first error is the one to tell.
        let _ = fs::remove_file(&temporary);
    }
    filled?;
    sync_folder(&folder)
}

/// Makes a folder appear whole: `fill` writes into a temporary folder beside it, which is renamed when all is written.
/// A folder that is already there is an error; one that is named by its content is [`crate::publish::folder`]'s.
pub fn folder_with<E: From<Error>>(
    path: &Path,
    fill: impl FnOnce(&Path) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let (temporary, ()) = TemporaryFolder::filled(path, fill)?;
    temporary.rename(path)?;
    Ok(sync_folder(&parent(path))?)
}

/// Gives `work` a temporary folder beside `path` that is gone afterwards, and takes out those that killed processes left.
pub fn in_scratch<T, E: From<Error>>(
    path: &Path,
    work: impl FnOnce(&Path) -> std::result::Result<T, E>,
) -> std::result::Result<T, E> {
    remove_abandoned(&parent(path));
    Ok(TemporaryFolder::filled(path, work)?.1)
}

/// [`folder_with`] in the place of a folder that may be there already. A crash leaves the old one or the new one, once
/// [`restore_folders`] has been there.
pub fn replace_folder_with<E: From<Error>>(
    path: &Path,
    fill: impl FnOnce(&Path) -> std::result::Result<(), E>,
) -> std::result::Result<(), E> {
    let (temporary, ()) = TemporaryFolder::filled(path, fill)?;
    let replaced = replaced_name(path);
    let exchange = || -> Result<()> {
        if path.exists() && !path.is_dir() {
            return Err(Error::io("replace", path)(std::io::ErrorKind::NotADirectory.into()));
        }
        if path.exists() {
            if replaced.exists() {
                remove_folder(&replaced)?;
            }
            rename(path, &replaced)?;
        }
        if let Err(error) = temporary.rename(path) {
            // What cannot be put back here is put back by `restore_folders`.
            let _ = if replaced.exists() { fs::rename(&replaced, path) } else { Ok(()) };
            return Err(error);
        }
        sync_folder(&parent(path))?;
        if replaced.exists() { remove_folder(&replaced) } else { Ok(()) }
    };
    Ok(exchange()?)
}

/// Puts back folders inside `folder` that a crash caught between two names in [`replace_folder_with`], and takes out
/// those that were replaced already.
pub fn restore_folders(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(Error::io("read", folder))? {
        let entry = entry.map_err(Error::io("read", folder))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(name) = name.strip_prefix('.').and_then(|name| name.strip_suffix(".replaced")) else { continue };
        let path = folder.join(name);
        if path.exists() { remove_folder(&entry.path())? } else { rename(&entry.path(), &path)? }
    }
    Ok(())
}

/// Takes out what processes that were killed left half-written in `folder` and in the folders right inside it. Nobody
/// else may be writing there.
pub fn remove_leftovers(folder: &Path) -> Result<()> {
    let mut found = entries(folder)?;
    for inside in found.clone().iter().filter(|path| path.is_dir() && !is_temporary(path)) {
        found.extend(entries(inside)?);
    }
    for path in found.iter().filter(|path| is_temporary(path)) {
        if path.is_dir() { remove_folder(path)? } else { remove_file(path)? }
    }
    Ok(())
}

/// Takes out what processes that ended left half-written in a folder that others may be writing in now. What cannot be
/// looked at or removed stays: it does no harm but for its size.
pub fn remove_abandoned(folder: &Path) {
    for path in entries(folder).unwrap_or_default().iter().filter(|path| is_temporary(path) && is_abandoned(path)) {
        let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(Error::io("read", folder))?;
    entries.map(|entry| Ok(entry.map_err(Error::io("read", folder))?.path())).collect()
}

/// True where [`temporary_name`] named it, and nobody got to rename it.
fn is_temporary(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let pid = name.strip_suffix(".tmp").and_then(|name| name.rsplit_once('.')).map(|(_, pid)| pid);
    name.starts_with('.') && pid.is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()))
}

/// True where nobody is going to finish a temporary file or folder. Its maker holds a lock on it for as long as it lives,
/// which tells more than the number of its process: containers on one disk each have a process 1. Locks need not reach
/// other hosts, so what comes from there is given a day without a change; and what was made a moment ago may not be
/// locked yet.
fn is_abandoned(path: &Path) -> bool {
    const MOMENT: Duration = Duration::from_secs(60);
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_ours = name.rsplit('.').nth(3) == Some(host_name().as_str());
    let unchanged = |path: &Path| fs::metadata(path).and_then(|found| found.modified()).ok()?.elapsed().ok();
    let inside = if path.is_dir() { entries(path).unwrap_or_default() } else { Vec::new() };
    let ages = std::iter::once(path).chain(inside.iter().map(PathBuf::as_path)).map(unchanged);
    // What cannot be told, such as a time in the future, counts as just now.
    let least = ages.map(Option::unwrap_or_default).min().unwrap_or_default();
    let most = if is_ours { MOMENT } else { DAY };
    least > most && File::open(path).is_ok_and(|file| file.try_lock().is_ok())
}

/// Holds a temporary for as long as the file is open. Where there are no locks, nobody else gets one either, and
/// nothing counts as abandoned.
fn hold(file: &File) {
    let _ = file.try_lock();
}

/// Takes out a folder with all that is in it.
pub fn remove_folder(path: &Path) -> Result<()> {
    faults::point().and_then(|()| fs::remove_dir_all(path)).map_err(Error::io("remove", path))
}

/// Takes out a file.
pub fn remove_file(path: &Path) -> Result<()> {
    faults::point().and_then(|()| fs::remove_file(path)).map_err(Error::io("remove", path))
}

/// A folder of a temporary name, which goes with this value unless it was renamed.
pub(crate) struct TemporaryFolder {
    path: PathBuf,
    _held: Option<File>,
}

impl TemporaryFolder {
    /// A folder beside `path`, filled and flushed.
    pub(crate) fn filled<T, E: From<Error>>(
        path: &Path,
        fill: impl FnOnce(&Path) -> std::result::Result<T, E>,
    ) -> std::result::Result<(Self, T), E> {
        remote::refuse(path)?;
        let above = parent(path);
        create_folders(&above)?;
        let temporary = temporary_name(path);
        faults::point().and_then(|()| fs::create_dir(&temporary)).map_err(Error::io("create", &temporary))?;
        let held = File::open(&temporary).ok().inspect(hold);
        let temporary = Self { path: temporary, _held: held };
        let filled = fill(&temporary.path)?;
        sync_folder(&temporary.path)?;
        Ok((temporary, filled))
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives it its name; the folder above is yet to be flushed.
    pub(crate) fn rename(&self, to: &Path) -> Result<()> {
        rename(&self.path, to)
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        // Nothing half-written stays behind; where it was renamed there is nothing of this name.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Renames a file or folder.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    faults::point().and_then(|()| fs::rename(from, to)).map_err(Error::io("rename", to))
}

/// Makes a folder and those above it, where they are not there.
///
/// # Errors
///
/// If the disk does not take them, or the path leads to object storage.
pub fn create_folders(folder: &Path) -> Result<()> {
    remote::refuse(folder)?;
    fs::create_dir_all(folder).map_err(Error::io("create", folder))
}

/// Flushes a folder's entries to the disk.
pub fn sync_folder(folder: &Path) -> Result<()> {
    faults::point()
        .and_then(|()| File::open(folder))
        .and_then(|file| file.sync_all())
        .map_err(Error::io("write", folder))
}

/// The folder of a file: the current one for a bare name.
pub fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// The name of something unfinished beside `path`, another one at each call: `.NAME.HOST.RANDOM.PID.tmp`. Processes of
/// several hosts and containers may share a disk, and their numbers are not different.
pub fn temporary_name(path: &Path) -> PathBuf {
    beside(path, ".", &format!(".{}.tmp", writer_name()))
}

/// The name of whoever writes something now, another one at each call: `HOST.RANDOM.PID`.
pub fn writer_name() -> String {
    // The standard library's hash maps draw a key of their own from the system.
    let random = RandomState::new().hash_one(()) as u32;
    format!("{}.{random:08x}.{}", host_name(), std::process::id())
}

/// The host's name as part of a file's name: its first letters and digits, or `host` where nobody knows it.
fn host_name() -> String {
    let host = lock::host();
    let letters = host.split('.').next().unwrap_or_default().chars().filter(char::is_ascii_alphanumeric);
    let name: String = letters.take(16).collect();
    if name.is_empty() { "host".into() } else { name }
}

fn replaced_name(path: &Path) -> PathBuf {
    beside(path, ".", ".replaced")
}

/// A path in the same folder, whose name is this one's between two texts.
pub fn beside(path: &Path, before: &str, after: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(before);
    name.push(path.file_name().unwrap_or_default());
    name.push(after);
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_replaced_whole_or_not_at_all_whatever_fails() {
        for for_good in [false, true] {
            for n in 1.. {
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("step");
                let put = |text: &str| {
                    replace_folder_with(&path, |inside| -> Result<()> { write(&inside.join("a"), text.as_bytes()) })
                };
                put("old").unwrap();
                faults::fail_at(n, for_good);
                let result = put("new");
                let fired = faults::clear();
                restore_folders(folder.path()).unwrap();
                let found = fs::read_to_string(path.join("a")).unwrap();
                assert!(found == "old" || found == "new", "{found}");
                assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "fault {n}");
                if !fired {
                    assert!(result.is_ok() && found == "new" && n > 8, "{n}");
                    break;
                }
                assert!(result.is_err(), "fault {n} was not told");
            }
        }
    }

    #[test]
    fn a_full_disk_is_told_with_path_and_bytes() {
        let folder = tempfile::tempdir().unwrap();
        faults::fail_at(2, false);
        let error = write(&folder.path().join("weights"), &[0; 1234]).unwrap_err().to_string();
        faults::clear();
        assert!(error.ends_with("weights: the disk is full, 1234 bytes were needed"), "{error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        write(&path, b"old").unwrap();
        let failed = write_with(&path, |file| {
            file.write_all(b"half")?;
            Err(std::io::Error::other("disk full"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn leftovers_of_killed_processes_are_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in [".encoder.12.tmp", "bench", "bench/deep", "encoder"] {
            fs::create_dir(path(name)).unwrap();
        }
        let stay =
            [".hidden", ".a.tmp", "a.12.tmp", ".a.x1.tmp", "bench/pairs.json", "encoder/a", "bench/deep/.a.1.tmp"];
        let go = [".verdict.json.7.tmp", ".encoder.12.tmp/a", "bench/.pairs.json.99.tmp"];
        stay.iter().chain(&go).for_each(|name| fs::write(path(name), "x").unwrap());
        remove_leftovers(folder.path()).unwrap();
        assert!(stay.iter().all(|name| path(name).is_file()));
        assert!(go.iter().all(|name| !path(name).exists()) && !path(".encoder.12.tmp").exists());
    }

    #[test]
    fn no_two_temporaries_have_one_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        let names: std::collections::BTreeSet<PathBuf> = (0..100).map(|_| temporary_name(&path)).collect();
        assert_eq!(names.len(), 100);
        assert!(names.iter().all(|name| is_temporary(name) && name.parent() == path.parent()));
        // Two threads of one process that write one file at once: it is one of the two, and nothing else is there.
        std::thread::scope(|scope| {
            for text in ["one", "two"] {
                let path = &path;
                scope.spawn(move || (0..50).for_each(|_| write(path, text.as_bytes()).unwrap()));
            }
        });
        assert!(["one", "two"].contains(&fs::read_to_string(&path).unwrap().as_str()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_somebody_holds_is_not_abandoned() {
        let folder = tempfile::tempdir().unwrap();
        let temporary = temporary_name(&folder.path().join("pairs"));
        fs::create_dir(&temporary).unwrap();
        fs::write(temporary.join("train.parquet"), "half").unwrap();
        let of_another_host = folder.path().join(".pairs.other.00000000.1.tmp");
        fs::write(&of_another_host, "half").unwrap();
        let is_there = || {
            remove_abandoned(folder.path());
            [temporary.is_dir(), of_another_host.is_file()]
        };
        let age = |path: &Path, seconds: u64| {
            let then = std::time::SystemTime::now() - Duration::from_secs(seconds);
            File::open(path).unwrap().set_modified(then).unwrap();
        };
        let age_all = |seconds| {
            let all = [temporary.join("train.parquet"), temporary.clone(), of_another_host.clone()];
            all.iter().filter(|path| path.exists()).for_each(|path| age(path, seconds));
        };
        assert_eq!(is_there(), [true, true], "made a moment ago");
        age_all(3600);
        let held = File::open(&temporary).unwrap();
        hold(&held);
        assert_eq!(is_there(), [true, true], "held");
        drop(held);
        age(&temporary, 3600);
        fs::write(temporary.join("train.parquet"), "more").unwrap();
        assert_eq!(is_there(), [true, true], "written to a moment ago");
        age_all(3600);
        assert_eq!(is_there(), [false, true], "another host's locks are not seen here");
        age_all(2 * 24 * 3600);
        assert_eq!(is_there(), [false, false]);
    }

    #[test]
    fn a_failed_folder_does_not_appear() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let failed: Result<()> = folder_with(&path, |inside| {
            fs::write(inside.join("a"), b"x").map_err(Error::io("write", inside))?;
            Err(Error::data("here", "no"))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    /// Rounds of each of two writers, and the bytes that they write.
    const ROUNDS: u8 = 250;
    const BYTES: usize = 200_000;

    #[test]
    #[ignore = "run by writers_with_one_number_leave_whole_files in processes of its own"]
    fn write_again_and_again() {
        let path = PathBuf::from(std::env::var_os("WB_TEST_WRITTEN").unwrap());
        (0..4).for_each(|_| (0..ROUNDS).for_each(|round| write(&path, &vec![round; BYTES]).unwrap()));
    }

    /// Tests what containers on one disk are: processes that all have the same number.
    #[test]
    #[cfg(target_os = "linux")]
    fn writers_with_one_number_leave_whole_files() {
        use std::{io::Write as _, process::Command};
        let apart = ["--pid", "--fork"];
        if !Command::new("unshare").args(apart).arg("true").status().is_ok_and(|status| status.success()) {
            let test = "writers_with_one_number_leave_whole_files";
            let _ = writeln!(std::io::stderr(), "SKIPPED {test}: this machine gives processes no numbers of their own");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("written");
        write(&path, &[0; BYTES]).unwrap();
        let writer = || {
            let mut command = Command::new("unshare");
            command.args(apart).arg(std::env::current_exe().unwrap()).env("WB_TEST_WRITTEN", &path);
            command.args(["--ignored", "--exact", "atomic::tests::write_again_and_again"]);
            command.stdout(std::process::Stdio::null()).spawn().unwrap()
        };
        let (mut both, mut read) = ([writer(), writer()], 0);
        while both.iter_mut().any(|writer| writer.try_wait().unwrap().is_none()) {
            let found = fs::read(&path).unwrap();
            assert!(found.len() == BYTES && found.iter().all(|byte| *byte == found[0]), "a damaged file");
            read += 1;
        }
        assert!(both.iter_mut().all(|writer| writer.wait().unwrap().success()) && read > 10, "{read}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "something unfinished is left");
    }
}
