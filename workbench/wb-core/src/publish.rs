//! Folders and files that are named by all that decides their content. Any number of processes may make one at once:
//! the first that is whole is everybody's, and who comes later takes it and throws the own work away.

use std::{fs, path::Path};

use crate::{
    Error, Progress,
    atomic::{TemporaryFolder, beside, parent, remove_abandoned, rename, sync_folder},
    lock::FileLock,
};

/// Maker of what is at a place now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published<T> {
    /// The present process, with what filling it gave.
    Ours(T),
    /// Another one, before this one was done.
    Theirs,
}

/// Makes a folder appear whole: `fill` writes into a temporary folder beside it, which is renamed when all is written.
/// One that another process has put there meanwhile, or before, is taken. `proof` is a file that every whole one has; a
/// folder without it is an error.
pub fn folder<T, E: From<Error>>(
    path: &Path,
    proof: &str,
    fill: impl FnOnce(&Path) -> std::result::Result<T, E>,
) -> std::result::Result<Published<T>, E> {
    let is_whole = || path.join(proof).is_file();
    if is_whole() {
        return Ok(Published::Theirs);
    }
    remove_abandoned(&parent(path));
    let (temporary, filled) = TemporaryFolder::filled(path, fill)?;
    match temporary.rename(path) {
        Ok(()) => {
            sync_folder(&parent(path))?;
            Ok(Published::Ours(filled))
        }
        Err(_) if is_whole() => Ok(Published::Theirs),
        Err(_) if path.is_dir() => {
            let message = format!("is there without {proof}, so it is not whole");
            let hint = "take the folder away, and give the same command again";
            Err(Error::data(path.display().to_string(), message).with_hint(hint).into())
        }
        Err(error) => Err(error.into()),
    }
}

/// Makes a file appear whole that takes long to grow. `grow` gets the path of the unfinished file, which an earlier
/// process may have begun, and has it flushed when it returns; then it is renamed. One process at a time: others wait,
/// which `progress` tells, and take what it made, or go on with what it left.
pub fn file<E: From<Error>>(
    path: &Path,
    progress: &mut dyn FnMut(Progress),
    grow: impl FnOnce(&Path, &mut dyn FnMut(Progress)) -> std::result::Result<(), E>,
) -> std::result::Result<Published<()>, E> {
    let (lock, part) = (beside(path, ".", ".lock"), beside(path, "", ".part"));
    if path.is_file() {
        return Ok(Published::Theirs);
    }
    let _held = FileLock::wait(&lock, |holder| progress(Progress::new("waiting", 0, 0).note(format!("for {holder}"))))?;
    if path.is_file() {
        return Ok(Published::Theirs);
    }
    grow(&part, progress)?;
    rename(&part, path)?;
    sync_folder(&parent(path))?;
    // Whoever waits for it finds the file whole, so nobody needs it any more; one that stays does no harm.
    let _ = fs::remove_file(&lock);
    Ok(Published::Ours(()))
}

#[cfg(test)]
mod tests {
    use std::{
        path::PathBuf,
        sync::{
            Barrier,
            atomic::{AtomicUsize, Ordering},
            mpsc,
        },
        thread,
    };

    use super::*;
    use crate::{Result, atomic, faults};

    fn fill(inside: &Path, text: &str) -> Result<()> {
        atomic::write(&inside.join("train"), text.as_bytes())?;
        atomic::write(&inside.join("card"), b"{}")
    }

    fn quiet(progress: Progress) {
        panic!("{progress:?}");
    }

    fn names(folder: &Path) -> Vec<PathBuf> {
        let mut names: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_folder_that_another_put_there_meanwhile_is_taken() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("pairs-0123");
        let ours = folder(&path, "card", |inside| {
            fill(inside, "ours")?;
            // Between the work and its new name another process is quicker.
            assert_eq!(folder(&path, "card", |inside| fill(inside, "theirs"))?, Published::Ours(()));
            Ok::<_, Error>(())
        });
        assert_eq!(ours.unwrap(), Published::Theirs);
        assert_eq!(fs::read_to_string(path.join("train")).unwrap(), "theirs");
        assert_eq!(names(place.path()), [path.as_path()], "the own work is gone");
        let again = folder(&path, "card", |_| -> Result<()> { panic!("it is there") });
        assert_eq!(again.unwrap(), Published::Theirs);
    }

    #[test]
    fn a_folder_that_is_not_whole_is_told_and_stays() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("pairs-0123");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("train"), "somebody's").unwrap();
        let error = folder(&path, "card", |inside| fill(inside, "ours")).unwrap_err();
        assert!(error.to_string().ends_with("pairs-0123: is there without card, so it is not whole"), "{error}");
        assert!(error.hint().is_some());
        assert_eq!(names(place.path()), [path.as_path()]);
        assert_eq!(names(&path), [path.join("train")]);
    }

    #[test]
    fn of_many_who_make_a_folder_at_once_one_is_first_and_all_have_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("pairs-0123");
        let (ready, first) = (Barrier::new(8), AtomicUsize::new(0));
        thread::scope(|scope| {
            for at in 0..8 {
                let (path, ready, first) = (&path, &ready, &first);
                scope.spawn(move || {
                    let published = folder(path, "card", |inside| {
                        fill(inside, &at.to_string())?;
                        // Nobody has put it there yet, and all have made it.
                        ready.wait();
                        Ok::<_, Error>(())
                    });
                    first.fetch_add(usize::from(published.unwrap() == Published::Ours(())), Ordering::SeqCst);
                    assert!(path.join("train").is_file());
                });
            }
        });
        assert_eq!(first.into_inner(), 1);
        assert_eq!(names(place.path()), [path.as_path()]);
    }

    #[test]
    fn whatever_fails_a_folder_is_whole_or_not_there() {
        for n in 1.. {
            let place = tempfile::tempdir().unwrap();
            let path = place.path().join("pairs-0123");
            faults::fail_at(n, false);
            let result = folder(&path, "card", |inside| fill(inside, "ours"));
            let fired = faults::clear();
            assert_eq!(result.is_err(), fired, "fault {n}");
            assert!(names(place.path()).iter().all(|name| *name == path), "fault {n}");
            assert!(!path.exists() || path.join("card").is_file(), "fault {n}");
            if !fired {
                assert!(n > 8, "{n}");
                break;
            }
        }
    }

    #[test]
    fn a_file_that_grows_is_made_by_one_and_gone_on_with_by_the_next() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.npy");
        let stopped = file(&path, &mut quiet, |part, _| {
            fs::write(part, "half").map_err(Error::io("write", part))?;
            Err(Error::data("here", "stopped"))
        });
        assert!(stopped.is_err() && !path.exists());
        let made = file(&path, &mut quiet, |part, _| -> Result<()> {
            assert_eq!(fs::read_to_string(part).unwrap(), "half");
            fs::write(part, "whole").map_err(Error::io("write", part))
        });
        assert_eq!(made.unwrap(), Published::Ours(()));
        assert_eq!(names(place.path()), [path.as_path()]);
        let again = file(&path, &mut quiet, |_, _| -> Result<()> { panic!("it is there") });
        assert_eq!(again.unwrap(), Published::Theirs);
    }

    #[test]
    fn who_waits_for_a_file_takes_it() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a.npy");
        let (begun, has_begun) = mpsc::channel();
        let (told, is_told) = mpsc::channel();
        thread::scope(|scope| {
            let path = &path;
            let first = scope.spawn(move || {
                file(path, &mut quiet, |part, _| -> Result<()> {
                    begun.send(()).unwrap();
                    // Until the other one waits.
                    let now: Progress = is_told.recv().unwrap();
                    assert!(now.stage == "waiting" && now.note.starts_with("for pid "), "{now:?}");
                    fs::write(part, "first").map_err(Error::io("write", part))
                })
            });
            has_begun.recv().unwrap();
            let mut tell = |now: Progress| told.send(now).unwrap();
            let second = file(path, &mut tell, |_, _| -> Result<()> { panic!("the first one makes it") });
            assert_eq!(second.unwrap(), Published::Theirs);
            assert_eq!(first.join().unwrap().unwrap(), Published::Ours(()));
        });
        assert_eq!(fs::read_to_string(&path).unwrap(), "first");
    }
}
