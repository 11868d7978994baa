//! Trust in the judge: its labels beside those of a person on a small gold set.

use serde::{Deserialize, Serialize};

/// One line of a gold set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gold {
    /// The query.
    pub query: String,
    /// The document.
    pub document: String,
    /// The task's full name.
    pub task: String,
    /// A person's label: 0, 1 or 2.
    pub label: u8,
}

/// The judge beside a person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// `table[person][judge]`: pairs with these labels.
    pub table: [[u64; 3]; 3],
    /// Pairs without a judgment.
    pub unanswered: u64,
    /// Lines of the gold set whose task takes no part in the run.
    pub other_tasks: u64,
}

impl Calibration {
    /// Adds a pair; `None` where the judge gave no label.
    pub fn add(&mut self, person: u8, judge: Option<u8>) {
        let cell = judge.and_then(|judge| self.table.get_mut(usize::from(person))?.get_mut(usize::from(judge)));
        match cell {
            Some(cell) => *cell += 1,
            None => self.unanswered += 1,
        }
    }

    /// (right, given): how often the judge gave a label, and how often a person gave it too. Precision is their quotient.
    pub fn precision(&self, label: u8) -> (u64, u64) {
        let at = usize::from(label);
        let given = self.table.iter().filter_map(|row| row.get(at)).sum();
        (self.table.get(at).and_then(|row| row.get(at)).copied().unwrap_or(0), given)
    }

    /// (found, there): how often a person gave a label, and how often the judge found it. Recall is their quotient.
    pub fn recall(&self, label: u8) -> (u64, u64) {
        let at = usize::from(label);
        let there = self.table.get(at).map_or(0, |row| row.iter().sum());
        (self.precision(label).0, there)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precision_by_hand() {
        let mut calibration = Calibration::default();
        for (person, judge) in [(1, Some(1)), (1, Some(1)), (2, Some(1)), (0, Some(0)), (1, Some(0)), (2, None)] {
            calibration.add(person, judge);
        }
        assert_eq!(calibration.precision(1), (2, 3));
        assert_eq!(calibration.precision(0), (1, 2));
        assert_eq!(calibration.precision(2), (0, 0));
        assert_eq!(calibration.recall(1), (2, 3));
        assert_eq!(calibration.unanswered, 1);
    }
}
