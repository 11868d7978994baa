//! The account of a run of rules: what was made, what was refused and why, what was run and how it went.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wb_code::RewriteKind;
use wb_core::Task;

use crate::review::Reviewed;

/// Counts, all by names that can be printed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RulesAccount {
    /// Snippets that came in.
    pub snippets: u64,
    /// Functions found in them.
    pub pieces: u64,
    /// Pairs, by task.
    pub pairs: BTreeMap<String, u64>,
    /// Pairs that `pairs_per_task` wants and the snippets do not give, by task.
    pub missing: BTreeMap<String, u64>,
    /// The decisions of a person about them.
    pub reviewed: Reviewed,
    /// Snippets, functions and pairs left out, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Single rewrites, by `rule language`, then by outcome: `applied`, or why not.
    pub rewrites: BTreeMap<String, BTreeMap<String, u64>>,
    /// Pairs and negatives that were run, by `equal`, `differs`, or why they could not be run.
    pub checks: BTreeMap<String, u64>,
}

impl RulesAccount {
    pub(super) fn refuse(&mut self, reason: &str) {
        *self.refused.entry(reason.to_owned()).or_default() += 1;
    }

    /// Counts a pair that was made and does not stay.
    pub(super) fn leave_out(&mut self, task: Task, reason: String) {
        if let Some(count) = self.pairs.get_mut(task.as_str()) {
            *count = count.saturating_sub(1);
        }
        *self.refused.entry(reason).or_default() += 1;
    }

    pub(super) fn check(&mut self, verdict: &str) {
        *self.checks.entry(verdict.to_owned()).or_default() += 1;
    }

    pub(super) fn tried(&mut self, tried: super::versions::Tried) {
        for ((kind, language, outcome), count) in tried {
            let key = format!("{} {language}", kind.name());
            *self.rewrites.entry(key).or_default().entry(outcome).or_default() += count;
        }
    }

    /// Pairs of all tasks.
    pub fn n_pairs(&self) -> u64 {
        self.pairs.values().sum()
    }

    /// Adds another account to this one.
    pub fn add(&mut self, other: Self) {
        self.snippets += other.snippets;
        self.pieces += other.pieces;
        self.reviewed.add(other.reviewed);
        for (into, from) in [
            (&mut self.pairs, other.pairs),
            (&mut self.missing, other.missing),
            (&mut self.refused, other.refused),
            (&mut self.checks, other.checks),
        ] {
            for (key, count) in from {
                *into.entry(key).or_default() += count;
            }
        }
        for (key, outcomes) in other.rewrites {
            let into = self.rewrites.entry(key).or_default();
            for (outcome, count) in outcomes {
                *into.entry(outcome).or_default() += count;
            }
        }
    }

    /// Number of applications of a rule, over all languages.
    pub fn applied(&self, kind: RewriteKind) -> u64 {
        let own = self.rewrites.iter().filter(|(key, _)| key.split(' ').next() == Some(kind.name()));
        own.filter_map(|(_, outcomes)| outcomes.get(super::versions::APPLIED)).sum()
    }
}
