//! Follows the stages of the work and decides when a line is said of them. It has no clock: it is told the time.

use std::time::Duration;

use wb_core::Progress;

use super::{
    json::JsonLines,
    lines::{ended, running},
    screen::block,
    stage::{StageMemory, StageProgress},
};

/// A stage that was quicker than this has no line of its own.
const WORTH_A_LINE: Duration = Duration::from_secs(1);

/// A stage that is quicker than this is not drawn.
const PATIENCE: Duration = Duration::from_millis(500);

/// The stage under way. Times are counted from the beginning of the command.
#[derive(Debug)]
pub struct StageWatch {
    every: Duration,
    said: Duration,
    stage: Option<StageProgress>,
    of_training: Option<StageMemory>,
    json: Option<JsonLines>,
}

impl StageWatch {
    /// Begins without a stage; once there is one, no longer than `every` is to go by without a line.
    pub fn new(every: Duration, now: Duration) -> Self {
        Self { every, said: now, stage: None, of_training: None, json: None }
    }

    /// Has the lines be JSON.
    pub fn in_json(mut self, lines: JsonLines) -> Self {
        self.json = Some(lines);
        self
    }

    /// Longest time without a line.
    pub fn every(&self) -> Duration {
        self.every
    }

    /// Takes a report of a library. Gives the line of the stage that it ends, if it took long enough for one.
    pub fn report(&mut self, progress: Progress, now: Duration) -> Option<String> {
        match &mut self.stage {
            Some(stage) if stage.last.stage == progress.stage => {
                stage.take(progress, now);
                None
            }
            _ => {
                let line = self.finish(now);
                let memory = progress.training.as_ref().and_then(|_| self.of_training.take());
                self.stage = Some(StageProgress::new(progress, now, memory));
                line
            }
        }
    }

    /// Ends the stage under way. Gives its line, if it took long enough for one.
    pub fn finish(&mut self, now: Duration) -> Option<String> {
        let stage = self.stage.take()?;
        let line = (now - stage.since > WORTH_A_LINE).then(|| self.line(&stage, now, true));
        if line.is_some() {
            self.said = now;
        }
        if stage.training().is_some() {
            self.of_training = Some(stage.memory);
        }
        line
    }

    /// The line of the stage under way, if it is time for one.
    pub fn line_if_due(&mut self, now: Duration) -> Option<String> {
        let stage = self.stage.as_ref().filter(|_| now.saturating_sub(self.said) >= self.every)?;
        self.said = now;
        Some(self.line(stage, now, false))
    }

    fn line(&self, stage: &StageProgress, now: Duration, over: bool) -> String {
        match (self.json, over) {
            (Some(lines), _) => lines.line(stage, now, over),
            (None, true) => ended(stage, now),
            (None, false) => running(stage, now),
        }
    }

    /// The lines that a terminal of so many columns and rows shows.
    pub fn block(&self, now: Duration, (columns, rows): (usize, usize)) -> Vec<String> {
        let Some(stage) = self.stage.as_ref().filter(|stage| now.saturating_sub(stage.since) >= PATIENCE) else {
            return Vec::new();
        };
        // The last column stays free: terminals differ in what they do after it. So does the last row, for the cursor.
        let mut lines = block(stage, now, columns.saturating_sub(1));
        lines.truncate(rows.saturating_sub(1));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::stage::tests::{at, encoding, training};

    /// The lines that are said when the clock is looked at every second.
    fn said(watch: &mut StageWatch, from: u32, to: u32) -> Vec<u32> {
        (from..to).filter(|second| watch.line_if_due(at(f64::from(*second))).is_some()).collect()
    }

    #[test]
    fn a_line_every_half_minute_also_where_nothing_is_reported() {
        let mut watch = StageWatch::new(at(30.0), at(0.0));
        assert_eq!(said(&mut watch, 0, 40), [0; 0], "there is nothing to tell of");
        assert_eq!(watch.report(encoding(0), at(40.0)), None);
        assert_eq!(said(&mut watch, 40, 140), [40, 70, 100, 130]);
        let line = watch.report(training(4000), at(140.0)).unwrap();
        assert!(line.starts_with("encoding documents ") && line.contains(" in 100.0 s"), "{line}");
        // The line of the end was one too.
        assert_eq!(said(&mut watch, 140, 200), [170]);
    }

    #[test]
    fn stages_that_take_turns_do_not_hide_behind_each_other() {
        let mut watch = StageWatch::new(at(30.0), at(0.0));
        let mut lines = Vec::new();
        for second in 0..100 {
            let now = f64::from(second);
            assert_eq!(watch.report(encoding(0), at(now)), None);
            assert_eq!(watch.report(Progress::new("ranking pairs", 0, 9), at(now + 0.5)), None);
            lines.extend(watch.line_if_due(at(now + 0.6)));
        }
        assert_eq!(lines.len(), 3, "{lines:#?}");
    }

    #[test]
    fn quick_stages_say_nothing() {
        let mut watch = StageWatch::new(at(30.0), at(0.0));
        watch.report(encoding(0), at(0.0));
        assert_eq!(watch.block(at(0.4), (80, 24)), [""; 0]);
        assert_eq!(watch.block(at(0.5), (80, 24)).len(), 1);
        assert_eq!(watch.finish(at(1.0)), None);
        assert_eq!(watch.finish(at(2.0)), None);
        watch.report(encoding(0), at(2.0));
        assert!(watch.finish(at(3.1)).is_some());
    }

    #[test]
    fn a_training_remembers_its_losses_while_negatives_are_mined() {
        let mut watch = StageWatch::new(at(30.0), at(0.0));
        watch.report(training(4000), at(0.0));
        (4001..=4010).for_each(|step| drop(watch.report(training(step), at((step - 4000) as f64 * 0.5))));
        watch.report(Progress::new("searching negatives", 0, 10), at(5.0));
        watch.report(training(4011), at(305.5));
        let lines = watch.block(at(306.5), (80, 24));
        assert_eq!(lines[2], "loss     0.5000  ▁▁▁▁▁▁▁▁▁▁▁");
        assert_eq!(lines[4], "rate     128 pairs/s, learning rate 2.00e-5");
        // 989 steps at two a second, 100 s beside them, one second of silence; since the very beginning.
        assert_eq!(lines[5], "time     5 min 7 s, ETA 9 min 54 s");
    }

    #[test]
    fn a_low_terminal_shows_the_first_lines() {
        let mut watch = StageWatch::new(at(30.0), at(0.0));
        watch.report(training(4000), at(0.0));
        assert_eq!(watch.block(at(1.0), (80, 4)).len(), 3);
        assert_eq!(watch.block(at(1.0), (80, 1)).len(), 0);
        assert_eq!(watch.block(at(1.0), (1, 24)).len(), 6);
    }
}
