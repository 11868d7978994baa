//! Places where NLTK ends one sentence and begins the next, for SQL.
//!
//! The published parser hands whole queries to `word_tokenize`, which first cuts them into sentences by Punkt (Kiss and
//! Strunk, "Unsupervised multilingual sentence boundary detection", 2006) with a model of English. A dot before a space
//! may then lose its word: `ORDER BY age. LIMIT 3` becomes `age`, `.`, `limit`, while `ORDER BY rep. LIMIT 3` keeps `rep.`
//! since that is an abbreviation.
//!
//! The model knows 20,366 words and how they are written; a decision asks for one only when it follows an
//! abbreviation, a single letter or a number. Here the words of SQL have what the model has for them, all others count
//! as unknown. The one difference that is left: a capitalized word that is no word of SQL, but one of the model's, after
//! a single letter or abbreviation with a dot and a space, as in `ORDER BY a. Profit`.

use std::ops::Range;

use super::{numbers::is_digit, words::is_space};

/// Abbreviations of the model.
const ABBREVIATIONS: &str = " a.a a.c a.d a.g a.h a.m a.m.e a.s a.t adm ala ariz aug ave b.f b.v bros c c.i.t c.o.m.b \
    c.v calif chg cie co col colo conn corp cos ct d d.c d.h d.w dec dr e e.f e.h e.l e.m f f.g f.j feb fla fri ft g \
    g.d g.f g.k ga gen h h.c h.f h.m i.m.s ill inc j.b j.c j.j j.k j.p j.r jan jr k kan ky l l.a l.f l.p lt ltd m m.b.a \
    m.d.c m.j maj messrs mg mich minn mr mrs ms n n.c n.d n.h n.j n.m n.v n.y nev nov oct ok okla ore p p.a.m p.m pa \
    ph.d prof r r.a r.h r.i r.j r.k r.t rep reps s s.a s.a.y s.c s.g s.p.a s.s sen sep sept sr st sw t t.j tenn tues \
    u.k u.n u.s u.s.a u.s.s.r v va vs vt w w.c w.r w.va w.w wash wed wis yr ";

/// Words that often start sentences.
const STARTERS: &str = " most he since so both these it nevertheless this indeed however instead under similarly some \
    though while when in despite although nonetheless thus there if the nor separately moreover but they yet many \
    according sales among meanwhile even i ";

/// Pairs that belong together: the second words after a number, then after single letters.
const COLLOCATIONS: [(&str, &str); 5] = [
    (
        NUMBER,
        " international rj commodities cooper genentech wedgestone pepper insider aes credit corrections financing \
         henley business pay-fone leisure pegasus dividend review abreast who letters colgate cbot notable zimmer ",
    ),
    ("b", " stewart wigton edelman levine smith "),
    ("i", " toussie magnin "),
    ("j", " fialka walter aron "),
    ("o", " ludcke "),
];

/// Words of SQL that the model has seen in lower case.
const LOWER: &str = " select from where group by order limit and or union except having join on as in like not between \
    count sum distinct is inner left right outer full cross natural exists values value set when then case else end \
    all any with using offset cast none top into create table ";

/// Words of these that it has never seen capitalized within a sentence.
const NEVER_CAPITAL: &str =
    " select except between sum distinct inner right outer exists values else using offset cast into create ";

/// The only words that the model has seen in lower case at the start of a sentence, and never capitalized.
const ALWAYS_LOWER: &str = " z-holiday administrators r-revised b-week ";

/// The type of all numbers.
const NUMBER: &str = "##number##";

fn lists(list: &str, word: &str) -> bool {
    !word.contains(' ') && list.contains(&format!(" {word} "))
}

/// The sentences of `text`, as ranges of characters.
pub(super) fn sentences(text: &[char]) -> Vec<Range<usize>> {
    let end = text.iter().rposition(|&c| !is_space(c)).map_or(0, |last| last + 1);
    let mut slices = Vec::new();
    let mut start = 0;
    for mark in marks(text) {
        if breaks(&text[mark.context.clone()]) {
            slices.push(start..mark.place + 1);
            start = mark.next;
        }
    }
    slices.push(start..end.max(start));
    realigned(text, &slices)
}

/// A dot, `?` or `!` that may end a sentence.
struct Mark {
    place: usize,
    /// Place where the next sentence would begin.
    next: usize,
    /// From the word before to the word or sign behind.
    context: Range<usize>,
}

fn is_closing(c: char) -> bool {
    matches!(c, '"' | '\'' | ')' | ']' | '}' | '‘' | '’' | '“' | '”' | '«' | '»')
}

/// Signs that are no part of words.
fn is_sign(c: char) -> bool {
    is_closing(c) || matches!(c, ';' | '*' | ':' | '@' | '(' | '{' | '[' | '?' | '!')
}

/// The marks that stand before a sign, or before white space and a word. Of marks that share their word before, only
/// the last counts.
fn marks(text: &[char]) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    // The word before the last mark, without the mark.
    let mut word = 0..0;
    for place in (0..text.len()).filter(|&place| matches!(text[place], '.' | '?' | '!')) {
        let space = text[place + 1..].iter().take_while(|&&c| is_space(c)).count();
        let behind = place + 1 + space;
        let (next, end) = match text.get(behind) {
            Some(&c) if space == 0 && is_sign(c) => (behind, behind + 1),
            Some(_) if space > 0 => (behind, behind + text[behind..].iter().take_while(|&&c| !is_space(c)).count()),
            _ => continue,
        };
        let ascii_space = |c: &char| matches!(c, ' ' | '\t'..='\r');
        let start = match text[word.end..place].iter().rposition(ascii_space) {
            // A space right behind the mark before counts as none.
            None | Some(0) => word.start,
            Some(space) => word.end + space + 1,
        };
        if start < word.end {
            marks.pop();
        }
        word = start..place;
        marks.push(Mark { place, next, context: start..end });
    }
    marks
}

/// True where a sentence ends within `context`.
fn breaks(context: &[char]) -> bool {
    let tokens: Vec<String> = context.split(|&c| c == '\n').flat_map(tokens).collect();
    tokens.windows(2).any(|pair| ends(&pair[0], &pair[1]))
}

/// True where a sentence ends between two tokens.
fn ends(token: &str, next: &str) -> bool {
    if matches!(token, "?" | "!") {
        return true;
    }
    let Some(word) = token.strip_suffix('.') else { return false };
    let (kind, next_kind) = (kind(token), kind(next));
    let kind = if kind.len() > 1 { kind.strip_suffix('.').unwrap_or(&kind) } else { &kind };
    let next_word = if is_break(next) && next_kind.len() > 1 {
        next_kind.strip_suffix('.').unwrap_or(&next_kind)
    } else {
        &next_kind
    };
    if COLLOCATIONS.iter().any(|(first, seconds)| *first == kind && lists(seconds, next_word)) {
        return false;
    }
    let initial = {
        let mut letters = word.chars();
        letters.next().is_some_and(is_letter) && letters.next().is_none()
    };
    let upper = next.chars().next().is_some_and(char::is_uppercase);
    let starts = starts(next, next_word);
    let likely = is_break(token);
    let unsure = is_abbreviation(word) || is_ellipsis(token);
    if unsure && !initial && (starts == Some(true) || upper && lists(STARTERS, next_word)) {
        return true;
    }
    if (initial || kind == NUMBER) && starts == Some(false) {
        return false;
    }
    if initial && starts.is_none() && upper && !lists(LOWER, next_word) {
        return false;
    }
    likely
}

/// True where the token alone looks like an end.
fn is_break(token: &str) -> bool {
    if matches!(token, "." | "?" | "!") {
        return true;
    }
    let Some(word) = token.strip_suffix('.') else { return false };
    !word.ends_with('.') && !is_abbreviation(word)
}

fn is_ellipsis(token: &str) -> bool {
    token.len() > 1 && token.chars().all(|c| c == '.')
}

/// True where `word`, which a dot follows, is short for something.
fn is_abbreviation(word: &str) -> bool {
    if word.ends_with('.') || word.is_empty() {
        return false;
    }
    let lower = word.to_lowercase();
    lower == ". . "
        || lists(ABBREVIATIONS, &lower)
        || lower.rsplit('-').next().is_some_and(|end| lists(ABBREVIATIONS, end))
}

fn is_letter(c: char) -> bool {
    (c.is_alphanumeric() || c == '_') && !is_digit(c)
}

/// The token in lower case, or [`NUMBER`].
fn kind(token: &str) -> String {
    let number = token.strip_prefix('-').unwrap_or(token);
    let number = number.strip_prefix(['.', ',']).unwrap_or(number);
    let mut characters = number.chars();
    let numeric =
        characters.next().is_some_and(is_digit) && characters.all(|c| is_digit(c) || matches!(c, ',' | '.' | '-'));
    if numeric { NUMBER.to_owned() } else { token.to_lowercase() }
}

/// True where the way a token is written says that it starts a sentence; nothing where that is open.
fn starts(token: &str, word: &str) -> Option<bool> {
    if matches!(token, ";" | ":" | "," | "." | "!" | "?") {
        return Some(false);
    }
    let first = token.chars().next()?;
    if first.is_uppercase() && lists(NEVER_CAPITAL, word) {
        return Some(true);
    }
    (first.is_lowercase() && !lists(ALWAYS_LOWER, word)).then_some(false)
}

/// Cuts a line into words and signs; dots stay with their words.
fn tokens(line: &[char]) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut place = 0;
    while place < line.len() {
        let rest = &line[place..];
        let length = if is_space(rest[0]) {
            place += 1;
            continue;
        } else if let Some(length) = multiple(rest) {
            length
        } else if matches!(
            rest[0],
            '(' | '"' | '`' | '{' | '[' | ':' | ';' | '&' | '#' | '*' | '@' | ')' | '}' | ']' | '-' | ','
        ) {
            1
        } else {
            (1..rest.len()).find(|&end| word_ends(&rest[end..])).unwrap_or(rest.len())
        };
        tokens.push(rest[..length].iter().collect());
        place += length;
    }
    tokens
}

fn word_ends(rest: &[char]) -> bool {
    let hard = |rest: &[char]| rest.first().is_none_or(|&c| is_space(c) || is_sign(c)) || multiple(rest).is_some();
    hard(rest) || rest[0] == ',' && hard(&rest[1..])
}

/// The length of a run of dashes or dots, or of dots with single spaces between them.
fn multiple(rest: &[char]) -> Option<usize> {
    let run = |sign| rest.iter().take_while(|&&c| c == sign).count();
    let (dashes, dots) = (run('-'), run('.'));
    if dashes > 1 || dots > 1 {
        return Some(dashes.max(dots));
    }
    let spaced = rest.chunks(2).take_while(|pair| pair[0] == '.' && pair.get(1).is_some_and(|&c| is_space(c))).count();
    let ends = (0..=spaced).rev().find(|&pairs| rest.get(2 * pairs) == Some(&'.'))?;
    (ends > 1).then_some(2 * ends + 1)
}

/// Gives closing signs at the start of a sentence to the one before.
fn realigned(text: &[char], slices: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut sentences = Vec::new();
    let mut moved = 0;
    for (index, slice) in slices.iter().enumerate() {
        let start = (slice.start + moved).min(text.len());
        moved = 0;
        let mut end = slice.end;
        if let Some(next) = slices.get(index + 1)
            && let Some((signs, length)) = closing(&text[next.clone()])
        {
            (end, moved) = (next.start + signs, length);
        }
        if start < end {
            sentences.push(start..end);
        }
    }
    sentences
}

/// Number of closing signs that a sentence begins with, alone and with the space behind them.
fn closing(sentence: &[char]) -> Option<(usize, usize)> {
    let most = sentence.iter().take_while(|&&c| is_closing(c)).count();
    (1..=most).find_map(|signs| {
        let space = sentence[signs..].iter().take_while(|&&c| is_space(c)).count();
        let rest = &sentence[signs..];
        (space > 0 || rest.is_empty() || rest.starts_with(&['-', '-'])).then_some((signs, signs + space))
    })
}

#[cfg(test)]
mod tests {
    fn cut(text: &str) -> Vec<String> {
        let text: Vec<char> = text.chars().collect();
        super::sentences(&text).into_iter().map(|range| text[range].iter().collect()).collect()
    }

    #[test]
    fn sentences_end_where_nltk_ends_them() {
        let whole = [
            "SELECT t1.name FROM t AS t1",
            "ORDER BY rep. LIMIT 3",
            "ORDER BY a. limit 3",
            "a > 5. and b",
            "a > 5. review",
            "a != b",
            "",
        ];
        for text in whole {
            assert!(cut(text).len() <= 1, "{text}: {:?}", cut(text));
        }
        assert_eq!(cut("ORDER BY age. LIMIT 3 "), ["ORDER BY age.", "LIMIT 3"]);
        assert_eq!(cut("age > 5. AND x"), ["age > 5.", "AND x"]);
        assert_eq!(cut("(t1.*) x"), ["(t1.", "*) x"]);
        assert_eq!(cut("a ! = 5"), ["a !", "= 5"]);
        assert_eq!(cut("(a.) LIMIT"), ["(a.)", "LIMIT"]);
        assert_eq!(cut("(name. ) x? y"), ["(name. )", "x?", "y"]);
    }
}
