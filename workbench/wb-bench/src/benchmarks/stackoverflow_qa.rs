//! CoIR's StackOverflow QA: questions of people, text and code mixed, over the answers that were given.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    beir,
    benchmark::{Benchmark, BenchmarkData, BenchmarkPlan, Card},
};
use crate::{
    Result,
    layouts::{Files, no_layout},
    protocols::PlannedProtocol,
};

/// See [`crate::protocols::beir`].
pub const CARD: Card = Card {
    name: "stackoverflow-qa",
    measures: "answers with code found by questions with code: nDCG@10",
    protocols: &["coir-stackoverflow-qa", "mteb-stackoverflow-qa", "st-stackoverflow-qa"],
    version: 1,
    dataset: "CoIR's stackoverflow-qa in BEIR's layout: corpus.jsonl, queries.jsonl, qrels/test.tsv",
    place: "coir/stackoverflow-qa",
    licence: "as the hub tags it MIT; posts of Stack Overflow are CC BY-SA",
    paper: "Li et al., CoIR: A Comprehensive Benchmark for Code Information Retrieval Models, 2024",
    citation: "arXiv:2407.02883",
    main: &[("coir-stackoverflow-qa", "ndcg@10")],
};

/// Answers that the 1,994 test questions search: those of all splits.
const POOL: usize = 19_931;

/// Nothing can be set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StackoverflowQaConfig {}

impl Benchmark for StackoverflowQaConfig {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn validate(&self, _key: &str) -> wb_core::Result<()> {
        Ok(())
    }

    fn is_in(&self, folder: &Path) -> Result<bool> {
        Ok(beir::find(folder)?.iter().any(|(_, found)| found == folder))
    }

    fn plan(&self, dataset: BenchmarkData<'_>) -> Result<BenchmarkPlan> {
        let folder = dataset.folder(CARD.name)?;
        if !self.is_in(folder)? {
            return Err(no_layout(folder, CARD.name, "corpus.jsonl with queries.jsonl and qrels/test.tsv"));
        }
        let (mut plan, mut files) = (BenchmarkPlan::new(&CARD), Files::new(folder));
        beir::add(&mut plan, &mut files, folder, "all", CARD.name, "test")?;
        if let Some(PlannedProtocol::Ranked(first)) = plan.protocols.first() {
            let pool: usize = first.parts.iter().map(|part| part.ids.len()).sum();
            if pool != POOL {
                let id = &first.id;
                let off =
                    format!("{id}: the pool has {pool} answers, not {POOL}: not comparable with published numbers");
                plan.warnings.push(off);
            }
        }
        plan.dataset = files.fingerprint();
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn one_collection_under_its_own_name() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("made");
        let read = || StackoverflowQaConfig {}.plan(BenchmarkData::Folder(&root));
        fs::create_dir_all(root.join("qrels")).unwrap();
        assert!(read().unwrap_err().to_string().ends_with("no data of benchmark stackoverflow-qa found"));
        fs::write(root.join("corpus.jsonl"), "{\"_id\": \"d\", \"title\": \"\", \"text\": \"use `len(x)`\"}\n")
            .unwrap();
        fs::write(root.join("queries.jsonl"), "{\"_id\": \"q\", \"text\": \"how long is `x`?\"}\n").unwrap();
        fs::write(root.join("qrels/test.tsv"), "query-id\tcorpus-id\tscore\nq\td\t1\n").unwrap();
        let plan = read().unwrap();
        let ids: Vec<&str> = plan.protocols.iter().map(|planned| planned.protocol().id()).collect();
        assert_eq!(ids, CARD.protocols);
        assert_eq!(
            plan.warnings,
            ["coir-stackoverflow-qa: the pool has 1 answers, not 19931: not comparable with published numbers"]
        );
        // Folders of several collections are none of it.
        assert!(!StackoverflowQaConfig {}.is_in(folder.path()).unwrap());
    }
}
