//! Answers of tools: places of a project within a budget, with what is to be known of them.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use wb_code::structure::EdgeClass;
use wb_search::answer::{CHARS, Extent};

use crate::live::ProjectNow;

/// Tokens of an answer, where nothing is said.
pub(crate) const TOKENS: u32 = 2_000;
/// Fewest and most tokens of an answer: with fewer there is no room to say why it is empty.
pub(crate) const BUDGETS: [u32; 2] = [300, 20_000];
/// Bytes in which changed files are named; the others are counted.
const NAMED: usize = 200;
/// Bytes of a remark, and of what a model says of a place.
pub(crate) const REMARK: usize = 240;
/// Bytes of what is known once the answers are: what was left out, and where the next ones begin.
const AFTERWARDS: usize = 100;

/// A place of the project that answers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct FoundPlace {
    /// `path:line` or `path:first-last`.
    pub at: String,
    /// Names that are defined there, or of the item around it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Kind of definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Reason to believe it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub edge: Option<EdgeClass>,
    /// Lines of calls, or of matches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<u64>,
    /// Steps from what was asked for, or depth among the items of a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<usize>,
    /// Share of the place that `text` has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub part: Option<Extent>,
    /// A model's words on it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// Lines of the file that an excerpt has.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub shown: String,
    /// Lines of the file; `…` stands for some.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// All lines of the place, where `text` is an excerpt.
    #[serde(skip)]
    pub whole: Option<String>,
    /// Lines that say what it is, where `text` does not fit; empty for none.
    #[serde(skip)]
    pub head: String,
}

/// An answer of a tool.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub(crate) struct ToolAnswer {
    /// Commit that was indexed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Files that have changed since.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stale: Vec<String>,
    /// Remarks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Definitions that were asked about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub of: Vec<String>,
    /// Confidence that something here answers, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f32>,
    /// Answers in all, where they can be counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
    /// Value of `skip` for those that come next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<usize>,
    /// Reason that there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empty: Option<String>,
    /// Answers, best first.
    pub answers: Vec<FoundPlace>,
}

/// The part of all answers that is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AnswerPage {
    /// Answers before it.
    pub skip: usize,
    /// Tokens of the answer as JSON.
    pub budget: usize,
}

impl ToolAnswer {
    /// An answer to a question to a project as it is now.
    pub fn of(now: &ProjectNow) -> Self {
        let (mut stale, mut left): (Vec<String>, usize) = (Vec::new(), NAMED);
        let n_stale = now.stale().count();
        for path in now.stale() {
            let Some(rest) = left.checked_sub(path.len()) else { break };
            left = rest;
            stale.push(path.clone());
        }
        if n_stale > stale.len() {
            stale.push(format!("and {} more", n_stale - stale.len()));
        }
        let (commit, notes) = (now.index().commit().map(str::to_owned), now.notes.clone());
        Self { commit, stale, notes, ..Self::default() }
    }

    /// The answer as JSON with those of `found` that fit, in their order: with their text, with its head alone, or without; then
    /// excerpts become whole, best first, as far as there is room.
    /// `found` begins after those that were skipped; `is_all` says that nothing comes after them.
    pub fn within(mut self, page: AnswerPage, found: Vec<FoundPlace>, is_all: bool) -> Value {
        self.notes.iter_mut().chain(&mut self.empty).for_each(|remark| *remark = short(remark, REMARK));
        let most = page.budget.saturating_mul(CHARS).saturating_sub(AFTERWARDS);
        let mut frame = size(&cleaned(&self));
        while frame > most && self.of.pop().or_else(|| self.notes.pop()).is_some() {
            frame = size(&cleaned(&self));
        }
        let n_found = found.len();
        let (mut left, mut dropped) = (most.saturating_sub(frame), 0);
        for place in found {
            match fitting(place, left) {
                Some((bytes, place)) => {
                    left -= bytes;
                    self.answers.push(place);
                }
                // Whoever asks for the next ones would wait for it forever.
                None if self.answers.is_empty() => dropped += 1,
                None => break,
            }
        }
        for place in &mut self.answers {
            left = widened(place, left);
        }
        if dropped > 0 {
            self.notes.push(format!("{dropped} too large for the budget"));
        }
        let told = self.answers.len() + dropped;
        self.next = (told < n_found || !is_all).then_some(page.skip + told);
        cleaned(&self)
    }
}

/// The most of a place that takes no more than so many bytes, and what it takes.
fn fitting(mut place: FoundPlace, left: usize) -> Option<(usize, FoundPlace)> {
    let takes = |place: &FoundPlace| size(&cleaned(place)) + 1;
    let whole = takes(&place);
    if whole <= left {
        return Some((whole, place));
    }
    place.whole = None;
    place.shown.clear();
    if !place.head.is_empty() {
        place.text = std::mem::take(&mut place.head);
        place.part = Some(Extent::Head);
        let short = takes(&place);
        if short <= left {
            return Some((short, place));
        }
    }
    place.text.clear();
    place.part = None;
    let told = takes(&place);
    if told <= left {
        return Some((told, place));
    }
    place.summary.clear();
    let bare = takes(&place);
    (bare <= left).then_some((bare, place))
}

/// Makes an excerpt whole if so many bytes more hold it; those that are left.
fn widened(place: &mut FoundPlace, left: usize) -> usize {
    let Some(text) = place.whole.take() else { return left };
    let whole = FoundPlace { text, part: None, shown: String::new(), ..place.clone() };
    let more = size(&cleaned(&whole)).saturating_sub(size(&cleaned(place)));
    let Some(rest) = left.checked_sub(more) else { return left };
    *place = whole;
    rest
}

fn size(value: &Value) -> usize {
    value.to_string().len()
}

/// A value whose strings have no character that does more than stand there.
fn cleaned(value: &impl Serialize) -> Value {
    let mut value = serde_json::to_value(value).unwrap_or_default();
    clean_all(&mut value);
    value
}

fn clean_all(value: &mut Value) {
    match value {
        Value::String(text) if text.contains(is_hidden) => *text = visible(text),
        Value::Array(all) => all.iter_mut().for_each(clean_all),
        Value::Object(fields) => fields.values_mut().for_each(clean_all),
        _ => {}
    }
}

/// A text without control characters but for those between words and lines, without marks that turn the direction of
/// writing, and without characters that no reader sees.
pub(crate) fn visible(text: &str) -> String {
    text.replace(is_hidden, "\u{fffd}")
}

fn is_hidden(c: char) -> bool {
    let is_control = c.is_control() && c != '\t' && c != '\n';
    let turns = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    is_control || turns || matches!(c, '\u{e0000}'..='\u{e007f}')
}

/// The beginning of a text.
pub(crate) fn short(text: &str, bytes: usize) -> String {
    match text.floor_char_boundary(bytes) {
        end if end < text.len() => format!("{}…", &text[..end]),
        _ => text.to_owned(),
    }
}

/// A place by its path and its lines.
pub(crate) fn at(path: &str, lines: [u32; 2]) -> String {
    format!("{path}:{}", numbers(lines))
}

/// Lines by their numbers: `7`, `7-9`.
pub(crate) fn numbers([from, to]: [u32; 2]) -> String {
    if to > from { format!("{from}-{to}") } else { from.to_string() }
}

#[cfg(test)]
mod tests;
