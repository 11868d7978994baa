//! Rankings of a search so far, in a file: a search that was stopped goes on after the last documents in it.
//!
//! The file is a line of letters, how many documents were seen, each query's best documents and the scores of its
//! positives, and a hash of all that. It appears whole or not at all; one that does not fit, or is damaged, is as good
//! as none.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use wb_core::{Error, atomic, fingerprint::Fingerprint};

use super::RankedQuery;
use crate::Result;

/// Bytes that the file begins with.
const HEADER: &[u8; 16] = b"wb rankings 1\n\0\0";
/// Letters of the hash at its end.
const HASH: usize = 32;

/// A file of rankings.
pub(super) struct KeptRankings {
    path: PathBuf,
    every: Duration,
    written: Instant,
}

impl KeptRankings {
    /// The path must be named by all that decides the rankings; it is written anew after so much time.
    pub fn new(path: PathBuf, every: Duration) -> Self {
        Self { path, every, written: Instant::now() }
    }

    /// Reads the number of documents seen, and the rankings among them, of queries with so many positives each.
    pub fn read(&self, positives: &[usize]) -> Result<Option<(usize, Vec<RankedQuery>)>> {
        match fs::read(&self.path) {
            Ok(bytes) => Ok(parse(&bytes, positives)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", &self.path)(error)),
        }
    }

    /// Keeps what was found among the first documents, where it is time to, or where they are `all`.
    pub fn keep(&mut self, seen: usize, all: bool, ranked: &[RankedQuery]) -> Result<()> {
        if !all && self.written.elapsed() < self.every {
            return Ok(());
        }
        atomic::remove_abandoned(self.path.parent().unwrap_or(Path::new(".")));
        atomic::write(&self.path, &bytes(seen, ranked))?;
        self.written = Instant::now();
        Ok(())
    }
}

fn bytes(seen: usize, ranked: &[RankedQuery]) -> Vec<u8> {
    let mut bytes = HEADER.to_vec();
    bytes.extend((seen as u64).to_le_bytes());
    for RankedQuery { keys, positives } in ranked {
        bytes.extend((keys.len() as u64).to_le_bytes());
        keys.iter().for_each(|key| bytes.extend(key.to_le_bytes()));
        positives.iter().for_each(|score| bytes.extend(score.to_le_bytes()));
    }
    let hash = Fingerprint::of_bytes(&bytes);
    bytes.extend(&hash.as_str().as_bytes()[..HASH]);
    bytes
}

fn parse(bytes: &[u8], positives: &[usize]) -> Option<(usize, Vec<RankedQuery>)> {
    let (body, hash) = bytes.split_at_checked(bytes.len().checked_sub(HASH)?)?;
    if !body.starts_with(HEADER) || Fingerprint::of_bytes(body).as_str().as_bytes().get(..HASH) != Some(hash) {
        return None;
    }
    let mut rest = &body[HEADER.len()..];
    let number = |rest: &mut &[u8]| {
        let (eight, after) = rest.split_first_chunk::<8>()?;
        *rest = after;
        Some(u64::from_le_bytes(*eight))
    };
    let seen = number(&mut rest)? as usize;
    let mut ranked = Vec::with_capacity(positives.len());
    for positives in positives {
        let n = number(&mut rest)?;
        let keys = (0..n).map(|_| number(&mut rest)).collect::<Option<Vec<u64>>>()?;
        let (scores, after) = rest.split_at_checked(4 * positives)?;
        rest = after;
        let scores = scores.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]]));
        ranked.push(RankedQuery { keys, positives: scores.collect() });
    }
    rest.is_empty().then_some((seen, ranked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_comes_back_and_what_is_damaged_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("inside/a");
        let ranked = vec![
            RankedQuery { keys: vec![7, u64::MAX], positives: vec![0.5, f32::NEG_INFINITY] },
            RankedQuery { keys: Vec::new(), positives: vec![-0.25] },
        ];
        let mut kept = KeptRankings::new(path.clone(), Duration::from_secs(3600));
        assert!(kept.read(&[2, 1]).unwrap().is_none());
        kept.keep(512, false, &ranked).unwrap();
        assert!(!path.exists(), "it is not time yet");
        kept.keep(512, true, &ranked).unwrap();
        assert_eq!(kept.read(&[2, 1]).unwrap(), Some((512, ranked.clone())));
        // Of other queries.
        assert!(kept.read(&[1, 2]).unwrap().is_none() && kept.read(&[2]).unwrap().is_none());
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 4;
            assert!(parse(&damaged, &[2, 1]).is_none(), "byte {at}");
            assert!(parse(&whole[..at], &[2, 1]).is_none(), "cut at {at}");
        }
        let mut kept = KeptRankings::new(path, Duration::ZERO);
        kept.keep(1024, false, &ranked[1..]).unwrap();
        assert_eq!(kept.read(&[1]).unwrap(), Some((1024, ranked[1..].to_vec())));
    }
}
