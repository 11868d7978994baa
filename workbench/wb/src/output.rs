//! The only place that prints: results, errors with hints, progress bars.

use std::{
    io::{IsTerminal, Write, stderr, stdin, stdout},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use wb_core::Progress;

/// A line of result.
pub fn line(text: impl AsRef<str>) {
    // Where nobody reads any more (`wb ls | head`), there is nobody to tell.
    let _ = writeln!(stdout(), "{}", text.as_ref());
}

/// A remark that is no result.
pub fn note(text: impl AsRef<str>) {
    let _ = writeln!(stderr(), "{}", text.as_ref());
}

/// Whether a person can be asked: what they type and what they are asked are on a terminal.
pub fn can_ask() -> bool {
    stdin().is_terminal() && stderr().is_terminal()
}

/// Where questions to a person are written.
pub fn questions() -> impl Write {
    stderr()
}

/// An error with its causes and its hint in one line.
pub fn in_one_line(error: &anyhow::Error) -> String {
    match error.chain().find_map(hint_of) {
        Some(hint) => format!("{error:#}; {hint}"),
        None => format!("{error:#}"),
    }
}

/// An error with its causes and a hint.
pub fn error(error: &anyhow::Error) {
    note(format!("error: {error}"));
    let mut last = error.to_string();
    for cause in error.chain().skip(1) {
        let text = cause.to_string();
        // Transparent wrappers say the same thing again.
        if text != last {
            note(format!("  cause: {text}"));
            last = text;
        }
    }
    if let Some(hint) = error.chain().find_map(hint_of) {
        note(format!("  hint: {hint}"));
    }
}

fn hint_of(cause: &(dyn std::error::Error + 'static)) -> Option<String> {
    if let Some(error) = cause.downcast_ref::<wb_core::Error>() {
        return error.hint().map(str::to_owned);
    }
    if let Some(error) = cause.downcast_ref::<wb_hub::Error>() {
        return error.hint();
    }
    if let Some(error) = cause.downcast_ref::<wb_encoder::Error>() {
        return error.hint().map(str::to_owned);
    }
    if let Some(error) = cause.downcast_ref::<wb_data::Error>() {
        return error.hint();
    }
    if let Some(error) = cause.downcast_ref::<wb_code::Error>() {
        return error.hint();
    }
    if let Some(error) = cause.downcast_ref::<wb_synth::Error>() {
        return error.hint();
    }
    if let Some(error) = cause.downcast_ref::<wb_synth::snippets::Error>() {
        return error.hint();
    }
    if let Some(error) = cause.downcast_ref::<wb_bench::Error>() {
        return error.hint();
    }
    if let Some(error) = cause.downcast_ref::<wb_retrieval::Error>() {
        return error.hint();
    }
    #[cfg(feature = "report")]
    if let Some(error) = cause.downcast_ref::<wb_report::Error>() {
        return error.hint();
    }
    None
}

/// A table with aligned columns: words to the left, numbers to the right.
pub fn table(header: &[&str], rows: &[Vec<String>]) {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([header[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let begins_with_a_letter = |cell: &String| cell.starts_with(char::is_alphabetic);
    let is_words = |at: usize| at == 0 || rows.iter().filter_map(|row| row.get(at)).any(begins_with_a_letter);
    let print = |cells: Vec<&str>| {
        let line: Vec<String> = cells
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(at, (cell, width))| if is_words(at) { format!("{cell:<width$}") } else { format!("{cell:>width$}") })
            .collect();
        self::line(line.join("  ").trim_end());
    };
    print(header.to_vec());
    for row in rows {
        print(row.iter().map(String::as_str).collect());
    }
}

/// Progress of stages, drawn on a terminal; elsewhere one line when a stage that took more than a second ends.
pub struct Bars {
    terminal: bool,
    current: Option<Stage>,
}

struct Stage {
    name: &'static str,
    bar: ProgressBar,
    since: Instant,
    last: Progress,
}

/// Bars appear after this: what is quicker needs none.
const PATIENCE: Duration = Duration::from_millis(500);

impl Bars {
    /// None drawn yet.
    pub fn new() -> Self {
        Self { terminal: std::io::stderr().is_terminal(), current: None }
    }

    /// Takes a report of a library.
    pub fn report(&mut self, progress: Progress) {
        if self.current.as_ref().is_none_or(|stage| stage.name != progress.stage) {
            self.finish();
            let bar = ProgressBar::with_draw_target(Some(progress.total), ProgressDrawTarget::hidden());
            self.current = Some(Stage { name: progress.stage, bar, since: Instant::now(), last: progress.clone() });
        }
        let terminal = self.terminal;
        let Some(stage) = &mut self.current else { return };
        if terminal && stage.bar.is_hidden() && stage.since.elapsed() > PATIENCE {
            stage.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            stage.bar.set_prefix(stage.name);
        }
        if !stage.bar.is_hidden() {
            let template = match progress.total {
                0 => "{prefix:<24} {pos:>8}  {elapsed:>4}  {wide_msg}",
                _ => "{prefix:<24} {bar:24} {pos:>7}/{len} {elapsed:>4} eta {eta:>4}  {wide_msg}",
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                stage.bar.set_style(style.progress_chars("━╸ "));
            }
            stage.bar.set_length(progress.total);
            stage.bar.set_position(progress.done);
            stage.bar.set_message(progress.note.clone());
        }
        stage.last = progress;
    }

    /// Ends the current stage.
    pub fn finish(&mut self) {
        let Some(stage) = self.current.take() else { return };
        let seconds = stage.since.elapsed();
        stage.bar.finish_and_clear();
        if seconds > Duration::from_secs(1) {
            let Progress { done, note, .. } = stage.last;
            self::note(format!("{:<24} {done:>8} in {:.1} s  {note}", stage.name, seconds.as_secs_f64()));
        }
    }
}

impl Drop for Bars {
    fn drop(&mut self) {
        self.finish();
    }
}
