//! Exact match over a whole data set: by hardness and component, with the figures that the published evaluator prints.

use wb_core::records::sql::{ClauseFigures, QueryComponent, QueryHardness};

use super::ExactMatch;

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
#[derive(Debug, Clone, PartialEq)]
pub struct LevelTotals {
    /// Questions.
    pub count: usize,
    /// The share with an exact match; 0 without questions.
    pub exact: f64,
    /// The components, in the order of [`QueryComponent::ALL`].
    pub components: Vec<ClauseFigures>,
}

impl Totals {
    /// Counts a verdict.
    pub fn add(&mut self, hardness: QueryHardness, verdict: &ExactMatch) {
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
    pub fn level(&self, hardness: QueryHardness) -> LevelTotals {
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
        let components = QueryComponent::ALL.into_iter().zip(&self.components).map(|(component, sums)| {
            let [accuracy, recall] = [0, 1].map(|side| share(sums.agreed[side], sums.present[side]));
            let f1 = match () {
                () if self.count == 0 => 0.0,
                () if accuracy == 0.0 && recall == 0.0 => 1.0,
                () => 2.0 * accuracy * recall / (recall + accuracy),
            };
            ClauseFigures { component, accuracy, recall, f1 }
        });
        LevelTotals { count: self.count, exact: share(self.exact, self.count), components: components.collect() }
    }
}
