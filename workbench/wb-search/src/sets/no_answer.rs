//! Agent Retrieval Bench's questions that nothing in their repository answers, among others that something answers: all
//! `*.jsonl` of a folder, and each repository at the question's commit below `corpora/`.

use std::path::Path;

use serde::Deserialize;

use super::{
    LoadedSet, SearchSet, SetQuestion, Target,
    at_commit::{AtCommit, lines_of},
};
use crate::{FileContext, Result, SearchContext};

#[derive(Deserialize)]
struct Sample {
    id: String,
    repo: String,
    base_commit: String,
    task_type: String,
    query: SampleQuery,
    gold: SampleGold,
}

/// A question, as an issue or in the parts that a kind of sample has.
#[derive(Deserialize, Default)]
#[serde(default)]
struct SampleQuery {
    text: String,
    pr_title: String,
    pr_body: String,
    review_comment: String,
    raw_signal: String,
    path: String,
    changed_file: String,
}

impl SampleQuery {
    /// The file that is open.
    fn context(&self) -> SearchContext {
        let current = [&self.path, &self.changed_file].into_iter().find(|path| !path.is_empty()).cloned();
        SearchContext { files: FileContext { current, recent: Vec::new() }, ..SearchContext::default() }
    }

    /// Words alone: the path that a sample may have beside them would give its repository away.
    fn text(self) -> String {
        let parts = [self.text, self.pr_title, self.pr_body, self.review_comment, self.raw_signal];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.trim().is_empty()).collect();
        parts.join("\n")
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct SampleGold {
    no_gold: bool,
    reason: String,
    root_cause_files: Vec<String>,
    related_tests: Vec<String>,
    supporting_files: Vec<String>,
    files: Vec<String>,
}

pub(super) fn load(folder: &Path) -> Result<LoadedSet> {
    let corpora = folder.join("corpora");
    let mut set = LoadedSet::empty(SearchSet::NoAnswer);
    for Sample { id, repo, base_commit, task_type, query, gold } in lines_of(folder)? {
        let asked = AtCommit { ids: &[&id], name: &repo, commit: &base_commit, language: "" };
        let Some(repository) = set.position(&corpora, &asked) else {
            set.left_out += 1;
            continue;
        };
        let files =
            [gold.root_cause_files, gold.related_tests, gold.supporting_files, gold.files].into_iter().flatten();
        let root = &set.repositories[repository].root;
        let targets: Vec<Target> =
            files.map(|path| Target::of(&path, None)).filter(|one| root.join(&one.path).is_file()).collect();
        if targets.is_empty() != gold.no_gold {
            set.left_out += 1;
            continue;
        }
        let category = if gold.no_gold { gold.reason } else { task_type };
        let context = query.context();
        let question = SetQuestion::new(id, query.text(), repository, category, targets);
        set.questions.push(SetQuestion { context, ..question });
    }
    Ok(set)
}
