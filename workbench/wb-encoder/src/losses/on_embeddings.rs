//! A similarity and a loss together: embeddings of a batch to the loss and its gradients at the embeddings.

use burn::tensor::{Device, Tensor, TensorData};
use ndarray::{Array2, ArrayView2, s};
use wb_core::TokenEmbeddings;

use super::{
    LossConfig,
    labels::Labels,
    loss::{Loss, Needs},
    matryoshka::Cut,
    sides::{HostSides, TensorCompare, TensorSides},
};
use crate::{
    Result,
    similarities::{Similarity, SimilarityConfig, TokenSimilarity},
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
    loss: Box<dyn Loss>,
    cuts: Vec<Cut>,
}

impl LossOnEmbeddings {
    /// A similarity and a loss. A loss that has a distance of its own takes that instead of the similarity.
    pub fn new(similarity: SimilarityConfig, loss: &LossConfig) -> Self {
        let whole = || vec![Cut { dim: usize::MAX, weight: 1.0 }];
        let (inner, cuts) = match &loss.suited(similarity) {
            LossConfig::Matryoshka(config) => ((*config.loss).clone(), config.cuts()),
            other => (other.clone(), whole()),
        };
        let tokens = similarity.of_tokens();
        Self { similarity: inner.similarity(similarity), tokens, loss: inner.init(), cuts }
    }

    /// The similarity of two vectors.
    pub fn similarity(&self) -> &dyn Similarity {
        self.similarity.as_ref()
    }

    /// The similarity of texts of one vector a token, where the loss is one on those.
    pub fn of_tokens(&self) -> Option<TokenSimilarity> {
        self.tokens
    }

    /// Loss and gradients on token embeddings, computed by hand in host memory. B anchors and D documents, D ≥ B, in the
    /// order of the labels. An error where the similarity is one of two vectors.
    pub fn forward_backward_tokens(
        &self,
        anchors: &TokenEmbeddings,
        documents: &TokenEmbeddings,
        labels: &Labels,
    ) -> Result<LossGradients> {
        let similarity = self.check_tokens(anchors, documents, labels)?;
        let mut sides = HostSides::of_tokens(similarity, anchors, documents, true);
        let loss = self.loss.forward_backward_host(&mut sides, labels);
        let (at_anchors, at_documents) = sides.finish();
        Ok(LossGradients { loss, at_anchors, at_documents })
    }

    /// The loss alone on token embeddings.
    pub fn forward_tokens(
        &self,
        anchors: &TokenEmbeddings,
        documents: &TokenEmbeddings,
        labels: &Labels,
    ) -> Result<f64> {
        let similarity = self.check_tokens(anchors, documents, labels)?;
        let mut sides = HostSides::of_tokens(similarity, anchors, documents, false);
        Ok(self.loss.forward_backward_host(&mut sides, labels))
    }

    fn check_tokens(
        &self,
        anchors: &TokenEmbeddings,
        documents: &TokenEmbeddings,
        labels: &Labels,
    ) -> Result<TokenSimilarity> {
        let Some(similarity) = self.tokens else {
            let message = "compares one vector a text, and these embeddings have one a token";
            return Err(wb_core::Error::value("train.similarity", message).with_hint("similarity: maxsim").into());
        };
        labels.check_texts([anchors.len(), documents.len()], [anchors.dim(), documents.dim()])?;
        self.needs().check(labels)?;
        Ok(similarity)
    }

    /// What the data must have for the loss.
    pub fn needs(&self) -> Needs {
        self.loss.needs()
    }

    /// Loss and gradients, computed by hand in host memory.
    ///
    /// # Shapes
    /// `anchors` is `[B, dim]`, `documents` is `[D, dim]`, D ≥ B, in the order of the labels.
    pub fn forward_backward(
        &self,
        anchors: ArrayView2<'_, f32>,
        documents: ArrayView2<'_, f32>,
        labels: &Labels,
    ) -> Result<LossGradients> {
        self.check(anchors, documents, labels)?;
        let mut sum = LossGradients {
            loss: 0.0,
            at_anchors: Array2::zeros(anchors.dim()),
            at_documents: Array2::zeros(documents.dim()),
        };
        for (cut, columns) in self.columns(anchors.ncols()) {
            let [a, d] = [&anchors, &documents].map(|side| side.slice(s![.., ..columns]));
            let mut sides = HostSides::new(self.similarity(), a, d, true);
            sum.loss += cut.weight * self.loss.forward_backward_host(&mut sides, labels);
            let (at_anchors, at_documents) = sides.finish();
            sum.at_anchors.slice_mut(s![.., ..columns]).scaled_add(cut.weight as f32, &at_anchors);
            sum.at_documents.slice_mut(s![.., ..columns]).scaled_add(cut.weight as f32, &at_documents);
        }
        Ok(sum)
    }

    /// The loss alone, in host memory.
    pub fn forward(
        &self,
        anchors: ArrayView2<'_, f32>,
        documents: ArrayView2<'_, f32>,
        labels: &Labels,
    ) -> Result<f64> {
        self.check(anchors, documents, labels)?;
        let mut sum = 0.0;
        for (cut, columns) in self.columns(anchors.ncols()) {
            let [a, d] = [&anchors, &documents].map(|side| side.slice(s![.., ..columns]));
            let mut sides = HostSides::new(self.similarity(), a, d, false);
            sum += cut.weight * self.loss.forward_backward_host(&mut sides, labels);
        }
        Ok(sum)
    }

    /// [`LossOnEmbeddings::forward_backward`] composed of tensor operations with automatic differentiation on a device:
    /// the reference that the host version is held to.
    pub fn forward_backward_on(
        &self,
        device: &Device,
        anchors: ArrayView2<'_, f32>,
        documents: ArrayView2<'_, f32>,
        labels: &Labels,
    ) -> Result<LossGradients> {
        self.check(anchors, documents, labels)?;
        Ok(composed(device, anchors, documents, |a, d| {
            let at_cut = |(cut, columns): (Cut, usize)| {
                let [anchors, documents] = [a, d].map(|side| side.clone().slice([0..side.dims()[0], 0..columns]));
                let sides = TensorSides { compare: TensorCompare::Texts(self.similarity()), anchors, documents };
                self.loss.forward(&sides, labels).mul_scalar(cut.weight)
            };
            let losses: Vec<Tensor<1>> = self.columns(anchors.ncols()).map(at_cut).collect();
            Tensor::cat(losses, 0).sum()
        }))
    }

    /// The same of [`LossOnEmbeddings::forward_backward_tokens`].
    pub fn forward_backward_tokens_on(
        &self,
        device: &Device,
        anchors: &TokenEmbeddings,
        documents: &TokenEmbeddings,
        labels: &Labels,
    ) -> Result<LossGradients> {
        let similarity = self.check_tokens(anchors, documents, labels)?;
        let compare = TensorCompare::Tokens(similarity, anchors.offsets(), documents.offsets());
        Ok(composed(device, anchors.view(), documents.view(), |a, d| {
            self.loss.forward(&TensorSides { compare, anchors: a.clone(), documents: d.clone() }, labels)
        }))
    }

    /// The cuts, each with how many columns it leaves.
    fn columns(&self, dim: usize) -> impl Iterator<Item = (Cut, usize)> {
        self.cuts.iter().map(move |cut| (*cut, cut.dim.min(dim)))
    }

    fn check(&self, anchors: ArrayView2<'_, f32>, documents: ArrayView2<'_, f32>, labels: &Labels) -> Result<()> {
        labels.check_sides(anchors, documents)?;
        self.needs().check(labels)?;
        self.check_dim(anchors.ncols())
    }

    /// Refuses an embedding shorter than what the loss cuts it to.
    pub fn check_dim(&self, dim: usize) -> Result<()> {
        match self.cuts.iter().find(|cut| cut.dim != usize::MAX && cut.dim > dim) {
            None => Ok(()),
            Some(cut) => {
                let message = format!("{} is longer than the model's embeddings, which have {dim} numbers", cut.dim);
                Err(wb_core::Error::value("train.loss.matryoshka.dims", message).into())
            }
        }
    }
}

/// A loss composed of tensor operations, with its gradients at both sides.
fn composed(
    device: &Device,
    anchors: ArrayView2<'_, f32>,
    documents: ArrayView2<'_, f32>,
    loss: impl FnOnce(&Tensor<2>, &Tensor<2>) -> Tensor<1>,
) -> LossGradients {
    let device = device.clone().autodiff();
    let tensor = |rows: ArrayView2<'_, f32>| {
        let shape = [rows.nrows(), rows.ncols()];
        Tensor::<2>::from_data(TensorData::new(rows.iter().copied().collect::<Vec<f32>>(), shape), &device)
            .require_grad()
    };
    let (a, d) = (tensor(anchors), tensor(documents));
    let loss = loss(&a, &d);
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
