//! Results that a judge asks for before it needs them, and gold results that it will need again.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::Arc,
};

use super::{Execution, Result, Seat, Source, seat::Statement};

/// How many gold results are kept: questions come in paraphrases that share their query.
const KEPT: usize = 32;
/// Longer results are not kept.
const KEPT_CELLS: usize = 100_000;
/// So many rows of a prediction are asked for before it is known how many the gold query has.
const ROWS_AHEAD: u64 = 10_000;

/// What a judge remembers from question to question.
#[derive(Default)]
pub(super) struct Memory {
    /// The latest first.
    golds: VecDeque<(Source, String, Arc<Execution>)>,
    predictions: HashMap<(Source, String), Arc<Execution>>,
}

impl Memory {
    /// Runs pairs of gold query and prediction on their first database.
    pub fn run_ahead<'a>(
        &mut self,
        seat: &mut Seat<'_>,
        pairs: impl Iterator<Item = (&'a Source, &'a str, &'a str)>,
    ) -> Result<()> {
        self.forget();
        let all = seat.limits().max_rows;
        let (mut statements, mut seen) = (Vec::new(), HashSet::new());
        for (source, gold, prediction) in pairs {
            if self.known(source, gold).is_none() && seen.insert((source, gold, true)) {
                statements.push((true, Statement { source, sql: gold, max_rows: all }));
            }
            if prediction != gold && seen.insert((source, prediction, false)) {
                statements.push((false, Statement { source, sql: prediction, max_rows: ROWS_AHEAD }));
            }
        }
        let asked: Vec<Statement<'_>> = statements.iter().map(|(_, statement)| *statement).collect();
        for ((is_gold, statement), execution) in statements.iter().zip(seat.execute_all(&asked)?) {
            let (source, sql) = (statement.source.clone(), statement.sql.to_owned());
            let execution = Arc::new(execution);
            if *is_gold {
                self.golds.push_front((source, sql, execution));
            } else {
                self.predictions.insert((source, sql), execution);
            }
        }
        Ok(())
    }

    /// The gold query's result, run if it is not remembered.
    pub fn gold(&mut self, seat: &mut Seat<'_>, source: &Source, sql: &str) -> Result<Arc<Execution>> {
        if let Some(known) = self.known(source, sql) {
            return Ok(known);
        }
        let execution = Arc::new(seat.execute(source, sql, seat.limits().max_rows)?);
        self.golds.push_front((source.clone(), sql.to_owned(), Arc::clone(&execution)));
        // A question on hundreds of databases.
        self.golds.truncate(4 * KEPT);
        Ok(execution)
    }

    /// A prediction's result, as far as it can still be the gold query's with so many rows: one row more is enough to
    /// be wrong.
    pub fn prediction(&self, seat: &mut Seat<'_>, source: &Source, sql: &str, rows: usize) -> Result<Arc<Execution>> {
        match self.predictions.get(&(source.clone(), sql.to_owned())) {
            Some(known) if !known.truncated || known.table.len() > rows => Ok(Arc::clone(known)),
            _ => seat.execute(source, sql, rows as u64 + 1).map(Arc::new),
        }
    }

    fn known(&self, source: &Source, sql: &str) -> Option<Arc<Execution>> {
        let found = self.golds.iter().find(|(of, text, _)| of == source && text == sql);
        found.map(|(_, _, execution)| Arc::clone(execution))
    }

    /// Keeps what is small and was used lately.
    fn forget(&mut self) {
        self.predictions.clear();
        self.golds.retain(|(_, _, execution)| execution.table.cells.len() <= KEPT_CELLS);
        self.golds.truncate(KEPT);
    }
}
