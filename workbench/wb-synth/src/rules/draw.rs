//! Draw among the pairs: not those that a person rejected, and of each task as many as are wanted.

use std::collections::BTreeMap;

use wb_core::{Seed, Task};

use super::{RulePair, RulesConfig, RulesOutput};
use crate::review::{ReviewVerdict, Reviews};

/// Marks what a person said, and drops what was rejected and what is beyond `pairs_per_task`. The order stays.
///
/// Each pair has a number that comes from the seed and its id alone. Of each task those that a person accepted are taken,
/// then those with the least numbers: one that is rejected makes room for the next, and nothing else changes.
pub(super) fn draw(config: &RulesConfig, mut output: RulesOutput, reviews: &Reviews, seed: Seed) -> RulesOutput {
    for made in &mut output.pairs {
        made.provenance.review = reviews.of_pair(&made.pair);
        output.account.reviewed.count(made.provenance.review);
    }
    let is_rejected = |made: &RulePair| made.provenance.review == Some(ReviewVerdict::Reject);
    for made in output.pairs.extract_if(.., |made| is_rejected(made)) {
        output.account.leave_out(made.pair.task, "rejected by a person".to_owned());
    }
    let Some(wanted) = config.pairs_per_task else { return output };
    let mut of_task: BTreeMap<Task, Vec<usize>> = config.tasks.iter().map(|task| (*task, Vec::new())).collect();
    for (at, made) in output.pairs.iter().enumerate() {
        of_task.entry(made.pair.task).or_default().push(at);
    }
    let mut stays = vec![true; output.pairs.len()];
    for (task, mut places) in of_task {
        if places.len() < wanted {
            let missing = (wanted - places.len()) as u64;
            output.account.missing.insert(task.as_str().to_owned(), missing);
        }
        places.sort_by_cached_key(|at| {
            let RulePair { pair, provenance } = &output.pairs[*at];
            let number = seed.number_at(&format!("pairs by rules {}", pair.id), 0);
            (provenance.review != Some(ReviewVerdict::Accept), number, *at)
        });
        for at in places.into_iter().skip(wanted) {
            stays[at] = false;
            output.account.leave_out(task, format!("{}: beyond pairs_per_task", task.as_str()));
        }
    }
    let mut stays = stays.into_iter();
    output.pairs.retain(|_| stays.next().unwrap_or(true));
    output
}
