//! Ctrl-C: while training and while a language model is asked, the first one asks for an end that loses nothing, the
//! second one ends the process at once. Everywhere else the first one ends it: what is made there appears whole or not
//! at all, and is gone on with.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU8, Ordering},
};

use anyhow::{Context, Result};

/// What a process that was interrupted ends with.
const INTERRUPTED: i32 = 130;

/// What is being done, and ends by itself once the flag is set.
const NOTHING: u8 = 0;
const TRAINING: u8 = 1;
const ASKING: u8 = 2;

/// Listens for Ctrl-C.
pub struct Interrupt {
    stop: Arc<AtomicBool>,
    doing: Arc<AtomicU8>,
}

impl Interrupt {
    /// From now on.
    pub fn listen() -> Result<Self> {
        let (stop, doing) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU8::new(NOTHING)));
        let (seen, done) = (Arc::clone(&stop), Arc::clone(&doing));
        ctrlc::set_handler(move || {
            if seen.swap(true, Ordering::SeqCst) {
                crate::output::close();
                std::process::exit(INTERRUPTED);
            }
            match done.load(Ordering::SeqCst) {
                TRAINING => crate::output::note(
                    "stopping, with a checkpoint of the last whole step; press Ctrl-C again to end at once",
                ),
                ASKING => {
                    crate::output::note("stopping; answers that came are kept; press Ctrl-C again to end at once")
                }
                _ => {
                    crate::output::close();
                    crate::output::note("stopped; the same command goes on from what is done");
                    std::process::exit(INTERRUPTED);
                }
            }
        })
        .context("cannot listen for Ctrl-C")?;
        Ok(Self { stop, doing })
    }

    /// What is set by the first Ctrl-C.
    pub fn flag(&self) -> &Arc<AtomicBool> {
        &self.stop
    }

    /// Does what looks at the flag and ends by itself once it is set.
    pub fn while_training<T>(&self, train: impl FnOnce() -> T) -> T {
        self.during(TRAINING, train)
    }

    /// The same for what asks a language model, from threads of its own.
    pub fn while_asking<T>(&self, ask: impl FnOnce(Arc<AtomicBool>) -> T) -> T {
        self.during(ASKING, || ask(Arc::clone(&self.stop)))
    }

    fn during<T>(&self, doing: u8, work: impl FnOnce() -> T) -> T {
        self.doing.store(doing, Ordering::SeqCst);
        let result = work();
        self.doing.store(NOTHING, Ordering::SeqCst);
        result
    }
}

/// From now on, Ctrl-C ends the process at once: for what is quick and keeps nothing on the way.
pub fn ends_at_once() -> Result<()> {
    ctrlc::set_handler(|| {
        crate::output::close();
        crate::output::note("stopped; nothing was written");
        std::process::exit(INTERRUPTED);
    })
    .context("cannot listen for Ctrl-C")
}
