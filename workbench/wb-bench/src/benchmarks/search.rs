//! Code search in a repository: what an encoder's vectors are worth in the ranking of `wb search`.

use std::{path::Path, sync::Arc};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::fingerprint::Fingerprint;
use wb_search::{
    FolderFiles, build,
    sets::{OWN_QUESTIONS, own_questions},
    vectors::texts,
};

use super::benchmark::{Benchmark, BenchmarkData, BenchmarkPlan, Card};
use crate::{
    Result,
    protocols::{
        PlannedProtocol,
        search::{ASKED, RepositorySearch, SearchProtocol},
    },
};

/// See [`crate::protocols::search`].
pub const CARD: Card = Card {
    name: "search",
    measures: "units of a repository found by questions made of it, in the ranking of `wb search`: MRR",
    protocols: &["search-questions", "search-docstring", "search-commit", "search-symbol"],
    version: 1,
    dataset: "a repository: of a run, the files of its first source that it was not trained on",
    place: "",
    licence: "that of the repository",
    paper: "docstring to function after CodeSearchNet, arXiv:1909.09436",
    citation: "",
    main: &[("search-questions", "mrr")],
};

/// Number of questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SearchConfig {
    /// The most questions of each kind (documentation, names, commits), drawn by a fixed seed.
    pub questions: usize,
}

impl Default for SearchConfig {
    fn default() -> Self {
        Self { questions: OWN_QUESTIONS }
    }
}

impl Benchmark for SearchConfig {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn validate(&self, key: &str) -> wb_core::Result<()> {
        match self.questions {
            0 => Err(wb_core::Error::value(format!("{key}.questions"), "got 0, expected at least 1")),
            _ => Ok(()),
        }
    }

    /// Any repository can be asked: no folder is this benchmark's.
    fn is_in(&self, _folder: &Path) -> Result<bool> {
        Ok(false)
    }

    fn plan(&self, dataset: BenchmarkData<'_>) -> Result<BenchmarkPlan> {
        let folder = dataset.folder(CARD.name)?;
        let trained_on = match dataset {
            BenchmarkData::Repository { trained_on, .. } => Some(trained_on),
            _ => None,
        };
        let may_ask = |path: &str| trained_on.is_none_or(|files| !files.contains(path));
        let set = own_questions(folder, self.questions, &may_ask)?;
        let index = build(FolderFiles::of(&set.repositories[0].root)?, &mut |_| ())?.0;
        let mut plan = BenchmarkPlan::new(&CARD);
        let all: Vec<usize> = (0..index.units().len()).collect();
        let units = texts(&index, &all);
        let documents = units.iter().map(|(unit, text)| (*unit, plan.texts.documents.number(text))).collect();
        let questions = set.questions.iter().map(|one| (one.text.clone(), plan.texts.queries.number(&one.text)));
        let questions = questions.collect();
        plan.set("questions of a kind", self.questions);
        if let Some(trained_on) = trained_on {
            let files = index.files().iter().filter(|file| trained_on.contains(&file.path)).count();
            plan.set("files trained on", format!("{files} of {}", index.files().len()));
        }
        let mut fingerprint = Fingerprint::builder();
        units.iter().for_each(|(_, text)| _ = fingerprint.text(text));
        set.questions.iter().for_each(|one| _ = fingerprint.text(&one.id).text(&one.text));
        plan.dataset = fingerprint.finish();
        plan.warnings.push("search: the questions are made of their answers, which flatters".to_owned());
        let asked = Arc::new(RepositorySearch { set, index, documents, questions });
        for kind in ASKED {
            match asked.count(kind) {
                0 => plan.skip(kind.id, format!("no question of this kind: {}", kind.needs)),
                _ => {
                    let asked = Arc::clone(&asked);
                    plan.protocols.push(PlannedProtocol::Search(SearchProtocol { kind, asked }));
                }
            }
        }
        Ok(plan)
    }
}
