//! The docstring of a Python function, taken out of its source without a grammar, so that functions of data sets that
//! do not parse (Python 2, halves of functions) give theirs too.

/// Splits a function into its docstring (without quotes and common indentation) and the function without it.
///
/// The docstring is the first thing after the signature's colon, in `"""` or `'''` (with `r`, `u` before it)
/// or in plain quotes on one line; `None` where there is none, or where it is all that the function has.
pub fn split_docstring(code: &str) -> Option<(String, String)> {
    let start = first_statement(code, after_signature(code)?);
    let rest = &code[start..];
    let prefix = rest.len() - rest.trim_start_matches(['r', 'R', 'u', 'U', 'b', 'B']).len();
    if prefix > 2 {
        return None;
    }
    let quoted = &rest[prefix..];
    let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| quoted.starts_with(quote))?;
    let inside = &quoted[quote.len()..];
    let length = closing(inside, quote)?;
    let end = start + prefix + quote.len() + length + quote.len();
    let doc = dedent(&inside[..length]);
    let after = code[end..].trim_start_matches([' ', '\t', ';']);
    let after = after.strip_prefix('\r').unwrap_or(after);
    let after = after.strip_prefix('\n').unwrap_or(after);
    if after.trim().is_empty() || doc.is_empty() {
        return None;
    }
    // What stands before the docstring on its own line is its indentation, which goes with it.
    let before = code[..start].trim_end_matches([' ', '\t']);
    let separator = if before.ends_with('\n') || after.starts_with('\n') { "" } else { "\n" };
    Some((doc, format!("{before}{separator}{after}")))
}

/// The position of the first statement, after white space and comments.
fn first_statement(code: &str, from: usize) -> usize {
    let mut at = from;
    loop {
        at += code[at..].len() - code[at..].trim_start().len();
        match code[at..].strip_prefix('#') {
            Some(comment) => at = comment.find('\n').map_or(code.len(), |end| at + 1 + end),
            None => return at,
        }
    }
}

/// The position where the body of the first `def` or `class` begins: after the colon at bracket depth 0.
fn after_signature(code: &str) -> Option<usize> {
    let mut at = 0;
    let mut seen = false;
    let mut depth = 0_i32;
    let bytes = code.as_bytes();
    let mut word_start = true;
    while at < bytes.len() {
        match bytes[at] {
            b'#' => at += code[at..].find('\n').unwrap_or(code.len() - at),
            b'"' | b'\'' => {
                let quote = ["\"\"\"", "'''", "\"", "'"].into_iter().find(|quote| code[at..].starts_with(quote))?;
                at += quote.len() + closing(&code[at + quote.len()..], quote)? + quote.len() - 1;
            }
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth -= 1,
            b':' if seen && depth == 0 => return Some(at + 1),
            b'd' | b'c' if word_start && (code[at..].starts_with("def ") || code[at..].starts_with("class ")) => {
                seen = true;
            }
            _ => {}
        }
        word_start = bytes.get(at).is_none_or(|byte| byte.is_ascii_whitespace());
        at += 1;
    }
    None
}

/// Bytes before the closing quote.
fn closing(text: &str, quote: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'\\' {
            at += 2;
        } else if bytes[at..].starts_with(quote.as_bytes()) {
            return Some(at);
        } else if quote.len() == 1 && bytes[at] == b'\n' {
            return None;
        } else {
            at += 1;
        }
    }
    None
}

/// The lines without the indentation that all but the first share, and without blank ends.
fn dedent(doc: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let common = doc.lines().skip(1).filter(|line| !line.trim().is_empty()).map(indent).min().unwrap_or(0);
    let lines: Vec<&str> = doc
        .lines()
        .enumerate()
        .map(|(number, line)| if number == 0 { line.trim_start() } else { line.get(common..).unwrap_or("") }.trim_end())
        .collect();
    lines.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn docstrings_come_out() {
        let check = |code: &str, doc: &str, rest: &str| {
            assert_eq!(split_docstring(code), Some((doc.to_owned(), rest.to_owned())), "{code}");
        };
        check(
            "def f(x):\n    \"\"\"Adds one.\n\n    :param x: n\n    \"\"\"\n    return x\n",
            "Adds one.\n\n:param x: n",
            "def f(x):\n    return x\n",
        );
        check(
            "def f(a=':', *, b={1: 2}) -> 'x':\n\t'''Says \"\"\" so.'''\n\treturn 1",
            "Says \"\"\" so.",
            "def f(a=':', *, b={1: 2}) -> 'x':\n\treturn 1",
        );
        check(
            "@a('def g(): \"x\"')\ndef f(): r\"raw \\\" one\"; return 2",
            "raw \\\" one",
            "@a('def g(): \"x\"')\ndef f():\nreturn 2",
        );
        check("async def f():  # a: b\n    'one'\n    return 1", "one", "async def f():  # a: b\n    return 1");
        check("def f():\r\n    \"\"\"Doc\"\"\"\r\n    pass\r\n", "Doc", "def f():\r\n    pass\r\n");
    }

    #[test]
    fn what_is_no_docstring_stays() {
        for code in [
            "",
            "x = 1",
            "def f():\n    return 'a'",
            "def f():\n    \"\"\"only\"\"\"\n",
            "def f():\n    '''open",
            "def f(",
            "def f():\n 'a\n'",
        ] {
            assert_eq!(split_docstring(code), None, "{code}");
        }
    }
}
