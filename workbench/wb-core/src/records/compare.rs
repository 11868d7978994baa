//! `compare.json` and `verdict.json`: contestants compared query by query, and what that came to.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::statistics::{Comparison, Interval};

/// Two contestants under one protocol and metric, paired by query; `compare.json` is a list of these.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PairedTest {
    /// Protocol of both: `pairs-full`.
    pub protocol: String,
    /// Language: `ruby`, `all`.
    pub language: String,
    /// Split: `test`.
    pub split: String,
    /// Metric: `mrr`.
    pub metric: String,
    /// Name of the contestant that is asked about.
    pub candidate: String,
    /// Name of the contestant that it is compared with.
    pub baseline: String,
    /// Queries that both measured.
    pub n_queries: u64,
    /// The candidate's value over all its queries, a fraction.
    pub candidate_value: f64,
    /// The baseline's value over all its queries, a fraction.
    pub baseline_value: f64,
    /// The candidate's values less the baseline's, over the common queries.
    #[serde(flatten)]
    pub comparison: Comparison,
}

/// `verdict.json`: the trained encoder against the baseline to beat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictFile {
    /// The verdict on the main metric.
    pub verdict: CompareVerdict,
    /// The command's last line: `VERDICT: WIN pairs-full mrr ...`.
    pub line: String,
}

impl VerdictFile {
    /// The line without `VERDICT:` and the verdict's word.
    pub fn said(&self) -> &str {
        let line = self.line.strip_prefix("VERDICT:").map_or(self.line.as_str(), str::trim_start);
        line.strip_prefix(self.verdict.as_str()).map_or(line, str::trim_start)
    }
}

/// Outcome of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum CompareVerdict {
    /// The whole interval of the main metric's difference is above 0.
    Win,
    /// The interval holds 0.
    Marginal,
    /// The whole interval is below 0.
    Regression,
}

impl CompareVerdict {
    /// From the interval of a difference.
    pub fn of(interval: Interval) -> Self {
        if interval.low > 0.0 {
            Self::Win
        } else if interval.high < 0.0 {
            Self::Regression
        } else {
            Self::Marginal
        }
    }

    /// The word in files and on the screen: `WIN`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Win => "WIN",
            Self::Marginal => "MARGINAL",
            Self::Regression => "REGRESSION",
        }
    }
}

impl fmt::Display for CompareVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_one_flat_object() {
        let test = PairedTest { metric: "mrr".into(), ..PairedTest::default() };
        let json = serde_json::to_string(&test).unwrap();
        let end = ",\"baseline_value\":0.0,\"difference\":0.0,\"low\":0.0,\"high\":0.0,\"p_value\":0.0,\
                   \"wins_ties_losses\":[0,0,0]}";
        assert!(json.ends_with(end), "{json}");
        assert_eq!(serde_json::from_str::<PairedTest>(&json).unwrap(), test);
    }

    #[test]
    fn files_hold_the_words_of_the_screen() {
        for verdict in [CompareVerdict::Win, CompareVerdict::Marginal, CompareVerdict::Regression] {
            assert_eq!(serde_json::to_value(verdict).unwrap(), verdict.to_string());
        }
        let line = "VERDICT: WIN pairs-full mrr 0.5".to_owned();
        assert_eq!(VerdictFile { verdict: CompareVerdict::Win, line }.said(), "pairs-full mrr 0.5");
    }
}
