//! How the learning rate moves: up in a straight line, then constant, linear or cosine.

use serde::{Deserialize, Serialize};
use wb_core::{Error, Result};

/// The learning rate over the steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Decay {
    /// Share of all steps over which the rate rises.
    pub warmup: f64,
    /// Where the decay ends, as a share of the full rate.
    pub floor: f64,
}

/// Warm-up only.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Warmup {
    /// Share of all steps over which the rate rises.
    pub warmup: f64,
}

impl Default for ScheduleConfig {
    fn default() -> Self {
        Self::Cosine(Decay::default())
    }
}

impl Default for Decay {
    fn default() -> Self {
        Self { warmup: 0.1, floor: 0.0 }
    }
}

impl Default for Warmup {
    fn default() -> Self {
        Self { warmup: 0.1 }
    }
}

impl ScheduleConfig {
    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> Result<()> {
        let name = match self {
            Self::Cosine(_) => "cosine",
            Self::Linear(_) => "linear",
            Self::Constant(_) => "constant",
        };
        let share = |field: &str, value: f64| {
            if (0.0..=1.0).contains(&value) {
                return Ok(());
            }
            Err(Error::value(format!("{key}.{name}.{field}"), format!("got {value}, expected a share from 0 to 1")))
        };
        match self {
            Self::Cosine(decay) | Self::Linear(decay) => {
                share("warmup", decay.warmup).and_then(|()| share("floor", decay.floor))
            }
            Self::Constant(constant) => share("warmup", constant.warmup),
        }
    }

    /// What the learning rate is multiplied by at a step from 1 to `total`.
    ///
    /// With W = round(warmup·total): step/W up to step W; then with p = (step − 1 − W)/(total − W)
    /// 1, or 1 − p, or (1 + cos πp)/2, stretched from 1 down to the floor.
    /// Warm-up is one step ahead of transformers' schedules, whose first step has the rate 0 and teaches nothing.
    pub fn factor(&self, step: u64, total: u64) -> f64 {
        let (warmup, floor) = match self {
            Self::Cosine(decay) | Self::Linear(decay) => (decay.warmup, decay.floor),
            Self::Constant(constant) => (constant.warmup, 0.0),
        };
        let warmup = (warmup * total as f64).round() as u64;
        if step <= warmup {
            return step as f64 / warmup as f64;
        }
        let progress = (step - 1 - warmup) as f64 / (total - warmup).max(1) as f64;
        let shape = match self {
            Self::Cosine(_) => 0.5 * (1.0 + (std::f64::consts::PI * progress).cos()),
            Self::Linear(_) => 1.0 - progress,
            Self::Constant(_) => return 1.0,
        };
        floor + (1.0 - floor) * shape
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let decay = Decay { warmup: 0.2, floor: 0.0 };
        check(ScheduleConfig::Linear(decay), &[0.5, 1.0, 1.0, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125]);
        check(ScheduleConfig::Constant(Warmup { warmup: 0.2 }), &[0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        // Half a cosine in four steps: (1 + cos(0, π/4, π/2, 3π/4))/2, then squeezed between 1 and 0.2.
        let half = std::f64::consts::FRAC_1_SQRT_2 / 2.0;
        check(ScheduleConfig::Cosine(Decay { warmup: 0.0, floor: 0.0 }), &[1.0, 0.5 + half, 0.5, 0.5 - half]);
        check(
            ScheduleConfig::Cosine(Decay { warmup: 0.0, floor: 0.2 }),
            &[1.0, 0.6 + 0.8 * half, 0.6, 0.6 - 0.8 * half],
        );
        check(ScheduleConfig::Linear(Decay { warmup: 1.0, floor: 0.0 }), &[0.25, 0.5, 0.75, 1.0]);
        check(ScheduleConfig::default(), &[1.0]);
    }

    #[test]
    fn shares_beyond_one_are_refused() {
        let error = ScheduleConfig::Linear(Decay { warmup: 1.5, floor: 0.0 }).validate("train.schedule").unwrap_err();
        assert_eq!(error.to_string(), "train.schedule.linear.warmup: got 1.5, expected a share from 0 to 1");
    }
}
