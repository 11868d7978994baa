//! An error as the user sees it: what went wrong, why, and what helps.

use super::note;

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

/// An error with its causes and its hint in one line.
pub fn in_one_line(error: &anyhow::Error) -> String {
    match error.chain().find_map(hint_of) {
        Some(hint) => format!("{error:#}; {hint}"),
        None => format!("{error:#}"),
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
    if let Some(error) = cause.downcast_ref::<wb_bench::Error>() {
        return error.hint();
    }
    if let Some(error) = cause.downcast_ref::<wb_retrieval::Error>() {
        return error.hint();
    }
    if let Some(error) = cause.downcast_ref::<wb_sql::Error>() {
        return error.hint();
    }
    if let Some(error) = cause.downcast_ref::<wb_text2sql::Error>() {
        return error.hint();
    }
    #[cfg(feature = "report")]
    if let Some(error) = cause.downcast_ref::<wb_report::Error>() {
        return error.hint();
    }
    None
}
