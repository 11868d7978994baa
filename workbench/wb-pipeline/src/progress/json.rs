//! A stage in one line of JSON, for programs that read the logs of many machines.

use std::time::Duration;

use serde::Serialize;

use super::stage::StageProgress;

/// The facts of a process that each of its lines has.
#[derive(Debug, Clone, Copy)]
pub struct JsonLines {
    /// The shard at which it works.
    pub shard: u32,
    /// Its beginning.
    pub began: jiff::Timestamp,
}

#[derive(Serialize)]
struct JsonLine<'a> {
    time: String,
    shard: u32,
    stage: &'a str,
    over: bool,
    done: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    /// Seconds of this stage so far.
    seconds: f64,
    /// Units in a second of the recent past; pairs of a training.
    #[serde(skip_serializing_if = "Option::is_none")]
    per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds_left: Option<f64>,
    /// Seconds without a word of the work.
    silent_seconds: f64,
    #[serde(skip_serializing_if = "str::is_empty")]
    note: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    loss: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    learning_rate: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    best_mrr: Option<f64>,
}

impl JsonLines {
    /// Lines of a process that begins to work at a shard.
    pub fn of_shard(shard: u32) -> Self {
        Self { shard, began: jiff::Timestamp::now() }
    }

    /// A stage that is under way, or over.
    pub(super) fn line(&self, stage: &StageProgress, now: Duration, over: bool) -> String {
        let training = stage.training();
        let step = training.and_then(|training| training.step);
        let line = JsonLine {
            time: self.began.checked_add(now).unwrap_or(self.began).strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            shard: self.shard,
            stage: stage.last.stage,
            over,
            done: stage.last.done,
            total: Some(stage.last.total).filter(|total| *total > 0),
            seconds: tenths((now - stage.since).as_secs_f64()),
            per_second: stage.per_second().map(tenths),
            seconds_left: stage.seconds_left(now).filter(|_| !over).map(tenths),
            silent_seconds: tenths(stage.unheard(now)),
            note: &stage.last.note,
            loss: stage.memory.losses.smoothed(),
            learning_rate: step.map(|step| step.learning_rate),
            epoch: step.map(|step| step.epoch),
            best_mrr: training.and_then(|training| Some(training.validation?.best)),
        };
        serde_json::to_string(&line).unwrap_or_default()
    }
}

fn tenths(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::stage::tests::{at, encoding, training};

    #[test]
    fn lines_by_hand() {
        let lines = JsonLines { shard: 7, began: "2026-11-28T10:00:00Z".parse().unwrap() };
        let mut stage = StageProgress::new(encoding(0), at(0.0), None);
        stage.take(encoding(1200).note("long \"texts\""), at(30.0));
        let line = r#"{"time":"2026-11-28T10:01:00Z","shard":7,"stage":"encoding documents","over":false,"done":1200,"total":5000,"seconds":60.0,"per_second":40.0,"seconds_left":65.0,"silent_seconds":30.0,"note":"long \"texts\""}"#;
        assert_eq!(lines.line(&stage, at(60.0), false), line);
        stage.take(encoding(5000), at(125.0));
        let line = r#"{"time":"2026-11-28T10:02:05Z","shard":7,"stage":"encoding documents","over":true,"done":5000,"total":5000,"seconds":125.0,"per_second":40.0,"silent_seconds":0.0}"#;
        assert_eq!(lines.line(&stage, at(125.0), true), line);
    }

    #[test]
    fn a_training_by_hand() {
        let lines = JsonLines { shard: 0, began: "2026-11-28T10:00:00Z".parse().unwrap() };
        let mut stage = StageProgress::new(training(4000), at(0.0), None);
        stage.take(training(4001), at(0.5));
        let line = lines.line(&stage, at(0.5), false);
        assert!(line.contains(r#""loss":0.5,"learning_rate":0.00002,"epoch":4.001,"best_mrr":0.6201}"#), "{line}");
    }
}
