//! The twenty programming languages of CodeR-Pile, how much of each is wanted, and which are translated into which.
//!
//! Languages, weights and pairs: C. Li et al., "Towards A Generalist Code Embedding Model Based On Massive Data Synthesis",
//! arXiv 2505.12697 (3,000 snippets a task for eight languages, 1,500 for six, 750 for six; 16 pairs, both ways).

/// A programming language by the name that pairs have, with its weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeLanguage {
    /// In pairs and in YAML: `csharp`.
    pub name: &'static str,
    /// In prompts: `C#`.
    pub title: &'static str,
    /// Its share in CodeR-Pile, in snippets a task.
    pub weight: u32,
}

const fn language(name: &'static str, title: &'static str, weight: u32) -> CodeLanguage {
    CodeLanguage { name, title, weight }
}

/// All twenty.
pub const LANGUAGES: [CodeLanguage; 20] = [
    language("java", "Java", 3000),
    language("python", "Python", 3000),
    language("javascript", "JavaScript", 3000),
    language("php", "PHP", 3000),
    language("ruby", "Ruby", 3000),
    language("go", "Go", 3000),
    language("csharp", "C#", 3000),
    language("cpp", "C++", 3000),
    language("c", "C", 1500),
    language("rust", "Rust", 1500),
    language("typescript", "TypeScript", 1500),
    language("perl", "Perl", 1500),
    language("shell", "Shell", 1500),
    language("sql", "SQL", 1500),
    language("batch", "Batch", 750),
    language("fortran", "Fortran", 750),
    language("haskell", "Haskell", 750),
    language("lua", "Lua", 750),
    language("powershell", "PowerShell", 750),
    language("vb", "Visual Basic", 750),
];

/// What is translated into what, both ways: code of one family into the others of it, and a few bridges.
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

/// A language's name as people write it; a name that is not among the twenty stays as it is.
pub fn title(name: &str) -> &str {
    LANGUAGES.iter().find(|language| language.name == name).map_or(name, |language| language.title)
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
        assert_eq!(LANGUAGES.map(|language| language.weight).iter().sum::<u32>(), 8 * 3000 + 6 * 1500 + 6 * 750);
        for (at, (a, b)) in TRANSLATIONS.iter().enumerate() {
            assert!(LANGUAGES.iter().any(|language| language.name == *a), "{a}");
            assert!(LANGUAGES.iter().any(|language| language.name == *b), "{b}");
            assert!(a != b && !TRANSLATIONS[..at].contains(&(b, a)) && !TRANSLATIONS[..at].contains(&(a, b)));
        }
        assert_eq!(targets("python"), ["ruby", "perl", "cpp"]);
        assert_eq!(targets("haskell"), [""; 0]);
        assert_eq!(title("csharp"), "C#");
        assert_eq!(title("kotlin"), "kotlin");
    }
}
