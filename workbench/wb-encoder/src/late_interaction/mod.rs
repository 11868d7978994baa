//! Late interaction (Khattab and Zaharia 2020, ColBERT, arXiv 2004.12832): one vector for each token of a text.
//!
//! A vector is a token's state times a matrix, brought to length 1: v = W·h / ‖W·h‖. The matrix, `late_interaction.weight`
//! `[dim, width of a state]`, is a weight like the backbone's own: it trains whole, also beside adapters, and optimizer
//! and checkpoints know nothing else. It is computed on the host, before and after any backbone that gives token states.

mod config;
mod projection;

use wb_core::{Error, Seed, Side};

pub use config::{LateInteractionConfig, Markers};
pub use projection::Projected;

use crate::{
    batch::TokenBatch,
    error::Result,
    models::{WeightInit, WeightSpec, fresh_weight},
    parameters::{Parameter, Parameters},
    tokenizer::Tokenizer,
};

/// The matrix's name among the weights.
pub const WEIGHT: &str = "late_interaction.weight";
/// The ASCII punctuation marks, as Python's `string.punctuation` has them.
pub(crate) const PUNCTUATION: &str = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

/// The rules of late interaction for one tokenizer: the tokens that a text has, and those of them that count.
#[derive(Debug, Clone, PartialEq)]
pub struct LateInteraction {
    config: LateInteractionConfig,
    /// Markers of queries and documents.
    markers: Option<[u32; 2]>,
    /// The token that queries are filled up with.
    mask: Option<u32>,
    /// Tokens of documents that do not count, ascending.
    skipped: Vec<u32>,
    /// Special tokens that stand before a marker.
    before: usize,
}

impl LateInteraction {
    /// Finds the tokens that a config names; one that the tokenizer does not have is an error.
    pub fn new(config: &LateInteractionConfig, tokenizer: &Tokenizer, key: &str) -> Result<Self> {
        config.validate(key)?;
        let marker = |side: &str, token: &str| {
            tokenizer.id(token).ok_or_else(|| {
                let message = format!("the tokenizer has no token `{token}`");
                Error::value(format!("{key}.markers.{side}"), message)
                    .with_hint("BERT's vocabularies have `[unused0]` and `[unused1]`; without `markers` nothing is put before texts")
            })
        };
        let markers = match &config.markers {
            Some(Markers { query, document }) => Some([marker("query", query)?, marker("document", document)?]),
            None => None,
        };
        let mask = tokenizer.mask_token();
        if config.expansion > 0 && mask.is_none() {
            let message = "the tokenizer has no mask token to fill queries up with";
            return Err(Error::value(format!("{key}.expansion"), message).with_hint("expansion: 0"));
        }
        let mut skipped = Vec::new();
        if config.skip_punctuation {
            let mut mark = [0; 4];
            skipped.extend(PUNCTUATION.chars().filter_map(|c| tokenizer.id(c.encode_utf8(&mut mark))));
            skipped.sort_unstable();
        }
        Ok(Self { config: config.clone(), markers, mask, skipped, before: tokenizer.special_tokens_before() })
    }

    /// The keys.
    pub fn config(&self) -> &LateInteractionConfig {
        &self.config
    }

    /// Length of a token's vector.
    pub fn dim(&self) -> usize {
        self.config.dim
    }

    /// Tokens of a text that are not its own: a marker.
    pub fn added_tokens(&self) -> usize {
        usize::from(self.markers.is_some())
    }

    /// Puts a marker into a tokenized text and fills a query up; `ids` had room for the marker.
    pub fn mark(&self, ids: &mut Vec<u32>, side: Side, max_tokens: usize) {
        if let Some([query, document]) = self.markers {
            let marker = if side == Side::Query { query } else { document };
            ids.insert(self.before.min(ids.len()), marker);
        }
        let wanted = self.config.expansion.min(max_tokens);
        if let (Side::Query, Some(mask)) = (side, self.mask)
            && ids.len() < wanted
        {
            ids.resize(wanted, mask);
        }
    }

    /// Token ids of one text after its prompt, with all that belongs to its side; at most `max_tokens`.
    pub fn tokenize(
        &self,
        tokenizer: &Tokenizer,
        prompt: &str,
        text: &str,
        side: Side,
        max_tokens: usize,
    ) -> Result<Vec<u32>> {
        let mut ids = tokenizer.encode(prompt, text, max_tokens.saturating_sub(self.added_tokens()))?;
        self.mark(&mut ids, side, max_tokens);
        Ok(ids)
    }

    /// A batch of texts of these sides, in which nothing attends to the mask tokens that queries were filled up with,
    /// where that was asked for: those at a query's end.
    #[must_use]
    pub fn attending(&self, batch: TokenBatch, side: impl Fn(usize) -> Side) -> TokenBatch {
        let Some(mask) = self.mask.filter(|_| self.config.expansion > 0 && !self.config.attend) else { return batch };
        batch.attending(|at, text| match side(at) {
            Side::Query => text.len() - text.iter().rev().take_while(|id| **id == mask).count(),
            Side::Document => text.len(),
        })
    }

    /// True where a token counts.
    pub fn counts(&self, id: u32, side: Side) -> bool {
        side == Side::Query || self.skipped.binary_search(&id).is_err()
    }

    /// The matrix as it begins: normal, with the standard deviation of PyTorch's linear layer, 1/√(3·width).
    pub fn fresh(&self, width: usize, seed: Seed) -> Parameter {
        let init = WeightInit::Normal((3.0 * width as f32).sqrt().recip());
        fresh_weight(WeightSpec { name: WEIGHT.to_owned(), shape: vec![self.dim(), width], init }, seed)
    }

    /// The matrix's place among the weights.
    fn place(&self, parameters: &Parameters, width: usize) -> Result<usize> {
        let place = parameters.position(WEIGHT);
        match place.filter(|place| parameters.at(*place).shape == [self.dim(), width]) {
            Some(place) => Ok(place),
            None => {
                let found = parameters.get(WEIGHT).map_or_else(|| "none".to_owned(), |p| format!("{:?}", p.shape));
                let message = format!("has the shape {found}, expected [{}, {width}]", self.dim());
                Err(Error::data(WEIGHT, message))
            }
        }
    }
}

#[cfg(test)]
mod tests;
