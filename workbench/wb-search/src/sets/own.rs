//! Questions made out of a repository itself, drawn by a seed: a function by its doc comment, which is taken out of what is
//! searched; a definition by its name; the files and the functions of a change by the first line of its commit.
//!
//! Such questions flatter: they share words with their answers as a stranger's questions do not. The files that are searched
//! have no history, which would say what was changed last.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use tempfile::TempDir;
use wb_code::{ChunkKind, CodeItem, Language, anchor_prose, documented_functions, items};
use wb_core::Seed;

use super::{LoadedSet, SearchSet, SetQuestion, Target, repository};
use crate::{
    Error, FileRole, FolderFiles, Result, commit::is_commit, files::language_and_role, git::GitHistory,
    structure::diffed_files,
};

/// Characters of a question at most.
const MOST_CHARS: usize = 200;
/// Kind of the questions by commits.
pub(super) const COMMIT: &str = "commit";
/// Commits that are looked at.
const COMMITS: &str = "2000";
/// Files of a change at most.
const CHANGED: usize = 3;

/// Changed functions of a file at most: beyond them a change is one of the file.
const FUNCTIONS: usize = 5;

/// Questions of each kind at most, where nothing else is asked for.
pub const OWN_QUESTIONS: usize = 150;

/// Questions about a repository, at most so many of each kind, whose answers stand in files that `may_ask` lets through by
/// their paths; all files are searched.
///
/// # Errors
///
/// If there is nothing to ask for, or the copy without what is asked cannot be made.
pub fn own_questions(folder: &Path, most: usize, may_ask: &dyn Fn(&str) -> bool) -> Result<LoadedSet> {
    let found = FolderFiles::of(folder)?;
    let copy = TempDir::new().map_err(Error::io("make a copy in", &std::env::temp_dir()))?;
    let name = folder.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    let root = copy.path().join(name.as_deref().unwrap_or("repository"));
    let mut sources = Vec::new();
    for file in &found.files {
        let Ok(text) = found.read(file) else { continue };
        let place = root.join(&file.path);
        fs::create_dir_all(place.parent().unwrap_or(&root)).map_err(Error::io("create", &place))?;
        fs::write(&place, &text).map_err(Error::io("write", &place))?;
        let Some((language, FileRole::Source)) = language_and_role(&file.path, &text) else { continue };
        let (path, may_ask) = (file.path.clone(), may_ask(&file.path));
        sources.extend(Language::named(language).map(|language| Source { path, language, text, may_ask }));
    }
    let mut questions = by_documentation(&mut sources, &root, most)?;
    questions.extend(by_name(&sources, most));
    questions.extend(by_commit(folder, &sources, most));
    if questions.is_empty() {
        let what = format!("{} has no documented function, no name and no commit to ask for", folder.display());
        return Err(Error::failed(what).with_hint("`--dataset` is the folder of a repository"));
    }
    let repositories = vec![repository(name.as_deref().unwrap_or("repository"), "", root)?];
    Ok(LoadedSet { repositories, questions, copy: Some(Arc::new(copy)), ..LoadedSet::empty(SearchSet::Own) })
}

/// A file of code.
struct Source {
    path: String,
    language: Language,
    text: String,
    /// False where its contents are no answers.
    may_ask: bool,
}

/// Some of a number of things, at most so many, in their order.
fn drawn<T>(purpose: &str, all: Vec<T>, most: usize) -> Vec<T> {
    let mut chosen = Seed::default().permutation_at(purpose, 0, all.len());
    chosen.truncate(most);
    chosen.sort_unstable();
    let mut all: Vec<Option<T>> = all.into_iter().map(Some).collect();
    chosen.into_iter().filter_map(|at| all[at].take()).collect()
}

fn question(kind: &str, number: usize, text: String, targets: Vec<Target>) -> SetQuestion {
    SetQuestion::new(format!("{kind}:{number}"), text, 0, kind.to_owned(), targets)
}

/// A documented function: what is asked, the lines that are taken out, and what stands there then.
struct Documented {
    source: usize,
    lines: [u32; 2],
    asked: String,
    code: String,
}

/// Functions by their documentation, which goes out of the sources and of the copy.
fn by_documentation(sources: &mut [Source], root: &Path, most: usize) -> Result<Vec<SetQuestion>> {
    let mut all = Vec::new();
    let asked = sources.iter().enumerate().filter(|(_, source)| source.may_ask);
    for (at, Source { language, text, .. }) in asked {
        let all_items = items(text, *language).unwrap_or_default();
        for function in documented_functions(text, *language) {
            let asked = anchor_prose(&function.doc, *language, MOST_CHARS);
            let [code, last] = function.lines;
            // An item inside may end on the same line.
            let ending = || all_items.iter().filter(|item| item.lines[1] == last && item.lines[0] <= code);
            let own = ending().filter(|item| item.code_line == code).map(|item| item.lines[0]).min();
            let first = own.or_else(|| ending().map(|item| item.lines[0]).max()).unwrap_or(code);
            // A sentence, and not more: whoever searches does not write a page.
            let asked = asked.split(". ").next().unwrap_or_default().trim_end_matches('.').to_owned();
            if asked.split_whitespace().count() >= 4 {
                all.push(Documented { source: at, lines: [first, last], asked, code: function.code });
            }
        }
    }
    let mut by_file: BTreeMap<usize, Vec<Documented>> = BTreeMap::new();
    drawn("own documentation", all, most).into_iter().for_each(|one| by_file.entry(one.source).or_default().push(one));
    let mut questions = Vec::new();
    for (at, mut functions) in by_file {
        functions.sort_by_key(|function| function.lines);
        let source = &mut sources[at];
        let before: Vec<&str> = source.text.lines().collect();
        let (mut after, mut next): (Vec<String>, u32) = (Vec::new(), 1);
        for Documented { lines: [first, last], asked, code, .. } in functions {
            if first < next {
                // It stands inside of one before.
                continue;
            }
            let indentation = |line: &str| line.len() - line.trim_start().len();
            let margin = &before[first as usize - 1][..indentation(before[first as usize - 1])];
            after.extend(before[next as usize - 1..first as usize - 1].iter().map(|line| (*line).to_owned()));
            let begin = after.len() as u32 + 1;
            after.extend(code.lines().map(|line| format!("{margin}{line}")));
            let target = Target { path: source.path.clone(), lines: Some([begin, after.len() as u32]) };
            questions.push(question("docstring", questions.len(), asked, vec![target]));
            next = last + 1;
        }
        after.extend(before[next as usize - 1..].iter().map(|line| (*line).to_owned()));
        source.text = after.join("\n") + "\n";
        let place = root.join(&source.path);
        fs::write(&place, &source.text).map_err(Error::io("write", &place))?;
    }
    Ok(questions)
}

/// Definitions by names that are defined once.
fn by_name(sources: &[Source], most: usize) -> Vec<SetQuestion> {
    let mut places: BTreeMap<String, Vec<(Target, bool)>> = BTreeMap::new();
    for Source { path, language, text, may_ask } in sources {
        for item in items(text, *language).unwrap_or_default() {
            let target = Target { path: path.clone(), lines: Some([item.code_line, item.code_line]) };
            places.entry(item.name).or_default().push((target, *may_ask));
        }
    }
    let once = places.into_iter().filter_map(|(name, mut places)| match (places.pop(), places.is_empty()) {
        (Some((target, true)), true) if name.len() > 3 => Some((name, target)),
        _ => None,
    });
    let drawn = drawn("own names", once.collect(), most).into_iter().enumerate();
    drawn.map(|(number, (name, target))| question("symbol", number, name, vec![target])).collect()
}

/// A commit: its name, its first line and the sources that it changed.
type Changed<'a> = (String, String, Vec<&'a Source>);

/// Changes by the first lines of their commits: those of their functions that still are there, and their files. None where
/// there is no git, or no history.
fn by_commit(folder: &Path, sources: &[Source], most: usize) -> Vec<SetQuestion> {
    let Some(history) = GitHistory::of(folder) else { return Vec::new() };
    let asked = ["-z", "--no-merges", "--no-renames", "--name-only", "--format=%x01%H %s", "-n", COMMITS];
    let log = history.log(&asked).unwrap_or_default();
    let mut all: Vec<Changed<'_>> = Vec::new();
    for commit in log.split('\u{1}').skip(1) {
        let mut parts = commit.split('\0').map(|part| part.trim_start_matches('\n')).filter(|part| !part.is_empty());
        // A subject may have the mark, too: what stands behind it is no commit, and not to be given to git.
        let head = parts.next().and_then(|head| head.split_once(' '));
        let Some((name, subject)) = head.filter(|(name, _)| is_commit(name)) else { continue };
        let changed: Vec<&Source> =
            parts.filter_map(|path| sources.iter().find(|source| source.path == path)).collect();
        let may_ask = changed.iter().all(|source| source.may_ask);
        if may_ask && (1..=CHANGED).contains(&changed.len()) && subject.split_whitespace().count() >= 4 {
            all.push((name.to_owned(), subject.to_owned(), changed));
        }
    }
    let drawn = drawn("own commits", all, most).into_iter().enumerate();
    drawn
        .map(|(number, (commit, subject, changed))| {
            let targets = changed.into_iter().flat_map(|source| changed_functions(&history, &commit, source)).collect();
            question(COMMIT, number, subject, targets)
        })
        .collect()
}

/// The functions of a source that a commit changed, where they are today; the file alone, where there is none, or where there
/// are more than [`FUNCTIONS`].
fn changed_functions(history: &GitHistory, commit: &str, source: &Source) -> Vec<Target> {
    let names = names_at(history, commit, source).unwrap_or_default();
    let now = items(&source.text, source.language).unwrap_or_default();
    let of_name = |name: &Vec<String>| {
        let mut here = functions(&now).filter(|function| qualified(function, &now) == *name);
        here.next().filter(|_| here.next().is_none()).map(|function| Some(function.lines))
    };
    let mut lines: Vec<Option<[u32; 2]>> = names.iter().filter_map(of_name).collect();
    if !(1..=FUNCTIONS).contains(&names.len()) || lines.is_empty() {
        lines = vec![None];
    }
    lines.into_iter().map(|lines| Target { path: source.path.clone(), lines }).collect()
}

/// Names of the functions that a commit changed in a file, each once and with those around it; `None` where git does not
/// say.
fn names_at(history: &GitHistory, commit: &str, source: &Source) -> Option<Vec<Vec<String>>> {
    let path = format!("{}{}", history.prefix, source.path);
    let text = history.git(&["show", &format!("{commit}:{path}")])?;
    let diff = history.git(&["show", "--format=", "--unified=0", "--no-renames", "--no-color", commit, "--", &path])?;
    let diff = diffed_files(&diff).ok()?;
    let [file] = diff.as_slice() else { return None };
    let changed = file.changed_lines(&text)?;
    let sides = [(text.as_str(), changed.lines), (&changed.other, file.removed_lines())];
    let mut names = Vec::new();
    for (text, lines) in sides {
        let then = items(text, source.language)?;
        let has = |function: &CodeItem, line: u32| function.lines[0] <= line && line <= function.lines[1];
        let around = |line: &u32| {
            let all = functions(&then).filter(|function| has(function, *line));
            all.min_by_key(|function| function.lines[1] - function.lines[0])
        };
        let found = lines.iter().filter_map(around).map(|function| qualified(function, &then));
        // Of two with one name nobody knows which is meant today.
        let is_one = |name: &Vec<String>| functions(&then).filter(|one| qualified(one, &then) == *name).count() == 1;
        names.extend(found.filter(is_one));
    }
    names.sort_unstable();
    names.dedup();
    Some(names)
}

fn functions(items: &[CodeItem]) -> impl Iterator<Item = &CodeItem> {
    items.iter().filter(|item| item.kind == ChunkKind::Function && !item.name.is_empty())
}

/// The name of an item and of those that it is inside of, outermost first.
fn qualified(item: &CodeItem, items: &[CodeItem]) -> Vec<String> {
    let [from, to] = item.lines;
    let mut around: Vec<&CodeItem> = items.iter().filter(|one| one.lines[0] <= from && to <= one.lines[1]).collect();
    around.sort_by_key(|one| std::cmp::Reverse(one.lines[1] - one.lines[0]));
    around.into_iter().map(|one| one.name.clone()).collect()
}
