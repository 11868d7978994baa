//! Hard negatives that are mined again while training goes on, with the weights of the moment.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Error, Progress};

use super::config::Every;
use crate::{backbone::Backbone, error::Result};

/// Times at which hard negatives are mined again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct RefreshConfig {
    /// Distance between minings of hard negatives: `{ share: 0.25 }` of all steps, or `{ steps: 500 }`.
    pub every: Every,
    /// Mines hard negatives before the first step too; otherwise training begins with the negatives of the pairs.
    pub at_start: bool,
}

impl Default for RefreshConfig {
    fn default() -> Self {
        Self { every: Every::Share(0.25), at_start: false }
    }
}

impl RefreshConfig {
    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        self.every.validate(&format!("{key}.every"))
    }

    /// The step after which the negatives at hand after `step` steps were mined; none where they are those of the pairs.
    /// Negatives that are due after the last step are not mined.
    pub fn last(&self, step: u64, total: u64) -> Option<u64> {
        let every = self.every.steps(total);
        let last = step.min(total.saturating_sub(1)) / every * every;
        (last > 0 || self.at_start).then_some(last)
    }

    /// The first step after `step` after which negatives are mined, or the last step.
    pub fn next(&self, step: u64, total: u64) -> u64 {
        let every = self.every.steps(total);
        ((step / every + 1) * every).min(total)
    }
}

/// Hard negatives of all pairs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefreshedNegatives {
    /// The texts that are a negative of some pair.
    pub texts: Vec<String>,
    /// Positions in `texts` for each training pair, in order, the hardest first.
    pub negatives: Vec<Vec<u32>>,
}

impl RefreshedNegatives {
    /// Refuses what does not fit the pairs.
    pub fn check(&self, pairs: usize) -> wb_core::Result<()> {
        if self.negatives.len() != pairs {
            let message = format!("for {} pairs, expected {pairs}", self.negatives.len());
            return Err(Error::data("mined negatives", message));
        }
        let beyond = |negatives: &Vec<u32>| negatives.iter().any(|at| *at as usize >= self.texts.len());
        match self.negatives.iter().position(beyond) {
            Some(pair) => {
                let message = format!("a negative of pair {pair} stands beyond the {} texts", self.texts.len());
                Err(Error::data("mined negatives", message))
            }
            None => Ok(()),
        }
    }
}

/// Mines with a model as it is after so many steps. The same model and step must give the same negatives.
/// Nothing where it was stopped from outside; it is asked again after the resume.
pub type Refresh<'a> = dyn Fn(&dyn Backbone, u64, &mut dyn FnMut(Progress)) -> Result<Option<RefreshedNegatives>> + 'a;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_by_hand() {
        let refresh = |every, at_start| RefreshConfig { every, at_start };
        let hundred = refresh(Every::Steps(100), false);
        let last: Vec<Option<u64>> = [0, 99, 100, 250, 300].map(|step| hundred.last(step, 300)).into();
        assert_eq!(last, [None, None, Some(100), Some(200), Some(200)]);
        assert_eq!([0, 99, 100, 250, 299].map(|step| hundred.next(step, 300)), [100, 100, 200, 300, 300]);
        assert_eq!(refresh(Every::Steps(100), true).last(5, 300), Some(0));
        assert_eq!(refresh(Every::Share(0.25), false).next(0, 300), 75);
    }
}
