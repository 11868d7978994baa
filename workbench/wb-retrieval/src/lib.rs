//! Vectors to rankings, rankings to metrics: BM25, exact dense search and late interaction, their fusion, how good the
//! result is; hard negatives.
//!
//! A [`retriever::Retriever`] ranks a corpus for queries; [`metric`] measures rankings and [`ties`] says how much of
//! a number is luck with equal scores; [`wb_core::statistics`] says how much of it is luck with queries. [`mining`]
//! turns rankings into hard negatives.
//! Nothing here knows a model, a benchmark or a terminal.

pub mod beir;
pub mod bm25;
mod byte_vectors;
pub mod code_tokens;
pub mod dense;
mod device_search;
mod error;
pub mod evaluate;
pub mod faiss;
pub mod flat;
pub mod fuse;
pub mod inner_product;
mod judged;
mod kernel;
mod mapped;
pub mod maxsim;
pub mod metric;
pub mod mining;
pub mod npy;
pub mod own_ranks;
pub mod remembered;
pub mod retriever;
mod stem;
pub mod ties;
pub mod token_index;
pub mod top_k;
pub mod trec;

pub use bm25::{Bm25, Bm25Config};
pub use byte_vectors::ByteVectors;
pub use dense::DenseRetriever;
pub use evaluate::evaluate_ordered;
pub use flat::Flat;
pub use fuse::FusionConfig;
pub use judged::JudgedRanking;
pub use mapped::{MappedBytes, map_file};
pub use metric::{Metric, Tied};
pub use remembered::Remembered;
pub use retriever::Retriever;
pub use ties::TieRule;
pub use token_index::{TokenIndex, TokenIndexBuilder};
pub use wb_core::{Error, Result};
