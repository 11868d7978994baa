//! The pivot between cross-encoders and what uses them: a query and a document in, one score out.

use crate::{fingerprint::Fingerprint, progress::Progress};

/// Anything that reads a query and a document together and says how well they fit.
///
/// The score of two texts depends on these two alone, to the last bit: so scores can be kept, and what is computed from
/// them does not depend on what else was scored.
pub trait Reranker: Sync {
    /// A short name for tables and files.
    fn name(&self) -> String;

    /// Everything that decides the scores (weights, lengths), for caches and manifests.
    fn fingerprint(&self) -> Fingerprint;

    /// The scores of queries with documents, in order; a higher one fits better.
    fn score(
        &self,
        texts: &[(&str, &str)],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<f32>, Box<dyn std::error::Error + Send + Sync>>;
}
