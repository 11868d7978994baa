//! Files, units and words that become an index, gathered from texts and from an index that was there before.

use std::collections::HashMap;

use wb_core::fingerprint::text_key;

use super::{
    CodeIndex, Counts, IndexedFile, IndexedUnit, Postings,
    layout::{self, Sections},
};
use crate::{
    Result,
    files::{FileRole, FolderFiles, ProjectFile, language_and_role},
    patterns::{FileList, Trigram, TrigramFinder},
    units::{CodeUnit, cut},
    words::tokenizer,
};

/// A unit that becomes one of an index.
#[derive(Debug, Clone)]
pub(super) struct GatheredUnit {
    /// Position of its file.
    pub file: u32,
    /// Its lines and names.
    pub unit: CodeUnit,
    /// Words in it.
    pub words: u32,
    /// Key of what an encoder reads of it.
    pub key: [u64; 2],
}

/// Files in the order of their paths with all that an index has of them.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub files: Vec<IndexedFile>,
    pub units: Vec<GatheredUnit>,
    words: Words,
    trigrams: HashMap<Trigram, FileList>,
}

/// Words by numbers in the order in which they were first met, with their postings.
#[derive(Debug, Default)]
struct Words {
    numbers: HashMap<String, u32>,
    postings: Vec<Postings>,
}

impl Words {
    fn number(&mut self, word: &str) -> usize {
        if let Some(number) = self.numbers.get(word) {
            return *number as usize;
        }
        self.numbers.insert(word.to_owned(), self.postings.len() as u32);
        self.postings.push(Postings::default());
        self.postings.len() - 1
    }

    /// The postings of a word.
    fn of(&mut self, word: &str) -> &mut Postings {
        let number = self.number(word);
        &mut self.postings[number]
    }

    fn into_pairs(self) -> Vec<(String, Postings)> {
        let mut postings = self.postings;
        let pairs =
            self.numbers.into_iter().map(|(word, number)| (word, std::mem::take(&mut postings[number as usize])));
        pairs.collect()
    }
}

/// Counts of one unit, by the words' numbers.
#[derive(Debug, Default)]
struct UnitCounts {
    counts: Vec<Counts>,
    met: Vec<usize>,
}

impl UnitCounts {
    fn of(&mut self, number: usize) -> &mut Counts {
        if number >= self.counts.len() {
            self.counts.resize(number + 1, Counts::default());
        }
        if self.counts[number] == Counts::default() {
            self.met.push(number);
        }
        &mut self.counts[number]
    }

    /// Takes what was counted, and begins anew.
    fn take(&mut self) -> impl Iterator<Item = (usize, Counts)> {
        let counts = &mut self.counts;
        self.met.drain(..).map(|number| (number, std::mem::take(&mut counts[number])))
    }
}

impl Gathered {
    /// Adds one of some files behind those that are there.
    pub fn add(&mut self, file: &ProjectFile, found: &FolderFiles, text: &str, trigrams: &mut TrigramFinder) {
        let named = found.named(&file.path);
        for trigram in trigrams.of(text) {
            self.trigrams.entry(trigram).or_default().push(self.files.len() as u32);
        }
        let Some((language, role)) = language_and_role(named, text) else {
            self.push_without_units(file, text_key(text));
            return;
        };
        let (number, first) = (self.files.len() as u32, self.units.len() as u32);
        let lines: Vec<&str> = text.lines().collect();
        let mut tokens = tokenizer();
        let mut counts = UnitCounts::default();
        let mut units = cut(text, language);
        if let Some(annotations) = &found.annotations {
            annotations.annotate(&mut units, text, language);
        }
        for unit in units {
            let mut n_words = 0;
            // What is said of a unit counts as a comment above it does.
            tokens.each_word(&unit.said, |word| {
                let found = counts.of(self.words.number(word));
                n_words += 1;
                found.text = found.text.saturating_add(1);
                found.head = found.head.saturating_add(1);
            });
            for line in unit.lines[0]..=unit.lines[1] {
                tokens.each_word(lines[line as usize - 1], |word| {
                    let found = counts.of(self.words.number(word));
                    n_words += 1;
                    found.text = found.text.saturating_add(1);
                    found.head = found.head.saturating_add(u8::from(line <= unit.head));
                });
            }
            for name in unit.names.iter().chain(&unit.scope) {
                tokens.each_word(name, |word| {
                    let found = counts.of(self.words.number(word));
                    found.names = found.names.saturating_add(1);
                });
            }
            let at = self.units.len() as u32;
            for (word, counts) in counts.take() {
                self.words.postings[word].units.push((at, counts));
            }
            let key = text_key(&unit.text(named, &lines));
            self.units.push(GatheredUnit { file: number, unit, words: n_words, key });
        }
        let (folders, name) = named.rsplit_once('/').unwrap_or(("", named));
        let mut in_path: HashMap<String, bool> = HashMap::new();
        tokens.each_word(folders, |word| _ = in_path.entry(word.to_owned()).or_insert(false));
        let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
        tokens.each_word(stem, |word| _ = in_path.insert(word.to_owned(), true));
        for (word, in_name) in in_path {
            self.words.of(&word).files.push((number, in_name));
        }
        self.files.push(IndexedFile {
            path: file.path.clone(),
            role,
            language: language.to_owned(),
            size: file.size,
            modified: file.modified,
            hash: text_key(text),
            units: [first, self.units.len() as u32],
            age: None,
        });
    }

    /// Adds a file that cannot be read or is not meant to be, so that it is known not to be new.
    pub fn leave_aside(&mut self, file: &ProjectFile) {
        self.push_without_units(file, [0; 2]);
    }

    fn push_without_units(&mut self, file: &ProjectFile, hash: [u64; 2]) {
        let end = self.units.len() as u32;
        self.files.push(IndexedFile {
            path: file.path.clone(),
            role: FileRole::Other,
            language: String::new(),
            size: file.size,
            modified: file.modified,
            hash,
            units: [end, end],
            age: None,
        });
    }

    /// Files with their ages, by their paths.
    pub fn aged(mut self, age: impl Fn(&str) -> Option<u32>) -> Self {
        self.files.iter_mut().for_each(|file| file.age = age(&file.path));
        self
    }

    /// The files of an index that `keep` wants.
    pub fn from_index(index: &CodeIndex, keep: impl Fn(&IndexedFile) -> bool) -> Result<Self> {
        let mut kept = Self::default();
        let mut moved = Moved::new(index.files.len(), index.units.len());
        let unit = |at: usize| {
            let IndexedUnit { file, words, key, .. } = index.units[at];
            GatheredUnit { file, unit: index.code_unit(at), words, key }
        };
        for at in (0..index.files.len()).filter(|at| keep(&index.files[*at])) {
            kept.take_over(at, &index.files, unit, &mut moved);
        }
        for found in index.all_postings() {
            let (word, postings) = found?;
            let left = moved.postings(postings);
            if !(left.units.is_empty() && left.files.is_empty()) {
                *kept.words.of(word) = left;
            }
        }
        for found in index.all_trigrams() {
            let (trigram, files) = found?;
            let left = FileList::of(moved.files(files));
            if !left.bytes().is_empty() {
                kept.trigrams.insert(trigram, left);
            }
        }
        Ok(kept)
    }

    /// Puts these files and others together, in the order of their paths.
    pub fn with(self, other: Self) -> Result<Self> {
        let mut joined = Self::default();
        let sides = [&self, &other];
        let mut order: Vec<(usize, usize)> =
            (0..2).flat_map(|side| (0..sides[side].files.len()).map(move |at| (side, at))).collect();
        order.sort_by(|one, two| sides[one.0].files[one.1].path.cmp(&sides[two.0].files[two.1].path));
        let mut moved = sides.map(|side| Moved::new(side.files.len(), side.units.len()));
        for (side, at) in order {
            joined.take_over(at, &sides[side].files, |at| sides[side].units[at].clone(), &mut moved[side]);
        }
        let mut trigrams: HashMap<Trigram, Vec<u32>> = HashMap::new();
        for (gathered, moved) in [self, other].into_iter().zip(moved) {
            for (word, postings) in gathered.words.into_pairs() {
                let postings = moved.postings(postings);
                let all = joined.words.of(&word);
                all.units.extend(postings.units);
                all.files.extend(postings.files);
            }
            for (trigram, files) in gathered.trigrams {
                trigrams.entry(trigram).or_default().extend(moved.files(files.numbers()?));
            }
        }
        for (trigram, mut files) in trigrams {
            files.sort_unstable();
            joined.trigrams.insert(trigram, FileList::of(files));
        }
        Ok(joined)
    }

    /// Puts one of some files, with its units, behind those that are there.
    fn take_over(&mut self, at: usize, files: &[IndexedFile], unit: impl Fn(usize) -> GatheredUnit, moved: &mut Moved) {
        let (number, first) = (self.files.len() as u32, self.units.len() as u32);
        moved.files[at] = Some(number);
        let [from, to] = files[at].units.map(|unit| unit as usize);
        for (at, place) in (from..to).zip(&mut moved.units[from..to]) {
            *place = Some(self.units.len() as u32);
            self.units.push(GatheredUnit { file: number, ..unit(at) });
        }
        self.files.push(IndexedFile { units: [first, self.units.len() as u32], ..files[at].clone() });
    }

    /// Puts files behind these whose paths all come later.
    pub fn append(&mut self, later: Self) -> Result<()> {
        let (files, units) = (self.files.len() as u32, self.units.len() as u32);
        let moved = |[from, to]: [u32; 2]| [from + units, to + units];
        self.files.extend(later.files.into_iter().map(|file| IndexedFile { units: moved(file.units), ..file }));
        self.units.extend(later.units.into_iter().map(|unit| GatheredUnit { file: unit.file + files, ..unit }));
        for (word, postings) in later.words.into_pairs() {
            let all = self.words.of(&word);
            make_room(&mut all.units, postings.units.len());
            all.units.extend(postings.units.into_iter().map(|(unit, counts)| (unit + units, counts)));
            all.files.extend(postings.files.into_iter().map(|(file, in_name)| (file + files, in_name)));
        }
        for (trigram, found) in later.trigrams {
            let all = self.trigrams.entry(trigram).or_default();
            found.numbers()?.into_iter().for_each(|file| all.push(file + files));
        }
        Ok(())
    }

    /// All of it as the sections of an index.
    pub fn encode(self, found: &FolderFiles) -> Result<Sections> {
        let mut words = self.words.into_pairs();
        words.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        let sorted = words.into_iter().map(|(word, mut postings)| {
            postings.units.sort_unstable_by_key(|(unit, _)| *unit);
            postings.files.sort_unstable_by_key(|(file, _)| *file);
            (word, postings)
        });
        let mut trigrams: Vec<(Trigram, FileList)> = self.trigrams.into_iter().collect();
        trigrams.sort_unstable_by_key(|(trigram, _)| *trigram);
        layout::encode(found, &self.files, self.units, sorted, trigrams)
    }
}

/// Room for so many more, and for a quarter at most of what is there: twice as much, for all words, is a third of the memory.
fn make_room<T>(list: &mut Vec<T>, more: usize) {
    if list.capacity() - list.len() < more {
        list.reserve_exact(more.max(list.len() / 4));
    }
}

/// Numbers that files and units have now, by those that they had; none where they are gone.
struct Moved {
    files: Vec<Option<u32>>,
    units: Vec<Option<u32>>,
}

impl Moved {
    fn new(files: usize, units: usize) -> Self {
        Self { files: vec![None; files], units: vec![None; units] }
    }

    fn files(&self, of: Vec<u32>) -> impl Iterator<Item = u32> {
        of.into_iter().filter_map(|file| self.files[file as usize])
    }

    fn postings(&self, of: Postings) -> Postings {
        let units = of.units.into_iter().filter_map(|(unit, counts)| Some((self.units[unit as usize]?, counts)));
        let files = of.files.into_iter().filter_map(|(file, in_name)| Some((self.files[file as usize]?, in_name)));
        Postings { units: units.collect(), files: files.collect() }
    }
}
