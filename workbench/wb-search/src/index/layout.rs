//! The sections of an index: files, units, ends of words and of their postings (4 bytes each), words, postings, trigrams with
//! the ends of their files (4 bytes each), files of trigrams. Inside of files, units and postings numbers have seven bits a
//! byte.

use std::path::PathBuf;

use wb_retrieval::MappedBytes;

use super::{Counts, IndexedFile, IndexedUnit, Postings, UnitNames, gathered::GatheredUnit, word_signs::WordSigns};
use crate::{
    Error, Result,
    annotations::{AnnotationFile, ProjectAnnotations},
    bytes::{Magic, OpenFile, Reader, Sealed, Writer, damaged},
    files::{FileRole, FolderFiles},
    patterns::{FileList, Trigram},
};

const MAGIC: Magic = *b"wbunit\x00\x01";
const SECTIONS: usize = 7;

/// The sections of an index, and the way to a word's postings.
#[derive(Debug, Clone)]
pub(super) struct Sections(Sealed<SECTIONS>, WordSigns);

impl Sections {
    /// Sections of a file.
    pub(super) fn open(file: &OpenFile) -> Result<Self> {
        Sealed::open(&MAGIC, file).and_then(Self::of)
    }

    /// Reads the sections of a part; none where there is none, or one of another version, which is made anew.
    pub(super) fn read_part<T>(part: Option<&OpenFile>, read: impl FnOnce(Self) -> Result<T>) -> Result<Option<T>> {
        Sealed::read_part(&MAGIC, part, |sealed| read(Self::of(sealed)?))
    }

    fn of(sealed: Sealed<SECTIONS>) -> Result<Self> {
        let whole = [2, 5].iter().all(|section| sealed.section(*section).len().is_multiple_of(8));
        if whole { Ok(Self(sealed, WordSigns::default())) } else { Err(damaged()) }
    }

    pub(super) fn bytes(&self) -> &MappedBytes {
        self.0.bytes()
    }

    fn section(&self, number: usize) -> &[u8] {
        self.0.section(number)
    }

    pub(super) fn files(&self) -> &[u8] {
        self.section(0)
    }

    pub(super) fn units(&self) -> &[u8] {
        self.section(1)
    }

    pub(super) fn n_words(&self) -> usize {
        self.section(2).len() / 8
    }

    /// End of a word (0) or of its postings (1); that before the first is 0.
    fn end(&self, at: usize, which: usize) -> usize {
        let Some(at) = at.checked_sub(1) else { return 0 };
        let place = 8 * at + 4 * which;
        self.section(2).get(place..place + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes)
            as usize
    }

    /// A word, and the bytes of its postings.
    pub(super) fn word(&self, at: usize) -> Result<(&str, &[u8])> {
        let (word, postings) = self.entry(at)?;
        Ok((std::str::from_utf8(word).map_err(|_| damaged())?, postings))
    }

    /// The bytes of a word and of its postings.
    fn entry(&self, at: usize) -> Result<(&[u8], &[u8])> {
        let part = |which: usize| {
            let range = self.end(at, which)..self.end(at + 1, which);
            self.section(3 + which).get(range).ok_or_else(damaged)
        };
        Ok((part(0)?, part(1)?))
    }

    pub(super) fn n_trigrams(&self) -> usize {
        self.section(5).len() / 8
    }

    /// A trigram, and the bytes of its files.
    pub(super) fn trigram(&self, at: usize) -> Result<(Trigram, &[u8])> {
        let four = |at: usize, which: usize| {
            let place = 8 * at + 4 * which;
            let four = self.section(5).get(place..place + 4).and_then(|four| four.try_into().ok());
            four.map(u32::from_le_bytes).ok_or_else(damaged)
        };
        let from = at.checked_sub(1).map_or(Ok(0), |before| four(before, 1))?;
        let files = self.section(6).get(from as usize..four(at, 1)? as usize).ok_or_else(damaged)?;
        Ok((four(at, 0)?, files))
    }

    /// The bytes of a trigram's files.
    pub(super) fn find_trigram(&self, wanted: Trigram) -> Result<Option<&[u8]>> {
        let at = first_from([0, self.n_trigrams()], &wanted, |at| Ok(self.trigram(at)?.0))?;
        let found = if at < self.n_trigrams() { Some(self.trigram(at)?) } else { None };
        Ok(found.filter(|(found, _)| *found == wanted).map(|(_, files)| files))
    }

    /// The bytes of a word's postings, by halving.
    pub(super) fn find(&self, word: &str) -> Result<Option<&[u8]>> {
        let at = self.first_word(word)?;
        let found = if at < self.n_words() { Some(self.entry(at)?) } else { None };
        Ok(found.filter(|(found, _)| *found == word.as_bytes()).map(|(_, postings)| postings))
    }

    /// The position of the first word that is not before another.
    fn first_word(&self, wanted: &str) -> Result<usize> {
        let word = |at: usize| Ok(self.entry(at)?.0);
        let range = self.1.around(self.n_words(), wanted.as_bytes(), word)?;
        first_from(range, &wanted.as_bytes(), word)
    }

    /// Words that begin so, ascending.
    pub(super) fn beginning<'a>(&'a self, prefix: &str) -> Result<impl Iterator<Item = Result<&'a str>>> {
        let words = (self.first_word(prefix)?..self.n_words()).map(|at| Ok(self.word(at)?.0));
        Ok(words.take_while(move |found| found.as_ref().map_or(true, |word| word.starts_with(prefix))))
    }
}

/// The position of the first of ascending keys, between two, that is not before one, by halving.
fn first_from<K: Ord>([mut low, mut high]: [usize; 2], wanted: &K, key: impl Fn(usize) -> Result<K>) -> Result<usize> {
    while low < high {
        let middle = low + (high - low) / 2;
        match key(middle)? < *wanted {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    Ok(low)
}

/// An index of these, each of which is let go once it is written; words in their order. An error where words or postings take
/// more than 4 GB.
pub(super) fn encode(
    found: &FolderFiles,
    files: &[IndexedFile],
    units: Vec<GatheredUnit>,
    postings: impl Iterator<Item = (String, Postings)>,
    trigrams: Vec<(Trigram, FileList)>,
) -> Result<Sections> {
    let mut sections: [Writer; SECTIONS] = Default::default();
    sections[0].text(found.commit.as_deref().unwrap_or_default());
    sections[0].number(found.further.len() as u64);
    found.further.iter().for_each(|folder| sections[0].text(&folder.to_string_lossy()));
    let annotated = found.annotations.as_deref().map(ProjectAnnotations::file).cloned().unwrap_or_default();
    sections[0].text(&annotated.path.to_string_lossy());
    sections[0].key(&annotated.key);
    sections[0].number(files.len() as u64);
    files.iter().for_each(|file| write_file(&mut sections[0], file));
    sections[1].number(units.len() as u64);
    units.into_iter().for_each(|unit| write_unit(&mut sections[1], unit));
    for (word, found) in postings {
        sections[3].0.extend_from_slice(word.as_bytes());
        write_postings(&mut sections[4], &found);
        for which in [3, 4] {
            let end = end_of(&sections[which])?;
            sections[2].0.extend_from_slice(&end);
        }
    }
    for (trigram, files) in trigrams {
        sections[6].0.extend_from_slice(files.bytes());
        let end = end_of(&sections[6])?;
        sections[5].0.extend_from_slice(&trigram.to_le_bytes());
        sections[5].0.extend_from_slice(&end);
    }
    let sealed = Sealed::of(&MAGIC, &sections.each_ref().map(|section| section.0.as_slice()));
    Ok(Sections(sealed, WordSigns::default()))
}

fn end_of(section: &Writer) -> Result<[u8; 4]> {
    let end = u32::try_from(section.0.len());
    let too_many = |_| Error::failed("the words of these files take more than 4 GB; index fewer at once");
    end.map(u32::to_le_bytes).map_err(too_many)
}

fn write_file(to: &mut Writer, file: &IndexedFile) {
    to.text(&file.path);
    to.text(&file.language);
    to.number(FileRole::ALL.iter().position(|role| *role == file.role).unwrap_or(0) as u64);
    to.number(file.size);
    to.number(file.modified);
    to.key(&file.hash);
    to.number(u64::from(file.units[1] - file.units[0]));
    to.number(file.age.map_or(0, |days| 1 + u64::from(days)));
}

/// Files of an index, and what it says of all of them.
pub(super) struct IndexedFiles {
    /// The commit at which they were indexed, if there was one.
    pub commit: Option<String>,
    /// Further folders.
    pub further: Vec<PathBuf>,
    /// The file of the annotations that its units have.
    pub annotations: Option<AnnotationFile>,
    /// The files.
    pub files: Vec<IndexedFile>,
}

pub(super) fn read_files(mut from: Reader<'_>) -> Result<IndexedFiles> {
    let commit = Some(from.text()?.to_owned()).filter(|commit| !commit.is_empty());
    let mut further = Vec::new();
    for _ in 0..from.number()? {
        further.push(PathBuf::from(from.text()?));
    }
    let annotations = AnnotationFile { path: from.text()?.into(), key: from.key()? };
    let annotations = Some(annotations).filter(|file| !file.path.as_os_str().is_empty());
    let n = from.number()?;
    let mut files = Vec::new();
    let mut unit = 0_u32;
    for _ in 0..n {
        let (path, language) = (from.text()?.to_owned(), from.text()?.to_owned());
        let role = FileRole::ALL[from.below(FileRole::ALL.len() as u64)? as usize];
        let (size, modified) = (from.number()?, from.number()?);
        let hash = from.key()?;
        let end = u32::try_from(from.number()?).ok().and_then(|units| unit.checked_add(units)).ok_or_else(damaged)?;
        let age = from.below(2 + u64::from(u32::MAX))?.checked_sub(1);
        files.push(IndexedFile { path, role, language, size, modified, hash, units: [unit, end], age });
        unit = end;
    }
    Ok(IndexedFiles { commit, further, annotations, files })
}

fn write_unit(to: &mut Writer, GatheredUnit { unit, words, key, .. }: GatheredUnit) {
    to.number(u64::from(unit.lines[0]));
    to.number(u64::from(unit.lines[1] - unit.lines[0]));
    to.number(u64::from(unit.head + 1 - unit.lines[0]));
    to.number(u64::from(words));
    to.key(&key);
    for names in [&unit.names, &unit.scope] {
        to.number(names.len() as u64);
        names.iter().for_each(|name| to.text(name));
    }
    to.text(&unit.said);
}

pub(super) fn read_units(mut from: Reader<'_>, files: &[IndexedFile]) -> Result<Vec<IndexedUnit>> {
    let whole = from.0.len();
    let n = from.number()?;
    if n != u64::from(files.last().map_or(0, |file| file.units[1])) {
        return Err(damaged());
    }
    let mut units = Vec::new();
    for (file, range) in files.iter().enumerate().map(|(file, found)| (file as u32, found.units)) {
        for _ in range[0]..range[1] {
            let first = from.below(1 << 31)?;
            let last = first + from.below(1 << 31)?;
            // Above the first line where there is no head.
            let head = (first + from.below(1 << 31)?).checked_sub(1).ok_or_else(damaged)?;
            let (words, key) = (from.below(1 << 31)?, from.key()?);
            let names = u32::try_from(whole - from.0.len()).map_err(|_| damaged())?;
            for _ in 0..2 {
                for _ in 0..from.number()? {
                    from.text()?;
                }
            }
            from.text()?;
            units.push(IndexedUnit { file, lines: [first, last], head, words, key, names });
        }
    }
    Ok(units)
}

/// Names of a unit, from their place.
pub(super) fn read_names<'a>(from: &mut Reader<'a>) -> Result<UnitNames<'a>> {
    let mut names = || -> Result<Vec<&'a str>> {
        let n = from.number()?;
        (0..n).map(|_| from.text()).collect()
    };
    Ok(UnitNames { own: names()?, scope: names()?, said: from.text()? })
}

fn write_postings(to: &mut Writer, postings: &Postings) {
    to.number(postings.units.len() as u64);
    let mut before = 0;
    for (unit, counts) in &postings.units {
        let more = counts.names > 0 || counts.head > 0;
        to.number(u64::from(unit - before) << 1 | u64::from(more));
        to.number(u64::from(counts.text));
        if more {
            to.number(u64::from(counts.names));
            to.number(u64::from(counts.head));
        }
        before = *unit;
    }
    to.number(postings.files.len() as u64);
    let mut before = 0;
    for (file, in_name) in &postings.files {
        to.number(u64::from(file - before) << 1 | u64::from(*in_name));
        before = *file;
    }
}

/// Reads how many units have a word, with which its postings begin.
pub(super) fn n_units_with(from: &mut Reader<'_>, n_units: usize) -> Result<u32> {
    from.below(n_units as u64 + 1)
}

/// Reads a word's postings: how many units have it, each of them, and each file with it in its path.
pub(super) fn each_posting(
    mut from: Reader<'_>,
    n_units: usize,
    n_files: usize,
    mut on_unit: impl FnMut(u32, u32, Counts),
    mut on_file: impl FnMut(u32, bool),
) -> Result<()> {
    let next = |before: u64, step: u64, n: usize| {
        before.checked_add(step).filter(|at| *at < n as u64).and_then(|at| u32::try_from(at).ok()).ok_or_else(damaged)
    };
    let mut before = 0;
    let has = n_units_with(&mut from, n_units)?;
    for _ in 0..has {
        let step = from.number()?;
        let unit = next(before, step >> 1, n_units)?;
        let text = from.count()?;
        let more = step & 1 == 1;
        let counts = match more {
            true => Counts { text, names: from.count()?, head: from.count()? },
            false => Counts { text, ..Counts::default() },
        };
        on_unit(has, unit, counts);
        before = u64::from(unit);
    }
    let mut before = 0;
    for _ in 0..from.below(n_files as u64 + 1)? {
        let step = from.number()?;
        let file = next(before, step >> 1, n_files)?;
        on_file(file, step & 1 == 1);
        before = u64::from(file);
    }
    Ok(())
}

pub(super) fn read_postings(from: Reader<'_>, n_units: usize, n_files: usize) -> Result<Postings> {
    let mut postings = Postings::default();
    let Postings { units, files } = &mut postings;
    each_posting(
        from,
        n_units,
        n_files,
        |_, unit, counts| units.push((unit, counts)),
        |file, in_name| {
            files.push((file, in_name));
        },
    )?;
    Ok(postings)
}
