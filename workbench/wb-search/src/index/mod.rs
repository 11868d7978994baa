//! The index of a project: its files, their units, and for each word the units that have it.
//!
//! It is kept as one part of several (see [`crate::IndexPlace`]), a file that is written whole or not at all and is checked
//! before anything in it is believed: its first bytes say what it is, its last are a checksum of all before them.

mod build;
mod found_by;
mod gathered;
mod layout;
mod variants;
mod word_signs;

use std::path::{Path, PathBuf};

pub use build::{Changes, build};
use wb_core::atomic;
use wb_retrieval::MappedBytes;

use crate::{
    Result, SearchQuestion,
    annotations::AnnotationFile,
    bytes::{OpenFile, Reader},
    files::{FileRole, FolderFiles, readable, text_below},
    history::recency,
    index::layout::{IndexedFiles, Sections},
    parts::{IndexPart, IndexParts},
    patterns::{FileList, Trigram},
    ranking::Intent,
    structure::{ScipStore, StructureStore},
    units::CodeUnit,
    vectors::UnitVectors,
    words::tokenizer,
};

/// A file in an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedFile {
    /// Path below the root, with `/`.
    pub path: String,
    /// Its part in the project.
    pub role: FileRole,
    /// Language by its ending; empty where the file has no text that is meant to be read.
    pub language: String,
    /// Bytes.
    pub size: u64,
    /// Nanoseconds since 1970 at which it was changed last.
    pub modified: u64,
    /// [`wb_core::fingerprint::text_key`] of its text; zeros where it has none.
    pub hash: [u64; 2],
    /// Its units among those of all files.
    pub units: [u32; 2],
    /// Days from the last commit that changed it to the one that was indexed, as far as that is known.
    pub age: Option<u32>,
}

/// A unit in an index; [`CodeIndex::names`] has its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexedUnit {
    /// Position of its file.
    pub file: u32,
    /// First and last line, from 1.
    pub lines: [u32; 2],
    /// The last line that says what it is, see [`CodeUnit::head`].
    pub head: u32,
    /// Words in it.
    pub words: u32,
    /// [`wb_core::fingerprint::text_key`] of what an encoder reads of it, [`CodeUnit::text`].
    pub key: [u64; 2],
    /// Place of its names in their section.
    names: u32,
}

/// Names of a unit, those that are defined in it and those around it, and what was said of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnitNames<'a> {
    /// Names that are defined there.
    pub own: Vec<&'a str>,
    /// Names of the items around it, outermost first.
    pub scope: Vec<&'a str>,
    /// Words of a language model about it, see [`CodeUnit::said`].
    pub said: &'a str,
}

/// A word's places in a unit; no more than the greatest number that each can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    /// Anywhere in the text.
    pub text: u16,
    /// Occurrences in the names that are defined there and in those around it.
    pub names: u8,
    /// Occurrences in the comment above and the line that defines it.
    pub head: u8,
}

/// A word's units and files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Postings {
    /// Units that have it, ordered by position.
    pub units: Vec<(u32, Counts)>,
    /// Files that have it in their path, and whether in the name of the file itself.
    pub files: Vec<(u32, bool)>,
}

/// An index in memory.
#[derive(Debug, Clone)]
pub struct CodeIndex {
    root: PathBuf,
    commit: Option<String>,
    further: Vec<PathBuf>,
    annotations: Option<AnnotationFile>,
    files: Vec<IndexedFile>,
    units: Vec<IndexedUnit>,
    /// The length of each unit in words, as a multiple of the mean; by itself, since every word of a question looks at it.
    lengths: Vec<f32>,
    /// [`recency`] of each file, for the same reason.
    recencies: Vec<f32>,
    sections: Sections,
    vectors: Option<UnitVectors>,
    /// The files that it was read from; none of what was not kept yet.
    parts: IndexParts,
}

impl CodeIndex {
    /// The folder whose files these are.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Further folders, in full; the paths of their files are in full too.
    pub fn further(&self) -> &[PathBuf] {
        &self.further
    }

    /// The file of the annotations that its units have.
    pub fn annotations(&self) -> Option<&AnnotationFile> {
        self.annotations.as_ref()
    }

    /// Number of units of which a language model said something.
    pub fn n_annotated(&self) -> usize {
        (0..self.units.len()).filter(|unit| !self.names(*unit).said.is_empty()).count()
    }

    /// The files as they are now.
    pub fn walk(&self) -> Result<FolderFiles> {
        FolderFiles::of_several(&self.root, &self.further)
    }

    /// The commit that the folder was at when it was indexed; none where it was in no repository.
    pub fn commit(&self) -> Option<&str> {
        self.commit.as_deref()
    }

    /// Its files in the order of their paths.
    pub fn files(&self) -> &[IndexedFile] {
        &self.files
    }

    /// Position of the file at a path.
    pub(crate) fn file_at(&self, path: &str) -> Option<usize> {
        self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()
    }

    /// Its units in the order of their files.
    pub fn units(&self) -> &[IndexedUnit] {
        &self.units
    }

    /// Names of a unit, by its position.
    pub fn names(&self, unit: usize) -> UnitNames<'_> {
        // They were read once when the index was.
        let from = self.units.get(unit).and_then(|unit| self.sections.units().get(unit.names as usize..));
        from.and_then(|bytes| layout::read_names(&mut Reader(bytes)).ok()).unwrap_or_default()
    }

    /// A unit as it was cut, by its position.
    pub(crate) fn code_unit(&self, unit: usize) -> CodeUnit {
        let IndexedUnit { lines, head, .. } = self.units[unit];
        let UnitNames { own, scope, said } = self.names(unit);
        let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
        CodeUnit { lines, names: owned(own), scope: owned(scope), head, said: said.to_owned() }
    }

    /// The length of each unit in words, as a multiple of the mean.
    pub(crate) fn lengths(&self) -> &[f32] {
        &self.lengths
    }

    /// Recency of each file's last change, see [`crate::ranking::Signals::recent`].
    pub(crate) fn recencies(&self) -> &[f32] {
        &self.recencies
    }

    /// Vectors of its units in their order, where an encoder made them.
    pub fn vectors(&self) -> Option<&UnitVectors> {
        self.vectors.as_ref()
    }

    /// Takes vectors of its units, in any order; a unit without one is found by its words alone. Gives the number of those.
    pub fn set_vectors(&mut self, vectors: UnitVectors) -> usize {
        let (ordered, missing) = vectors.ordered(self);
        self.vectors = Some(ordered);
        missing.len()
    }

    /// A copy without vectors.
    #[must_use]
    pub fn without_vectors(&self) -> Self {
        let Self { root, commit, further, annotations, files, units, lengths, recencies, sections, parts, vectors: _ } =
            self;
        Self {
            root: root.clone(),
            commit: commit.clone(),
            further: further.clone(),
            annotations: annotations.clone(),
            files: files.clone(),
            units: units.clone(),
            lengths: lengths.clone(),
            recencies: recencies.clone(),
            sections: sections.clone(),
            parts: parts.clone(),
            vectors: None,
        }
    }

    /// The file of a unit.
    pub fn file_of(&self, unit: &IndexedUnit) -> &IndexedFile {
        &self.files[unit.file as usize]
    }

    /// Reads an index of a folder that [`CodeIndex::write`] wrote.
    pub fn read(path: &Path, root: &Path) -> Result<Self> {
        let file = OpenFile::open(path)?;
        let checked = Sections::open(&file).and_then(|sections| Self::of_sections(sections, root));
        checked.map_err(|error| file.told(error))
    }

    /// The index of a folder that parts are of; none where they have no units, or such of another version, which are made anew.
    pub(crate) fn of_parts(parts: &IndexParts, root: &Path) -> Result<Option<Self>> {
        Sections::read_part(parts.get(IndexPart::Units), |sections| {
            Ok(Self { parts: parts.clone(), ..Self::of_sections(sections, root)? })
        })
    }

    /// Writes it by itself, without vectors and structures, in place of a file that is there.
    pub fn write(&self, path: &Path) -> Result<()> {
        atomic::write(path, self.bytes())
    }

    /// Bytes of it as a file.
    pub(crate) fn bytes(&self) -> &MappedBytes {
        self.sections.bytes()
    }

    /// Bytes of it as a file.
    pub fn n_bytes(&self) -> usize {
        self.bytes().len()
    }

    /// The files that it was read from, and those that belong to it.
    pub(crate) fn parts(&self) -> &IndexParts {
        &self.parts
    }

    pub(crate) fn set_parts(&mut self, parts: IndexParts) {
        self.parts = parts;
    }

    /// True where the structures of its files are kept with it.
    pub fn has_structures(&self) -> bool {
        self.parts.get(IndexPart::Structures).is_some()
    }

    /// True where vectors are not wanted, see [`crate::IndexUpdate::forget_vectors`].
    pub fn is_of_words_alone(&self) -> bool {
        self.parts.is_gone(IndexPart::Vectors)
    }

    /// Vectors that are kept with it, which it was not given yet; none where there are none.
    pub fn kept_vectors(&self) -> Result<Option<UnitVectors>> {
        UnitVectors::of_part(self.parts.get(IndexPart::Vectors))
    }

    fn of_sections(sections: Sections, root: &Path) -> Result<Self> {
        let IndexedFiles { commit, further, annotations, files } = layout::read_files(Reader(sections.files()))?;
        let units = layout::read_units(Reader(sections.units()), &files)?;
        let words: u64 = units.iter().map(|unit| u64::from(unit.words)).sum();
        let mean = words as f32 / units.len().max(1) as f32;
        let lengths = units.iter().map(|unit| unit.words as f32 / mean.max(f32::MIN_POSITIVE)).collect();
        let recencies = files.iter().map(|file| recency(file.age)).collect();
        let (root, vectors, parts) = (root.to_owned(), None, IndexParts::default());
        Ok(Self { root, commit, further, annotations, files, units, lengths, recencies, sections, vectors, parts })
    }

    /// A word's postings; none where it stands nowhere.
    pub(crate) fn postings(&self, word: &str) -> Result<Option<Postings>> {
        let Some(bytes) = self.sections.find(word)? else { return Ok(None) };
        layout::read_postings(Reader(bytes), self.units.len(), self.files.len()).map(Some)
    }

    /// The kind of a question to this index: a single word is a name where something is called so, whatever its form.
    pub(crate) fn intent(&self, question: &SearchQuestion) -> Result<Intent> {
        let is_name = question.intent() == Intent::Symbol || self.defines(question.text())?;
        Ok(if is_name { Intent::Symbol } else { Intent::Prose })
    }

    /// True where a text is a single word and the name of something that is defined here.
    fn defines(&self, text: &str) -> Result<bool> {
        let name = text.trim();
        if name.contains(char::is_whitespace) {
            return Ok(false);
        }
        let mut first = None;
        tokenizer().each_word(name, |word| _ = first.get_or_insert_with(|| word.to_owned()));
        let Some(word) = first else { return Ok(false) };
        let mut found = false;
        let on_unit = |_, unit: u32, counts: Counts| {
            found |= !found && counts.names > 0 && self.names(unit as usize).own.contains(&name);
        };
        self.each_posting(&word, on_unit, |_, _| {})?;
        Ok(found)
    }

    /// Visits a word's postings without keeping them: each unit with the word's rarity (BM25's weight of a word that so many
    /// units have), then files. The rarity; none where the word stands nowhere.
    pub(crate) fn each_posting(
        &self,
        word: &str,
        mut on_unit: impl FnMut(f32, u32, Counts),
        on_file: impl FnMut(u32, bool),
    ) -> Result<Option<f32>> {
        let Some(bytes) = self.sections.find(word)? else { return Ok(None) };
        // The same for all units, and known with the first.
        let mut known = None;
        let on_unit = |has, unit, counts| on_unit(*known.get_or_insert_with(|| self.rarity(has)), unit, counts);
        layout::each_posting(Reader(bytes), self.units.len(), self.files.len(), on_unit, on_file)?;
        Ok(Some(known.unwrap_or_else(|| self.rarity(0))))
    }

    /// Units that have a word.
    pub(crate) fn n_units_with(&self, word: &str) -> Result<u32> {
        let Some(bytes) = self.sections.find(word)? else { return Ok(0) };
        layout::n_units_with(&mut Reader(bytes), self.units.len())
    }

    /// Rarity of a word that so many units have, as BM25 has it.
    pub(crate) fn rarity(&self, has: u32) -> f32 {
        let (n, has) = (self.units.len() as f32, has as f32);
        (1.0 + (n - has + 0.5) / (has + 0.5)).ln()
    }

    /// Text of a file, by its position, as it was indexed; none where it is not what it was.
    pub(crate) fn current_text(&self, file: usize) -> Option<String> {
        let path = &self.files.get(file)?.path;
        let text = readable(path, text_below(&self.root, path)?).ok()?;
        self.is_current(file, &text).then_some(text)
    }

    /// Files whose text has a trigram, ascending.
    pub(crate) fn files_with(&self, trigram: Trigram) -> Result<Vec<u32>> {
        let bytes = self.sections.find_trigram(trigram)?.unwrap_or_default();
        FileList::read(bytes, self.files.len() as u32)
    }

    /// Each trigram with its files.
    pub(crate) fn all_trigrams(&self) -> impl Iterator<Item = Result<(Trigram, Vec<u32>)>> {
        (0..self.sections.n_trigrams()).map(|at| {
            let (trigram, bytes) = self.sections.trigram(at)?;
            Ok((trigram, FileList::read(bytes, self.files.len() as u32)?))
        })
    }

    /// Each word with its postings, in the order of the words.
    pub(crate) fn all_postings(&self) -> impl Iterator<Item = Result<(&str, Postings)>> {
        (0..self.sections.n_words()).map(|at| {
            let (word, bytes) = self.sections.word(at)?;
            Ok((word, layout::read_postings(Reader(bytes), self.units.len(), self.files.len())?))
        })
    }

    /// Reads every word and every trigram with all that they point to, and every structure; their numbers.
    pub fn verify(&self) -> Result<[usize; 3]> {
        self.all_postings().try_for_each(|found| found.map(drop))?;
        self.all_trigrams().try_for_each(|found| found.map(drop))?;
        ScipStore::open(self.parts.get(IndexPart::Scip))?;
        let structures = StructureStore::open(self.parts.get(IndexPart::Structures))?;
        let structures = structures.map_or(Ok(0), |structures| structures.verify())?;
        Ok([self.sections.n_words(), self.sections.n_trigrams(), structures])
    }

    /// Files that are not as they were when they were indexed, by their size and time.
    pub fn stale(&self) -> Result<Changes> {
        Ok(Changes::between(self, &self.walk()?))
    }
}
