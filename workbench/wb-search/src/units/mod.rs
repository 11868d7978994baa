//! A file cut into units: runs of lines that are found and shown together.
//!
//! A unit is a function, a small class, or lines between them; what is longer than [`MOST_CHARS`] is cut where its
//! indentation is least. Units of a file stand one after the other and leave no line out but empty ones.

pub(crate) mod cells;
mod definitions;
mod fences;
mod statements;
mod windows;

use wb_code::{CodeItem, Language, items};

/// Characters that a unit may have before it is cut.
pub const MOST_CHARS: usize = 1600;
/// Small neighbors stand together up to this many characters.
pub const TOGETHER: usize = 400;

/// Lines of a file that are found together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CodeUnit {
    /// First and last line, from 1.
    pub lines: [u32; 2],
    /// Names that are defined here.
    pub names: Vec<String>,
    /// Names of the items around it, outermost first.
    pub scope: Vec<String>,
    /// The last of the lines that say what it is: comments above and the line that defines it; `lines[0]` - 1 where
    /// there are none.
    pub head: u32,
    /// Words of a language model about it; empty for none.
    pub said: String,
}

impl CodeUnit {
    /// The text that an encoder reads of it: the path of its file, the names of what it is inside of, what was said of it,
    /// and its lines. `lines` are those of its file.
    pub fn text(&self, path: &str, lines: &[&str]) -> String {
        let own = lines.get(self.lines[0] as usize - 1..self.lines[1] as usize).unwrap_or_default();
        let mut text = format!("{path}\n{}", self.scope.join(" "));
        for line in self.said.lines().chain(own.iter().copied()) {
            text.push('\n');
            text.push_str(line);
        }
        text
    }
}

/// A piece of a file before neighbors are joined.
struct Piece {
    unit: CodeUnit,
    chars: usize,
}

/// Cuts a text into units; `language` is the one that [`crate::files::language_and_role`] names.
pub fn cut(text: &str, language: &str) -> Vec<CodeUnit> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = match (known(text, language), language) {
        (Some(items), _) => items,
        (None, "text") => [definitions::headings(&lines), fences::fenced(&lines)].concat(),
        (None, _) => definitions::definitions(&lines),
    };
    if language != "text" {
        found.extend(cells::cells(&lines));
    }
    found.retain(|item| item.lines[0] <= item.lines[1] && item.lines[1] as usize <= lines.len());
    found.sort_by_key(|item| (item.lines[0], std::cmp::Reverse(item.lines[1])));
    let mut cutter = Cutter { lines: &lines, pieces: Vec::new() };
    cutter.range([1, lines.len() as u32], &found, &mut Vec::new());
    joined(cutter.pieces)
}

/// Items of a text, where its language is one whose definitions are known and not guessed by their lines.
fn known(text: &str, language: &str) -> Option<Vec<CodeItem>> {
    match Language::named(language) {
        Some(language) => items(text, language),
        None => (language == "sql").then(|| statements::statements(&text.lines().collect::<Vec<_>>())),
    }
}

struct Cutter<'a> {
    lines: &'a [&'a str],
    pieces: Vec<Piece>,
}

impl Cutter<'_> {
    /// Cuts a range of lines; `items` are those that begin in it.
    fn range(&mut self, [mut from, to]: [u32; 2], mut items: &[CodeItem], scope: &mut Vec<String>) {
        while let Some((item, rest)) = items.split_first() {
            // What begins inside of an item before it and ends outside is a line that two items share.
            let start = item.lines[0].max(from);
            let inside = rest.iter().take_while(|inner| inner.lines[0] <= item.lines[1]).count();
            let end = item.lines[1].min(to);
            if end < start {
                items = rest;
                continue;
            }
            self.loose([from, start - 1], scope);
            self.item([start, end], item, &rest[..inside], scope);
            from = end + 1;
            items = &rest[inside..];
        }
        self.loose([from, to], scope);
    }

    fn item(&mut self, lines: [u32; 2], item: &CodeItem, inner: &[CodeItem], scope: &mut Vec<String>) {
        let head = item.code_line.clamp(lines[0], lines[1]);
        if self.chars(lines) <= MOST_CHARS {
            let names = [item].into_iter().chain(inner).map(|item| item.name.clone()).filter(|name| !name.is_empty());
            self.push(lines, names.collect(), scope, head);
            return;
        }
        let first = self.pieces.len();
        let outside = scope.len();
        scope.extend(Some(item.name.clone()).filter(|name| !name.is_empty()));
        match inner.is_empty() {
            true => self.loose(lines, scope),
            false => self.range(lines, inner, scope),
        }
        scope.truncate(outside);
        // The part with its head is where it is defined.
        if let Some(piece) = self.pieces[first..].first_mut().filter(|piece| piece.unit.lines[0] <= head) {
            if !item.name.is_empty() {
                piece.unit.names.insert(0, item.name.clone());
            }
            piece.unit.head = piece.unit.head.max(head.min(piece.unit.lines[1]));
        }
    }

    /// Lines that belong to no item further in.
    fn loose(&mut self, lines: [u32; 2], scope: &[String]) {
        for part in windows::cut(self.lines, lines, MOST_CHARS) {
            self.push(part, Vec::new(), scope, part[0] - 1);
        }
    }

    fn push(&mut self, [mut from, mut to]: [u32; 2], names: Vec<String>, scope: &[String], head: u32) {
        let empty = |line: u32| self.lines[line as usize - 1].trim().is_empty();
        while from <= to && empty(from) {
            from += 1;
        }
        while from <= to && empty(to) {
            to -= 1;
        }
        if from <= to {
            let chars = self.chars([from, to]);
            let unit = CodeUnit {
                lines: [from, to],
                names,
                scope: scope.to_vec(),
                head: head.clamp(from - 1, to),
                said: String::new(),
            };
            self.pieces.push(Piece { unit, chars });
        }
    }

    fn chars(&self, [from, to]: [u32; 2]) -> usize {
        (from..=to).map(|line| self.lines[line as usize - 1].len() + 1).sum()
    }
}

/// Small neighbors of one scope as one unit.
fn joined(pieces: Vec<Piece>) -> Vec<CodeUnit> {
    let mut units: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match units.last_mut() {
            Some(last) if last.chars + piece.chars <= TOGETHER && last.unit.scope == piece.unit.scope => {
                last.chars += piece.chars;
                last.unit.lines[1] = piece.unit.lines[1];
                last.unit.names.extend(piece.unit.names);
            }
            _ => units.push(piece),
        }
    }
    units.into_iter().map(|piece| piece.unit).collect()
}

#[cfg(test)]
mod tests;
