//! Names: resolved once, kept in the lock file, followed where a repository was renamed.

use std::sync::{Arc, Mutex};

use wb_core::{
    Progress,
    download::{Demand, Observer},
    lock::FileLock,
};
use wb_hub::{RepoKind, RepoRef, Settings, Why};

use crate::{Model, repo, wanted};

#[test]
fn a_name_stays_the_commit_that_it_was() {
    let model = Model::new();
    let hub = model.locked_to(model.settings());
    assert_eq!(hub.pin(&repo("o/n")).unwrap().commit, model.commit);
    let next = model.hub.add("models", "o/n", &[("config.json", b"{}")]);
    assert_ne!(next, model.commit);
    model.hub.requests();
    // Another process of the same folder of runs asks nobody.
    let again = model.locked_to(Settings { locked: true, ..model.settings() });
    assert_eq!(again.pin(&repo("o/n")).unwrap().commit, model.commit);
    assert!(model.hub.requests().is_empty());
    assert_eq!(again.used(), [("models/o/n".to_owned(), model.commit.clone())]);
    // Without a lock file the name is what it is today.
    assert_eq!(model.client().pin(&repo("o/n")).unwrap().commit, next);
}

#[test]
fn locked_refuses_a_name_that_nobody_resolved() {
    let model = Model::new();
    let hub = model.locked_to(Settings { locked: true, ..model.settings() });
    let error = hub.fetch(&repo("o/n"), &wanted).unwrap_err();
    assert_eq!(Why::of(&error), Some(Why::NotLocked));
    assert!(error.to_string().ends_with("hub.lock does not know its commit"), "{error}");
    assert!(error.hint().unwrap().contains("without --locked"));
    assert!(model.hub.requests().is_empty());
    // A commit needs no lock.
    let pinned = RepoRef::new(RepoKind::Model, "o/n", &model.commit, "test").unwrap();
    assert!(hub.fetch(&pinned, &wanted).is_ok());
}

/// Remembers remarks.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>, u64);

impl Observer for Notes {
    fn progress(&self, _: Progress) {}

    fn finished(&self) {}

    fn note(&self, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }

    fn refuses(&self, demand: &Demand) -> Option<(String, String)> {
        (demand.bytes > self.1).then(|| (format!("{} bytes are too many", demand.bytes), "--yes".to_owned()))
    }
}

#[test]
fn a_renamed_repository_is_found_and_told() {
    let model = Model::new();
    model.hub.rename("old/n", "o/n");
    let notes = Notes(Arc::default(), u64::MAX);
    let pinned = model.client().observed(notes.clone()).pin(&repo("old/n")).unwrap();
    assert_eq!(pinned.commit, model.commit);
    assert_eq!(*notes.0.lock().unwrap(), ["old/n is called o/n on the hub now; name it so"]);
}

#[test]
fn a_wait_for_another_process_is_told_with_its_name() {
    let model = Model::new();
    let locks = model.home.path().join("hub/.locks/models--o--n");
    let held = FileLock::take(&locks.join(format!("listing-{}.lock", model.commit)), &locks).unwrap();
    let notes = Notes(Arc::default(), u64::MAX);
    let hub = model.client().observed(notes.clone());
    std::thread::scope(|scope| {
        let fetched = scope.spawn(|| model.fetched(&hub).unwrap());
        let told = || notes.0.lock().unwrap().first().cloned();
        let note = std::iter::repeat_with(|| std::thread::sleep(std::time::Duration::from_millis(5)))
            .find_map(|()| told().or_else(|| fetched.is_finished().then(String::new)));
        let holder = format!("o/n@{}: waiting for pid {} on ", &model.commit[..12], std::process::id());
        assert!(note.as_ref().is_some_and(|note| note.starts_with(&holder)), "{note:?}");
        drop(held);
        assert_eq!(fetched.join().unwrap(), model.large);
    });
    assert_eq!(notes.0.lock().unwrap().len(), 1);
}

#[test]
fn a_large_download_needs_a_yes() {
    let model = Model::new();
    let error = model.client().observed(Notes(Arc::default(), 20_020)).fetch(&repo("o/n"), &wanted).unwrap_err();
    assert_eq!(Why::of(&error), Some(Why::NotAllowed));
    assert_eq!(error.hint(), Some("--yes"));
    assert!(model.hub.requests().iter().all(|request| !request.path.contains("/resolve/")));
    assert!(model.client().observed(Notes(Arc::default(), 20_021)).fetch(&repo("o/n"), &wanted).is_ok());
}

#[test]
fn the_disk_is_looked_at_first() {
    let model = Model::new();
    let hub = model.client().with_room(|_| Ok(64 << 20));
    let error = hub.fetch(&repo("o/n"), &wanted).unwrap_err();
    assert_eq!(Why::of(&error), Some(Why::DiskFull));
    assert!(error.to_string().contains("20 kB are to come"), "{error}");
    assert!(model.hub.requests().iter().all(|request| !request.path.contains("/resolve/")));
}
