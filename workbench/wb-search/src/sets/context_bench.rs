//! ContextBench's issues: `contextbench*.jsonl`, and each repository at the issue's commit below `corpora/`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::{CitedLines, LoadedSet, SearchSet, SetQuestion, Target, repository};
use crate::{Error, Result};

#[derive(Deserialize)]
struct Issue {
    id: String,
    original: String,
    repo: String,
    language: String,
    base_commit: String,
    query: String,
    gold: Vec<CitedLines>,
}

impl Issue {
    /// The folder of its repository: named by the issue, or by the repository, with or without its commit.
    fn folder(&self, corpora: &Path) -> Option<PathBuf> {
        let name = self.repo.rsplit('/').next().unwrap_or(&self.repo);
        let mut names = vec![self.id.clone(), self.original.clone()];
        for repository in
            [self.repo.replace('/', "__"), self.repo.replace('/', "+"), self.repo.clone(), name.to_owned()]
        {
            for digits in [40, 12, 10, 8, 7] {
                let commit = self.base_commit.get(..digits).unwrap_or(&self.base_commit);
                names.extend(["@", "-", "_", "/"].map(|between| format!("{repository}{between}{commit}")));
            }
            names.push(repository);
        }
        names.into_iter().map(|name| corpora.join(name)).find(|folder| folder.is_dir())
    }
}

pub(super) fn load(folder: &Path) -> Result<LoadedSet> {
    let listing = fs::read_dir(folder).map_err(Error::io("read", folder))?;
    let mut files: Vec<PathBuf> = listing.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    files.sort();
    let corpora = folder.join("corpora");
    let mut set = LoadedSet {
        set: SearchSet::ContextBench,
        repositories: Vec::new(),
        questions: Vec::new(),
        left_out: 0,
        copy: None,
    };
    for path in files {
        let text = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let issue: Issue =
                serde_json::from_str(line).map_err(|error| Error::json_line(&path, number + 1, &error))?;
            let Some(root) = issue.folder(&corpora) else {
                set.left_out += 1;
                continue;
            };
            let at = match set.repositories.iter().position(|known| known.root == root) {
                Some(at) => at,
                None => {
                    set.repositories.push(repository(&issue.repo, &issue.language, root.clone())?);
                    set.repositories.len() - 1
                }
            };
            // Spans of files that are not there at this commit are of the fix.
            let spans = issue.gold.into_iter().filter(|span| root.join(&span.file).is_file());
            let targets: Vec<Target> = spans.map(Target::from).collect();
            if targets.is_empty() {
                set.left_out += 1;
                continue;
            }
            set.questions.push(SetQuestion {
                id: issue.id,
                text: issue.query,
                asked: None,
                repository: at,
                category: issue.language,
                primary: targets.len(),
                targets,
            });
        }
    }
    match set.repositories.is_empty() {
        true => Err(Error::failed(format!("{} has none of the issues' repositories", corpora.display()))
            .with_hint("unpack each repository at the issue's commit: corpora/ID, or corpora/OWNER__NAME@COMMIT")),
        false => Ok(set),
    }
}
