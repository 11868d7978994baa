//! Figures by level (hardness, difficulty, complexity) and over all questions.

use indexmap::IndexMap;
use wb_core::records::sql::{LevelFigure, SqlLevel};

use super::scores::{JUDGED, SqlFigure};

/// A measure: its name in the record, its heading in the table, how it is shown.
#[derive(Debug, Clone, Copy)]
pub struct LevelMeasure {
    /// Key in the record.
    pub key: &'static str,
    /// Heading in the table.
    pub heading: &'static str,
    /// True where it counts questions that are right, which are shown beside the share.
    pub counts: bool,
}

/// Sums of one measure.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    sum: f64,
    of: usize,
}

impl Sum {
    #[expect(clippy::cast_precision_loss, reason = "counts of questions")]
    fn mean(self) -> Option<f64> {
        (self.of > 0).then(|| self.sum / self.of as f64)
    }
}

/// The levels in their order; the last one is `all`.
pub struct LevelScores {
    measures: &'static [LevelMeasure],
    names: Vec<String>,
    questions: Vec<usize>,
    sums: Vec<Vec<Sum>>,
}

const ALL: &str = "all";

impl LevelScores {
    /// Nothing counted yet.
    pub fn new(measures: &'static [LevelMeasure], names: impl IntoIterator<Item = String>) -> LevelScores {
        let names: Vec<String> = names.into_iter().chain([ALL.to_owned()]).collect();
        let (questions, sums) = (vec![0; names.len()], vec![vec![Sum::default(); measures.len()]; names.len()]);
        LevelScores { measures, names, questions, sums }
    }

    /// Counts a question under its level, if it has one, and under all; a measure without a value is left out.
    pub fn add(&mut self, level: Option<&str>, values: &[Option<f64>]) {
        let own = level.and_then(|level| self.names.iter().position(|name| name == level));
        let all = self.names.len() - 1;
        for at in own.into_iter().filter(|&at| at != all).chain([all]) {
            self.questions[at] += 1;
            for (sum, value) in self.sums[at].iter_mut().zip(values) {
                sum.sum += value.unwrap_or(0.0);
                sum.of += usize::from(value.is_some());
            }
        }
    }

    /// Figures that can be required: each measure over all questions, and the share of them that has an `ex`.
    pub fn figures(&self) -> Vec<SqlFigure> {
        let questions = self.questions.last().copied().unwrap_or(0);
        let sums = self.sums.last().into_iter().flatten();
        let figure = |(measure, sum): (&LevelMeasure, &Sum)| SqlFigure {
            name: measure.key,
            value: sum.mean(),
            of: sum.of,
            without: questions - sum.of,
        };
        let mut figures: Vec<SqlFigure> = self.measures.iter().zip(sums).map(figure).collect();
        let judged = figures.iter().find(|figure| figure.name == "ex").map_or(0, |figure| figure.of);
        #[expect(clippy::cast_precision_loss, reason = "counts of questions")]
        let share = Sum { sum: judged as f64, of: questions }.mean();
        figures.push(SqlFigure { name: JUDGED, value: share, of: questions, without: 0 });
        figures
    }

    /// The table's heading, for levels of this kind.
    pub fn header(&self, kind: &'static str) -> Vec<&'static str> {
        [kind, "questions"].into_iter().chain(self.measures.iter().map(|measure| measure.heading)).collect()
    }

    /// One row a level.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let cell = |(measure, sum): (&LevelMeasure, &Sum)| match sum.mean() {
            None => "-".to_owned(),
            Some(mean) if measure.counts => format!("{mean:.3} ({:.0}/{})", sum.sum, sum.of),
            Some(mean) => format!("{mean:.3}"),
        };
        let row = |at: usize| {
            let first = [self.names[at].clone(), self.questions[at].to_string()];
            first.into_iter().chain(self.measures.iter().zip(&self.sums[at]).map(cell)).collect()
        };
        (0..self.names.len()).map(row).collect()
    }

    /// Figures of each level, for the record.
    pub fn record(&self) -> IndexMap<String, SqlLevel> {
        let figure = |(measure, sum): (&LevelMeasure, &Sum)| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a sum of ones")]
            let right = measure.counts.then_some(sum.sum as u64);
            (measure.key.to_owned(), LevelFigure { value: sum.mean(), of: sum.of, right })
        };
        let level = |at: usize| {
            let metrics = self.measures.iter().zip(&self.sums[at]).map(figure).collect();
            (self.names[at].clone(), SqlLevel { questions: self.questions[at], metrics })
        };
        (0..self.names.len()).map(level).collect()
    }
}

/// 1 for what is right, 0 for what is not.
pub fn counted(right: bool) -> f64 {
    if right { 1.0 } else { 0.0 }
}
