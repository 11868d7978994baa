//! Lines of a project that a regular expression matches: the lines that ripgrep prints.

mod file_list;
mod trigrams;

use std::{fs, ops::Range};

use grep_matcher::{Match, Matcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use rayon::prelude::*;
use regex_syntax::ParserBuilder;
use serde::Serialize;
use wb_code::notebook::is_notebook;
use wb_core::untrusted::clean;

pub(crate) use file_list::FileList;
use trigrams::Needed;
pub(crate) use trigrams::{Trigram, TrigramFinder, trigrams};

use crate::{
    CodeIndex, Error, FileRole, FolderFiles, Result, SearchQuestion,
    answer::GAP,
    files::{has_private_key, language_and_role, plain::open_below},
};

/// Bytes of a line beyond which a file is not looked into, since lines are held in memory.
const MOST_OF_LINE: usize = 32 << 20;
/// Bytes of a line that an answer has.
const SHOWN_OF_LINE: usize = 64 << 10;

/// A regular expression, and the trigrams of files that may match it.
#[derive(Debug, Clone)]
pub struct LinePattern {
    matcher: RegexMatcher,
    needed: Needed,
}

impl LinePattern {
    /// Reads a regular expression in Rust's syntax, as ripgrep does by default: lines are matched one by one.
    pub fn new(text: &str) -> Result<Self> {
        let bad = |error: String| {
            let what = format!("`{text}` is no regular expression: {}", error.trim());
            Error::failed(what).with_hint("a text as it is: write \\ before each of . + * ? ( ) | [ ] { } ^ $")
        };
        let matcher = RegexMatcherBuilder::new().line_terminator(Some(b'\n')).multi_line(true).build(text);
        let matcher = matcher.map_err(|error| bad(error.to_string()))?;
        let parsed = ParserBuilder::new().multi_line(true).utf8(false).build().parse(text);
        Ok(Self { matcher, needed: Needed::by(&parsed.map_err(|error| bad(error.to_string()))?) })
    }

    /// Places of a line that match, but empty ones.
    pub(crate) fn matches(&self, line: &str) -> Vec<Range<usize>> {
        let mut all = Vec::new();
        let each = |found: Match| {
            let place = found.start()..found.end();
            all.extend((!place.is_empty() && line.get(place.clone()).is_some()).then_some(place));
            true
        };
        // It has no error that it could give.
        let _ = self.matcher.find_iter(line.as_bytes(), each);
        all
    }
}

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MatchedLine {
    /// Path of its file below the root.
    pub path: String,
    /// Its number, from 1.
    pub line: u64,
    /// The line, without control characters; of a very long one its first 64 KiB and `…`.
    pub text: String,
    /// The unit that has it, by its position in the index; none where the text is not as it was indexed, or has no units.
    #[serde(skip)]
    pub unit: Option<usize>,
}

impl MatchedLine {
    /// Bytes of it as it is printed, with its place.
    pub(crate) fn printed(&self) -> usize {
        self.path.len() + self.line.to_string().len() + self.text.len() + ":::\n".len() - 1
    }
}

/// Lines that match, and what was not looked into.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MatchedLines {
    /// The lines, in the order of paths.
    pub lines: Vec<MatchedLine>,
    /// Paths of files with a line of more than 32 MiB, or that cannot be read.
    pub unread: Vec<String>,
}

impl CodeIndex {
    /// The lines that a pattern matches in files of the folder that may answer a question, in the order of paths. Files that
    /// changed since they were indexed are looked at as they are now.
    pub fn matching_lines(
        &self,
        found: &FolderFiles,
        pattern: &LinePattern,
        question: &SearchQuestion,
    ) -> Result<MatchedLines> {
        let by_trigrams = pattern.needed.files(&|trigram| self.files_with(trigram))?;
        let mut indexed = self.files().iter().zip(0_u32..).peekable();
        let mut wanted: Vec<(&str, Option<(usize, bool)>)> = Vec::new();
        for file in &found.files {
            while indexed.next_if(|(known, _)| known.path < file.path).is_some() {}
            let indexed = indexed.next_if(|(known, _)| known.path == file.path);
            let known = indexed.filter(|(known, _)| (known.size, known.modified) == (file.size, file.modified));
            let of_path = match indexed {
                Some(_) => language_and_role(found.named(&file.path), ""),
                None => found.kind_of(&file.path),
            };
            let (mut language, mut role) = of_path.unwrap_or(("", FileRole::Other));
            // What a file begins with may say more than its path does.
            if let Some((known, _)) = indexed.filter(|(known, _)| !known.language.is_empty()) {
                (language, role) = (&known.language, known.role);
            }
            if !question.allows(&file.path, role, language) {
                continue;
            }
            // A file without a hash was not read, and of a notebook a part was, so that too little is known of them.
            let is_told = |hash: [u64; 2]| hash != [0; 2] && !is_notebook(&file.path);
            let passed_over = known.is_some_and(|(known, at)| {
                is_told(known.hash) && by_trigrams.as_ref().is_some_and(|files| files.binary_search(&at).is_err())
            });
            if !passed_over {
                wanted.push((&file.path, indexed.map(|(_, at)| (at as usize, known.is_some()))));
            }
        }
        let lines_of = |searcher: &mut Searcher, (path, indexed): &(&str, Option<(usize, bool)>)| {
            self.lines_of(pattern, searcher, path, *indexed).map_err(|_| (*path).to_owned())
        };
        let lines: Vec<std::result::Result<Vec<MatchedLine>, String>> =
            wanted.par_iter().map_init(searcher, lines_of).collect();
        let mut all = MatchedLines::default();
        for lines_of_file in lines {
            match lines_of_file {
                Ok(lines) => all.lines.extend(lines),
                Err(path) => all.unread.push(path),
            }
        }
        Ok(all)
    }

    /// Lines of one file that match; with its position in the index, and whether its size and its time are as they were.
    fn lines_of(
        &self,
        pattern: &LinePattern,
        searcher: &mut Searcher,
        path: &str,
        indexed: Option<(usize, bool)>,
    ) -> std::io::Result<Vec<MatchedLine>> {
        let mut lines = Lines(Vec::new());
        searcher.search_file(&pattern.matcher, &open_below(self.root(), path)?, &mut lines)?;
        // A file that was read has no key in it; one that was not may have.
        let is_read = indexed.is_some_and(|(at, as_it_was)| as_it_was && self.files()[at].hash != [0; 2]);
        let file = self.root().join(path);
        let has_key = || fs::read(&file).is_ok_and(|bytes| has_private_key(&String::from_utf8_lossy(&bytes)));
        if lines.0.is_empty() || !is_read && has_key() {
            return Ok(Vec::new());
        }
        // A checkout and back changes the time of a file, and not its text.
        let has_units = |(at, as_it_was): &(usize, bool)| *as_it_was || self.current_text(*at).is_some();
        let [from, to] = indexed.filter(has_units).map_or([0; 2], |(at, _)| self.files()[at].units);
        let units = from as usize..to as usize;
        let unit_with = |line: u64| {
            units.clone().find(|unit| {
                let [from, to] = self.units()[*unit].lines;
                (u64::from(from)..=u64::from(to)).contains(&line)
            })
        };
        let line = |(line, text)| MatchedLine { path: path.to_owned(), line, text, unit: unit_with(line) };
        Ok(lines.0.into_iter().map(line).collect())
    }
}

fn searcher() -> Searcher {
    let mut builder = SearcherBuilder::new();
    builder.line_number(true).binary_detection(BinaryDetection::quit(0)).heap_limit(Some(MOST_OF_LINE)).build()
}

/// Numbers and texts of matching lines.
struct Lines(Vec<(u64, String)>);

impl Sink for Lines {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> std::result::Result<bool, Self::Error> {
        for (bytes, line) in found.lines().zip(found.line_number().unwrap_or(0)..) {
            let shown = bytes.get(..SHOWN_OF_LINE).unwrap_or(bytes);
            let mut text = clean(String::from_utf8_lossy(shown).trim_end_matches(['\n', '\r']));
            if shown.len() < bytes.len() {
                text.push_str(GAP);
            }
            self.0.push((line, text));
        }
        Ok(true)
    }
}
