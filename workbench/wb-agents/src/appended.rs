//! Lines at the end of a text, such that taking them out gives the text before: one empty line in front, and a line end
//! behind where the text had one at its end.

use std::ops::Range;

use crate::entry::TakenOut;

/// Mark of byte order, which some editors put first.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The mark of byte order that a text begins with, if any, and the rest.
pub fn split_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 })
}

/// The line end of a text: that of its first line.
pub fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// The text with `lines`, which have no line end behind them, at its end.
pub fn append(text: &str, lines: &str) -> String {
    let end = line_end(text);
    let (_, body) = split_mark(text);
    if body.is_empty() || body.ends_with('\n') {
        format!("{text}{end}{lines}{end}")
    } else {
        format!("{text}{end}{end}{lines}")
    }
}

/// A new file of `lines`.
pub fn whole(lines: &str, folder_is_new: bool) -> String {
    format!("{lines}{}", if folder_is_new { "\n" } else { "" })
}

/// The text without the lines in `range`, as they were put there by [`append`] or [`whole`].
pub fn take(text: &str, range: Range<usize>) -> TakenOut {
    let (before, after) = (&text[..range.start], &text[range.end..]);
    if before.is_empty() && after.trim().is_empty() {
        return TakenOut::File { folders: !after.is_empty() };
    }
    let before = without_end(before);
    TakenOut::Rest(match without_begin(after) {
        Some(after) => format!("{before}{after}"),
        None => format!("{}{after}", without_end(before)),
    })
}

/// The text without the line end at its end.
fn without_end(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

/// The text without the line end that it begins with, if it does.
fn without_begin(text: &str) -> Option<&str> {
    text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n'))
}
