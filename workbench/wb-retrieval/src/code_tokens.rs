//! Words out of code and prose alike: identifiers are split where a reader would split them.
//!
//! `HTTPServer`, `http_server`, `httpServer` and `HTTP-server` all give `http server`; `sha256sum` gives `sha 256 sum`.
//! A word is a run of letters, digits and `_`; everything else separates. A character of a script that is written
//! without spaces (Han, kana) is a token of its own.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::stem;

/// Longer tokens are left out of documents and queries alike: they are data written into code, not words.
pub const MAX_TOKEN_BYTES: usize = 255;

/// Rules by which text becomes tokens.
///
/// The defaults were chosen by the MRR of BM25 over the whole pool, on CoSQA dev (500 web queries, 6,267 functions),
/// CodeSearchNet Ruby valid (1,400 docstrings, 1,400 functions) and Python methods of another corpus (7,525 docstrings,
/// 7,525 methods):
///
/// | words | CoSQA | Ruby | Python |
/// |---|---|---|---|
/// | identifiers unsplit | .273 | .332 | .210 |
/// | split | .335 | .498 | .438 |
/// | split, whole kept | .333 | .504 | .475 |
/// | split, whole kept, plural stemming | .335 | .541 | .485 |
/// | split, whole kept, light stemming | .351 | .548 | .488 |
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "snake_case")]
pub struct CodeTokensConfig {
    /// Splits identifiers into their words.
    pub split: bool,
    /// Keeps a split identifier as one more word, in lower case without separators, so that `readFile` and `read_file`
    /// meet. Says nothing where identifiers are not split.
    pub whole: bool,
    /// Treatment of endings: `none`, `plural`, or `light` (plurals, `-ing`, `-ed`, a last `e`).
    pub stemming: Stemming,
}

/// Treatment of the endings of words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stemming {
    /// Nothing.
    None,
    /// English plurals lose their `s`.
    Plural,
    /// Plurals, `-ing`, `-ed` and a last `e` fall.
    #[default]
    Light,
}

impl Default for CodeTokensConfig {
    fn default() -> Self {
        Self { split: true, whole: true, stemming: Stemming::default() }
    }
}

/// The tokenizer; it is one of tantivy's, and [`CodeTokenizer::words`] serves everyone else.
#[derive(Debug, Clone, Default)]
pub struct CodeTokenizer {
    config: CodeTokensConfig,
    found: Found,
}

impl CodeTokensConfig {
    /// The tokenizer.
    pub fn init(self) -> CodeTokenizer {
        CodeTokenizer { config: self, found: Found::default() }
    }
}

impl CodeTokenizer {
    /// The tokens of a text, in order, repeated as they are repeated.
    pub fn words(&mut self, text: &str) -> Vec<String> {
        self.find(text);
        (0..self.found.spans.len()).map(|index| self.found.word(index).to_owned()).collect()
    }

    /// Calls `each` with every token of a text.
    pub fn each_word(&mut self, text: &str, mut each: impl FnMut(&str)) {
        self.find(text);
        for index in 0..self.found.spans.len() {
            each(self.found.word(index));
        }
    }

    fn find(&mut self, text: &str) {
        self.found.clear();
        let mut start = None;
        for (at, c) in text.char_indices() {
            if is_word(c) {
                if start.is_none() {
                    start = Some(at);
                }
            } else if let Some(from) = start.take() {
                self.identifier(text, from..at);
            }
        }
        if let Some(from) = start {
            self.identifier(text, from..text.len());
        }
    }

    fn identifier(&mut self, text: &str, range: Range<usize>) {
        if !self.config.split {
            return self.found.push(&text[range.clone()], range, self.config.stemming);
        }
        let first = self.found.spans.len();
        let mut from = None;
        let mut kinds = Window::new(&text[range.clone()], range.start);
        while let Some((at, kind, cut)) = kinds.next() {
            if let Some(start) = from
                && (cut || kind == Kind::Separator)
            {
                self.found.push(&text[start..at], start..at, self.config.stemming);
                from = None;
            }
            if from.is_none() && kind != Kind::Separator {
                from = Some(at);
            }
        }
        if let Some(start) = from {
            self.found.push(&text[start..range.end], start..range.end, self.config.stemming);
        }
        if self.config.whole && self.found.spans.len() > first + 1 {
            let whole: String = text[range.clone()].chars().filter(|c| *c != '_').collect();
            self.found.push(&whole, range, Stemming::None);
        }
    }
}

/// Class of a character for the splitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Upper,
    Lower,
    Digit,
    /// A letter of a script without spaces between words.
    Ideograph,
    Separator,
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric() || is_mark(c)
}

/// Combining accents belong to the letter before them.
fn is_mark(c: char) -> bool {
    ('\u{300}'..='\u{36f}').contains(&c)
}

fn kind(c: char) -> Kind {
    match c {
        'a'..='z' => Kind::Lower,
        'A'..='Z' => Kind::Upper,
        '0'..='9' => Kind::Digit,
        '_' => Kind::Separator,
        '\u{3040}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{323af}' => Kind::Ideograph,
        c if c.is_numeric() => Kind::Digit,
        c if c.is_uppercase() => Kind::Upper,
        _ => Kind::Lower,
    }
}

/// Walks an identifier and says at each character whether a word begins there.
struct Window<'a> {
    rest: std::str::CharIndices<'a>,
    offset: usize,
    before: Option<Kind>,
}

impl<'a> Window<'a> {
    fn new(text: &'a str, offset: usize) -> Self {
        Self { rest: text.char_indices(), offset, before: None }
    }

    fn next(&mut self) -> Option<(usize, Kind, bool)> {
        let (at, c) = self.rest.next()?;
        let this = if is_mark(c) { self.before.unwrap_or(Kind::Lower) } else { kind(c) };
        let cut = match (self.before, this) {
            (None, _) => true,
            (Some(Kind::Ideograph), _) => !is_mark(c),
            (Some(Kind::Upper), Kind::Lower) => false,
            // The last capital of a run begins the next word (`HTTPServer`), unless only a plural follows (`URLs`).
            (Some(Kind::Upper), Kind::Upper) => !is_mark(c) && self.begins_capitalized_word(),
            (Some(before), this) => before != this,
        };
        self.before = Some(this);
        Some((self.offset + at, this, cut))
    }

    fn begins_capitalized_word(&self) -> bool {
        let mut ahead = self.rest.clone().map(|(_, c)| c);
        match ahead.next() {
            Some('s') => ahead.next().is_some_and(|c| kind(c) == Kind::Lower),
            Some(c) => kind(c) == Kind::Lower,
            None => false,
        }
    }
}

/// Tokens of one text: lower-cased words one after the other in a buffer that is used again.
#[derive(Debug, Clone, Default)]
struct Found {
    letters: String,
    spans: Vec<Span>,
    word: String,
}

#[derive(Debug, Clone)]
struct Span {
    letters: Range<usize>,
    source: Range<usize>,
}

impl Found {
    fn clear(&mut self) {
        self.letters.clear();
        self.spans.clear();
    }

    fn word(&self, index: usize) -> &str {
        &self.letters[self.spans[index].letters.clone()]
    }

    fn push(&mut self, word: &str, source: Range<usize>, stemming: Stemming) {
        if word.len() > MAX_TOKEN_BYTES {
            return;
        }
        self.word.clear();
        if word.is_ascii() {
            self.word.push_str(word);
            self.word.make_ascii_lowercase();
        } else {
            self.word.extend(word.chars().flat_map(char::to_lowercase));
        }
        match stemming {
            Stemming::None => {}
            Stemming::Plural => stem::plural(&mut self.word),
            Stemming::Light => stem::light(&mut self.word),
        }
        let from = self.letters.len();
        self.letters.push_str(&self.word);
        self.spans.push(Span { letters: from..self.letters.len(), source });
    }
}

/// The tokens of one text, as tantivy reads them.
#[derive(Debug)]
pub struct CodeTokenStream<'a> {
    found: &'a Found,
    next: usize,
    token: Token,
}

impl Tokenizer for CodeTokenizer {
    type TokenStream<'a> = CodeTokenStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> CodeTokenStream<'a> {
        self.find(text);
        CodeTokenStream { found: &self.found, next: 0, token: Token::default() }
    }
}

impl TokenStream for CodeTokenStream<'_> {
    fn advance(&mut self) -> bool {
        let Some(span) = self.found.spans.get(self.next) else { return false };
        self.token.text.clear();
        self.token.text.push_str(self.found.word(self.next));
        self.token.offset_from = span.source.start;
        self.token.offset_to = span.source.end;
        self.token.position = self.next;
        self.next += 1;
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(config: CodeTokensConfig, text: &str, words: &str) {
        assert_eq!(config.init().words(text).join(" "), words, "{text:?}");
    }

    #[test]
    fn identifiers_are_split_where_a_reader_would() {
        let plain = CodeTokensConfig { split: true, whole: false, stemming: Stemming::None };
        for (text, words) in [
            ("HTTPServer", "http server"),
            ("getHTTPResponseCode", "get http response code"),
            ("XMLHttpRequest", "xml http request"),
            ("snake_case_name", "snake case name"),
            ("SCREAMING_SNAKE", "screaming snake"),
            ("kebab-case", "kebab case"),
            ("camelCase PascalCase", "camel case pascal case"),
            ("sha256sum", "sha 256 sum"),
            ("utf8", "utf 8"),
            ("URLs and IDs", "urls and ids"),
            ("getURLs", "get urls"),
            ("URLstring", "ur lstring"),
            ("URLset", "ur lset"),
            ("aB", "a b"),
            ("AB", "ab"),
            ("A", "a"),
            ("__init__", "init"),
            ("_", ""),
            ("", ""),
            ("x_", "x"),
            ("v2.0-beta", "v 2 0 beta"),
            ("naïveÜber ΔxÉtat", "naïve über δx état"),
            ("cafe\u{301}Bar", "cafe\u{301} bar"),
            ("读取file文件", "读 取 file 文 件"),
            ("don't", "don t"),
            ("a+b", "a b"),
            ("ﬁx ΌΣΟΣ", "ﬁx όσοσ"),
        ] {
            check(plain, text, words);
        }
    }

    #[test]
    fn the_whole_identifier_is_spelled_one_way() {
        let whole = CodeTokensConfig { split: true, whole: true, stemming: Stemming::None };
        check(
            whole,
            "readFile read_file ReadFile read",
            "read file readfile read file readfile read file readfile read",
        );
        let unsplit = CodeTokensConfig { split: false, whole: false, stemming: Stemming::None };
        check(unsplit, "readFile read_file", "readfile read_file");
    }

    #[test]
    fn stemming_joins_forms_but_not_whole_identifiers() {
        let light = CodeTokensConfig { split: true, whole: true, stemming: Stemming::Light };
        check(light, "parsing queries parseQueries", "pars query pars query parsequeries");
    }

    #[test]
    fn very_long_words_are_left_out() {
        let long = "x".repeat(MAX_TOKEN_BYTES + 1);
        check(CodeTokensConfig::default(), &format!("a {long} b"), "a b");
    }

    #[test]
    fn offsets_are_those_of_the_source() {
        let mut tokens = CodeTokensConfig { split: true, whole: true, stemming: Stemming::None }.init();
        let text = "  getURL2 ";
        let mut stream = tokens.token_stream(text);
        let mut seen = Vec::new();
        while stream.advance() {
            let token = stream.token();
            seen.push((text[token.offset_from..token.offset_to].to_owned(), token.position));
        }
        assert_eq!(seen, [("get".into(), 0), ("URL".into(), 1), ("2".into(), 2), ("getURL2".into(), 3)]);
    }
}
