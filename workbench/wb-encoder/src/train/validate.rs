//! MRR and loss on held-out pairs.

use std::ops::Range;

use ndarray::{Array2, ArrayView2, s};
use rayon::prelude::*;
use wb_core::{Embeddings, Pair, Seed, Side};

use super::{
    Guide, Meeting,
    config::TrainConfig,
    table::PairTable,
    token_cache::{Tokenize, TokenizeRequest},
};
use crate::{
    backbone::Backbone,
    batch::TokenBatch,
    error::Result,
    late_interaction::LateInteraction,
    losses::{GuideEmbeddings, Labels, LossOnEmbeddings, PairLabels},
    similarities::{TokenSimilarity, TokenTexts},
    text_vectors::TextVectors,
};

/// Texts embedded in one call.
pub(super) const TEXTS: usize = 128;

/// Held-out pairs with their tokens.
#[derive(Debug)]
pub struct Validation {
    pub(super) anchors: Vec<Vec<u32>>,
    pub(super) positives: Vec<Vec<u32>>,
    /// Hard negatives, pair after pair; none where the loss can do without.
    pub(super) negatives: Vec<Vec<u32>>,
    /// Beginnings of the pairs' hard negatives, and the end.
    pub(super) negative_starts: Vec<usize>,
    anchor_texts: Vec<u32>,
    /// The positive, then the hard negatives.
    pub(super) document_texts: Vec<Vec<u32>>,
    scores: Vec<Vec<f32>>,
    pub(super) batch_pairs: usize,
    /// The guide's embeddings of the anchors and the positives, where the loss has a guide.
    guide: Option<GuideEmbeddings>,
    /// The reason why the loss cannot be measured.
    pub(super) without_loss: Option<String>,
}

/// Scores of a validation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValidationScores {
    /// Mean reciprocal rank of each anchor's positive among all positives.
    pub mrr: f64,
    /// Share of anchors whose positive is first.
    pub recall_at_1: f64,
    /// Mean loss over the pairs, in batches like training's, and without hard negatives where the loss can do without.
    /// Nothing where the pairs lack what the loss needs.
    pub loss: Option<f64>,
}

impl Validation {
    /// Takes at most as many of the pairs as the config says, drawn by seed and kept in order, and tokenizes them
    /// with training's prompts and the encoder's own limits.
    pub fn new(
        pairs: &[Pair],
        loss: &LossOnEmbeddings,
        config: &TrainConfig,
        seed: Seed,
        tokenize: &Tokenize<'_>,
        guide: Option<&Guide<'_>>,
    ) -> Result<Self> {
        // A text without a label has no positive to be found.
        let labeled: Vec<&Pair> = pairs.iter().filter(|pair| !pair.is_text()).collect();
        let mut chosen = seed.permutation_at("validation", 0, labeled.len());
        chosen.truncate(config.validate.pairs);
        chosen.sort_unstable();
        let pairs: Vec<Pair> = chosen.into_iter().map(|index| labeled[index].clone()).collect();
        let needs = loss.needs();
        let without_loss = needs.check_pairs(&pairs, config.negatives).err().map(|error| error.to_string());
        let used = if needs.negatives && without_loss.is_none() { config.negatives } else { 0 };
        let table = PairTable::in_memory(&pairs, used);
        let tokens = |side: Side, of: &dyn Fn(&Pair) -> Vec<String>| -> Result<Vec<Vec<u32>>> {
            let wanted = pairs.iter().flat_map(|pair| {
                let prompt = config.prompts.of(&pair.origin.dataset, side);
                of(pair).into_iter().map(move |text| (text, prompt))
            });
            let tokens = |(text, prompt): (String, Option<&str>)| {
                tokenize(TokenizeRequest { text: &text, side, prompt, max_tokens: None })
            };
            wanted.collect::<Vec<_>>().into_par_iter().map(tokens).collect()
        };
        let hard = |pair: &Pair| pair.negatives.len().min(used);
        let ends = pairs.iter().scan(0, |end, pair| {
            *end += hard(pair);
            Some(*end)
        });
        Ok(Self {
            anchors: tokens(Side::Query, &|pair| vec![pair.anchor.clone()])?,
            positives: tokens(Side::Document, &|pair| vec![pair.positive.clone()])?,
            negatives: tokens(Side::Document, &|pair| {
                pair.negatives[..hard(pair)].iter().map(|text| text.to_string()).collect()
            })?,
            negative_starts: std::iter::once(0).chain(ends).collect(),
            anchor_texts: (0..pairs.len() as u32).map(|pair| table.anchor(pair)).collect(),
            document_texts: (0..pairs.len() as u32).map(|pair| table.documents(pair).to_vec()).collect(),
            scores: pairs.iter().map(|pair| pair.scores.clone()).collect(),
            batch_pairs: config.batch.pairs.max(2),
            guide: guide.map(|guide| seen_by(guide, &pairs)).transpose()?,
            without_loss,
        })
    }

    /// Number of pairs.
    pub fn len(&self) -> usize {
        self.anchors.len()
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.anchors.is_empty()
    }

    /// Number of texts that are embedded for a measurement.
    pub fn texts(&self) -> usize {
        2 * self.anchors.len() + self.negatives.len()
    }

    /// The reason why validations have no loss, where they have none.
    pub fn warning(&self) -> Option<String> {
        let reason = self.without_loss.as_ref().filter(|_| !self.is_empty())?;
        Some(format!("no loss is measured on validation pairs: {reason}"))
    }

    /// Measures a backbone: ranks by the loss's similarity, with one vector a token by MaxSim, also where the loss is XTR's;
    /// the loss by its own. A cross-encoder ranks few documents a query (20). `go_on` is told how many texts are embedded; where it says no, nothing is measured.
    pub fn measure(
        &self,
        backbone: &dyn Backbone,
        meeting: Meeting<'_>,
        loss: &LossOnEmbeddings,
        go_on: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Option<ValidationScores>> {
        if let Meeting::Together(reading, max_tokens) = meeting {
            return self.measure_pairs(backbone, (reading, max_tokens), loss, go_on);
        }
        let (late, n) = (meeting.late_interaction(), self.len());
        let mut embed = |ids: &[Vec<u32>], side, before: usize| {
            embed(backbone, late, ids, side, &mut |texts| go_on(before + texts))
        };
        let Some(anchors) = embed(&self.anchors, Side::Query, 0)? else { return Ok(None) };
        let Some(positives) = embed(&self.positives, Side::Document, n)? else { return Ok(None) };
        let Some(negatives) = embed(&self.negatives, Side::Document, 2 * n)? else { return Ok(None) };
        let positive_texts: Vec<u32> = self.document_texts.iter().map(|texts| texts[0]).collect();
        let mut found = Vec::with_capacity(n);
        if late.is_none() {
            let scores = loss.similarity().compare(anchors.view(), positives.view());
            found = ranks(scores.view(), &positive_texts, 0);
        } else {
            for first in (0..n).step_by(TEXTS) {
                let some = anchors.part(first..(first + TEXTS).min(n));
                let (scores, _) = TokenSimilarity::Maxsim.scores(TokenTexts::new(&some)?, TokenTexts::new(&positives)?);
                found.extend(ranks(scores.view(), &positive_texts, first));
            }
        }
        let mut sum = 0.0;
        for batch in batches(n, self.batch_pairs).into_iter().filter(|_| self.without_loss.is_none()) {
            let labels = self.labels(&batch)?;
            let documents = self.documents(&labels, batch.start, &positives, &negatives)?;
            sum += loss.forward(&anchors.part(batch.clone()), &documents, &labels)? * batch.len() as f64;
        }
        Ok(Some(self.measured(&found, sum)))
    }

    pub(super) fn measured(&self, ranks: &[usize], sum_of_losses: f64) -> ValidationScores {
        let count = ranks.len().max(1) as f64;
        ValidationScores {
            mrr: ranks.iter().map(|rank| 1.0 / *rank as f64).sum::<f64>() / count,
            recall_at_1: ranks.iter().filter(|rank| **rank == 1).count() as f64 / count,
            loss: self.without_loss.is_none().then_some(sum_of_losses / count),
        }
    }

    pub(super) fn labels(&self, pairs: &Range<usize>) -> Result<Labels> {
        let of = |pair: usize| PairLabels {
            anchor: self.anchor_texts[pair],
            documents: &self.document_texts[pair],
            scores: &self.scores[pair],
        };
        let labels = Labels::by_column(&pairs.clone().map(of).collect::<Vec<_>>());
        let Some(guide) = &self.guide else { return Ok(labels) };
        let rows = |side: &Array2<f32>| side.slice(s![pairs.clone(), ..]).to_owned();
        let guide = GuideEmbeddings { anchors: rows(&guide.anchors), documents: rows(&guide.documents) };
        labels.with_guide(guide)
    }

    /// The documents of a batch in their order, out of all positives and all hard negatives.
    fn documents(
        &self,
        labels: &Labels,
        first_pair: usize,
        positives: &Embeddings,
        negatives: &Embeddings,
    ) -> Result<Embeddings> {
        let (mut values, mut offsets) = (Vec::new(), vec![0]);
        let mut taken = vec![0; labels.pairs()];
        for owner in labels.owners() {
            let owner = *owner as usize;
            let (pair, rank) = (first_pair + owner, taken[owner]);
            let text = match rank {
                0 => positives.of(pair),
                _ => negatives.of(self.negative_starts[pair] + rank - 1),
            };
            values.extend(text.iter());
            offsets.push(offsets[offsets.len() - 1] + text.nrows());
            taken[owner] += 1;
        }
        Embeddings::of_values(values, positives.dim(), positives.offsets().map(|_| offsets))
    }
}

fn seen_by(guide: &Guide<'_>, pairs: &[Pair]) -> Result<GuideEmbeddings> {
    let anchors: Vec<&str> = pairs.iter().map(|pair| pair.anchor.as_str()).collect();
    let positives: Vec<&str> = pairs.iter().map(|pair| pair.positive.as_str()).collect();
    GuideEmbeddings::of(guide, &anchors, &positives)
}

/// Ranks from 1 of each anchor's own column among all, of anchors from pair `first` on. Ties count against it, so that a
/// model that gives everything the same vector ranks last, and so do scores that are not numbers; equal texts do not
/// compete.
fn ranks(scores: ArrayView2<'_, f32>, texts: &[u32], first: usize) -> Vec<usize> {
    let rank = |row: usize| {
        let (own, own_text) = (scores[[row, first + row]], texts[first + row]);
        let ahead =
            |(score, text): (&f32, &u32)| *text != own_text && (*score >= own || score.is_nan() || own.is_nan());
        1 + scores.row(row).iter().zip(texts).filter(|pair| ahead(*pair)).count()
    };
    (0..scores.nrows()).into_par_iter().map(rank).collect()
}

/// Neighbouring pairs in batches of `size`; one pair left over joins the batch before it.
pub(super) fn batches(count: usize, size: usize) -> Vec<Range<usize>> {
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
    late: Option<&LateInteraction>,
    texts: &[Vec<u32>],
    side: Side,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> Result<Option<Embeddings>> {
    let mut rows = Array2::zeros((if late.is_none() { texts.len() } else { 0 }, backbone.dim()));
    let mut vectors = late.map(|late| TextVectors::new(Some(late), backbone, texts.len()));
    for (part, texts) in texts.chunks(TEXTS).enumerate() {
        let first = part * TEXTS;
        match &mut vectors {
            Some(vectors) => vectors.append(backbone, texts, side, &mut |_, _| Ok(()))?,
            None => {
                let embedded = backbone.embed(&TokenBatch::new(texts.iter().map(Vec::as_slice)))?;
                rows.slice_mut(s![first..first + texts.len(), ..]).assign(&embedded);
            }
        }
        if !go_on(first + texts.len()) {
            return Ok(None);
        }
    }
    match vectors {
        Some(vectors) => Ok(Some(vectors.finish()?)),
        None => Ok(Some(Embeddings::dense(rows))),
    }
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
        assert_eq!(ranks(scores.view(), &[10, 11, 12, 11], 0), [2, 2, 4, 3]);
    }

    #[test]
    fn a_single_pair_is_not_a_batch() {
        assert_eq!(batches(9, 4), [0..4, 4..9]);
        assert_eq!(batches(10, 4), [0..4, 4..8, 8..10]);
        assert_eq!(batches(1, 4), vec![0..1]);
        assert!(batches(0, 4).is_empty());
    }
}
