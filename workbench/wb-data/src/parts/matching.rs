//! Near duplicates among the texts of all parts: candidates by ranges of keys, similarities by ranges of texts.

use std::path::{Path, PathBuf};

use wb_core::Result;

use super::{PartShingles, shingles, sliced::SlicedFile};
use crate::near::{Matcher, pair_number};

/// Candidates of some ranges of keys.
pub struct PartMatcher {
    folder: PathBuf,
    matcher: Matcher,
}

impl PartMatcher {
    /// Candidates among so many texts in all, at a threshold of Jaccard similarity; files come into a folder.
    pub fn create(folder: &Path, texts: u64, threshold: f64) -> Result<Self> {
        Ok(Self { matcher: Matcher::create(folder, texts as usize, threshold)?, folder: folder.to_owned() })
    }

    /// Takes ranges of keys: of each the records of every part, with the number of the part's first text.
    pub fn push(&mut self, ranges: &[Vec<(u32, Vec<u8>)>]) -> Result<()> {
        self.matcher.push(ranges)
    }

    /// Candidates, in slices by ranges of the earlier text, and the records of keys that many texts share.
    pub fn finish(self) -> Result<(SlicedFile, PathBuf)> {
        let (found, crowds) = self.matcher.finish()?;
        Ok((SlicedFile::of(&found.files()?, &self.folder.join("candidates"))?, crowds.path().to_owned()))
    }
}

/// Candidates that are near, of some ranges of texts, sorted, in the bytes in which candidates are. Each range comes with all
/// that was found of it, in any order.
pub fn verified(ranges: Vec<Vec<u8>>, parts: Vec<PartShingles>, threshold: f64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    shingles(parts, threshold).near(&mut ranges.into_iter().map(Ok), &mut |near| {
        bytes.extend(near.into_iter().flat_map(|pair| pair_number(pair).to_le_bytes()));
    })?;
    Ok(bytes)
}
