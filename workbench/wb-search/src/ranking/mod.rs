//! Units ranked for a question: one score, of signals that each can be shown.

mod confidence;
mod question;
pub(crate) mod rerank;
mod signals;
mod weights;
mod word_scores;

use serde::{Deserialize, Serialize};

pub(crate) use question::intent;
pub use question::{Intent, SearchQuestion};
pub use rerank::{READ, ReadAnswers};
pub use signals::Signals;
pub use weights::{IntentWeights, RankingWeights, RoleWeights, SignalWeights};

use crate::{
    CodeIndex, ContextWeights, Result,
    index::{IndexedUnit, UnitNames},
};

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
        let context = &weights.context;
        let weights = weights.of(question, self)?;
        let candidates = self.candidates(question, weights, context, LOOKED_AT.max(n.saturating_mul(4)))?;
        let scored = candidates.into_iter().map(|(unit, signals)| (unit, signals.score(weights), signals)).collect();
        Ok(self.best(scored, weights.again, n))
    }

    /// The best units, each file in turn: a unit counts by the factor
    /// `again` for each of its file that stands before.
    pub(crate) fn best(&self, mut candidates: Vec<(usize, f32, Signals)>, again: f32, n: usize) -> Vec<FoundUnit> {
        let mut found = Vec::with_capacity(n.min(candidates.len()));
        let mut taken: Vec<i32> = vec![0; self.files().len()];
        while found.len() < n && !candidates.is_empty() {
            let now =
                |(unit, score, _): &(usize, f32, Signals)| score * again.powi(taken[self.units()[*unit].file as usize]);
            let better = |one: &usize, other: &usize| {
                let (a, b) = (now(&candidates[*one]), now(&candidates[*other]));
                a.total_cmp(&b).then(candidates[*other].0.cmp(&candidates[*one].0))
            };
            let Some(best) = (0..candidates.len()).max_by(better) else { break };
            let score = now(&candidates[best]);
            let (unit, _, signals) = candidates.swap_remove(best);
            taken[self.units()[unit].file as usize] += 1;
            found.push(self.found(unit, score, signals));
        }
        found
    }

    /// The units that may answer, with their signals, in no order: at most so many, the best at a first look.
    pub(crate) fn candidates(
        &self,
        question: &SearchQuestion,
        weights: &SignalWeights,
        context: &ContextWeights,
        most: usize,
    ) -> Result<Vec<(usize, Signals)>> {
        signals::candidates(self, question, weights, context, most)
    }

    /// Units that come first, then what else was found, `most` in all.
    pub(crate) fn with_first(&self, found: Vec<FoundUnit>, first: &[usize], most: usize) -> Vec<FoundUnit> {
        let known = |unit: usize| found.iter().find(|found| found.unit == unit).cloned();
        let of_first =
            first.iter().map(|unit| known(*unit).unwrap_or_else(|| self.found(*unit, 0.0, Signals::default())));
        let rest = found.iter().filter(|found| !first.contains(&found.unit)).cloned();
        of_first.chain(rest).take(most).collect()
    }

    fn found(&self, unit: usize, score: f32, signals: Signals) -> FoundUnit {
        let IndexedUnit { file, lines, .. } = self.units()[unit];
        let UnitNames { own, scope, .. } = self.names(unit);
        let names = if own.is_empty() { scope } else { own };
        FoundUnit {
            path: self.files()[file as usize].path.clone(),
            lines,
            names: names.into_iter().map(str::to_owned).collect(),
            score,
            signals,
            unit,
        }
    }
}
