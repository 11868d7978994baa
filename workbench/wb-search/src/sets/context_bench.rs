//! ContextBench's issues: `contextbench*.jsonl`, and each repository at the issue's commit below `corpora/`.

use std::path::Path;

use serde::Deserialize;

use super::{
    CitedLines, LoadedSet, SearchSet, SetQuestion, Target,
    at_commit::{AtCommit, lines_of},
};
use crate::Result;

#[derive(Deserialize)]
struct Issue {
    id: String,
    #[serde(default)]
    original: String,
    repo: String,
    language: String,
    base_commit: String,
    query: String,
    gold: Vec<CitedLines>,
}

pub(super) fn load(folder: &Path) -> Result<LoadedSet> {
    let corpora = folder.join("corpora");
    let mut set = LoadedSet::empty(SearchSet::ContextBench);
    for Issue { id, original, repo, language, base_commit, query, gold } in lines_of(folder)? {
        let asked = AtCommit { ids: &[&id, &original], name: &repo, commit: &base_commit, language: &language };
        let Some(repository) = set.position(&corpora, &asked) else {
            set.left_out += 1;
            continue;
        };
        // Spans of files that are not there at this commit are of the fix.
        let root = &set.repositories[repository].root;
        let targets: Vec<Target> =
            gold.into_iter().map(Target::from).filter(|span| root.join(&span.path).is_file()).collect();
        if targets.is_empty() {
            set.left_out += 1;
            continue;
        }
        set.questions.push(SetQuestion::new(id, query, repository, language, targets));
    }
    Ok(set)
}
