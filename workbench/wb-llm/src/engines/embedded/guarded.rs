//! The boundary to the code of others, which may panic on what a file says.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs it; what it panics with becomes an error.
pub fn guarded<T>(f: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        Err(panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()))
            .unwrap_or_else(|| "it failed without a word".into()))
    })
}
