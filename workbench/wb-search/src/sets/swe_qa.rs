//! SWE-QA's questions whose reference answers name files that are there: `citations.jsonl`, `corpora/NAME`.

use std::path::Path;

use serde::Deserialize;

use super::{CitedLines, LoadedSet, SearchSet, SetQuestion, Target, read_json_lines, repository};
use crate::Result;

#[derive(Deserialize)]
struct Asked {
    repo: String,
    id: String,
    question: String,
    citations: Vec<CitedLines>,
}

pub(super) fn load(folder: &Path) -> Result<LoadedSet> {
    let mut set = LoadedSet::empty(SearchSet::SweQa);
    for asked in read_json_lines::<Asked>(&folder.join("citations.jsonl"))? {
        let name = asked.repo.rsplit('/').next().unwrap_or(&asked.repo).to_owned();
        let root = folder.join("corpora").join(&name);
        // Of some repositories only the questions are at hand.
        if asked.citations.is_empty() || !root.is_dir() {
            set.left_out += 1;
            continue;
        }
        let known = set.repositories.iter().position(|known| known.name == name);
        let at = match known {
            Some(at) => at,
            None => {
                set.repositories.push(repository(&name, "python", root)?);
                set.repositories.len() - 1
            }
        };
        let targets = asked.citations.into_iter().map(Target::from).collect();
        // The set has no kinds: what differs is the repository.
        set.questions.push(SetQuestion::new(asked.id, asked.question, at, name, targets));
    }
    Ok(set)
}
