//! Ctrl-C: while training and while a language model is asked, the first one asks for an end that loses nothing, the
//! second one ends the process at once. Everywhere else the first one ends it: what is made there appears whole or not
//! at all, and is gone on with.

use std::sync::atomic::Ordering;

use anyhow::{Context, Result};
use wb_pipeline::{
    interrupt::{Doing, Interrupt},
    session,
};

/// Exit code of a process that was interrupted.
const INTERRUPTED: i32 = 130;

/// Listens for Ctrl-C from now on.
pub fn listen() -> Result<Interrupt> {
    let interrupt = Interrupt::default();
    let seen = interrupt.clone();
    ctrlc::set_handler(move || {
        if seen.flag().swap(true, Ordering::SeqCst) {
            crate::output::close();
            std::process::exit(INTERRUPTED);
        }
        match seen.doing() {
            Doing::Training => crate::output::note(
                "stopping, with a checkpoint of the last whole step; press Ctrl-C again to end at once",
            ),
            Doing::Asking => {
                crate::output::note("stopping; answers that came are kept; press Ctrl-C again to end at once")
            }
            Doing::Other => {
                crate::output::close();
                crate::output::note("stopped; the same command goes on from what is done");
                session::put_back_and_end(INTERRUPTED);
            }
        }
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(interrupt)
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
