//! A stage in one plain line, for logs and pipes: while it runs, and when it is over.

use std::time::Duration;

use wb_core::quantities::duration;

use super::{
    stage::StageProgress,
    text::{cut, percent, rate},
};

/// A stage that is quiet for longer says so.
pub const QUIET: f64 = 20.0;

/// A stage that is under way.
pub fn running(stage: &StageProgress, now: Duration) -> String {
    let mut parts = vec![format!("{}after {}", counted(stage), duration((now - stage.since).as_secs_f64()))];
    parts.extend(stage.per_second().map(|per_second| rate(per_second, units(stage))));
    parts.extend(stage.seconds_left(now).map(|left| format!("ETA {}", duration(left))));
    parts.extend(of_training(stage));
    parts.extend(remark(stage, now));
    cut(&format!("{:<24} {}", stage.last.stage, parts.join(", ")), usize::MAX)
}

/// A stage that is over.
pub fn ended(stage: &StageProgress, now: Duration) -> String {
    let seconds = (now - stage.since).as_secs_f64();
    let mut parts = of_training(stage);
    parts.extend(stage.training().and(stage.per_second()).map(|per_second| rate(per_second, units(stage))));
    parts.extend((!stage.last.note.is_empty()).then(|| stage.last.note.clone()));
    let line = format!("{:<24} {:>8} in {seconds:.1} s  {}", stage.last.stage, stage.last.done, parts.join(", "));
    cut(&line, usize::MAX)
}

/// The word for what is counted per second.
pub fn units(stage: &StageProgress) -> &'static str {
    if stage.training().is_some() { " pairs" } else { "" }
}

/// The last remark, and how long ago the last report was where that is unusual.
pub fn remark(stage: &StageProgress, now: Duration) -> Option<String> {
    let quiet = Some(stage.unheard(now)).filter(|seconds| *seconds >= QUIET);
    let parts: Vec<String> = [
        Some(stage.last.note.clone()).filter(|note| !note.is_empty()),
        quiet.map(|seconds| format!("nothing new for {}", duration(seconds))),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The stage of the curriculum and the epoch, as far as they are known.
pub fn course(stage: &StageProgress) -> Option<String> {
    let training = stage.training()?;
    let of_curriculum = training.stage.as_ref().map(|now| format!("stage {} ({} of {})", now.name, now.number, now.of));
    let epoch = training.step.map(|step| format!("epoch {:.2} of {:.2}", step.epoch, training.epochs));
    let parts: Vec<String> = [of_curriculum, epoch].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn counted(stage: &StageProgress) -> String {
    match (stage.last.done, stage.last.total) {
        (0, 0) => String::new(),
        (done, 0) => format!("{done} "),
        (done, total) => format!("{done}/{total} ({}) ", percent(done, total)),
    }
}

fn of_training(stage: &StageProgress) -> Vec<String> {
    let Some(training) = stage.training() else { return Vec::new() };
    let loss = stage.memory.losses.smoothed().map(|loss| format!("loss {loss:.4}"));
    let learning_rate = training.step.map(|step| format!("learning rate {:.2e}", step.learning_rate));
    let validation = training.validation.map(|found| match found.mrr {
        Some(mrr) => format!("val MRR {mrr:.4} (best {:.4} at step {})", found.best, found.best_step),
        None => format!("best val MRR {:.4} at step {}", found.best, found.best_step),
    });
    [loss, learning_rate, validation, course(stage)].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use wb_core::Progress;

    use super::*;
    use crate::progress::stage::tests::{at, encoding, training};

    #[test]
    fn an_encoding_by_hand() {
        let mut stage = StageProgress::new(encoding(0), at(100.0), None);
        assert_eq!(running(&stage, at(101.0)), "encoding documents       0/5000 (0 %) after 1 s");
        stage.take(encoding(1200).note("long texts"), at(130.0));
        let line = "encoding documents       1200/5000 (24 %) after 30 s, 40/s, ETA 1 min 35 s, long texts";
        assert_eq!(running(&stage, at(130.0)), line);
        let line = "encoding documents       1200/5000 (24 %) after 1 min 0 s, 40/s, ETA 1 min 5 s, long texts, \
                    nothing new for 30 s";
        assert_eq!(running(&stage, at(160.0)), line);
        stage.take(encoding(5000), at(225.0));
        assert_eq!(ended(&stage, at(225.0)), "encoding documents           5000 in 125.0 s");
    }

    #[test]
    fn a_training_by_hand() {
        let mut stage = StageProgress::new(training(4000), at(0.0), None);
        let line = "training                 4000/5000 (80 %) after 2 s, best val MRR 0.6201 at step 3000";
        assert_eq!(running(&stage, at(2.0)), line);
        (4001..=4100).for_each(|step| stage.take(training(step), at((step - 4000) as f64 * 0.5)));
        stage.take(training(4100).note("validating, 128 of 512 texts"), at(51.0));
        let line = "training                 4100/5000 (82 %) after 51 s, 128 pairs/s, ETA 9 min 10 s, loss 0.5000, \
                    learning rate 2.00e-5, val MRR 0.6123 (best 0.6201 at step 3000), stage warm (1 of 3), \
                    epoch 4.10 of 5.00, validating, 128 of 512 texts";
        assert_eq!(running(&stage, at(51.0)), line);
        stage.take(training(4100), at(52.0));
        let line = "training                     4100 in 52.0 s  loss 0.5000, learning rate 2.00e-5, \
                    val MRR 0.6123 (best 0.6201 at step 3000), stage warm (1 of 3), epoch 4.10 of 5.00, 128 pairs/s";
        assert_eq!(ended(&stage, at(52.0)), line);
    }

    #[test]
    fn what_is_not_counted_has_no_count() {
        let mut stage = StageProgress::new(Progress::new("listing sources", 0, 0), at(0.0), None);
        assert_eq!(running(&stage, at(31.0)), "listing sources          after 31 s, nothing new for 31 s");
        stage.take(Progress::new("listing sources", 60, 0).note("a\nb"), at(32.0));
        assert_eq!(running(&stage, at(32.0)), "listing sources          60 after 32 s, 1.9/s, a b");
    }
}
