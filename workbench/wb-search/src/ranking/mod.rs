//! Units ranked for a question: one score, of signals that each can be shown.

mod question;
mod signals;
mod weights;

use serde::{Deserialize, Serialize};

pub use question::{Intent, SearchQuestion};
pub use signals::Signals;
pub use weights::{RankingWeights, SignalWeights};

use crate::{CodeIndex, Result, index::IndexedUnit};

/// Units that are looked at closely, of those that share a word with the question.
const LOOKED_AT: usize = 400;

/// A unit that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FoundUnit {
    /// Path of its file below the root.
    pub path: String,
    /// First and last line, from 1.
    pub lines: [u32; 2],
    /// Names that are defined in it, else those around it.
    pub names: Vec<String>,
    /// The greater, the better; comparable within one question alone.
    pub score: f32,
    /// The parts of the score.
    pub signals: Signals,
    /// Position in the index.
    #[serde(skip)]
    pub unit: usize,
}

impl CodeIndex {
    /// The best `n` units for a question, best first. Equal scores are in the order of paths and lines.
    pub fn search(&self, question: &SearchQuestion, weights: &RankingWeights, n: usize) -> Result<Vec<FoundUnit>> {
        let weights = weights.of(question.intent());
        let mut candidates = signals::candidates(self, question, weights, LOOKED_AT.max(4 * n))?;
        let mut found = Vec::with_capacity(n.min(candidates.len()));
        // Of each file in turn its best unit, so that one file does not fill the answer.
        let mut taken: Vec<u32> = vec![0; self.files().len()];
        while found.len() < n && !candidates.is_empty() {
            let now = |(unit, signals): &(usize, Signals)| {
                signals.score(weights) * weights.again.powi(taken[self.units()[*unit].file as usize] as i32)
            };
            let better = |one: &usize, other: &usize| {
                let (a, b) = (now(&candidates[*one]), now(&candidates[*other]));
                a.total_cmp(&b).then(candidates[*other].0.cmp(&candidates[*one].0))
            };
            let Some(best) = (0..candidates.len()).max_by(better) else { break };
            let score = now(&candidates[best]);
            let (unit, signals) = candidates.swap_remove(best);
            taken[self.units()[unit].file as usize] += 1;
            found.push(self.found(unit, score, signals));
        }
        Ok(found)
    }

    fn found(&self, unit: usize, score: f32, signals: Signals) -> FoundUnit {
        let IndexedUnit { file, unit: lines, .. } = &self.units()[unit];
        let names = if lines.names.is_empty() { &lines.scope } else { &lines.names };
        FoundUnit {
            path: self.files()[*file as usize].path.clone(),
            lines: lines.lines,
            names: names.clone(),
            score,
            signals,
            unit,
        }
    }
}
