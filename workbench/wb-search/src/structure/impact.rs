//! Impact of a change: the definitions that a diff touches, and those who use them, tests first.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde::Serialize;
use wb_code::{
    Language, items,
    structure::{FileSymbols, file::BindingId},
};

use super::{
    asked::{GraphAnswer, SymbolQuestion},
    diff::{ChangedLines, DiffedFile},
    graph::{ProjectGraph, SymbolPlace},
    users::{Followed, SymbolUser},
};
use crate::{Result, files::language_and_role};

/// A change of a project.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ProjectChange {
    /// Definitions that are changed.
    #[serde(skip)]
    pub symbols: Vec<SymbolPlace>,
    /// Definitions that are gone: path and name.
    pub removed: Vec<(String, String)>,
    /// Files whose changes are in no definition: other languages, documents, lines between definitions.
    pub elsewhere: Vec<String>,
}

/// A change with those whom it affects.
#[derive(Debug, Clone, Serialize)]
pub struct ChangeImpact {
    /// The changed definitions, and who uses them: tests first, then the nearest.
    #[serde(flatten)]
    pub answer: GraphAnswer<SymbolUser>,
    /// The rest of the change.
    #[serde(flatten)]
    pub change: ProjectChange,
}

impl ProjectGraph {
    /// The definitions that a diff of the project changes; the diff may be of what was done, or of what is to be done.
    pub fn change(&self, diff: &[DiffedFile]) -> Result<ProjectChange> {
        let mut change = ProjectChange::default();
        for file in diff {
            let (Some(path), is_gone) = (file.new.as_ref().or(file.old.as_ref()), file.new.is_none()) else { continue };
            let text = self.text(path);
            let changed = match is_gone && text.is_empty() {
                // All of a file that is gone was on the other side.
                true => {
                    Some(ChangedLines { lines: Vec::new(), gaps: Vec::new(), other: file.whole(), is_applied: true })
                }
                false => file.changed_lines(&text),
            };
            let language = language_and_role(path, &text).and_then(|(language, _)| Language::named(language));
            let Some((language, changed)) = language.zip(changed) else {
                change.elsewhere.push(path.clone());
                continue;
            };
            let before = (change.symbols.len(), change.removed.len());
            if let Some(at) = self.project.file_at(path) {
                change.symbols.extend(self.changed_symbols(at, &text, &changed));
            }
            if changed.is_applied {
                change.removed.extend(removed(path, &changed.other, &text, language));
            }
            if before == (change.symbols.len(), change.removed.len()) {
                change.elsewhere.push(path.clone());
            }
        }
        self.whole(change)
    }

    /// Definitions of a file that have changed lines.
    fn changed_symbols(&self, file: usize, text: &str, changed: &ChangedLines) -> BTreeSet<SymbolPlace> {
        let structure = &self.project.files()[file].structure;
        let symbols = FileSymbols::of(structure);
        let lines: Vec<&str> = text.lines().collect();
        let items = items(text, self.project.files()[file].language).unwrap_or_default();
        let innermost = |first: u32, last: u32| self.innermost(file, &symbols, &items, [first, last]);
        let mut found: BTreeSet<BindingId> = BTreeSet::new();
        for line in &changed.lines {
            if lines.get(*line as usize - 1).is_none_or(|line| line.trim().is_empty()) {
                continue;
            }
            let own: Vec<BindingId> = symbols.all().filter(|id| structure.binding(*id).line == *line).collect();
            match own.is_empty() {
                true => found.extend(innermost(*line, *line)),
                false => found.extend(own),
            }
        }
        for gap in &changed.gaps {
            found.extend(innermost(gap.saturating_sub(1), *gap));
        }
        found.into_iter().map(|binding| self.place_by(&symbols, file, binding)).collect()
    }

    /// Users of what a change touches, up to `depth` steps away, and of what it takes away: tests first, then the nearest.
    pub fn affected(&self, change: &ProjectChange, depth: usize) -> Result<Vec<SymbolUser>> {
        let mut users = self.users(&change.symbols, depth, Followed::Usages)?;
        let changed: HashSet<&SymbolPlace> = change.symbols.iter().collect();
        let known: HashSet<SymbolPlace> = users.iter().map(|user| user.symbol.clone()).collect();
        let names: BTreeSet<&str> = change.removed.iter().map(|(_, name)| name.as_str()).collect();
        let is_new = |user: &SymbolUser| !known.contains(&user.symbol) && !changed.contains(&user.symbol);
        users.extend(self.users_of_names(&names)?.into_iter().filter(is_new));
        users.sort_by(|one, other| {
            let key = |user: &SymbolUser| (!user.is_test, user.depth, user.edge);
            (key(one), &one.symbol).cmp(&(key(other), &other.symbol))
        });
        Ok(users)
    }

    /// Users of names that nothing defines.
    fn users_of_names(&self, names: &BTreeSet<&str>) -> Result<Vec<SymbolUser>> {
        let mut users: BTreeMap<(SymbolPlace, String), SymbolUser> = BTreeMap::new();
        for usage in self.usages_of(names, &HashSet::new())? {
            let user = self.user(&usage, 1, &usage.name);
            users.entry((user.symbol.clone(), usage.name)).or_insert(user).lines.push(usage.line);
        }
        let mut found: Vec<SymbolUser> = users.into_values().collect();
        found.iter_mut().for_each(|user| user.lines.dedup());
        Ok(found)
    }
}

/// Definitions of a text that it has no more.
fn removed(path: &str, before: &str, now: &str, language: Language) -> Vec<(String, String)> {
    let names = |text: &str| -> Vec<String> {
        items(text, language).unwrap_or_default().into_iter().map(|item| item.name).collect()
    };
    let is_there: HashSet<String> = names(now).into_iter().collect();
    let gone: BTreeSet<String> = names(before).into_iter().filter(|name| !is_there.contains(name)).collect();
    gone.into_iter().filter(|name| !name.is_empty()).map(|name| (path.to_owned(), name)).collect()
}

impl SymbolQuestion {
    /// Users whom a change affects; the question's symbol is the name of the change.
    pub fn impact(&self, change: ProjectChange, depth: usize, graph: &ProjectGraph) -> Result<ChangeImpact> {
        let found = graph.affected(&change, depth)?;
        let mut answer = self.answer(graph, change.symbols.clone(), found, |user| user);
        if answer.empty.is_some() {
            answer.empty = Some(match (change.symbols.is_empty(), change.removed.is_empty()) {
                (true, true) if change.elsewhere.is_empty() => "nothing is changed".to_owned(),
                (true, true) => "the change is in no definition".to_owned(),
                _ => "nothing that is known of the project's code uses what is changed".to_owned(),
            });
        }
        Ok(ChangeImpact { answer, change })
    }
}
