//! An index that follows its files.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use serde_json::json;
use wb_core::{Embeddings, Encoder, Progress, Side, encoder::EncodeError, fingerprint::Fingerprint};
use wb_mcp::{EncoderOpener, Error, LiveProject};
use wb_search::{VectorEncoder, VectorStore};

use crate::{Made, StreamClient, VERSIONS, places, without_encoder};

#[test]
fn changed_files_are_read_before_the_answer() {
    let made = Made::usual();
    let mut client = StreamClient::of(made.live(), VERSIONS[1]);
    assert_eq!(client.answer("search", json!({"question": "zebra"}))["empty"], "none of the files has `zebra`");
    made.write("src/zebra.rs", "fn zebra() {}\n");
    let answer = client.answer("search", json!({"question": "zebra"}));
    assert_eq!((places(&answer), answer.get("stale")), (vec!["src/zebra.rs:1"], None));
    std::fs::remove_file(made.root().join("src/zebra.rs")).unwrap();
    assert_eq!(client.answer("search", json!({"question": "zebra"}))["empty"], "none of the files has `zebra`");
    client.end();
}

#[test]
fn without_time_an_answer_says_what_is_stale() {
    let made = Made::usual();
    let project = LiveProject::waiting(made.place(), crate::without_encoder(), Duration::ZERO).unwrap();
    let mut client = StreamClient::of(project, VERSIONS[1]);
    // There is nothing to answer from, until there is.
    let failed = client.failure("search", json!({"question": "listen"}));
    assert!(failed.contains("indexed for the first time") && failed.contains("ask the same again"), "{failed}");
    while client.call("search", json!({"question": "listen"}))["isError"] == true {
        std::thread::sleep(Duration::from_millis(20));
    }
    made.write("src/zebra.rs", "fn zebra() {}\n");
    let answer = client.answer("search", json!({"question": "listen"}));
    if let Some(stale) = answer.get("stale") {
        assert_eq!(stale, &json!(["src/zebra.rs"]));
        assert!(answer["notes"][0].as_str().unwrap().contains("ask again"));
    }
    client.end();
}

/// An encoder of one axis: wild animals.
struct Animals(AtomicUsize);

impl Encoder for Animals {
    fn name(&self) -> String {
        "animals".into()
    }

    fn dim(&self) -> usize {
        2
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_bytes(b"animals")
    }

    fn encode(&self, texts: &[&str], _: Side, _: &mut dyn FnMut(Progress)) -> Result<Embeddings, EncodeError> {
        self.0.fetch_add(texts.len(), Ordering::Relaxed);
        let animal = |text: &&str| f32::from(u8::from(["zebra", "horse"].iter().any(|word| text.contains(word))));
        Ok(Embeddings::of_values(texts.iter().flat_map(|text| [animal(text), 0.1]).collect(), 2, None)?)
    }
}

#[test]
fn the_encoder_of_the_index_is_opened_once_and_asked_each_time() {
    let made = Made::of(&[("a.rs", "fn zebra() {}\n"), ("b.rs", "fn table() {}\n")]);
    let encoder = Arc::new(Animals(AtomicUsize::new(0)));
    let made_by = VectorEncoder::of("animals", String::new(), encoder.as_ref());
    let place = made.place();
    let (mut update, _) = place.update(false, &mut |_| {}).unwrap();
    let store = VectorStore::below(made.caches.path(), made_by.clone());
    update.embed(&store, encoder.as_ref(), &mut |_| {}).unwrap();
    update.keep().unwrap();

    let opened = Arc::new(AtomicUsize::new(0));
    let counts = (Arc::clone(&opened), Arc::clone(&encoder), store.clone());
    let opener: EncoderOpener = Box::new(move |_, _| {
        counts.0.fetch_add(1, Ordering::Relaxed);
        Ok(Some((counts.2.clone(), Arc::clone(&counts.1) as _)))
    });
    let mut client = StreamClient::of(LiveProject::new(made.place(), opener).unwrap(), VERSIONS[1]);
    let before = encoder.0.load(Ordering::Relaxed);
    for _ in 0..3 {
        let answer = client.answer("search", json!({"question": "horse"}));
        assert_eq!(places(&answer), ["a.rs:1"], "{answer}");
        assert!(!answer["notes"].to_string().contains("words alone"), "{answer}");
    }
    assert_eq!(encoder.0.load(Ordering::Relaxed) - before, 3);
    assert_eq!(opened.load(Ordering::Relaxed), 1);
    client.end();

    // One that cannot be opened, and one that is another by now: words alone, and that is said.
    let other = VectorEncoder { fingerprint: Fingerprint::of_bytes(b"other"), ..made_by };
    let other = VectorStore::below(made.caches.path(), other);
    let changed = Arc::clone(&encoder);
    let openers: [EncoderOpener; 2] = [
        Box::new(|_, _| Err(Error::failed("it is gone"))),
        Box::new(move |_, _| Ok(Some((other.clone(), Arc::clone(&changed) as _)))),
    ];
    for (opener, why) in openers.into_iter().zip(["it is gone", "has changed"]) {
        let mut client = StreamClient::of(LiveProject::new(made.place(), opener).unwrap(), VERSIONS[1]);
        let answer = client.answer("search", json!({"question": "zebra"}));
        let note = answer["notes"][0].as_str().unwrap();
        assert!(note.starts_with("found by words alone: ") && note.contains(why), "{note}");
        assert_eq!(places(&answer), ["a.rs:1"]);
        client.end();
    }

    // An index without vectors gets those of the encoder that is to make some, unless words alone are wanted.
    for by_words in [false, true] {
        let made = Made::of(&[("a.rs", "fn zebra() {}\n"), ("b.rs", "fn table() {}\n")]);
        let place = made.place();
        let (mut update, _) = place.update(false, &mut |_| {}).unwrap();
        if by_words {
            update.forget_vectors();
        }
        update.keep().unwrap();
        let (store, encoder) = (store.clone(), Arc::clone(&encoder));
        let opener: EncoderOpener = Box::new(move |kept, index| {
            assert!(kept.is_none() || !index.is_of_words_alone());
            Ok((!index.is_of_words_alone()).then(|| (store.clone(), Arc::clone(&encoder) as _)))
        });
        let mut client = StreamClient::of(LiveProject::new(made.place(), opener).unwrap(), VERSIONS[1]);
        // The first may be answered by words, before vectors are there.
        let mut found = || places(&client.answer("search", json!({"question": "horse"}))).len();
        let expected = usize::from(!by_words);
        let is_there = (0..200).any(|_| {
            thread::sleep(Duration::from_millis(10));
            found() == expected
        });
        assert!(is_there, "{by_words}");
        assert_eq!(found(), expected);
        client.end();
    }
}

#[test]
fn another_process_that_indexes_keeps_nobody_waiting() {
    let made = Made::of(&[("a.rs", "fn zebra() {}\n")]);
    let place = made.place();
    let (held, _) = place.update(false, &mut |_| {}).unwrap();
    let started = Instant::now();
    let mut client = StreamClient::of(LiveProject::new(made.place(), without_encoder()).unwrap(), VERSIONS[1]);
    assert_eq!(places(&client.answer("search", json!({"question": "zebra"}))), ["a.rs:1"]);
    made.write("b.rs", "fn horse() {}\n");
    assert_eq!(places(&client.answer("search", json!({"question": "horse"}))), ["b.rs:1"]);
    assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
    assert!(place.read().unwrap().is_none());
    drop(held);
    client.end();
}
