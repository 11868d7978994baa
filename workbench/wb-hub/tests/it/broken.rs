//! Connections that are cut, silent or ignore what was asked: the bytes are the same in the end, or nothing is there.

use std::time::Duration;

use wb_fake_hub::Fault;
use wb_hub::Why;

use crate::{Model, files, repo};

#[test]
fn a_small_file_cut_at_every_offset_is_whole_in_the_end() {
    let model = Model::new();
    let body: Vec<u8> = (0..150u8).collect();
    model.hub.add("models", "o/s", &[("tokens.bin", &body)]);
    for offset in 0..=body.len() {
        let _ = std::fs::remove_dir_all(model.home.path().join("hub"));
        model.hub.fault(Fault::cut("tokens.bin", offset).times(1));
        let path = model.client().file(&repo("o/s"), "tokens.bin").unwrap();
        assert_eq!(std::fs::read(path).unwrap(), body, "cut after {offset}");
        let asked = model.hub.requests().into_iter().filter(|request| request.path.contains("tokens.bin"));
        let from: Vec<Option<u64>> = asked.map(|request| request.from).collect();
        match offset {
            0 => assert_eq!(from, [None, None]),
            n if n == body.len() => assert_eq!(from, [None]),
            n => assert_eq!(from, [None, Some(n as u64)]),
        }
        model.hub.mend();
    }
}

#[test]
fn a_large_file_cut_again_and_again_goes_on_where_it_was() {
    let model = Model::new();
    // Every connection brings 999 bytes: more of them than attempts are allowed in vain.
    model.hub.fault(Fault::cut("/content/", 999));
    assert_eq!(model.fetched(&model.client()).unwrap(), model.large);
    let of_store: Vec<u64> =
        model.hub.requests().iter().filter(|request| request.to_store).map(|r| r.from.unwrap_or(0)).collect();
    let expected: Vec<u64> = (0..21).map(|n| n * 999).collect();
    assert_eq!(of_store, expected);
}

#[test]
fn an_interrupted_download_goes_on_in_another_process() {
    let model = Model::new();
    model.hub.fault(Fault::cut("/content/", 7_000).times(1));
    model.hub.fault(Fault::status("/content/", 503, &[], "down"));
    let error = model.fetched(&model.client()).unwrap_err();
    assert_eq!(Why::of(&error), Some(Why::Unreachable));
    assert!(error.to_string().ends_with("model.safetensors: the server answers 503: down"), "{error}");
    let snapshot = model.home.path().join("hub/models--o--n/snapshots").join(&model.commit);
    assert!(!snapshot.join("model.safetensors").exists());
    model.hub.mend();
    model.hub.requests();
    assert_eq!(model.fetched(&model.client()).unwrap(), model.large);
    let of_store: Vec<Option<u64>> =
        model.hub.requests().iter().filter(|request| request.to_store).map(|request| request.from).collect();
    assert_eq!(of_store, [Some(7_000)]);
}

#[test]
fn a_server_that_ignores_ranges_is_not_appended() {
    let model = Model::new();
    model.hub.fault(Fault::cut("/content/", 5_000).times(1));
    model.hub.fault(Fault::whole_file("/content/"));
    assert_eq!(model.fetched(&model.client()).unwrap(), model.large);
}

#[test]
fn parts_that_are_no_beginning_of_the_file_are_thrown_away() {
    let model = Model::new();
    model.fetched(&model.client()).unwrap();
    let blobs = model.home.path().join("hub/models--o--n/blobs");
    let large = files(&blobs).into_iter().find(|name| name.len() == 64).unwrap();
    let part = blobs.join(format!("{large}.incomplete"));
    // Other bytes, too many bytes, and all of the bytes, one of them wrong.
    let mut wrong = model.large.clone();
    wrong[3] ^= 1;
    for stale in [vec![9; 5_000], vec![9; 30_000], wrong, model.large.clone()] {
        std::fs::remove_file(blobs.join(&large)).unwrap();
        std::fs::write(&part, &stale).unwrap();
        assert_eq!(model.fetched(&model.client()).unwrap(), model.large, "{} bytes", stale.len());
        assert!(!part.exists());
    }
}

#[test]
fn a_range_that_cannot_be_begins_anew() {
    let model = Model::new();
    model.hub.fault(Fault::cut("/content/", 5_000).times(1));
    model.hub.fault(Fault::status("/content/", 416, &[("content-range", "bytes */20000")], "").times(1));
    assert_eq!(model.fetched(&model.client()).unwrap(), model.large);
    let of_store: Vec<Option<u64>> =
        model.hub.requests().iter().filter(|request| request.to_store).map(|request| request.from).collect();
    assert_eq!(of_store, [None, Some(5_000), None]);
}

#[test]
fn wrong_bytes_are_never_there() {
    for (of, file) in [("/content/", "model.safetensors"), ("resolve", "config.json")] {
        let model = Model::new();
        model.hub.fault(Fault::wrong_byte(of, 7));
        let error = model.fetched(&model.client()).unwrap_err();
        assert_eq!(Why::of(&error), Some(Why::WrongBytes), "{error}");
        let snapshot = model.home.path().join("hub/models--o--n/snapshots").join(&model.commit);
        assert!(!snapshot.join(file).exists());
        assert!(
            files(&model.home.path().join("hub/models--o--n/blobs")).iter().all(|name| !name.contains("incomplete"))
        );
        model.hub.mend();
        assert_eq!(model.fetched(&model.client()).unwrap(), model.large);
    }
}

#[test]
fn other_content_or_another_commit_than_listed_is_refused() {
    for (name, value) in [("x-linked-etag", "\"00\""), ("x-repo-commit", "")] {
        let model = Model::new();
        let value = if value.is_empty() { "9".repeat(40) } else { format!("\"{}\"", "0".repeat(64)) };
        model.hub.fault(Fault::header("resolve", name, &value));
        let error = model.fetched(&model.client()).unwrap_err();
        assert_eq!(Why::of(&error), Some(Why::WrongBytes), "{name}: {error}");
        assert!(error.to_string().contains("the hub answers with"), "{error}");
    }
}

#[test]
fn more_or_fewer_bytes_than_listed_are_refused() {
    let model = Model::new();
    model.hub.fault(Fault::cut("/content/", 100).times(1));
    model.hub.fault(Fault::header("/content/", "content-range", "bytes 100-20000/20001"));
    let error = model.fetched(&model.client()).unwrap_err();
    assert!(error.to_string().contains("the server has 20001 bytes, expected 20000"), "{error}");
}

#[test]
fn silence_counts_as_a_cut() {
    let model = Model::new();
    model.hub.fault(Fault::silence("/content/", Duration::from_secs(3)).times(1));
    let begun = std::time::Instant::now();
    assert_eq!(model.fetched(&model.client()).unwrap(), model.large);
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[test]
fn nobody_there_is_told_soon() {
    let model = Model::new();
    // A machine that refuses, and a name that nobody has.
    for endpoint in ["127.0.0.1:1", "no-such-host.invalid"] {
        let mut settings = model.settings();
        settings.endpoint = format!("http://{endpoint}");
        settings.patience.attempts = 6;
        settings.patience.first_wait = Duration::from_millis(300);
        let begun = std::time::Instant::now();
        let error = wb_hub::Hub::new(settings).fetch(&repo("o/n"), &crate::wanted).unwrap_err();
        assert_eq!(Why::of(&error), Some(Why::Unreachable));
        assert_eq!(error.to_string(), format!("o/n: {endpoint} cannot be reached"));
        assert!(error.hint().unwrap().contains("WB_OFFLINE=1"));
        // One wait, not the five of a server that is busy.
        assert!(begun.elapsed() < Duration::from_secs(4), "{endpoint}: {:?}", begun.elapsed());
    }
}
