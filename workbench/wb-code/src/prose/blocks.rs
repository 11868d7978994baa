//! Line by line: code blocks, tables, headings, link definitions and list marks out of a description.

use std::collections::BTreeSet;

use super::{FencePlace, FenceReader, Markup};

/// Headings over what is no description of a function, in lower case.
const SIDE_SECTIONS: [&str; 29] = [
    "safety",
    "panics",
    "panic",
    "errors",
    "error",
    "example",
    "examples",
    "usage",
    "arguments",
    "args",
    "parameters",
    "params",
    "inputs",
    "returns",
    "return",
    "return value",
    "return values",
    "output",
    "see also",
    "note",
    "notes",
    "references",
    "implementation",
    "implementation notes",
    "warning",
    "caution",
    "availability",
    "compatibility",
    "platform-specific behavior",
];

/// The prose of a description: everything before the first heading.
///
/// Where nothing stands there, the first section that has prose and is not about safety, errors, examples or the like.
pub(super) fn description(doc: &str, markup: Markup) -> String {
    let lines = without_fences(doc);
    let lines = without_indented_code(lines, markup);
    let mut sections = vec![String::new()];
    let mut is_side = false;
    let start = |title: &str, sections: &mut Vec<String>| {
        let title = title.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        sections.push(String::new());
        SIDE_SECTIONS.contains(&title.as_str())
    };
    for (index, line) in lines.iter().enumerate() {
        let text = line.trim();
        let is_described = sections.iter().any(|section| !section.trim().is_empty());
        if is_described && (is_label(text) || markup == Markup::Shell && text == "Globals:") {
            break;
        }
        if is_heading(text, markup) {
            is_side = start(text, &mut sections);
        } else if is_rule(text) {
            // `Title` over `=====`: what was read last is a heading.
            let title_above = index > 0 && !lines[index - 1].trim().is_empty() && !text.contains('|');
            if title_above && let Some(section) = sections.last_mut() {
                let kept = section.trim_end_matches('\n').rfind('\n').map_or(0, |newline| newline + 1);
                section.truncate(kept);
                is_side = start(lines[index - 1], &mut sections);
            }
        } else if !is_side
            && !is_table(text)
            && definition(text).is_none()
            && let Some(section) = sections.last_mut()
        {
            section.push_str(unlisted(text, markup));
            section.push('\n');
        }
    }
    sections.into_iter().find(|section| section.chars().any(char::is_alphanumeric)).unwrap_or_default()
}

/// Lines outside of ``` and ~~~ blocks; a block that is never closed goes to the end.
fn without_fences(doc: &str) -> Vec<&str> {
    let mut fences = FenceReader::default();
    let mut is_kept = |line: &&str| fences.read(line.trim_start_matches([' ', '\t', '>', '*'])) == FencePlace::Outside;
    doc.lines().filter(|line| is_kept(line)).collect()
}

/// Lines that are not indented like code: four columns after a blank line in Markdown, any in Go and RDoc.
///
/// The lines under a list item are its text and stay.
fn without_indented_code(lines: Vec<&str>, markup: Markup) -> Vec<&str> {
    let threshold = match markup {
        Markup::GoDoc | Markup::Rdoc => 1,
        _ => 4,
    };
    let mut kept = Vec::with_capacity(lines.len());
    let mut in_list = false;
    let mut in_code = false;
    let mut after_blank = true;
    for line in lines {
        let text = line.trim_start();
        if text.is_empty() {
            after_blank = true;
            kept.push(line);
            continue;
        }
        let columns: usize =
            line.bytes().take_while(|b| matches!(b, b' ' | b'\t')).map(|b| if b == b'\t' { 4 } else { 1 }).sum();
        let starts_code = columns >= threshold && !in_list && (after_blank || threshold == 1);
        if columns < threshold {
            in_list = is_list_item(text) || in_list && columns > 0;
        } else if is_list_item(text) && threshold == 1 {
            in_list = true;
        }
        in_code = columns >= threshold && (in_code || starts_code) && !in_list;
        if !in_code {
            kept.push(line);
        }
        after_blank = false;
    }
    kept
}

fn is_list_item(text: &str) -> bool {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    text.starts_with("* ")
        || text.starts_with("- ")
        || text.starts_with("+ ")
        || digits > 0 && (text[digits..].starts_with(". ") || text[digits..].starts_with(") "))
        || text.starts_with('[') && text.contains("]  ")
        || text.ends_with("::")
}

/// `Example:`, `Params:`, `Usage::`: a line of its own after which no description comes.
fn is_label(text: &str) -> bool {
    const LABELS: [&str; 16] = [
        "example",
        "examples",
        "usage",
        "params",
        "parameters",
        "param",
        "arguments",
        "args",
        "returns",
        "return",
        "output",
        "input",
        "inputs",
        "outputs",
        "throws",
        "raises",
    ];
    let name = text.trim_end_matches(':');
    name.len() < text.len() && LABELS.contains(&name.trim_matches(['*', ' ']).to_ascii_lowercase().as_str())
}

fn is_heading(text: &str, markup: Markup) -> bool {
    let has_equals = matches!(markup, Markup::Rdoc | Markup::Scaladoc | Markup::Haddock);
    let rest = text.trim_start_matches(if has_equals { ['=', '#'] } else { ['#', '#'] });
    let level = text.len() - rest.len();
    (1..=6).contains(&level) && (rest.starts_with(' ') || has_equals && text.starts_with('=') && !rest.is_empty())
}

/// A line of dashes and the like: an underline, a separator, a table's rule.
fn is_rule(text: &str) -> bool {
    text.len() >= 3
        && text
            .bytes()
            .all(|byte| matches!(byte, b'-' | b'=' | b'*' | b'_' | b'~' | b'+' | b'|' | b':' | b' ' | b'#' | b'/'))
}

fn is_table(text: &str) -> bool {
    text.starts_with('|') && text.len() > 1 || text.starts_with("+-")
}

/// The names of Markdown's link definitions in a doc comment, in lower case.
pub(super) fn defined_links(doc: &str) -> BTreeSet<String> {
    doc.lines().filter_map(|line| definition(line.trim())).map(|name| name.trim_matches('`').to_lowercase()).collect()
}

/// The name in `[name]: target`, a link definition or a footnote.
fn definition(text: &str) -> Option<&str> {
    let name = text.strip_prefix('[')?;
    let end = name.find("]:")?;
    let target = &name[end + 2..];
    (!name[..end].contains(']') && (target.is_empty() || target.starts_with([' ', '\t']))).then(|| &name[..end])
}

/// A line without the mark of its list item or quote.
fn unlisted(text: &str, markup: Markup) -> &str {
    let text = text.trim_start_matches("> ");
    for mark in ["* ", "- ", "+ ", "• "] {
        if let Some(item) = text.strip_prefix(mark) {
            // `- [ ] to do`
            return item.strip_prefix("[ ] ").or_else(|| item.strip_prefix("[x] ")).unwrap_or(item);
        }
    }
    if matches!(text, "*" | "-" | ">" | "+") || markup == Markup::Rdoc && matches!(text, "--" | "++") {
        ""
    } else {
        text
    }
}
