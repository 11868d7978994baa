//! Copies of what is in a bucket: asked for again where it changed and not where it stayed, gone on with, refused in words.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use wb_core::{
    Progress,
    download::{Demand, Observer},
    remote::ObjectStorage as _,
};
use wb_shards::Buckets;

use crate::moto::{Moto, SECRET};

/// Demands that were made: files and bytes.
#[derive(Clone, Default)]
struct Demands(Arc<Mutex<Vec<(usize, u64)>>>);

impl Demands {
    fn taken(&self) -> Vec<(usize, u64)> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Observer for Demands {
    fn progress(&self, _: Progress) {}

    fn finished(&self) {}

    fn note(&self, _: &str) {}

    fn refuses(&self, demand: &Demand) -> Option<(String, String)> {
        self.0.lock().unwrap().push((demand.files, demand.bytes));
        (demand.bytes == 13).then(|| ("no".to_owned(), "--yes".to_owned()))
    }
}

fn all(_: &str) -> bool {
    true
}

#[test]
fn objects_are_copied_once_as_long_as_they_stay() {
    let Some(moto) = Moto::start("objects_are_copied_once_as_long_as_they_stay") else { return };
    let (folder, demands) = (tempfile::tempdir().unwrap(), Demands::default());
    let buckets = Buckets::new(folder.path().join("objects"), moto.variables(), demands.clone());
    let file = folder.path().join("file");
    let put = |name: &str, bytes: &[u8]| {
        fs::write(&file, bytes).unwrap();
        buckets.put(&file, &format!("s3://code/{name}")).unwrap();
    };
    let large: Vec<u8> = (0..40_000_000_u32).map(|at| (at * 31 % 251) as u8).collect();
    let names =
        ["some/a.jsonl", "some/deep er-d.csv", "some/deep er/b#1.jsonl", "some/deep er/c.csv", "something/else.jsonl"];
    names.iter().for_each(|name| put(name, name.as_bytes()));
    put("some/empty.jsonl", b"");
    put("some/large.bin", &large);
    // A folder as consoles leave it is no file.
    moto.python("s3.put_object(Bucket='code', Key='some/deep er/')");

    // An object is a file of its name, a prefix a folder of those below it, and nothing of its neighbours.
    let one = buckets.copy("s3://code/some/deep er/b#1.jsonl", &all, true).unwrap();
    assert!(one.path.ends_with("some/deep er/b#1.jsonl"));
    assert_eq!((fs::read_to_string(&one.path).unwrap().as_str(), one.others), ("some/deep er/b#1.jsonl", 0));
    assert_eq!(demands.taken(), [(1, 22)]);
    let some = buckets.copy("s3://code/some", &|name| !name.ends_with(".csv"), true).unwrap();
    assert_eq!((some.others, demands.taken()), (2, vec![(3, 40_000_012)]));
    assert!(some.path.ends_with("some"));
    assert_eq!(fs::read(some.path.join("large.bin")).unwrap(), large);
    assert_eq!(fs::read(some.path.join("empty.jsonl")).unwrap(), b"");
    assert_eq!(fs::read_to_string(some.path.join("deep er/b#1.jsonl")).unwrap(), "some/deep er/b#1.jsonl");
    assert!(!some.path.join("deep er/c.csv").exists());

    // What stays is not asked for again, what changes is, and what was copied before stays as it was.
    assert_eq!(buckets.copy("s3://code/some/", &|name| !name.ends_with(".csv"), true).unwrap(), some);
    assert_eq!(demands.taken(), []);
    put("some/a.jsonl", b"another");
    let changed = buckets.copy("s3://code/some", &|name| !name.ends_with(".csv"), true).unwrap();
    assert_eq!(demands.taken(), [(1, 7)]);
    assert_eq!(fs::read(changed.path.join("a.jsonl")).unwrap(), b"another");
    assert_eq!(fs::read_to_string(some.path.join("a.jsonl")).unwrap(), "some/a.jsonl");
    assert_eq!(fs::read(changed.path.join("large.bin")).unwrap(), large);
    let missing = |name: &str| buckets.missing(&format!("s3://code/{name}")).unwrap();
    assert_eq!((missing("some/a.jsonl"), missing("something"), missing("some")), (Some(0), Some(20), Some(36)));
    assert_eq!((missing("som"), missing("some/a.jsonl/x")), (None, None));
    // All of it, a folder that is an object of no bytes with it.
    let all = buckets.copy("s3://code/some", &all, true).unwrap();
    assert!(all.path.join("deep er/c.csv").is_file() && all.path.join("deep er-d.csv").is_file() && all.others == 0);
}

#[test]
fn a_copy_that_was_cut_is_gone_on_with() {
    let Some(moto) = Moto::start("a_copy_that_was_cut_is_gone_on_with") else { return };
    let (folder, demands) = (tempfile::tempdir().unwrap(), Demands::default());
    let buckets = Buckets::new(folder.path().join("objects"), moto.variables(), demands);
    let large: Vec<u8> = (0..50_000_000_u32).map(|at| (at * 17 % 241) as u8).collect();
    let file = folder.path().join("file");
    fs::write(&file, &large).unwrap();
    buckets.put(&file, "s3://code/large.bin").unwrap();
    let path = buckets.copy("s3://code/large.bin", &all, true).unwrap().path;
    // As a killed process leaves it: bytes that are marked, so that one sees that they were not asked for again.
    let part = Path::new(&format!("{}.part", path.display())).to_owned();
    fs::remove_file(&path).unwrap();
    let mut begun = large[..20_000_000].to_vec();
    begun[0] = 255;
    fs::write(&part, &begun).unwrap();
    assert_eq!(buckets.copy("s3://code/large.bin", &all, true).unwrap().path, path);
    let copied = fs::read(&path).unwrap();
    assert_eq!((copied[0], copied.len(), copied[1..] == large[1..]), (255, large.len(), true));
    assert!(!part.exists());
}

#[test]
fn what_cannot_be_copied_is_told() {
    let Some(moto) = Moto::start("what_cannot_be_copied_is_told") else { return };
    let (folder, demands) = (tempfile::tempdir().unwrap(), Demands::default());
    let copies = folder.path().join("objects");
    let buckets = Buckets::new(copies.clone(), moto.variables(), demands.clone());
    let told = |place: &str| {
        let error = buckets.copy(place, &all, true).unwrap_err();
        let told = format!("{error} {:?} {}", error, error.hint().unwrap_or_default());
        assert!(!told.contains(SECRET), "{told}");
        (error.to_string(), error.hint().unwrap_or_default().to_owned())
    };
    assert_eq!(
        told("s3://code/nothing.jsonl"),
        (
            "s3://code/nothing.jsonl: no object has this key, or one below it".to_owned(),
            "aws s3 ls --recursive s3://code/nothing.jsonl".to_owned()
        )
    );
    assert_eq!(told("s3://nobodys/a.jsonl").0, "cannot list s3://nobodys/a.jsonl");
    assert_eq!(told("s3://code/a/../b").0, "`a/../b` is no key of an object");
    assert_eq!(told("s3:///a").0, "`s3://` is no place for shared work");
    moto.python("s3.put_object(Bucket='code', Key='unlucky', Body=b'0123456789abc')");
    assert_eq!(told("s3://code/unlucky"), ("s3://code/unlucky: no".to_owned(), "--yes".to_owned()));
    moto.python("s3.put_object(Bucket='code', Key='up/../../x', Body=b'y')");
    assert!(told("s3://code/up").0.contains("up"), "{:?}", told("s3://code/up"));
    assert!(!copies.exists(), "nothing of what was refused is there");

    let mut offline = moto.variables();
    offline.push(("WB_OFFLINE".to_owned(), "1".to_owned()));
    let offline = Buckets::new(copies, offline, demands);
    let error = offline.copy("s3://code/unlucky", &all, true).unwrap_err();
    assert_eq!(error.to_string(), "s3://code is not asked: WB_OFFLINE forbids the network");
}
