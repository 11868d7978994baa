//! One stage of the work under way: the last that was heard of it, and how fast it goes.

use std::time::Duration;

use wb_core::{Progress, progress::TrainingNow};

use super::{losses::Losses, pace::Pace};

/// A stage that is under way. Times are counted from the beginning of the command.
#[derive(Debug, Clone)]
pub struct StageProgress {
    /// The last report.
    pub last: Progress,
    /// The time of the first report.
    pub since: Duration,
    /// The time of the last report.
    pub heard: Duration,
    /// The trace of earlier reports.
    pub memory: StageMemory,
}

/// The trace of a stage's reports. That of a training outlives the stages between its steps, which mine negatives.
#[derive(Debug, Clone, Default)]
pub struct StageMemory {
    /// The time of the first report of all.
    pub began: Duration,
    /// The losses of its steps, where it trains.
    pub losses: Losses,
    done: Option<u64>,
    units: Pace,
    pairs: Pace,
}

impl StageProgress {
    /// A stage that begins with this report, and goes on from a memory, where there is one.
    pub fn new(first: Progress, now: Duration, memory: Option<StageMemory>) -> Self {
        let memory = memory.unwrap_or_else(|| StageMemory { began: now, ..StageMemory::default() });
        let mut stage = Self { last: first, since: now, heard: now, memory };
        stage.mark(now);
        stage
    }

    /// Takes the next report.
    pub fn take(&mut self, next: Progress, now: Duration) {
        self.last = next;
        self.heard = now;
        self.mark(now);
    }

    fn mark(&mut self, now: Duration) {
        let Progress { done, training, .. } = &self.last;
        let Some(training) = training else { return self.memory.units.mark(now.as_secs_f64(), *done) };
        // Its own clock stands still while it validates.
        self.memory.units.mark(training.seconds, *done);
        self.memory.pairs.mark(training.seconds, training.pairs);
        let is_next = self.memory.done.replace(*done).is_some_and(|before| *done > before);
        if let Some(step) = training.step.filter(|_| is_next) {
            self.memory.losses.push(step.loss);
        }
    }

    /// More of it, where it trains.
    pub fn training(&self) -> Option<&TrainingNow> {
        self.last.training.as_deref()
    }

    /// Units per second of the recent past: pairs of a training, what is counted of all else.
    pub fn per_second(&self) -> Option<f64> {
        match self.training() {
            Some(_) => self.memory.pairs.per_second(),
            None => self.memory.units.per_second(),
        }
    }

    /// Seconds that are left, if it goes on as in the recent past: `units left / units per second`, and what a training
    /// does beside its steps.
    pub fn seconds_left(&self, now: Duration) -> Option<f64> {
        let left = self.last.total.checked_sub(self.last.done).filter(|_| self.last.total > 0)?;
        let besides = self.training().map_or(0.0, |training| training.seconds_besides);
        if left == 0 {
            return Some(besides);
        }
        let from_last_report = left as f64 / self.memory.units.per_second()? + besides;
        Some((from_last_report - self.unheard(now)).max(0.0))
    }

    /// Seconds since the last report.
    pub fn unheard(&self, now: Duration) -> f64 {
        now.saturating_sub(self.heard).as_secs_f64()
    }
}

#[cfg(test)]
pub mod tests {
    use wb_core::progress::{StageNow, StepNow, ValidationNow};

    use super::*;

    pub fn at(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    pub fn encoding(done: usize) -> Progress {
        Progress::new("encoding documents", done, 5000)
    }

    /// A training of 64 pairs a step and two steps a second, which goes on after step 4000.
    pub fn training(step: usize) -> Progress {
        let steps = step as u64 - 4000;
        let now = TrainingNow {
            step: (steps > 0).then_some(StepNow { loss: 0.5, learning_rate: 2e-5, epoch: step as f64 / 1000.0 }),
            stage: (steps > 0).then(|| StageNow { name: "warm".into(), number: 1, of: 3 }),
            epochs: 5.0,
            validation: Some(ValidationNow { mrr: (steps > 0).then_some(0.6123), best: 0.6201, best_step: 3000 }),
            pairs: steps * 64,
            seconds: steps as f64 * 0.5,
            seconds_besides: 100.0,
        };
        Progress::new("training", step, 5000).training(now)
    }

    #[test]
    fn a_resumed_training_has_the_right_time_left() {
        let mut stage = StageProgress::new(training(4000), at(20.0), None);
        assert_eq!((stage.per_second(), stage.seconds_left(at(20.0))), (None, None));
        for step in 4001..=4100 {
            // It validates for a minute in between, which is no time of steps.
            let validated = if step > 4050 { 60.0 } else { 0.0 };
            stage.take(training(step), at(20.0 + (step - 4000) as f64 * 0.5 + validated));
        }
        assert_eq!(stage.per_second(), Some(128.0));
        // 900 steps in 450 s, and 100 s beside them.
        assert_eq!(stage.seconds_left(at(130.0)), Some(550.0));
        // Nothing is heard for a while.
        assert_eq!(stage.seconds_left(at(140.0)), Some(540.0));
        assert_eq!(stage.seconds_left(at(9000.0)), Some(0.0));
        assert_eq!(stage.memory.losses.smoothed(), Some(0.5));
    }

    #[test]
    fn reports_within_a_step_are_no_steps() {
        let mut stage = StageProgress::new(training(4000), at(0.0), None);
        stage.take(training(4001), at(0.5));
        (0..9).for_each(|_| stage.take(training(4001).note("validating"), at(0.6)));
        assert_eq!(stage.memory.losses.spark(10).chars().count(), 1);
    }

    #[test]
    fn nothing_is_left_of_what_has_no_end() {
        let mut stage = StageProgress::new(Progress::new("reading snippets", 0, 0), at(0.0), None);
        stage.take(Progress::new("reading snippets", 500, 0), at(5.0));
        assert_eq!((stage.per_second(), stage.seconds_left(at(5.0))), (Some(100.0), None));
        stage.take(encoding(5000), at(50.0));
        assert_eq!(stage.seconds_left(at(50.0)), Some(0.0));
    }
}
