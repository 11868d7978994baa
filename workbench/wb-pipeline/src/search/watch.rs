//! An index that follows its folders for as long as somebody waits.

use std::{path::PathBuf, time::Instant};

use anyhow::Result;
use wb_encoder::BiEncoder;
use wb_search::{Changes, CodeIndex, FolderWatch, IndexPlace, VectorEncoder, vector_store};

use super::{IndexEncoder, Told, brought_up, reopen};
use crate::output;

/// An index, its folders, and the encoder of its vectors, opened once.
pub struct IndexWatch<'a> {
    place: &'a IndexPlace,
    index: CodeIndex,
    encoder: Option<(VectorEncoder, BiEncoder)>,
    folders: FolderWatch,
}

impl<'a> IndexWatch<'a> {
    /// Watches the folders of a project, which is indexed first.
    pub fn of(place: &'a IndexPlace, anew: bool, encoder: &IndexEncoder, progress: Told<'_>) -> Result<Self> {
        match brought_up(place, anew, encoder, progress)? {
            // One that was named is to be there.
            Err(error) if place.scip.is_some() => return Err(error.into()),
            Err(error) => unread_names(&error),
            Ok(()) => {}
        }
        let index = place.read()?.ok_or_else(|| wb_core::Error::unknown("index", place.file.display().to_string()))?;
        // A change between the two is told of by the second.
        let folders = watched(&index)?;
        let mut watch = Self { place, index, encoder: None, folders };
        watch.bring_up(progress)?;
        output::note(format!("watching {}; Ctrl-C ends it", place.root.display()));
        Ok(watch)
    }

    /// Waits for the next change.
    pub fn wait(&self) -> Result<()> {
        self.folders.changed(None)?;
        Ok(())
    }

    /// Brings the index up to date, and tells what has changed; nothing where nothing has that can be searched.
    pub fn bring_up(&mut self, progress: Told<'_>) -> Result<()> {
        let started = Instant::now();
        let Changes { changed, gone } = self.index.stale()?;
        if changed.is_empty() && gone.is_empty() {
            return Ok(());
        }
        let (mut update, _) = self.place.update(false, progress)?;
        if update.index().has_structures()
            && let Err(error) = update.structures(progress)
        {
            unread_names(&error);
        }
        let mut told = format!("{} changed, {} gone", changed.len(), gone.len());
        // Another one may have been named meanwhile, or none.
        match update.index().kept_vectors()? {
            None => self.encoder = None,
            Some(kept) if self.encoder.as_ref().is_some_and(|(by, _)| by.fingerprint == kept.encoder().fingerprint) => {
            }
            Some(kept) => self.encoder = Some(reopen(kept.encoder())?),
        }
        if let Some((made_by, encoder)) = &self.encoder {
            let embedded = update.embed(&vector_store(made_by.clone())?, encoder, progress)?;
            told += &format!(", {embedded} texts embedded");
        }
        let index = update.keep()?;
        // `wb index . ../lib` elsewhere adds folders.
        if index.further() != self.index.further() {
            self.folders = watched(&index)?;
        }
        self.index = index;
        output::line(format!("{told} in {:.2} s", started.elapsed().as_secs_f64()));
        Ok(())
    }
}

/// Watches the folders of an index that are there.
fn watched(index: &CodeIndex) -> wb_core::Result<FolderWatch> {
    let further = index.further().iter().map(PathBuf::as_path).filter(|folder| folder.exists());
    FolderWatch::of([index.root()].into_iter().chain(further))
}

/// Tells of an indexer's file that cannot be read: it may be written just now, and is read again with the next change.
fn unread_names(error: &wb_core::Error) {
    output::note(format!("index.scip is left out for now: {}", error.in_one_line()));
}
