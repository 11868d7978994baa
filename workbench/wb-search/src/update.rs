//! An index that is brought up to date: its parts are made one after the other, and kept all at once.

use wb_core::{Encoder, Progress, lock::FileLock};

use crate::{
    CodeIndex, Error, IndexPlace, Result, VectorStore,
    parts::{IndexPart, PartChange, PartChanges},
    structure::{ScipStore, StructureStore},
    vectors::embed,
};

/// An index and the parts of it that are new. Until [`IndexUpdate::keep`] whoever asks is answered from those before.
#[must_use = "nothing of it is kept before `keep`"]
pub struct IndexUpdate<'a> {
    place: &'a IndexPlace,
    index: CodeIndex,
    changes: PartChanges,
    lock: WritersLock,
    /// True where an answer is wanted: vectors that cannot be kept for other projects are made all the same.
    is_for_answer: bool,
}

/// The lock of an index's writers, as it could be had when the index was read.
pub(crate) enum WritersLock {
    /// Held since then.
    Held(FileLock),
    /// Held by another process, whose parts are kept in place of these.
    Busy,
    /// None can be had where nothing can be written.
    Closed(Error),
}

impl<'a> IndexUpdate<'a> {
    /// An update that changes nothing yet; of an index that is in no file, it keeps it.
    pub(crate) fn of(place: &'a IndexPlace, index: CodeIndex, lock: WritersLock) -> Self {
        let is_kept = index.parts().get(IndexPart::Units).is_some();
        let mut update = Self { place, index, changes: PartChanges::default(), lock, is_for_answer: false };
        if !is_kept {
            update.units_are_new();
        }
        update
    }

    /// The update of who wants an answer.
    pub(crate) fn for_answer(self) -> Self {
        Self { is_for_answer: true, ..self }
    }

    /// Takes an index with other units than those that are kept.
    pub(crate) fn units_are_new(&mut self) {
        self.changes[IndexPart::Units as usize] = PartChange::Made(self.index.bytes().clone());
    }

    /// The index as it is going to be.
    pub fn index(&self) -> &CodeIndex {
        &self.index
    }

    /// The index as it is going to be, to be given vectors.
    pub fn index_mut(&mut self) -> &mut CodeIndex {
        &mut self.index
    }

    /// Makes the structures of its files, and takes what an indexer says of them; the number of files that were read for it.
    ///
    /// # Errors
    ///
    /// Of an indexer's file that cannot be read, too; structures are there then, and what it said before.
    pub fn structures(&mut self, progress: &mut (dyn FnMut(Progress) + Send)) -> Result<usize> {
        let parts = self.index.parts();
        let (structures, read) = StructureStore::bring_up(parts.get(IndexPart::Structures), &self.index, progress)?;
        self.changes[IndexPart::Structures as usize] = structures;
        let scip = ScipStore::bring_up(parts.get(IndexPart::Scip), &self.index, self.place.scip.as_deref())?;
        self.changes[IndexPart::Scip as usize] = scip;
        Ok(read)
    }

    /// Makes vectors of its units; those that are known, to it or to the store of the encoder, are not made again: it says the
    /// same of the same text. The number of texts that were embedded.
    pub fn embed(
        &mut self,
        store: &VectorStore,
        by: &dyn Encoder,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<usize> {
        // Damaged ones have nothing to keep.
        let known = self.index.kept_vectors().ok().flatten();
        let store = if self.is_for_answer { &store.clone().by_the_way() } else { store };
        let (vectors, embedded) = embed(&self.index, known.as_ref(), store, by, progress)?;
        if known.as_ref() != Some(&vectors) {
            self.changes[IndexPart::Vectors as usize] = PartChange::Made(vectors.encode()?.bytes().clone());
        }
        self.index.set_vectors(vectors);
        Ok(embedded)
    }

    /// Leaves vectors out until an encoder is named; those that are kept for all projects stay.
    pub fn forget_vectors(&mut self) {
        if !self.index.is_of_words_alone() {
            self.changes[IndexPart::Vectors as usize] = PartChange::Gone;
        }
    }

    /// Leaves out vectors that cannot be read.
    pub fn lose_vectors(&mut self) {
        self.changes[IndexPart::Vectors as usize] = PartChange::Lost;
    }

    /// Puts what is new in the place of what was kept, all at once. Where another process is about to, its own is kept, and this
    /// is an index in memory.
    ///
    /// # Errors
    ///
    /// Where it cannot be written.
    pub fn keep(self) -> Result<CodeIndex> {
        let (index, kept) = self.try_to_keep();
        kept.map(|()| index)
    }

    /// [`IndexUpdate::keep`] of who wants an answer: where nothing can be written, as on a full disk, this is an index in memory
    /// too, and the error is beside it.
    pub fn try_to_keep(self) -> (CodeIndex, Result<()>) {
        let Self { place, mut index, changes, lock, .. } = self;
        if changes.iter().all(|change| matches!(change, PartChange::Kept)) {
            return (index, Ok(()));
        }
        let parts = index.parts().clone();
        let (parts, kept) = match lock {
            WritersLock::Held(_held) => parts.replace(&place.file, changes),
            WritersLock::Busy => (parts.changed(&place.file, changes), Ok(())),
            WritersLock::Closed(error) => (parts.changed(&place.file, changes), Err(error)),
        };
        index.set_parts(parts);
        (index, kept)
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn where_nothing_can_be_written_what_is_new_is_told_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.rs"), "fn zebra() {}\n").unwrap();
        let place = IndexPlace::of(folder.path(), Some(folder.path().join(".wb/index"))).unwrap();
        let closed = || {
            let error = io::Error::from(io::ErrorKind::ReadOnlyFilesystem);
            WritersLock::Closed(Error::io("lock", &place.file)(error))
        };
        let (index, kept) = place.update(false, &mut |_| {}).unwrap().0.try_to_keep();
        kept.unwrap();
        let (_, kept) = IndexUpdate::of(&place, index.clone(), closed()).try_to_keep();
        kept.unwrap();
        let mut update = IndexUpdate::of(&place, index, closed());
        update.structures(&mut |_| {}).unwrap();
        let (index, kept) = update.try_to_keep();
        assert!(kept.unwrap_err().to_string().starts_with("cannot lock ") && index.has_structures());
        assert!(!place.read().unwrap().unwrap().has_structures());
    }
}
