//! A similarity and a loss together: embeddings of a batch to the loss and its gradients at the embeddings.

use burn::tensor::{Device, Tensor, TensorData};
use ndarray::{Array2, ArrayView2};

use super::{
    LossConfig,
    loss::{Blocked, Loss, ScoreMatrix},
};
use crate::similarities::{Similarity, SimilarityConfig};

/// A loss with its gradients at the embeddings.
#[derive(Debug, Clone)]
pub struct LossGradients {
    /// The loss, mean over the anchors.
    pub loss: f64,
    /// Gradient at the anchors' embeddings, `[B, dim]`.
    pub at_anchors: Array2<f32>,
    /// Gradient at the documents' embeddings, `[D, dim]`.
    pub at_documents: Array2<f32>,
}

/// The loss on the embeddings of a whole batch.
#[derive(Debug)]
pub struct LossOnEmbeddings {
    similarity: Box<dyn Similarity>,
    loss: Box<dyn Loss>,
}

impl LossOnEmbeddings {
    /// A similarity and a loss.
    pub fn new(similarity: SimilarityConfig, loss: &LossConfig) -> Self {
        Self { similarity: similarity.init(), loss: loss.init() }
    }

    /// The similarity.
    pub fn similarity(&self) -> &dyn Similarity {
        self.similarity.as_ref()
    }

    /// What must not count among these texts; see [`Blocked::duplicates`]. Nothing where the loss does not mask.
    pub fn blocked(&self, anchors: &[u32], documents: &[u32]) -> Blocked {
        if self.loss.masks_duplicates() { Blocked::duplicates(anchors, documents) } else { Blocked::default() }
    }

    /// Loss and gradients, computed by hand in host memory.
    ///
    /// # Shapes
    /// `anchors` is `[B, dim]`, `documents` is `[D, dim]`, D ≥ B: the positives in the anchors' order,
    /// then all first hard negatives, and so on.
    pub fn forward_backward(
        &self,
        anchors: ArrayView2<'_, f32>,
        documents: ArrayView2<'_, f32>,
        blocked: &Blocked,
    ) -> LossGradients {
        let mut forward = self.similarity.forward_host(anchors, documents);
        let mut scores = std::mem::take(&mut forward.scores);
        let loss = self.loss.forward_backward_host(&mut scores, blocked);
        let (at_anchors, at_documents) = self.similarity.backward_host(&forward, scores.view());
        LossGradients { loss, at_anchors, at_documents }
    }

    /// The loss alone, in host memory.
    pub fn forward(&self, anchors: ArrayView2<'_, f32>, documents: ArrayView2<'_, f32>, blocked: &Blocked) -> f64 {
        let mut scores = self.similarity.forward_host(anchors, documents).scores;
        self.loss.forward_backward_host(&mut scores, blocked)
    }

    /// [`LossOnEmbeddings::forward_backward`] composed of tensor operations with automatic differentiation on a device:
    /// the reference that the host version is held to.
    pub fn forward_backward_on(
        &self,
        device: &Device,
        anchors: ArrayView2<'_, f32>,
        documents: ArrayView2<'_, f32>,
        blocked: &Blocked,
    ) -> LossGradients {
        let device = device.clone().autodiff();
        let tensor = |rows: ArrayView2<'_, f32>| {
            let shape = [rows.nrows(), rows.ncols()];
            Tensor::<2>::from_data(TensorData::new(rows.iter().copied().collect::<Vec<f32>>(), shape), &device)
                .require_grad()
        };
        let (a, d) = (tensor(anchors), tensor(documents));
        let scores = self.similarity.forward(a.clone(), d.clone());
        let mask = blocked.tensor(anchors.nrows(), documents.nrows(), &device);
        let loss = self.loss.forward(ScoreMatrix { scores, blocked: mask });
        let gradients = loss.backward();
        let array = |of: &Tensor<2>| {
            let [rows, columns] = of.dims();
            let values = of.grad(&gradients).and_then(|g| g.into_data().try_into_vec::<f32>().ok()).unwrap_or_default();
            Array2::from_shape_vec((rows, columns), values).unwrap_or_else(|_| Array2::zeros((rows, columns)))
        };
        let (at_anchors, at_documents) = (array(&a), array(&d));
        let loss = loss
            .into_data()
            .try_into_vec::<f32>()
            .ok()
            .and_then(|values| values.first().copied())
            .map_or(f64::NAN, f64::from);
        LossGradients { loss, at_anchors, at_documents }
    }
}
