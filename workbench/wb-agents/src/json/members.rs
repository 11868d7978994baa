//! One member of an object put in or taken out, and every other byte left as it is.

use std::ops::Range;

use jsonc_parser::ast::Object;
use serde_json::Value;

use super::render::{Layout, on_lines, on_one_line, quoted};
use crate::appended::line_end;

/// The text with a member behind the last one of an object. `is_made` is for an object that is new with our entry: on one
/// line, it has spaces inside of its braces.
pub fn insert(body: &str, object: &Object, key: &str, value: &Value, is_made: bool) -> String {
    let member = |layout: Option<&Layout>| {
        let value = layout.map_or_else(|| on_one_line(value, is_made), |layout| on_lines(value, layout));
        format!("{}: {value}", quoted(key))
    };
    let Some(last) = object.properties.last() else {
        return edited(body, vec![(after_brace(object)..after_brace(object), member(None))]);
    };
    let end = line_end(body);
    let comma = comma_after(body, last.range.end);
    let place = end_of_comments(body, comma.map_or(last.range.end, |comma| comma + 1));
    let unit = unit(body, object);
    let (before, member) = match indent_of_own_line(body, last.range.start) {
        Some(base) => (format!("{end}{base}"), member(Some(&Layout { unit, base, end }))),
        None if is_after_line_comment(body, place) => {
            (format!("{end}{}{unit}", indent_of_line(body, object.range.start)), member(None))
        }
        None => (" ".to_owned(), member(None)),
    };
    let mut edits = Vec::new();
    if comma.is_none() {
        edits.push((last.range.end..last.range.end, ",".to_owned()));
    }
    let after = if comma.is_some() { "," } else { "" };
    edits.push((place..place, [&before, &member, after].concat()));
    edited(body, edits)
}

/// The text without a member of an object, as [`insert`] put it there.
pub fn take_out(body: &str, object: &Object, at: usize) -> String {
    let range = &object.properties[at].range;
    let comma = comma_after(body, range.end);
    let is_last = at + 1 == object.properties.len();
    let mut edits = Vec::new();
    if range.start == after_brace(object) && is_last {
        edits.push((range.start..range.end, String::new()));
    } else {
        let before = at.checked_sub(1).map(|before| object.properties[before].range.end);
        if let (true, None, Some(before)) = (is_last, comma, before)
            && let Some(comma) = comma_after(body, before)
        {
            edits.push((comma..comma + 1, String::new()));
        }
        edits.push((start_with_space(body, range.start)..range.end, String::new()));
    }
    edits.extend(comma.map(|comma| (comma..comma + 1, String::new())));
    edited(body, edits)
}

/// True where an object has our entry alone and came with it: a space or a line end stands behind its brace.
pub fn is_made(body: &str, servers: &Object) -> bool {
    let [only] = servers.properties.as_slice() else { return false };
    let before = &body[after_brace(servers)..only.range.start];
    let behind = &body[only.range.end..servers.range.end - 1];
    let is_blank = |text: &str| text.trim_matches([' ', '\t', '\r', '\n']).is_empty();
    !before.is_empty() && is_blank(before) && is_blank(behind.trim_start().strip_prefix(',').unwrap_or(behind))
}

/// The number of a member that is there.
pub fn place_of_member(object: &Object, key: &str) -> usize {
    object.properties.iter().position(|member| member.name.as_str() == key).unwrap_or_default()
}

/// Indent of each level: what the last member has more than the line on which its object begins.
pub fn unit<'a>(body: &'a str, object: &Object) -> &'a str {
    let outer = indent_of_line(body, object.range.start);
    let inner = object.properties.last().and_then(|last| indent_of_own_line(body, last.range.start));
    inner.and_then(|inner| inner.strip_prefix(outer)).filter(|unit| !unit.is_empty()).unwrap_or("  ")
}

/// Indent of the line that a byte is on.
pub fn indent_of_line(body: &str, at: usize) -> &str {
    let line = &body[body[..at].rfind('\n').map_or(0, |end| end + 1)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Indent of a member that is the first on its line.
fn indent_of_own_line(body: &str, at: usize) -> Option<&str> {
    let before = body[..at].trim_end_matches([' ', '\t']);
    before.ends_with('\n').then(|| &body[before.len()..at])
}

fn after_brace(object: &Object) -> usize {
    object.range.start + 1
}

/// The place of the space before a byte, with one line end at most.
fn start_with_space(body: &str, at: usize) -> usize {
    let before = body[..at].trim_end_matches([' ', '\t']);
    let before = before.strip_suffix('\n').map_or(before, |line| line.strip_suffix('\r').unwrap_or(line));
    before.len()
}

/// The place of the comma that follows a value, after space and comments.
fn comma_after(body: &str, mut at: usize) -> Option<usize> {
    loop {
        at += body[at..].len() - body[at..].trim_start().len();
        match comment(body, at) {
            Some(comment) => at = comment.end,
            None => return body[at..].starts_with(',').then_some(at),
        }
    }
}

/// The end of comments that follow on the same line; of one that goes on to another line, its beginning.
fn end_of_comments(body: &str, from: usize) -> usize {
    let mut end = from;
    loop {
        let rest = &body[end..];
        let at = end + rest.len() - rest.trim_start_matches([' ', '\t']).len();
        match comment(body, at) {
            Some(comment) if !body[comment.clone()].contains('\n') => end = comment.end,
            _ => return end,
        }
    }
}

fn is_after_line_comment(body: &str, place: usize) -> bool {
    let rest = &body[place..];
    let line = &body[body[..place].rfind('\n').map_or(0, |end| end + 1)..place];
    line.contains("//") && (rest.is_empty() || rest.starts_with(['\r', '\n']))
}

/// The bytes of a comment that begins at `at`, without the end of its line.
fn comment(body: &str, at: usize) -> Option<Range<usize>> {
    let rest = &body[at..];
    if rest.starts_with("//") {
        return Some(at..at + rest.find(['\r', '\n']).unwrap_or(rest.len()));
    }
    let inside = rest.strip_prefix("/*")?;
    Some(at..at + 2 + inside.find("*/").map_or(inside.len(), |end| end + 2))
}

/// The text with some ranges replaced, which do not overlap.
fn edited(body: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| range.start);
    let mut text = String::with_capacity(body.len() + 512);
    let mut done = 0;
    for (range, new) in edits {
        text.push_str(&body[done..range.start]);
        text.push_str(&new);
        done = range.end;
    }
    text.push_str(&body[done..]);
    text
}
