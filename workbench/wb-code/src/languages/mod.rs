//! The nineteen languages, and the choice among them by name, by file extension, by content.

mod budget;
mod c;
pub(crate) mod clauses;
mod cpp;
mod csharp;
pub(crate) mod elixir;
mod go;
mod grammar;
mod haskell;
mod java;
mod javascript;
mod kotlin;
pub(crate) mod language;
mod lua;
mod names;
mod php;
mod python;
mod ruby;
mod rust;
mod scala;
mod shell;
mod swift;
mod typescript;
pub(crate) mod zig;

use std::{fmt, path::Path};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use grammar::{Grammar, parse, parse_part};
use language::LanguageRules;
pub use names::{CODE_LANGUAGES, CodeLanguage, FURTHER_LANGUAGES, canonical_name};

/// A programming language whose documented functions can be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names say it")]
pub enum Language {
    Rust,
    Python,
    Java,
    #[serde(rename = "javascript")]
    JavaScript,
    #[serde(rename = "typescript")]
    TypeScript,
    Go,
    Ruby,
    Php,
    C,
    Cpp,
    #[serde(rename = "csharp")]
    CSharp,
    Kotlin,
    Scala,
    Swift,
    Lua,
    Shell,
    Haskell,
    Elixir,
    Zig,
}

impl Language {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::Rust,
        Self::Python,
        Self::Java,
        Self::JavaScript,
        Self::TypeScript,
        Self::Go,
        Self::Ruby,
        Self::Php,
        Self::C,
        Self::Cpp,
        Self::CSharp,
        Self::Kotlin,
        Self::Scala,
        Self::Swift,
        Self::Lua,
        Self::Shell,
        Self::Haskell,
        Self::Elixir,
        Self::Zig,
    ];

    /// The name in YAML and in pairs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Python => "python",
            Self::Java => "java",
            Self::JavaScript => "javascript",
            Self::TypeScript => "typescript",
            Self::Go => "go",
            Self::Ruby => "ruby",
            Self::Php => "php",
            Self::C => "c",
            Self::Cpp => "cpp",
            Self::CSharp => "csharp",
            Self::Kotlin => "kotlin",
            Self::Scala => "scala",
            Self::Swift => "swift",
            Self::Lua => "lua",
            Self::Shell => "shell",
            Self::Haskell => "haskell",
            Self::Elixir => "elixir",
            Self::Zig => "zig",
        }
    }

    /// The endings of its files, without the dot.
    pub fn extensions(self) -> &'static [&'static str] {
        CodeLanguage::all().find(|known| known.grammar == Some(self)).map_or(&[], |known| known.endings)
    }

    /// The language of a file ending (without its dot, in any case); `h` is C, see [`Language::of_file`].
    pub fn from_extension(extension: &str) -> Option<Self> {
        CodeLanguage::with_ending(extension)?.grammar
    }

    /// The language with a name, if it has a grammar.
    pub fn named(name: &str) -> Option<Self> {
        CodeLanguage::named(name)?.grammar
    }

    /// The language of a file by its ending; a header that holds C++ is C++.
    pub fn of_file(path: &Path, source: &str) -> Option<Self> {
        let extension = path.extension()?.to_str()?;
        let language = Self::from_extension(extension)?;
        let is_header = extension.eq_ignore_ascii_case("h");
        Some(if is_header && cpp::looks_like_cpp(source) { Self::Cpp } else { language })
    }

    /// True where a text can be read by a grammar of this language without an error and without anything put in.
    pub fn parses(self, code: &str) -> bool {
        // The grammar of C wants a line end after a directive.
        let code = &format!("{code}\n");
        parse(code, self.rules().grammars(code)).is_some_and(|tree| !tree.root_node().has_error())
    }

    pub(crate) fn rules(self) -> &'static dyn LanguageRules {
        match self {
            Self::Rust => &rust::Rust,
            Self::Python => &python::Python,
            Self::Java => &java::Java,
            Self::JavaScript => &javascript::JavaScript,
            Self::TypeScript => &typescript::TypeScript,
            Self::Go => &go::Go,
            Self::Ruby => &ruby::Ruby,
            Self::Php => &php::Php,
            Self::C => &c::C,
            Self::Cpp => &cpp::Cpp,
            Self::CSharp => &csharp::CSharp,
            Self::Kotlin => &kotlin::Kotlin,
            Self::Scala => &scala::Scala,
            Self::Swift => &swift::Swift,
            Self::Lua => &lua::Lua,
            Self::Shell => &shell::Shell,
            Self::Haskell => &haskell::Haskell,
            Self::Elixir => &elixir::Elixir,
            Self::Zig => &zig::Zig,
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_serde_agree() {
        for language in Language::ALL {
            assert_eq!(serde_yaml::to_string(&language).unwrap().trim(), language.name());
            assert_eq!(Language::named(language.name()), Some(language));
        }
    }

    #[test]
    fn endings_find_their_language() {
        for (ending, expected) in
            [("rs", Some(Language::Rust)), ("tsx", Some(Language::TypeScript)), ("H", Some(Language::C)), ("txt", None)]
        {
            assert_eq!(Language::from_extension(ending), expected, "{ending}");
        }
        let header = Path::new("a/b.h");
        assert_eq!(Language::of_file(header, "int f(int);\n"), Some(Language::C));
        assert_eq!(Language::of_file(header, "namespace a {\nint f(int);\n}\n"), Some(Language::Cpp));
    }

    #[test]
    fn what_parses_has_no_error_and_lacks_nothing() {
        for (language, code, expected) in [
            (Language::Rust, "fn f() -> u8 { 1 }", true),
            (Language::Rust, "fn f() -> u8 { 1", false),
            (Language::Python, "def f():\n    return 1", true),
            (Language::Python, "Here is the code:\ndef f():\n    return 1", false),
            (Language::C, "#include <stdio.h>", true),
            (Language::C, "int f(void) { return 1 }", false),
            (Language::Php, "function f() { return 1; }", true),
            (Language::TypeScript, "const a = <b>c</b>;", true),
        ] {
            assert_eq!(language.parses(code), expected, "{language}: {code}");
        }
    }
}
