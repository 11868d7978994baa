//! Languages of files, and the parts that files play in their project, by their paths and by what they begin with.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use wb_code::{
    CodeLanguage,
    notebook::{self, is_notebook},
    tree::VENDORED_FOLDERS,
};
use wb_core::suggest;

/// The part that a file plays in its project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileRole {
    /// Code that does the work.
    Source,
    /// Tests and what they are made of.
    Test,
    /// Examples and benchmarks.
    Example,
    /// Types without bodies: `.d.ts`, `.pyi`.
    Declaration,
    /// Code that a program wrote, or that came from elsewhere.
    Generated,
    /// Prose.
    Docs,
    /// Settings and data.
    Config,
    /// Anything else, which patterns alone look into.
    Other,
}

/// Roles of files by one name: a role's own, or `code` for all that have code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileKind(pub Vec<FileRole>);

impl FromStr for FileKind {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        if name == "code" {
            let code = |role: &FileRole| !matches!(role, FileRole::Docs | FileRole::Config | FileRole::Other);
            return Ok(Self(FileRole::ALL.into_iter().filter(code).collect()));
        }
        let known = FileRole::ALL.into_iter().find(|role| role.name() == name);
        known.map(|role| Self(vec![role])).ok_or_else(|| {
            let names = FileRole::ALL.map(FileRole::name).join(", ");
            let near = suggest::nearest(name, FileRole::ALL.map(FileRole::name).into_iter().chain(["code"]));
            let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            format!("expected code, {names}{near}")
        })
    }
}

impl FileRole {
    /// The name, as `--kind` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Test => "test",
            Self::Example => "example",
            Self::Declaration => "declaration",
            Self::Generated => "generated",
            Self::Docs => "docs",
            Self::Config => "config",
            Self::Other => "other",
        }
    }

    /// All of them, in the order of their numbers in an index.
    pub const ALL: [Self; 8] = [
        Self::Source,
        Self::Test,
        Self::Example,
        Self::Declaration,
        Self::Generated,
        Self::Docs,
        Self::Config,
        Self::Other,
    ];
}

/// Languages of code beyond those that [`CodeLanguage`] has, with the endings of their files.
const CUT_BY_LINES: [(&str, &[&str]); 14] = [
    ("erlang", &["erl", "hrl"]),
    ("dart", &["dart"]),
    ("julia", &["jl"]),
    ("r", &["r"]),
    ("ocaml", &["ml", "mli"]),
    ("fsharp", &["fs", "fsx"]),
    ("clojure", &["clj", "cljs", "cljc"]),
    ("groovy", &["groovy", "gradle"]),
    ("nim", &["nim"]),
    ("vue", &["vue", "svelte"]),
    ("html", &["html", "htm", "xhtml", "jinja", "j2", "erb", "hbs"]),
    (STYLES, &["css", "scss", "sass", "less"]),
    ("shell", &["bats", "zsh"]),
    // The grammar of shells cannot read it.
    ("fish", &["fish"]),
];

const STYLES: &str = "css";
/// Endings of pages.
const PAGES: [&str; 3] = ["html", "htm", "xhtml"];

const DOCS: [&str; 7] = ["md", "markdown", "mdx", "rst", "txt", "adoc", "org"];
const CONFIG: [&str; 14] = [
    "toml",
    "yaml",
    "yml",
    "json",
    "jsonc",
    "json5",
    "ini",
    "cfg",
    "conf",
    "xml",
    "properties",
    "proto",
    "graphql",
    "tf",
];
/// Names of files that have no ending, or one that says another thing.
const NAMED: [(FileRole, &[&str]); 2] = [
    (FileRole::Docs, &["readme", "changelog", "contributing"]),
    (
        FileRole::Config,
        &[
            "makefile",
            "dockerfile",
            "rakefile",
            "gemfile",
            "justfile",
            "pipfile",
            "procfile",
            "vagrantfile",
            "jenkinsfile",
            "go.mod",
            "cmakelists.txt",
            "requirements.txt",
        ],
    ),
];
/// Languages of scripts, by what the program of their first line begins with.
const INTERPRETERS: [(&str, &str); 10] = [
    ("python", "python"),
    ("bash", "shell"),
    ("sh", "shell"),
    ("dash", "shell"),
    ("zsh", "shell"),
    ("node", "javascript"),
    ("ruby", "ruby"),
    ("php", "php"),
    ("lua", "lua"),
    ("Rscript", "r"),
];

/// The language without a grammar that files with an ending are in.
fn cut_by_lines(ending: &str) -> Option<&'static str> {
    CUT_BY_LINES.iter().find(|(_, endings)| endings.contains(&ending)).map(|(name, _)| *name)
}

/// The language that is meant by a name, an ending or what people write for it, as files have it: `py` is `python`.
///
/// # Errors
///
/// If it is none that files have.
pub fn language_named(text: &str) -> std::result::Result<String, String> {
    let name = wb_code::canonical_name(text);
    let name = cut_by_lines(&name).map_or(name, str::to_owned);
    let known = || {
        let of_code = CodeLanguage::all().map(|language| language.name);
        of_code.chain(CUT_BY_LINES.iter().map(|(name, _)| *name)).chain(["text"])
    };
    match known().find(|known| *known == name) {
        Some(known) => Ok(known.to_owned()),
        None => {
            let near = suggest::nearest(&name, known());
            let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            Err(format!("expected a language such as rust, python or text{near}"))
        }
    }
}

/// Language and role of a file by its path, and its role by what it begins with; `None` where nothing is known of it.
pub fn language_and_role(path: &str, text: &str) -> Option<(&'static str, FileRole)> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let lower = name.to_ascii_lowercase();
    if let Some((role, _)) = NAMED.iter().find(|(_, names)| names.contains(&lower.as_str())) {
        return Some(("text", *role));
    }
    let Some((stem, ending)) = lower.rsplit_once('.') else {
        let language = language_of_script(text)?;
        return Some((language, role_of_code(&path.to_ascii_lowercase(), &lower, &lower, text)));
    };
    if is_notebook(name) {
        // What shows how a library is used, but for tests and what came from elsewhere.
        let role = match role_of_code(&path.to_ascii_lowercase(), stem, &lower, text) {
            FileRole::Source => FileRole::Example,
            role => role,
        };
        let language = notebook::language_of(text);
        let known = CodeLanguage::all().map(|language| language.name).chain(CUT_BY_LINES.map(|(name, _)| name));
        return Some((known.into_iter().find(|known| *known == language).unwrap_or("text"), role));
    }
    let code = CodeLanguage::with_ending(ending).map(|language| language.name).or_else(|| cut_by_lines(ending));
    let Some(language) = code else {
        let prose = DOCS.contains(&ending).then_some(("text", FileRole::Docs));
        let is_config = CONFIG.contains(&ending) || lower.starts_with("dockerfile.");
        return prose.or_else(|| is_config.then_some(("text", FileRole::Config)));
    };
    let role = match role_of_code(&path.to_ascii_lowercase(), stem, &lower, text) {
        // A page is read, and mostly written by a program about code; a template of one is code.
        FileRole::Source if PAGES.contains(&ending) => FileRole::Docs,
        FileRole::Source if language == STYLES => FileRole::Config,
        role => role,
    };
    Some((language, role))
}

/// The language of a script, by its first line: `#!/usr/bin/env python3`.
fn language_of_script(text: &str) -> Option<&'static str> {
    let line = text.lines().next()?.strip_prefix("#!")?;
    let mut words = line.split_whitespace().filter(|word| !word.starts_with('-'));
    let program = |word: &'_ str| word.rsplit('/').next().unwrap_or_default().to_owned();
    let program = match program(words.next()?) {
        env if env == "env" => program(words.next()?),
        program => program,
    };
    // `python3.12` is a Python, and `nodemon` is no node.
    let is_version = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || c == '.');
    let is_named = |(name, _): &&(&str, _)| program.strip_prefix(name).is_some_and(is_version);
    INTERPRETERS.iter().find(is_named).map(|(_, language)| *language)
}

fn role_of_code(path: &str, stem: &str, name: &str, text: &str) -> FileRole {
    const TESTS: [&str; 8] = ["test", "tests", "testing", "__tests__", "spec", "specs", "testdata", "fixtures"];
    const EXAMPLES: [&str; 8] =
        ["example", "examples", "bench", "benches", "benchmark", "benchmarks", "demo", "samples"];
    let folders = || path.split('/').rev().skip(1);
    let stands_in = |names: &[&str]| folders().any(|folder| names.contains(&folder));
    let head: String = text.chars().take(400).collect::<String>().to_ascii_lowercase();
    let written = head.contains("@generated") || head.contains("do not edit") || head.contains("autogenerated");
    if stands_in(&VENDORED_FOLDERS) || name.ends_with(".min.js") || name.ends_with(".min.css") || written {
        return FileRole::Generated;
    }
    let is_test = ["_test", "_tests", ".test", "_spec", ".spec", "-test"].iter().any(|end| stem.ends_with(end))
        || stem.starts_with("test_")
        || matches!(stem, "test" | "tests" | "conftest");
    if is_test || stands_in(&TESTS) {
        return FileRole::Test;
    }
    if stands_in(&EXAMPLES) {
        return FileRole::Example;
    }
    match name.ends_with(".d.ts") || name.ends_with(".pyi") {
        true => FileRole::Declaration,
        false => FileRole::Source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_named_as_people_do() {
        for (text, expected) in
            [("py", "python"), ("Rust", "rust"), ("c++", "cpp"), ("kt", "kotlin"), ("jl", "julia"), ("text", "text")]
        {
            assert_eq!(language_named(text).unwrap(), expected);
        }
        assert!(language_named("pyhton").unwrap_err().ends_with("; did you mean `python`?"));
        assert_eq!(language_named("qqqqqqqq").unwrap_err(), "expected a language such as rust, python or text");
    }

    #[test]
    fn roles_follow_from_paths_and_heads() {
        for (path, text, expected) in [
            ("src/lib.rs", "", Some(("rust", FileRole::Source))),
            ("src/Parser.kt", "", Some(("kotlin", FileRole::Source))),
            ("lib/a_test.exs", "", Some(("elixir", FileRole::Test))),
            ("functions/a.fish", "", Some(("fish", FileRole::Source))),
            ("tests/it/a.py", "", Some(("python", FileRole::Test))),
            ("pkg/a_test.go", "", Some(("go", FileRole::Test))),
            ("web/a.spec.ts", "", Some(("typescript", FileRole::Test))),
            ("examples/a.js", "", Some(("javascript", FileRole::Example))),
            ("a.ipynb", "", Some(("python", FileRole::Example))),
            ("tests/a.ipynb", "# language: r\n", Some(("r", FileRole::Test))),
            ("types/a.d.ts", "", Some(("typescript", FileRole::Declaration))),
            ("vendor/x/a.go", "", Some(("go", FileRole::Generated))),
            ("api.go", "// Code generated by x. DO NOT EDIT.\n", Some(("go", FileRole::Generated))),
            ("README.md", "", Some(("text", FileRole::Docs))),
            ("Cargo.toml", "", Some(("text", FileRole::Config))),
            ("Makefile", "", Some(("text", FileRole::Config))),
            ("a.png", "", None),
            ("LICENSE", "", None),
            ("README", "", Some(("text", FileRole::Docs))),
            ("docker/Dockerfile.dev", "", Some(("text", FileRole::Config))),
            ("go.mod", "", Some(("text", FileRole::Config))),
            ("docker/dockerfile.js", "", Some(("javascript", FileRole::Source))),
            ("docs/api/a.html", "", Some(("html", FileRole::Docs))),
            ("templates/a.jinja", "", Some(("html", FileRole::Source))),
            ("web/a.scss", "", Some(("css", FileRole::Config))),
            ("web/a.min.css", "", Some(("css", FileRole::Generated))),
            ("bin/tool", "#!/usr/bin/env nodemon\n", None),
            ("bin/tool", "#!/usr/bin/env -S python3 -u\n", Some(("python", FileRole::Source))),
            ("tests/run", "#!/bin/sh\n", Some(("shell", FileRole::Test))),
            ("bin/tool", "#!/opt/zebra\n", None),
            ("bin/tool", "", None),
        ] {
            assert_eq!(language_and_role(path, text), expected, "{path}");
        }
    }

    #[test]
    fn every_language_with_a_grammar_is_named_by_its_endings() {
        for language in wb_code::Language::ALL {
            for ending in language.extensions() {
                let named = language_and_role(&format!("a.{ending}"), "").map(|(name, _)| name);
                assert_eq!(named.and_then(wb_code::Language::named), Some(language), "{ending}");
            }
        }
        for (name, endings) in CUT_BY_LINES {
            for ending in endings {
                assert!(CodeLanguage::with_ending(ending).is_none(), "{name}: {ending}");
            }
        }
    }
}
