//! Bounds of a worker: memory, processor, files; and the clock that stops a statement.

use std::{
    fs,
    os::fd::OwnedFd,
    process,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Resource, Rlimit, getrlimit, setrlimit},
    time::{ClockId, clock_gettime},
};

use crate::execute::Result;

/// Bytes of a page; of larger ones, fewer are counted, and the bound is lower than it could be.
const PAGE: u64 = 4096;
/// Open files: three pipes, and the databases that are kept open.
const FILES: u64 = 64;

/// Gives up what is not needed. Address space is bounded by what the process has now and `memory` bytes.
pub(super) fn apply(memory: u64) -> Result<()> {
    let pages: Option<u64> =
        fs::read_to_string("/proc/self/statm").ok().and_then(|text| text.split(' ').next()?.parse().ok());
    if let Some(pages) = pages {
        let now = pages * PAGE;
        lower(Resource::As, now + memory)?;
    }
    lower(Resource::Core, 0)?;
    lower(Resource::Fsize, 0)?;
    lower(Resource::Nofile, FILES)
}

fn lower(resource: Resource, to: u64) -> Result<()> {
    let now = getrlimit(resource);
    let to = now.maximum.map_or(to, |most| most.min(to));
    setrlimit(resource, Rlimit { current: Some(to), maximum: Some(to) })
        .map_err(|error| std::io::Error::from(error).into())
}

/// Processor time for statements; when it is used up, the system ends the process.
#[derive(Default)]
pub(super) struct Grant {
    /// Time at which the last one was given, and the time of a statement.
    last: Option<(Instant, u64)>,
}

/// A grant is for a statement's time and two seconds; within the first of them, it is as good for the next statement.
const GOOD_FOR: Duration = Duration::from_millis(500);

impl Grant {
    /// Time for one statement more.
    pub fn renew(&mut self, timeout_ms: u64) -> Result<()> {
        let now = Instant::now();
        if self.last.is_some_and(|(given, of)| of == timeout_ms && now.duration_since(given) < GOOD_FOR) {
            return Ok(());
        }
        self.last = Some((now, timeout_ms));
        let used = u64::try_from(clock_gettime(ClockId::ProcessCPUTime).tv_sec).unwrap_or(0);
        let limit = getrlimit(Resource::Cpu);
        let wanted = used + timeout_ms.div_ceil(1000) + 2;
        let granted = limit.maximum.map_or(wanted, |most| most.min(wanted));
        setrlimit(Resource::Cpu, Rlimit { current: Some(granted), maximum: limit.maximum })
            .map_err(|error| std::io::Error::from(error).into())
    }
}

/// The deadline of the statement that runs, asked by SQLite every thousand steps of its machine.
#[derive(Clone)]
pub(super) struct Clock(Arc<Shared>);

struct Shared {
    begin: Instant,
    /// Nanoseconds after `begin`.
    deadline: AtomicU64,
    asked: AtomicU64,
    parent: OwnedFd,
}

/// Times that the clock is asked until it looks for the parent.
const LOOK_EVERY: u64 = 512;

impl Clock {
    /// A clock that ends the process when the other side of this pipe is closed.
    pub fn watching(parent: OwnedFd) -> Clock {
        let (deadline, asked) = (AtomicU64::new(0), AtomicU64::new(0));
        Clock(Arc::new(Shared { begin: Instant::now(), deadline, asked, parent }))
    }

    /// A statement begins that has so many milliseconds.
    pub fn start(&self, timeout_ms: u64) {
        let deadline = self.0.begin.elapsed() + Duration::from_millis(timeout_ms);
        self.0.deadline.store(u64::try_from(deadline.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// True where the time is over.
    pub fn is_over(&self) -> bool {
        if self.0.asked.fetch_add(1, Ordering::Relaxed) % LOOK_EVERY == LOOK_EVERY - 1 {
            self.look_for_parent();
        }
        self.0.begin.elapsed().as_nanos() > u128::from(self.0.deadline.load(Ordering::Relaxed))
    }

    fn look_for_parent(&self) {
        let mut pipe = [PollFd::new(&self.0.parent, PollFlags::empty())];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        if poll(&mut pipe, Some(&at_once)).is_ok_and(|ready| ready > 0) && pipe[0].revents().contains(PollFlags::HUP) {
            process::exit(0);
        }
    }
}
