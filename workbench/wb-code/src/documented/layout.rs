//! Lines and indentation: cutting documentation out of code and bringing code to its own margin.

use std::{borrow::Cow, ops::Range};

/// True where only white space stands before `at` on its line.
pub(crate) fn begins_line(source: &str, at: usize) -> bool {
    indentation_before(source, at).is_some()
}

/// The white space before `at` on its line, if there is nothing else.
fn indentation_before(source: &str, at: usize) -> Option<&str> {
    let line = line_start(source, at);
    source.get(line..at).filter(|space| space.trim().is_empty())
}

fn line_start(source: &str, at: usize) -> usize {
    source.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |newline| newline + 1)
}

/// Positions where the lines of a source begin.
pub(crate) struct Lines(Vec<usize>);

impl Lines {
    pub(crate) fn of(source: &str) -> Self {
        let after_newlines = source.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Self([0].into_iter().chain(after_newlines).collect())
    }

    /// First and last line of a range, from 1, white space at its end aside.
    pub(crate) fn span(&self, source: &str, range: &Range<usize>) -> [u32; 2] {
        let end = range.start + source.get(range.clone()).unwrap_or_default().trim_end().len();
        [range.start, end].map(|at| u32::try_from(self.0.partition_point(|start| *start <= at)).unwrap_or(u32::MAX))
    }
}

/// The text of `code` without the `cuts` in it, lines that become empty by a cut gone, dedented, with `\n` line ends.
pub(crate) fn without(source: &str, code: Range<usize>, cuts: &[Range<usize>]) -> Option<String> {
    let mut kept = String::with_capacity(code.len());
    let mut at = code.start;
    for cut in cuts {
        kept.push_str(source.get(at..cut.start)?);
        at = cut.end;
        let after = source.get(cut.end..code.end)?;
        let alone = kept.rsplit('\n').next().is_none_or(|line| line.trim().is_empty());
        let rest_of_line = after.split_inclusive('\n').next().unwrap_or_default();
        if alone && rest_of_line.trim().is_empty() {
            kept.truncate(kept.rfind('\n').map_or(0, |newline| newline + 1));
            at += rest_of_line.len();
        }
    }
    kept.push_str(source.get(at..code.end)?);
    let line = line_start(source, code.start);
    let before = source.get(line..code.start)?;
    let margin = &before[..before.len() - before.trim_start().len()];
    let unix: Cow<'_, str> = if kept.contains('\r') { kept.replace("\r\n", "\n").into() } else { kept.as_str().into() };
    Some(strip_margin(unix.trim_end(), margin))
}

/// Every line but the first without `margin`, or without as much of it as it has.
fn strip_margin(text: &str, margin: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            result.push('\n');
        }
        let shared = line.bytes().zip(margin.bytes()).take_while(|(one, other)| one == other).count();
        let cut = if index == 0 { 0 } else { shared };
        result.push_str(line.get(cut..).unwrap_or(line).trim_end());
    }
    result.trim_start_matches('\n').to_owned()
}

/// The text without the white space that all of its lines begin with, line ends trimmed.
pub(crate) fn dedent(text: &str) -> String {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let margin = text.lines().filter(|line| !line.trim().is_empty()).map(indentation).min().unwrap_or(0);
    let lines: Vec<&str> =
        text.lines().map(|line| line.get(margin..).unwrap_or_else(|| line.trim_start()).trim_end()).collect();
    let mut dedented = lines.join("\n");
    if text.ends_with('\n') {
        dedented.push('\n');
    }
    dedented
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_margin_is_taken_off_where_it_is() {
        assert_eq!(strip_margin("fn a() {\n        b\n    }\n\n    x", "    "), "fn a() {\n    b\n}\n\nx");
        assert_eq!(strip_margin("a\n  b", "    "), "a\nb");
        assert_eq!(dedent("  a\n    b\n\n  c"), "a\n  b\n\nc");
    }

    #[test]
    fn a_cut_takes_its_line_along() {
        let source = "#[a]\n/// doc\nfn f() {}\n";
        let doc = 5..12;
        assert_eq!(without(source, 0..22, &[doc]).unwrap(), "#[a]\nfn f() {}");
        assert_eq!(Lines::of(source).span(source, &(0..22)), [1, 3]);
        assert_eq!(Lines::of(source).span(source, &(13..23)), [3, 3]);
    }
}
