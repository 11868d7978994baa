//! Lengths of texts in tokens: those of prepared pairs, or assumed ones.

use std::path::Path;

use anyhow::Result;
use wb_core::{Pair, Side};
use wb_encoder::{Folder, folder::MaxTokens};

use crate::{config::Experiment, data::evenly};

/// Pairs whose texts are looked at.
const SAMPLE: usize = 256;
/// Tokens of a description where nothing is known.
const QUERY: usize = 24;
/// Tokens of a function where nothing is known.
const DOCUMENT: usize = 200;
/// Bytes of a token of code or prose, for a tokenizer that is yet to be learned.
const BYTES: usize = 4;

/// Mean lengths in tokens, after texts were cut.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lengths {
    /// Mean length of a query.
    pub query: f64,
    /// Mean length of a document.
    pub document: f64,
    /// True where nothing but limits is known of the texts.
    pub assumed: bool,
}

impl Lengths {
    /// Lengths of common texts, cut at an encoder's limits.
    pub fn assumed(most: MaxTokens, expansion: usize) -> Self {
        let query = QUERY.max(expansion).min(most.query);
        Self { query: query as f64, document: DOCUMENT.min(most.document) as f64, assumed: true }
    }

    /// Lengths of prepared training pairs, evenly chosen. A tokenizer that is there counts its tokens; one that is yet
    /// to be learned is taken to make one of every four bytes.
    pub fn of_pairs(file: &Path, pairs: usize, experiment: &Experiment, encoder: &Folder) -> Result<Self> {
        let sample = evenly(file, pairs.div_ceil(SAMPLE).max(1))?;
        let expansion = expansion(encoder);
        if sample.is_empty() {
            return Ok(Self::assumed(encoder.max_tokens, expansion));
        }
        let encoder_config = experiment.encoder.as_ref();
        let has_tokenizer =
            experiment.has_pretrained() || encoder_config.is_some_and(|config| config.from_teacher().is_some());
        let mean = |text: fn(&Pair) -> &str, side: Side| -> Result<f64> {
            let texts: Vec<&str> = sample.iter().map(text).collect();
            let most = encoder.max_tokens.of(side);
            let tokens: usize = match has_tokenizer {
                true => {
                    encoder.tokenizer.encode_all(encoder.prompts.of(side), &texts, most)?.iter().map(Vec::len).sum()
                }
                false => texts.iter().map(|text| (text.len() / BYTES + 1).min(most)).sum(),
            };
            Ok(tokens as f64 / texts.len() as f64)
        };
        let query = mean(|pair| &pair.anchor, Side::Query)?;
        let document = mean(|pair| &pair.positive, Side::Document)?;
        Ok(Self { query: query.max(expansion as f64), document, assumed: false })
    }
}

/// Tokens that queries are filled up to.
pub fn expansion(encoder: &Folder) -> usize {
    let wanted = encoder.late_interaction.as_ref().map_or(0, |late| late.config().expansion);
    wanted.min(encoder.max_tokens.query)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assumed_lengths_keep_to_the_limits() {
        let of = |query, document, expansion| {
            let lengths = Lengths::assumed(MaxTokens { query, document }, expansion);
            (lengths.query, lengths.document)
        };
        assert_eq!(of(256, 512, 0), (24.0, 200.0));
        assert_eq!(of(16, 64, 0), (16.0, 64.0));
        assert_eq!(of(32, 64, 32), (32.0, 64.0));
        assert_eq!(of(32, 64, 48), (32.0, 64.0));
    }
}
