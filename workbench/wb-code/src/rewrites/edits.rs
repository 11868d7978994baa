//! Changes of a text by byte ranges: collected in any order, checked to be apart, made at once.

use std::ops::Range;

/// Replacements of byte ranges of one text, none of which may touch another's bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edits(Vec<(Range<usize>, String)>);

/// Two edits meet, or one lies outside of the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the edit of bytes {}..{} overlaps another or lies outside of the text", .0.start, .0.end)]
pub struct BadEdit(pub Range<usize>);

impl Edits {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts `text` where the bytes of `range` are.
    pub fn replace(&mut self, range: Range<usize>, text: impl Into<String>) {
        self.0.push((range, text.into()));
    }

    /// Puts `text` before the byte `at`.
    pub fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.replace(at..at, text);
    }

    /// Takes the bytes of `range` out.
    pub fn remove(&mut self, range: Range<usize>) {
        self.replace(range, String::new());
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Number of edits.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The text with all edits made. An insertion at the border of a replaced range stands before or after it;
    /// two insertions at one place have no order and are refused as an overlap.
    pub fn apply(&self, text: &str) -> Result<String, BadEdit> {
        let mut edits: Vec<&(Range<usize>, String)> = self.0.iter().collect();
        edits.sort_by_key(|(range, _)| (range.start, range.end));
        let mut result = String::with_capacity(text.len() + 64);
        let mut at = 0;
        let mut inserted = None;
        for (range, new) in edits {
            let is_second = range.is_empty() && inserted == Some(range.start);
            let between =
                if range.start < at || range.end < range.start || is_second { None } else { text.get(at..range.start) };
            let (Some(between), true) = (between, text.get(range.clone()).is_some()) else {
                return Err(BadEdit(range.clone()));
            };
            result.push_str(between);
            result.push_str(new);
            at = range.end;
            inserted = range.is_empty().then_some(range.start);
        }
        result.push_str(text.get(at..).unwrap_or_default());
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(list: &[(Range<usize>, &str)]) -> Edits {
        let mut edits = Edits::new();
        for (range, text) in list {
            edits.replace(range.clone(), *text);
        }
        edits
    }

    #[test]
    fn edits_are_made_at_once_in_any_order() {
        assert_eq!(edits(&[(4..5, "yy"), (0..1, "xx")]).apply("a = b").unwrap(), "xx = yy");
        assert_eq!(edits(&[(0..1, ""), (1..1, "c")]).apply("ab").unwrap(), "cb");
        assert_eq!(edits(&[(1..1, "c"), (1..2, "d")]).apply("ab").unwrap(), "acd");
        assert_eq!(Edits::new().apply("ab").unwrap(), "ab");
    }

    #[test]
    fn overlaps_and_ranges_outside_are_refused() {
        for list in [
            vec![(0..2, "x"), (1..3, "y")],
            vec![(0..3, "x"), (1..1, "y")],
            vec![(1..1, "x"), (1..1, "y")],
            vec![(2..9, "x")],
            vec![(4..5, "x")],
        ] {
            assert!(edits(&list).apply("abcé").is_err(), "{list:?}");
        }
    }
}
