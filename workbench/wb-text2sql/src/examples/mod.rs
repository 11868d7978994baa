//! Examples out of a training split: files, texts to search, pairs to train on, and the guard against leaks.

pub(crate) mod corpus_array;
mod corpus_map;
pub(crate) mod documents;
mod leak;
mod synthetic_rows;
mod training_files;

pub use corpus_map::{ARRAY_NAME, CorpusMap, INDEX_NAME, MAP_NAME, MapEntry};
pub use documents::{DatabaseQuestion, ExampleDocument, TextFormat, TrainingExamples, asked, training};
pub use leak::{Guarded, guard};
pub use training_files::{ExamplesConfig, TrainingFiles};
