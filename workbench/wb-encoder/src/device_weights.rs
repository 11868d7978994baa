//! A model's weights as tensors on a device, and the layers built of them.

use std::{collections::HashMap, sync::Arc};

use burn::tensor::{Bool, Device, Tensor, TensorData, module};

use crate::{
    backbone::Dropout,
    dropout,
    error::{Error, Result},
    lora::{self, Adapter},
    parameters::{Parameter, Parameters},
};

/// A weight on a device, laid out as in the model's file.
#[derive(Debug, Clone)]
pub(crate) enum Weight {
    /// A bias, a scale, or a weight per token.
    Vector(Tensor<1>),
    /// An embedding or a linear layer, `[out, in]`.
    Matrix(Tensor<2>),
}

/// All weights of a model on a device, in the parameters' order.
#[derive(Debug, Clone)]
pub(crate) struct Weights {
    list: Vec<Weight>,
    position: Arc<HashMap<String, usize>>,
}

impl Weights {
    /// Copies weights to a device.
    pub(crate) fn upload(parameters: &Parameters, device: &Device) -> Result<Self> {
        let mut list = Vec::with_capacity(parameters.len());
        for parameter in parameters.iter() {
            list.push(match *parameter.shape.as_slice() {
                [n] => Weight::Vector(Tensor::from_data(
                    TensorData::new(parameter.values.floats().into_owned(), [n]),
                    device,
                )),
                [m, n] => Weight::Matrix(Tensor::from_data(
                    TensorData::new(parameter.values.floats().into_owned(), [m, n]),
                    device,
                )),
                _ => {
                    let message = format!("has shape {:?}, expected one or two dimensions", parameter.shape);
                    return Err(Error::data(parameter.name.as_str(), message));
                }
            });
        }
        let position = parameters.iter().enumerate().map(|(at, p)| (p.name.clone(), at)).collect();
        Ok(Self { list, position: Arc::new(position) })
    }

    /// Wants gradients for the weights that train and for no others.
    pub(crate) fn tracked(&self, parameters: &Parameters) -> Self {
        let track = |(weight, parameter): (&Weight, &Parameter)| match (weight, parameter.trainable) {
            (Weight::Vector(tensor), true) => Weight::Vector(tensor.clone().autodiff().require_grad()),
            (Weight::Matrix(tensor), true) => Weight::Matrix(tensor.clone().autodiff().require_grad()),
            (frozen, false) => frozen.clone(),
        };
        Self { list: self.list.iter().zip(parameters.iter()).map(track).collect(), position: self.position.clone() }
    }

    /// The weights in the parameters' order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Weight> {
        self.list.iter()
    }

    fn get(&self, name: &str) -> Option<&Weight> {
        self.position.get(name).map(|at| &self.list[*at])
    }

    /// A weight of one dimension.
    pub(crate) fn vector(&self, name: &str) -> Result<Tensor<1>> {
        match self.get(name) {
            Some(Weight::Vector(tensor)) => Ok(tensor.clone()),
            _ => Err(absent(name)),
        }
    }

    /// A weight of two dimensions.
    pub(crate) fn matrix(&self, name: &str) -> Result<Tensor<2>> {
        match self.get(name) {
            Some(Weight::Matrix(tensor)) => Ok(tensor.clone()),
            _ => Err(absent(name)),
        }
    }
}

fn absent(name: &str) -> Error {
    Error::data(name, "is not among the model's weights, expected it there")
}

/// The weights and the dropout of one forward pass.
pub(crate) struct Pass<'a> {
    pub(crate) weights: &'a Weights,
    pub(crate) adapter: Option<&'a Adapter>,
    pub(crate) dropout: Option<Dropout>,
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
        let mut y = x.clone().matmul(weight.clone().transpose());
        if let Some(bias) = bias {
            y = y + bias.unsqueeze();
        }
        let Some(adapter) = self.adapter else { return Ok(y) };
        let Ok(a) = self.weights.matrix(&format!("{layer}.lora_A.weight")) else { return Ok(y) };
        let b = self.weights.matrix(&format!("{layer}.lora_B.weight"))?;
        let x = self.drop(x, dropout::adapter_site(layer), adapter.dropout);
        let scale = adapter.scale_of(layer);
        let update = x.clone().matmul(a.clone().transpose()).matmul(b.clone().transpose()).mul_scalar(scale);
        let Ok(magnitude) = self.weights.vector(&lora::magnitude(layer)) else { return Ok(y + update) };
        let whole = weight.clone() + b.detach().matmul(a.detach()).mul_scalar(scale);
        let lengths = (whole.clone() * whole).sum_dim(1).sqrt().clamp_min(lora::SHORTEST_ROW).detach();
        let factor = magnitude.unsqueeze::<2>() / lengths.transpose();
        let base = x.matmul(weight.transpose());
        Ok(y + (base.clone() + update) * factor - base)
    }

    /// Layer normalization over the last dimension, with something to add where the layer has it.
    pub(crate) fn layer_norm(&self, layer: &str, x: Tensor<2>, epsilon: f64) -> Result<Tensor<2>> {
        let scale = self.weights.vector(&format!("{layer}.weight"))?;
        Ok(module::layer_norm(x, scale, self.weights.vector(&format!("{layer}.bias")).ok(), epsilon))
    }

    /// x / √(mean of x² + ε) · w over the last dimension (Zhang and Sennrich 2019, arXiv 1910.07467); `from_one`, what is
    /// kept of `w` is its difference from one.
    pub(crate) fn rms_norm(&self, layer: &str, x: Tensor<2>, epsilon: f64, from_one: bool) -> Result<Tensor<2>> {
        let kept = self.weights.vector(&format!("{layer}.weight"))?;
        let scale = if from_one { kept.add_scalar(1.0) } else { kept };
        let size = (x.clone() * x.clone()).mean_dim(1).add_scalar(epsilon).sqrt();
        Ok(x / size * scale.unsqueeze())
    }

    /// Dropout while training on `[texts · tokens, width]`: elements become 0 with the given probability,
    /// the others grow by 1 / (1 - probability).
    pub(crate) fn drop(&self, x: Tensor<2>, site: u64, probability: f64) -> Tensor<2> {
        self.drop_elements(x, site, |at| at as u64, probability)
    }

    /// Dropout on attention probabilities, `[texts, heads, queries, keys]`.
    pub(crate) fn drop_attention(&self, x: Tensor<4>, site: u64, probability: f64) -> Tensor<4> {
        let [_, _, queries, keys] = x.dims();
        let element = |at: usize| {
            let (row, key) = (at / keys, at % keys);
            dropout::attention_element(row / queries, row % queries) + key as u64
        };
        self.drop_elements(x, site, element, probability)
    }

    fn drop_elements<const D: usize>(
        &self,
        x: Tensor<D>,
        site: u64,
        element: impl Fn(usize) -> u64 + Sync,
        probability: f64,
    ) -> Tensor<D> {
        let Some(seed) = self.dropout.filter(|_| probability > 0.0) else { return x };
        let shape = x.shape();
        let n = shape.num_elements() / self.places.len().max(1);
        let mask = dropout::dropped(seed, site, &self.places, n, element, probability);
        let mask = Tensor::<D, Bool>::from_data(TensorData::new(mask, shape), &x.device().without_autodiff());
        x.mask_fill(mask, 0.0).mul_scalar(1.0 / (1.0 - probability))
    }
}

impl Weight {
    /// True where gradients flow to it.
    pub(crate) fn is_tracked(&self) -> bool {
        match self {
            Self::Vector(tensor) => tensor.is_tracked(),
            Self::Matrix(tensor) => tensor.is_tracked(),
        }
    }
}
