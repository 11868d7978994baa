//! Hints of errors, and an error in one line.

/// An error with its causes and its hint in one line.
pub fn in_one_line(error: &anyhow::Error) -> String {
    match hint(error) {
        Some(hint) => format!("{error:#}; {hint}"),
        None => format!("{error:#}"),
    }
}

/// The hint of an error: the first in the chain of its causes.
pub fn hint(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(hint_of)
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
