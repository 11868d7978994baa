//! [`Ask`] over an engine and a ledger: several questions at once, retried, validated, written down.

use std::{
    collections::HashMap,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    time::{Duration, Instant},
};

use wb_core::Seed;

use crate::{
    Error, Result,
    account::LedgerAccount,
    ask::{Ask, LlmQuestion, Reply},
    attempts::{Asker, Ended, reply, unanswered},
    canaries::{self, Canaries},
    config::{Determinism, EngineConfig, LlmConfig},
    engine::{EngineInfo, LlmEngine},
    engines::{
        self,
        replay::{self, ReplayEngine},
    },
    keys,
    ledger::{FORMAT, Ledger, LedgerRecord, Opened, Rejected},
    schema::Schema,
};

/// Answers are flushed to the disk in groups of at most this many,
const GROUP: usize = 64;
/// and at most so long after they came.
const GROUP_TIME: Duration = Duration::from_secs(1);
/// Time for requests in flight to be written down when a run ends early.
const GRACE: Duration = Duration::from_secs(5);
/// Time between two looks for a request to stop.
const LOOK: Duration = Duration::from_millis(50);

/// Answers questions with an engine, or with an earlier run's ledger.
pub struct Client {
    shared: Arc<Shared>,
    replay: bool,
    /// True where questions that the server failed at are left out, and not asked again.
    leave_out: bool,
    parallel: usize,
    canaries: Option<Canaries>,
    reused: AtomicU64,
    /// One batch of questions after the other.
    turn: Mutex<()>,
}

/// State that the threads that ask share with the client; they may outlive a call that was interrupted.
struct Shared {
    asker: Asker,
    ledger: Ledger,
    seed: Seed,
}

impl Client {
    /// Opens the engine that a configuration names, and the ledger at a path. `interrupt` is watched: once it is true,
    /// no question is begun any more. Output of a server that is started here goes beside the ledger.
    pub fn open(config: &LlmConfig, seed: Seed, ledger: &Path, interrupt: Arc<AtomicBool>) -> Result<Self> {
        config.validate("llm")?;
        if config.engine == EngineConfig::Replay {
            return Self::replay(config, seed, ledger, interrupt);
        }
        // The ledger first: its lock is what keeps two runs apart.
        let ledger = Ledger::open(ledger)?;
        let log = ledger.path().with_extension("server.log");
        let engine = engines::open(config, &log, &interrupt)?;
        Self::begin(engine, config, seed, ledger, interrupt)
    }

    fn begin(
        engine: Arc<dyn LlmEngine>,
        config: &LlmConfig,
        seed: Seed,
        ledger: Ledger,
        interrupt: Arc<AtomicBool>,
    ) -> Result<Self> {
        let info = engine.info().clone();
        let canaries = config.canaries.then(|| sung(&engine, seed, &interrupt)).transpose()?;
        let opened = Opened { format: FORMAT, engine: info.clone(), seed: seed.0, canaries: canaries.clone() };
        if ledger.opened() != Some(&opened) {
            ledger.append(&LedgerRecord::Opened(Box::new(opened)))?;
            ledger.sync()?;
        }
        let parallel = match (config.determinism, config.parallel) {
            (Determinism::Strict, _) => 1,
            (_, 0) => info.parallel.max(1),
            (_, set) => set,
        };
        let asker = Asker::new(engine, config.retries.clone(), seed, interrupt);
        let shared = Arc::new(Shared { asker, ledger, seed });
        let (leave_out, reused) = (config.retries.leave_out, AtomicU64::new(0));
        Ok(Self { shared, replay: false, leave_out, parallel, canaries, reused, turn: Mutex::new(()) })
    }

    fn replay(config: &LlmConfig, seed: Seed, path: &Path, interrupt: Arc<AtomicBool>) -> Result<Self> {
        let ledger = Ledger::open_read_only(path)?;
        let opened = replay::choose(&ledger, &config.model, seed)?.clone();
        let engine: Arc<dyn LlmEngine> = Arc::new(ReplayEngine::new(opened.engine));
        let asker = Asker::new(engine, config.retries.clone(), seed, interrupt);
        let shared = Arc::new(Shared { asker, ledger, seed });
        let canaries = opened.canaries;
        let (leave_out, reused) = (config.retries.leave_out, AtomicU64::new(0));
        Ok(Self { shared, replay: true, leave_out, parallel: 1, canaries, reused, turn: Mutex::new(()) })
    }

    /// The engine that answers; in a replay, the one that answered.
    pub fn info(&self) -> &EngineInfo {
        self.shared.asker.engine().info()
    }

    /// The engine's answers to questions whose answer is known, where it was asked.
    pub fn canaries(&self) -> Option<&Canaries> {
        self.canaries.as_ref()
    }

    /// The cost of all answers of the ledger, those of earlier runs too.
    pub fn account(&self) -> LedgerAccount {
        self.shared.ledger.account()
    }

    /// Last lines of the ledger that a death had cut short and that were dropped, 0 or 1; their question is asked again.
    pub fn dropped(&self) -> u64 {
        self.shared.ledger.dropped()
    }

    /// Questions since the start that the ledger knew already.
    pub fn reused(&self) -> u64 {
        self.reused.load(Ordering::Relaxed)
    }

    /// Number of questions that are asked at once.
    pub fn parallel(&self) -> usize {
        self.parallel
    }

    /// True where the ledger has what counts as the reply to a question.
    pub fn knows(&self, question: &LlmQuestion) -> bool {
        let key = keys::key(question, self.info(), self.shared.seed);
        let ledger = &self.shared.ledger;
        !ledger.is_open(&key) || (self.leave_out && ledger.has(&key))
    }

    /// The ledger.
    pub fn ledger(&self) -> &Ledger {
        &self.shared.ledger
    }
}

impl Drop for Client {
    /// Threads that were left behind with a server that hangs hold the ledger as long as they live; its lock is given
    /// back now, and what they still bring is not written down any more.
    fn drop(&mut self) {
        self.shared.ledger.close();
    }
}

/// Asks the canaries. Not on this thread: a server may hang at the first of them, and whoever asks to stop is not to wait
/// for it.
fn sung(engine: &Arc<dyn LlmEngine>, seed: Seed, interrupt: &Arc<AtomicBool>) -> Result<Canaries> {
    let (sender, receiver) = sync_channel(1);
    let (engine, watched) = (engine.clone(), interrupt.clone());
    let sing = move || drop(sender.send(canaries::run(&engine, seed, &watched)));
    let thread = std::thread::Builder::new().name("llm-canaries".into()).spawn(sing);
    thread.map_err(|error| Error::failed(format!("no thread to ask with: {error}")))?;
    let mut stopped: Option<Instant> = None;
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Disconnected) => return Err(Error::failed("a thread that asks has died")),
            Err(RecvTimeoutError::Timeout) if interrupt.load(Ordering::Relaxed) => {
                if stopped.get_or_insert_with(Instant::now).elapsed() >= GRACE {
                    return Err(Error::Stopped);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// A question on its way, with what is needed to judge its answer.
pub(crate) struct Job {
    pub place: usize,
    pub key: String,
    pub question: LlmQuestion,
    pub schema: Option<Arc<Schema>>,
}

impl Ask for Client {
    fn ask_all(&self, questions: &[LlmQuestion], each: &mut dyn FnMut(usize, &Reply)) -> Result<Vec<Reply>> {
        let _turn = self.turn.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let shared = &self.shared;
        let mut schemas = Schemas::default();
        let mut replies: Vec<Option<Reply>> = vec![None; questions.len()];
        let mut first: HashMap<String, usize> = HashMap::with_capacity(questions.len());
        let (mut same, mut jobs) = (Vec::new(), Vec::new());
        for (place, question) in questions.iter().enumerate() {
            if place % 256 == 0 && shared.asker.interrupted() {
                return Err(Error::Stopped);
            }
            let schema = schemas.of(question)?;
            let key = keys::key(question, self.info(), shared.seed);
            if let Some(&earlier) = first.get(&key) {
                same.push((place, earlier));
                continue;
            }
            if let Some(record) = shared.ledger.get(&key)?.filter(|record| self.leave_out || !record.is_open()) {
                let reply = reply(record, schema.as_deref())?;
                self.reused.fetch_add(1, Ordering::Relaxed);
                each(place, &reply);
                replies[place] = Some(reply);
            } else if self.replay {
                jobs.push(None);
            } else {
                jobs.push(Some(Job { place, key: key.clone(), question: question.clone(), schema }));
            }
            first.insert(key, place);
        }
        if self.replay && !jobs.is_empty() {
            let lacking =
                questions.iter().zip(&replies).find(|(_, reply)| reply.is_none()).map(|(question, _)| question);
            let which = lacking.map(|q| format!("{} of {}, sample {}", q.recipe, q.item, q.sample)).unwrap_or_default();
            let (ledger, lack, all) = (shared.ledger.path().display(), jobs.len(), questions.len());
            let what = format!("{ledger} has no answer to {lack} of {all} questions, the first is {which}");
            return Err(Error::failed(what).with_hint("run it with its engine to have them asked"));
        }
        self.ask_jobs(jobs.into_iter().flatten().collect(), &mut |place, reply| {
            each(place, &reply);
            replies[place] = Some(reply);
        })?;
        for (place, earlier) in same {
            if let Some(reply) = replies[earlier].clone() {
                each(place, &reply);
                replies[place] = Some(reply);
            }
        }
        replies.into_iter().collect::<Option<Vec<_>>>().ok_or(Error::Stopped)
    }
}

type Message = (usize, Result<Reply>);

impl Client {
    /// Asks what the ledger does not know. `done` is called when an answer is on the disk.
    fn ask_jobs(&self, jobs: Vec<Job>, done: &mut dyn FnMut(usize, Reply)) -> Result<()> {
        if jobs.is_empty() {
            return Ok(());
        }
        let n_threads = self.parallel.min(jobs.len());
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let jobs = Arc::new(Jobs { jobs, next, stop, open: Mutex::default() });
        let (sender, receiver) = sync_channel(GROUP);
        let mut threads = Vec::with_capacity(n_threads);
        for n in 0..n_threads {
            let (shared, jobs, sender) = (self.shared.clone(), jobs.clone(), sender.clone());
            // Not scoped: a request in flight may last ten minutes, and whoever asks to stop is not to wait for it.
            let thread =
                std::thread::Builder::new().name(format!("llm-{n}")).spawn(move || work(&shared, &jobs, &sender));
            threads.push(thread.map_err(|error| Error::failed(format!("no thread to ask with: {error}")))?);
        }
        drop(sender);
        let (result, all_ended) = self.collect(&receiver, &jobs.stop, done);
        jobs.stop.store(true, Ordering::Relaxed);
        if all_ended {
            for thread in threads {
                thread.join().map_err(|_| Error::failed("a thread that asks has died"))?;
            }
        }
        result?;
        let open = jobs.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match open.first() {
            Some(first) if !self.leave_out => Err(Error::failed(unanswered(first, (open.len(), jobs.jobs.len())))),
            _ => Ok(()),
        }
    }

    /// Takes answers until there are no more, and whether all threads have ended: where the run ends early, those that
    /// wait for a server are given some seconds and then left behind.
    fn collect(
        &self,
        receiver: &Receiver<Message>,
        stop: &AtomicBool,
        done: &mut dyn FnMut(usize, Reply),
    ) -> (Result<()>, bool) {
        let shared = &self.shared;
        let mut group: Vec<(usize, Reply)> = Vec::with_capacity(GROUP);
        let mut since = Instant::now();
        let mut ended: Option<(Error, Instant)> = None;
        loop {
            if ended.is_none() && shared.asker.interrupted() {
                stop.store(true, Ordering::Relaxed);
                ended = Some((Error::Stopped, Instant::now()));
            }
            let all_ended = match receiver.recv_timeout(LOOK) {
                Ok((place, Ok(reply))) => {
                    if group.is_empty() {
                        since = Instant::now();
                    }
                    group.push((place, reply));
                    false
                }
                Ok((_, Err(error))) => {
                    stop.store(true, Ordering::Relaxed);
                    // The first error is the one to tell; the others follow from the stop.
                    ended.get_or_insert((error, Instant::now()));
                    false
                }
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => true,
            };
            let over = all_ended || ended.as_ref().is_some_and(|(_, at)| at.elapsed() >= GRACE);
            if group.len() >= GROUP || (!group.is_empty() && (over || since.elapsed() >= GROUP_TIME)) {
                if let Err(error) = shared.ledger.sync() {
                    stop.store(true, Ordering::Relaxed);
                    return (Err(error), all_ended);
                }
                group.drain(..).for_each(|(place, reply)| done(place, reply));
            }
            if over {
                return (ended.map_or(Ok(()), |(error, _)| Err(error)), all_ended);
            }
        }
    }
}

struct Jobs {
    jobs: Vec<Job>,
    next: AtomicUsize,
    stop: AtomicBool,
    /// Questions that the server failed at.
    open: Mutex<Vec<Rejected>>,
}

/// Runs one thread: the next question, until there is none. An answer is in the file before the next is asked.
fn work(shared: &Shared, jobs: &Jobs, sender: &SyncSender<Message>) {
    let stop = || jobs.stop.load(Ordering::Relaxed) || shared.asker.interrupted();
    while !stop() {
        let Some(job) = jobs.jobs.get(jobs.next.fetch_add(1, Ordering::Relaxed)) else { return };
        let result = match shared.asker.ask(job, &stop) {
            Ended::Record(record) => {
                if let (true, LedgerRecord::Rejected(rejected)) = (record.is_open(), &record) {
                    let mut open = jobs.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    open.push(Rejected::clone(rejected));
                }
                shared.ledger.append(&record).and_then(|()| reply(record, job.schema.as_deref()))
            }
            Ended::Stopped => return,
            Ended::Failed(what) => Err(Error::failed(what)),
        };
        let failed = result.is_err();
        if sender.send((job.place, result)).is_err() || failed {
            return;
        }
    }
}

/// Schemas, each read once.
#[derive(Default)]
struct Schemas<'a>(Vec<(&'a serde_json::Value, Arc<Schema>)>);

impl<'a> Schemas<'a> {
    fn of(&mut self, question: &'a LlmQuestion) -> Result<Option<Arc<Schema>>> {
        let Some(schema) = &question.schema else { return Ok(None) };
        // Most questions in a row are of one recipe.
        if let Some((_, known)) = self.0.iter().rev().find(|(known, _)| *known == schema) {
            return Ok(Some(known.clone()));
        }
        let parsed = Schema::parse(schema).map_err(|what| Error::value(question.recipe.clone(), what))?;
        let parsed = Arc::new(parsed);
        self.0.push((schema, parsed.clone()));
        Ok(Some(parsed))
    }
}
