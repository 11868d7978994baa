//! BIRD's scores: EX by sets of rows, Soft-F1, and R-VES by measured times.
//!
//! After `evaluation_ex.py`, `evaluation_f1.py` and `evaluation_ves.py` of BIRD's Mini-Dev (Li et al. 2023), for
//! SQLite. What its evaluator does and what is done differently here:
//!
//! - EX compares *sets* of rows: neither order nor duplicates count, the order of columns does. A gold query scored
//!   against itself is right even where it should not be, and wrong where SQLite fails on it; such questions are
//!   reported apart here, and count as 0 as they do there.
//! - The database is that of the gold file; the name behind a prediction is not looked at.
//! - Texts are run as they are: no repairs, `DISTINCT` stays.
//! - A prediction without a statement is wrong here; there it has no rows, and is right where the gold query has none.
//! - Its time-out leaves the statement running; here it ends it. Text that is not UTF-8 is an error there; here the bad
//!   bytes are left out.

mod prediction;
mod run;
mod scores;
mod ves;

pub(crate) use prediction::SEPARATOR;
pub use prediction::prediction;
pub use run::{BirdQuestion, BirdVerdict, judge};
pub use scores::{same_set, soft_f1};
pub use ves::{reward, ves};
