//! The context of a question: the file that is open, those seen before, the task, and what was asked before.

use serde::{Deserialize, Serialize};

use crate::CodeIndex;

/// Weights of a context.
///
/// Those of files are the factors of the plan that this search follows; reports/LOG.md has what they are worth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextWeights {
    /// Factor for files that are related to the current one.
    pub related: f32,
    /// Factor for files that were seen.
    pub seen: f32,
    /// Weight of the task as a further question.
    pub task: f32,
    /// Weight of each question that was asked before.
    pub query: f32,
}

impl ContextWeights {
    /// Weights that leave every answer as it is.
    pub(crate) fn none() -> Self {
        Self { related: 1.0, seen: 1.0, task: 0.0, query: 0.0 }
    }
}

/// Files that whoever asks has to do with, by their paths below the root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileContext {
    /// The file that is open.
    pub current: Option<String>,
    /// Files that were seen: something else is wanted.
    pub recent: Vec<String>,
}

/// The whole context of a question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchContext {
    /// Files.
    pub files: FileContext,
    /// Questions that were asked before, the last one last.
    pub queries: Vec<String>,
    /// The task in words.
    pub task: String,
}

impl FileContext {
    /// Files of it that an index does not have.
    pub(crate) fn unknown_to<'a>(&'a self, index: &CodeIndex) -> Vec<&'a str> {
        let all = self.current.iter().chain(&self.recent).map(String::as_str);
        all.filter(|path| index.file_at(path).is_none()).collect()
    }

    /// Factor for a file's score.
    pub(crate) fn factor(&self, path: &str, weights: &ContextWeights) -> f32 {
        let related = self.current.as_deref().is_some_and(|current| is_related(path, current));
        let seen = self.recent.iter().any(|recent| recent == path);
        (if related { weights.related } else { 1.0 }) * (if seen { weights.seen } else { 1.0 })
    }
}

/// True for a file of the same folder, and for one of the same name elsewhere, as a test has that of what it tests.
fn is_related(path: &str, current: &str) -> bool {
    let parts = |path: &str| -> (String, String) {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let stem = name.split('.').next().unwrap_or(name).to_lowercase();
        let stem = ["test_", "tests_"].iter().find_map(|start| stem.strip_prefix(start)).unwrap_or(&stem).to_owned();
        let ends = ["_test", "_tests", "_spec", "tests", "test", "-test"];
        let bare = ends.iter().find_map(|end| stem.strip_suffix(end)).filter(|bare| !bare.is_empty());
        (folder.to_owned(), bare.unwrap_or(&stem).to_owned())
    };
    let ((folder, stem), (current_folder, current_stem)) = (parts(path), parts(current));
    folder == current_folder || stem == current_stem && !COMMON.contains(&stem.as_str())
}

/// The name that says what a file is about: its own without endings, or its folder's, where files of any folder are called so.
pub(crate) fn own_name(path: &str) -> &str {
    let mut parts = path.rsplit('/');
    let stem = parts.next().unwrap_or_default().split('.').next().unwrap_or_default();
    if COMMON.contains(&stem) { parts.next().unwrap_or(stem) } else { stem }
}

/// Names that files of any folder have.
const COMMON: [&str; 6] = ["mod", "index", "__init__", "main", "lib", "readme"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_any_folder_are_named_by_theirs() {
        let names = ["src/parser.rs", "src/parser/mod.rs", "mod.rs", "a/b.test.ts", ".env"].map(own_name);
        assert_eq!(names, ["parser", "parser", "mod", "b", ""]);
    }

    #[test]
    fn related_files_and_seen_ones() {
        let context = FileContext { current: Some("src/a/parser.rs".into()), recent: vec!["src/a/lexer.rs".into()] };
        let weights = ContextWeights { related: 1.3, seen: 0.8, task: 0.0, query: 0.0 };
        for (path, expected) in [
            ("src/a/parser.rs", 1.3),
            ("src/a/tree.rs", 1.3),
            ("src/a/lexer.rs", 1.3 * 0.8),
            ("tests/test_parser.rs", 1.3),
            ("tests/ParserTest.java", 1.3),
            ("src/b/other.rs", 1.0),
        ] {
            assert_eq!(context.factor(path, &weights), expected, "{path}");
        }
        assert!(!is_related("a/mod.rs", "b/mod.rs"));
        assert_eq!(FileContext::default().factor("a.rs", &weights), 1.0);
    }
}
