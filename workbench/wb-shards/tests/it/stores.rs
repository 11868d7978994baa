//! Places: what is created once is, large objects, ranges, lists, errors in words.

use std::{sync::Barrier, thread};

use wb_shards::{Created, Store, may_pass};

use crate::moto::{Moto, SECRET};

/// Asserts all that every place has to do.
fn holds(store: &Store, large: usize) {
    assert_eq!(store.get("a/b.json").unwrap(), None);
    assert_eq!(store.list("a").unwrap(), []);
    assert_eq!(store.create("a/b.json", b"one".to_vec()).unwrap(), Created::Ours);
    assert_eq!(store.create("a/b.json", b"two".to_vec()).unwrap(), Created::Theirs);
    assert_eq!(store.get("a/b.json").unwrap().unwrap(), b"one");
    store.put("a/c.json", b"x".to_vec()).unwrap();
    store.put("a/c.json", b"yy".to_vec()).unwrap();
    assert_eq!(store.list("a").unwrap(), [("a/b.json".to_owned(), 3), ("a/c.json".to_owned(), 2)]);
    assert_eq!(store.at("a").get("c.json").unwrap().unwrap(), b"yy");
    assert!(store.delete("a/c.json").unwrap() && !store.delete("a/c.json").unwrap());

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large");
    let bytes: Vec<u8> = (0..large).map(|at| (at * 31 % 251) as u8).collect();
    std::fs::write(&file, &bytes).unwrap();
    store.upload("large", &file).unwrap();
    assert_eq!(store.size("large").unwrap(), Some(large as u64));
    let middle = large as u64 / 2;
    assert_eq!(store.get_range("large", middle..middle + 1000).unwrap(), bytes[large / 2..large / 2 + 1000]);
    assert_eq!(store.get("large").unwrap().unwrap(), bytes);

    for round in 0..20 {
        let (name, ready) = (format!("race/{round}"), Barrier::new(8));
        let ours: Vec<usize> = thread::scope(|scope| {
            let (name, ready) = (&name, &ready);
            let race = |at: usize| {
                ready.wait();
                store.create(name, at.to_string().into_bytes()).unwrap() == Created::Ours
            };
            let threads: Vec<_> = (0..8).map(|at| scope.spawn(move || race(at))).collect();
            let won: Vec<bool> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
            (0..8).filter(|at| won[*at]).collect()
        });
        assert_eq!(ours.len(), 1, "round {round}");
        assert_eq!(store.get(&name).unwrap().unwrap(), ours[0].to_string().into_bytes());
    }
}

#[test]
fn a_folder_is_a_place() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("new/work").display().to_string()).unwrap();
    holds(&store, 40 << 20);
    assert_eq!(store.place(), folder.path().canonicalize().unwrap().join("new/work").display().to_string());
}

#[test]
fn a_bucket_is_a_place() {
    let Some(moto) = Moto::start("a_bucket_is_a_place") else { return };
    let store = moto.store("some/prefix/");
    holds(&store, 40 << 20);
    assert_eq!(store.place(), "s3://code/some/prefix");
    assert_eq!(store.at("plan").shown("x"), "s3://code/some/prefix/plan/x");
    assert_eq!(
        moto.python("print(s3.head_object(Bucket='code', Key='some/prefix/large')['ContentLength'])").trim(),
        "41943040"
    );
}

#[test]
fn what_is_no_place_or_cannot_be_had_is_told() {
    for place in ["", "s3://", "gs://bucket", "http://x/y"] {
        let error = Store::open(place).unwrap_err();
        assert!(
            error.to_string().contains("is no place for shared work") && error.hint().is_some(),
            "{place}: {error}"
        );
    }
    let variables = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let offline = Store::open_by("s3://b/x", &variables(&[("WB_OFFLINE", "1")])).unwrap_err();
    assert_eq!(offline.to_string(), "s3://b is not asked: WB_OFFLINE forbids the network");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let in_a_file = Store::open(&folder.path().join("file/work").display().to_string()).unwrap_err();
    assert!(may_pass(&in_a_file), "a disk may be another one elsewhere: {in_a_file}");
}

#[test]
fn a_bucket_without_a_key_says_so() {
    // Nobody listens there, in place of the machine's role.
    let variables = [("AWS_METADATA_ENDPOINT", "http://127.0.0.1:9"), ("AWS_ENDPOINT_URL", "http://127.0.0.1:9")];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let store = Store::open_by("s3://somebodys/x", &variables).unwrap();
    let error = store.get("a").unwrap_err();
    assert!(
        may_pass(&error) && error.hint().is_some_and(|hint| hint.starts_with("AWS_ACCESS_KEY_ID is not set")),
        "{error}"
    );
}

#[test]
fn a_bucket_that_is_not_there_is_told_without_the_key() {
    let Some(moto) = Moto::start("a_bucket_that_is_not_there_is_told_without_the_key") else { return };
    let store = Store::open_by("s3://nobodys/x", &moto.variables()).unwrap();
    let error = store.create("a", b"a".to_vec()).unwrap_err();
    let told = format!("{error} {:?} {:?}", std::error::Error::source(&error), error.hint());
    assert!(told.starts_with("cannot write s3://nobodys/x/a") && told.contains("NoSuchBucket"), "{told}");
    assert!(!told.contains(SECRET) && !format!("{store:?}").contains(SECRET), "{told}");
}
