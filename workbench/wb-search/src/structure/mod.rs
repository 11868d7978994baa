//! Structure of a project: what is defined where, who uses it, who calls whom.

mod aim;
mod asked;
mod diff;
mod exact;
mod graph;
mod impact;
mod map;
mod now_lines;
mod outline;
mod page_rank;
mod related;
mod routes;
mod scip;
mod store;
mod tests_for;
mod usages;
mod users;

pub use aim::{AimedQuestion, QuestionAim};
pub use asked::{DefinedAt, FilePlace, GraphAnswer, SymbolQuestion, UsedAt};
pub use diff::{DiffedFile, diff_since, diffed_files};
pub use graph::{ProjectGraph, SymbolPlace};
pub use impact::{ChangeImpact, ProjectChange};
pub use map::ProjectMap;
pub use outline::{OutlineItem, outline};
pub use related::{RelatedSymbol, Relation};
pub use scip::ScipCoverage;
pub(crate) use scip::ScipStore;
pub(crate) use store::StructureStore;
pub use tests_for::ReachingTest;
pub use usages::{CalledSymbol, SymbolUsage};
pub use users::{Followed, SymbolUser};
