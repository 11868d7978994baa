//! Haddock's marks: code blocks and properties away, names and emphasis to their text.

/// The description with its marks taken off.
pub(super) fn plain(doc: &str) -> String {
    let mut kept = String::with_capacity(doc.len());
    let mut in_code = false;
    let mut in_example = false;
    for line in doc.lines() {
        let text = line.trim();
        // A line of one `@` opens or closes a block of code.
        if text == "@" {
            in_code = !in_code;
            continue;
        }
        in_example = text.starts_with(">>>") || in_example && !text.is_empty();
        let is_meta = text.starts_with("@since") || text.starts_with("prop>");
        if in_code || in_example || is_meta || text.starts_with('>') {
            continue;
        }
        kept.push_str(line);
        kept.push('\n');
    }
    inline(&kept)
}

/// `'name'`, `"Module"`, `@code@`, `/emphasis/`, `__bold__` to what they hold.
fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['\'', '@', '/', '_', '"', '#', '\\']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let at_word = out.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '/' | ':' | '\''));
        let inner = if at_word { None } else { marked(rest) };
        match inner {
            Some((inner, length)) => {
                out.push_str(inner);
                rest = &rest[length..];
            }
            None => {
                let first = rest.chars().next().map_or(1, char::len_utf8);
                out.push_str(&rest[..first]);
                rest = &rest[first..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// The text between marks at the head, and the length of all of it.
fn marked(rest: &str) -> Option<(&str, usize)> {
    if let Some(after) = rest.strip_prefix('\\') {
        let is_escape = after.starts_with(['\'', '"', '/', '@', '<', '#', '\\', '`']);
        return is_escape.then(|| (&after[..1], 2));
    }
    let mark = ["'", "@", "__", "/", "\"", "#"].into_iter().find(|mark| rest.starts_with(mark))?;
    let after = &rest[mark.len()..];
    let end = after.find(mark).filter(|end| *end > 0)?;
    let inner = &after[..end];
    let fits = match mark {
        // A name may have primes of its own, and none holds white space.
        "'" | "\"" => !inner.contains(char::is_whitespace),
        "#" => return (!inner.contains(char::is_whitespace)).then_some(("", end + 2)),
        _ => !inner.contains('\n') && !inner.starts_with(' ') && !inner.ends_with(' '),
    };
    let follows_word = after[end + mark.len()..].starts_with(|c: char| c.is_alphanumeric());
    if !fits || follows_word {
        return None;
    }
    Some((inner, mark.len() + end + mark.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_go_and_words_stay() {
        for (doc, expected) in [
            (
                "Maps 'fmap' over @[a]@, /not/ __lazy__, see \"Data.List\".",
                "Maps fmap over [a], not lazy, see Data.List.\n",
            ),
            ("Don't split and/or a/b/c, x' and y'.", "Don't split and/or a/b/c, x' and y'.\n"),
            ("One.\n\n> code\n\n>>> f 1\n2\n\n@\nblock\n@\nTwo.\n\n@since 1.0", "One.\n\n\n\nTwo.\n\n"),
            ("#anchor# Text with \\@ and \\/.", " Text with @ and /.\n"),
        ] {
            assert_eq!(plain(doc), expected, "{doc}");
        }
    }
}
