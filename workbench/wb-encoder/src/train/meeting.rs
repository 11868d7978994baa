//! The point at which a query and a document meet.

use wb_core::Error;

use crate::{
    cross_encoder::PairReading, error::Result, folder::Folder, late_interaction::LateInteraction,
    losses::LossOnEmbeddings,
};

/// The point at which a query and a document meet, from late to early.
#[derive(Debug, Clone, Copy)]
pub enum Meeting<'a> {
    /// One vector each.
    Vectors,
    /// One vector for each of their tokens.
    Tokens(&'a LateInteraction),
    /// One text of both, of at most so many tokens, which is read and scored.
    Together(&'a PairReading, usize),
}

impl<'a> Meeting<'a> {
    /// The way of a folder's encoder or cross-encoder.
    pub fn of(folder: &'a Folder) -> Self {
        match (&folder.pair_reading, &folder.late_interaction) {
            (Some(reading), _) => Self::Together(reading, folder.max_tokens.document),
            (None, Some(late)) => Self::Tokens(late),
            (None, None) => Self::Vectors,
        }
    }

    /// The step from token states to one vector each, where there is one.
    pub fn late_interaction(self) -> Option<&'a LateInteraction> {
        match self {
            Self::Tokens(late) => Some(late),
            Self::Vectors | Self::Together(..) => None,
        }
    }

    /// Refuses a loss that is one on something else.
    pub(super) fn check(self, loss: &LossOnEmbeddings) -> Result<()> {
        loss.check_pair_reading("train.loss", matches!(self, Self::Together(..)))?;
        let (message, hint) = match (self, loss.of_tokens().is_some()) {
            (Self::Tokens(_), false) => (
                "compares one vector a text, and the encoder gives one a token",
                "train.similarity=maxsim, or { xtr: {} }",
            ),
            (Self::Vectors, true) => (
                "compares texts token by token, and the encoder gives one vector a text",
                "encoder.late_interaction={}, or train.similarity=cosine",
            ),
            (Self::Together(..), true) => {
                ("compares texts token by token, and a cross-encoder reads two as one", "train.similarity=cosine")
            }
            _ => return Ok(()),
        };
        Err(Error::value("train.similarity", message).with_hint(hint))
    }
}
