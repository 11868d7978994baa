//! Places where a question's words are the words of a table's or column's name.

use super::cues::stands_for;
use crate::{schema::SchemaCatalog, words::Word};

/// A name found in a question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    /// The first word.
    pub start: usize,
    /// Behind the last word.
    pub end: usize,
    /// True where a table is named, false for a column.
    pub is_table: bool,
    /// The place of the table or column in the catalog.
    pub place: usize,
    /// 1 for the whole name.
    pub score: f64,
    /// Number of words that were found.
    pub matched: usize,
}

/// Names that cover less of theirs are none.
const LEAST: f64 = 0.45;
/// Least share of the words of a table's name.
const LEAST_OF_TABLE: f64 = 0.5;

/// All names that the question may name, but for words that are taken.
pub(crate) fn found(words: &[Word], catalog: &SchemaCatalog, taken: &[bool]) -> Vec<Found> {
    let mut all = Vec::new();
    for (place, table) in catalog.tables.iter().enumerate() {
        if table.columns.iter().any(|&at| catalog.columns[at].plain) {
            windows(words, taken, &table.stems, &[], |start, end, score, matched| {
                if score >= LEAST_OF_TABLE {
                    all.push(Found { start, end, is_table: true, place, score, matched });
                }
            });
        }
    }
    for (place, column) in catalog.columns.iter().enumerate().filter(|(_, column)| column.plain) {
        let table = &catalog.tables[column.table];
        windows(words, taken, &column.stems, &table.stems, |start, end, score, matched| {
            // A single word that is the table's name too means the table.
            let hidden = column.stems.iter().all(|stem| table.stems.contains(stem));
            let score = if hidden { score * 0.7 } else { score };
            all.push(Found { start, end, is_table: false, place, score, matched });
        });
    }
    all
}

/// Windows of words that hold words of a name: the best from each first word on. Words of `optional` may be missing.
fn windows(
    words: &[Word],
    taken: &[bool],
    stems: &[String],
    optional: &[String],
    mut report: impl FnMut(usize, usize, f64, usize),
) {
    let weight = |stem: &String| match stem.as_str() {
        "id" | "code" | "name" | "number" | "type" => 0.8,
        "in" | "has" | "have" | "by" | "to" | "and" | "for" | "on" | "is" | "at" | "with" => 0.2,
        _ => 1.0,
    };
    let total: f64 = stems.iter().map(weight).sum();
    let owned: f64 = stems.iter().filter(|stem| optional.contains(stem)).map(weight).sum();
    for start in 0..words.len() {
        // `number of flights` is a count, and no flight number.
        let counts = words[start].stem == "number" && words.get(start + 1).is_some_and(|next| next.stem == "of");
        if counts && stems.len() > 1 {
            continue;
        }
        let (mut best, mut found): (Option<(f64, usize, usize)>, Vec<usize>) = (None, Vec::new());
        for end in start..(start + stems.len() + 2).min(words.len()) {
            if taken[end] {
                break;
            }
            let hit = (0..stems.len()).find(|at| !found.contains(at) && stands_for(&words[end], &stems[*at]));
            let Some(hit) = hit else {
                let gap = ["of", "the", "a", "in", "for", "each"].contains(&words[end].stem.as_str());
                if end == start || !gap {
                    break;
                }
                continue;
            };
            found.push(hit);
            let exact = words[end].stem == stems[hit];
            let covered: f64 = found.iter().map(|&at| weight(&stems[at])).sum();
            let own: f64 =
                found.iter().filter(|&&at| optional.contains(&stems[at])).map(|&at| weight(&stems[at])).sum();
            // What is left out of the table's own words costs little.
            let missing = (total - owned) - (covered - own);
            let gaps = (end + 1 - start - found.len()) as f64;
            let only_owned = covered - own <= 0.0 && total - owned > 0.0;
            let share = if only_owned { 0.3 } else { 1.0 - missing / total - 0.08 * (owned - own) / total };
            let score = share - 0.06 * gaps - if exact { 0.0 } else { 0.12 };
            if best.is_none_or(|(known, _, count)| (found.len(), score) > (count, known)) {
                best = Some((score, end + 1, found.len()));
            }
        }
        if let Some((score, end, matched)) = best.filter(|(score, ..)| *score >= LEAST) {
            report(start, end, score, matched);
        }
    }
}
