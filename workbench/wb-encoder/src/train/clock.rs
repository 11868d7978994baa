//! The time that the parts of a training take, and the time that those will take which are no steps.

use std::time::Instant;

use super::config::TrainConfig;

/// Seconds of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Clock {
    /// All steps so far.
    pub steps: f64,
    /// The last validation with its checkpoint.
    pub validation: f64,
    /// The last mining of hard negatives.
    pub mining: f64,
}

impl Clock {
    /// Seconds that validations and mining after `step` will take, if each takes as long as the last one.
    pub fn besides(&self, config: &TrainConfig, step: u64, total: u64) -> f64 {
        let every = config.validate.every.steps(total);
        // The last step is validated too, wherever it stands.
        let validations = due(every, step, total) + u64::from(step < total && !total.is_multiple_of(every));
        let minings =
            config.refresh.map_or(0, |refresh| due(refresh.every.steps(total), step, total.saturating_sub(1)));
        validations as f64 * self.validation + minings as f64 * self.mining
    }
}

/// Seconds since a moment.
pub fn seconds_since(started: Instant) -> f64 {
    started.elapsed().as_secs_f64()
}

/// Number of multiples of `every` that come after `step`, up to `last`.
fn due(every: u64, step: u64, last: u64) -> u64 {
    (last / every).saturating_sub(step / every)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::{config::Every, refresh::RefreshConfig};

    #[test]
    fn what_is_still_to_come_by_hand() {
        let mut config = TrainConfig::default();
        config.validate.every = Every::Steps(40);
        let clock = Clock { steps: 1000.0, validation: 10.0, mining: 1.0 };
        // After steps 40, 80 and 100.
        assert_eq!(clock.besides(&config, 0, 100), 30.0);
        assert_eq!(clock.besides(&config, 39, 100), 30.0);
        assert_eq!(clock.besides(&config, 40, 100), 20.0);
        assert_eq!(clock.besides(&config, 99, 100), 10.0);
        assert_eq!(clock.besides(&config, 100, 100), 0.0);
        // The last step is a multiple, and is validated once.
        assert_eq!(clock.besides(&config, 0, 80), 20.0);
        // Mined after steps 25, 50 and 75, and not after the last one.
        config.refresh = Some(RefreshConfig { every: Every::Steps(25), at_start: true });
        assert_eq!(clock.besides(&config, 0, 100), 33.0);
        assert_eq!(clock.besides(&config, 50, 100), 21.0);
        assert_eq!(clock.besides(&config, 99, 100), 10.0);
    }
}
