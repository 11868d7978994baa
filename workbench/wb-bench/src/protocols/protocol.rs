//! The trait of a protocol: texts that are known already, scores from a contestant, numbers out.

use wb_core::{
    Seed,
    records::outcome::{AuditLine, ProtocolScore},
    statistics::{Interval, RESAMPLES, bootstrap_interval},
};

use crate::{Result, contestant::Scorer};

/// One way to turn scores into numbers, with its data: which texts search which, and what answers what.
pub trait Protocol {
    /// `csn-1000`, `cosqa-6267`, ...
    fn id(&self) -> &str;

    /// Name with language and split, for progress lines: `csn-1000 ruby valid`.
    fn title(&self) -> String;

    /// Measures a contestant.
    fn measure(&self, scorer: &Scorer<'_>, context: Context) -> Result<ProtocolNumbers>;
}

/// Settings of a measurement that every protocol is told.
#[derive(Debug, Clone, Copy)]
pub struct Context {
    /// Seed of bootstrap intervals and of shuffled ties.
    pub seed: Seed,
}

impl Context {
    /// The 95 % bootstrap interval over queries.
    pub fn interval(self, values: &[f64]) -> Interval {
        bootstrap_interval(values, 0.95, RESAMPLES, self.seed)
    }
}

/// Results of a protocol.
#[derive(Debug, Clone, Default)]
pub struct ProtocolNumbers {
    /// Its numbers, one for each metric, the main one first.
    pub scores: Vec<ProtocolScore>,
    /// Remarks that a reader of the numbers must know.
    pub warnings: Vec<String>,
    /// Counts for the page on duplicates and leaks.
    pub audit: Vec<AuditLine>,
}
