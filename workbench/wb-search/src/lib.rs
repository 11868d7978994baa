//! Code search: the files of a project cut into units, an index of their words, and a ranking that says why.
//!
//! [`build()`] makes a [`CodeIndex`] of a folder, [`CodeIndex::update`] brings it to the folder as it is now, and
//! [`CodeIndex::search`] ranks its units for a [`SearchQuestion`]. [`sets`] measures it on questions of others.

pub mod annotations;
pub mod answer;
mod answer_snippets;
mod answer_text;
mod bytes;
mod commit;
mod context;
mod dependencies;
mod excerpts;
mod file_lines;
pub mod files;
mod git;
mod history;
pub mod index;
pub mod issue;
mod parts;
pub mod patterns;
mod place;
pub mod ranking;
pub mod sets;
pub mod structure;
pub mod units;
mod update;
pub mod vectors;
mod watch;
mod words;

pub use annotations::{AnnotationFile, ProjectAnnotations};
pub use answer::{AnswerRequest, SearchAnswer};
pub use commit::head_commit;
pub use context::{ContextWeights, FileContext, SearchContext};
pub use dependencies::dependency;
pub use files::{FileRole, FolderFiles};
pub use index::{Changes, CodeIndex, build};
pub use issue::{IssueWeights, PartedQuestion};
pub use patterns::LinePattern;
pub use place::{IndexPlace, vector_store};
pub use ranking::{FoundUnit, RankingWeights, SearchQuestion};
pub use units::{CodeUnit, cut};
pub use update::IndexUpdate;
pub use vectors::{UnitVectors, VectorEncoder, VectorStore};
pub use watch::FolderWatch;
pub use wb_core::{Error, Result};
