//! Results of a benchmark: text to print, a record to write, figures to hold against what is required.

use wb_core::records::sql::SqlRecord;

use super::SqlBenchmark;

/// A piece of the text.
pub enum ReportBlock {
    /// A line, or several.
    Line(String),
    /// A table.
    Table(Vec<&'static str>, Vec<Vec<String>>),
}

/// Results of a benchmark.
pub struct SqlScores {
    /// The benchmark.
    pub benchmark: SqlBenchmark,
    /// Blocks that are printed.
    pub blocks: Vec<ReportBlock>,
    /// Record that `--json` writes.
    pub record: SqlRecord,
    /// Figures that can be required.
    pub metrics: Vec<SqlFigure>,
}

/// A figure over all questions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SqlFigure {
    /// Name in `--require NAME=VALUE`.
    pub name: &'static str,
    /// `None` where nothing could be measured.
    pub value: Option<f64>,
    /// Number of questions that have one.
    pub of: usize,
    /// Number of questions that have none, so that the figure is one over the others.
    pub without: usize,
}

/// The share of questions that have a verdict of execution: what else can be required of every benchmark.
pub const JUDGED: &str = "judged";

impl SqlScores {
    /// Sentences on requirements that are not met. A figure that could not be measured meets none, and neither does one
    /// over some of the questions, unless what share has to be judged is required, too.
    pub fn refusals(&self, requirements: &[(String, f64)]) -> Vec<String> {
        let mut refusals = Vec::new();
        let mut refuse = |what: String| refusals.push(format!("refused: {} {what}", self.benchmark.name()));
        let share_is_required = requirements.iter().any(|(metric, _)| metric == JUDGED);
        for (metric, least) in requirements {
            let figure = self.metrics.iter().find(|figure| figure.name == metric);
            let Some((figure, value)) = figure.and_then(|figure| Some((figure, figure.value?))) else {
                refuse(format!("{metric} is not measured, required {least:.4}"));
                continue;
            };
            if value < *least {
                refuse(format!("{metric} is {value:.4}, required {least:.4}"));
            }
            if figure.without > 0 && !share_is_required {
                let (of, without) = (figure.of, figure.without);
                let questions = of + without;
                refuse(format!(
                    "{metric} is {value:.4} over {of} of {questions} questions, and {without} have none; give them what \
                     they miss, or say what share is enough, as in --require {JUDGED}=0.9"
                ));
            }
        }
        refusals
    }
}
