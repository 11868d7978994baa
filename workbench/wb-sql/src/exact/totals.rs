//! Exact match over a whole data set: by hardness and component, with the figures that the published evaluator prints.

use serde::{Deserialize, Serialize};

use super::{Component, ExactMatch, Hardness};

/// Sums over many verdicts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Totals {
    /// One for each hardness, then all.
    levels: [Sums; 5],
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sums {
    count: usize,
    exact: usize,
    components: [ComponentSums; 10],
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct ComponentSums {
    /// Verdicts in which the component agrees, among those where the prediction has it, and where gold has it.
    agreed: [usize; 2],
    /// Verdicts where the prediction has it, and where gold has it.
    present: [usize; 2],
}

/// The figures of one level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LevelTotals {
    /// Questions.
    pub count: usize,
    /// The share with an exact match; 0 without questions.
    pub exact: f64,
    /// The components, in the order of [`Component::ALL`].
    pub components: Vec<ComponentTotals>,
}

/// The figures of one component at one level.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ComponentTotals {
    /// Which one.
    pub component: Component,
    /// The share that agrees of the predictions which have the component; 0 where none has.
    pub accuracy: f64,
    /// The share that agrees of the gold queries which have the component; 0 where none has.
    pub recall: f64,
    /// The harmonic mean of both. As published it is 1 where both are 0, so that a component nobody uses counts as
    /// right, and so does one that nobody gets right.
    pub f1: f64,
}

impl Totals {
    /// Counts a verdict.
    pub fn add(&mut self, hardness: Hardness, verdict: &ExactMatch) {
        for level in [hardness as usize, 4] {
            let sums = &mut self.levels[level];
            sums.count += 1;
            sums.exact += usize::from(verdict.em);
            for (sums, part) in sums.components.iter_mut().zip(&verdict.partial) {
                for (side, units) in [part.predicted, part.gold].into_iter().enumerate() {
                    sums.present[side] += usize::from(units > 0);
                    sums.agreed[side] += usize::from(units > 0 && part.matches);
                }
            }
        }
    }

    /// The figures of one hardness.
    pub fn level(&self, hardness: Hardness) -> LevelTotals {
        self.levels[hardness as usize].totals()
    }

    /// The figures over all.
    pub fn all(&self) -> LevelTotals {
        self.levels[4].totals()
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl Sums {
    fn totals(&self) -> LevelTotals {
        let components = Component::ALL.into_iter().zip(&self.components).map(|(component, sums)| {
            let [accuracy, recall] = [0, 1].map(|side| share(sums.agreed[side], sums.present[side]));
            let f1 = match () {
                () if self.count == 0 => 0.0,
                () if accuracy == 0.0 && recall == 0.0 => 1.0,
                () => 2.0 * accuracy * recall / (recall + accuracy),
            };
            ComponentTotals { component, accuracy, recall, f1 }
        });
        LevelTotals { count: self.count, exact: share(self.exact, self.count), components: components.collect() }
    }
}
