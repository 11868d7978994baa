//! The terminal behind standard error: whether it can be drawn on, and its size.

use std::io::IsTerminal;

use terminal_size::{Height, Width, terminal_size_of};

/// Columns and rows of a terminal that does not say.
const USUAL: (usize, usize) = (80, 24);

/// True where standard error is a terminal that can be drawn on.
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
