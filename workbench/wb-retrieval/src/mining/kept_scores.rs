//! A cross-encoder's scores, kept in a file as they are made: what was scored once is not scored again.
//!
//! The file is a line of letters and then records of 24 bytes: 16 for the two texts, 4 for the score, 4 to see whether
//! the record is whole. Records are appended in blocks; one that a stopped process left half written is cut off.
//! Several processes may add to one file: each has it for itself while it reads or writes, and knows then what the
//! others added.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File, OpenOptions},
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use wb_core::{
    Progress, Reranker,
    fingerprint::{Fingerprint, text_key},
};

use super::{MiningTexts, RescoreRequest, Rescorer};
use crate::{
    Error, Result,
    error::{cannot_encode, unlike_lengths},
};

/// Pairs that are scored and written together: some seconds of work.
const BLOCK: usize = 256;
/// Bytes that the file begins with.
const HEADER: &[u8; 16] = b"wb pair scores 1";
const RECORD: usize = 24;

/// Scores by query and document, of a model that is asked for those that are not there.
///
/// About 50 bytes of memory for each score.
pub struct KeptScores<'a, R> {
    reranker: R,
    stop: Option<&'a AtomicBool>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    scores: HashMap<u128, f32>,
    file: Option<ScoreFile>,
}

impl Kept {
    /// Reads what other processes have added.
    fn catch_up(&mut self) -> Result<()> {
        let Self { scores, file } = self;
        let Some(file) = file else { return Ok(()) };
        let read = file.alone(|file| file.read(scores));
        read.map_err(Error::io("read", &file.path))
    }

    /// Keeps scores, in the file after what other processes have added.
    fn add(&mut self, new: &[(u128, f32)]) -> Result<()> {
        let Self { scores, file } = self;
        if let Some(file) = file {
            let written = file.alone(|file| {
                file.read(scores)?;
                file.append(new.iter().filter(|(key, _)| !scores.contains_key(key)))
            });
            written.map_err(Error::io("write", &file.path))?;
        }
        scores.extend(new.iter().copied());
        Ok(())
    }
}

/// A file that is read and appended to.
struct ScoreFile {
    path: PathBuf,
    file: File,
    /// Up to where it is read.
    end: u64,
}

impl<'a, R: Reranker> KeptScores<'a, R> {
    /// Keeps scores in memory alone.
    pub fn in_memory(reranker: R) -> Self {
        Self { reranker, stop: None, kept: Mutex::default() }
    }

    /// Reads the scores of a file, which is made where it is not there, and keeps new ones there. The path must be
    /// named by all that decides the scores.
    pub fn open(reranker: R, path: &Path) -> Result<Self> {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let file = open.map_err(Error::io("write", path))?;
        let file = ScoreFile { path: path.to_owned(), file, end: 0 };
        let mut kept = Kept { scores: HashMap::new(), file: Some(file) };
        kept.catch_up()?;
        Ok(Self { reranker, stop: None, kept: Mutex::new(kept) })
    }

    /// Gives up soon after the flag is set; what was scored until then is kept.
    #[must_use]
    pub fn until(mut self, stop: &'a AtomicBool) -> Self {
        self.stop = Some(stop);
        self
    }

    /// The model.
    pub fn reranker(&self) -> &R {
        &self.reranker
    }

    /// Number of scores.
    pub fn len(&self) -> usize {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).scores.len()
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Scores pairs of texts block by block; `done` is told how many are scored.
    fn fill(&self, kept: &mut Kept, missing: &[(u128, (&str, &str))], done: &mut dyn FnMut(usize)) -> Result<()> {
        for (at, block) in missing.chunks(BLOCK).enumerate() {
            if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Err(Error::data(self.reranker.name(), "was stopped while it scored"));
            }
            // Another process may have scored some of them meanwhile.
            let new: Vec<_> = block.iter().filter(|(key, _)| !kept.scores.contains_key(key)).copied().collect();
            if !new.is_empty() {
                self.add(kept, &new)?;
            }
            done(at * BLOCK + block.len());
        }
        Ok(())
    }

    /// Scores some pairs of texts, and keeps the scores.
    fn add(&self, kept: &mut Kept, block: &[(u128, (&str, &str))]) -> Result<()> {
        let failed = |source| cannot_encode("queries with documents", &self.reranker.name(), source);
        let texts: Vec<(&str, &str)> = block.iter().map(|(_, texts)| *texts).collect();
        let scores = self.reranker.score(&texts, &mut |_| {}).map_err(failed)?;
        if scores.len() != block.len() {
            return Err(unlike_lengths("scores and pairs", scores.len(), block.len()));
        }
        let new: Vec<(u128, f32)> = block.iter().zip(scores).map(|((key, _), score)| (*key, score)).collect();
        kept.add(&new)
    }
}

/// The model with its scores kept: what was scored once is not scored again.
impl<R: Reranker> Reranker for KeptScores<'_, R> {
    fn name(&self) -> String {
        self.reranker.name()
    }

    fn fingerprint(&self) -> Fingerprint {
        self.reranker.fingerprint()
    }

    fn score(
        &self,
        texts: &[(&str, &str)],
        progress: &mut dyn FnMut(Progress),
    ) -> std::result::Result<Vec<f32>, Box<dyn std::error::Error + Send + Sync>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.catch_up()?;
        let keys: Vec<u128> = texts.iter().map(|(query, document)| key(number(query), document)).collect();
        let mut seen = HashSet::new();
        let mut is_new = |key: &u128| !kept.scores.contains_key(key) && seen.insert(*key);
        let missing: Vec<_> = keys.iter().copied().zip(texts.iter().copied()).filter(|(key, _)| is_new(key)).collect();
        let mut tell = |scored| progress(Progress::new("scoring pairs of texts", scored, missing.len()));
        self.fill(&mut kept, &missing, &mut tell)?;
        // None is missing now.
        Ok(keys.iter().map(|key| kept.scores.get(key).copied().unwrap_or(f32::NAN)).collect())
    }
}

impl<R: Reranker> Rescorer for KeptScores<'_, R> {
    fn rescore(
        &self,
        texts: &MiningTexts<'_>,
        asked: &[RescoreRequest],
        done: &mut dyn FnMut(usize),
    ) -> Result<Vec<Vec<Option<f32>>>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.catch_up()?;
        let keys: Vec<Vec<u128>> = asked.iter().map(|asked| keys(texts, asked)).collect();
        let mut seen = HashSet::new();
        let mut missing = Vec::new();
        for (asked, keys) in asked.iter().zip(&keys) {
            for (document, key) in asked.documents.iter().zip(keys) {
                if !kept.scores.contains_key(key) && seen.insert(*key) {
                    missing.push((*key, (texts.queries()[asked.query], texts.documents()[*document as usize])));
                }
            }
        }
        self.fill(&mut kept, &missing, &mut |scored| done(asked.len() * scored / missing.len()))?;
        let scores = |keys: &Vec<u128>| keys.iter().map(|key| kept.scores.get(key).copied()).collect();
        Ok(keys.iter().map(scores).collect())
    }
}

/// The keys of a query with each document.
fn keys(texts: &MiningTexts<'_>, asked: &RescoreRequest) -> Vec<u128> {
    let query = number(texts.queries()[asked.query]);
    asked.documents.iter().map(|document| key(query, texts.documents()[*document as usize])).collect()
}

/// The key of a query, by its number, with a document.
fn key(query: u128, document: &str) -> u128 {
    // An odd factor, so that the two texts the other way round are another key.
    const FACTOR: u128 = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835;
    query.wrapping_mul(FACTOR).wrapping_add(number(document))
}

fn number(text: &str) -> u128 {
    let [low, high] = text_key(text);
    u128::from(high) << 64 | u128::from(low)
}

fn record(key: u128, score: f32) -> [u8; RECORD] {
    let mut bytes = [0; RECORD];
    bytes[..16].copy_from_slice(&key.to_le_bytes());
    bytes[16..20].copy_from_slice(&score.to_le_bytes());
    let check = check(&bytes[..20]);
    bytes[20..].copy_from_slice(&check.to_le_bytes());
    bytes
}

/// FNV-1a, 32 bits.
fn check(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

fn of_record(bytes: &[u8]) -> Option<(u128, f32)> {
    let (body, end) = bytes.split_at_checked(20)?;
    let is_whole = end == check(body).to_le_bytes().as_slice();
    let key = u128::from_le_bytes(body[..16].try_into().ok()?);
    let score = f32::from_le_bytes(body[16..].try_into().ok()?);
    is_whole.then_some((key, score))
}

impl ScoreFile {
    /// Does something while no other process reads or writes the file.
    fn alone<T>(&mut self, then: impl FnOnce(&mut Self) -> std::io::Result<T>) -> std::io::Result<T> {
        self.file.lock()?;
        let done = then(self);
        self.file.unlock()?;
        done
    }

    /// Reads what was added since the last time; what is not whole after it is cut off, and what does not begin as such
    /// a file is begun anew.
    fn read(&mut self, scores: &mut HashMap<u128, f32>) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        let length = self.file.metadata()?.len();
        // It is shorter than it was where another process found damage in it.
        self.end = self.end.min(length);
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.read_to_end(&mut bytes)?;
        let mut rest = &bytes[..];
        if self.end == 0 {
            let Some(records) = rest.strip_prefix(HEADER) else {
                self.file.set_len(0)?;
                self.file.rewind()?;
                self.file.write_all(HEADER)?;
                self.end = HEADER.len() as u64;
                return Ok(());
            };
            (rest, self.end) = (records, HEADER.len() as u64);
        }
        for (key, score) in rest.chunks(RECORD).map_while(of_record) {
            scores.insert(key, score);
            self.end += RECORD as u64;
        }
        if self.end < length { self.file.set_len(self.end) } else { Ok(()) }
    }

    /// Adds records at the end, up to where it is read.
    fn append<'s>(&mut self, new: impl Iterator<Item = &'s (u128, f32)>) -> std::io::Result<()> {
        let records: Vec<u8> = new.flat_map(|(key, score)| record(*key, *score)).collect();
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(&records)?;
        self.file.sync_data()?;
        self.end += records.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use wb_core::{Pair, Progress, fingerprint::Fingerprint};

    use super::*;

    /// A text's length over the other's; counts what it is asked, and fails after so many blocks.
    #[derive(Default)]
    struct Lengths {
        pairs: AtomicUsize,
        calls: AtomicUsize,
        fails_at: usize,
    }

    impl Reranker for Lengths {
        fn name(&self) -> String {
            "lengths".into()
        }

        fn fingerprint(&self) -> Fingerprint {
            Fingerprint::of_bytes(b"lengths")
        }

        fn score(
            &self,
            texts: &[(&str, &str)],
            _: &mut dyn FnMut(Progress),
        ) -> std::result::Result<Vec<f32>, Box<dyn std::error::Error + Send + Sync>> {
            if self.calls.fetch_add(1, Ordering::Relaxed) + 1 == self.fails_at {
                return Err("stopped".into());
            }
            self.pairs.fetch_add(texts.len(), Ordering::Relaxed);
            Ok(texts.iter().map(|(query, document)| query.len() as f32 / document.len() as f32).collect())
        }
    }

    fn pairs() -> Vec<Pair> {
        let pair = |at: usize| Pair {
            id: at.to_string(),
            anchor: format!("query {at}{}", "!".repeat(at % 5)),
            positive: format!("document {at}{}", ".".repeat(at % 7)),
            ..Pair::default()
        };
        (0..40).map(pair).collect()
    }

    fn all(texts: &MiningTexts<'_>) -> Vec<RescoreRequest> {
        let documents: Vec<u32> = (0..texts.documents().len() as u32).chain([3]).collect();
        (0..texts.queries().len()).map(|query| RescoreRequest { query, documents: documents.clone() }).collect()
    }

    #[test]
    fn what_was_scored_is_not_scored_again_and_comes_to_the_same() {
        let pairs = pairs();
        let texts = MiningTexts::new(&pairs, &[]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scores/a.bin");
        let asked = all(&texts);
        let expected = KeptScores::in_memory(Lengths::default()).rescore(&texts, &asked, &mut |_| {}).unwrap();
        assert_eq!(expected[2][..2], [Some(9.0 / 10.0), Some(9.0 / 11.0)]);
        assert_eq!(expected[2][3], expected[2][40]);

        let failing = KeptScores::open(Lengths { fails_at: 4, ..Lengths::default() }, &path).unwrap();
        assert!(failing.rescore(&texts, &asked, &mut |_| {}).is_err());
        assert_eq!(failing.len(), 3 * BLOCK);
        drop(failing);
        // A record that was half written when the power went.
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() - 7]).unwrap();
        let resumed = KeptScores::open(Lengths::default(), &path).unwrap();
        assert_eq!(resumed.len(), 3 * BLOCK - 1);
        let mut told = Vec::new();
        assert_eq!(resumed.rescore(&texts, &asked, &mut |done| told.push(done)).unwrap(), expected);
        assert_eq!(resumed.reranker.pairs.load(Ordering::Relaxed), 1600 - 3 * BLOCK + 1);
        assert!(told.is_sorted() && told.last() == Some(&40), "{told:?}");
        assert_eq!(resumed.rescore(&texts, &asked[3..9], &mut |_| {}).unwrap(), expected[3..9]);
        drop(resumed);
        let again = KeptScores::open(Lengths::default(), &path).unwrap();
        assert_eq!(again.rescore(&texts, &asked, &mut |_| {}).unwrap(), expected);
        assert_eq!(again.reranker.pairs.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn several_processes_add_to_one_file() {
        let pairs = pairs();
        let texts = MiningTexts::new(&pairs, &[]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let asked = all(&texts);
        let expected = KeptScores::in_memory(Lengths::default()).rescore(&texts, &asked, &mut |_| {}).unwrap();
        let open = |path: &Path| KeptScores::open(Lengths::default(), path).unwrap();
        let scored = |kept: &KeptScores<'_, Lengths>| kept.reranker.pairs.load(Ordering::Relaxed);
        let is_whole = |path: &Path| {
            assert_eq!(fs::metadata(path).unwrap().len() as usize, HEADER.len() + 1600 * RECORD);
            assert_eq!(open(path).len(), 1600);
        };
        // One after the other, each open while the other writes.
        let path = folder.path().join("a.bin");
        let (one, other) = (open(&path), open(&path));
        one.rescore(&texts, &asked[..20], &mut |_| {}).unwrap();
        assert_eq!(other.rescore(&texts, &asked, &mut |_| {}).unwrap(), expected);
        assert_eq!(one.rescore(&texts, &asked, &mut |_| {}).unwrap(), expected);
        assert_eq!((scored(&one), scored(&other)), (800, 800));
        is_whole(&path);
        // At once.
        let path = folder.path().join("b.bin");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_eq!(open(&path).rescore(&texts, &asked, &mut |_| {}).unwrap(), expected));
            }
        });
        is_whole(&path);
    }

    #[test]
    fn broken_records_and_other_files_are_not_believed() {
        let pairs = pairs();
        let texts = MiningTexts::new(&pairs, &[]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.bin");
        fs::write(&path, "something else").unwrap();
        let kept = KeptScores::open(Lengths::default(), &path).unwrap();
        assert!(kept.is_empty());
        kept.rescore(&texts, &all(&texts)[..1], &mut |_| {}).unwrap();
        drop(kept);
        let mut bytes = fs::read(&path).unwrap();
        assert_eq!(bytes.len(), 16 + 40 * RECORD);
        bytes[16 + 10 * RECORD + 17] ^= 1;
        fs::write(&path, &bytes).unwrap();
        assert_eq!(KeptScores::open(Lengths::default(), &path).unwrap().len(), 10);
        // Zeros, as a file system may leave them.
        fs::write(&path, [&bytes[..16 + 3 * RECORD], &[0; 5 * RECORD]].concat()).unwrap();
        assert_eq!(KeptScores::open(Lengths::default(), &path).unwrap().len(), 3);
    }

    #[test]
    fn it_gives_up_when_it_is_told_to() {
        let pairs = pairs();
        let texts = MiningTexts::new(&pairs, &[]).unwrap();
        let stop = AtomicBool::new(true);
        let kept = KeptScores::in_memory(Lengths::default()).until(&stop);
        let error = kept.rescore(&texts, &all(&texts), &mut |_| {}).unwrap_err();
        assert_eq!(error.to_string(), "lengths: was stopped while it scored");
        assert_eq!(kept.reranker.pairs.load(Ordering::Relaxed), 0);
    }
}
