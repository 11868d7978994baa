//! The runtime that the transports run on, and its end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::runtime::{Builder, Runtime};
use wb_core::{Error, Result};

/// Time between two looks at the flag.
const LOOK: Duration = Duration::from_millis(100);
/// Wait for what is at work when a server ends.
const GRACE: Duration = Duration::from_secs(2);
/// Stack of a thread: code that is nested deeply is read on it.
pub(crate) const STACK: usize = 16 << 20;

/// A flag that ends a server once it is set.
pub type StopFlag = Arc<AtomicBool>;

/// Runs a server until it ends by itself or the flag is set.
pub(crate) fn run<T>(stop: &StopFlag, server: impl Future<Output = Result<T>>) -> Result<Option<T>> {
    let started = Builder::new_multi_thread().worker_threads(2).thread_stack_size(STACK).enable_all().build();
    let runtime: Runtime = started.map_err(|error| Error::failed(format!("the server has no threads: {error}")))?;
    let ended = runtime.block_on(async {
        tokio::select! {
            ended = server => ended.map(Some),
            () = stopped(stop) => Ok(None),
        }
    });
    // A thread that reads standard input cannot be called back.
    runtime.shutdown_timeout(GRACE.min(LOOK));
    ended
}

/// Waits until the flag is set.
pub(crate) async fn stopped(stop: &StopFlag) {
    while !stop.load(Ordering::SeqCst) {
        tokio::time::sleep(LOOK).await;
    }
}
