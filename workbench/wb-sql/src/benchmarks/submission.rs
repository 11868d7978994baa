//! Predictions to be judged, with the data that they belong to.

use std::path::Path;

use serde_json::Value as Json;

use crate::execute::{JudgeOptions, WorkerPool};

/// A file of predictions, and how it is judged. Each benchmark takes the fields that mean something to it.
#[derive(Debug)]
pub struct SqlSubmission<'a> {
    /// The folder with the benchmark's data; for synthetic-sql the file of rows.
    pub dataset: &'a Path,
    /// The rows of that file as objects, where it is no JSON.
    pub rows: Option<&'a [Json]>,
    /// The predicted SQL, in the order of the questions.
    pub predictions: &'a Path,
    /// Another file of questions than that of the data.
    pub questions: Option<&'a Path>,
    /// Another folder of databases than that of the data.
    pub databases: Option<&'a Path>,
    /// Rules of the verdicts, for Spider.
    pub options: JudgeOptions,
    /// Times that each right query of BIRD is measured for R-VES.
    pub iterations: usize,
    /// Workers that run statements.
    pub pool: WorkerPool,
}
