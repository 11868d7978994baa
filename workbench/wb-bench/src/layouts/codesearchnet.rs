//! The native CodeSearchNet layout: documented functions per language and split, as JSON lines.
//!
//! Read: `LANGUAGE/{test,valid}.jsonl` (or `.jsonl.gz`), the packaging of the original release
//! `LANGUAGE/final/jsonl/{test,valid}/*.jsonl.gz` (also under a second `LANGUAGE` folder), the cleaned release's
//! `LANGUAGE/codebase.jsonl`, and AdvTest's files, told by their normalized `function_tokens` or a folder `AdvTest`.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::{Files, entries, lower_name, plain_or_packed};
use crate::{Error, Result};

/// A documented function.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Function {
    /// Its URL with lines, or `FILE:LINE` of the data where it has none.
    pub url: String,
    /// Lower case: `ruby`.
    pub language: String,
    /// Its name, with the names of what is around it: `Travis.CLI.preparse`.
    pub name: String,
    /// `code` as it was written; may hold the docstring.
    pub raw: Option<String>,
    /// `code_tokens` (AdvTest: `function_tokens`).
    pub tokens: Option<Vec<String>>,
    /// `docstring_tokens` joined by one space.
    pub docstring: String,
}

/// Text of a function that is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TextMode {
    /// `code_tokens` joined by one space: comments and docstrings are not in it.
    #[default]
    Tokens,
    /// `code` as it was written. In Python, and wherever the docstring stands inside of the function, it holds the
    /// query.
    Raw,
}

impl Function {
    /// The text that is searched.
    pub fn code(&self, mode: TextMode) -> Result<String> {
        let text = match mode {
            TextMode::Tokens => self.tokens.as_ref().map(|tokens| tokens.join(" ")),
            TextMode::Raw => self.raw.clone(),
        };
        let (field, other) = match mode {
            TextMode::Tokens => ("code_tokens", "raw"),
            TextMode::Raw => ("code", "tokens"),
        };
        text.ok_or_else(|| {
            Error::data(format!("function {}", self.url), format!("no `{field}` in its record, which is searched"))
                .with_hint(format!("the other text: --text {other}"))
        })
    }
}

/// One split of the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CodeSearchNetSplit {
    /// Held out for measuring.
    Test,
    /// Held out for choosing.
    Valid,
}

impl CodeSearchNetSplit {
    /// The two splits, in the order in which they are measured.
    pub const ALL: [Self; 2] = [Self::Test, Self::Valid];

    /// Name of the split in names of files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Valid => "valid",
        }
    }
}

/// Functions that a folder holds.
#[derive(Debug, Clone, Default)]
pub struct Functions {
    /// The test split over all languages, in sorted file order.
    pub test: Vec<Function>,
    /// The validation split likewise.
    pub valid: Vec<Function>,
    /// The cleaned release's candidates, all languages, in sorted file order.
    pub codebase: Vec<Function>,
    /// AdvTest's test set; it is its own pool.
    pub advtest: Vec<Function>,
    /// AdvTest's validation set.
    pub advtest_valid: Vec<Function>,
}

impl Functions {
    /// One split.
    pub fn split(&self, split: CodeSearchNetSplit) -> &[Function] {
        match split {
            CodeSearchNetSplit::Test => &self.test,
            CodeSearchNetSplit::Valid => &self.valid,
        }
    }

    /// The languages of both splits, sorted.
    pub fn languages(&self) -> Vec<String> {
        let mut languages: Vec<String> =
            self.test.iter().chain(&self.valid).map(|function| function.language.clone()).collect();
        languages.sort();
        languages.dedup();
        languages
    }

    /// True where nothing was found.
    pub fn is_empty(&self) -> bool {
        self.test.is_empty() && self.valid.is_empty() && self.advtest.is_empty() && self.advtest_valid.is_empty()
    }
}

/// Reads whatever of the layout is there. `languages` keeps only those folders; empty keeps all.
pub fn read(files: &mut Files, languages: &[String]) -> Result<Functions> {
    let root = files.root().to_path_buf();
    let mut functions = Functions::default();
    let mut folders: Vec<PathBuf> = entries(&root)?.into_iter().filter(|path| path.is_dir()).collect();
    // A language's own folder given as the data folder.
    folders.push(root);
    for split in CodeSearchNetSplit::ALL {
        for (path, folder) in sorted_files(&folders, split)? {
            let language = lower_name(&folder);
            let advtest = language == "advtest";
            if !advtest && !wanted(&language, languages, files.root() == folder) {
                continue;
            }
            let read = read_functions(files, &path, &language)?;
            for (function, normalized) in read {
                let list = match (split, advtest || normalized) {
                    (CodeSearchNetSplit::Test, false) => &mut functions.test,
                    (CodeSearchNetSplit::Valid, false) => &mut functions.valid,
                    (CodeSearchNetSplit::Test, true) => &mut functions.advtest,
                    (CodeSearchNetSplit::Valid, true) => &mut functions.advtest_valid,
                };
                list.push(function);
            }
        }
    }
    for folder in &folders {
        let language = lower_name(folder);
        let found = plain_or_packed(folder, "codebase.jsonl");
        if let Some(path) = found.filter(|_| wanted(&language, languages, files.root() == folder)) {
            let read = read_functions(files, &path, &language)?;
            functions.codebase.extend(read.into_iter().map(|(function, _)| function));
        }
    }
    Ok(functions)
}

/// True where [`read`] would find functions of a split, of any language.
pub fn is_in(root: &Path) -> Result<bool> {
    let mut folders: Vec<PathBuf> = entries(root)?.into_iter().filter(|path| path.is_dir()).collect();
    folders.push(root.to_path_buf());
    for split in CodeSearchNetSplit::ALL {
        if !sorted_files(&folders, split)?.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The languages that have files of their own, sorted, whether they are wanted or not.
pub fn available(root: &Path) -> Result<Vec<String>> {
    let folders: Vec<PathBuf> = entries(root)?.into_iter().filter(|path| path.is_dir()).collect();
    let mut languages = Vec::new();
    for split in CodeSearchNetSplit::ALL {
        languages.extend(sorted_files(&folders, split)?.iter().map(|(_, folder)| lower_name(folder)));
    }
    languages.retain(|language| language != "advtest");
    languages.sort();
    languages.dedup();
    Ok(languages)
}

fn wanted(language: &str, languages: &[String], is_root: bool) -> bool {
    is_root || languages.is_empty() || languages.iter().any(|wanted| wanted == language)
}

/// The files of a split with their language folders, in the order of their paths.
fn sorted_files(folders: &[PathBuf], split: CodeSearchNetSplit) -> Result<Vec<(PathBuf, PathBuf)>> {
    let name = split.name();
    let mut found = Vec::new();
    for folder in folders {
        if let Some(path) = plain_or_packed(folder, &format!("{name}.jsonl")) {
            found.push((path, folder.clone()));
            continue;
        }
        let twice = folder.file_name().map(|language| folder.join(language)).unwrap_or_default();
        for above in [folder.clone(), twice] {
            let shards = entries(&above.join("final").join("jsonl").join(name))?;
            let shards = shards.into_iter().filter(|path| {
                let name = lower_name(path);
                name.ends_with(".jsonl.gz") || name.ends_with(".jsonl")
            });
            found.extend(shards.map(|path| (path, folder.clone())));
        }
    }
    found.sort();
    Ok(found)
}

/// A record as the three releases have it.
#[derive(Deserialize)]
struct Record {
    url: Option<String>,
    #[serde(default)]
    func_name: String,
    #[serde(default)]
    language: String,
    code: Option<String>,
    function: Option<String>,
    code_tokens: Option<Tokens>,
    function_tokens: Option<Tokens>,
    docstring_tokens: Option<Tokens>,
    #[serde(default)]
    docstring: String,
}

/// Tokens as a list, or as one text with spaces.
struct Tokens(Vec<String>);

impl<'de> Deserialize<'de> for Tokens {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Tokens;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("a list of tokens, or a text of tokens with spaces between them")
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> std::result::Result<Tokens, E> {
                Ok(Tokens(text.split_whitespace().map(str::to_owned).collect()))
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> std::result::Result<Tokens, A::Error> {
                let mut tokens = Vec::new();
                while let Some(token) = list.next_element()? {
                    tokens.push(token);
                }
                Ok(Tokens(tokens))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// Functions with whether their identifiers were normalized (AdvTest).
fn read_functions(files: &mut Files, path: &Path, folder_language: &str) -> Result<Vec<(Function, bool)>> {
    let records: Vec<(usize, Record)> = files.json_lines(path)?;
    records
        .into_iter()
        .map(|(line, record)| {
            let missing = |what: &str| {
                let message = format!("no `{what}`, expected a CodeSearchNet record with it");
                Error::at(path, line, message)
            };
            let normalized = record.function_tokens.is_some();
            let tokens = record.function_tokens.or(record.code_tokens).map(|tokens| tokens.0);
            let raw = record.code.or(record.function);
            if tokens.is_none() && raw.is_none() {
                return Err(missing("code_tokens"));
            }
            let docstring = match record.docstring_tokens {
                Some(tokens) => tokens.0.join(" "),
                None if !record.docstring.is_empty() => record.docstring,
                None => return Err(missing("docstring_tokens")),
            };
            let function = Function {
                url: record.url.unwrap_or_else(|| format!("{}:{line}", lower_name(path))),
                language: if record.language.is_empty() {
                    folder_language.to_owned()
                } else {
                    record.language.to_lowercase()
                },
                name: record.func_name,
                raw,
                tokens,
                docstring,
            };
            Ok((function, normalized))
        })
        .collect()
}
