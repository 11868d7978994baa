//! Texts of others, shown so that they do nothing.

/// A line without what a terminal would take for a command.
pub fn clean(line: &str) -> String {
    line.chars().map(|c| if c.is_control() && c != '\t' { '\u{fffd}' } else { c }).collect()
}
