//! A gate: who passes, who does not and why, with a few examples for a reader's eyes.

use wb_core::records::data::{DroppedPair, Gate};

use super::candidate::Candidate;

/// Dropped candidates that are shown.
const EXAMPLES: usize = 3;

/// Lets those pass that have no reason against them, and adds the gate to the account; `reasons` stands beside
/// `candidates`.
pub(super) fn gate(
    name: &str,
    candidates: Vec<Candidate>,
    reasons: Vec<Option<String>>,
    gates: &mut Vec<Gate>,
) -> Vec<Candidate> {
    let mut gate = Gate { name: name.to_owned(), before: candidates.len() as u64, ..Gate::default() };
    let mut passed = Vec::with_capacity(candidates.len());
    for (candidate, reason) in candidates.into_iter().zip(reasons) {
        match reason {
            None => passed.push(candidate),
            Some(reason) => drop_one(&mut gate, reason, &candidate.id, &candidate.query),
        }
    }
    gate.after = passed.len() as u64;
    gates.push(gate);
    passed
}

/// Counts one dropped candidate.
pub(crate) fn drop_one(gate: &mut Gate, reason: String, id: &str, query: &str) {
    if gate.examples.len() < EXAMPLES {
        let anchor = wb_data::text::shorten(query, 80);
        gate.examples.push(DroppedPair { reason: reason.clone(), id: id.to_owned(), anchor });
    }
    *gate.dropped.entry(reason).or_default() += 1;
}
