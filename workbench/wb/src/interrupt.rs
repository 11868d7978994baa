//! Ctrl-C: while training, the first one asks for a checkpoint and an end, the second one ends the process at once.
//! Everywhere else the first one ends it: what is made there appears whole or not at all, and is gone on with.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use anyhow::{Context, Result};

/// What a process that was interrupted ends with.
const INTERRUPTED: i32 = 130;

/// Listens for Ctrl-C.
pub struct Interrupt {
    stop: Arc<AtomicBool>,
    training: Arc<AtomicBool>,
}

impl Interrupt {
    /// From now on.
    pub fn listen() -> Result<Self> {
        let (stop, training) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (seen, trains) = (Arc::clone(&stop), Arc::clone(&training));
        ctrlc::set_handler(move || {
            if seen.swap(true, Ordering::SeqCst) {
                std::process::exit(INTERRUPTED);
            }
            if !trains.load(Ordering::SeqCst) {
                crate::output::note("stopped; the same command goes on from what is done");
                std::process::exit(INTERRUPTED);
            }
            crate::output::note("stopping after this step, with a checkpoint; press Ctrl-C again to end at once");
        })
        .context("cannot listen for Ctrl-C")?;
        Ok(Self { stop, training })
    }

    /// Does what looks at the flag and ends by itself once it is set.
    pub fn while_training<T>(&self, train: impl FnOnce(&AtomicBool) -> T) -> T {
        self.training.store(true, Ordering::SeqCst);
        let result = train(&self.stop);
        self.training.store(false, Ordering::SeqCst);
        result
    }
}
