//! Shares of the twenty programming languages of CodeR-Pile, and the pairs of them that are translated.
//!
//! Languages, weights and pairs: C. Li et al., "Towards A Generalist Code Embedding Model Based On Massive Data Synthesis",
//! arXiv 2505.12697 (3,000 snippets a task for eight languages, 1,500 for six, 750 for six; 16 pairs, both ways).

use wb_code::{CODE_LANGUAGES, CodeLanguage};
use wb_core::{Error, suggest};

/// The share of a language in CodeR-Pile, in snippets a task.
pub fn weight(name: &str) -> u32 {
    match name {
        "java" | "python" | "javascript" | "php" | "ruby" | "go" | "csharp" | "cpp" => 3000,
        "c" | "rust" | "typescript" | "perl" | "shell" | "sql" => 1500,
        _ => 750,
    }
}

/// Pairs of languages that are translated, both ways: code of one family into the others of it, and a few bridges.
pub const TRANSLATIONS: [(&str, &str); 16] = [
    ("c", "cpp"),
    ("c", "csharp"),
    ("c", "java"),
    ("cpp", "csharp"),
    ("cpp", "java"),
    ("csharp", "java"),
    ("python", "ruby"),
    ("python", "perl"),
    ("ruby", "perl"),
    ("javascript", "typescript"),
    ("javascript", "php"),
    ("typescript", "php"),
    ("rust", "go"),
    ("rust", "cpp"),
    ("go", "cpp"),
    ("python", "cpp"),
];

/// One of the twenty by its name; other languages are not made, whether there is a grammar of them or not.
pub(crate) fn known(name: &str) -> Option<&'static CodeLanguage> {
    CODE_LANGUAGES.iter().find(|language| language.name == name)
}

/// A language's name as people write it; a name that is not among the twenty stays as it is.
pub fn title(name: &str) -> &str {
    known(name).map_or(name, |language| language.title)
}

/// Refuses a name that is none of the twenty with a near one as the hint; `key` is the config path where it stands.
pub(crate) fn check(name: &str, key: &str, message: impl Into<String>) -> wb_core::Result<()> {
    if known(name).is_some() {
        return Ok(());
    }
    let near = suggest::hint(name, CODE_LANGUAGES.map(|language| language.name));
    Err(Error::value(key, message).with_hint_if(near))
}

/// The languages that a language is translated into; none for languages without a pair.
pub fn targets(name: &str) -> Vec<&'static str> {
    let other = |(a, b): &(&'static str, &'static str)| match (*a == name, *b == name) {
        (true, _) => Some(*b),
        (_, true) => Some(*a),
        _ => None,
    };
    TRANSLATIONS.iter().filter_map(other).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twenty_languages_and_sixteen_pairs_of_them() {
        let weights = CODE_LANGUAGES.map(|language| weight(language.name));
        assert_eq!(weights.iter().sum::<u32>(), 8 * 3000 + 6 * 1500 + 6 * 750);
        assert!(weights.is_sorted_by(|a, b| a >= b), "{weights:?}");
        for (at, (a, b)) in TRANSLATIONS.iter().enumerate() {
            assert!(known(a).is_some(), "{a}");
            assert!(known(b).is_some(), "{b}");
            assert!(a != b && !TRANSLATIONS[..at].contains(&(b, a)) && !TRANSLATIONS[..at].contains(&(a, b)));
        }
        assert_eq!(targets("python"), ["ruby", "perl", "cpp"]);
        assert_eq!(targets("haskell"), [""; 0]);
        assert_eq!(title("csharp"), "C#");
        assert_eq!(title("kotlin"), "kotlin");
        assert!(check("kotlin", "synth.languages", "no").is_err());
    }
}
