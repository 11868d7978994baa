//! An error as the user sees it: what went wrong, why, and what helps.

use super::note;

/// An error with its causes and a hint.
pub fn error(error: &anyhow::Error) {
    note(format!("error: {error}"));
    let mut last = error.to_string();
    for cause in error.chain().skip(1) {
        let text = cause.to_string();
        // Errors of libraries may say the same thing again.
        if text != last {
            note(format!("  cause: {text}"));
            last = text;
        }
    }
    if let Some(hint) = wb_pipeline::output::hint(error) {
        note(format!("  hint: {hint}"));
    }
}
