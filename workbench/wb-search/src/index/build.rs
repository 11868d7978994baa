//! An index of a folder, anew or from the one before.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use rayon::prelude::*;
use wb_core::Progress;

use super::{
    CodeIndex,
    gathered::{Gathered, hash},
};
use crate::{
    Result,
    files::{FolderFiles, ProjectFile},
};

/// Files that one thread reads at a time.
const TOGETHER: usize = 64;

/// Files that differ between an index and its folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// New, or of another size or time.
    pub changed: Vec<String>,
    /// Gone.
    pub gone: Vec<String>,
}

impl Changes {
    /// True where nothing differs.
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.gone.is_empty()
    }

    pub(super) fn between(index: &CodeIndex, found: &FolderFiles) -> Self {
        let mut before: HashMap<&str, _> =
            index.files.iter().map(|file| (file.path.as_str(), (file.size, file.modified))).collect();
        let is_changed = |file: &&ProjectFile| before.remove(file.path.as_str()) != Some((file.size, file.modified));
        let changed = found.files.iter().filter(is_changed).map(|file| file.path.clone()).collect();
        let mut gone: Vec<String> = before.into_keys().map(str::to_owned).collect();
        gone.sort_unstable();
        Self { changed, gone }
    }
}

/// Indexes the files of a folder. Says at the end what was left aside, see [`FolderFiles::skipped`].
pub fn build(mut found: FolderFiles, progress: &mut (dyn FnMut(Progress) + Send)) -> Result<(CodeIndex, FolderFiles)> {
    let all: Vec<&ProjectFile> = found.files.iter().collect();
    let (gathered, skipped) = read(&found, &all, progress);
    let index = CodeIndex::decode(gathered.encode()?, &found.root)?;
    skipped.into_iter().for_each(|reason| found.skip(reason));
    Ok((index, found))
}

impl CodeIndex {
    /// The index of the folder as it is now: files that have not changed are taken from this one.
    pub fn update(&self, found: &FolderFiles, progress: &mut (dyn FnMut(Progress) + Send)) -> Result<Self> {
        let changes = Changes::between(self, found);
        if changes.is_empty() {
            return Ok(self.clone());
        }
        let by_path: HashMap<&str, &ProjectFile> = found.files.iter().map(|file| (file.path.as_str(), file)).collect();
        let anew: Vec<&ProjectFile> =
            changes.changed.iter().filter_map(|path| by_path.get(path.as_str()).copied()).collect();
        let (gathered, _) = read(found, &anew, progress);
        let kept = Gathered::from_index(self, |file| {
            let known =
                by_path.get(file.path.as_str()).filter(|now| (now.size, now.modified) == (file.size, file.modified));
            known.is_some()
        })?;
        CodeIndex::decode(kept.with(gathered).encode()?, &self.root)
    }

    /// True where the text of one of the files is the one that was indexed.
    pub fn is_current(&self, file: usize, text: &str) -> bool {
        self.files.get(file).is_some_and(|file| file.hash == hash(text))
    }
}

/// Reads and cuts files on all threads; and the reasons why some were left aside.
fn read(
    found: &FolderFiles,
    files: &[&ProjectFile],
    progress: &mut (dyn FnMut(Progress) + Send),
) -> (Gathered, Vec<&'static str>) {
    let done = Mutex::new((0, progress));
    let parts: Vec<(Gathered, Vec<&'static str>)> = files
        .par_chunks(TOGETHER)
        .map(|files_of_part| {
            let (mut gathered, mut skipped) = (Gathered::default(), Vec::new());
            for file in files_of_part {
                match found.read(file) {
                    Ok(text) => gathered.add(file, &text),
                    Err(reason) => {
                        gathered.leave_aside(file);
                        skipped.push(reason);
                    }
                }
            }
            let mut told = done.lock().unwrap_or_else(PoisonError::into_inner);
            told.0 += files_of_part.len();
            let now = Progress::new("indexing files", told.0, files.len());
            (told.1)(now);
            (gathered, skipped)
        })
        .collect();
    let mut all = (Gathered::default(), Vec::new());
    for (gathered, skipped) in parts {
        all.0.append(gathered);
        all.1.extend(skipped);
    }
    all
}
