//! New names: drawn from a pool or made by a system, never a word that the text, or its language, already has.

use std::collections::BTreeSet;

use super::Draw;

/// Names that say little, and that are no keyword or common function in any of the languages.
const POOL: &[&str] = &[
    "value",
    "item",
    "entry",
    "data",
    "result",
    "current",
    "total",
    "amount",
    "left",
    "right",
    "first",
    "second",
    "element",
    "record",
    "source",
    "target",
    "limit",
    "width",
    "height",
    "offset",
    "position",
    "part",
    "piece",
    "node",
    "cell",
    "mark",
    "state",
    "flag",
    "level",
    "weight",
    "score",
    "number",
    "size",
    "text",
    "word",
    "token",
    "label",
    "group",
    "batch",
    "chunk",
    "payload",
    "content",
    "info",
    "param",
    "arg",
    "other",
    "given",
    "found",
    "known",
    "pending",
    "seen",
    "buffer",
    "cache",
    "store",
    "holder",
    "acc",
    "tmp",
    "temp",
    "aux",
    "extra",
    "base",
    "origin",
    "start",
    "finish",
    "lower",
    "upper",
    "previous",
    "following",
    "candidate",
    "choice",
    "option",
    "answer",
    "output",
    "outcome",
    "member",
    "unit",
    "figure",
    "measure",
    "quantity",
    "series",
    "items",
    "values",
    "elements",
    "entries",
    "parts",
    "records",
    "numbers",
    "words",
    "pairs",
    "rows",
    "cols",
    "lines",
    "points",
    "steps",
    "counter",
    "cursor",
];

/// Letters that name things in short code; `l`, `O` and the like left out.
const LETTERS: &[&str] =
    &["a", "b", "c", "d", "e", "g", "h", "k", "m", "n", "p", "q", "r", "s", "t", "u", "v", "w", "x", "y", "z"];

/// The origin of new names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Pool,
    Letters,
    /// `v0`, `v1`, …
    Numbered(&'static str),
}

/// A maker of names that are all different.
pub(super) struct Names<'w> {
    taken: BTreeSet<&'w str>,
    given: BTreeSet<String>,
    style: Style,
    order: Vec<usize>,
    next: usize,
}

impl<'w> Names<'w> {
    /// Names outside of `taken`, in a style that is drawn.
    pub(super) fn new(taken: BTreeSet<&'w str>, draw: &mut Draw) -> Self {
        let style = match draw.below(5) {
            0 => Style::Letters,
            1 => Style::Numbered(["v", "var", "x", "arg", "local", "name"][draw.below(6)]),
            _ => Style::Pool,
        };
        let order = draw.order(if style == Style::Letters { LETTERS.len() } else { POOL.len() });
        Self { taken, given: BTreeSet::new(), style, order, next: 0 }
    }

    /// The next one.
    pub(super) fn fresh(&mut self) -> String {
        loop {
            let at = self.next;
            self.next += 1;
            let name = match (self.style, self.order.get(at)) {
                (Style::Pool, Some(place)) => POOL.get(*place).copied().unwrap_or("value").to_owned(),
                (Style::Letters, Some(place)) => LETTERS.get(*place).copied().unwrap_or("x").to_owned(),
                (Style::Numbered(stem), _) => format!("{stem}{at}"),
                (_, None) => format!("value{at}"),
            };
            if !self.taken.contains(name.as_str()) && self.given.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// A name for one thing: the first of `wishes` that is free, else the last with a number.
pub(super) fn fresh(taken: &BTreeSet<&str>, wishes: &[&str]) -> String {
    if let Some(free) = wishes.iter().find(|wish| !taken.contains(**wish)) {
        return (*free).to_owned();
    }
    let stem = wishes.last().copied().unwrap_or("value");
    let mut number = 2;
    loop {
        let name = format!("{stem}{number}");
        if !taken.contains(name.as_str()) {
            return name;
        }
        number += 1;
    }
}
