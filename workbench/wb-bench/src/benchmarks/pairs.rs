//! Held-out pairs as a benchmark: what the workbench's own runs are judged by.

use std::{collections::BTreeMap, path::Path};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::Pair;

use super::benchmark::{Benchmark, BenchmarkData, BenchmarkPlan, Card};
use crate::{
    Result,
    protocols::{
        PlannedProtocol,
        pairs::{CHUNK, pairs_1000, pairs_full},
    },
};

/// See [`crate::protocols::pairs`].
pub const CARD: Card = Card {
    name: "pairs",
    measures: "held-out pairs of a run, or of a file: MRR",
    protocols: &["pairs-full", "pairs-1000"],
    version: 1,
    dataset: "the held-out pairs of the run",
    place: "",
    licence: "that of each pair's origin",
    paper: "the pool of 1,000 after CodeSearchNet, arXiv:1909.09436",
    citation: "",
    main: &[("pairs-full", "mrr")],
};

/// Seed of the pools, and the numbers to give.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PairsConfig {
    /// Seed of the order in which pairs are cut into pools of 1,000, in numpy's legacy stream; 0 is CodeSearchNet's.
    pub seed: u32,
    /// Name of the pairs in tables.
    pub split: String,
    /// Measures each language by itself too, where there are several.
    pub per_language: bool,
}

impl Default for PairsConfig {
    fn default() -> Self {
        Self { seed: 0, split: "test".into(), per_language: true }
    }
}

impl Benchmark for PairsConfig {
    fn card(&self) -> &'static Card {
        &CARD
    }

    fn validate(&self, key: &str) -> wb_core::Result<()> {
        if self.split.is_empty() {
            return Err(wb_core::Error::value(format!("{key}.split"), "got an empty name, expected one like test"));
        }
        Ok(())
    }

    /// Pairs are read before: no folder is this benchmark's.
    fn is_in(&self, _folder: &Path) -> Result<bool> {
        Ok(false)
    }

    fn plan(&self, dataset: BenchmarkData<'_>) -> Result<BenchmarkPlan> {
        let BenchmarkData::Pairs(set) = dataset else {
            let message = "got a folder, expected pairs that were read before";
            return Err(wb_core::Error::value("bench.pairs.dataset", message));
        };
        if set.is_empty() {
            return Err(wb_core::Error::data("pairs", "no held-out pairs, expected at least one"));
        }
        let mut plan = BenchmarkPlan::new(&CARD);
        plan.dataset = set.fingerprint();
        plan.set("split", &self.split);
        plan.set("chunk seed", self.seed);
        let everything: Vec<&Pair> = set.pairs().iter().collect();
        let mut languages: BTreeMap<&str, Vec<&Pair>> = BTreeMap::new();
        for pair in set.pairs() {
            languages.entry(&pair.language).or_default().push(pair);
        }
        let single = languages.len() == 1;
        let name = |language: &str| if language.is_empty() { "unknown".to_owned() } else { language.to_owned() };
        let whole = match languages.keys().next() {
            Some(language) if single && !language.is_empty() => (*language).to_owned(),
            _ => "all".to_owned(),
        };
        self.add(&mut plan, &everything, &whole);
        if !single && self.per_language {
            for (language, pairs) in &languages {
                self.add(&mut plan, pairs, &name(language));
            }
        }
        Ok(plan)
    }
}

impl PairsConfig {
    fn add(&self, plan: &mut BenchmarkPlan, pairs: &[&Pair], language: &str) {
        if pairs.len() < CHUNK {
            plan.warnings.push(format!("pairs-1000 {language}: {} pairs, so the pool is that small", pairs.len()));
        }
        plan.protocols.push(PlannedProtocol::Ranked(pairs_full(&mut plan.texts, pairs, language, &self.split)));
        plan.protocols.push(PlannedProtocol::Ranked(pairs_1000(
            &mut plan.texts,
            pairs,
            language,
            &self.split,
            self.seed,
        )));
    }
}
