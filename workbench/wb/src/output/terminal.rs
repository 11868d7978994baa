//! Lines at the bottom of a terminal that are drawn over and over, also while somebody resizes it.

use std::io::IsTerminal;

use terminal_size::{Height, Width, terminal_size_of};

use super::text::width;

/// Takes everything away from the cursor on.
const CLEAR_BELOW: &str = "\x1b[J";

/// Takes away what is left of a line.
const CLEAR_REST: &str = "\x1b[K";

/// Of a terminal that does not say.
const USUAL: (usize, usize) = (80, 24);

/// Whether standard error is a terminal that can be drawn on.
pub fn can_be_drawn_on() -> bool {
    // Systems where terminals have names give one to those that understand more than plain text.
    let named = match std::env::var_os("TERM") {
        Some(name) => !name.is_empty() && name != "dumb",
        None => !cfg!(unix),
    };
    named && std::io::stderr().is_terminal()
}

/// Columns and rows of standard error.
pub fn size() -> (usize, usize) {
    match terminal_size_of(std::io::stderr()) {
        Some((Width(columns), Height(rows))) if columns > 0 && rows > 0 => (columns.into(), rows.into()),
        _ => USUAL,
    }
}

/// Lines that stand on a terminal, with the cursor at the beginning of the line below them. It is never hidden, so that
/// it is there however the process ends.
#[derive(Debug, Default)]
pub struct Drawn {
    widths: Vec<usize>,
    lines: Vec<String>,
    columns: usize,
}

impl Drawn {
    /// What to write so that these lines stand in place of the last ones; nothing where they stand there.
    pub fn replace(&mut self, lines: Vec<String>, columns: usize) -> String {
        if lines.is_empty() {
            return self.clear(columns);
        }
        if lines == self.lines && columns == self.columns {
            return String::new();
        }
        let mut text = self.up(columns);
        for line in &lines {
            text += &format!("{line}{CLEAR_REST}\n");
        }
        text += CLEAR_BELOW;
        self.widths = lines.iter().map(|line| width(line)).collect();
        (self.lines, self.columns) = (lines, columns);
        text
    }

    /// What to write so that nothing stands there any more.
    pub fn clear(&mut self, columns: usize) -> String {
        if self.lines.is_empty() {
            return String::new();
        }
        let text = self.up(columns) + CLEAR_BELOW;
        *self = Self::default();
        text
    }

    /// To the beginning of the first line. A terminal that became narrower has broken the lines that were too long for it,
    /// so they take more rows than when they were drawn.
    fn up(&self, columns: usize) -> String {
        let rows: usize = self.widths.iter().map(|width| width.div_ceil(columns.max(1)).max(1)).sum();
        // What was typed, or the `^C` of a key, may stand before the cursor.
        if rows == 0 { "\r".to_owned() } else { format!("\r\x1b[{rows}A") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn lines_are_written_over() {
        let mut drawn = Drawn::default();
        assert_eq!(drawn.replace(lines(&[]), 80), "");
        assert_eq!(drawn.replace(lines(&["one", "two"]), 80), "\rone\x1b[K\ntwo\x1b[K\n\x1b[J");
        assert_eq!(drawn.replace(lines(&["one", "two"]), 80), "");
        assert_eq!(drawn.replace(lines(&["three"]), 80), "\r\x1b[2Athree\x1b[K\n\x1b[J");
        assert_eq!(drawn.clear(80), "\r\x1b[1A\x1b[J");
        assert_eq!(drawn.clear(80), "");
        assert_eq!(drawn.replace(lines(&["four"]), 80), "\rfour\x1b[K\n\x1b[J");
    }

    #[test]
    fn a_narrower_terminal_has_broken_the_lines() {
        let mut drawn = Drawn::default();
        let line = "x".repeat(70);
        drawn.replace(lines(&[&line, "", "short"]), 80);
        // 70 columns are two rows of 40; an empty line is one.
        assert!(drawn.replace(lines(&[&line, "", "short"]), 40).starts_with("\r\x1b[4A"));
        assert!(drawn.clear(20).starts_with("\r\x1b[6A"));
    }
}
