//! Python's docstrings: found in the body, read as `inspect.cleandoc` reads them, cut out of the code.

use std::ops::Range;

use tree_sitter::Node;

use super::{Documentation, layout::dedent};

/// The docstring of a function body, if its first statement is a plain string.
pub(super) fn in_body(source: &str, code: Range<usize>, body: Node<'_>) -> Option<Documentation> {
    let mut cursor = body.walk();
    let mut statements = body.named_children(&mut cursor).filter(|child| child.kind() != "comment");
    let first = statements.next()?;
    let string = match first.kind() {
        "expression_statement" if first.named_child_count() == 1 => first.named_child(0)?,
        "string" => first,
        _ => return None,
    };
    if string.kind() != "string" {
        return None;
    }
    let text = literal(source.get(string.byte_range())?)?;
    let next = statements.next();
    let cut = cut(source, string.byte_range(), next.map(|next| next.start_byte()))?;
    (!text.trim().is_empty()).then_some(Documentation { text, code, cuts: vec![cut], leaves_no_body: next.is_none() })
}

/// From the docstring to the next statement on its line, or to the last blank line after it.
fn cut(source: &str, string: Range<usize>, next: Option<usize>) -> Option<Range<usize>> {
    let after = source.get(string.end..)?;
    let line = after.split('\n').next().unwrap_or_default();
    if line.trim_start().starts_with(';') {
        return Some(string.start..next.unwrap_or(string.end + line.len()));
    }
    let blank_lines: usize = after
        .split_inclusive('\n')
        .skip(1)
        .take_while(|line| line.ends_with('\n') && line.trim().is_empty())
        .map(str::len)
        .sum();
    if line.trim().is_empty() && blank_lines > 0 {
        return Some(string.start..string.end + line.len() + blank_lines);
    }
    Some(string.start..string.end)
}

/// The content of a string literal that is no byte string and no format string, dedented as `inspect.cleandoc` does.
fn literal(text: &str) -> Option<String> {
    let quote = text.find(['"', '\''])?;
    let prefix = text[..quote].to_ascii_lowercase();
    if prefix.contains(['b', 'f', 't']) {
        return None;
    }
    let quoted = &text[quote..];
    let quotes = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quotes| quoted.starts_with(quotes))?;
    let inner = quoted.strip_prefix(quotes)?.strip_suffix(quotes)?;
    let inner = if prefix.contains('r') { inner.to_owned() } else { inner.replace("\\\n", "").replace("\\\\", "\\") };
    let inner = inner.replace("\r\n", "\n").replace('\t', "        ");
    let (first, rest) = inner.split_once('\n').unwrap_or((&inner, ""));
    Some(format!("{}\n{}", first.trim(), dedent(rest)).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_read_as_cleandoc_reads_them() {
        for (text, expected) in [
            ("\"\"\"One.\n\n    Two\n      three.\n    \"\"\"", Some("One.\n\nTwo\n  three.")),
            ("'one'", Some("one")),
            ("r'''a\\b'''", Some("a\\b")),
            ("u\"x\"", Some("x")),
            ("b'bytes'", None),
            ("f'{x}'", None),
            ("\"\"\"\"\"\"", Some("")),
        ] {
            assert_eq!(literal(text).as_deref(), expected, "{text}");
        }
    }
}
