//! Near duplicates among texts that need not fit into memory, chosen as [`crate::dedupe::near_duplicates`] chooses them.
//!
//! *Sketch*: the shingles of every text go to one file, and each band of its MinHash signature to one of 256 files by the
//! band's key. *Match*: texts that share a key, file by file, are candidates where short signatures leave that open.
//! *Verify*: candidates, in the order of the earlier text, by their true similarity. *Decide*: in order, a text that is near
//! an earlier kept one is dropped. The passes are those of large web corpora (G. Penedo et al., "The FineWeb Datasets",
//! 2024), except for the last: those take connected components, which drop chains whose ends are far apart. The first three
//! can be the work of many machines.
//!
//! A key that many texts share, a licence header perhaps, would have a square of candidates. There a text is compared with
//! those alone that would be kept if there were no other keys. That may miss similarities of texts which are dropped in the
//! end, so once it is decided, the kept ones are compared with all that share their keys, and it is decided again, until
//! every kept text has been compared so. Then a dropped text is near a kept one, no two kept ones are near, and only one
//! choice in order is like that.

mod candidates;
mod decide;
mod records;
mod sketches;
mod verify;

use std::{
    fs,
    path::{Path, PathBuf},
};

use wb_core::{Error, Progress, Result};

pub(crate) use self::{
    candidates::{Matcher, WholeCrowds},
    decide::{Edges, decide},
    records::{FILES, Routed, pair_number, pairs_of},
    sketches::SketchWriter,
    verify::{Shingles, ShinglesPart},
};

/// Words of the progress.
const STAGE: &str = "near duplicates";

/// Texts of which near duplicates are looked for on this machine, as they come.
pub(crate) struct NearTexts {
    folder: PathBuf,
    threshold: f64,
    sketches: SketchWriter,
}

impl NearTexts {
    /// Texts at a threshold of Jaccard similarity; `folder`, which is made, holds files of about two kilobytes a text until
    /// the end.
    pub(crate) fn create(folder: &Path, threshold: f64) -> Result<Self> {
        Ok(Self { sketches: SketchWriter::create(folder, threshold)?, threshold, folder: folder.to_owned() })
    }

    /// Takes the next texts.
    pub(crate) fn push(&mut self, texts: &[&str]) -> Result<()> {
        self.sketches.push(texts)
    }

    /// Positions of kept texts, as [`crate::dedupe::near_duplicates`] gives them. The files are gone afterwards.
    pub(crate) fn finish(self, progress: &mut dyn FnMut(Progress)) -> Result<Vec<u32>> {
        let Self { folder, threshold, sketches } = self;
        let sketched = sketches.finish()?;
        let texts = sketched.lengths.len();
        let shingles = Shingles::new(vec![ShinglesPart::of_file(&sketched.shingles, &sketched.lengths)?], threshold);
        let mut matcher = Matcher::create(&folder, texts, threshold)?;
        // As many files at a time as there are threads: each is in memory.
        for (at, some) in sketched.keys.chunks(rayon::current_num_threads()).enumerate() {
            progress(Progress::new(STAGE, at * some.len(), FILES).note("candidates"));
            let read = |file: &PathBuf| Ok(vec![(0, fs::read(file).map_err(Error::io("read", file))?)]);
            matcher.push(&some.iter().map(read).collect::<Result<Vec<_>>>()?)?;
            some.iter().try_for_each(|file| fs::remove_file(file).map_err(Error::io("remove", file)))?;
        }
        let (found, crowds) = matcher.finish()?;
        let mut edges = Edges::default();
        shingles.verify_all(found, &mut edges, progress)?;
        let first = choose(&vec![true; texts], &mut edges, &crowds, &shingles, &folder, progress)?;
        fs::remove_dir_all(&folder).map_err(Error::io("remove", &folder))?;
        Ok(first)
    }
}

/// Decides until every kept text has been compared with all of its crowds, among those texts that are there. For each text
/// the first kept one that it is near, itself where it is kept or is not there; `folder` is for files on the way.
pub(crate) fn choose(
    is_there: &[bool],
    edges: &mut Edges,
    crowds: &WholeCrowds,
    shingles: &Shingles,
    folder: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Vec<u32>> {
    let mut compared = vec![false; is_there.len()];
    loop {
        let first = decide(is_there, edges);
        let is_kept = |text: u32| is_there[text as usize] && first[text as usize] == text;
        let is_new = |text: u32| is_kept(text) && !compared[text as usize];
        let mut found = Routed::create(folder, "candidates")?;
        if !crowds.compare(shingles.threshold(), &is_new, &mut |pairs| found.write_pairs(pairs, is_there.len()))? {
            found.remove()?;
            return Ok(first);
        }
        for text in 0..is_there.len() as u32 {
            compared[text as usize] |= is_kept(text);
        }
        shingles.verify_all(found, edges, progress)?;
    }
}

#[cfg(test)]
mod tests;
