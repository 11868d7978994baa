//! Work spread over workers: as many as wanted, each with a thread of the parent, results in the order of the work.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use super::{Error, Result, Seat, StatementLimits, WorkerCommand};

/// Command that starts workers, their number, and what their statements may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerPool {
    command: WorkerCommand,
    limits: StatementLimits,
    workers: usize,
}

impl WorkerPool {
    /// A pool of up to `workers` workers; they are started when there is work.
    pub fn new(command: WorkerCommand, limits: StatementLimits, workers: usize) -> WorkerPool {
        WorkerPool { command, limits, workers: workers.max(1) }
    }

    /// The bounds of a statement.
    pub fn limits(&self) -> &StatementLimits {
        &self.limits
    }

    /// Number of workers at most.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// A single seat, for one statement after the other.
    pub fn seat(&self) -> Seat<'_> {
        Seat::new(&self.command, &self.limits)
    }

    /// Does `work` for every item, `state` being kept from item to item of a seat, and returns the answers in order.
    /// `done` is told how many are finished.
    ///
    /// # Errors
    ///
    /// The first that work returns; the rest is not begun then.
    pub fn each<T: Sync, S: Default, A: Send>(
        &self,
        items: &[T],
        work: impl Fn(&mut Seat<'_>, &mut S, &T) -> Result<A> + Sync,
        done: &mut (dyn FnMut(usize) + Send),
    ) -> Result<Vec<A>> {
        let (next, answers) = (AtomicUsize::new(0), Mutex::new((0..items.len()).map(|_| None).collect::<Vec<_>>()));
        let (finished, done) = (AtomicUsize::new(0), Mutex::new(done));
        let run = || -> Result<()> {
            let (mut seat, mut state) = (self.seat(), S::default());
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(item) = items.get(at) else { return Ok(()) };
                let answer =
                    work(&mut seat, &mut state, item).inspect_err(|_| next.store(items.len(), Ordering::Relaxed))?;
                if let Ok(mut answers) = answers.lock() {
                    answers[at] = Some(answer);
                }
                let count = finished.fetch_add(1, Ordering::Relaxed) + 1;
                if let Ok(mut done) = done.lock() {
                    done(count);
                }
            }
        };
        thread::scope(|scope| {
            let threads: Vec<_> = (0..self.workers.min(items.len())).map(|_| scope.spawn(run)).collect();
            threads.into_iter().try_for_each(|thread| {
                thread.join().unwrap_or_else(|_| Err(Error::Protocol("a thread of the pool ended early".to_owned())))
            })
        })?;
        let answers = answers.into_inner().unwrap_or_default();
        let all: Option<Vec<A>> = answers.into_iter().collect();
        all.ok_or_else(|| Error::Protocol("work was left undone".to_owned()))
    }
}
