//! IPython's own commands in cells of Python: taken out, or the language that they hand a cell to.

use crate::{Language, canonical_name};

/// The language of a cell of Python and its text without IPython's commands; the cell magic, where the cell holds no code.
///
/// Lines that begin with `%name`, `!` or `?`, that assign one of the first two, or that end with `?` are no Python, but
/// for lines inside of strings in three quotes.
pub fn without_magics(source: &str) -> Result<(String, String), String> {
    let mut rest = source.trim_start_matches(['\n', '\r', ' ', '\t']);
    // One cell magic can stand above another: `%%time` above `%%bash`.
    while rest.starts_with("%%") {
        let (line, below) = rest.split_once('\n').unwrap_or((rest, ""));
        let mut words = line.trim_start_matches('%').split_whitespace();
        let (name, argument) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        rest = below;
        let other = match name {
            "time" | "timeit" | "capture" | "prun" | "memit" | "mprun" | "debug" | "python" | "python3" | "px" => {
                continue;
            }
            "bash" | "sh" | "!" | "system" | "sx" => "shell",
            "script" => argument,
            "html" | "HTML" => "html",
            "javascript" | "js" => "javascript",
            "R" => "r",
            "ruby" | "perl" | "sql" | "cython" => name,
            "writefile" | "file" => {
                let ending = line.split_whitespace().next_back().and_then(|path| path.rsplit_once('.'));
                match ending {
                    Some((_, ending)) if Language::named(&canonical_name(ending)).is_some() => ending,
                    _ => return Err(format!("%%{name}")),
                }
            }
            _ => return Err(format!("%%{name}")),
        };
        match canonical_name(other) {
            python if python == "python" => {}
            other => return Ok((other, below.to_owned())),
        }
    }
    Ok(("python".into(), python(rest)))
}

fn python(source: &str) -> String {
    lines(source).filter(|(_, is_magic)| !is_magic).map(|(line, _)| line).collect()
}

/// Lines of Python with their ends; true for IPython's commands.
pub(super) fn lines(source: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut open: Option<&str> = None;
    // A command goes on over lines that end with a backslash.
    let mut continued = false;
    source.split_inclusive('\n').map(move |line| {
        let is_magic = open.is_none() && (continued || is_command(line));
        continued = is_magic && line.trim_end().ends_with('\\');
        if !is_magic {
            open = quotes(line, open);
        }
        (line, is_magic)
    })
}

fn is_command(line: &str) -> bool {
    let line = line.trim();
    let is_magic = |text: &str| {
        let mut chars = text.chars();
        match chars.next() {
            Some('!') => chars.next().is_some_and(|c| c != '='),
            Some('%') => chars.next().is_some_and(char::is_alphabetic),
            _ => false,
        }
    };
    if is_magic(line) || line.starts_with('?') {
        return true;
    }
    if line.ends_with('?') && !line.contains(['#', '"', '\'']) {
        return true;
    }
    // `files = !ls`, `a, b = %sql select 1`; `a = 5 %b` has something before the sign.
    line.split_once('=').is_some_and(|(name, value)| {
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | ',' | ' ');
        !name.trim().is_empty() && name.chars().all(is_name) && is_magic(value.trim_start())
    })
}

/// The string in three quotes that is open after a line, given the one before it.
fn quotes<'a>(line: &str, mut open: Option<&'a str>) -> Option<&'a str> {
    let mut rest = line;
    loop {
        match open {
            Some(quote) => match rest.find(quote) {
                Some(at) => {
                    rest = &rest[at + 3..];
                    open = None;
                }
                None => return open,
            },
            None => {
                let code = rest.split('#').next().unwrap_or_default();
                let first = ["\"\"\"", "'''"].into_iter().filter_map(|quote| Some((code.find(quote)?, quote))).min();
                let (at, quote) = first?;
                rest = &rest[at + 3..];
                open = Some(quote);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_go_and_python_stays() {
        for (source, expected) in [
            ("%matplotlib inline\nimport a\n!pip install b \\\n  c\nx = 1", "import a\nx = 1"),
            ("files = !ls\nrows = %sql select 1\nb = 7 %c\n?len\ndf.head?\nd = a != b\n", "b = 7 %c\nd = a != b\n"),
            ("t = \"\"\"\n%not magic\n! neither\n\"\"\"\n%magic\n", "t = \"\"\"\n%not magic\n! neither\n\"\"\"\n"),
            ("# is it?\nx = (a\n  % b)\n", "# is it?\nx = (a\n  % b)\n"),
            ("\n%%time\n%%capture out\nfit()\n", "fit()\n"),
            ("%%writefile a/b.py\nx = 1\n", "x = 1\n"),
        ] {
            assert_eq!(without_magics(source), Ok(("python".into(), expected.into())), "{source}");
        }
    }

    #[test]
    fn cells_of_other_languages() {
        let of = |source: &str| without_magics(source);
        assert_eq!(of("%%bash\nls -l\n"), Ok(("shell".into(), "ls -l\n".into())));
        assert_eq!(of("%%time\n%%script ruby\nputs 1"), Ok(("ruby".into(), "puts 1".into())));
        assert_eq!(of("%%R -i x\nplot(x)"), Ok(("r".into(), "plot(x)".into())));
        assert_eq!(of("%%latex\n\\alpha"), Err("%%latex".into()));
        assert_eq!(of("%%writefile notes.txt\nhello"), Err("%%writefile".into()));
    }
}
