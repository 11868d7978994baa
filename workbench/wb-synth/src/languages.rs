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
    /// How its files end, in lower case; no ending is of two languages.
    pub endings: &'static [&'static str],
}

const fn language(
    name: &'static str,
    title: &'static str,
    weight: u32,
    endings: &'static [&'static str],
) -> CodeLanguage {
    CodeLanguage { name, title, weight, endings }
}

/// All twenty.
pub const LANGUAGES: [CodeLanguage; 20] = [
    language("java", "Java", 3000, &[".java"]),
    language("python", "Python", 3000, &[".py"]),
    language("javascript", "JavaScript", 3000, &[".js", ".mjs", ".cjs", ".jsx"]),
    language("php", "PHP", 3000, &[".php"]),
    language("ruby", "Ruby", 3000, &[".rb"]),
    language("go", "Go", 3000, &[".go"]),
    language("csharp", "C#", 3000, &[".cs"]),
    language("cpp", "C++", 3000, &[".cpp", ".cc", ".cxx", ".hpp", ".hh", ".hxx"]),
    language("c", "C", 1500, &[".c", ".h"]),
    language("rust", "Rust", 1500, &[".rs"]),
    language("typescript", "TypeScript", 1500, &[".ts", ".tsx"]),
    language("perl", "Perl", 1500, &[".pl", ".pm"]),
    language("shell", "Shell", 1500, &[".sh", ".bash"]),
    language("sql", "SQL", 1500, &[".sql"]),
    language("batch", "Batch", 750, &[".bat", ".cmd"]),
    language("fortran", "Fortran", 750, &[".f", ".for", ".f90", ".f95", ".f03"]),
    language("haskell", "Haskell", 750, &[".hs"]),
    language("lua", "Lua", 750, &[".lua"]),
    language("powershell", "PowerShell", 750, &[".ps1", ".psm1"]),
    language("vb", "Visual Basic", 750, &[".vb"]),
];

/// The language of a file by its ending, in any case.
pub fn of_file(path: &str) -> Option<&'static str> {
    let (_, ending) = path.rsplit_once('.')?;
    let ending = format!(".{}", ending.to_ascii_lowercase());
    LANGUAGES.iter().find(|language| language.endings.contains(&ending.as_str())).map(|language| language.name)
}

/// The endings of the languages that are wanted.
pub fn endings(is_wanted: impl Fn(&str) -> bool) -> Vec<&'static str> {
    LANGUAGES
        .iter()
        .filter(|language| is_wanted(language.name))
        .flat_map(|language| language.endings)
        .copied()
        .collect()
}

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
        for (at, language) in LANGUAGES.iter().enumerate() {
            for ending in language.endings {
                assert_eq!(of_file(&format!("a/b.c{}", ending.to_uppercase())), Some(language.name), "{ending}");
                assert!(LANGUAGES[..at].iter().all(|other| !other.endings.contains(ending)), "{ending}");
            }
            assert_eq!(endings(|name| name == language.name), language.endings);
        }
        assert_eq!((of_file("Makefile"), of_file("a.txt")), (None, None));
        assert_eq!(title("csharp"), "C#");
        assert_eq!(title("kotlin"), "kotlin");
    }
}
