//! The weights of one pass, and the layers built of them.

use std::ops::Range;

use burn::tensor::{Bool, FloatDType, Tensor, activation, module};

#[cfg(feature = "fused")]
use super::fused;
use super::{
    bias::Added,
    masks::{self, Masks, SiteMasks},
    traffic::Link,
    weights::Weights,
};
#[cfg(feature = "fused")]
use crate::dropout::attention_element;
use crate::{
    dropout::adapter_site,
    error::Result,
    lora::{self, Adapter},
};

/// Keys that a query looks at beyond which a tracked pass keeps no probabilities: of longer texts they are more than all
/// else that a layer keeps, and computing them again costs less than it spares.
pub(super) const KEPT: usize = 256;

/// The weights and the dropout of one forward pass.
pub(crate) struct Pass<'a> {
    pub(crate) link: &'a Link,
    pub(crate) weights: &'a Weights,
    pub(crate) adapter: Option<&'a Adapter>,
    /// Dropout masks of the pass, where something is dropped.
    pub(crate) masks: Option<Masks<'a>>,
    /// Type of the numbers in products where it is another than theirs.
    pub(crate) products: Option<FloatDType>,
}

impl Pass<'_> {
    /// x·Wᵀ + b, and s·(drop(x)·Aᵀ)·Bᵀ where the layer has an adapter. DoRA's adds
    /// (g − 1)∘(drop(x)·Wᵀ) + g∘s·(drop(x)·Aᵀ)·Bᵀ instead, with g = m / ‖W + s·B·A‖, whose divisor is a constant in the
    /// gradient (Liu et al. 2024, arXiv 2402.09353, section 4.3).
    ///
    /// # Shapes
    /// `x` is `[rows, in]`, the result `[rows, out]`.
    pub(crate) fn linear(&self, layer: &str, x: Tensor<2>) -> Result<Tensor<2>> {
        let bias = self.weights.vector(&format!("{layer}.bias"))?;
        self.adapted(layer, x, Some(bias))
    }

    /// The product of a linear layer without a bias.
    pub(crate) fn product(&self, layer: &str, x: Tensor<2>) -> Result<Tensor<2>> {
        self.adapted(layer, x, None)
    }

    fn adapted(&self, layer: &str, x: Tensor<2>, bias: Option<Tensor<1>>) -> Result<Tensor<2>> {
        let weight = self.weights.matrix(&format!("{layer}.weight"))?;
        let mut y = self.multiply(x.clone(), weight.clone().transpose());
        if let Some(bias) = bias {
            y = y + bias.unsqueeze();
        }
        let Some(adapter) = self.adapter else { return Ok(y) };
        let Ok(a) = self.weights.matrix(&format!("{layer}.lora_A.weight")) else { return Ok(y) };
        let b = self.weights.matrix(&format!("{layer}.lora_B.weight"))?;
        let x = self.drop(x, adapter_site(layer), adapter.dropout);
        let scale = adapter.scale_of(layer);
        // Scaled where it is smallest.
        let low = self.multiply(x.clone(), a.clone().transpose()).mul_scalar(scale);
        let update = self.multiply(low, b.clone().transpose());
        let Ok(magnitude) = self.weights.vector(&lora::magnitude(layer)) else { return Ok(y + update) };
        let whole = weight.clone().cast(FloatDType::F32) + b.detach().matmul(a.detach()).mul_scalar(scale);
        let lengths = (whole.clone() * whole).sum_dim(1).sqrt().clamp_min(lora::SHORTEST_ROW).detach();
        let factor = magnitude.unsqueeze::<2>() / lengths.transpose();
        let base = self.multiply(x, weight.transpose());
        Ok(y + (base.clone() + update) * factor - base)
    }

    /// a·b, computed in the pass's precision; the result is in 32-bit floats.
    pub(crate) fn multiply<const D: usize>(&self, a: Tensor<D>, b: Tensor<D>) -> Tensor<D> {
        let product = self.multiply_only(a, b);
        if self.products.is_some() { product.cast(FloatDType::F32) } else { product }
    }

    /// a·b in numbers of the pass's products.
    fn multiply_only<const D: usize>(&self, a: Tensor<D>, b: Tensor<D>) -> Tensor<D> {
        match self.products {
            None => a.matmul(b),
            Some(float) => a.cast(float).matmul(b.cast(float)),
        }
    }

    /// Means of keys' values, each by what softmax makes of `query · key · scale`, and what is `added`, over the keys, some of
    /// them dropped with this probability.
    ///
    /// # Shapes
    /// Queries, keys and values are `[texts, heads, places, size]`, the result has the places of the queries.
    pub(crate) fn attend(
        &self,
        [mut query, key, value]: [Tensor<4>; 3],
        scale: f64,
        added: Added,
        places: [&Range<usize>; 2],
        (site, probability): (u64, f64),
    ) -> Tensor<4> {
        // Before the product in 16 bits, whose sums may be greater than these can be.
        let (before, after) = if self.products.is_some() { (scale, 1.0) } else { (1.0, scale) };
        if before != 1.0 {
            query = query.mul_scalar(before);
        }
        #[cfg(feature = "fused")]
        if self.link.fuses() {
            if query.is_tracked() && key.dims()[2] > KEPT {
                let tensors = match self.products {
                    None => [query, key, value],
                    Some(float) => [query, key, value].map(|tensor| tensor.cast(float)),
                };
                let elements = attention_elements(tensors[0].dims()[1], places);
                let drops = self.site(site, probability).map(|masks| (masks, elements, probability));
                let means = fused::attend(tensors, added, after, drops);
                return if self.products.is_some() { means.cast(FloatDType::F32) } else { means };
            }
            let scores = self.multiply_only(query, key.transpose());
            let numbers = self.products.unwrap_or(FloatDType::F32);
            let weights = fused::weigh(scores, added.sum(), after, numbers);
            return self.multiply(self.drop_attention(weights, places, site, probability), value);
        }
        let mut scores = self.multiply(query, key.transpose());
        if after != 1.0 {
            scores = scores.mul_scalar(after);
        }
        let weights = activation::softmax(scores + added.sum(), 3);
        self.multiply(self.drop_attention(weights, places, site, probability), value)
    }

    /// Layer normalization over the last dimension, with something to add where the layer has it.
    pub(crate) fn layer_norm(&self, layer: &str, x: Tensor<2>, epsilon: f64) -> Result<Tensor<2>> {
        let scale = self.weights.vector(&format!("{layer}.weight"))?;
        let shift = self.weights.vector(&format!("{layer}.bias")).ok();
        #[cfg(feature = "fused")]
        if self.link.fuses() {
            return Ok(fused::normalize(x, scale, shift, epsilon, true));
        }
        Ok(module::layer_norm(x, scale, shift, epsilon))
    }

    /// x / √(mean of x² + ε) · w over the last dimension (Zhang and Sennrich 2019, arXiv 1910.07467); `from_one`, what is
    /// kept of `w` is its difference from one.
    pub(crate) fn rms_norm(&self, layer: &str, x: Tensor<2>, epsilon: f64, from_one: bool) -> Result<Tensor<2>> {
        let kept = self.weights.vector(&format!("{layer}.weight"))?;
        let scale = if from_one { kept.add_scalar(1.0) } else { kept };
        #[cfg(feature = "fused")]
        if self.link.fuses() {
            return Ok(fused::normalize(x, scale, None, epsilon, false));
        }
        let size = (x.clone() * x.clone()).mean_dim(1).add_scalar(epsilon).sqrt();
        Ok(x / size * scale.unsqueeze())
    }

    /// Dropout while training on `[texts · tokens, width]`: elements become 0 with the given probability,
    /// the others grow by 1 / (1 - probability).
    pub(crate) fn drop(&self, x: Tensor<2>, site: u64, probability: f64) -> Tensor<2> {
        let Some(masks) = self.site(site, probability) else { return x };
        let ([rows, width], texts) = (x.dims(), masks.texts().max(1));
        #[cfg(feature = "fused")]
        if self.link.fuses() {
            let elements = fused::Elements { heads: None, rows: rows / texts, first: 0, step: width as u32 };
            return fused::drop(x, masks, elements, probability);
        }
        let mask = masks.keys().dropped(masks::elements(rows / texts, width, self.link), probability);
        masked(x, mask.reshape([rows, width]), probability)
    }

    /// Dropout on the attention probabilities of queries and keys at these places, `[texts, heads, queries, keys]`.
    fn drop_attention(&self, x: Tensor<4>, places: [&Range<usize>; 2], site: u64, probability: f64) -> Tensor<4> {
        let Some(masks) = self.site(site, probability) else { return x };
        #[cfg(feature = "fused")]
        if self.link.fuses() {
            let elements = attention_elements(x.dims()[1], places);
            return fused::drop(x, masks, elements, probability);
        }
        let of_heads = masks.keys().of_heads(x.dims()[1], self.link);
        let mask = of_heads.dropped(masks::attention_elements(places, self.link), probability);
        masked(x, mask, probability)
    }

    /// The masks of this pass's texts at a place in the network, where something is dropped there.
    fn site(&self, site: u64, probability: f64) -> Option<SiteMasks<'_>> {
        self.masks.as_ref().filter(|_| probability > 0.0)?.at(site)
    }
}

/// The elements of attention's probabilities of queries and keys at these places.
#[cfg(feature = "fused")]
fn attention_elements(heads: usize, [queries, keys]: [&Range<usize>; 2]) -> fused::Elements {
    let first = attention_element(queries.start) + keys.start as u32;
    fused::Elements { heads: Some(heads), rows: queries.len(), first, step: attention_element(1) }
}

fn masked<const D: usize>(x: Tensor<D>, mask: Tensor<D, Bool>, probability: f64) -> Tensor<D> {
    x.mask_fill(mask, 0.0).mul_scalar(1.0 / (1.0 - probability))
}
