//! One statement: prepared, run, its values sent on their way while it runs.

use std::time::Instant;

use rusqlite::{Connection, ErrorCode, types::ValueRef};

use super::connection::Connections;
use crate::execute::{
    DatabaseSource, Result,
    protocol::{self, Cells, End, Request, StatementOutcome},
    python, texts,
};

/// Values are sent when so many bytes have come together.
const CHUNK: usize = 256 << 10;

/// Runs a request's statement and sends its values and its end.
pub(super) fn run(
    connections: &mut Connections,
    request: &Request,
    send: &mut impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut attempt = Attempt { request, send, cells: Cells::new(), sent: 0, rows: 0, width: 0, truncated: false };
    let mut begin = Instant::now();
    let mut outcome = attempt.outcome(connections, &mut begin)?;
    // Whatever other databases hold must not decide about this statement: once more, with all memory.
    if matches!(outcome, Err(Failed::Memory { .. })) && attempt.sent == 0 {
        connections.close();
        attempt.restart();
        outcome = attempt.outcome(connections, &mut begin)?;
    }
    let nanos = u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX);
    let outcome = match outcome {
        Ok(()) => StatementOutcome::Done,
        Err(Failed::With(outcome)) => outcome,
        Err(Failed::Memory { in_setup: true }) => StatementOutcome::SetupFailed("out of memory".to_owned()),
        Err(Failed::Memory { in_setup: false }) => StatementOutcome::Refused("out of memory".to_owned()),
    };
    // The last values and the end go together: most results are one write.
    let Attempt { rows, width, truncated, mut cells, send, .. } = attempt;
    let mut frames = cells.take().map(|payload| protocol::frame(&payload)).unwrap_or_default();
    let end = End { id: request.id, outcome, width, rows, truncated, nanos };
    frames.extend(protocol::frame(&protocol::end(&end)?));
    send(&frames)
}

/// Reason why a statement did not end well.
#[derive(Debug, PartialEq)]
enum Failed {
    With(StatementOutcome),
    Memory {
        /// While the database was opened or made.
        in_setup: bool,
    },
}

struct Attempt<'a, S> {
    request: &'a Request,
    send: &'a mut S,
    cells: Cells,
    sent: u64,
    rows: u64,
    width: usize,
    truncated: bool,
}

impl<S: FnMut(&[u8]) -> Result<()>> Attempt<'_, S> {
    fn restart(&mut self) {
        self.cells = Cells::new();
        (self.rows, self.width, self.truncated) = (0, 0, false);
    }

    /// The outer error is a broken pipe, the inner one the statement's.
    fn outcome(&mut self, connections: &mut Connections, begin: &mut Instant) -> Result<Result<(), Failed>> {
        let sql = &self.request.sql;
        if sql.contains('\0') {
            return Ok(Err(sql_error("the query contains a null character")));
        }
        if texts::has_several_statements(sql) {
            return Ok(Err(refused("more than one statement")));
        }
        let connection = match connections.get(&self.request.source) {
            Ok(connection) => connection,
            Err(error) => return Ok(Err(of_setup(&error, &self.request.source))),
        };
        *begin = Instant::now();
        self.rows(connection)
    }

    fn rows(&mut self, connection: &Connection) -> Result<Result<(), Failed>> {
        // A text without a statement has no rows; that is what Python says of it, too.
        if texts::is_blank(&self.request.sql) {
            return Ok(Ok(()));
        }
        let mut statement = match connection.prepare(&self.request.sql) {
            Ok(statement) => statement,
            Err(error) => return Ok(Err(failed(&error))),
        };
        if !statement.readonly() {
            return Ok(Err(refused("not a query: it would write")));
        }
        if statement.parameter_count() > 0 {
            return Ok(Err(sql_error("the statement has parameters, and there are no values for them")));
        }
        self.width = statement.column_count();
        let mut rows = statement.raw_query();
        loop {
            let row = match rows.next() {
                Ok(Some(row)) => row,
                Ok(None) => return Ok(Ok(())),
                Err(error) => return Ok(Err(failed(&error))),
            };
            let cells = self.rows.saturating_mul(self.width as u64);
            if self.rows >= self.request.max_rows || cells >= self.request.enough_cells {
                self.truncated = true;
                return Ok(Ok(()));
            }
            self.rows += 1;
            if !self.request.discard && self.rows.saturating_mul(self.width as u64) > self.request.max_cells {
                return Ok(Err(refused(&format!("a result of more than {} values", self.request.max_cells))));
            }
            for column in 0..self.width {
                match row.get_ref(column) {
                    Ok(value) => self.push(value),
                    Err(error) => return Ok(Err(failed(&error))),
                }
                if self.sent + self.cells.len() as u64 > self.request.max_bytes {
                    return Ok(Err(refused(&format!("a result of more than {} bytes", self.request.max_bytes))));
                }
                if self.cells.len() >= CHUNK {
                    self.flush()?;
                }
            }
        }
    }

    fn push(&mut self, value: ValueRef<'_>) {
        if self.request.discard {
            return;
        }
        match value {
            ValueRef::Null => self.cells.null(),
            ValueRef::Integer(number) => self.cells.int(number),
            ValueRef::Real(number) => self.cells.real(number),
            ValueRef::Text(bytes) => self.cells.text(&python::decode(bytes)),
            ValueRef::Blob(bytes) => self.cells.blob(bytes),
        }
    }

    fn flush(&mut self) -> Result<()> {
        let Some(payload) = self.cells.take() else { return Ok(()) };
        self.sent += payload.len() as u64;
        (self.send)(&protocol::frame(&payload))
    }
}

fn refused(what: &str) -> Failed {
    Failed::With(StatementOutcome::Refused(what.to_owned()))
}

fn sql_error(what: &str) -> Failed {
    Failed::With(StatementOutcome::SqlError(what.to_owned()))
}

/// Meaning of a failure: bounds and forbidden things are refused, the rest is wrong SQL.
fn failed(error: &rusqlite::Error) -> Failed {
    let message = message(error);
    match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => Failed::With(StatementOutcome::Timeout),
        Some(ErrorCode::OutOfMemory) => Failed::Memory { in_setup: false },
        Some(
            ErrorCode::AuthorizationForStatementDenied
            | ErrorCode::TooBig
            | ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied
            | ErrorCode::CannotOpen,
        ) => refused(&message),
        _ if BOUNDS.iter().any(|bound| message.starts_with(bound)) => refused(&message),
        _ => sql_error(&message),
    }
}

/// Beginnings of SQLite's messages about its limits.
const BOUNDS: [&str; 6] = [
    "Expression tree is too large",
    "too many terms in compound SELECT",
    "too many arguments on function",
    "LIKE or GLOB pattern too complex",
    "string or blob too big",
    "not authorized",
];

fn message(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        other => other.to_string(),
    }
}

/// A database that could not be opened, or made.
fn of_setup(error: &rusqlite::Error, source: &DatabaseSource) -> Failed {
    match failed(error) {
        Failed::Memory { .. } => Failed::Memory { in_setup: true },
        Failed::With(StatementOutcome::Timeout) if matches!(source, DatabaseSource::File(_)) => {
            Failed::With(StatementOutcome::Timeout)
        }
        _ => Failed::With(StatementOutcome::SetupFailed(message(error))),
    }
}
