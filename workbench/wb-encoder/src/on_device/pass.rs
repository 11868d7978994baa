//! The weights of one pass, and the layers built of them.

use std::ops::Range;

use burn::tensor::{Bool, FloatDType, Tensor, activation, module};

#[cfg(feature = "fused")]
use super::fused;
use super::{
    masks::{self, TextKeys},
    traffic::Link,
    weights::Weights,
};
use crate::{
    backbone::Dropout,
    dropout::{MaskKey, adapter_site},
    error::Result,
    lora::{self, Adapter},
};

/// The weights and the dropout of one forward pass.
pub(crate) struct Pass<'a> {
    pub(crate) link: &'a Link,
    pub(crate) weights: &'a Weights,
    pub(crate) adapter: Option<&'a Adapter>,
    pub(crate) dropout: Option<Dropout>,
    /// Type of the numbers in products where it is another than theirs.
    pub(crate) products: Option<FloatDType>,
    /// The texts' places in the whole batch, which decide their dropout masks.
    pub(crate) places: Vec<u64>,
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

    /// Means of keys' values, each by what softmax makes of `query · key · scale + bias` over the keys, some of them dropped.
    ///
    /// # Shapes
    /// Queries, keys and values are `[texts, heads, places, size]`, the result has the places of the queries.
    pub(crate) fn attend(
        &self,
        [mut query, key, value]: [Tensor<4>; 3],
        scale: f64,
        bias: Tensor<4>,
        drop: impl FnOnce(Tensor<4>) -> Tensor<4>,
    ) -> Tensor<4> {
        // Before the product in 16 bits, whose sums may be greater than these can be.
        let (before, after) = if self.products.is_some() { (scale, 1.0) } else { (1.0, scale) };
        if before != 1.0 {
            query = query.mul_scalar(before);
        }
        #[cfg(feature = "fused")]
        if self.link.fuses() {
            let scores = self.multiply_only(query, key.transpose());
            let numbers = self.products.unwrap_or(FloatDType::F32);
            return self.multiply(drop(fused::weigh(scores, bias, after, numbers)), value);
        }
        let mut scores = self.multiply(query, key.transpose());
        if after != 1.0 {
            scores = scores.mul_scalar(after);
        }
        self.multiply(drop(activation::softmax(scores + bias, 3)), value)
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
        let Some(keys) = self.keys(site, probability) else { return x };
        let ([rows, width], texts) = (x.dims(), self.places.len().max(1));
        #[cfg(feature = "fused")]
        if self.link.fuses() {
            let elements = fused::Elements { heads: None, rows: rows / texts, first: 0, step: width as u32 };
            return fused::drop(x, keys.words(), elements, probability);
        }
        let mask = keys.keys().dropped(masks::elements(rows / texts, width, self.link), probability);
        masked(x, mask.reshape([rows, width]), probability)
    }

    /// Dropout on the attention probabilities of queries and keys at these places, `[texts, heads, queries, keys]`.
    pub(crate) fn drop_attention(
        &self,
        x: Tensor<4>,
        [queries, keys]: [&Range<usize>; 2],
        site: u64,
        probability: f64,
    ) -> Tensor<4> {
        let Some(of_texts) = self.keys(site, probability) else { return x };
        #[cfg(feature = "fused")]
        if self.link.fuses() {
            let first = crate::dropout::attention_element(queries.start) + keys.start as u32;
            let heads = Some(x.dims()[1]);
            let elements =
                fused::Elements { heads, rows: queries.len(), first, step: crate::dropout::attention_element(1) };
            return fused::drop(x, of_texts.words(), elements, probability);
        }
        let of_heads = of_texts.keys().of_heads(x.dims()[1], self.link);
        let mask = of_heads.dropped(masks::attention_elements(queries, keys, self.link), probability);
        masked(x, mask, probability)
    }

    /// The keys of this pass's texts at a place in the network, where something is dropped there.
    fn keys(&self, site: u64, probability: f64) -> Option<TextKeys> {
        let dropout = self.dropout.filter(|_| probability > 0.0)?;
        Some(TextKeys::new(MaskKey::of_site(dropout, site), &self.places, self.link))
    }
}

fn masked<const D: usize>(x: Tensor<D>, mask: Tensor<D, Bool>, probability: f64) -> Tensor<D> {
    x.mask_fill(mask, 0.0).mul_scalar(1.0 / (1.0 - probability))
}
