//! Ledgers that are damaged, or none, or another process's, or two models': nothing is lost in silence.

use std::{fs, path::Path, time::Duration};

use wb_llm::{
    EngineInfo, Error, LlmConfig, Reply, Usage,
    ledger::{Ledger, LedgerRecord, records},
};

use crate::{
    server::{Act, FaultServer},
    support::{self, ONE, ask, child, config, open, opened, place, question, questions, replay, text, timed, wait_for},
};

fn info(engine: &str, model: &str) -> EngineInfo {
    EngineInfo {
        engine: engine.into(),
        model: model.into(),
        model_hash: blake3::hash(model.as_bytes()).to_hex().to_string(),
        parallel: 1,
        ..EngineInfo::default()
    }
}

fn answered(info: &EngineInfo, item: usize, n: usize) -> LedgerRecord {
    support::answered(info, &question(&format!("{item:04}")), format!("{{\"n\": {n}}}"), Usage::default())
}

fn written(path: &Path, all: &[LedgerRecord]) -> Vec<u8> {
    let ledger = Ledger::open(path).unwrap();
    all.iter().for_each(|record| ledger.append(record).unwrap());
    ledger.sync().unwrap();
    drop(ledger);
    fs::read(path).unwrap()
}

/// A ledger with this many answers.
fn filled(path: &Path, n: usize) -> (Vec<LedgerRecord>, Vec<u8>) {
    let info = info("http", "m");
    let all: Vec<LedgerRecord> =
        std::iter::once(opened(&info, 7)).chain((0..n).map(|i| answered(&info, i, i))).collect();
    let bytes = written(path, &all);
    (all, bytes)
}

/// Whatever bit flips, wherever: an error with the line. Only a last line that looks as a death leaves it, without an end
/// or with a zero in it, is dropped and counted.
#[test]
fn no_flipped_bit_goes_unseen() {
    let (_folder, path) = place();
    let (all, whole) = filled(&path, 3);
    let mut dropped = 0;
    for at in 0..whole.len() {
        for bit in [0, 3, 5, 7] {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            fs::write(&path, &bytes).unwrap();
            let line = whole[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
            match Ledger::open_read_only(&path) {
                Err(error) => {
                    // A line that does not end any more is read with the next one; one that ends early is cut in two.
                    let error = error.to_string();
                    assert!(error.contains(&format!("ledger.jsonl:{line}: ")), "byte {at}, bit {bit}: {error}");
                }
                Ok(ledger) => {
                    assert!(at == whole.len() - 1 || bytes[at] == 0, "byte {at}, bit {bit}");
                    assert_eq!((line, ledger.dropped(), ledger.len()), (4, 1, 2), "byte {at}, bit {bit}");
                    drop(ledger);
                    assert_eq!(records(&path).unwrap(), all[..3]);
                    dropped += 1;
                }
            }
            assert_eq!(fs::read(&path).unwrap(), bytes);
        }
    }
    assert!((4..12).contains(&dropped), "{dropped}");
}

/// A page of zeros, as a machine that dies leaves it: within, an error; at the end, what stands before it is kept.
#[test]
fn a_torn_page_is_an_error_or_the_end() {
    let (_folder, path) = place();
    let (_, whole) = filled(&path, 40);
    let (mut errors, mut kept) = (0, 0);
    for page in (0..whole.len()).step_by(512) {
        let mut bytes = whole.clone();
        let end = (page + 512).min(whole.len());
        bytes[page..end].fill(0);
        fs::write(&path, &bytes).unwrap();
        match Ledger::open(&path) {
            Err(error) => {
                errors += 1;
                let line = whole[..page].iter().filter(|byte| **byte == b'\n').count() + 1;
                assert!(error.to_string().contains(&format!(":{line}: ")), "{error}");
                assert_eq!(fs::read(&path).unwrap(), bytes);
            }
            Ok(ledger) => {
                kept += 1;
                assert_eq!(ledger.dropped(), 1);
                drop(ledger);
                let left = fs::read(&path).unwrap();
                assert!(whole.starts_with(&left) && left.ends_with(b"\n"));
                // Only what the page or the last line held is gone.
                let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
                let line = whole[..page.min(last)].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
                assert_eq!(left.len(), line.min(last));
            }
        }
    }
    assert!(errors > 20 && (1..=3).contains(&kept), "{errors} {kept}");
}

#[test]
fn what_is_no_ledger_is_left_as_it_is_and_an_empty_file_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    let foreign: [&[u8]; 6] = [
        b"my only copy",
        b"my only copy\n",
        b"GGUF\x03\0\0\0",
        b"{\"id\": 1}\n",
        b"\n",
        b"{\"check\":7}\n{\"check\":8}",
    ];
    for bytes in foreign {
        fs::write(&path, bytes).unwrap();
        for opened in [Ledger::open(&path), Ledger::open_read_only(&path)] {
            let error = opened.err().unwrap();
            assert!(error.to_string().contains("notes.txt:1: "), "{error}");
            assert_eq!(error.hint(), Some("is this a ledger? It is left as it is"));
        }
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    fs::write(&path, b"").unwrap();
    let ledger = Ledger::open(&path).unwrap();
    assert!(ledger.is_empty() && ledger.opened().is_none() && ledger.dropped() == 0);
    drop(ledger);
    let error = open(&replay(), &path).err().unwrap().to_string();
    assert!(error.contains("nobody has answered here"), "{error}");
    assert!(matches!(open(&replay(), &folder.path().join("absent")), Err(Error::Io { .. })));
    assert!(matches!(Ledger::open(folder.path()), Err(Error::Io { .. })));
}

/// Not a test of its own: the process that holds a ledger.
#[test]
#[ignore = "the child of the test below"]
fn holder() {
    let Ok(folder) = std::env::var("WB_TEST_HOLDER") else { return };
    let _ledger = Ledger::open(&Path::new(&folder).join("ledger.jsonl")).unwrap();
    fs::write(Path::new(&folder).join("ready"), "").unwrap();
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_second_process_is_refused_at_once_until_the_first_is_gone() {
    let (folder, path) = place();
    filled(&path, 3);
    let mut child = child("damage::holder", &[("WB_TEST_HOLDER", folder.path().to_str().unwrap())]);
    wait_for(&mut child, || folder.path().join("ready").exists());
    let server = FaultServer::start(|_| Act::Say(ONE.into()));
    for config in [config(&server.url()), replay()] {
        let (opened, time) = timed(|| open(&config, &path));
        let error = opened.err().unwrap().to_string();
        assert!(error.contains("ledger.jsonl is in use by another process"), "{error}");
        assert!(time < Duration::from_secs(1), "{time:?}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // A lock of the system's: nothing of it outlives the process. Readers stand beside each other.
    let (first, second) = (Ledger::open_read_only(&path).unwrap(), Ledger::open_read_only(&path).unwrap());
    assert_eq!((first.len(), second.len()), (3, 3));
    assert!(Ledger::open(&path).is_err());
    drop((first, second));
    open(&config(&server.url()), &path).unwrap();
}

#[test]
fn of_two_models_in_a_ledger_one_is_replayed_by_its_name() {
    let (_folder, path) = place();
    let (first, second) = (info("sidecar", "small.gguf"), info("http", "large"));
    let mut all = vec![opened(&first, 7), answered(&first, 0, 10), answered(&first, 1, 11), opened(&second, 7)];
    // The same again, with another window: not a third model.
    all.extend([answered(&second, 0, 20), opened(&EngineInfo { context: Some(99), ..first.clone() }, 7)]);
    all.push(opened(&info("http", "of another run"), 8));
    written(&path, &all);
    let replay = |model: &str| open(&LlmConfig { model: model.into(), ..replay() }, &path);
    for name in ["", "other", "smal", "/models/other.gguf"] {
        let error = replay(name).err().unwrap();
        assert!(matches!(&error, Error::Value { key, .. } if key == "llm.model"), "{error}");
        let error = error.to_string();
        for part in ["`", "one of the 2 models", "small.gguf (sidecar, ", "large (http, "] {
            assert!(error.contains(part), "{error}");
        }
        assert!(!error.contains("another run"), "{error}");
    }
    let said = |client: &wb_llm::Client, n: usize| -> Vec<String> {
        let replies = ask(client, &questions(n)).unwrap();
        replies.iter().inspect(|reply| assert!(matches!(reply, Reply::Answered(_)))).map(|r| text(r).into()).collect()
    };
    for name in ["small.gguf", "/some/where/small.gguf", &first.model_hash[..12]] {
        let client = replay(name).unwrap();
        assert_eq!((client.info().engine.as_str(), client.info().context), ("sidecar", Some(99)));
        assert_eq!(said(&client, 2), ["{\"n\": 10}", "{\"n\": 11}"]);
    }
    let client = replay("large").unwrap();
    assert_eq!(said(&client, 1), ["{\"n\": 20}"]);
    // What only the other one answered is not taken from it.
    let error = ask(&client, &questions(2)).unwrap_err().to_string();
    assert!(error.contains("has no answer to 1 of 2 questions"), "{error}");
}

/// What was cut short is asked again, once, and that it was is known.
#[test]
fn a_torn_answer_is_asked_again_and_no_other() {
    let (_folder, path) = place();
    let server = FaultServer::start(|_| Act::Say(ONE.into()));
    let client = open(&config(&server.url()), &path).unwrap();
    ask(&client, &questions(20)).unwrap();
    assert_eq!(client.dropped(), 0);
    drop(client);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 9]).unwrap();
    let client = open(&config(&server.url()), &path).unwrap();
    assert_eq!((client.dropped(), client.ledger().len()), (1, 19));
    ask(&client, &questions(20)).unwrap();
    assert_eq!((server.asked(), client.reused(), client.ledger().len()), (21, 19, 20));
}
