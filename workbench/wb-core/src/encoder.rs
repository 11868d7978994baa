//! The pivot between models and everything that measures them: text in, embeddings out.

use serde::{Deserialize, Serialize};

use crate::{Embeddings, TokenEmbeddings, progress::Progress};

/// Which side of a search a text stands on; prompts and lengths may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// What is searched for.
    Query,
    /// What is searched in.
    Document,
}

impl Side {
    /// One text of this side, in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Document => "document",
        }
    }

    /// Several texts of this side, in words.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Query => "queries",
            Self::Document => "documents",
        }
    }

    /// Turning texts of this side into vectors, as a stage of progress.
    pub fn encoding(self) -> &'static str {
        match self {
            Self::Query => "encoding queries",
            Self::Document => "encoding documents",
        }
    }
}

/// Anything that turns texts into vectors.
pub trait Encoder {
    /// A short name for tables and files.
    fn name(&self) -> String;

    /// Length of a vector.
    fn dim(&self) -> usize;

    /// Everything that decides the vectors (weights, prompts, lengths), for caches and manifests.
    fn fingerprint(&self) -> crate::fingerprint::Fingerprint;

    /// Row `i` of the result belongs to `texts[i]`. An empty text has a vector too.
    fn encode(
        &self,
        texts: &[&str],
        side: Side,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Embeddings, Box<dyn std::error::Error + Send + Sync>>;

    /// The same encoder by one vector a token (late interaction), where it gives those; [`Encoder::encode`] is an error then.
    fn late_interaction(&self) -> Option<&dyn TokenEncoder> {
        None
    }
}

/// Anything that turns texts into one vector a token. Texts are compared by MaxSim: the sum over the query's tokens of
/// the greatest inner product with one of the document's.
pub trait TokenEncoder {
    /// Text `i` of the result is `texts[i]`. Vectors have length 1.
    fn encode_tokens(
        &self,
        texts: &[&str],
        side: Side,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<TokenEmbeddings, Box<dyn std::error::Error + Send + Sync>>;
}
