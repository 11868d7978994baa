//! An index of a folder, anew or from the one before.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, PoisonError},
};

use rayon::prelude::*;
use wb_core::{Progress, fingerprint::text_key};

use super::{CodeIndex, IndexedFile, gathered::Gathered};
use crate::{
    Result,
    files::{FolderFiles, ProjectFile, language_and_role},
    history::days_since_change,
    patterns::TrigramFinder,
};

/// Files that one thread reads at a time.
const TOGETHER: usize = 64;
/// Parts of so many files that each thread has of a wave.
const PARTS: usize = 4;

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

    /// Differences between an index and a walk.
    pub(crate) fn between(index: &CodeIndex, found: &FolderFiles) -> Self {
        // A file whose kind was not known when it was read, and is now, counts as changed.
        let kind_is_new = |file: &IndexedFile| {
            file.language.is_empty() && file.hash != [0; 2] && language_and_role(found.named(&file.path), "").is_some()
        };
        let known = index
            .files
            .iter()
            .map(|file| (file.path.as_str(), Some((file.size, file.modified)).filter(|_| !kind_is_new(file))));
        let mut before: HashMap<&str, _> = known.collect();
        let is_changed =
            |file: &&ProjectFile| before.remove(file.path.as_str()).flatten() != Some((file.size, file.modified));
        let changed = found.files.iter().filter(is_changed).map(|file| file.path.clone()).collect();
        let mut gone: Vec<String> = before.into_keys().map(str::to_owned).collect();
        gone.sort_unstable();
        Self { changed, gone }
    }
}

/// Indexes the files of a folder. Says at the end what was left aside, see [`FolderFiles::skipped`].
pub fn build(mut found: FolderFiles, progress: &mut (dyn FnMut(Progress) + Send)) -> Result<(CodeIndex, FolderFiles)> {
    let all: Vec<&ProjectFile> = found.files.iter().collect();
    let (gathered, skipped) = read(&found, &all, progress)?;
    let ages = ages(&found);
    let gathered = gathered.aged(|path| ages.get(path).copied());
    let index = CodeIndex::of_sections(gathered.encode(&found)?, &found.root)?;
    skipped.into_iter().for_each(|reason| found.skip(reason));
    Ok((index, found))
}

impl CodeIndex {
    /// The index of the folder as it is now: files that have not changed are taken from this one.
    pub fn update(self, found: &FolderFiles, progress: &mut (dyn FnMut(Progress) + Send)) -> Result<Self> {
        let Changes { changed, gone } = Changes::between(&self, found);
        if changed.is_empty() && gone.is_empty() && self.commit == found.commit && self.further == found.further {
            return Ok(self);
        }
        let changed: HashSet<&str> = changed.iter().map(String::as_str).collect();
        let gone: HashSet<&str> = gone.iter().map(String::as_str).collect();
        let anew: Vec<&ProjectFile> = found.files.iter().filter(|file| changed.contains(file.path.as_str())).collect();
        let (gathered, _) = read(found, &anew, progress)?;
        let is_left = |path: &str| !changed.contains(path) && !gone.contains(path);
        let kept = Gathered::from_index(&self, |file| is_left(&file.path))?;
        let all = kept.with(gathered)?;
        // Where no file has an age, git may not have been there, or not have had the time.
        let has_ages = self.commit == found.commit && self.files.iter().any(|file| file.age.is_some());
        let aged = if has_ages && changed.iter().all(|path| self.file_at(path).is_some()) {
            all.aged(|path| self.files[self.file_at(path)?].age)
        } else {
            let ages = ages(found);
            all.aged(|path| ages.get(path).copied())
        };
        Self::of_sections(aged.encode(found)?, &self.root)
    }

    /// True where the text of one of the files is the one that was indexed.
    pub fn is_current(&self, file: usize, text: &str) -> bool {
        self.files.get(file).is_some_and(|file| file.hash == text_key(text))
    }
}

/// Ages of a folder's files, where they are at a commit.
fn ages(found: &FolderFiles) -> HashMap<String, u32> {
    let Some(_) = found.commit else { return HashMap::new() };
    let paths: HashSet<&str> = found.files.iter().map(|file| file.path.as_str()).collect();
    days_since_change(&found.root, &|path| paths.contains(path))
}

/// Reads and cuts files on all threads; and the reasons why some were left aside.
fn read(
    found: &FolderFiles,
    files: &[&ProjectFile],
    progress: &mut (dyn FnMut(Progress) + Send),
) -> Result<(Gathered, Vec<&'static str>)> {
    let done = Mutex::new((0, progress));
    let mut all = (Gathered::default(), Vec::new());
    // A wave after the other: what parts have of words and trigrams would add up to several times the index.
    for wave in files.chunks(TOGETHER * PARTS * rayon::current_num_threads()) {
        let parts: Vec<(Gathered, Vec<&'static str>)> = wave
            .par_chunks(TOGETHER)
            .map(|files_of_part| {
                let (mut gathered, mut skipped, mut trigrams) = (Gathered::default(), Vec::new(), TrigramFinder::new());
                for file in files_of_part {
                    match found.read(file) {
                        Ok(text) => gathered.add(file, found, &text, &mut trigrams),
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
        for (gathered, skipped) in parts {
            all.0.append(gathered)?;
            all.1.extend(skipped);
        }
    }
    Ok(all)
}
