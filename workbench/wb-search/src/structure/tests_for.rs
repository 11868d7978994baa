//! Tests of a symbol or a file: those that reach it, and those that are named after it.

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;
use wb_code::structure::{EdgeClass, FileSymbols};

use super::{
    asked::{GraphAnswer, SymbolQuestion},
    graph::{ProjectGraph, SymbolPlace},
    users::{Followed, SymbolUser},
};
use crate::{FileRole, Result, context::own_name, words::identifier_words};

/// Steps from a test to what it reaches.
const STEPS: usize = 3;
/// Share of the words of two files' names, from which a file of tests counts that reaches nothing.
const ALIKE: f32 = 0.5;

/// A test that reaches what was asked for, or is named after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReachingTest {
    /// The test, with what it uses; a file of tests that is only named after it has no lines.
    #[serde(flatten)]
    pub user: SymbolUser,
    /// True where the test, or its file, is named after it.
    pub is_named_after: bool,
}

impl ProjectGraph {
    /// Symbols at the top of a file: who uses what is inside of them has used them before.
    pub fn symbols_of(&self, path: &str) -> Vec<SymbolPlace> {
        let Some(file) = self.project.file_at(path) else { return Vec::new() };
        let structure = &self.project.files()[file].structure;
        let symbols = FileSymbols::of(structure);
        let top = symbols.all().filter(|binding| symbols.path(*binding).len() == 1);
        top.map(|binding| self.place_by(&symbols, file, binding)).collect()
    }

    /// Tests that reach symbols, or are named after them or their files, the likeliest first: by how much of the names they
    /// have in common, and how near they are.
    pub fn tests_for(&self, symbols: &[SymbolPlace]) -> Result<Vec<ReachingTest>> {
        let files: BTreeSet<&str> = symbols.iter().map(|symbol| symbol.path.as_str()).collect();
        let names: BTreeSet<&str> = symbols.iter().map(SymbolPlace::own_name).collect();
        let likeness = |test: &str| files.iter().map(|file| likeness(test, file)).fold(0.0, f32::max);
        let near = |test: &str| files.iter().map(|file| folders_in_common(file, test)).fold(0.0, f32::max);
        let mut found: Vec<(f32, ReachingTest)> = Vec::new();
        for user in self.users(symbols, STEPS, Followed::Usages)?.into_iter().filter(|user| user.is_test) {
            let has_name = names.iter().any(|name| is_in(&user.symbol.name, name));
            let alike = likeness(&user.symbol.path).max(if has_name { 1.0 } else { 0.0 });
            let is_known = if user.edge == EdgeClass::NameOnly { 0.3 } else { 1.0 };
            let score = 2.0 * alike + is_known / user.depth as f32 + 0.5 * near(&user.symbol.path);
            found.push((score, ReachingTest { user, is_named_after: alike == 1.0 }));
        }
        let known: BTreeSet<String> = found.iter().map(|(_, test)| test.user.symbol.path.clone()).collect();
        for (file, structured) in self.project.files().iter().enumerate() {
            let is_new = self.role_of(&structured.path) == Some(FileRole::Test) && !known.contains(&structured.path);
            let alike = if is_new { likeness(&structured.path) } else { 0.0 };
            if alike >= ALIKE {
                let (edge, lines, through) = (EdgeClass::NameOnly, Vec::new(), String::new());
                let user = SymbolUser { symbol: self.top_of(file), edge, lines, depth: 1, through, is_test: true };
                let score = 2.0 * alike + 0.5 * near(&structured.path);
                found.push((score, ReachingTest { user, is_named_after: alike == 1.0 }));
            }
        }
        let mut of_file: HashMap<String, f32> = HashMap::new();
        found.iter().for_each(|(_, test)| *of_file.entry(test.user.symbol.path.clone()).or_default() += 1.0);
        // Of two files that are as near, the one with more of such tests.
        found.iter_mut().for_each(|(score, test)| *score += 0.1 * of_file[&test.user.symbol.path].ln());
        found.sort_by(|(one, first), (other, second)| {
            other.total_cmp(one).then_with(|| first.user.symbol.cmp(&second.user.symbol))
        });
        Ok(found.into_iter().map(|(_, test)| test).collect())
    }
}

/// Words of a file's name that say what it tests.
fn words_of(path: &str) -> Vec<String> {
    let is_of_tests = |word: &String| matches!(word.as_str(), "test" | "tests" | "spec" | "specs" | "it");
    identifier_words(own_name(path)).into_iter().filter(|word| !is_of_tests(word)).collect()
}

/// Share of the words of two files' names that both have: 1 where a file of tests is named after a file.
fn likeness(test: &str, file: &str) -> f32 {
    let (test, file): (BTreeSet<String>, BTreeSet<String>) =
        (words_of(test).into_iter().collect(), words_of(file).into_iter().collect());
    let all = test.union(&file).count();
    if all == 0 { 0.0 } else { test.intersection(&file).count() as f32 / all as f32 }
}

/// True where the name of a test has a name in it: `test_parse_empty`, `parse`.
fn is_in(test: &str, name: &str) -> bool {
    let (test, name) = (identifier_words(test), identifier_words(name));
    name.iter().map(String::len).sum::<usize>() > 3 && test.windows(name.len()).any(|words| words == name)
}

/// Share of the folders of two files that both have.
fn folders_in_common(one: &str, other: &str) -> f32 {
    let folders = |path: &str| -> BTreeSet<String> { path.split('/').rev().skip(1).map(str::to_owned).collect() };
    let (one, other) = (folders(one), folders(other));
    let all = one.union(&other).count();
    if all == 0 { 1.0 } else { one.intersection(&other).count() as f32 / all as f32 }
}

impl SymbolQuestion {
    /// Tests of the symbol; of all symbols of a file, where that is asked for.
    pub fn tests(&self, graph: &ProjectGraph) -> Result<GraphAnswer<ReachingTest>> {
        let of_file = graph.symbols_of(&self.symbol);
        let (symbols, told) = match of_file.is_empty() {
            true => {
                let symbols = self.symbols(graph)?;
                (symbols.clone(), symbols)
            }
            false => (of_file, Vec::new()),
        };
        let found = graph.tests_for(&symbols)?;
        let mut answer = self.answer(graph, told, found, |test| test);
        if !symbols.is_empty() && answer.empty.is_some() {
            answer.empty = Some("no test that is known reaches it, and none is named after it".to_owned());
        }
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_named_after_files_and_symbols() {
        for (test, file, expected) in [
            ("binding/form_mapping_test.go", "binding/form_mapping.go", 1.0),
            ("a/src/test/java/PremainAttachTest.java", "a/src/main/java/PremainAttach.java", 1.0),
            ("__tests__/patchStyle.spec.ts", "src/style.ts", 0.5),
            ("tests/test_util.rs", "src/util/mod.rs", 1.0),
            ("tests/test_qwen_controlnet.py", "src/pipeline_qwen_controlnet_inpaint.py", 0.5),
            ("tests/test.py", "src/a.py", 0.0),
            ("tests/test.py", "src/test.py", 0.0),
        ] {
            assert_eq!(likeness(test, file), expected, "{test} {file}");
        }
        assert!(is_in("TestParser.test_parse_empty", "parse_empty") && is_in("testParseEmpty", "parse_empty"));
        assert!(!is_in("test_parse", "parse_empty") && !is_in("test_get_it", "get"));
    }
}
