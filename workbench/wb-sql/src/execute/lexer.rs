//! SQL cut into the tokens that the test suite works on: those of Python's `sqlparse`, as far as texts need them.
//!
//! What matters is where tokens begin and end, and which are texts, white space or comments: `DISTINCT` is taken out
//! as a token, and values are found by their kind. The rules are those of sqlparse 0.6.1; words that it joins into one
//! token (`GROUP BY`) are several here, which no use of them can tell.

use std::collections::HashMap;

use super::python::{is_space, is_word};

/// Kind of a token, as far as anybody asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Spaces, one at a time.
    Space,
    /// The end of a line.
    Newline,
    /// `-- ...` or `# ...`, with the end of its line.
    LineComment,
    /// `/* ... */`.
    BlockComment,
    /// `'...'`.
    Text,
    /// `"..."`: a name in standard SQL, a text for many.
    Quoted,
    /// A word: a name, a keyword, or something of both.
    Word,
    /// A word that is a name for certain: before a dot, behind one, or before `(`.
    Name,
    /// One of `;:()[],.` or `::`.
    Punctuation,
    /// Anything else: numbers, operators, placeholders, names in other quotes, what cannot be read.
    Other,
}

/// A piece of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
}

/// All tokens; together they are the text.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut cursor = Cursor::new(text);
    let mut all = Vec::new();
    while cursor.at < cursor.characters.len() {
        let (kind, end) = cursor.next();
        let bytes = cursor.byte(cursor.at)..cursor.byte(end);
        all.push(Token { kind, text: &text[bytes] });
        cursor.at = end;
    }
    all
}

/// The first statement, with the spaces and line comments behind its semicolon; nothing where there is only space.
///
/// A semicolon ends a statement outside of parentheses and of `BEGIN ... END`; an `END` counts as a closing one.
pub(super) fn first_statement(text: &str) -> Vec<Token<'_>> {
    let mut all = tokens(text);
    let (mut level, mut begun, mut ended, mut length) = (0_i64, 0_usize, false, all.len());
    for (at, token) in all.iter().enumerate() {
        if ended && !matches!(token.kind, Kind::Space | Kind::LineComment) {
            length = at;
            break;
        }
        match (token.kind, token.text) {
            (Kind::Punctuation, "(") => level += 1,
            (Kind::Punctuation, ")") => level -= 1,
            (Kind::Punctuation, ";") if level <= 0 && begun == 0 => ended = true,
            (Kind::Word, word) if word.eq_ignore_ascii_case("begin") => {
                begun += 1;
                level += 1;
            }
            (Kind::Word, word) if word.eq_ignore_ascii_case("end") => {
                begun = begun.saturating_sub(1);
                level -= 1;
            }
            _ => {}
        }
    }
    all.truncate(length);
    if all.iter().all(|token| matches!(token.kind, Kind::Space | Kind::Newline)) {
        all.clear();
    }
    all
}

struct Cursor<'a> {
    text: &'a str,
    characters: Vec<(usize, char)>,
    at: usize,
    /// Places, for each kind of quote, where a text that goes on at a position ends; made when first asked for.
    ends: [Option<Vec<u32>>; 2],
    /// True where no `*/` follows any more: none is looked for again.
    uncommented: bool,
    /// Bytes at which each `$tag$` stands; made when first asked for.
    tags: Option<HashMap<&'a str, Vec<usize>>>,
}

/// Mark of a quote that is never closed.
const NONE: u32 = u32::MAX;

impl<'a> Cursor<'a> {
    fn new(text: &'a str) -> Cursor<'a> {
        Cursor {
            text,
            characters: text.char_indices().collect(),
            at: 0,
            ends: [None, None],
            uncommented: false,
            tags: None,
        }
    }

    fn byte(&self, at: usize) -> usize {
        self.characters.get(at).map_or(self.text.len(), |(byte, _)| *byte)
    }

    fn peek(&self, at: usize) -> Option<char> {
        self.characters.get(at).map(|(_, character)| *character)
    }

    fn is(&self, at: usize, test: impl Fn(char) -> bool) -> bool {
        self.peek(at).is_some_and(test)
    }

    fn starts(&self, at: usize, word: &str) -> bool {
        self.text[self.byte(at)..].starts_with(word)
    }

    /// End of a run of characters.
    fn run(&self, from: usize, test: impl Fn(char) -> bool) -> usize {
        (from..).find(|&at| !self.is(at, &test)).unwrap_or(from)
    }

    fn before(&self, test: impl Fn(char) -> bool) -> bool {
        self.at > 0 && self.is(self.at - 1, test)
    }

    /// The token that begins here: its kind and its end.
    fn next(&mut self) -> (Kind, usize) {
        let at = self.at;
        let Some(first) = self.peek(at) else { return (Kind::Other, at + 1) };
        if let Some(end) = self.span() {
            return (if first == '/' { Kind::BlockComment } else { Kind::Other }, end);
        }
        match first {
            '-' if self.starts(at, "--") => return (Kind::LineComment, self.line_end()),
            '#' if self.starts(at, "# ") => return (Kind::LineComment, self.line_end()),
            '\r' if self.starts(at, "\r\n") => return (Kind::Newline, at + 2),
            '\r' | '\n' => return (Kind::Newline, at + 1),
            _ if is_space(first) => return (Kind::Space, at + 1),
            ':' if self.starts(at, ":=") => return (Kind::Other, at + 2),
            ':' if self.starts(at, "::") => return (Kind::Punctuation, at + 2),
            '*' | '?' => return (Kind::Other, at + 1),
            '`' | '´' | '\'' | '"' => {
                let kind = match first {
                    '\'' => Kind::Text,
                    '"' => Kind::Quoted,
                    _ => Kind::Other,
                };
                // A quote that is never closed stands alone.
                return self.quoted(first).map_or((Kind::Other, at + 1), |end| (kind, end));
            }
            _ => {}
        }
        self.placeholder(first)
            .map(|end| (Kind::Other, end))
            .or_else(|| self.word(first))
            .or_else(|| self.number().map(|end| (Kind::Other, end)))
            .or_else(|| self.bracketed().map(|end| (Kind::Other, end)))
            .or_else(|| self.plain_word(first).map(|end| (Kind::Word, end)))
            .or_else(|| ";:()[],.".contains(first).then_some((Kind::Punctuation, at + 1)))
            .unwrap_or_else(|| (Kind::Other, self.operator(first)))
    }

    /// Comments `/* */` and texts between `$tag$`, if they are closed.
    fn span(&mut self) -> Option<usize> {
        let at = self.at;
        let found = match self.peek(at)? {
            '/' if self.starts(at, "/*") => {
                if self.uncommented {
                    return None;
                }
                let from = self.byte(if self.starts(at, "/*+") { at + 3 } else { at + 2 });
                let found = self.text[from..].find("*/");
                self.uncommented = found.is_none();
                from + found? + 2
            }
            '$' if !self.before(|before| is_word(before) || before == '"' || before == '$') => {
                let tag_end = if self.is(at + 1, is_letter) { self.run(at + 1, is_word) } else { at + 1 };
                if !self.is(tag_end, |end| end == '$') {
                    return None;
                }
                let (from, behind) = (self.byte(at), self.byte(tag_end + 1));
                let text = self.text;
                let places = self.tags.get_or_insert_with(|| tags(text)).get(&text[from..behind])?;
                let next = places.partition_point(|place| *place < behind);
                places.get(next)? + (behind - from)
            }
            _ => return None,
        };
        Some(self.characters.partition_point(|(byte, _)| *byte < found))
    }

    /// Behind the end of this line.
    fn line_end(&self) -> usize {
        let end = self.run(self.at, |character| !matches!(character, '\r' | '\n'));
        if self.starts(end, "\r\n") { end + 2 } else { (end + 1).min(self.characters.len()) }
    }

    /// The end of a text in quotes. Doubled quotes belong to it, and so do those behind a backslash if a closing one
    /// follows.
    fn quoted(&mut self, quote: char) -> Option<usize> {
        if matches!(quote, '`' | '´') {
            let mut at = self.at + 1;
            while let Some(character) = self.peek(at) {
                match (character == quote, self.is(at + 1, |next| next == quote)) {
                    (true, true) if self.closes_behind(at + 2, quote) => at += 2,
                    (true, _) => return Some(at + 1),
                    _ => at += 1,
                }
            }
            return None;
        }
        let which = usize::from(quote == '"');
        if self.ends[which].is_none() {
            self.ends[which] = Some(self.ends_of(quote));
        }
        let end = *self.ends[which].as_ref()?.get(self.at + 1)?;
        (end != NONE).then_some(end as usize)
    }

    fn closes_behind(&self, from: usize, quote: char) -> bool {
        (from..self.characters.len()).any(|at| self.is(at, |character| character == quote))
    }

    /// Ends of the text for each position inside of one; the longest reading wins.
    fn ends_of(&self, quote: char) -> Vec<u32> {
        let count = self.characters.len();
        let mut ends = vec![NONE; count + 2];
        for at in (0..count).rev() {
            let here = self.characters[at].1;
            let next = self.is(at + 1, |next| next == quote);
            let pair = if next && (here == quote || here == '\\') { ends[at + 2] } else { NONE };
            let one = if here == quote { u32::try_from(at + 1).unwrap_or(NONE) } else { ends[at + 1] };
            ends[at] = if pair == NONE { one } else { pair };
        }
        ends
    }

    /// `%s`, `:name`, `$1`, `\command`, `@variable`.
    fn placeholder(&self, first: char) -> Option<usize> {
        let at = self.at;
        let word_from = |from: usize| Some(self.run(from, is_word)).filter(|end| *end > from);
        match first {
            '%' if self.is(at + 1, |next| matches!(next, 's' | 'S' | 'ſ')) => Some(at + 2),
            '%' if self.is(at + 1, |next| next == '(') => {
                let end = word_from(at + 2)?;
                let closed =
                    self.is(end, |next| next == ')') && self.is(end + 1, |next| matches!(next, 's' | 'S' | 'ſ'));
                closed.then_some(end + 2)
            }
            '$' | ':' if !self.before(is_word) => word_from(at + 1),
            '\\' => word_from(at + 1),
            '@' | '#' => {
                let from = if self.starts(at, "##") { at + 2 } else { at + 1 };
                let named = self.is(from, is_letter) && self.is(from + 1, is_word);
                named.then(|| self.run(from + 1, is_word))
            }
            _ => None,
        }
    }

    /// Words that are cut before `$` and `#`: some keywords, and names before a dot, behind one or before `(`.
    fn word(&self, first: char) -> Option<(Kind, usize)> {
        if !is_letter(first) {
            return None;
        }
        let end = self.run(self.at, is_word);
        let word = &self.text[self.byte(self.at)..self.byte(end)];
        let any = |words: &[&str]| words.iter().any(|one| word.eq_ignore_ascii_case(one));
        if any(&["case", "in", "values", "using", "from", "as"]) {
            return Some((Kind::Word, end));
        }
        let dot = self.run(end, is_space);
        let qualifies = self.is(dot, |next| next == '.') && !self.is(dot + 1, |next| next.is_ascii_digit());
        if qualifies || self.before(|before| before == '.') || self.is(end, |next| next == '(') {
            return Some((Kind::Name, end));
        }
        any(&["join", "end", "asc", "desc", "create", "like", "ilike", "rlike", "regexp"]).then_some((Kind::Word, end))
    }

    /// A number, with its sign if it stands right before; what a regular expression gives up on the way back included.
    fn number(&self) -> Option<usize> {
        let digit = |character: char| character.is_ascii_digit();
        let from = if self.is(self.at, |first| first == '-') { self.at + 1 } else { self.at };
        if self.is(from, |first| first == '0') && self.is(from + 1, |next| matches!(next, 'x' | 'X')) {
            let end = self.run(from + 2, |character| character.is_ascii_hexdigit());
            if end > from + 2 {
                return Some(end);
            }
        }
        let whole = self.run(from, digit);
        let fraction = if self.is(whole, |next| next == '.') { Some(self.run(whole + 1, digit)) } else { None };
        let exponent = |at: usize| {
            let signed = if self.is(at + 1, |next| next == '-') { at + 2 } else { at + 1 };
            let end = self.run(signed, digit);
            (self.is(at, |next| matches!(next, 'e' | 'E')) && end > signed).then_some(end)
        };
        if whole > from {
            let with_fraction = fraction.filter(|end| *end > whole + 1).and_then(exponent);
            if let Some(end) = with_fraction.or_else(|| exponent(whole)) {
                return Some(end);
            }
        }
        // No letter may follow; where one does, the last digit is left to it.
        let cut = |end: usize, least: usize| {
            let letter = self.is(end, |next| next == '_' || is_letter(next));
            if letter { Some(end - 1).filter(|end| *end >= least) } else { Some(end) }
        };
        if self.is(self.at, |first| first == '_' || is_letter(first)) {
            return None;
        }
        // Of `12.5x` it can keep `12.`, because a digit follows.
        let shorter = |end: usize| cut(end, whole + 1);
        if let Some(end) = fraction.filter(|end| whole > from || *end > whole + 1) {
            let least = if whole > from { shorter(end) } else { cut(end, whole + 2) };
            if let Some(end) = least {
                return Some(end);
            }
        }
        if whole > from { cut(whole, from + 1) } else { None }
    }

    /// `[name]`, not behind a word or a bracket.
    fn bracketed(&self) -> Option<usize> {
        if self.peek(self.at)? != '[' || self.before(|before| is_word(before) || before == ']' || before == ')') {
            return None;
        }
        let end = self.run(self.at + 1, |character| !matches!(character, '[' | ']'));
        (end > self.at + 1 && self.is(end, |next| next == ']')).then_some(end + 1)
    }

    fn plain_word(&self, first: char) -> Option<usize> {
        is_word(first).then(|| self.run(self.at + 1, |character| is_word(character) || matches!(character, '$' | '#')))
    }

    fn operator(&self, first: char) -> usize {
        let at = self.at;
        for known in ["->>", "->", "#>>", "#>", "@>", "<@", "-", "#-"] {
            if self.starts(at, known) {
                return at + known.len();
            }
        }
        for class in ["<>=~!", "+/@#%^&|-"] {
            if class.contains(first) {
                return self.run(at, |character| class.contains(character));
            }
        }
        at + 1
    }
}

/// Tags between two dollars that follow each other, with them, and their places; of `$a$b$` both parts are there.
fn tags(text: &str) -> HashMap<&str, Vec<usize>> {
    let mut all: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut last: Option<usize> = None;
    for (at, _) in text.match_indices('$') {
        if let Some(begin) = last {
            all.entry(&text[begin..=at]).or_default().push(begin);
        }
        last = Some(at);
    }
    all
}

/// `[A-ZÀ-Ü]` of a regular expression that ignores case.
fn is_letter(character: char) -> bool {
    matches!(character, 'A'..='Z' | 'a'..='z' | 'À'..='Ü' | 'à'..='ö' | 'ø'..='ü' | 'ſ' | 'İ' | 'ı' | '\u{212a}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<&str> {
        tokens(text).into_iter().map(|token| token.text).collect()
    }

    /// Each row was cut by sqlparse itself.
    #[test]
    fn tokens_end_where_sqlparse_ends_them() {
        let rows: [(&str, &[&str]); 14] = [
            ("a>=-5", &["a", ">=", "-5"]),
            ("3-1", &["3", "-1"]),
            ("12x", &["1", "2x"]),
            ("1x", &["1x"]),
            ("1.5x", &["1.", "5x"]),
            ("12.x", &["12", ".", "x"]),
            ("'it''s' 'a\\'b'", &["'it''s'", " ", "'a\\'b'"]),
            ("'a\\' or", &["'a\\'", " ", "or"]),
            ("'open", &["'", "open"]),
            ("a -- c\nb", &["a", " ", "-- c\n", "b"]),
            ("/* d */x/*", &["/* d */", "x", "/", "*"]),
            ("distinct$ x.distinct$", &["distinct$", " ", "x", ".", "distinct", "$"]),
            ("[a b] c[1]", &["[a b]", " ", "c", "[", "1", "]"]),
            (".5 1e-3 0x1F %sum", &[".5", " ", "1e-3", " ", "0x1F", " ", "%s", "um"]),
        ];
        for (text, expected) in rows {
            assert_eq!(cut(text), expected, "{text}");
        }
    }

    /// Quotes that are opened again and again and never closed are looked for once. A megabyte took minutes.
    #[test]
    fn what_is_never_closed_takes_no_longer_than_what_is() {
        let distinct: String = (0..150_000).map(|at| format!("$t{at} $t{at}x")).collect();
        let texts = ["/*".repeat(500_000), "/*+ ".repeat(250_000), "$a$ $b$ ".repeat(120_000) + "$$", distinct]
            .into_iter()
            .chain(
                ["'", "\"", "`", "´", "[", "%(", "--", "$", "$$ ", "`` ", "'\\", "(/*"].map(|one| one.repeat(250_000)),
            );
        for text in texts {
            let begin = std::time::Instant::now();
            let joined: usize = tokens(&text).iter().map(|token| token.text.len()).sum();
            let (took, shown) = (begin.elapsed(), &text[..text.floor_char_boundary(8)]);
            assert!(joined == text.len() && took.as_secs_f64() < 2.0, "{took:?} for {shown}");
        }
        let once: String = (0..100_000).map(|at| format!("$t{at}$ ")).collect();
        let begin = std::time::Instant::now();
        assert!(tokens(&once).len() > 100_000 && begin.elapsed().as_secs_f64() < 2.0, "{:?}", begin.elapsed());
        assert_eq!(cut("$a$ x $b$ y $a$ $b$"), ["$a$ x $b$ y $a$", " ", "$b", "$"]);
        assert_eq!(cut("$$;$$ $c$ $$"), ["$$;$$", " ", "$c", "$", " ", "$", "$"]);
    }

    #[test]
    fn statements_end_at_a_semicolon_outside_of_parentheses() {
        let first = |text| first_statement(text).into_iter().map(|token| token.text).collect::<String>();
        assert_eq!(first("select 1; drop table x"), "select 1; ");
        assert_eq!(first("select 1; -- c\n drop"), "select 1; -- c\n ");
        assert_eq!(first("select (1; 2); 3"), "select (1; 2); ");
        assert_eq!(first("select case 1 when 1 then 2 end; x"), "select case 1 when 1 then 2 end; ");
        assert_eq!(first(" \n "), "");
    }
}
