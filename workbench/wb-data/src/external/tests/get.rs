//! Data sets from a server on this machine: fetched once, whole or not at all, and what a person put there stays.

use std::{fs, path::PathBuf, time::Duration};

use tempfile::TempDir;
use wb_core::{lock::FileLock, progress::silent};
use wb_fake_hub::{FakeHub, Fault};
use wb_hub::{Digest, Hub, Patience, Settings};

use super::{
    super::{
        AsItIs, Conversion, DataSetFolder, Done, Entry, FetchRecord, FetchRequest, FolderOutcome, FolderState, RECORD,
        ServedFiles, Server, ToCome, WantedFile, get, state, to_come,
    },
    told,
};
use crate::Result;

/// A server, a cache, and a folder of data sets.
struct World {
    fake: FakeHub,
    home: TempDir,
    hub: Hub,
}

const A: &[u8] = b"{\"a\": 1}\n";
const B: &[u8] = b"b,c\n1,2\n";

impl World {
    fn new() -> Self {
        let (fake, home) = (FakeHub::start().unwrap(), TempDir::new().unwrap());
        let patience = Patience {
            attempts: 2,
            first_wait: Duration::ZERO,
            longest_wait: Duration::ZERO,
            silence: Duration::from_secs(2),
        };
        let cache = Some(home.path().join("hub"));
        let settings = Settings { endpoint: fake.endpoint(), cache, key: None, offline: None, locked: false, patience };
        Self { fake, home, hub: Hub::new(settings) }
    }

    fn external(&self) -> PathBuf {
        self.home.path().join("external")
    }

    /// A data set of two folders: one of the hub, one of GitHub.
    fn entry(&self) -> Entry {
        let commit = self.fake.add("datasets", "o/n", &[("data/a-00000-of-00001.jsonl", A), ("other.bin", &[7; 9000])]);
        self.fake.add_web("raw.githubusercontent.com/p/q/v1/d/b.csv", B);
        let hub = WantedFile { path: "data/a-*.jsonl".into(), name: "a.jsonl".into(), bytes: None, digest: None };
        let web = WantedFile {
            path: "d/b.csv".into(),
            name: "b.csv".into(),
            bytes: None,
            digest: Some(Digest::Git(String::new())),
        };
        let mut web_part = part("made/two", Server::Github { id: "p/q".into(), commit: "v1".into() }, web);
        web_part.origins[0].files[0].digest = Some(git(B));
        Entry {
            name: "made".into(),
            title: "Made up".into(),
            used_by: "a test",
            license: "MIT",
            about: None,
            note: "",
            parts: vec![part("made/one", Server::Hub { id: "o/n".into(), commit }, hub), web_part],
        }
    }

    fn request<'a>(&'a self, external: &'a std::path::Path) -> FetchRequest<'a> {
        let mirror = Some(format!("{}/web/", self.fake.endpoint()));
        FetchRequest { external, hub: &self.hub, mirror, revision: None, force: false }
    }

    fn get(&self, entry: &Entry) -> Result<Vec<Done>> {
        get(entry, &self.request(&self.external()), &mut silent)
    }
}

fn part(place: &str, server: Server, file: WantedFile) -> DataSetFolder {
    DataSetFolder {
        place: place.into(),
        instead: vec![format!("{place}.by-hand")],
        records: None,
        language: None,
        origins: vec![ServedFiles { server, files: vec![file] }],
        conversion: Conversion::AsItIs(AsItIs),
    }
}

fn git(bytes: &[u8]) -> Digest {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), bytes).unwrap();
    Digest::Git(String::new()).of_same_kind(file.path()).unwrap()
}

fn outcomes(done: &[Done]) -> Vec<&FolderOutcome> {
    done.iter().map(|done| &done.outcome).collect()
}

#[test]
fn a_data_set_is_fetched_once_and_says_where_it_comes_from() {
    let world = World::new();
    let entry = world.entry();
    let before = ToCome { folders: 2, bytes: A.len() as u64, unknown: 1 };
    assert_eq!(to_come(&entry, &world.request(&world.external())).unwrap(), before);
    let done = world.get(&entry).unwrap();
    assert!(matches!(outcomes(&done)[..], [FolderOutcome::Made(_), FolderOutcome::Made(_)]), "{done:?}");
    assert_eq!(fs::read(world.external().join("made/one/a.jsonl")).unwrap(), A);
    assert_eq!(fs::read(world.external().join("made/two/b.csv")).unwrap(), B);
    assert!(!world.external().join(".incoming").exists());
    let record = FetchRecord::of(&world.external().join("made/one")).unwrap().unwrap();
    let source = &record.sources[0];
    assert_eq!(
        (record.license.as_str(), source.path.as_str(), source.bytes),
        ("MIT", "data/a-00000-of-00001.jsonl", 9)
    );
    assert!(source.from.starts_with("hub datasets/o/n@") && source.sha256.len() == 64, "{source:?}");
    world.fake.requests();
    let again = world.get(&entry).unwrap();
    assert_eq!(outcomes(&again), [&FolderOutcome::There, &FolderOutcome::There]);
    assert!(world.fake.requests().is_empty(), "nothing is asked for a second time");
    let after = ToCome { folders: 0, bytes: 0, unknown: 0 };
    assert_eq!(to_come(&entry, &world.request(&world.external())).unwrap(), after);
}

#[test]
fn what_a_person_put_there_stays_unless_it_is_forced() {
    let world = World::new();
    let entry = world.entry();
    let place = world.external().join("made/one");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("mine.txt"), "x").unwrap();
    let beside = world.external().join("made/two.by-hand");
    fs::write(&beside, "y").unwrap();
    let expected = [FolderOutcome::ByHand(place.clone()), FolderOutcome::ByHand(beside.clone())];
    assert_eq!(outcomes(&world.get(&entry).unwrap()), expected.iter().collect::<Vec<_>>());
    let external = world.external();
    let forced = FetchRequest { force: true, ..world.request(&external) };
    let done = get(&entry, &forced, &mut silent).unwrap();
    assert!(matches!(outcomes(&done)[..], [FolderOutcome::Made(_), FolderOutcome::ByHand(_)]), "{done:?}");
    assert!(place.join("a.jsonl").is_file() && !place.join("mine.txt").exists());
    assert!(!world.external().join("made/two").exists() && beside.is_file());
}

#[test]
fn another_revision_is_another_data_set() {
    let world = World::new();
    let entry = world.entry();
    world.get(&entry).unwrap();
    world.fake.add("datasets", "o/n", &[("data/a-00000-of-00001.jsonl", b"newer")]);
    world.fake.add_web("raw.githubusercontent.com/p/q/main/d/b.csv", b"newer");
    let external = world.external();
    let newer = |force| FetchRequest { revision: Some("main".into()), force, ..world.request(&external) };
    assert_eq!(
        outcomes(&get(&entry, &newer(false), &mut silent).unwrap()),
        [&FolderOutcome::Other, &FolderOutcome::Other]
    );
    get(&entry, &newer(true), &mut silent).unwrap();
    assert_eq!(fs::read(external.join("made/one/a.jsonl")).unwrap(), b"newer");
    assert_eq!(fs::read(external.join("made/two/b.csv")).unwrap(), b"newer");
    assert_eq!(state(&entry, &entry.parts[0], &external, None).unwrap(), FolderState::Other);
}

#[test]
fn wrong_bytes_and_lost_commits_leave_nothing_and_say_what_helps() {
    let world = World::new();
    let mut entry = world.entry();
    entry.parts[1].origins[0].files[0].digest = Some(git(b"other"));
    let error = world.get(&entry).unwrap_err();
    assert!(told(&error).contains("wrong bytes came"), "{}", told(&error));
    assert!(!world.external().join("made").exists());
    entry.parts[1].origins[0].files[0].digest = Some(Digest::Sha256("0".repeat(64)));
    let error = world.get(&entry).unwrap_err();
    assert!(error.hint().unwrap().contains("wb data get made --revision main"), "{error:?}");
    entry.parts[0].origins[0].server = Server::Hub { id: "o/n".into(), commit: "9".repeat(40) };
    let error = world.get(&entry).unwrap_err();
    assert!(error.to_string().contains("does not have the revision"), "{error}");
    assert!(error.hint().unwrap().contains("wb data get made --revision main"), "{error:?}");
    let mut lost = world.entry();
    lost.parts[0].origins[0].files[0].path = "data/c-*.jsonl".into();
    let error = world.get(&lost).unwrap_err();
    assert!(told(&error).contains("there is no file `data/c-*.jsonl`"), "{}", told(&error));
}

#[test]
fn a_killed_download_goes_on_where_it_was() {
    let world = World::new();
    let entry = world.entry();
    let part = world.external().join(".incoming/made/v1/b.csv.incomplete");
    fs::create_dir_all(part.parent().unwrap()).unwrap();
    fs::write(&part, &B[..3]).unwrap();
    world.fake.fault(Fault::status("a-00000", 404, &[], "").times(1));
    world.get(&entry).unwrap_err();
    assert!(!world.external().join("made").exists());
    world.get(&entry).unwrap();
    let of_b: Vec<_> = world.fake.requests().into_iter().filter(|request| request.path.ends_with("b.csv")).collect();
    assert_eq!(of_b.iter().map(|request| request.from).collect::<Vec<_>>(), [Some(3)]);
}

#[test]
fn leftovers_of_a_killed_process_are_taken_out() {
    let world = World::new();
    let entry = world.entry();
    let left = world.external().join("made/.one.77.tmp");
    fs::create_dir_all(&left).unwrap();
    fs::write(left.join("a.jsonl"), "half").unwrap();
    world.get(&entry).unwrap();
    assert!(!left.exists());
    assert!(world.external().join("made/one").join(RECORD).is_file());
}

#[test]
fn two_processes_do_not_work_in_one_folder() {
    let world = World::new();
    let entry = world.entry();
    fs::create_dir_all(world.external()).unwrap();
    let held = FileLock::take(&world.external().join(".lock"), &world.external()).unwrap();
    let error = world.get(&entry).unwrap_err();
    let who = format!("is in use by pid {} on ", std::process::id());
    assert!(error.to_string().contains(&who), "{error}");
    assert_eq!(error.hint(), Some("wait for it, or name another folder: --external DIR"));
    drop(held);
    world.get(&entry).unwrap();
}
