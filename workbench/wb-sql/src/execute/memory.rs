//! Results that a judge asks for before it needs them, and gold results that it will need again.
//!
//! What is held is bounded in bytes; what finds no room is dropped, and run again when it is needed.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

use super::{DatabaseSource, Execution, Result, Seat, seat::Statement};

/// Number of gold results that are kept: questions come in paraphrases that share their query.
const KEPT: usize = 32;
/// Number of results that are kept of a question on hundreds of databases.
const KEPT_OF_ONE: usize = 128;
/// Longer results are not kept.
const KEPT_CELLS: usize = 100_000;
/// Rows of a prediction that are asked for before it is known how many the gold query has.
const ROWS_AHEAD: u64 = 10_000;
/// Values that are asked for at most, however wide its rows are.
const CELLS_AHEAD: u64 = 200_000;
/// Bytes of all results that are held for later, by one seat.
const HELD: usize = 32 << 20;

/// Results that a judge keeps from question to question.
#[derive(Default)]
pub(super) struct Memory {
    /// The latest first.
    golds: VecDeque<Gold>,
    predictions: HashMap<(DatabaseSource, String), Arc<Execution>>,
    /// Bytes of the predictions.
    of_predictions: usize,
}

/// A gold query's result.
struct Gold {
    source: DatabaseSource,
    sql: String,
    execution: Arc<Execution>,
    bytes: usize,
}

impl Memory {
    /// Runs pairs of gold query and prediction on their first database.
    pub fn run_ahead<'a>(
        &mut self,
        seat: &mut Seat<'_>,
        pairs: impl Iterator<Item = (&'a DatabaseSource, &'a str, &'a str)>,
    ) -> Result<()> {
        self.forget();
        let all = seat.limits().max_rows;
        let (mut statements, mut seen) = (Vec::new(), HashSet::new());
        for (source, gold, prediction) in pairs {
            if self.known(source, gold).is_none() && seen.insert((source, gold, true)) {
                statements.push((true, Statement { source, sql: gold, max_rows: all, enough_cells: u64::MAX }));
            }
            if prediction != gold && seen.insert((source, prediction, false)) {
                let (max_rows, enough_cells) = (ROWS_AHEAD, CELLS_AHEAD);
                statements.push((false, Statement { source, sql: prediction, max_rows, enough_cells }));
            }
        }
        let asked: Vec<Statement<'_>> = statements.iter().map(|(_, statement)| *statement).collect();
        let mut at = 0;
        seat.execute_each(&asked, &mut |execution| {
            let (is_gold, Statement { source, sql, .. }) = statements[at];
            at += 1;
            let bytes = execution.table.bytes();
            if self.held() + bytes > HELD {
                return;
            }
            let (source, sql, execution) = (source.clone(), sql.to_owned(), Arc::new(execution));
            if is_gold {
                self.golds.push_front(Gold { source, sql, execution, bytes });
            } else {
                self.of_predictions += bytes;
                self.predictions.insert((source, sql), execution);
            }
        })
    }

    /// The gold query's result, run if it is not remembered.
    pub fn gold(&mut self, seat: &mut Seat<'_>, source: &DatabaseSource, sql: &str) -> Result<Arc<Execution>> {
        if let Some(known) = self.known(source, sql) {
            return Ok(known);
        }
        let execution = Arc::new(seat.execute(source, sql, seat.limits().max_rows)?);
        let bytes = execution.table.bytes();
        self.golds.push_front(Gold {
            source: source.clone(),
            sql: sql.to_owned(),
            execution: Arc::clone(&execution),
            bytes,
        });
        self.golds.truncate(KEPT_OF_ONE);
        while self.golds.len() > 1 && self.held() > HELD {
            self.golds.pop_back();
        }
        Ok(execution)
    }

    /// A prediction's result, as far as it can still be the gold query's with so many rows: one row more is enough to
    /// be wrong.
    pub fn prediction(
        &self,
        seat: &mut Seat<'_>,
        source: &DatabaseSource,
        sql: &str,
        rows: usize,
    ) -> Result<Arc<Execution>> {
        match self.predictions.get(&(source.clone(), sql.to_owned())) {
            Some(known) if !known.truncated || known.table.len() > rows => Ok(Arc::clone(known)),
            _ => seat.execute(source, sql, rows as u64 + 1).map(Arc::new),
        }
    }

    /// Bytes of all that is held.
    fn held(&self) -> usize {
        self.of_predictions + self.golds.iter().map(|gold| gold.bytes).sum::<usize>()
    }

    fn known(&self, source: &DatabaseSource, sql: &str) -> Option<Arc<Execution>> {
        let found = self.golds.iter().find(|gold| gold.source == *source && gold.sql == sql);
        found.map(|gold| Arc::clone(&gold.execution))
    }

    /// Keeps what is small and was used lately.
    fn forget(&mut self) {
        self.predictions.clear();
        self.of_predictions = 0;
        self.golds.retain(|gold| gold.execution.table.cells.len() <= KEPT_CELLS);
        self.golds.truncate(KEPT);
    }
}
