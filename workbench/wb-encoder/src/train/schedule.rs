//! The schedule of the learning rate: up in a straight line, then constant, linear or cosine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Error, Result};

use crate::error::expect_value;

/// The learning rate over the steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScheduleConfig {
    /// After warm-up half a cosine down to the floor.
    Cosine(Decay),
    /// After warm-up a straight line down to the floor.
    Linear(Decay),
    /// After warm-up always the full rate.
    Constant(Warmup),
}

/// Warm-up, then decay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Decay {
    /// Share of all steps over which the rate rises in a straight line. Where `warmup_steps` is not given either, 0.1.
    pub warmup: Option<f64>,
    /// Steps over which the rate rises, another way to give `warmup`. Both are an error; `wb check` tells where
    /// training is not longer than its warm-up.
    pub warmup_steps: Option<u64>,
    /// End of the decay, as a share of the full rate.
    pub floor: f64,
}

/// Warm-up only.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Warmup {
    /// Share of all steps over which the rate rises in a straight line. Where `warmup_steps` is not given either, 0.1.
    pub warmup: Option<f64>,
    /// Steps over which the rate rises, another way to give `warmup`. Both are an error; `wb check` tells where
    /// training is not longer than its warm-up.
    pub warmup_steps: Option<u64>,
}

/// The share of all steps over which the rate rises where nothing is said.
const WARMUP: f64 = 0.1;

impl Default for ScheduleConfig {
    fn default() -> Self {
        Self::Cosine(Decay::default())
    }
}

impl ScheduleConfig {
    /// Its name in YAML.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Cosine(_) => "cosine",
            Self::Linear(_) => "linear",
            Self::Constant(_) => "constant",
        }
    }

    fn warmup(&self) -> Warmup {
        match *self {
            Self::Cosine(Decay { warmup, warmup_steps, .. }) | Self::Linear(Decay { warmup, warmup_steps, .. }) => {
                Warmup { warmup, warmup_steps }
            }
            Self::Constant(warmup) => warmup,
        }
    }

    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> Result<()> {
        let name = self.name();
        let share = |field: &str, value: f64| {
            let fine = (0.0..=1.0).contains(&value);
            let steps = (field == "warmup" && value > 1.0).then(|| value.round());
            expect_value(format!("{key}.{name}.{field}"), value, fine, "a share from 0 to 1").map_err(|error| {
                error.with_hint_if(steps.map(|steps| format!("for a number of steps: warmup_steps: {steps}")))
            })
        };
        let Warmup { warmup, warmup_steps } = self.warmup();
        share("warmup", warmup.unwrap_or(WARMUP))?;
        if let (Some(of_all), Some(steps)) = (warmup, warmup_steps) {
            let message = format!("warm-up stands here twice: as {steps} steps, and as the share {of_all} (`warmup`)");
            return Err(Error::value(format!("{key}.{name}.warmup_steps"), message).with_hint(format!(
                "keep one of `warmup: {of_all}` and `warmup_steps: {steps}`; `warmup=null` takes the share out"
            )));
        }
        match self {
            Self::Cosine(decay) | Self::Linear(decay) => share("floor", decay.floor),
            Self::Constant(_) => Ok(()),
        }
    }

    /// Number of steps, of `total`, in which the rate rises; more than those where more were asked for.
    pub fn warmup_steps(&self, total: u64) -> u64 {
        let Warmup { warmup, warmup_steps } = self.warmup();
        warmup_steps.unwrap_or_else(|| (warmup.unwrap_or(WARMUP) * total as f64).round() as u64)
    }

    /// Factor of the learning rate at a step from 1 to `total`.
    ///
    /// With W steps of warm-up: step/W up to step W; then with p = (step − 1 − W)/(total − W)
    /// 1, or 1 − p, or (1 + cos πp)/2, stretched from 1 down to the floor.
    /// Warm-up is one step ahead of transformers' schedules, whose first step has the rate 0 and teaches nothing.
    /// As there, a warm-up that is longer than training ends before the full rate.
    pub fn factor(&self, step: u64, total: u64) -> f64 {
        let warmup = self.warmup_steps(total);
        if step <= warmup {
            return step as f64 / warmup as f64;
        }
        let progress = (step - 1 - warmup) as f64 / (total - warmup).max(1) as f64;
        let (floor, shape) = match self {
            Self::Cosine(decay) => (decay.floor, 0.5 * (1.0 + (std::f64::consts::PI * progress).cos())),
            Self::Linear(decay) => (decay.floor, 1.0 - progress),
            Self::Constant(_) => return 1.0,
        };
        floor + (1.0 - floor) * shape
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(warmup: f64, floor: f64) -> Decay {
        Decay { warmup: Some(warmup), floor, ..Decay::default() }
    }

    fn steps(warmup: u64) -> Decay {
        Decay { warmup_steps: Some(warmup), ..Decay::default() }
    }

    fn check(schedule: ScheduleConfig, expected: &[f64]) {
        let total = expected.len() as u64;
        let found: Vec<f64> = (1..=total).map(|step| schedule.factor(step, total)).collect();
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{schedule:?}: {found} is not {expected}");
        }
    }

    #[test]
    fn values_by_hand() {
        // 10 steps, 2 of warm-up, then p = 0/8, 1/8, ..., 7/8.
        let decay = share(0.2, 0.0);
        check(ScheduleConfig::Linear(decay), &[0.5, 1.0, 1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125]);
        check(
            ScheduleConfig::Constant(Warmup { warmup: Some(0.2), ..Warmup::default() }),
            &[0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        );
        // Half a cosine in four steps: (1 + cos(0, π/4, π/2, 3π/4))/2, then squeezed between 1 and 0.2.
        let half = std::f64::consts::FRAC_1_SQRT_2 / 2.0;
        check(ScheduleConfig::Cosine(share(0.0, 0.0)), &[1.0, 0.5 + half, 0.5, 0.5 - half]);
        check(ScheduleConfig::Cosine(share(0.0, 0.2)), &[1.0, 0.6 + 0.8 * half, 0.6, 0.6 - 0.8 * half]);
        check(ScheduleConfig::Linear(share(1.0, 0.0)), &[0.25, 0.5, 0.75, 1.0]);
        check(ScheduleConfig::default(), &[1.0]);
        // A tenth of ten steps where nothing is said.
        check(ScheduleConfig::Constant(Warmup::default()), &[1.0; 10]);
        assert_eq!(
            (ScheduleConfig::default().warmup_steps(30), ScheduleConfig::default().factor(1, 30)),
            (3, 1.0 / 3.0)
        );
    }

    #[test]
    fn warm_up_in_steps() {
        // The same as the share of 2 in 10, and 2 steps also of 4.
        for total in [10, 4] {
            for step in 1..=total {
                let of_all = ScheduleConfig::Linear(share(2.0 / total as f64, 0.0)).factor(step, total);
                assert_eq!(ScheduleConfig::Linear(steps(2)).factor(step, total), of_all);
            }
        }
        check(ScheduleConfig::Cosine(steps(0)), &[1.0, 0.5]);
        // Longer than training: still rising at the end.
        check(ScheduleConfig::Cosine(steps(8)), &[0.125, 0.25, 0.375]);
        let read: ScheduleConfig = serde_json::from_str(r#"{"cosine": {"warmup_steps": 5000}}"#).unwrap();
        assert_eq!(read, ScheduleConfig::Cosine(steps(5000)));
        read.validate("train.schedule").unwrap();
        let both: ScheduleConfig = serde_json::from_str(r#"{"constant": {"warmup": 0.1, "warmup_steps": 9}}"#).unwrap();
        assert_eq!(
            both.validate("train.schedule").unwrap_err().to_string(),
            "train.schedule.constant.warmup_steps: warm-up stands here twice: as 9 steps, and as the share 0.1 (`warmup`)"
        );
    }

    #[test]
    fn shares_beyond_one_are_refused() {
        let error = ScheduleConfig::Linear(share(1.5, 0.0)).validate("train.schedule").unwrap_err();
        assert_eq!(error.to_string(), "train.schedule.linear.warmup: got 1.5, expected a share from 0 to 1");
        let error = ScheduleConfig::Linear(share(5000.0, 0.0)).validate("train.schedule").unwrap_err();
        assert_eq!(error.hint().unwrap(), "for a number of steps: warmup_steps: 5000");
    }
}
