//! Questions and names as words: what a rule can compare.

/// A word of a question; a quoted text is one word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Word as written, without quotes.
    pub text: String,
    /// Word in lower case, without its plural.
    pub stem: String,
    /// True where quotes stand around it.
    pub quoted: bool,
}

impl Word {
    /// True where it begins with a capital letter.
    pub fn capital(&self) -> bool {
        self.text.chars().next().is_some_and(char::is_uppercase)
    }

    /// Its number, if it is one in digits: `1,000` is 1000.
    pub fn number(&self) -> Option<f64> {
        let plain = self.text.replace(',', "");
        let digits =
            plain.chars().all(|c| c.is_ascii_digit() || c == '.') && plain.starts_with(|c: char| c.is_ascii_digit());
        digits.then(|| plain.parse().ok()).flatten()
    }

    /// Its number as a word, from one to twelve.
    pub fn counted(&self) -> Option<f64> {
        let names = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
        names
            .iter()
            .zip(1..)
            .find(|(name, _)| self.text.eq_ignore_ascii_case(name))
            .map(|(_, number)| f64::from(number))
    }
}

/// The words of a question, in order: runs of letters, digits, `_`, and `.`, `,`, `-`, `@`, `%` and `/` within them;
/// texts in `"`, `'`, backticks or curly quotes, whole. An apostrophe within a word (`owner's`) ends it and takes what
/// follows along.
pub fn words(question: &str) -> Vec<Word> {
    let text: Vec<char> = question.chars().collect();
    let mut words = Vec::new();
    let mut place = 0;
    while place < text.len() {
        let c = text[place];
        if let Some(end) = quoted(&text, place) {
            push(&text[place + 1..end], true, &mut words);
            place = end + 1;
        } else if c.is_alphanumeric() || c == '_' {
            let start = place;
            while place < text.len() && (is_word(text[place]) || inner(&text, place)) {
                place += 1;
            }
            push(&text[start..place], false, &mut words);
            if matches!(text.get(place), Some('\'' | '’')) && text.get(place + 1).is_some_and(|c| c.is_alphabetic()) {
                place += 1;
                while text.get(place).is_some_and(|c| c.is_alphabetic()) {
                    place += 1;
                }
            }
        } else {
            place += 1;
        }
    }
    words
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// True where a sign stands between two characters of one word.
fn inner(text: &[char], place: usize) -> bool {
    let next = text.get(place + 1).copied().unwrap_or(' ');
    match text[place] {
        ',' => place > 0 && text[place - 1].is_ascii_digit() && next.is_ascii_digit(),
        '.' | '-' | '@' | '/' | ':' => is_word(next),
        _ => false,
    }
}

/// Place where the quote that opens at `place` closes.
fn quoted(text: &[char], place: usize) -> Option<usize> {
    let close = match text[place] {
        '"' => ['"', '"', '”'],
        '“' | '”' => ['”', '"', '“'],
        '\'' => ['\'', '\'', '’'],
        '‘' => ['’', '\'', '’'],
        '`' => ['`', '\'', '`'],
        _ => return None,
    };
    if place > 0 && is_word(text[place - 1]) {
        return None;
    }
    let found = (place + 1..text.len())
        .find(|&end| close.contains(&text[end]) && !text.get(end + 1).is_some_and(|&c| is_word(c)))?;
    (found > place + 1).then_some(found)
}

fn push(text: &[char], quoted: bool, words: &mut Vec<Word>) {
    let text: String = text.iter().collect();
    let text = text.trim().to_owned();
    if !text.is_empty() {
        let stem = stem(&text);
        words.push(Word { text, stem, quoted });
    }
}

/// A word in lower case without its plural: `countries` is `country`, `matches` is `match`, `names` is `name`.
pub fn stem(word: &str) -> String {
    let word = word.to_lowercase();
    let cut = |count: usize| word[..word.len() - count].to_owned();
    match word.as_str() {
        "people" => "person".to_owned(),
        "children" => "child".to_owned(),
        "movies" | "series" | "species" | "likes" => word.trim_end_matches('s').to_owned(),
        _ if !word.is_ascii() || word.len() < 4 => word,
        _ if word.ends_with("ies") => cut(3) + "y",
        _ if ["sses", "xes", "zes", "ches", "shes"].iter().any(|end| word.ends_with(end)) => cut(2),
        _ if ["ss", "us", "is"].iter().any(|end| word.ends_with(end)) => word,
        _ if word.ends_with('s') => cut(1),
        _ => word,
    }
}

/// The stems of a name: `Song_release_year`, `song release year` and `songReleaseYear` have the same three.
pub fn name_stems(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        if before.is_lowercase() && c.is_uppercase() {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            if let Some(word) = words.last_mut() {
                word.push(c);
            }
        } else {
            words.push(String::new());
        }
        before = c;
    }
    let parts = words.iter().filter(|word| !word.is_empty() && !matches!(word.as_str(), "of" | "the" | "a" | "or"));
    let stems: Vec<String> = parts.map(|word| stem(word)).collect();
    if stems.is_empty() { vec![stem(name)] } else { stems }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(question: &str) -> String {
        let word = |word: Word| if word.quoted { format!("<{}>", word.text) } else { word.stem };
        words(question).into_iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn questions_are_cut_into_stems_and_quoted_texts() {
        for (question, expected) in [
            ("What are the owner's names, and countries?", "what are the owner name and country"),
            ("Whose title is \"A Love of a Lifetime\"?", "whose title is <A Love of a Lifetime>"),
            ("codes 'AKO' or ‘B.C’ of 1,000 e-mails", "code <AKO> or <B.C> of 1,000 e-mail"),
            ("the dogs' age isn't 3.5.", "the dog age isn 3.5"),
            ("'", ""),
            ("an 'open quote", "an open quote"),
        ] {
            assert_eq!(shown(question), expected, "{question}");
        }
        assert_eq!(words("1,000")[0].number(), Some(1000.0));
        assert_eq!(words("Two")[0].counted(), Some(2.0));
    }

    #[test]
    fn names_are_split_at_signs_and_capitals() {
        for name in ["Song_release_year", "song release years", "songReleaseYear"] {
            assert_eq!(name_stems(name), ["song", "release", "year"], "{name}");
        }
        assert_eq!(name_stems("of"), ["of"]);
        assert_eq!([stem("classes"), stem("cities"), stem("bus"), stem("is")], ["class", "city", "bus", "is"]);
    }
}
