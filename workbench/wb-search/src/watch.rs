//! Changes in folders, as the system tells of them.

use std::{
    path::Path,
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    time::{Duration, Instant},
};

use notify::{
    Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode},
};

use crate::{Error, Result};

/// Quiet after a change, before it counts as whole: a checkout changes many files one after the other.
const QUIET: Duration = Duration::from_millis(200);
/// Longest wait for quiet.
const LONGEST: Duration = Duration::from_secs(2);

/// Folders that are watched for as long as this lives.
pub struct FolderWatch {
    _watcher: RecommendedWatcher,
    events: Receiver<notify::Result<Event>>,
}

impl FolderWatch {
    /// Watches folders with all that is in them.
    pub fn of<'a>(folders: impl Iterator<Item = &'a Path>) -> Result<Self> {
        let (send, events) = channel();
        let mut watcher = RecommendedWatcher::new(send, notify::Config::default()).map_err(|error| failed(&error))?;
        for folder in folders {
            watcher.watch(folder, RecursiveMode::Recursive).map_err(|error| failed(&error))?;
        }
        Ok(Self { _watcher: watcher, events })
    }

    /// Waits until something has changed and, for a moment, nothing more has. False where no time is left before.
    pub fn changed(&self, within: Option<Duration>) -> Result<bool> {
        let end = within.map(|within| Instant::now() + within);
        loop {
            let event = match end {
                None => self.events.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(end) => self.events.recv_timeout(end.saturating_duration_since(Instant::now())),
            };
            match event {
                Ok(event) if event.as_ref().is_ok_and(|event| !changes(event)) => {}
                Ok(event) => {
                    event.map_err(|error| failed(&error))?;
                    break;
                }
                Err(RecvTimeoutError::Timeout) => return Ok(false),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::failed("the system stopped telling of changes"));
                }
            }
        }
        let longest = Instant::now() + LONGEST;
        while Instant::now() < longest {
            match self.events.recv_timeout(QUIET) {
                Ok(event) => drop(event.map_err(|error| failed(&error))?),
                Err(_) => break,
            }
        }
        Ok(true)
    }
}

/// True for what may have changed a file; reading one has not.
fn changes(event: &Event) -> bool {
    !matches!(event.kind, EventKind::Access(kind) if kind != AccessKind::Close(AccessMode::Write))
}

fn failed(error: &notify::Error) -> Error {
    let what = Error::failed(format!("cannot watch for changes: {error}"));
    match error.kind {
        notify::ErrorKind::MaxFilesWatch => what.with_hint("sudo sysctl fs.inotify.max_user_watches=524288"),
        _ => what.with_hint("wb search --fresh QUESTION reads changed files each time"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writing_is_a_change_and_reading_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.rs");
        std::fs::write(&file, "fn a() {}").unwrap();
        let watch = FolderWatch::of([folder.path()].into_iter()).unwrap();
        std::fs::read(&file).unwrap();
        assert!(!watch.changed(Some(Duration::from_millis(300))).unwrap());
        std::fs::write(&file, "fn b() {}").unwrap();
        assert!(watch.changed(Some(Duration::from_secs(20))).unwrap());
        std::fs::remove_file(&file).unwrap();
        assert!(watch.changed(Some(Duration::from_secs(20))).unwrap());
        assert!(FolderWatch::of([Path::new("/nowhere")].into_iter()).is_err());
    }
}
