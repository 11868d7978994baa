//! Contents of a run's files: written by training, data and benchmarks, read by reports, comparisons and notebooks.

pub mod ab;
pub mod annotation;
pub mod compare;
pub mod data;
pub mod journal;
pub mod negatives;
pub mod outcome;
pub mod rag;
pub mod sql;
