//! CoSQA: real web queries over Python functions.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::benchmark::{Benchmark, BenchmarkData, BenchmarkPlan, Card};
use crate::{
    Result,
    layouts::{Files, cosqa, no_layout},
    protocols::{PlannedProtocol, cosqa_6267::cosqa_6267},
};

/// See [`crate::protocols::cosqa_6267`].
pub const CARD: Card = Card {
    name: "cosqa",
    measures: "Python functions found by web queries: MRR",
    protocols: &["cosqa-6267"],
    version: 1,
    dataset: "CoSQA's search task: code_idx_map.txt with cosqa-retrieval-{dev,test}-500.json",
    place: "cosqa",
    licence: "C-UDA 1.0 (data), MIT (code)",
    paper: "Huang et al., CoSQA: 20,000+ Web Queries for Code Search and Question Answering, ACL 2021",
    citation: "doi:10.18653/v1/2021.acl-long.442",
    main: &[("cosqa-6267", "mrr")],
};

/// Number of functions in a full pool.
const POOL: usize = 6267;

/// Nothing can be set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CosqaConfig {}

impl Benchmark for CosqaConfig {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn validate(&self, _key: &str) -> wb_core::Result<()> {
        Ok(())
    }

    fn is_in(&self, folder: &Path) -> Result<bool> {
        Ok(cosqa::is_in(folder))
    }

    fn plan(&self, dataset: BenchmarkData<'_>) -> Result<BenchmarkPlan> {
        let folder = dataset.folder("cosqa")?;
        let mut files = Files::new(folder);
        let mut plan = BenchmarkPlan::new(&CARD);
        let found = cosqa::read(&mut files)?.filter(|data| !data.splits.is_empty());
        let Some(data) = found else {
            return Err(no_layout(
                folder,
                "cosqa",
                "code_idx_map.txt with cosqa-retrieval-test-500.json or cosqa-retrieval-dev-500.json",
            ));
        };
        add(&mut plan, &data);
        for split in ["test", "dev"] {
            if data.splits.iter().all(|(found, _)| *found != split) {
                plan.skip("cosqa-6267", format!("no {split} split: needs cosqa-retrieval-{split}-500.json"));
            }
        }
        plan.dataset = files.fingerprint();
        Ok(plan)
    }
}

/// Adds every split that is there.
pub(super) fn add(plan: &mut BenchmarkPlan, data: &cosqa::Cosqa) {
    if data.pool.len() != POOL {
        let n = data.pool.len();
        plan.warnings
            .push(format!("cosqa-6267: the pool has {n} functions, not {POOL}: not comparable with published numbers"));
    }
    for (split, queries) in &data.splits {
        plan.protocols.push(PlannedProtocol::Ranked(cosqa_6267(&mut plan.texts, data, split, queries)));
    }
}
