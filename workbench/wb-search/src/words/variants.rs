//! Words that say the same in other forms: those of one root, and what developers shorten them to.

use std::sync::LazyLock;

use super::tokenizer;

/// Endings by which words of one root differ, as they are after [`tokenizer`]; the longer ones first.
const ENDINGS: [&str; 48] = [
    "ization", "isation", "ability", "ibility", "ication", "icator", "ational", "ation", "ition", "ution", "ator",
    "itor", "utor", "ative", "itive", "izer", "icat", "able", "ible", "abl", "ibl", "ment", "ness", "ance", "ence",
    "anc", "enc", "ant", "ent", "ity", "ion", "ive", "iv", "ing", "ize", "iz", "ate", "at", "er", "or", "al", "ly",
    "ic", "ed", "ry", "s", "e", "y",
];
/// Letters that an ending leaves at least.
const LEAST: usize = 4;

/// A short form and a word that it stands for, a line.
const SHORT_FORMS: &str = include_str!("short_forms.txt");

/// Short forms as an index has them, with the roots of what they stand for.
static SHORT: LazyLock<Vec<(String, &'static str)>> = LazyLock::new(|| {
    let mut tokens = tokenizer();
    let pairs = SHORT_FORMS.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(short, long)| (tokens.words(short).concat(), root(long))).collect()
});

/// The root of a word: `resol` of `resolution`, `resolver` and `resolv`. Words of other roots may share it, as `head` and
/// `header` do, so that it is worth less than the word.
pub(crate) fn root(word: &str) -> &str {
    let without = |ending: &str| word.strip_suffix(ending).filter(|short| short.len() >= LEAST);
    let short = ENDINGS.iter().find_map(|ending| without(ending)).unwrap_or(word);
    let short = short.strip_suffix('e').filter(|short| short.len() >= LEAST).unwrap_or(short);
    match short.as_bytes() {
        // `logger`, `controller`; `resolve`. A letter of one byte, so that none is cut.
        [.., a, b] if a == b && b.is_ascii() && short.len() >= LEAST => &short[..short.len() - 1],
        [.., b'l', b'v'] => &short[..short.len() - 1],
        _ => short,
    }
}

/// Roots of what a word says: its own, and those of words that it is short for.
pub(crate) fn roots(word: &str) -> Vec<&str> {
    let of_long = SHORT.iter().filter(|(short, _)| short == word).map(|(_, root)| *root);
    [root(word)].into_iter().chain(of_long).collect()
}

/// Short forms of words of a root.
pub(crate) fn short_forms(root: &str) -> Vec<&'static str> {
    SHORT.iter().filter(|(_, of)| *of == root).map(|(short, _)| short.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_one_root_meet() {
        let of = |words: &str| -> Vec<String> {
            let mut roots: Vec<String> = tokenizer().words(words).iter().map(|word| root(word).to_owned()).collect();
            roots.dedup();
            roots
        };
        for (words, expected) in [
            ("resolution resolver resolve resolving", "resol"),
            ("connection connect connector connected", "connect"),
            ("validation validator validate validating", "valid"),
            ("serialization serializer serialize", "serial"),
            ("authentication authenticator authenticate", "authent"),
            ("parser parsing parse", "pars"),
            ("logger log logging", "log"),
            ("controller control", "control"),
            ("manager management manage", "manag"),
            ("observable observer observe observability", "observ"),
            ("utility utils", "util"),
        ] {
            assert_eq!(of(words), [expected], "{words}");
        }
        assert_eq!(of("user use position post"), ["user", "use", "posit", "post"]);
        // The last two bytes of the first are equal, and no letters.
        assert_eq!(
            ["a\u{20000}\u{80000}", "größe", "配置", "ß"].map(root),
            ["a\u{20000}\u{80000}", "größ", "配置", "ß"]
        );
    }

    #[test]
    fn short_forms_stand_for_words_of_a_root() {
        assert_eq!(roots("auth"), ["auth", "authent", "author"]);
        assert_eq!(short_forms(root("configuration")), ["cfg", "conf", "config"]);
        assert!(SHORT_FORMS.lines().all(|line| line.split_once(' ').is_some_and(|(a, b)| b.len() > a.len())));
    }
}
