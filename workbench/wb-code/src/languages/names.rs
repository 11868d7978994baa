//! Names of programming languages: in data, in prose, as people write them, as files end. They are the twenty of
//! CodeR-Pile, with and without a grammar, and further ones that have one.

use super::Language;

type Words = &'static [&'static str];

/// A programming language by its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeLanguage {
    /// The name in YAML and in pairs: `csharp`.
    pub name: &'static str,
    /// The name in prose: `C#`.
    pub title: &'static str,
    /// Endings of its files, without the dot, in lower case; no ending is of two languages.
    pub endings: Words,
    /// Other names that people write, in lower case.
    pub aliases: Words,
    /// Its grammar, where there is one.
    pub grammar: Option<Language>,
}

/// The languages of CodeR-Pile, in the order of arXiv 2505.12697.
pub const CODE_LANGUAGES: [CodeLanguage; 20] = [
    parsed(Language::Java, "Java", &["java"], &[]),
    parsed(
        Language::Python,
        "Python",
        &["py"],
        &["python2", "python3", "ipython", "ipython2", "ipython3", "pycon", "pycon3"],
    ),
    parsed(Language::JavaScript, "JavaScript", &["js", "mjs", "cjs", "jsx"], &[]),
    parsed(Language::Php, "PHP", &["php"], &[]),
    parsed(Language::Ruby, "Ruby", &["rb"], &[]),
    parsed(Language::Go, "Go", &["go"], &["golang"]),
    parsed(Language::CSharp, "C#", &["cs"], &["c#", "cs"]),
    parsed(Language::Cpp, "C++", &["cpp", "cc", "cxx", "c++", "hpp", "hh", "hxx", "h++", "ipp", "tpp", "inl"], &[]),
    parsed(Language::C, "C", &["c", "h"], &[]),
    parsed(Language::Rust, "Rust", &["rs"], &[]),
    parsed(Language::TypeScript, "TypeScript", &["ts", "tsx", "mts", "cts"], &[]),
    other("perl", "Perl", &["pl", "pm"], &[]),
    parsed(Language::Shell, "Shell", &["sh", "bash"], &["sh", "bash", "zsh", "console", "shell-session"]),
    other("sql", "SQL", &["sql"], &[]),
    other("batch", "Batch", &["bat", "cmd"], &[]),
    other("fortran", "Fortran", &["f", "for", "f90", "f95", "f03"], &[]),
    parsed(Language::Haskell, "Haskell", &["hs"], &[]),
    parsed(Language::Lua, "Lua", &["lua"], &[]),
    other("powershell", "PowerShell", &["ps1", "psm1"], &[]),
    other("vb", "Visual Basic", &["vb"], &[]),
];

/// Languages with a grammar that CodeR-Pile does not have.
pub const FURTHER_LANGUAGES: [CodeLanguage; 5] = [
    parsed(Language::Kotlin, "Kotlin", &["kt", "kts"], &[]),
    parsed(Language::Scala, "Scala", &["scala", "sc", "sbt"], &[]),
    parsed(Language::Swift, "Swift", &["swift"], &[]),
    parsed(Language::Elixir, "Elixir", &["ex", "exs"], &[]),
    parsed(Language::Zig, "Zig", &["zig"], &[]),
];

const fn parsed(language: Language, title: &'static str, endings: Words, aliases: Words) -> CodeLanguage {
    CodeLanguage { name: language.name(), title, endings, aliases, grammar: Some(language) }
}

const fn other(name: &'static str, title: &'static str, endings: Words, aliases: Words) -> CodeLanguage {
    CodeLanguage { name, title, endings, aliases, grammar: None }
}

impl CodeLanguage {
    /// The languages of CodeR-Pile and the further ones.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        CODE_LANGUAGES.iter().chain(&FURTHER_LANGUAGES)
    }

    /// The language with a name as data has it.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::all().find(|language| language.name == name)
    }

    /// The language with an ending (without its dot, in any case).
    pub fn with_ending(ending: &str) -> Option<&'static Self> {
        let ending = ending.to_ascii_lowercase();
        Self::all().find(|language| language.endings.contains(&ending.as_str()))
    }
}

/// The name of a language as data has it: `py`, `Python3`, `c++`, `golang` are `python`, `python`, `cpp`, `go`; a name
/// that is not known is itself in lower case.
///
/// Endings count for languages with a grammar alone: `f` or `for` beside a piece of code is hardly Fortran.
pub fn canonical_name(name: &str) -> String {
    let lower = name.trim().to_lowercase();
    let by_alias = CodeLanguage::all().find(|language| language.aliases.contains(&lower.as_str()));
    match by_alias.map(|language| language.name).or_else(|| Language::from_extension(&lower).map(Language::name)) {
        Some(known) => known.to_owned(),
        None => lower,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_and_an_alias_are_of_one_language() {
        for (at, language) in CodeLanguage::all().enumerate() {
            for ending in language.endings {
                assert_eq!(CodeLanguage::with_ending(&ending.to_uppercase()), Some(language), "{ending}");
            }
            for alias in language.aliases {
                assert_eq!(canonical_name(&alias.to_uppercase()), language.name, "{alias}");
                assert!(CodeLanguage::all().take(at).all(|before| !before.aliases.contains(alias)), "{alias}");
            }
            assert_eq!(canonical_name(language.name), language.name);
        }
        assert_eq!(CodeLanguage::with_ending("txt"), None);
        for language in Language::ALL {
            assert!(CodeLanguage::all().any(|known| known.grammar == Some(language)), "{language}");
        }
    }

    #[test]
    fn names_as_people_write_them() {
        for (name, expected) in [
            ("py", "python"),
            (" Python3 ", "python"),
            ("c++", "cpp"),
            ("H", "c"),
            ("zsh", "shell"),
            ("C#", "csharp"),
            ("for", "for"),
            ("Kotlin", "kotlin"),
            ("kts", "kotlin"),
            ("hs", "haskell"),
            ("zon", "zon"),
            ("", ""),
        ] {
            assert_eq!(canonical_name(name), expected, "{name}");
        }
    }
}
