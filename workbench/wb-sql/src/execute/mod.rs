//! Execution accuracy: SQL that nobody has checked runs in child processes, and its results are compared.
//!
//! A [`WorkerPool`] starts workers (child processes that run [`serve`]) and hands statements to them; a worker opens
//! databases read-only, refuses whatever is no query, and gives up at a time-out. A [`ExecutionJudge`] prepares the texts as
//! the test suite of Spider does (Zhong et al. 2020, `exec_eval.py`), runs gold and prediction on every database of a
//! folder, and compares the results under a [`Compat`](crate::Compat).

mod child;
mod columns;
mod databases;
mod equality;
mod error;
mod judge;
mod lexer;
mod memory;
mod now;
mod plug;
mod pool;
mod protocol;
mod python;
mod seat;
mod texts;
mod value;
mod worker;

pub use child::serve;
pub use columns::BUDGET;
pub use databases::{Database, databases};
pub use equality::{Equality, compare};
pub use error::{Error, Result};
pub use judge::{ExecutionJudge, JudgeOptions, Judgement, QueryPair, Status};
pub use now::NOW;
pub use plug::MOST_COMBINATIONS;
pub use pool::WorkerPool;
pub use protocol::{DatabaseSource, StatementOutcome};
pub use python::float as python_float;
pub use seat::{Execution, Seat, Statement, StatementLimits};
pub use texts::prediction_of_line;
pub use value::{CellValue, ResultTable};
pub use worker::WorkerCommand;

pub(crate) use texts::is_blank;
pub(crate) use value::Numbering;

#[cfg(test)]
mod tests;
