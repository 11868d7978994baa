//! Lines at the bottom of a terminal that are drawn over and over, also while somebody resizes it.

use super::width;

/// Takes everything away from the cursor on.
const CLEAR_BELOW: &str = "\x1b[J";

/// Takes a whole line away.
const CLEAR_LINE: &str = "\x1b[2K";

/// Moves to the line above.
const UP: &str = "\x1b[A";

/// Number of times that the same width has to be seen again.
const LOOKS: u32 = 2;

/// Waits until a terminal that is being resized has the same width for a while. Terminals within terminals tell their
/// width a quarter of a second late, and what is drawn for another one breaks.
#[derive(Debug)]
pub struct Steady {
    columns: usize,
    looks: u32,
}

impl Steady {
    /// A terminal that is not being resized.
    pub fn new(columns: usize) -> Self {
        Self { columns, looks: LOOKS }
    }

    /// Takes the width of now. Says whether it can be drawn for.
    pub fn look(&mut self, columns: usize) -> bool {
        self.looks = if columns == self.columns { self.looks.saturating_add(1) } else { 0 };
        self.columns = columns;
        self.looks >= LOOKS
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
    /// The text to write so that these lines stand in place of the last ones; empty where they stand there.
    pub fn replace(&mut self, lines: Vec<String>, columns: usize) -> String {
        if lines.is_empty() {
            return self.clear(columns);
        }
        if lines == self.lines && columns == self.columns {
            return String::new();
        }
        let mut text = self.up(columns);
        for line in &lines {
            // Rows over which a line was broken stay tied together where they are only written over, and are joined
            // again when the terminal becomes wider. So each is cleared as a whole.
            text += &format!("{CLEAR_LINE}{line}\n");
        }
        text += CLEAR_BELOW;
        self.widths = lines.iter().map(|line| width(line)).collect();
        (self.lines, self.columns) = (lines, columns);
        text
    }

    /// The text to write so that nothing stands there any more.
    pub fn clear(&mut self, columns: usize) -> String {
        if self.lines.is_empty() {
            return String::new();
        }
        // Not all of it at once: a terminal that is to clear everything keeps a copy of what was there.
        let text = format!("{}{CLEAR_LINE}\n{CLEAR_BELOW}{UP}", self.up(columns));
        *self = Self::default();
        text
    }

    /// Moves to the beginning of the first line. A terminal that became narrower has broken the lines that were too
    /// long for it, so they take more rows than when they were drawn.
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
        assert_eq!(drawn.replace(lines(&["one", "two"]), 80), "\r\x1b[2Kone\n\x1b[2Ktwo\n\x1b[J");
        assert_eq!(drawn.replace(lines(&["one", "two"]), 80), "");
        assert_eq!(drawn.replace(lines(&["three"]), 80), "\r\x1b[2A\x1b[2Kthree\n\x1b[J");
        assert_eq!(drawn.clear(80), "\r\x1b[1A\x1b[2K\n\x1b[J\x1b[A");
        assert_eq!(drawn.clear(80), "");
        assert_eq!(drawn.replace(lines(&["four"]), 80), "\r\x1b[2Kfour\n\x1b[J");
    }

    #[test]
    fn nothing_is_drawn_while_the_width_changes() {
        let mut steady = Steady::new(80);
        let drawn: Vec<bool> = [80, 60, 40, 40, 40, 40, 41, 40].map(|columns| steady.look(columns)).into();
        assert_eq!(drawn, [true, false, false, false, true, true, false, false]);
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
