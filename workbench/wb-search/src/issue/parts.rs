//! Parts of an issue's text.

use std::{borrow::Cow, sync::LazyLock};

use regex::Regex;
use wb_code::prose::{FencePlace, FenceReader};

use crate::ranking::{Intent, intent};

/// A file that a text names, perhaps with a line.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct NamedPlace {
    /// The path as it stands there, with `/`.
    pub path: String,
    /// The line, from 1.
    pub line: Option<u32>,
}

impl NamedPlace {
    /// True where the path is that of a file of the project: one of both ends with the other, at whole names. A path of
    /// another machine is longer than the project's, which has at least two names then.
    pub fn means(&self, file: &str) -> bool {
        let ends = |long: &str, short: &str| {
            long.strip_suffix(short).is_some_and(|before| before.is_empty() || before.ends_with('/'))
        };
        ends(file, &self.path) || file.contains('/') && ends(&self.path, file)
    }
}

/// The parts of an issue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssueParts {
    /// The first line with words.
    pub title: String,
    /// Other lines that are prose.
    pub prose: String,
    /// Names as code writes them, each once.
    pub names: Vec<String>,
    /// Quoted texts of several words.
    pub quotes: Vec<String>,
    /// Code, output and lines of stack traces.
    pub code: String,
    /// Files that are named, each once.
    pub places: Vec<NamedPlace>,
}

macro_rules! pattern {
    ($name:ident, $pattern:literal) => {
        static $name: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new($pattern).ok());
    };
}

// Colors and other commands to a terminal, and links in it.
pattern!(ESCAPE, r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)?|\x1b[()][A-Z0-9]|\x1b[@-Z\\^_=>78]");
pattern!(COMMENT, r"(?s)<!--.*?-->");
pattern!(LINK, r"https?://\S+");
// A frame of Python's.
pattern!(FRAME, r#"File "([^"]+)", line (\d+)"#);
// `src/a.rs:12:5`, `at f (lib/a.js:3:1)`, `Foo.java:10`, `a.go:7 +0x1d`, `a/b.py`.
pattern!(PLACE, r"([A-Za-z0-9_@.+-]*(?:[/\\][A-Za-z0-9_@.+-]+)*\.[A-Za-z]{1,6})(?::(\d+)|#L(\d+))?\b");
pattern!(SPAN, r"`([^`\n]+)`");
pattern!(QUOTE, r#""([^"\n]{8,200})"|'([^'\n]{8,200})'"#);
pattern!(NAME, r"[A-Za-z_$][A-Za-z0-9_$]*(?:(?:::|\.|->|#)[A-Za-z_$][A-Za-z0-9_$]*)*(?:\(\))?");

/// A text without what tells a terminal how to show it.
pub(crate) fn plain_text(text: &str) -> Cow<'_, str> {
    ESCAPE.as_ref().map_or_else(|| text.into(), |escape| escape.replace_all(text, ""))
}

impl IssueParts {
    /// Takes a text apart, which has no commands to a terminal.
    pub fn of(text: &str) -> Self {
        let text = COMMENT.as_ref().map_or_else(|| text.into(), |comment| comment.replace_all(text, " "));
        let mut parts = Self::default();
        let mut fences = FenceReader::default();
        for line in text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty()) {
            match fences.read(line) {
                FencePlace::Outside => parts.add(line, false),
                FencePlace::Inside => parts.add(line, true),
                FencePlace::Opens(_) | FencePlace::Closes => {}
            }
        }
        parts
    }

    fn add(&mut self, line: &str, fenced: bool) {
        let plain = LINK.as_ref().map_or_else(|| line.into(), |link| link.replace_all(line, " "));
        let has_place = self.add_places(line);
        let is_code = fenced
            || line.starts_with("    ")
            || line.starts_with('\t')
            || line.starts_with(">>>")
            || has_place && is_frame(&plain);
        for quote in QUOTE.iter().flat_map(|quote| quote.captures_iter(&plain)) {
            let said = quote.get(1).or(quote.get(2)).map_or("", |said| said.as_str());
            if said.contains(' ') {
                self.quotes.push(said.to_owned());
            }
        }
        for span in SPAN.iter().flat_map(|span| span.captures_iter(&plain)) {
            NAME.iter().flat_map(|name| name.find_iter(&span[1])).for_each(|name| self.add_name(name.as_str()));
        }
        if is_code {
            self.code.push_str(&plain);
            self.code.push('\n');
            return;
        }
        let symbols = NAME.iter().flat_map(|name| name.find_iter(&plain)).map(|name| name.as_str());
        let symbols: Vec<&str> = symbols.filter(|name| intent(name) == Intent::Symbol).collect();
        symbols.into_iter().for_each(|name| self.add_name(name));
        let prose = plain.trim_start_matches(['#', ' ', '*', '-', '>']);
        match self.title.is_empty() && prose.contains(char::is_alphabetic) {
            true => self.title = prose.to_owned(),
            false => {
                self.prose.push_str(prose);
                self.prose.push('\n');
            }
        }
    }

    fn add_name(&mut self, name: &str) {
        let name = name.trim_end_matches("()");
        if name.len() > 2 && !self.names.iter().any(|known| known == name) {
            self.names.push(name.to_owned());
        }
    }

    /// Adds the files that a line names; true where there was a line's number with one.
    fn add_places(&mut self, line: &str) -> bool {
        let frames = FRAME.iter().flat_map(|frame| frame.captures_iter(line));
        let others = PLACE.iter().flat_map(|place| place.captures_iter(line));
        let mut has_line = false;
        for found in frames.chain(others) {
            let number = found.get(2).or(found.iter().nth(3).flatten()).and_then(|number| number.as_str().parse().ok());
            let path = found[1].replace('\\', "/");
            let path = path.trim_start_matches("./").trim_start_matches('/');
            // `self.name`, `e.g`: a name with a dot is a file only where there is one, which nobody knows here; those that
            // have neither a folder nor a line are taken where they end like a file of code.
            let is_file = number.is_some() || path.contains('/') || crate::files::language_and_role(path, "").is_some();
            let is_known = |known: &NamedPlace| known.path == path && (number.is_none() || known.line == number);
            let place = NamedPlace { path: path.to_owned(), line: number };
            if is_file && !path.is_empty() && !self.places.iter().any(is_known) {
                has_line |= number.is_some();
                self.places.push(place);
            }
        }
        has_line
    }
}

/// True for a line of a stack trace.
fn is_frame(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("at ") || line.starts_with("File \"") || line.split_whitespace().count() <= 3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(text: &str) -> Vec<(String, Option<u32>)> {
        IssueParts::of(text).places.into_iter().map(|place| (place.path, place.line)).collect()
    }

    #[test]
    fn frames_of_several_languages_name_their_files() {
        for (text, path, line) in [
            (
                "  File \"/usr/lib/python3/site-packages/pkg/core/a.py\", line 12, in run",
                "usr/lib/python3/site-packages/pkg/core/a.py",
                12,
            ),
            ("    at Parser.next (/app/src/parser.js:10:5)", "app/src/parser.js", 10),
            ("\tat com.foo.Bar.baz(Bar.java:33)", "Bar.java", 33),
            ("thread 'main' panicked at src/main.rs:7:9:", "src/main.rs", 7),
            ("\t/go/src/x/server.go:88 +0x1d", "go/src/x/server.go", 88),
            ("C:\\work\\app\\Form.cs:4", "work/app/Form.cs", 4),
            ("see https://github.com/a/b/blob/main/src/lib.rs#L9 there", "github.com/a/b/blob/main/src/lib.rs", 9),
        ] {
            assert_eq!(places(text), [(path.to_owned(), Some(line))], "{text}");
        }
        assert_eq!(
            places("in `lib/a.py` and conftest.py, e.g. self.name"),
            [("lib/a.py".into(), None), ("conftest.py".into(), None)]
        );
    }

    #[test]
    fn a_path_means_the_file_that_ends_like_it() {
        let place = |path: &str| NamedPlace { path: path.into(), line: None };
        assert!(place("usr/lib/site-packages/pkg/a.py").means("pkg/a.py"));
        assert!(place("a.py").means("src/pkg/a.py"));
        assert!(!place("ba.py").means("src/a.py"));
        assert!(!place("usr/lib/a.py").means("a.py"));
    }

    #[test]
    fn an_issue_has_a_title_prose_names_quotes_and_code() {
        let parts = IssueParts::of(
            "## `read_file` fails\n<!-- please\nfill in -->\nIt says 'cannot open the file' in JsonParser.next().\n\n```python\nx = read_file()\n```\nThanks",
        );
        assert_eq!(parts.title, "`read_file` fails");
        assert_eq!(parts.prose, "It says 'cannot open the file' in JsonParser.next().\nThanks\n");
        assert_eq!(parts.names, ["read_file", "JsonParser.next"]);
        assert_eq!(parts.quotes, ["cannot open the file"]);
        assert_eq!(parts.code, "x = read_file()\n");
    }
}
