//! Tells how far the work is: on a live screen where there is a terminal, in plain lines elsewhere. A thread of its own
//! does that, so that both go on while a library is silent.

use std::{
    io::{Write, stderr},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, TryLockError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use wb_core::Progress;
use wb_pipeline::progress::{Drawn, JsonLines, StageWatch, Steady, interval};
use wb_pipeline::session;

use super::terminal::{can_be_drawn_on, size};

/// Time between plain lines, unless `WB_PROGRESS_SECONDS` says otherwise.
const EVERY: Duration = Duration::from_secs(30);

/// Time between lines of JSON: a log may have those of many machines.
const EVERY_OF_JSON: Duration = Duration::from_secs(60);

/// Time between drawings of a screen: short enough that one which was resized is not broken for long.
const REDRAW: Duration = Duration::from_millis(150);

/// Time between looks at the clock where lines are written.
const LOOK: Duration = Duration::from_millis(500);

/// Progress as it is shown now; nothing where no command shows any. One for all threads, as there is one terminal.
static SHOWN: Mutex<Option<Shown>> = Mutex::new(None);

struct Shown {
    began: Instant,
    watch: StageWatch,
    terminal: Option<Terminal>,
}

struct Terminal {
    drawn: Drawn,
    steady: Steady,
}

/// Progress of stages. On a terminal the stage under way is shown live; elsewhere it has a line every half a minute.
/// A stage that took more than a second has a line when it ends.
pub struct Bars {
    over: Arc<AtomicBool>,
    ticker: Option<JoinHandle<()>>,
}

impl Bars {
    /// Nothing shown yet.
    pub fn new() -> Self {
        Self::begin(StageWatch::new(interval(EVERY), Duration::ZERO))
    }

    /// Progress of the work at a shard: where there is no terminal, the lines are JSON, one a minute.
    pub fn of_shard(shard: u32) -> Self {
        let watch = StageWatch::new(interval(EVERY_OF_JSON), Duration::ZERO);
        Self::begin(if can_be_drawn_on() { watch } else { watch.in_json(JsonLines::of_shard(shard)) })
    }

    fn begin(watch: StageWatch) -> Self {
        let terminal = can_be_drawn_on().then(|| Terminal { drawn: Drawn::default(), steady: Steady::new(size().0) });
        let pause = if terminal.is_some() { REDRAW } else { LOOK.min(watch.every()) };
        *shown() = Some(Shown { began: Instant::now(), watch, terminal });
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        let tick = move || {
            while !seen.load(Ordering::Relaxed) {
                if let Some(shown) = &mut *shown() {
                    shown.tick();
                }
                thread::park_timeout(pause);
            }
        };
        // Without the thread there are still the lines of stages that end.
        let ticker = thread::Builder::new().name("progress".to_owned()).spawn(tick).ok();
        Self { over, ticker }
    }

    /// Takes a report of a library.
    pub fn report(&mut self, progress: Progress) {
        report(progress);
        session::put_back_now_and_then();
    }

    /// Ends the current stage.
    pub fn finish(&mut self) {
        finish();
    }
}

/// True where a command shows something; what is reported then is a stage of its own there.
pub fn is_shown() -> bool {
    shown().is_some()
}

/// Takes a report for what is shown, whoever shows it.
pub fn report(progress: Progress) {
    if let Some(shown) = &mut *shown() {
        let line = shown.watch.report(progress, shown.began.elapsed());
        shown.say(line);
    }
}

/// Ends the current stage of what is shown.
pub fn finish() {
    if let Some(shown) = &mut *shown() {
        let line = shown.watch.finish(shown.began.elapsed());
        shown.clear();
        shown.say(line);
    }
}

impl Drop for Bars {
    fn drop(&mut self) {
        self.finish();
        self.over.store(true, Ordering::Relaxed);
        if let Some(ticker) = self.ticker.take() {
            ticker.thread().unpark();
            // It did nothing that could be told any more.
            drop(ticker.join());
        }
        *shown() = None;
    }
}

impl Shown {
    fn tick(&mut self) {
        let now = self.began.elapsed();
        match &mut self.terminal {
            Some(terminal) => {
                let size = size();
                if terminal.steady.look(size.0) {
                    write(&terminal.drawn.replace(self.watch.block(now, size), size.0));
                }
            }
            None => {
                let line = self.watch.line_if_due(now);
                self.say(line);
            }
        }
    }

    fn clear(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            write(&terminal.drawn.clear(size().0));
        }
    }

    fn say(&mut self, line: Option<String>) {
        if let Some(line) = line {
            self.clear();
            write(&format!("{line}\n"));
        }
    }
}

/// Prints something above what is shown, which is drawn again soon.
pub fn above(print: impl FnOnce()) {
    let mut shown = shown();
    if let Some(shown) = &mut *shown {
        shown.clear();
    }
    print();
}

/// Takes away what is shown, for good: the process is about to end.
pub fn close() {
    if let Some(mut shown) = at_once() {
        if let Some(shown) = &mut *shown {
            shown.clear();
        }
        *shown = None;
    }
}

/// From now on, the message of a panic is not written into what is shown.
pub fn clear_before_panics() {
    let message = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // Held until the message is written, so that nothing is drawn into it.
        let mut shown = at_once();
        if let Some(Some(shown)) = shown.as_deref_mut() {
            shown.clear();
        }
        message(panic);
    }));
}

fn shown() -> MutexGuard<'static, Option<Shown>> {
    // A thread that panicked while it drew left nothing that the next drawing does not mend.
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// [`shown`] without waiting; nothing where a thread is drawing, which may be this one, or one that a terminal keeps
/// waiting.
fn at_once() -> Option<MutexGuard<'static, Option<Shown>>> {
    match SHOWN.try_lock() {
        Ok(shown) => Some(shown),
        Err(TryLockError::Poisoned(shown)) => Some(shown.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Writes in one piece, so that no other process writes in the middle of it.
fn write(text: &str) {
    if !text.is_empty() {
        // Where nobody reads any more, there is nobody to tell.
        let _ = stderr().write_all(text.as_bytes());
    }
}
