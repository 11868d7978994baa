//! The pivot between models and everything that measures them: text in, embeddings out.

use serde::{Deserialize, Serialize};

use crate::{Embeddings, Error, GroupMaxima, fingerprint::Fingerprint, progress::Progress};

/// Side of a search that a text stands on; prompts and lengths may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Text that is searched for.
    Query,
    /// Text that is searched in.
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

/// Way in which the vectors of two texts become a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Interaction {
    /// The inner product of one vector a text; the cosine, where vectors have length 1.
    #[default]
    InnerProduct,
    /// Late interaction of several vectors a text, mostly one a token: the sum over the query's vectors of the greatest
    /// inner product with one of the document's.
    MaxSim,
}

/// The reason why texts could not be encoded.
pub type EncodeError = Box<dyn std::error::Error + Send + Sync>;

/// Anything that turns texts into vectors.
pub trait Encoder {
    /// A short name for tables and files.
    fn name(&self) -> String;

    /// Length of a vector.
    fn dim(&self) -> usize;

    /// Everything that decides the vectors (weights, prompts, lengths), for caches and manifests.
    fn fingerprint(&self) -> Fingerprint;

    /// Way in which its vectors are compared. Those of MaxSim have length 1.
    fn interaction(&self) -> Interaction {
        Interaction::InnerProduct
    }

    /// The device that it computes on, as a help to search its vectors; none for the processor.
    fn group_maxima(&self) -> Option<Box<dyn GroupMaxima>> {
        None
    }

    /// Text `i` of the result is `texts[i]`. With one vector a text, an empty text has a vector too.
    fn encode(&self, texts: &[&str], side: Side, progress: &mut dyn FnMut(Progress))
    -> Result<Embeddings, EncodeError>;

    /// [`Encoder::encode`] for what needs one vector a text; an encoder of several is an error, before it encodes.
    fn encode_single_vector(
        &self,
        texts: &[&str],
        side: Side,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Embeddings, EncodeError> {
        match self.interaction() {
            Interaction::InnerProduct => self.encode(texts, side, progress),
            Interaction::MaxSim => {
                Err(Error::data(self.name(), "gives one vector a token, and one a text is wanted here").into())
            }
        }
    }
}
