//! The interface of a loss: its config, with what training has to know of it, and the way from scores to one number.

use wb_core::{EncoderRef, Error, Pair, Result};

use super::{LossConfig, labels::Labels, sides::BatchSides};
use crate::similarities::{Similarity, SimilarityConfig};

/// The scores of a batch to one number, to be made small.
///
/// A loss asks the sides for the scores that it needs: everyone against everyone
/// ([`Block`](super::Block)), or each document with its own anchor. What the sides are made of and what turns them
/// into scores is the matter of the [`Similarity`].
///
/// It is computed in host memory, whatever device the encoder is on: it is a small part of a step, and so its value does
/// not depend on the device. A config is the loss at one length of embeddings, and says what the training around it has
/// to know; [`LossOnEmbeddings`](super::LossOnEmbeddings) is the whole of it.
pub trait Loss {
    /// Demands that it makes on the data.
    fn needs(&self) -> Needs;

    /// Computes the loss, and hands its gradient at the scores to the sides.
    fn forward_backward(&self, sides: &mut BatchSides<'_>, labels: &Labels) -> f64 {
        // Losses that are none on own scores have a way of their own.
        let Some(loss) = self.on_own_scores() else { return f64::NAN };
        let (loss, at_scores) = loss.of_scores(&sides.own_scores(labels.owners()), labels);
        sides.add_own_gradient(labels.owners(), &at_scores);
        loss
    }

    /// Itself, where it asks for nothing but the scores of documents with their own anchors: such a loss trains
    /// cross-encoders too.
    fn on_own_scores(&self) -> Option<&dyn OwnScoresLoss> {
        None
    }

    /// True where cosines are no scores for it: it takes the numbers of a cross-encoder alone.
    fn is_of_pairs(&self) -> bool {
        false
    }

    /// The lengths that embeddings are cut to, with what the loss at each counts.
    fn cuts(&self) -> Vec<WeightedDim> {
        vec![WeightedDim { dim: usize::MAX, weight: 1.0 }]
    }

    /// The similarity that vectors are compared by: a distance of its own, or the given one.
    fn similarity(&self, given: SimilarityConfig) -> Box<dyn Similarity> {
        given.init()
    }

    /// The reason why it cannot compare texts token by token; nothing where it can.
    fn not_by_tokens(&self) -> Option<&'static str> {
        None
    }

    /// Fills in what suits a similarity where nothing was given; nothing where the loss stays as it is.
    fn suited(&self, _similarity: SimilarityConfig) -> Option<LossConfig> {
        None
    }

    /// The encoder that has to embed the texts too, where the loss asks one.
    fn guide(&self) -> Option<&EncoderRef> {
        None
    }

    /// The key that names this encoder, which is also what it is called.
    fn guide_key(&self) -> &'static str {
        "guide"
    }

    /// The number that scores are multiplied by before a softmax, where the loss has one: the inverse of a temperature.
    fn scale(&self) -> Option<f64> {
        None
    }

    /// The loss with another scale; nothing where it has no such number.
    fn with_scale(&self, _scale: f64) -> Option<LossConfig> {
        None
    }

    /// Refuses values that make no sense.
    fn validate(&self, _key: &str) -> Result<()> {
        Ok(())
    }
}

/// A loss on the scores of documents with their own anchors.
pub trait OwnScoresLoss {
    /// The loss of scores, `[D]`, in the order of the labels' documents, and its gradient there.
    fn of_scores(&self, scores: &[f32], labels: &Labels) -> (f64, Vec<f32>);
}

/// A length that embeddings are cut to, and what the loss there counts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeightedDim {
    /// The first so many numbers; `usize::MAX` for all.
    pub dim: usize,
    /// The loss is multiplied by this.
    pub weight: f64,
}

/// Demands that a loss makes on the data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// The loss's name in YAML.
    pub loss: &'static str,
    /// True where other pairs of the batch are an anchor's negatives, so that bigger batches are harder.
    pub in_batch: bool,
    /// True where every pair has to bring a hard negative.
    pub negatives: bool,
    /// True where every document has to have a score.
    pub scores: bool,
    /// True where a guide has to embed the texts too.
    pub guide: bool,
    /// True where the guide's embeddings have to be as long as the model's.
    pub guide_dim: bool,
    /// True where a text without a label, which belongs to no pair, is enough.
    pub texts: bool,
}

impl Needs {
    /// Refuses a batch that lacks something.
    pub fn check(&self, labels: &Labels) -> Result<()> {
        let lack = |message: &str| Err(Error::data("a batch", format!("{message}, and `{}` needs it", self.loss)));
        if self.scores && labels.scores().iter().any(Option::is_none) {
            return lack("has a document without a score");
        }
        if self.guide && labels.guide().is_none() {
            return lack("has no embeddings of a guide");
        }
        if self.negatives {
            let mut has = vec![false; labels.pairs()];
            labels.owners().iter().skip(labels.pairs()).for_each(|owner| has[*owner as usize] = true);
            if has.contains(&false) {
                return lack("has a pair without a hard negative");
            }
        }
        Ok(())
    }

    /// Refuses pairs that lack something, by the id of the first one; `negatives` are used of each at most.
    pub fn check_pairs(&self, pairs: &[Pair], negatives: usize) -> Result<()> {
        let counts = |pair: usize| (pairs[pair].negatives.len().min(negatives), pairs[pair].scores.len());
        self.check_counts(pairs.len(), &counts, &|pair| Ok(pairs[pair].id.clone()))
    }

    /// Checks `pairs` pairs, of each of which is known how many hard negatives are used and how many scores there are.
    pub fn check_counts(
        &self,
        pairs: usize,
        counts: &dyn Fn(usize) -> (usize, usize),
        id: &dyn Fn(usize) -> Result<String>,
    ) -> Result<()> {
        let first = |lacks: &dyn Fn((usize, usize)) -> bool| {
            let first = (0..pairs).find(|pair| lacks(counts(*pair)))?;
            Some((first, (0..pairs).filter(|pair| lacks(counts(*pair))).count()))
        };
        if self.negatives
            && let Some((pair, count)) = first(&|(negatives, _)| negatives == 0)
        {
            let message = format!("has no hard negative, as {count} of {pairs} pairs, and `{}` needs one", self.loss);
            return Err(Error::data(format!("pair {}", id(pair)?), message).with_hint(
                "mine hard negatives first, with `negatives.fill: true` where a margin leaves pairs none, or take \
                 `loss: { mnrl: {} }`; `train.negatives` must not be 0",
            ));
        }
        if self.scores
            && let Some((pair, count)) = first(&|(negatives, scores)| scores < 1 + negatives)
        {
            let (negatives, found) = counts(pair);
            let message = format!(
                "has {found} scores, expected {}: the positive's and one for each hard negative; so have {count} of {pairs} pairs, and `{}` needs them",
                1 + negatives,
                self.loss
            );
            let hint = "name the field of the scores in the source, as in `fields: { scores: scores }`";
            return Err(Error::data(format!("pair {}", id(pair)?), message).with_hint(hint));
        }
        Ok(())
    }
}
