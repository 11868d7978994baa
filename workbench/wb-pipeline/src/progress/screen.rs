//! A stage as a terminal shows it: a few lines that fit its width, one of them for all but training.

use std::time::Duration;

use wb_core::quantities::duration;

use super::{
    lines::{course, remark, units},
    stage::StageProgress,
    text::{cut, percent, rate, width},
};

/// Columns of the words that begin the lines of a training.
const LABEL: usize = 8;

/// Stands for what is not known yet.
const UNKNOWN: &str = "-";

/// The longest line of small bars.
const SPARK: usize = 60;

/// The longest bar of a training.
const BAR: usize = 40;

/// A bar or a remark that would get fewer columns is left out.
const SHORTEST: usize = 8;

/// The lines of a stage, each at most `columns` wide.
pub fn block(stage: &StageProgress, now: Duration, columns: usize) -> Vec<String> {
    match stage.training() {
        Some(_) => of_training(stage, now, columns),
        None => vec![of_another(stage, now, columns)],
    }
}

fn of_another(stage: &StageProgress, now: Duration, columns: usize) -> String {
    let elapsed = duration((now - stage.since).as_secs_f64());
    let per_second = stage.per_second().map(|per_second| rate(per_second, units(stage)));
    let left = stage.seconds_left(now).map(|left| format!("ETA {}", duration(left)));
    let (done, total) = (stage.last.done, stage.last.total);
    let count = match (done, total) {
        (0, 0) => None,
        (done, 0) => Some(done.to_string()),
        (done, total) => Some(format!("{done}/{total}")),
    };
    // From all there is to what no terminal is too narrow for.
    for (columns_of_bar, with_rate, with_elapsed) in
        [(24, true, true), (10, true, true), (0, true, true), (0, false, true), (0, false, false)]
    {
        let name = format!("{:<1$}", stage.last.stage, if columns_of_bar > 0 { 24 } else { 0 });
        let parts = [
            Some(name),
            (columns_of_bar > 0 && total > 0).then(|| bar(done, total, columns_of_bar)),
            count.clone(),
            per_second.clone().filter(|_| with_rate),
            with_elapsed.then(|| elapsed.clone()),
            left.clone(),
        ];
        let line = parts.into_iter().flatten().collect::<Vec<String>>().join("  ");
        if width(&line) <= columns {
            return with_remark(line, remark(stage, now), columns);
        }
    }
    cut(&format!("{}  {}", stage.last.stage, count.unwrap_or_default()), columns)
}

fn of_training(stage: &StageProgress, now: Duration, columns: usize) -> Vec<String> {
    let Some(training) = stage.training() else { return Vec::new() };
    let (done, total) = (stage.last.done, stage.last.total);
    let room = columns.saturating_sub(LABEL + 1);
    // Of several ways to say a thing the first that fits.
    let row = |label: &str, ways: Vec<String>| {
        let way = ways.iter().find(|way| width(way) <= room).or(ways.last()).map_or(UNKNOWN, String::as_str);
        cut(&format!("{label:<LABEL$} {way}"), columns)
    };

    let count = format!("{done}/{total}  {}", percent(done, total));
    let bar = match room.saturating_sub(width(&count) + 2) {
        narrow if narrow < SHORTEST => None,
        enough => Some(format!("{}  {count}", bar(done, total, enough.min(BAR)))),
    };
    let loss = stage.memory.losses.smoothed().map(|loss| {
        let number = format!("{loss:.4}");
        let spark = stage.memory.losses.spark(room.saturating_sub(width(&number) + 2).min(SPARK));
        format!("{number}  {spark}")
    });
    let epoch = training.step.map(|step| format!("epoch {:.2}", step.epoch));
    let short = training.stage.as_ref().zip(epoch).map(|(stage, epoch)| format!("{}, {epoch}", stage.name));
    let validation = training.validation.map(|found| {
        let mrr = found.mrr.map_or_else(String::new, |mrr| format!("{mrr:.4}, "));
        let (best, step) = (found.best, found.best_step);
        vec![format!("{mrr}best {best:.4} at step {step}"), format!("{mrr}best {best:.4} at {step}")]
    });
    let per_second = stage.per_second().map(|per_second| rate(per_second, units(stage)));
    let learning_rate = training.step.map(|step| format!("learning rate {:.2e}", step.learning_rate));
    let both = per_second.iter().zip(&learning_rate).map(|(rate, learning_rate)| format!("{rate}, {learning_rate}"));
    let elapsed = duration((now - stage.memory.began).as_secs_f64());
    let left = stage.seconds_left(now).map_or_else(|| UNKNOWN.to_owned(), duration);
    let time = row("time", vec![format!("{elapsed}, ETA {left}")]);

    vec![
        row(stage.last.stage, bar.into_iter().chain([count]).collect()),
        row("course", course(stage).into_iter().chain(short).collect()),
        row("loss", loss.into_iter().collect()),
        row("val MRR", validation.unwrap_or_default()),
        row("rate", both.chain(per_second.clone()).collect()),
        with_remark(time, remark(stage, now), columns),
    ]
}

fn with_remark(line: String, remark: Option<String>, columns: usize) -> String {
    let room = columns.saturating_sub(width(&line) + 2);
    match remark {
        Some(remark) if room >= SHORTEST => cut(&format!("{line}  {remark}"), columns),
        _ => cut(&line, columns),
    }
}

/// A bar of so many columns, filled as far as the work is done; where it ends shows half a column.
fn bar(done: u64, total: u64, columns: usize) -> String {
    let halves =
        (u128::from(done.min(total)) * 2 * columns as u128).checked_div(u128::from(total)).unwrap_or(0) as usize;
    let filled = "━".repeat(halves / 2) + if halves % 2 == 1 { "╸" } else { "" };
    format!("{filled:<columns$}")
}

#[cfg(test)]
mod tests {
    use wb_core::Progress;

    use super::*;
    use crate::progress::stage::tests::{at, encoding, training};

    fn trained() -> StageProgress {
        let mut stage = StageProgress::new(training(4000), at(0.0), None);
        (4001..=4100).for_each(|step| stage.take(training(step), at((step - 4000) as f64 * 0.5)));
        stage
    }

    #[test]
    fn a_training_on_a_usual_terminal() {
        let expected = "\
training ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╸         4100/5000  82 %
course   stage warm (1 of 3), epoch 4.10 of 5.00
loss     0.5000  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
val MRR  0.6123, best 0.6201 at step 3000
rate     128 pairs/s, learning rate 2.00e-5
time     50 s, ETA 9 min 10 s";
        assert_eq!(block(&trained(), at(50.0), 79).join("\n"), expected);
    }

    #[test]
    fn a_training_on_a_narrow_terminal() {
        let mut stage = trained();
        stage.take(training(4100).note("validating, 128 of 512 texts"), at(51.0));
        let expected = "\
training ━━━━━━━━━━╸    4100/5000  82 %
course   warm, epoch 4.10
loss     0.5000  ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
val MRR  0.6123, best 0.6201 at 3000
rate     128 pairs/s
time     51 s, ETA 9 min 10 s  validat…";
        assert_eq!(block(&stage, at(51.0), 39).join("\n"), expected);
    }

    #[test]
    fn before_the_first_step() {
        let begun = Progress::new("training", 0, 500).training(Default::default());
        let lines = block(&StageProgress::new(begun, at(0.0), None), at(3.0), 79);
        assert_eq!(lines[2..], ["loss     -", "val MRR  -", "rate     -", "time     3 s, ETA -"]);
    }

    #[test]
    fn an_encoding_from_wide_to_narrow() {
        let mut stage = StageProgress::new(encoding(0), at(0.0), None);
        stage.take(encoding(1200).note("long texts"), at(30.0));
        let rows = [
            (
                119,
                "encoding documents        ━━━━━╸                    1200/5000  40/s  30 s  ETA 1 min 35 s  long texts",
            ),
            (79, "encoding documents        ━━          1200/5000  40/s  30 s  ETA 1 min 35 s"),
            (60, "encoding documents  1200/5000  40/s  30 s  ETA 1 min 35 s"),
            (50, "encoding documents  1200/5000  ETA 1 min 35 s"),
            (39, "encoding documents  1200/5000"),
            (20, "encoding documents…"),
            (1, "…"),
        ];
        for (columns, expected) in rows {
            assert_eq!(block(&stage, at(30.0), columns), [expected], "{columns} columns");
        }
    }

    #[test]
    fn no_line_is_ever_too_wide() {
        let mut stage = trained();
        stage.take(training(4101).note("a note with 漢字 that goes on and on"), at(52.0));
        let mut reading = StageProgress::new(Progress::new("reading pairs", 0, 0), at(0.0), None);
        reading.take(Progress::new("reading pairs", 123_456, 0).note("漢字.jsonl"), at(9.0));
        for columns in 0..140 {
            for line in block(&stage, at(90.0), columns).into_iter().chain(block(&reading, at(9.0), columns)) {
                assert!(width(&line) <= columns, "{line:?} in {columns}");
            }
        }
    }

    #[test]
    fn a_bar_by_hand() {
        assert_eq!(bar(0, 10, 5), "     ");
        assert_eq!(bar(3, 10, 5), "━╸   ");
        assert_eq!(bar(10, 10, 5), "━━━━━");
        assert_eq!(bar(12, 10, 5), "━━━━━");
    }
}
