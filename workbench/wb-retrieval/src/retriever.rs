//! Anything that ranks a corpus for queries.

use ndarray::Array2;
use wb_core::{Corpus, Progress, Ranking, fingerprint::Fingerprint};

use crate::Result;

/// A corpus that can be searched with texts. Documents are known by their position in it.
pub trait Retriever {
    /// A short name for tables and files.
    fn name(&self) -> String;

    /// Everything that decides the scores: settings, weights, the corpus.
    fn fingerprint(&self) -> Fingerprint;

    /// Number of documents in the corpus.
    fn n_documents(&self) -> usize;

    /// The score of every document for every query, `[queries, documents]`. This is
    /// `4 × queries × documents` bytes, so give long lists of queries in blocks ([`block_of`]).
    fn scores(&self, queries: &[&str], progress: &mut dyn FnMut(Progress)) -> Result<Array2<f32>>;

    /// Gives at most `k` hits for each query, best first; equal scores are ordered by position, lower first.
    /// A lexical retriever leaves out documents that share no word with the query.
    fn rank(&self, queries: &[&str], k: usize, progress: &mut dyn FnMut(Progress)) -> Result<Vec<Ranking>>;
}

/// Number of queries that make a block of scores of at most 256 MiB, at least one.
pub fn block_of(n_documents: usize) -> usize {
    ((256 << 20) / 4 / n_documents.max(1)).max(1)
}

/// Use of the titles that BEIR keeps apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Titles {
    /// A title, a space, the text, trimmed; as MTEB does.
    #[default]
    Join,
    /// The text alone; as CoIR does.
    Leave,
}

/// The texts of a corpus as they are indexed, in order.
pub fn document_texts(corpus: &Corpus, titles: Titles) -> Vec<String> {
    let joined = |document: &wb_core::Document| match titles {
        Titles::Join if !document.title.is_empty() => format!("{} {}", document.title, document.text).trim().to_owned(),
        _ => document.text.clone(),
    };
    corpus.documents().iter().map(joined).collect()
}
