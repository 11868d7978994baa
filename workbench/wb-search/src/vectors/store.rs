//! All vectors that an encoder ever made for indexes of this machine: what one project, branch or worktree has embedded
//! is not embedded for another.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use wb_core::{atomic, fingerprint::Fingerprint};

use super::{UnitKey, UnitVectors, VectorEncoder};
use crate::{
    Error, Result,
    place::{is_closed, is_full},
};

/// Files of a store beyond which they are put together.
const MOST_FILES: usize = 16;

/// A folder of files of vectors of one encoder. A file is named by what is in it and never changes, so that any number of
/// processes may add to it.
#[derive(Debug, Clone)]
pub struct VectorStore {
    folder: PathBuf,
    encoder: VectorEncoder,
    /// True to go on where the disk is full.
    is_by_the_way: bool,
}

impl VectorStore {
    /// The store of an encoder below a folder for all of them.
    pub fn below(folder: &Path, encoder: VectorEncoder) -> Self {
        Self { folder: folder.join(encoder.fingerprint.short()), encoder, is_by_the_way: false }
    }

    /// The store of an encoder of the same fingerprint, which has another name or place.
    #[must_use]
    pub fn renamed(&self, encoder: VectorEncoder) -> Self {
        Self { encoder, ..self.clone() }
    }

    /// The store of who wants an answer: on a full disk vectors are not kept, which is no error.
    #[must_use]
    pub(crate) fn by_the_way(self) -> Self {
        Self { is_by_the_way: true, ..self }
    }

    /// The encoder.
    pub fn encoder(&self) -> &VectorEncoder {
        &self.encoder
    }

    /// Vectors of the texts that are wanted, as far as they are here.
    pub(super) fn of(&self, mut wanted: HashSet<UnitKey>) -> Result<UnitVectors> {
        let mut found = UnitVectors::empty(self.encoder.clone());
        for file in self.files()? {
            if wanted.is_empty() {
                break;
            }
            // What another process has just put together with others is there, too, under another name; what is damaged is
            // made again.
            let Ok(kept) = UnitVectors::read(&file) else { continue };
            if kept.encoder.fingerprint != self.encoder.fingerprint || kept.encoder.dim != self.encoder.dim {
                continue;
            }
            for (key, at) in kept.keys.iter().zip(0..) {
                if wanted.remove(key) {
                    found.push_from(&kept, at);
                }
            }
        }
        Ok(found)
    }

    /// Keeps vectors. In a folder that cannot be written in they are kept beside the index alone, if at all.
    pub(super) fn keep(&self, vectors: &UnitVectors) -> Result<()> {
        unless(self.write(vectors), |error| is_closed(error) || self.is_by_the_way && is_full(error))
    }

    fn write(&self, vectors: &UnitVectors) -> Result<()> {
        if vectors.is_empty() {
            return Ok(());
        }
        let sealed = vectors.encode()?;
        let name = Fingerprint::of_bytes(sealed.bytes());
        atomic::write(&self.folder.join(name.short()), sealed.bytes())
    }

    /// Puts all files together, each vector once; their number before and after.
    pub fn compact(&self) -> Result<(usize, usize)> {
        let before = self.files()?.len();
        self.gather(1)?;
        Ok((before, self.files()?.len()))
    }

    /// Puts the files together, where they are many and there is room for it; without, nothing is lost.
    pub(super) fn gather_many(&self) -> Result<()> {
        unless(self.gather(MOST_FILES), |error| is_closed(error) || is_full(error))
    }

    fn gather(&self, most: usize) -> Result<()> {
        let files = self.files()?;
        if files.len() <= most {
            return Ok(());
        }
        let (mut all, mut seen) = (UnitVectors::empty(self.encoder.clone()), HashSet::new());
        for kept in files.iter().filter_map(|file| UnitVectors::read(file).ok()) {
            (0..kept.len()).filter(|at| seen.insert(kept.keys[*at])).for_each(|at| all.push_from(&kept, at));
        }
        atomic::remove_abandoned(&self.folder);
        self.write(&all)?;
        let kept = self.files()?.into_iter().filter(|file| !files.contains(file)).count();
        if kept > 0 {
            // Whoever reads one of these meets a file that is gone, and finds its vectors in the new one.
            files.iter().for_each(|file| _ = fs::remove_file(file));
        }
        Ok(())
    }

    fn files(&self) -> Result<Vec<PathBuf>> {
        let listing = match fs::read_dir(&self.folder) {
            Ok(listing) => listing,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io("read", &self.folder)(error)),
        };
        let is_whole = |path: &PathBuf| path.extension().is_none();
        let mut files: Vec<PathBuf> = listing.filter_map(|entry| Some(entry.ok()?.path())).filter(is_whole).collect();
        files.sort();
        Ok(files)
    }
}

/// A result without the errors that are none here.
fn unless(result: Result<()>, is_none: impl Fn(&Error) -> bool) -> Result<()> {
    result.or_else(|error| if is_none(&error) { Ok(()) } else { Err(error) })
}
