//! What a ledger holds after deaths, full disks and damage.

use std::{fs, path::Path};

use wb_core::faults;
use wb_llm::{
    EngineInfo, Error, Usage,
    ledger::{AnswerCost, Ledger, LedgerRecord, Rejected, SERVER, records},
};

use crate::support::{answered, opened, place, question};

fn info() -> EngineInfo {
    EngineInfo { engine: "http".into(), model_hash: "h".into(), ..EngineInfo::default() }
}

fn record(item: &str) -> LedgerRecord {
    let text = format!("text of {item}\n\"quoted\" \u{2028} ümlaut");
    answered(&info(), &question(item), text, Usage { prompt: Some(10), cached: None, completion: Some(5) })
}

fn filled(path: &Path, n: usize) -> Vec<LedgerRecord> {
    let ledger = Ledger::open(path).unwrap();
    let mut records = vec![opened(&info(), 7)];
    records.extend((0..n).map(|i| record(&i.to_string())));
    records.iter().for_each(|record| ledger.append(record).unwrap());
    assert_eq!((ledger.sync().unwrap(), ledger.sync().unwrap()), (n + 1, 0));
    records
}

#[test]
fn what_is_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b/ledger.jsonl");
    let written = filled(&path, 50);
    assert_eq!(records(&path).unwrap(), written);
    let ledger = Ledger::open(&path).unwrap();
    assert_eq!((ledger.len(), ledger.dropped()), (50, 0));
    for record in &written[1..] {
        assert_eq!(ledger.get(&record.question().unwrap().key).unwrap().as_ref(), Some(record));
    }
    assert_eq!(ledger.get(&"0".repeat(64)).unwrap(), None);
    assert_eq!(ledger.account().total().tokens.prompt, 500);
    let twice = ledger.append(&written[3]).unwrap_err().to_string();
    assert!(twice.contains("answered twice"), "{twice}");
    for line in fs::read_to_string(&path).unwrap().split_terminator('\n') {
        assert!(serde_json::from_str::<serde_json::Value>(line).unwrap().get("record").is_some());
    }
}

/// Cut at every byte of the last two lines: what was whole stays, and writing goes on.
#[test]
fn a_torn_last_line_is_dropped_and_counted_wherever_it_is_torn() {
    let (_folder, path) = place();
    let written = filled(&path, 3);
    let whole = fs::read(&path).unwrap();
    let ends: Vec<usize> = (0..whole.len()).filter(|&i| whole[i] == b'\n').map(|i| i + 1).collect();
    for cut in ends[1]..=whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        let kept = ends.iter().filter(|end| **end <= cut).count();
        let torn = u64::from(!ends.contains(&cut));
        assert_eq!(Ledger::open_read_only(&path).unwrap().dropped(), torn);
        assert_eq!(fs::metadata(&path).unwrap().len(), cut as u64);
        let ledger = Ledger::open(&path).unwrap();
        assert_eq!((ledger.len(), ledger.dropped()), (kept - 1, torn), "{cut}");
        for record in &written[kept..] {
            ledger.append(record).unwrap();
        }
        drop(ledger);
        assert_eq!(fs::read(&path).unwrap(), whole);
    }
    // A tail of zeros, as some file systems leave it.
    fs::write(&path, [&whole[..ends[2]], &[0; 4096]].concat()).unwrap();
    assert_eq!(Ledger::open(&path).unwrap().dropped(), 1);
    assert_eq!(fs::read(&path).unwrap(), whole[..ends[2]]);
}

#[test]
fn damage_anywhere_else_is_an_error_with_its_line() {
    let (_folder, path) = place();
    filled(&path, 5);
    let whole = fs::read(&path).unwrap();
    let second = whole.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    for (at, message) in [(second + 3, ":2: not a line"), (second + 80, ":2: the record is not what its checksum says")]
    {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(&path, &bytes).unwrap();
        let error = Ledger::open(&path).err().unwrap().to_string();
        assert!(error.contains(message), "{error}");
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
    fs::write(&path, "hello\nworld\n").unwrap();
    assert!(matches!(Ledger::open(&path), Err(Error::Data { .. })));
    let double = [&whole[..], &whole[second..]].concat();
    fs::write(&path, double).unwrap();
    let error = Ledger::open(&path).err().unwrap().to_string();
    assert!(error.contains(":7: this question was answered before"), "{error}");
}

#[test]
fn a_full_disk_is_told_and_leaves_whole_lines() {
    for n in 1..=4 {
        let (_folder, path) = place();
        filled(&path, 2);
        let ledger = Ledger::open(&path).unwrap();
        faults::fail_at(n, true);
        let result = (2..5).try_for_each(|i| ledger.append(&record(&i.to_string()))).and_then(|()| ledger.sync());
        assert!(faults::clear());
        assert!(matches!(result, Err(Error::Io { .. })), "{n}");
        assert_eq!(ledger.len(), 2 + (n as usize - 1));
        drop(ledger);
        assert_eq!(Ledger::open(&path).unwrap().len(), 2 + (n as usize - 1));
    }
}

#[test]
fn another_ledger_is_taken_in_and_answers_that_are_there_stay() {
    let (_one, one) = place();
    let (_two, two) = place();
    filled(&one, 5);
    let written = filled(&two, 8);
    let rejected = |class: &str| {
        let question = written[3].question().unwrap().clone();
        let (class, reason, cost) = (class.to_owned(), "none came".to_owned(), AnswerCost::default());
        LedgerRecord::Rejected(Box::new(Rejected { question, class, reason, cost }))
    };
    // One that failed for want of a server makes room for the answer.
    let (_open, open) = place();
    let ledger = Ledger::open(&open).unwrap();
    ledger.append(&rejected(SERVER)).unwrap();
    ledger.sync().unwrap();
    assert_eq!(ledger.take_in(&one).unwrap(), 5);
    assert_eq!((ledger.take_in(&two).unwrap(), ledger.take_in(&two).unwrap()), (3, 0));
    assert_eq!(ledger.get(&written[3].question().unwrap().key).unwrap().as_ref(), Some(&written[3]));
    drop(ledger);
    let ledger = Ledger::open(&open).unwrap();
    assert_eq!((ledger.len(), ledger.take_in(&one).unwrap()), (8, 0));
}
