//! The cache: found, filled in the layout of others, and never filled twice.

use wb_hub::{Hub, RepoKind, RepoRef, Settings, Why};

use crate::{CONFIG, Model, files, repo, wanted};

#[test]
fn files_come_once_with_the_key_for_the_hub_alone() {
    let model = Model::new();
    model.hub.paged(2);
    let key = wb_core::key::Key::new("hf_very_secret").unwrap();
    let hub = Hub::new(Settings { key: Some(key), ..model.settings() });
    assert_eq!(model.fetched(&hub).unwrap(), model.large);
    let requests = model.hub.requests();
    let (to_store, to_hub): (Vec<_>, Vec<_>) = requests.iter().partition(|request| request.to_store);
    assert_eq!(to_store.len(), 1);
    assert!(to_store.iter().all(|request| request.token.is_none()), "{to_store:?}");
    assert!(to_hub.iter().all(|request| request.token.as_deref() == Some("hf_very_secret")), "{to_hub:?}");
    // The commit, two pages of files, three files.
    assert_eq!(to_hub.len(), 6, "{to_hub:?}");

    // By the commit nothing is asked any more; by the name only what it stands for.
    let pinned = RepoRef::new(RepoKind::Model, "o/n", &model.commit, "test").unwrap();
    model.client().fetch(&pinned, &wanted).unwrap();
    assert!(model.hub.requests().is_empty());
    assert_eq!(model.fetched(&model.client()).unwrap(), model.large);
    assert_eq!(model.hub.requests().len(), 1);
    assert_eq!(model.fetched(&model.offline()).unwrap(), model.large);
    assert!(model.hub.requests().is_empty());
}

#[test]
fn the_layout_is_that_of_pythons_client() {
    let model = Model::new();
    model.fetched(&model.client()).unwrap();
    let folder = model.home.path().join("hub/models--o--n");
    assert_eq!(std::fs::read_to_string(folder.join("refs/main")).unwrap(), model.commit);
    let snapshot = folder.join("snapshots").join(&model.commit);
    assert_eq!(files(&snapshot), ["1_Pooling/config.json", "config.json", "model.safetensors"]);
    // Git's name of the small one, SHA-256 of the large one.
    let link = std::fs::read_link(snapshot.join("config.json")).unwrap();
    assert_eq!(link.to_str().unwrap(), format!("../../blobs/{}", git_name(CONFIG)));
    let link = std::fs::read_link(snapshot.join("1_Pooling/config.json")).unwrap();
    assert_eq!(link.to_str().unwrap(), format!("../../../blobs/{}", git_name(b"{}")));
    assert_eq!(std::fs::read(snapshot.join("model.safetensors")).unwrap(), model.large);
    assert!(files(&folder.join("blobs")).iter().all(|name| !name.ends_with(".incomplete")));
}

fn git_name(bytes: &[u8]) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    wb_hub::Digest::Git(String::new()).of_same_kind(file.path()).unwrap().hex().to_owned()
}

#[test]
fn files_that_another_program_cached_are_taken() {
    let model = Model::new();
    // As Python's client leaves them: no list of files beside.
    let folder = model.home.path().join("hub/models--o--n");
    let snapshot = folder.join("snapshots").join(&model.commit);
    std::fs::create_dir_all(snapshot.join("1_Pooling")).unwrap();
    std::fs::create_dir_all(folder.join("refs")).unwrap();
    std::fs::write(folder.join("refs/main"), &model.commit).unwrap();
    std::fs::write(snapshot.join("config.json"), CONFIG).unwrap();
    std::fs::write(snapshot.join("1_Pooling/config.json"), "{}").unwrap();
    std::fs::write(snapshot.join("model.safetensors"), &model.large).unwrap();
    assert_eq!(model.fetched(&model.offline()).unwrap(), model.large);
    assert_eq!(model.offline().file(&repo("o/n"), "config.json").unwrap(), snapshot.join("config.json"));
    assert!(model.hub.requests().is_empty());
    // Online its list is asked for, and no file.
    assert_eq!(model.fetched(&model.client()).unwrap(), model.large);
    assert!(model.hub.requests().iter().all(|request| request.path.starts_with("/api/")));
    // A file that is missing there comes alone.
    std::fs::remove_file(snapshot.join("config.json")).unwrap();
    assert_eq!(model.fetched(&model.client()).unwrap(), model.large);
    let resolved = model.hub.requests().into_iter().filter(|request| request.path.contains("/resolve/")).count();
    assert_eq!(resolved, 1);
}

#[test]
fn offline_everything_that_is_missing_is_told_at_once() {
    let model = Model::new();
    let error = model.offline().fetch(&repo("o/n"), &wanted).unwrap_err();
    assert_eq!(Why::of(&error), Some(Why::Offline));
    assert!(error.to_string().contains("WB_OFFLINE forbids"), "{error}");
    assert!(error.hint().is_some());
    model.fetched(&model.client()).unwrap();
    let snapshot = model.home.path().join("hub/models--o--n/snapshots").join(&model.commit);
    for file in ["config.json", "model.safetensors"] {
        std::fs::remove_file(snapshot.join(file)).unwrap();
    }
    let told = model.offline().fetch(&repo("o/n"), &wanted).unwrap_err().to_string();
    assert!(told.contains("20 kB (config.json, model.safetensors) are not in"), "{told}");
    model.hub.requests();
}

#[test]
fn two_that_want_the_same_fetch_it_once() {
    let model = Model::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(model.fetched(&model.client()).unwrap(), model.large));
        }
    });
    let of_store = model.hub.requests().into_iter().filter(|request| request.to_store).count();
    assert_eq!(of_store, 1);
}

#[test]
fn a_single_file_of_a_data_set() {
    let model = Model::new();
    model.hub.add("datasets", "o/d", &[("data/a b.jsonl", b"{}\n"), ("empty.txt", b"")]);
    let data = RepoRef::new(RepoKind::Dataset, "o/d", "", "test").unwrap();
    let path = model.client().file(&data, "data/a b.jsonl").unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), "{}\n");
    assert_eq!(std::fs::read(model.client().file(&data, "empty.txt").unwrap()).unwrap(), b"");
    let error = model.client().file(&data, "data/a.jsonl").unwrap_err();
    assert_eq!(Why::of(&error), Some(Why::NoFile));
    assert_eq!(error.hint(), Some("did you mean `data/a b.jsonl`?"));
}

#[test]
fn a_look_fetches_nothing_and_tells_the_sizes() {
    let model = Model::new();
    let hub = model.locked_to(model.settings());
    let look = hub.look(&repo("o/n"), &wanted);
    assert_eq!((look.there, look.missing.len(), look.bytes()), (0, 3, 20_021), "{look:?}");
    assert!(model.hub.requests().iter().all(|request| request.path.starts_with("/api/")));
    assert!(!model.home.path().join("runs").exists());
    model.fetched(&hub).unwrap();
    let look = hub.look(&repo("o/n"), &wanted);
    assert_eq!((look.there, look.missing.len()), (20_021, 0));
    let absent = hub.look(&repo("o/none"), &wanted);
    assert_eq!(Why::of(&absent.unknown.unwrap()), Some(Why::NoRepository));
}
