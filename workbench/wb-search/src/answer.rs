//! An answer to a question: what was found with its text, as people and as programs read it.

use std::{collections::HashMap, fmt::Write};

use serde::Serialize;

use crate::{CodeIndex, FoundUnit, RankingWeights, Result, SearchQuestion, index::Changes};

/// Characters of a token, where a budget is kept.
const CHARS: usize = 4;
/// Lines that a person is shown of each unit.
const SHOWN: usize = 5;

/// The share of a unit that an answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// All of its lines.
    Whole,
    /// The comment above and the line that defines it.
    Head,
    /// Nothing: the file is gone or has changed, and its text would not be what was found.
    Stale,
}

/// A unit with its text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnsweredUnit {
    /// The unit.
    #[serde(flatten)]
    pub found: FoundUnit,
    /// The share of it that is here.
    pub extent: Extent,
    /// Its lines, without control characters.
    pub text: String,
}

/// An answer of an index to a question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SearchAnswer {
    /// The question.
    pub question: String,
    /// Files of the index.
    pub files: usize,
    /// Units of the index.
    pub units: usize,
    /// The encoder whose vectors were asked, as it was named; none where words alone were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoder: Option<String>,
    /// Files that have changed or gone since they were indexed.
    pub stale: Vec<String>,
    /// Best first.
    pub answers: Vec<AnsweredUnit>,
    /// The reason that there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empty: Option<String>,
}

impl SearchAnswer {
    /// Asks an index for at most `n` units, and for at most so many tokens of text where there is a budget: units whole
    /// as long as they fit, then their heads.
    pub fn of(
        index: &CodeIndex,
        text: &str,
        question: &SearchQuestion,
        weights: &RankingWeights,
        n: usize,
        budget: Option<usize>,
    ) -> Result<Self> {
        let Changes { changed, gone } = index.stale()?;
        let mut lines = FileLines { index, files: HashMap::new() };
        let mut left = budget.map_or(usize::MAX, |tokens| tokens.saturating_mul(CHARS));
        let mut answers = Vec::new();
        for found in index.search(question, weights, n)? {
            let whole = lines.of(&found, found.lines[1]);
            let head = lines.of(&found, index.units()[found.unit].unit.head);
            let fits = |text: &Option<String>| text.as_ref().is_some_and(|text| text.len() <= left);
            let (extent, text) = match (whole, head) {
                (None, _) => (Extent::Stale, String::new()),
                (whole @ Some(_), _) if fits(&whole) => (Extent::Whole, whole.unwrap_or_default()),
                (_, Some(head)) if !head.is_empty() && fits(&Some(head.clone())) => (Extent::Head, head),
                _ => continue,
            };
            left -= text.len().min(left);
            answers.push(AnsweredUnit { found, extent, text });
        }
        let stale = changed.into_iter().chain(gone).collect();
        let empty = answers.is_empty().then(|| why_empty(index, question, budget));
        let (files, units) = (index.n_readable(), index.units().len());
        let empty = empty.transpose()?;
        let asked = index.vectors().filter(|_| !question.vector.is_empty());
        let encoder = asked.map(|vectors| vectors.encoder().opens.clone());
        Ok(Self { question: text.to_owned(), files, units, encoder, stale, answers, empty })
    }

    /// Text for a person: a line for each unit, and the first of its lines.
    pub fn text(&self, explain: bool) -> String {
        let mut told = String::new();
        for AnsweredUnit { found, extent, text } in &self.answers {
            let names = found.names.join(", ");
            let space = if names.is_empty() { "" } else { "  " };
            let _ = writeln!(told, "{}:{}-{}{space}{names}", clean(&found.path), found.lines[0], found.lines[1]);
            if explain {
                let s = &found.signals;
                let _ = write!(
                    told,
                    "    score {:.3}: words {:.2}, path {:.2}, file name {:.2}, defines {:.2}, rest of the file {:.2}, ",
                    found.score, s.words, s.path, s.stem, s.definition, s.coherence
                );
                let _ = self.encoder.as_ref().map(|_| write!(told, "meaning {:.2}, ", s.meaning));
                let _ = writeln!(told, "role {:.2}", s.role);
            }
            if *extent == Extent::Stale {
                let _ = writeln!(told, "    (has changed since it was indexed; `wb search --fresh` reads it again)");
            }
            for line in text.lines().filter(|line| !line.trim().is_empty()).take(SHOWN) {
                let _ = writeln!(told, "    {line}");
            }
            told.push('\n');
        }
        told.extend(self.empty.iter().map(|why| format!("nothing found: {why}\n")));
        told.trim_end().to_owned()
    }
}

/// Reason that nothing was found.
fn why_empty(index: &CodeIndex, question: &SearchQuestion, budget: Option<usize>) -> Result<String> {
    let mut unknown = Vec::new();
    for (word, _) in question.words() {
        let known = index.postings(word)?.is_some_and(|postings| !postings.units.is_empty());
        unknown.extend((!known).then_some(format!("`{word}`")));
    }
    Ok(match unknown.len() {
        _ if question.words().is_empty() => "the question has no words".to_owned(),
        n if n == question.words().len() => format!("none of the files has {}", unknown.join(", ")),
        _ if budget.is_some() => "nothing of it fits into the budget, or is in the files that may answer".to_owned(),
        _ => "the files that have its words are not among those that may answer".to_owned(),
    })
}

/// Lines of files as they were indexed.
struct FileLines<'a> {
    index: &'a CodeIndex,
    files: HashMap<u32, Option<Vec<String>>>,
}

impl FileLines<'_> {
    /// A unit's lines up to one of them; `None` where the file is not what it was.
    fn of(&mut self, found: &FoundUnit, to: u32) -> Option<String> {
        let file = self.index.units()[found.unit].file;
        let lines = self.files.entry(file).or_insert_with(|| {
            let text = std::fs::read_to_string(self.index.root().join(&found.path)).ok()?;
            let current = self.index.is_current(file as usize, &text);
            current.then(|| text.lines().map(clean).collect())
        });
        let taken = lines.as_ref()?.get(found.lines[0] as usize - 1..to as usize)?;
        Some(taken.join("\n"))
    }
}

/// A line without what a terminal would take for a command.
fn clean(line: &str) -> String {
    line.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}
