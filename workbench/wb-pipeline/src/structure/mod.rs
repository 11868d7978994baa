//! Structure of code: definitions, usages and calls, and how well they are found.

mod asked;
mod bench;

pub(crate) use asked::open_with;
pub use asked::{AnswerForm, AskedChange, SymbolRelation, ask, impact, map, outline};
pub use bench::{BENCHMARK, CARD, QuestionSet, StructureBench};
