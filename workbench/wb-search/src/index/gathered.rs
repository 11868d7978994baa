//! Files, units and words that become an index, gathered from texts and from an index that was there before.

use std::collections::HashMap;

use super::{CodeIndex, Counts, IndexedFile, IndexedUnit, Postings, layout};
use crate::{
    Result,
    files::{FileRole, ProjectFile, language_and_role},
    units::cut,
    words::tokenizer,
};

/// Files in the order of their paths with all that an index has of them.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pub files: Vec<IndexedFile>,
    pub units: Vec<IndexedUnit>,
    words: Words,
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
    /// Adds a file behind those that are there.
    pub fn add(&mut self, file: &ProjectFile, text: &str) {
        let Some((language, role)) = language_and_role(&file.path, text) else { return };
        let (number, first) = (self.files.len() as u32, self.units.len() as u32);
        let lines: Vec<&str> = text.lines().collect();
        let mut tokens = tokenizer();
        let mut counts = UnitCounts::default();
        for unit in cut(text, language) {
            let mut n_words = 0;
            for line in unit.lines[0]..=unit.lines[1] {
                tokens.each_word(lines[line as usize - 1], |word| {
                    let found = counts.of(self.words.number(word));
                    n_words += 1;
                    found.text += 1;
                    found.head += u32::from(line <= unit.head);
                });
            }
            for name in unit.names.iter().chain(&unit.scope) {
                tokens.each_word(name, |word| counts.of(self.words.number(word)).names += 1);
            }
            let at = self.units.len() as u32;
            for (word, counts) in counts.take() {
                self.words.postings[word].units.push((at, counts));
            }
            self.units.push(IndexedUnit { file: number, unit, words: n_words });
        }
        let (folders, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
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
            hash: hash(text),
            units: [first, self.units.len() as u32],
        });
    }

    /// Adds a file that cannot be read or is not meant to be, so that it is known not to be new.
    pub fn leave_aside(&mut self, file: &ProjectFile) {
        let end = self.units.len() as u32;
        self.files.push(IndexedFile {
            path: file.path.clone(),
            role: FileRole::Generated,
            language: String::new(),
            size: file.size,
            modified: file.modified,
            hash: [0; 16],
            units: [end, end],
        });
    }

    /// The files of an index, but for those that `keep` refuses; it may change the others.
    pub fn from_index(index: &CodeIndex, mut keep: impl FnMut(&mut IndexedFile) -> bool) -> Result<Self> {
        let mut kept = Self::default();
        let mut files = vec![None; index.files.len()];
        let mut units = vec![None; index.units.len()];
        for (at, file) in index.files.iter().enumerate() {
            let mut file = file.clone();
            if !keep(&mut file) {
                continue;
            }
            let number = kept.files.len() as u32;
            files[at] = Some(number);
            let first = kept.units.len() as u32;
            for unit in file.units[0] as usize..file.units[1] as usize {
                units[unit] = Some(kept.units.len() as u32);
                kept.units.push(IndexedUnit { file: number, ..index.units[unit].clone() });
            }
            file.units = [first, kept.units.len() as u32];
            kept.files.push(file);
        }
        for found in index.all_postings() {
            let (word, postings) = found?;
            let left = renumbered(postings, &units, &files);
            if !(left.units.is_empty() && left.files.is_empty()) {
                *kept.words.of(word) = left;
            }
        }
        Ok(kept)
    }

    /// Puts these files and others together, in the order of their paths.
    pub fn with(self, other: Self) -> Self {
        let mut joined = Self::default();
        let sides = [&self, &other];
        let mut order: Vec<(usize, usize)> =
            (0..2).flat_map(|side| (0..sides[side].files.len()).map(move |at| (side, at))).collect();
        order.sort_by(|one, two| sides[one.0].files[one.1].path.cmp(&sides[two.0].files[two.1].path));
        let mut files = sides.map(|side| vec![None; side.files.len()]);
        let mut units = sides.map(|side| vec![None; side.units.len()]);
        for (side, at) in order {
            let mut file = sides[side].files[at].clone();
            let (number, first) = (joined.files.len() as u32, joined.units.len() as u32);
            files[side][at] = Some(number);
            for unit in file.units[0] as usize..file.units[1] as usize {
                units[side][unit] = Some(joined.units.len() as u32);
                joined.units.push(IndexedUnit { file: number, ..sides[side].units[unit].clone() });
            }
            file.units = [first, joined.units.len() as u32];
            joined.files.push(file);
        }
        for (side, gathered) in [self, other].into_iter().enumerate() {
            for (word, postings) in gathered.words.into_pairs() {
                let postings = renumbered(postings, &units[side], &files[side]);
                let all = joined.words.of(&word);
                all.units.extend(postings.units);
                all.files.extend(postings.files);
            }
        }
        joined
    }

    /// Puts files behind these whose paths all come later.
    pub fn append(&mut self, later: Self) {
        let (files, units) = (self.files.len() as u32, self.units.len() as u32);
        let moved = |[from, to]: [u32; 2]| [from + units, to + units];
        self.files.extend(later.files.into_iter().map(|file| IndexedFile { units: moved(file.units), ..file }));
        self.units.extend(later.units.into_iter().map(|unit| IndexedUnit { file: unit.file + files, ..unit }));
        for (word, postings) in later.words.into_pairs() {
            let all = self.words.of(&word);
            all.units.extend(postings.units.into_iter().map(|(unit, counts)| (unit + units, counts)));
            all.files.extend(postings.files.into_iter().map(|(file, in_name)| (file + files, in_name)));
        }
    }

    /// All of it as the bytes of an index.
    pub fn encode(self) -> Result<Vec<u8>> {
        let mut words = self.words.into_pairs();
        words.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        let sorted = words.iter_mut().map(|(word, postings)| {
            let mut postings = std::mem::take(postings);
            postings.units.sort_unstable_by_key(|(unit, _)| *unit);
            postings.files.sort_unstable_by_key(|(file, _)| *file);
            (word.as_str(), postings)
        });
        layout::encode(&self.files, &self.units, sorted)
    }
}

fn renumbered(postings: Postings, units: &[Option<u32>], files: &[Option<u32>]) -> Postings {
    let of_units = postings.units.into_iter().filter_map(|(unit, counts)| Some((units[unit as usize]?, counts)));
    let of_files = postings.files.into_iter().filter_map(|(file, in_name)| Some((files[file as usize]?, in_name)));
    Postings { units: of_units.collect(), files: of_files.collect() }
}

/// The first half of BLAKE3 of a text.
pub(super) fn hash(text: &str) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&blake3::hash(text.as_bytes()).as_bytes()[..16]);
    half
}
