//! Scaladoc's wiki marks: code blocks away, links to what they name, emphasis to its text.

/// The text with its code blocks gone and its other marks as Markdown has them, where they are not simply left out.
pub(super) fn plain(doc: &str) -> String {
    let mut out = String::with_capacity(doc.len());
    let mut rest = doc;
    while let Some(at) = rest.find(['{', '[', '\'', '_']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let used = mark(rest, &mut out);
        if used == 0 {
            let plain = rest.find(|c| !rest.starts_with(c)).unwrap_or(rest.len());
            out.push_str(&rest[..plain]);
            rest = &rest[plain..];
        } else {
            rest = &rest[used..];
        }
    }
    out.push_str(rest);
    out
}

/// Writes what stands for the mark at the head of a text and says how long it is; 0 where it is none.
fn mark(rest: &str, out: &mut String) -> usize {
    if let Some(code) = rest.strip_prefix("{{{") {
        let end = code.find("}}}").map_or(code.len(), |at| at + 3);
        // A word or two of code stay in their sentence.
        let inner = code[..end].trim_end_matches("}}}");
        if !inner.contains('\n') {
            out.push_str(inner.trim());
        }
        return 3 + end;
    }
    if let Some(link) = rest.strip_prefix("[[") {
        let Some(end) = link.find("]]") else { return 0 };
        let (target, label) = link[..end].split_once(char::is_whitespace).unwrap_or((&link[..end], ""));
        let label = label.trim();
        out.push_str(if label.is_empty() && !target.contains("://") { target } else { label });
        return 2 + end + 2;
    }
    for quotes in ["'''", "''", "__"] {
        let Some(inner) = rest.strip_prefix(quotes) else { continue };
        let end = inner.find(quotes).filter(|end| *end > 0 && !inner[..*end].contains('\n'));
        if let Some(end) = end {
            out.push_str(&inner[..end]);
            return quotes.len() + end + quotes.len();
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_go_and_words_stay() {
        for (doc, expected) in [
            ("Adds '''one''' to ''two'' and __three__.", "Adds one to two and three."),
            ("See [[scala.Option]], [[List the list]] and [[https://x.org]].", "See scala.Option, the list and ."),
            ("Before.\n{{{\nval x = 1\n}}}\nAfter {{{x}}}.", "Before.\n\nAfter x."),
            ("don't, snake_case, {a}, x[0], ____", "don't, snake_case, {a}, x[0], ____"),
            ("[[open and {{{open", "[[open and open"),
        ] {
            assert_eq!(plain(doc), expected, "{doc}");
        }
    }
}
