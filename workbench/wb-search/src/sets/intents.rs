//! Questions about symbols, each with its intent: `intents.jsonl` of a folder, and repositories below `corpora/`.
//!
//! `scripts/intents.py` makes such a folder of what compilers' tools (SCIP) and histories know: definitions and usages of
//! symbols, and functions that were changed together.

use std::path::Path;

use serde::Deserialize;
use tempfile::TempDir;
use wb_core::Progress;

use super::{CitedLines, LoadedSet, SearchSet, SetQuestion, Target, read_json_lines, repository};
use crate::{CodeIndex, Error, IndexPlace, RankingWeights, Result, structure::ProjectGraph};

#[derive(Deserialize)]
struct IntentQuestion {
    id: String,
    repository: String,
    text: String,
    intent: String,
    targets: Vec<CitedLines>,
}

pub(super) fn load(folder: &Path) -> Result<LoadedSet> {
    let mut set = LoadedSet::empty(SearchSet::Intents);
    let file = folder.join("intents.jsonl");
    if !file.is_file() {
        let what = format!("{} has no intents.jsonl", folder.display());
        return Err(Error::failed(what).with_hint("scripts/intents.py makes it"));
    }
    for IntentQuestion { id, repository: name, text, intent, targets } in read_json_lines::<IntentQuestion>(&file)? {
        let root = folder.join("corpora").join(&name);
        if !root.is_dir() {
            set.left_out += 1;
            continue;
        }
        let at = match set.repositories.iter().position(|known| known.name == name) {
            Some(at) => at,
            None => {
                set.repositories.push(repository(&name, "", root)?);
                set.repositories.len() - 1
            }
        };
        let targets: Vec<Target> = targets.into_iter().map(Target::from).collect();
        set.questions.push(SetQuestion::new(id, text, at, intent, targets));
    }
    Ok(set)
}

impl LoadedSet {
    /// Gives questions about symbols the units that the structures of their repositories have for them, see
    /// [`ProjectGraph::route`]; the number of those that have some. `indexes` are those of the repositories, in their order.
    pub fn route(
        &mut self,
        indexes: &[CodeIndex],
        weights: &RankingWeights,
        progress: &mut (dyn FnMut(Progress) + Send),
    ) -> Result<usize> {
        let mut routed = 0;
        for (at, index) in indexes.iter().enumerate() {
            let folder = TempDir::new().map_err(Error::io("keep structures in", &std::env::temp_dir()))?;
            let place = IndexPlace::of(&self.repositories[at].root, Some(folder.path().join("index")))?;
            let mut update = place.update_of(index.without_vectors())?;
            update.structures(progress)?;
            let graph = ProjectGraph::open(update.keep()?)?;
            for question in self.questions.iter_mut().filter(|question| question.repository == at) {
                if let Some((_, units)) = graph.units_for(&question.text, weights)? {
                    question.first = units;
                    routed += usize::from(!question.first.is_empty());
                }
            }
        }
        Ok(routed)
    }
}
