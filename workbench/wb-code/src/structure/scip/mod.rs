//! An `index.scip`: the names of a project's files with the symbols that a compiler's own tool says they are.
//!
//! Sourcegraph's SCIP is a message of protocol buffers. The seven fields that matter are read in place: a reader
//! that is generated makes objects of all of them, and a file of two-byte occurrences would take fifty times its size.

mod text;
mod wire;

use std::{collections::HashMap, path::Path};

pub use text::SymbolSpan;

use self::wire::{NoMessage, WireFields, WireValue, numbers};
use super::file::BindingKind;
use crate::{Error, Result};

/// The name of the file at a project's root.
pub const SCIP_FILE: &str = "index.scip";
/// Bytes of a file at most.
const MOST_BYTES: u64 = 1 << 29;
/// Documents of a file at most.
const MOST_DOCUMENTS: usize = 1 << 20;
/// Symbols of a file at most.
const MOST_SYMBOLS: usize = 1 << 22;
/// Occurrences of a file at most.
const MOST_OCCURRENCES: usize = 1 << 24;
/// Words for whoever has an index that is too large.
const PARTS: &str = "index a part of the project alone, and name that file: wb index --scip FILE";
/// The role of an occurrence that defines its symbol.
const DEFINITION: u64 = 1;

/// Units in which a document counts columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ColumnUnit {
    Utf8,
    Utf16,
    Utf32,
}

/// A place of a document that names a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScipOccurrence {
    /// Line and column of its begin, from 0, in the document's units.
    from: [u32; 2],
    /// Line and column behind it.
    to: [u32; 2],
    /// Number of the symbol in its index.
    pub symbol: u32,
    /// True where the symbol is defined there.
    pub is_definition: bool,
}

/// A file as the index knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScipDocument {
    /// Path below the project's root, with `/`.
    pub path: String,
    unit: ColumnUnit,
    /// Occurrences in the order of the index.
    pub occurrences: Vec<ScipOccurrence>,
}

/// A symbol: something that has a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScipSymbol {
    /// Name that its definition is written with; empty where the index does not say.
    pub name: String,
    /// Kind, as far as the symbol's form says it.
    pub kind: BindingKind,
    /// True where it belongs to one document alone.
    pub is_local: bool,
}

/// The documents of an index, and their symbols.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScipIndex {
    /// Documents in the order of the index.
    pub documents: Vec<ScipDocument>,
    /// Symbols by their numbers.
    pub symbols: Vec<ScipSymbol>,
}

impl ScipIndex {
    /// Reads a file; an error that names it where it is no such index, or names files outside of its project.
    pub fn read(path: &Path) -> Result<Self> {
        Self::of_bytes(&Self::bytes(path)?).map_err(|error| error.within(format!("cannot use {}", path.display())))
    }

    /// The bytes of a file that may be an index; an error where it is none, or too large.
    pub fn bytes(path: &Path) -> Result<Vec<u8>> {
        let about = std::fs::metadata(path).map_err(Error::io("read", path))?;
        if !about.is_file() || about.len() > MOST_BYTES {
            let words = format!("is no file, or has more than {} MB, and is not read", MOST_BYTES >> 20);
            return Err(Error::file(path, words).with_hint(PARTS));
        }
        std::fs::read(path).map_err(Error::io("read", path))
    }

    /// Reads the bytes of a file.
    pub fn of_bytes(bytes: &[u8]) -> Result<Self> {
        let mut read = Reading::default();
        let mut has_metadata = false;
        for field in WireFields(bytes) {
            match field.map_err(no_index)? {
                (1, WireValue::Bytes(_)) => has_metadata = true,
                (2, WireValue::Bytes(document)) => read.document(document)?,
                _ => {}
            }
        }
        // Bytes of something else may look like fields.
        match has_metadata {
            true => Ok(Self { documents: read.documents, symbols: read.symbols }),
            false => Err(no_index(NoMessage)),
        }
    }
}

/// The error of bytes that are not what an indexer writes.
fn no_index(_: NoMessage) -> Error {
    Error::data(SCIP_FILE, "is no SCIP index, or is cut off")
        .with_hint("make it again, with scip-python index . for one")
}

/// Checks a number that memory is taken for.
fn few(of: &str, number: usize, most: usize) -> Result<()> {
    match number > most {
        true => Err(Error::data(SCIP_FILE, format!("has more than {most} {of}, and is not read")).with_hint(PARTS)),
        false => Ok(()),
    }
}

/// Documents and symbols that were read so far.
#[derive(Default)]
struct Reading<'a> {
    documents: Vec<ScipDocument>,
    /// Documents by their paths.
    places: HashMap<String, usize>,
    symbols: Vec<ScipSymbol>,
    numbers: HashMap<&'a [u8], u32>,
    occurrences: usize,
}

impl<'a> Reading<'a> {
    fn document(&mut self, bytes: &'a [u8]) -> Result<()> {
        let mut locals: HashMap<&[u8], u32> = HashMap::new();
        let (mut path, mut unit, mut occurrences) = (None, ColumnUnit::Utf16, Vec::new());
        for field in WireFields(bytes) {
            match field.map_err(no_index)? {
                (1, WireValue::Bytes(text)) => path = Some(own_path(text)?),
                (2, WireValue::Bytes(occurrence)) => {
                    self.occurrences += 1;
                    few("occurrences", self.occurrences, MOST_OCCURRENCES)?;
                    occurrences.extend(self.occurrence(occurrence, &mut locals)?);
                }
                // The tools that do not say count as their language does: JavaScript's strings are UTF-16.
                (6, WireValue::Number(1)) => unit = ColumnUnit::Utf8,
                (6, WireValue::Number(3)) => unit = ColumnUnit::Utf32,
                _ => {}
            }
        }
        let path = path.ok_or_else(|| no_index(NoMessage))?;
        few("documents", self.documents.len() + 1, MOST_DOCUMENTS)?;
        match self.places.get(&path) {
            // Some indexers write a document for each unit that a file is part of.
            Some(known) if self.documents[*known].unit == unit => {
                self.documents[*known].occurrences.extend(occurrences)
            }
            Some(_) => {
                return Err(Error::data(SCIP_FILE, format!("has {path} twice, which count columns differently")));
            }
            None => {
                self.places.insert(path.clone(), self.documents.len());
                self.documents.push(ScipDocument { path, unit, occurrences });
            }
        }
        Ok(())
    }

    /// An occurrence; none where it names no symbol.
    fn occurrence(&mut self, bytes: &'a [u8], locals: &mut HashMap<&'a [u8], u32>) -> Result<Option<ScipOccurrence>> {
        let (mut range, mut typed, mut symbol, mut roles) = (([0_u64; 4], 0), None, &[][..], 0);
        for field in WireFields(bytes) {
            match field.map_err(no_index)? {
                (1, WireValue::Bytes(packed)) => range = numbers(packed).map_err(no_index)?,
                // Each number may stand in a field of its own.
                (1, WireValue::Number(number)) => {
                    *range.0.get_mut(range.1).ok_or_else(|| no_index(NoMessage))? = number;
                    range.1 += 1;
                }
                (2, WireValue::Bytes(text)) => symbol = text,
                (3, WireValue::Number(bits)) => roles = bits,
                (8, WireValue::Bytes(single)) => typed = Some(typed_range(single, true)?),
                (9, WireValue::Bytes(several)) => typed = Some(typed_range(several, false)?),
                _ => {}
            }
        }
        if symbol.is_empty() {
            return Ok(None);
        }
        let [line, start, third, fourth] = match (typed, range) {
            (Some(typed), _) => typed,
            (None, ([line, start, end, _], 3)) => [line, start, line, end],
            (None, (all, 4)) => all,
            _ => return Err(no_index(NoMessage)),
        };
        let small = |number: u64| u32::try_from(number).map_err(|_| no_index(NoMessage));
        let (from, to) = ([small(line)?, small(start)?], [small(third)?, small(fourth)?]);
        let symbol = self.symbol(symbol, locals)?;
        Ok((from <= to).then_some(ScipOccurrence { from, to, symbol, is_definition: roles & DEFINITION != 0 }))
    }

    fn symbol(&mut self, symbol: &'a [u8], locals: &mut HashMap<&'a [u8], u32>) -> Result<u32> {
        let is_local = symbol.starts_with(b"local ");
        let known = if is_local { locals } else { &mut self.numbers };
        if let Some(number) = known.get(symbol) {
            return Ok(*number);
        }
        let text = std::str::from_utf8(symbol).map_err(|_| no_index(NoMessage))?;
        few("symbols", self.symbols.len() + 1, MOST_SYMBOLS)?;
        let number = self.symbols.len() as u32;
        let name = if is_local { "" } else { last_name(text) }.to_owned();
        self.symbols.push(ScipSymbol { name, kind: kind_of(text), is_local });
        known.insert(symbol, number);
        Ok(number)
    }
}

/// Line and column of begin and end; a range of one line says it once.
fn typed_range(bytes: &[u8], is_one_line: bool) -> Result<[u64; 4]> {
    let mut numbers = [0; 4];
    for field in WireFields(bytes) {
        if let (tag @ 1..=4, WireValue::Number(number)) = field.map_err(no_index)? {
            numbers[tag as usize - 1] = number;
        }
    }
    let [line, start, third, fourth] = numbers;
    Ok(if is_one_line { [line, start, line, third] } else { [line, start, third, fourth] })
}

/// A path of a document, which stays in its project.
fn own_path(bytes: &[u8]) -> Result<String> {
    let path = std::str::from_utf8(bytes).map_err(|_| no_index(NoMessage))?;
    let is_drive = path.as_bytes().get(1) == Some(&b':');
    let is_part = |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', '\0']);
    match !is_drive && path.split('/').all(is_part) {
        true => Ok(path.to_owned()),
        false => Err(Error::data(SCIP_FILE, format!("names {path:?}, which is no path below the project's root"))
            .with_hint("index the project from its root, and leave files outside of it aside")),
    }
}

/// The kind of what a symbol's last descriptor names.
fn kind_of(symbol: &str) -> BindingKind {
    let is_member = || symbol.rsplit_once('#').is_some_and(|(_, rest)| !rest.contains('/'));
    match symbol.as_bytes().last() {
        Some(b'#') => BindingKind::Class,
        Some(b'.') if symbol.ends_with(").") => BindingKind::Function,
        Some(b'.') if is_member() => BindingKind::Field,
        Some(b'/') => BindingKind::Module,
        Some(b')' | b']') => BindingKind::Parameter,
        Some(b':') => BindingKind::Field,
        _ => BindingKind::Variable,
    }
}

/// The name that a symbol's last descriptor has: `b` of `m/a#b().`; none of one that an indexer made up (`value0:`).
fn last_name(symbol: &str) -> &str {
    let bare = match symbol.as_bytes().last() {
        Some(b')' | b']') => &symbol[..symbol.len() - 1],
        Some(b'.') if symbol.ends_with(").") => symbol.rsplit_once('(').map_or("", |(before, _)| before),
        Some(b':') | None => "",
        Some(_) => symbol.trim_end_matches(['/', '#', '.', '!']),
    };
    if let Some(quoted) = bare.strip_suffix('`') {
        return quoted.rsplit_once('`').map_or("", |(_, name)| name);
    }
    let is_simple = |c: char| c.is_alphanumeric() || matches!(c, '_' | '+' | '-' | '$');
    &bare[bare.trim_end_matches(is_simple).len()..]
}

#[cfg(test)]
mod tests;
