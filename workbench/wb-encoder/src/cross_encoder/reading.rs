//! The way in which a cross-encoder reads two texts: as one, to one number.

use serde::{Deserialize, Serialize};

use super::{PairTokens, ScoreActivation, template::PairTemplate};
use crate::{batch::TokenBatch, models::ScoreHead};

/// Two texts to one, a state to a number, a number to a score.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairReading {
    /// Special tokens before, between and after the two, and types of tokens.
    pub(crate) template: PairTemplate,
    /// The layers on the network's state; their weights stand among the network's.
    pub head: ScoreHead,
    /// The function on their number.
    pub activation: ScoreActivation,
}

impl PairReading {
    /// Number of special tokens of two texts.
    pub fn special_tokens(&self) -> usize {
        self.template.special_tokens()
    }

    /// True where tokens of the two texts are of different types.
    pub(crate) fn tells_types(&self) -> bool {
        self.template.largest_type() > 0
    }

    /// Two texts' own tokens as one text of at most so many, cut from the longer one until both fit.
    pub fn join(&self, first: &[u32], second: &[u32], max_tokens: usize) -> PairTokens {
        self.template.join(first, second, max_tokens)
    }

    /// The documents of a batch as they are read, each behind its own anchor: texts of `batch` are the anchors, then the
    /// documents, and `owners` has each document's anchor.
    pub fn read(&self, batch: &TokenBatch, owners: &[u32], max_tokens: usize) -> TokenBatch {
        let anchors = batch.len() - owners.len();
        let pair = |(document, owner): (usize, &u32)| {
            self.join(batch.text(*owner as usize), batch.text(anchors + document), max_tokens)
        };
        self.batch(&owners.iter().enumerate().map(pair).collect::<Vec<_>>())
    }

    /// Pairs as a model takes them.
    pub fn batch<'t>(&self, pairs: impl IntoIterator<Item = &'t PairTokens, IntoIter: Clone>) -> TokenBatch {
        let pairs = pairs.into_iter();
        let batch = TokenBatch::new(pairs.clone().map(|pair| pair.ids.as_slice()));
        match self.tells_types() {
            true => batch.with_types(pairs.flat_map(|pair| &pair.types).copied().collect()),
            // Types that are all 0 are what a batch has without.
            false => batch,
        }
    }
}
