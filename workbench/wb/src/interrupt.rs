//! Ctrl-C: the first one asks training to stop after a checkpoint, the second one ends the process at once.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use anyhow::{Context, Result};

/// A flag that the first Ctrl-C sets.
pub fn flag() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if seen.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        crate::output::note("stopping after this step, with a checkpoint; press Ctrl-C again to end at once");
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(stop)
}
