//! A similarity and a loss together: embeddings of a batch to the loss and its gradients at the embeddings.

use ndarray::{Array2, s};
use wb_core::Embeddings;

use super::{
    LossConfig,
    labels::Labels,
    loss::{Needs, WeightedDim},
    sides::BatchSides,
};
use crate::{
    error::Result,
    similarities::{Similarity, SimilarityConfig, TokenSimilarity, TokenTexts},
};

/// A loss with its gradients at the embeddings.
#[derive(Debug, Clone)]
pub struct LossGradients {
    /// The loss; what it is a mean of, each loss says.
    pub loss: f64,
    /// Gradient at the anchors' embeddings, `[B, dim]`, or one row a token.
    pub at_anchors: Array2<f32>,
    /// Gradient at the documents' embeddings, `[D, dim]`, or one row a token.
    pub at_documents: Array2<f32>,
}

/// The loss on the embeddings of a whole batch.
#[derive(Debug)]
pub struct LossOnEmbeddings {
    similarity: Box<dyn Similarity>,
    tokens: Option<TokenSimilarity>,
    loss: LossConfig,
}

impl LossOnEmbeddings {
    /// A similarity and a loss. A loss that has a distance of its own takes that instead of the similarity.
    pub fn new(similarity: SimilarityConfig, loss: &LossConfig) -> Self {
        let loss = loss.suited(similarity);
        Self { similarity: loss.inner().similarity(similarity), tokens: similarity.of_tokens(), loss }
    }

    /// The similarity of two vectors.
    pub fn similarity(&self) -> &dyn Similarity {
        self.similarity.as_ref()
    }

    /// The similarity of texts of one vector a token, where the loss is one on those.
    pub fn of_tokens(&self) -> Option<TokenSimilarity> {
        self.tokens
    }

    /// Demands that the loss makes on the data.
    pub fn needs(&self) -> Needs {
        self.loss.needs()
    }

    /// Loss and gradients of B anchors and D documents, D ≥ B, in the order of the labels. An error where the similarity
    /// is one of two vectors and texts have one a token, or the other way round.
    pub fn forward_backward(
        &self,
        anchors: &Embeddings,
        documents: &Embeddings,
        labels: &Labels,
    ) -> Result<LossGradients> {
        self.compute(anchors, documents, labels, true)
    }

    /// Refuses a loss that does not train a cross-encoder, or one that trains nothing else.
    pub(crate) fn check_pair_reading(&self, key: &str, reads_pairs: bool) -> Result<()> {
        self.loss.check_pair_reading(key, reads_pairs)
    }

    /// The loss of a cross-encoder's numbers, `[D]`, in the order of the labels' documents, and its gradient there.
    pub fn of_numbers(&self, numbers: &[f32], labels: &Labels) -> Result<(f64, Vec<f32>)> {
        self.loss.check_pair_reading("train.loss", true)?;
        self.needs().check(labels)?;
        let loss = self.loss.inner().on_own_scores();
        Ok(loss.map_or((f64::NAN, Vec::new()), |loss| loss.of_scores(numbers, labels)))
    }

    /// The loss alone.
    pub fn forward(&self, anchors: &Embeddings, documents: &Embeddings, labels: &Labels) -> Result<f64> {
        Ok(self.compute(anchors, documents, labels, false)?.loss)
    }

    /// Computes the loss and its gradients; untracked, these stay empty.
    fn compute(
        &self,
        anchors: &Embeddings,
        documents: &Embeddings,
        labels: &Labels,
        tracked: bool,
    ) -> Result<LossGradients> {
        self.check(anchors, documents, labels)?;
        if let Some(similarity) = self.tokens {
            let (anchors, documents) = (TokenTexts::new(anchors)?, TokenTexts::new(documents)?);
            let mut sides = BatchSides::of_tokens(similarity, anchors, documents, tracked);
            let loss = self.loss.inner().forward_backward(&mut sides, labels);
            let (at_anchors, at_documents) = sides.finish();
            return Ok(LossGradients { loss, at_anchors, at_documents });
        }
        let zeros = |of: &Embeddings| Array2::zeros(if tracked { of.view().dim() } else { (0, 0) });
        let mut sum = LossGradients { loss: 0.0, at_anchors: zeros(anchors), at_documents: zeros(documents) };
        for (cut, columns) in self.columns(anchors.dim()) {
            let [a, d] = [anchors, documents].map(|side| side.view().slice_move(s![.., ..columns]));
            let mut sides = BatchSides::new(self.similarity(), a, d, tracked);
            sum.loss += cut.weight * self.loss.inner().forward_backward(&mut sides, labels);
            if tracked {
                let (at_anchors, at_documents) = sides.finish();
                sum.at_anchors.slice_mut(s![.., ..columns]).scaled_add(cut.weight as f32, &at_anchors);
                sum.at_documents.slice_mut(s![.., ..columns]).scaled_add(cut.weight as f32, &at_documents);
            }
        }
        Ok(sum)
    }

    /// The cuts, each with how many columns it leaves.
    fn columns(&self, dim: usize) -> impl Iterator<Item = (WeightedDim, usize)> {
        self.loss.inner().cuts().into_iter().map(move |cut| (cut, cut.dim.min(dim)))
    }

    fn check(&self, anchors: &Embeddings, documents: &Embeddings, labels: &Labels) -> Result<()> {
        if self.tokens.is_none() && [anchors, documents].iter().any(|side| side.offsets().is_some()) {
            let message = "compares one vector a text, and these embeddings have one a token";
            return Err(wb_core::Error::value("train.similarity", message).with_hint("similarity: maxsim"));
        }
        labels.check_sides(anchors, documents)?;
        self.needs().check(labels)?;
        self.check_guide(labels, anchors.dim())?;
        self.check_dim(anchors.dim())
    }

    /// Refuses vectors of a guide that have to be as long as the model's and are shorter.
    fn check_guide(&self, labels: &Labels, dim: usize) -> Result<()> {
        match labels.guide().filter(|_| self.needs().guide_dim).map(|guide| guide.anchors.ncols()) {
            Some(found) if found < dim => {
                let message = format!("have {found} numbers, expected {dim}, as many as the model's");
                Err(wb_core::Error::data(format!("embeddings of the {}", self.loss.guide_key()), message))
            }
            _ => Ok(()),
        }
    }

    /// Refuses an embedding shorter than what the loss cuts it to.
    pub fn check_dim(&self, dim: usize) -> Result<()> {
        match self.loss.inner().cuts().iter().find(|cut| cut.dim != usize::MAX && cut.dim > dim) {
            None => Ok(()),
            Some(cut) => {
                let message = format!("{} is longer than the model's embeddings, which have {dim} numbers", cut.dim);
                Err(wb_core::Error::value("train.loss.matryoshka.dims", message))
            }
        }
    }
}
