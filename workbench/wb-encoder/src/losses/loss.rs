//! What a loss is: the scores of a batch to one number, and its gradient at the scores.

use std::fmt::Debug;

use burn::tensor::Tensor;
use wb_core::{Error, Pair, Result};

use super::{
    labels::Labels,
    sides::{HostSides, TensorSides},
};

/// The scores of a batch to one number, to be made small.
///
/// A loss asks the sides for the scores that it needs: everyone against everyone
/// ([`Block`](super::Block)), or each document with its own anchor. What the sides are made of and what turns them
/// into scores is the matter of the [`Similarity`](crate::similarities::Similarity).
///
/// Each loss is written twice, like each similarity: composed of tensors, and by hand for host memory.
pub trait Loss: Debug + Send + Sync {
    /// What the data must have for it.
    fn needs(&self) -> Needs;

    /// The loss, `[1]`.
    fn forward(&self, sides: &TensorSides<'_>, labels: &Labels) -> Tensor<1>;

    /// The loss in host memory. Its gradient at the scores goes to the sides.
    fn forward_backward_host(&self, sides: &mut HostSides<'_>, labels: &Labels) -> f64;
}

/// What a loss needs of the data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Needs {
    /// The loss's name in YAML.
    pub loss: &'static str,
    /// Whether other pairs of the batch are an anchor's negatives, so that bigger batches are harder.
    pub in_batch: bool,
    /// Whether every pair has to bring a hard negative.
    pub negatives: bool,
    /// Whether every document has to have a score.
    pub scores: bool,
    /// Whether a guide has to embed the texts too.
    pub guide: bool,
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

    /// The same for `pairs` pairs, of each of which is known how many hard negatives are used and how many scores there are.
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
                "mine hard negatives first, or take `loss: { mnrl: {} }`; `train.negatives` must not be 0",
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
