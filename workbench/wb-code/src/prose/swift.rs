//! Swift's doc comments: the description without callouts, `- Parameter x: …`, `- Returns: …`, `- Note: …`.

/// Words that begin a callout, in lower case.
const CALLOUTS: [&str; 28] = [
    "parameter",
    "parameters",
    "returns",
    "return",
    "throws",
    "note",
    "important",
    "warning",
    "attention",
    "complexity",
    "precondition",
    "postcondition",
    "requires",
    "invariant",
    "seealso",
    "see",
    "since",
    "version",
    "author",
    "authors",
    "copyright",
    "date",
    "remark",
    "bug",
    "todo",
    "experiment",
    "tag",
    "example",
];

/// The text without callouts; one goes to the next line that begins at the margin after an empty one.
pub(super) fn description(doc: &str) -> String {
    let mut kept = String::with_capacity(doc.len());
    let mut dropping = false;
    let mut after_blank = false;
    for line in doc.lines() {
        let text = line.trim_start();
        if is_callout(text) {
            dropping = true;
        } else if dropping && after_blank && !text.is_empty() && text.len() == line.len() {
            dropping = text.starts_with("- ") || text.starts_with("* ");
        }
        after_blank = text.is_empty();
        if !dropping {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

fn is_callout(text: &str) -> bool {
    let Some(item) = ["- ", "* ", "+ "].iter().find_map(|mark| text.strip_prefix(mark)) else { return false };
    let Some((head, _)) = item.split_once(':') else { return false };
    let mut words = head.split_whitespace();
    let word = words.next().unwrap_or_default().to_ascii_lowercase();
    // `- Parameter name:`, `- SeeAlso: …`, and no sentence that has a colon somewhere.
    CALLOUTS.contains(&word.as_str()) && words.count() <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callouts_go_and_lists_stay() {
        for (doc, expected) in [
            ("Adds.\n\n- Parameters:\n  - a: One.\n  - b: Two.\n- Returns: The sum.", "Adds.\n\n"),
            ("Adds.\n\n- Parameter a: One\n  of two.\n\nMore.", "Adds.\n\nMore.\n"),
            ("Either:\n- one\n- see that it: is", "Either:\n- one\n- see that it: is\n"),
            ("- Note: only this.", ""),
        ] {
            assert_eq!(description(doc), expected, "{doc}");
        }
    }
}
