//! The ledger of questions and answers, one checksummed line each: the truth that a data set is made from.
//!
//! A line is `{"check":"<16 hex digits of BLAKE3 of the record's bytes>","record":{...}}`. Lines are only ever added. An
//! answer is written before the next question is asked, in one call, so that the death of the process loses nothing
//! that came back; it counts only when it is on the disk, which happens in groups ([`Ledger::sync`]), so that the death
//! of the machine makes no one believe what is not there. A last line that a death cut short is dropped and counted; a
//! line that is damaged in any other way, or anywhere else, is an error with its number. A question has one record; only
//! one which says that the server failed at it ([`SERVER`]) may be followed by another, which counts from then on.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions, TryLockError},
    io::{BufRead, BufReader, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::Mutex,
};

use wb_core::{atomic, faults};

pub use crate::records::{
    AnswerCost, AnsweredRecord, FORMAT, LedgerRecord, Opened, RecordedQuestion, Rejected, SERVER,
};
use crate::{
    Error, Result,
    account::LedgerAccount,
    records::{is_torn, line, parse},
};

/// An open ledger. One process writes it; others may read it when nobody writes.
pub struct Ledger {
    path: PathBuf,
    read_only: bool,
    dropped: u64,
    opened: Vec<Opened>,
    inner: Mutex<Inner>,
}

/// Place of a question's last line.
#[derive(Clone, Copy)]
struct Place {
    offset: u64,
    length: usize,
    /// True where it says that the server failed: the question may have another.
    is_open: bool,
}

struct Inner {
    file: File,
    /// Place of each key's line.
    places: HashMap<[u8; 32], Place>,
    end: u64,
    unsynced: usize,
    account: LedgerAccount,
    /// A write failed and what it left could not be taken back.
    broken: bool,
}

impl Ledger {
    /// Opens a ledger to read and to write, and makes it if it is not there.
    pub fn open(path: &Path) -> Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            atomic::create_folders(folder)?;
        }
        let is_new = !path.exists();
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path);
        let file = file.map_err(Error::io("write", path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(path)),
            Err(TryLockError::Error(source)) => return Err(Error::io("lock", path)(source)),
        }
        if is_new && let Some(folder) = folder {
            wb_core::atomic::sync_folder(folder)?;
        }
        Self::load(path, file, false)
    }

    /// Opens a ledger to read it; it is left as it is.
    pub fn open_read_only(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io("read", path))?;
        match file.try_lock_shared() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use(path)),
            Err(TryLockError::Error(source)) => return Err(Error::io("lock", path)(source)),
        }
        Self::load(path, file, true)
    }

    fn load(path: &Path, mut file: File, read_only: bool) -> Result<Self> {
        let mut places = HashMap::new();
        let (mut account, mut opened, mut dropped, mut end) = (LedgerAccount::default(), Vec::new(), 0, 0u64);
        let mut number = 0usize;
        let mut reader = BufReader::with_capacity(1 << 20, &mut file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let n = reader.read_until(b'\n', &mut line).map_err(Error::io("read", path))?;
            if n == 0 {
                break;
            }
            number += 1;
            let whole = line.last() == Some(&b'\n');
            let text = if whole { &line[..n - 1] } else { &line[..] };
            let record = match parse(text) {
                Ok(record) if whole => record,
                result => {
                    let is_last = !whole || is_last(&mut reader).map_err(Error::io("read", path))?;
                    if is_last && is_torn(&line, number == 1) {
                        dropped = 1;
                        break;
                    }
                    let what = result.err().unwrap_or_else(|| "the line does not end".into());
                    let hint = match number {
                        1 => "is this a ledger? It is left as it is",
                        _ => "without this line its question is asked again",
                    };
                    return Err(Error::at(path, number, what).with_hint(hint));
                }
            };
            if let Some(RecordedQuestion { key, .. }) = record.question() {
                let key = key_bytes(key)
                    .ok_or_else(|| Error::at(path, number, format!("the key `{key}` is not 64 hex digits")))?;
                let place = Place { offset: end, length: n, is_open: record.is_open() };
                if !put(&mut places, &mut account, (key, place), &record) {
                    return Err(Error::at(path, number, "this question was answered before"));
                }
            }
            if let LedgerRecord::Opened(record) = record {
                if record.format != FORMAT {
                    return Err(Error::at(path, number, format!("format {}, expected {FORMAT}", record.format)));
                }
                opened.push(*record);
            }
            end += n as u64;
        }
        if !read_only && dropped > 0 {
            file.set_len(end).and_then(|()| file.sync_all()).map_err(Error::io("write", path))?;
        }
        let inner = Inner { file, places, end, unsynced: 0, account, broken: false };
        Ok(Self { path: path.to_path_buf(), read_only, dropped, opened, inner: Mutex::new(inner) })
    }

    /// The record of a question, if it has one.
    pub fn get(&self, key: &str) -> Result<Option<LedgerRecord>> {
        let Some(key) = key_bytes(key) else { return Ok(None) };
        let mut inner = self.inner();
        let Some(&Place { offset, length, .. }) = inner.places.get(&key) else { return Ok(None) };
        let mut line = vec![0; length];
        let read = inner.file.seek(SeekFrom::Start(offset)).and_then(|_| inner.file.read_exact(&mut line));
        read.map_err(Error::io("read", &self.path))?;
        drop(inner);
        parse(&line[..length - 1])
            .map(Some)
            .map_err(|what| Error::data(format!("{}: byte {offset}", self.path.display()), what))
    }

    /// True for a question with a record.
    pub fn has(&self, key: &str) -> bool {
        key_bytes(key).is_some_and(|key| self.inner().places.contains_key(&key))
    }

    /// True for a question whose record, if it has one, may be followed by another.
    pub fn is_open(&self, key: &str) -> bool {
        let place = key_bytes(key).and_then(|key| self.inner().places.get(&key).copied());
        place.is_none_or(|place| place.is_open)
    }

    /// Adds a record, in one call to the system. It counts only after [`Ledger::sync`].
    pub fn append(&self, record: &LedgerRecord) -> Result<()> {
        let mut inner = self.inner();
        if self.read_only || inner.broken {
            return Err(Error::file(&self.path, "not open for writing"));
        }
        let key = record.question().and_then(|question| key_bytes(&question.key));
        if key.is_some_and(|key| inner.places.get(&key).is_some_and(|place| !place.is_open)) {
            return Err(Error::file(&self.path, "a question is answered twice"));
        }
        let line = line(record)?;
        let end = inner.end;
        let written = faults::point()
            .and_then(|()| inner.file.seek(SeekFrom::Start(end)).map(|_| ()))
            .and_then(|()| inner.file.write_all(line.as_bytes()));
        if let Err(source) = written {
            inner.broken = inner.file.set_len(end).is_err();
            return Err(Error::io("write", &self.path)(source));
        }
        inner.end += line.len() as u64;
        inner.unsynced += 1;
        if let Some(key) = key {
            let place = Place { offset: end, length: line.len(), is_open: record.is_open() };
            let Inner { places, account, .. } = &mut *inner;
            put(places, account, (key, place), record);
        }
        Ok(())
    }

    /// Adds the records of another ledger that nobody writes, of questions that have none here, or one that may be followed by
    /// another; how many these were. Who answered is added too, unless it stands here as it was opened.
    pub fn take_in(&self, other: &Path) -> Result<usize> {
        let mut taken = 0;
        for record in records(other)? {
            let is_new = match (&record, record.question()) {
                (LedgerRecord::Opened(opened), _) => !self.opened.contains(opened),
                (_, Some(question)) => self.is_open(&question.key),
                (_, None) => false,
            };
            if is_new {
                self.append(&record)?;
                taken += usize::from(record.question().is_some());
            }
        }
        self.sync()?;
        Ok(taken)
    }

    /// Flushes what was added to the disk; how many records these were.
    pub fn sync(&self) -> Result<usize> {
        let (file, n) = {
            let mut inner = self.inner();
            if inner.unsynced == 0 {
                return Ok(0);
            }
            let file = inner.file.try_clone().map_err(Error::io("write", &self.path))?;
            (file, std::mem::take(&mut inner.unsynced))
        };
        // Without the lock: others may write meanwhile, and their records are part of the next group.
        if let Err(source) = faults::point().and_then(|()| file.sync_data()) {
            // What the system could not write it may have forgotten: a later call that succeeds proves nothing.
            self.inner().broken = true;
            return Err(Error::io("write", &self.path)(source));
        }
        Ok(n)
    }

    /// The cost of all its records.
    pub fn account(&self) -> LedgerAccount {
        self.inner().account.clone()
    }

    /// Records of questions in it.
    pub fn len(&self) -> usize {
        self.inner().places.len()
    }

    /// True where nothing is answered in it.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Last lines that a death cut short and that were dropped: 0 or 1.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The engine that answered last, as it stood in the file when it was opened.
    pub fn opened(&self) -> Option<&Opened> {
        self.opened.last()
    }

    /// All who answered, in the order of the file, as it stood when it was opened.
    pub fn opened_all(&self) -> &[Opened] {
        &self.opened
    }

    /// Gives the lock back, though somebody may still hold the ledger: from here on nothing is written by it.
    pub fn close(&self) {
        let mut inner = self.inner();
        inner.broken = true;
        // Where that fails, the lock ends with the file.
        let _ = inner.file.unlock();
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn inner(&self) -> std::sync::MutexGuard<'_, Inner> {
        // A panic of another thread leaves nothing half-done here that a later call would not see.
        self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Drop for Ledger {
    /// The lock is given back here and not left to the file's end: a process that another thread is just starting holds a
    /// copy of the file until it runs its program.
    fn drop(&mut self) {
        self.close();
    }
}

/// Notes a question's record, which may take the place of one that says that the server failed; whether it may be there.
fn put(
    places: &mut HashMap<[u8; 32], Place>,
    account: &mut LedgerAccount,
    (key, place): ([u8; 32], Place),
    record: &LedgerRecord,
) -> bool {
    match places.insert(key, place) {
        Some(before) if !before.is_open => return false,
        Some(_) => account.reopen(record),
        None => {}
    }
    account.add(record);
    true
}

/// All records of a ledger that nobody writes, in the order of the file.
pub fn records(path: &Path) -> Result<Vec<LedgerRecord>> {
    let ledger = Ledger::open_read_only(path)?;
    let mut records = Vec::with_capacity(ledger.len());
    let mut inner = ledger.inner();
    let end = inner.end;
    inner.file.seek(SeekFrom::Start(0)).map_err(Error::io("read", path))?;
    for line in BufReader::new((&mut inner.file).take(end)).lines() {
        let line = line.map_err(Error::io("read", path))?;
        records.push(parse(line.as_bytes()).map_err(|what| Error::file(path, what))?);
    }
    drop(inner);
    Ok(records)
}

fn is_last(reader: &mut impl BufRead) -> std::io::Result<bool> {
    Ok(reader.fill_buf()?.is_empty())
}

fn key_bytes(key: &str) -> Option<[u8; 32]> {
    blake3::Hash::from_hex(key).ok().map(|hash| *hash.as_bytes())
}

fn in_use(path: &Path) -> Error {
    Error::Locked { path: path.to_owned(), holder: "another process".to_owned(), hint: None }
}
