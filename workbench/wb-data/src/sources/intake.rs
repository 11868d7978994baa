//! Records on their way in: the bad ones are refused or counted, up to a share that is tolerated.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Treatment of a file or record that is not what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnBad {
    /// The first one is an error with its place.
    #[default]
    Stop,
    /// Bad ones are counted by reason; too many of them are an error.
    Skip,
}

/// The share of bad records in a source that is an accident; more is the wrong file.
pub const MAX_BAD_SHARE: f64 = 0.01;

/// Treatment of bad records, and how many are too many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// Treatment of a bad record.
    pub on_bad: OnBad,
    /// The share of a source's records, from 0 to 1, that may be skipped.
    pub max_bad_share: f64,
}

impl From<OnBad> for Tolerance {
    fn from(on_bad: OnBad) -> Self {
        Self { on_bad, max_bad_share: MAX_BAD_SHARE }
    }
}

impl Tolerance {
    /// Refuses a share that is none; `key` is the config path of the section with `max_bad_share`.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        match (0.0..=1.0).contains(&self.max_bad_share) {
            true => Ok(()),
            false => {
                let message = format!("got {}, expected a share from 0 to 1", self.max_bad_share);
                Err(Error::value(format!("{key}.max_bad_share"), message))
            }
        }
    }
}

/// The account of what a source did not give.
#[derive(Debug)]
pub struct Intake {
    tolerance: Tolerance,
    /// Records with nothing wrong that the config leaves out, by reason.
    pub left_out: BTreeMap<String, u64>,
    /// Bad records by reason; none with `on_bad: stop`.
    pub bad: BTreeMap<String, u64>,
    /// The first bad record.
    pub first_bad: Option<Box<Error>>,
}

impl Intake {
    /// An account without an entry.
    pub fn new(tolerance: Tolerance) -> Self {
        Self { tolerance, left_out: BTreeMap::new(), bad: BTreeMap::new(), first_bad: None }
    }

    /// Counts records that the config leaves out.
    pub fn leave_out(&mut self, reason: impl Into<String>, count: u64) {
        if count > 0 {
            *self.left_out.entry(reason.into()).or_default() += count;
        }
    }

    /// Counts a bad record, or returns it as the error that it is. What is no record's fault (a file that cannot be
    /// read) is always an error.
    pub fn refuse(&mut self, error: Error) -> Result<()> {
        match (self.tolerance.on_bad, &error) {
            (OnBad::Skip, Error::Record { reason, .. }) => {
                *self.bad.entry((*reason).to_owned()).or_default() += 1;
                self.first_bad.get_or_insert_with(|| Box::new(error));
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// The account of a source with so many good records, or the error that too many were bad.
    pub fn finish(self, name: &str, good: u64) -> Result<Self> {
        let bad: u64 = self.bad.values().sum();
        let (of, share) = (bad + good, self.tolerance.max_bad_share);
        match self.first_bad {
            Some(first) if bad as f64 / of as f64 > share => {
                let reasons: Vec<String> =
                    self.bad.iter().map(|(reason, count)| format!("{reason}: {count}")).collect();
                let told = format!("{bad} of {of} are bad, more than `max_bad_share` {share} ({})", reasons.join(", "));
                Err(Error::data(name, told)
                    .with_cause(*first)
                    .with_hint("look at the first bad record; the file or the field names may be wrong"))
            }
            first_bad => Ok(Self { first_bad, ..self }),
        }
    }
}
