//! Tagged documentation (Javadoc, JSDoc, PHPDoc, Doxygen, YARD): the description before and between tags.

use super::{Markup, html};

/// Tags whose text is description.
const DESCRIBING: [&str; 10] =
    ["brief", "short", "summary", "details", "description", "desc", "fileoverview", "abstract", "par", "remark"];

/// Doxygen's blocks of code or layout, with what closes them.
const BLOCKS: [(&str, &str); 7] = [
    ("code", "endcode"),
    ("verbatim", "endverbatim"),
    ("dot", "enddot"),
    ("msc", "endmsc"),
    ("startuml", "enduml"),
    ("htmlonly", "endhtmlonly"),
    ("f[", "f]"),
];

/// Commands of Doxygen that mark the word after them.
const WORD_COMMANDS: [&str; 14] =
    ["p", "c", "a", "e", "em", "b", "ref", "n", "link", "endlink", "copybrief", "copydoc", "copydetails", "f$"];

/// The text without tags that are not description; each tag goes to the next one, in Doxygen to the next blank line.
pub(super) fn description(doc: &str, markup: Markup) -> String {
    if markup == Markup::Rdoc
        && let Some(text) = tomdoc(doc)
    {
        return text;
    }
    let mut kept = String::with_capacity(doc.len());
    let mut dropping = false;
    let mut until: Option<&str> = None;
    for line in doc.lines() {
        let text = line.trim_start();
        if let Some(end) = until {
            if text.trim_start_matches(['@', '\\']).starts_with(end) {
                until = None;
            }
            continue;
        }
        if markup == Markup::Rdoc && is_rdoc_directive(text) {
            continue;
        }
        let Some((tag, rest)) = tag(text.trim_start_matches(['*', ' ']), markup) else {
            if text.is_empty() && markup == Markup::Doxygen {
                dropping = false;
            }
            if !dropping {
                kept.push_str(line);
                kept.push('\n');
            }
            continue;
        };
        if let Some((_, end)) = BLOCKS.iter().find(|(start, _)| markup == Markup::Doxygen && tag == *start) {
            if !rest.contains(end) {
                until = Some(end);
            }
            continue;
        }
        dropping = !DESCRIBING.contains(&tag);
        if !dropping {
            kept.push_str(rest.trim_start());
            kept.push('\n');
        }
    }
    html::without_elements(&kept)
}

/// TomDoc's description: what follows `Public:` up to the first argument (`name - …`), `Examples` or `Returns …`.
fn tomdoc(doc: &str) -> Option<String> {
    let text = ["Public:", "Internal:", "Private:", "Deprecated:"]
        .iter()
        .find_map(|mark| doc.trim_start().strip_prefix(mark))?;
    let ends = |line: &str| {
        let is_argument = line.split_once(" - ").is_some_and(|(name, _)| !name.trim().contains(' '));
        is_argument
            || line.trim() == "Examples"
            || ["Returns ", "Raises ", "Yields "].iter().any(|mark| line.starts_with(mark))
    };
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default().trim_start();
    let kept: Vec<&str> = [first].into_iter().chain(lines.take_while(|line| !ends(line))).collect();
    Some(kept.join("\n"))
}

/// `:nodoc:`, `:call-seq:`, `:yields: x`.
fn is_rdoc_directive(text: &str) -> bool {
    let word = text.strip_prefix(':').and_then(|text| text.split_once(':')).map(|(word, _)| word);
    word.is_some_and(|word| {
        !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-' || byte == b'_')
    })
}

/// The tag that a line begins with, and the rest of the line.
fn tag(text: &str, markup: Markup) -> Option<(&str, &str)> {
    let name = match text.strip_prefix('@') {
        Some(name) => name,
        None => text.strip_prefix('\\').filter(|_| markup == Markup::Doxygen)?,
    };
    if let Some(rest) = name.strip_prefix("f[") {
        return Some(("f[", rest));
    }
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-').unwrap_or(name.len());
    let tag = &name[..end];
    // `@` alone, `@2x`, or a word command that begins a sentence is text.
    let is_text = !tag.starts_with(|c: char| c.is_ascii_alphabetic())
        || markup == Markup::Doxygen && WORD_COMMANDS.contains(&tag);
    (!is_text).then(|| (tag, &name[end..]))
}
