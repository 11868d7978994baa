//! Retrieval of examples for text-to-SQL, without encoders and language models: rankings come in, queries and prompts
//! go out.
//!
//! A training split becomes [`Document`]s (database context and SQL); a retriever ranks them for each question, [`guard`]
//! takes out those of the question's own database, and then either a model is prompted with them ([`Prompt`],
//! [`sql_of_answer`]), or the [`Predictor`] re-targets them by rules.

mod answer;
mod assign;
mod build;
mod catalog;
mod cells;
mod conditions;
mod corpus_map;
mod cues;
mod documents;
mod error;
mod form;
mod from_clause;
mod joins;
mod leak;
mod link;
mod measures;
mod names;
mod paired;
mod predict;
mod prompt;
mod render;
mod training_files;
mod vote;
mod words;

pub use answer::sql_of_answer;
pub use catalog::{Catalog, Catalogs, Column, Kind, Table};
pub use cells::{Cells, MOST_TEXTS};
pub use corpus_map::{CorpusMap, INDEX_NAME, MAP_NAME, MapEntry};
pub use documents::{Asked, Document, TextFormat, Training, asked, training};
pub use error::{Error, Result};
pub use leak::{Guarded, guard};
pub use link::{ColumnMention, Links, Literal, Purpose, TableMention, ValueMention};
pub use measures::{Recall, SkeletonMatch, schema_recall, skeleton_match};
pub use paired::{Interval, Mcnemar, bootstrap_difference, mcnemar, wilson};
pub use predict::{Candidate, PredictConfig, Prediction, Predictor, Ran, Reason};
pub use prompt::{DEFAULT_PROMPT, Prompt};
pub use training_files::{ExamplesConfig, TrainingFiles};
pub use vote::{Vote, vote};
