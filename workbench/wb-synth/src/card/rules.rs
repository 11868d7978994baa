//! The card's part about rules: how often each was applied, and what was not made and why.

use std::{
    collections::BTreeMap,
    fmt::{self, Write},
};

use wb_code::RewriteKind;
use wb_data::card::cell;

use super::{listed, sorted};
use crate::rules::{RulesAccount, RulesConfig, Verify};

/// The account of the rules.
pub(super) fn rules(config: &RulesConfig, account: &RulesAccount, page: &mut String) -> fmt::Result {
    writeln!(page, "\n## Rules\n")?;
    writeln!(page, "{} functions were found in {} snippets.", account.pieces, account.snippets)?;
    if let Some(wanted) = config.pairs_per_task {
        writeln!(page, "{wanted} pairs of each task were wanted.")?;
        if !account.missing.is_empty() {
            writeln!(page, "**Missing:** {}.", listed(&account.missing))?;
        }
    }
    if !account.refused.is_empty() {
        writeln!(page, "\n| not made, or left out | count |\n|---|---:|")?;
        for (reason, count) in sorted(&account.refused) {
            writeln!(page, "| {} | {count} |", cell(reason))?;
        }
    }
    if !account.rewrites.is_empty() {
        writeln!(page, "\n| rewrite | tried | applied | not applied, the commonest reasons |\n|---|---:|---:|---|")?;
        for kind in RewriteKind::ALL {
            let mut outcomes: BTreeMap<String, u64> = BTreeMap::new();
            let of_kind = account.rewrites.iter().filter(|(name, _)| name.split(' ').next() == Some(kind.name()));
            for (outcome, count) in of_kind.flat_map(|(_, outcomes)| outcomes) {
                *outcomes.entry(outcome.clone()).or_default() += count;
            }
            let tried: u64 = outcomes.values().sum();
            if tried > 0 {
                let applied = account.applied(kind);
                outcomes.retain(|outcome, _| outcome != crate::rules::APPLIED);
                let reasons: BTreeMap<String, u64> =
                    sorted(&outcomes).into_iter().take(3).map(|(reason, count)| (reason.clone(), *count)).collect();
                writeln!(page, "| {} | {tried} | {applied} | {} |", cell(kind.name()), listed(&reasons))?;
            }
        }
        writeln!(page, "\nRewrites are counted over all versions that were made, also of pairs that were not drawn.")?;
    }
    match config.verify {
        Verify::Off => writeln!(page, "\nNothing was run."),
        Verify::Run => writeln!(page, "\nBoth sides were run: {}.", listed(&account.checks)),
    }
}
