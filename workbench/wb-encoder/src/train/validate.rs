//! MRR and loss on held-out pairs.

use std::ops::Range;

use ndarray::{Array2, ArrayView2, s};
use rayon::prelude::*;
use wb_core::{Pair, Seed, Side};

use super::{
    config::TrainConfig,
    table::PairTable,
    token_cache::{Tokenize, Wanted},
};
use crate::{Backbone, Result, TokenBatch, losses::LossOnEmbeddings};

/// Texts embedded in one call.
const TEXTS: usize = 128;

/// Held-out pairs with their tokens.
#[derive(Debug)]
pub struct Validation {
    anchors: Vec<Vec<u32>>,
    positives: Vec<Vec<u32>>,
    anchor_texts: Vec<u32>,
    positive_texts: Vec<u32>,
    batch_pairs: usize,
}

/// What a validation found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Mean reciprocal rank of each anchor's positive among all positives.
    pub mrr: f64,
    /// Share of anchors whose positive is first.
    pub recall_at_1: f64,
    /// Mean loss over the pairs, in batches like training's and without hard negatives.
    pub loss: f64,
}

impl Validation {
    /// Takes at most as many of the pairs as the config says, drawn by seed and kept in order, and tokenizes them
    /// with training's prompts and the encoder's own limits.
    pub fn new(pairs: &[Pair], config: &TrainConfig, seed: Seed, tokenize: &Tokenize<'_>) -> Result<Self> {
        let mut chosen = seed.permutation_at("validation", 0, pairs.len());
        chosen.truncate(config.validate.pairs);
        chosen.sort_unstable();
        let table = PairTable::in_memory(pairs, 0);
        let tokens = |side: Side| -> Result<Vec<Vec<u32>>> {
            let text = |index: &usize| {
                let pair = &pairs[*index];
                let text = if side == Side::Query { &pair.anchor } else { &pair.positive };
                tokenize(Wanted { text, side, prompt: config.prompts.of(&pair.origin.dataset, side), max_tokens: None })
            };
            chosen.par_iter().map(text).collect()
        };
        Ok(Self {
            anchors: tokens(Side::Query)?,
            positives: tokens(Side::Document)?,
            anchor_texts: chosen.iter().map(|i| table.anchor(*i as u32)).collect(),
            positive_texts: chosen.iter().map(|i| table.documents(*i as u32)[0]).collect(),
            batch_pairs: config.batch.pairs.max(2),
        })
    }

    /// How many pairs.
    pub fn len(&self) -> usize {
        self.anchors.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.anchors.is_empty()
    }

    /// Measures a backbone. `go_on` is told how many texts are embedded; where it says no, nothing is measured.
    pub fn measure(
        &self,
        backbone: &dyn Backbone,
        loss: &LossOnEmbeddings,
        go_on: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Option<Measured>> {
        let Some(anchors) = embed(backbone, &self.anchors, go_on)? else { return Ok(None) };
        let Some(positives) = embed(backbone, &self.positives, &mut |texts| go_on(self.len() + texts))? else {
            return Ok(None);
        };
        let scores = loss.similarity().forward_host(anchors.view(), positives.view()).scores;
        let ranks = ranks(scores.view(), &self.positive_texts);
        let count = ranks.len().max(1) as f64;
        let mut sum = 0.0;
        for batch in batches(self.len(), self.batch_pairs) {
            let blocked = loss.blocked(&self.anchor_texts[batch.clone()], &self.positive_texts[batch.clone()]);
            let rows = s![batch.clone(), ..];
            sum += loss.forward(anchors.slice(rows), positives.slice(rows), &blocked) * batch.len() as f64;
        }
        Ok(Some(Measured {
            mrr: ranks.iter().map(|rank| 1.0 / *rank as f64).sum::<f64>() / count,
            recall_at_1: ranks.iter().filter(|rank| **rank == 1).count() as f64 / count,
            loss: sum / count,
        }))
    }
}

/// Rank of column `i` in row `i`, from 1. Ties count against it, so that a model that gives everything
/// the same vector ranks last, and so do scores that are not numbers; equal texts do not compete.
fn ranks(scores: ArrayView2<'_, f32>, texts: &[u32]) -> Vec<usize> {
    let rank = |row: usize| {
        let own = scores[[row, row]];
        let ahead =
            |(score, text): (&f32, &u32)| *text != texts[row] && (*score >= own || score.is_nan() || own.is_nan());
        1 + scores.row(row).iter().zip(texts).filter(|pair| ahead(*pair)).count()
    };
    (0..texts.len()).into_par_iter().map(rank).collect()
}

/// Neighbouring pairs in batches of `size`; one pair left over joins the batch before it.
fn batches(count: usize, size: usize) -> Vec<Range<usize>> {
    let mut batches: Vec<Range<usize>> =
        (0..count).step_by(size).map(|start| start..(start + size).min(count)).collect();
    if batches.len() > 1 && batches.last().is_some_and(|last| last.len() == 1) {
        batches.pop();
        if let Some(last) = batches.last_mut() {
            last.end = count;
        }
    }
    batches
}

fn embed(
    backbone: &dyn Backbone,
    texts: &[Vec<u32>],
    go_on: &mut dyn FnMut(usize) -> bool,
) -> Result<Option<Array2<f32>>> {
    let mut rows = Array2::zeros((texts.len(), backbone.dim()));
    for (part, texts) in texts.chunks(TEXTS).enumerate() {
        let first = part * TEXTS;
        let embedded = backbone.embed(&TokenBatch::new(texts.iter().map(Vec::as_slice)))?;
        rows.slice_mut(s![first..first + texts.len(), ..]).assign(&embedded);
        if !go_on(first + texts.len()) {
            return Ok(None);
        }
    }
    Ok(Some(rows))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_and_what_is_no_number_count_against_and_equal_texts_do_not() {
        let nan = f32::NAN;
        let scores =
            ndarray::arr2(&[[0.9, 0.9, 0.1, 0.0], [0.5, 0.4, 0.3, 0.4], [0.7, 0.7, 0.6, 0.9], [nan, nan, nan, nan]]);
        // Texts 1 and 3 are equal. Row 0 ties with column 1; row 1 loses to column 0; row 2 to all; row 3 knows nothing.
        assert_eq!(ranks(scores.view(), &[10, 11, 12, 11]), [2, 2, 4, 3]);
    }

    #[test]
    fn a_single_pair_is_not_a_batch() {
        assert_eq!(batches(9, 4), [0..4, 4..9]);
        assert_eq!(batches(10, 4), [0..4, 4..8, 8..10]);
        assert_eq!(batches(1, 4), vec![0..1]);
        assert!(batches(0, 4).is_empty());
    }
}
