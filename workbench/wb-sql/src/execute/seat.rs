//! A seat at the pool: one worker, replaced when it hangs or dies.

use std::time::{Duration, Instant};

use super::{
    CellValue, Error, Result, ResultTable,
    protocol::{self, DatabaseSource, HEADER, MAX_FRAME, MAX_SCRIPT, MAX_SQL, Reply, Request, StatementOutcome},
    worker::{Broken, Worker, WorkerCommand},
};

/// Bounds of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementLimits {
    /// Time on the clock; the worker stops by itself then, and is ended soon after if it does not.
    pub timeout: Duration,
    /// Rows of a result.
    pub max_rows: u64,
    /// Bytes of a result.
    pub max_bytes: u64,
    /// Values of a result, rows times columns. The largest of a gold query of Spider has 19,918.
    pub max_cells: u64,
    /// Address space of a worker beyond what it has when it starts.
    pub memory_bytes: u64,
}

impl Default for StatementLimits {
    fn default() -> StatementLimits {
        StatementLimits {
            timeout: Duration::from_secs(20),
            max_rows: 2_000_000,
            max_bytes: 64 << 20,
            max_cells: 4_000_000,
            memory_bytes: 256 << 20,
        }
    }
}

/// Time after its time-out at which a worker is ended from outside.
const GRACE: Duration = Duration::from_millis(80);
/// Bytes of requests that are handed over together: most pipes have room for them, so that the worker need not wait.
const AHEAD: usize = 32 << 10;
/// A signal of the system: the processor's time is used up.
const SIGXCPU: i32 = 24;

/// Result of a statement.
#[derive(Debug, Clone, PartialEq)]
pub struct Execution {
    /// Its end.
    pub outcome: StatementOutcome,
    /// Its rows, as far as they were asked for.
    pub table: ResultTable,
    /// There are more rows than were asked for.
    pub truncated: bool,
    /// From the preparation of the statement to its last row, measured in the worker.
    pub elapsed: Duration,
}

impl Execution {
    fn without_rows(outcome: StatementOutcome, elapsed: Duration) -> Execution {
        Execution { outcome, table: ResultTable::default(), truncated: false, elapsed }
    }
}

/// A statement to run.
#[derive(Debug, Clone, Copy)]
pub struct Statement<'a> {
    /// Database to run it on.
    pub source: &'a DatabaseSource,
    /// The text.
    pub sql: &'a str,
    /// The most rows of the result that are wanted.
    pub max_rows: u64,
    /// Number of values that are enough: with the row that reaches them the result is cut.
    pub enough_cells: u64,
}

/// One worker after another.
pub struct Seat<'a> {
    command: &'a WorkerCommand,
    limits: &'a StatementLimits,
    worker: Option<Worker>,
    /// One whose end is still to be waited for.
    ending: Option<Worker>,
    next: u64,
    /// Number of workers that were ended or died.
    replaced: u64,
}

impl<'a> Seat<'a> {
    pub(super) fn new(command: &'a WorkerCommand, limits: &'a StatementLimits) -> Seat<'a> {
        Seat { command, limits, worker: None, ending: None, next: 0, replaced: 0 }
    }

    /// Runs a statement and returns at most `max_rows` rows of its result.
    ///
    /// # Errors
    ///
    /// If no worker can be started. Whatever happens to the statement is an outcome.
    pub fn execute(&mut self, source: &DatabaseSource, sql: &str, max_rows: u64) -> Result<Execution> {
        self.one(Statement { source, sql, max_rows, enough_cells: u64::MAX }, false)
    }

    /// Runs a statement to its end and says how long it took; its rows are read and dropped by the worker.
    ///
    /// # Errors
    ///
    /// If no worker can be started.
    pub fn time(&mut self, source: &DatabaseSource, sql: &str) -> Result<Execution> {
        self.one(Statement { source, sql, max_rows: self.limits.max_rows, enough_cells: u64::MAX }, true)
    }

    /// Runs statements one after the other. They are handed over together, so that parent and worker need not take
    /// turns; each has its own time, and one that ends the worker costs itself alone.
    ///
    /// # Errors
    ///
    /// If no worker can be started.
    pub fn execute_all(&mut self, statements: &[Statement<'_>]) -> Result<Vec<Execution>> {
        let mut all = Vec::with_capacity(statements.len());
        self.execute_each(statements, &mut |execution| all.push(execution))?;
        Ok(all)
    }

    /// [`Seat::execute_all`], but each result is handed over when it is there, so that the caller need not hold them all.
    ///
    /// # Errors
    ///
    /// If no worker can be started.
    pub fn execute_each(&mut self, statements: &[Statement<'_>], take: &mut dyn FnMut(Execution)) -> Result<()> {
        self.all(statements, false, take)
    }

    /// Number of workers that had to be replaced so far.
    pub fn replaced(&self) -> u64 {
        self.replaced
    }

    /// The process of the worker, if one is running.
    pub fn worker_id(&self) -> Option<u32> {
        self.worker.as_ref().map(Worker::id)
    }

    /// The bounds of a statement.
    pub fn limits(&self) -> &StatementLimits {
        self.limits
    }

    fn one(&mut self, statement: Statement<'_>, discard: bool) -> Result<Execution> {
        let mut one = None;
        self.all(&[statement], discard, &mut |execution| one = Some(execution))?;
        one.ok_or_else(|| Error::Protocol("a statement without an end".to_owned()))
    }

    fn all(&mut self, statements: &[Statement<'_>], discard: bool, take: &mut dyn FnMut(Execution)) -> Result<()> {
        let mut rest = statements;
        while let Some(first) = rest.first() {
            if let Some(what) = too_long(first) {
                take(Execution::without_rows(StatementOutcome::Refused(what), Duration::ZERO));
                rest = &rest[1..];
                continue;
            }
            let (mut requests, mut payloads, mut bytes) = (Vec::new(), Vec::new(), 0);
            for statement in rest {
                if too_long(statement).is_some() {
                    break;
                }
                let request = self.request(statement, discard);
                let payload = protocol::json(&request)?;
                bytes += payload.len() + HEADER;
                if !requests.is_empty() && bytes > AHEAD {
                    break;
                }
                requests.push(request);
                payloads.push(payload);
            }
            // What grows too long on its way, because it is full of characters that are written as several there.
            if payloads.first().is_some_and(|payload| payload.len() > MAX_FRAME) {
                let what = format!("more than {MAX_FRAME} bytes of SQL as they are sent");
                take(Execution::without_rows(StatementOutcome::Refused(what), Duration::ZERO));
                rest = &rest[1..];
                continue;
            }
            let answered = self.ask(&requests, &payloads, take)?;
            rest = &rest[answered..];
        }
        Ok(())
    }

    fn request(&mut self, statement: &Statement<'_>, discard: bool) -> Request {
        self.next += 1;
        Request {
            id: self.next,
            source: statement.source.clone(),
            sql: statement.sql.to_owned(),
            max_rows: statement.max_rows.min(self.limits.max_rows),
            enough_cells: statement.enough_cells,
            max_bytes: self.limits.max_bytes,
            max_cells: self.limits.max_cells,
            timeout_ms: u64::try_from(self.limits.timeout.as_millis()).unwrap_or(u64::MAX),
            discard,
        }
    }

    /// Sends requests and takes their answers, up to the first that breaks the worker; that one has its answer, too.
    /// Returns how many are answered.
    fn ask(&mut self, requests: &[Request], payloads: &[Vec<u8>], take: &mut dyn FnMut(Execution)) -> Result<usize> {
        self.ending = None;
        let mut worker = match self.worker.take() {
            Some(worker) => worker,
            None => Worker::start(self.command, self.limits.memory_bytes)?,
        };
        let mut begin = Instant::now();
        for payload in payloads {
            worker.send(payload);
        }
        for (at, request) in requests.iter().enumerate() {
            match answer(&mut worker, request, begin + self.limits.timeout + GRACE) {
                Ok(execution) => take(execution),
                // The process is ended now and waited for later; the next statement gets a new one.
                Err(broken) => {
                    worker.kill();
                    self.ending = Some(worker);
                    self.replaced += 1;
                    take(Execution::without_rows(outcome_of(&broken), begin.elapsed()));
                    return Ok(at + 1);
                }
            }
            begin = Instant::now();
        }
        self.worker = Some(worker);
        Ok(requests.len())
    }
}

/// Reason why a statement is not even sent.
fn too_long(statement: &Statement<'_>) -> Option<String> {
    let script = if let DatabaseSource::Script(script) = statement.source { script.len() } else { 0 };
    let longest = statement.sql.len().max(script);
    (statement.sql.len() > MAX_SQL || script > MAX_SCRIPT)
        .then(|| format!("{longest} bytes of SQL, at most {MAX_SQL} (of a script {MAX_SCRIPT}) expected"))
}

fn answer(worker: &mut Worker, request: &Request, deadline: Instant) -> Result<Execution, Broken> {
    let mut cells: Vec<CellValue> = Vec::new();
    loop {
        match worker.reply(deadline)? {
            Reply::Cells(more) if cells.is_empty() => cells = more,
            Reply::Cells(more) => cells.extend(more),
            Reply::End(end) => {
                let table = ResultTable { width: end.width, cells };
                let fits = end.outcome != StatementOutcome::Done || request.discard || table.len() as u64 == end.rows;
                if end.id != request.id || !fits {
                    return Err(Broken::Garbled("the end does not fit to what came before it".to_owned()));
                }
                let elapsed = Duration::from_nanos(end.nanos);
                if end.outcome != StatementOutcome::Done {
                    return Ok(Execution::without_rows(end.outcome, elapsed));
                }
                return Ok(Execution { outcome: StatementOutcome::Done, table, truncated: end.truncated, elapsed });
            }
        }
    }
}

fn outcome_of(broken: &Broken) -> StatementOutcome {
    match broken {
        Broken::Hung | Broken::Ended(Some(SIGXCPU)) => StatementOutcome::Timeout,
        Broken::Ended(Some(signal)) => StatementOutcome::Refused(format!("the worker was ended by signal {signal}")),
        Broken::Ended(None) => StatementOutcome::Refused("the worker ended".to_owned()),
        Broken::Garbled(what) => StatementOutcome::Refused(format!("the worker's answer cannot be read: {what}")),
    }
}
