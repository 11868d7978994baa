//! A model computed by burn on any of its devices.

use burn::tensor::{Device, Gradients as BurnGradients, Tensor, TensorData};
use ndarray::{Array2, ArrayView2};

use crate::{
    Architecture, Backbone, Dropout, Error, Gradients, Model, Parameters, Pooling, Result, Tape, TokenBatch,
    device::guarded,
    device_weights::{Pass, Weight, Weights},
    lora::Adapter,
    models::{bert, static_embedding},
    padded::{Padded, groups},
};

/// Tokens computed at once, padding included: bounds the memory of a pass.
const BUDGET: usize = 8192;

/// A model on a burn device.
pub struct BurnBackbone {
    architecture: Architecture,
    pooling: Pooling,
    adapter: Option<Adapter>,
    parameters: Parameters,
    weights: Weights,
    device: Device,
    name: String,
}

/// The graphs of a tracked pass.
struct Graphs {
    /// Positions of texts in the batch, and their embeddings with all that led to them.
    groups: Vec<(Vec<usize>, Tensor<2>)>,
    /// The weights as the pass saw them.
    weights: Weights,
}

impl BurnBackbone {
    /// Brings a model to a device; `name` is the device's, for messages.
    pub fn new(model: Model, device: &Device, name: &str) -> Result<Self> {
        let device = device.clone().without_autodiff();
        let weights = guarded(name, || Weights::upload(&model.parameters, &device))?;
        let Model { architecture, parameters, pooling, adapter } = model;
        Ok(Self { architecture, pooling, adapter, parameters, weights, device, name: name.to_owned() })
    }

    /// Embeddings of some texts: `[texts, dim]`.
    fn forward(
        &self,
        batch: &TokenBatch,
        group: &[usize],
        weights: &Weights,
        dropout: Option<Dropout>,
    ) -> Result<Tensor<2>> {
        let texts: Vec<&[u32]> = group.iter().map(|at| batch.text(*at)).collect();
        let limit = self.architecture.max_tokens();
        let padded = Padded::new(&texts, self.architecture.vocab_size(), limit, &self.device)?;
        let pass = Pass { weights, adapter: self.adapter.as_ref(), dropout };
        match &self.architecture {
            Architecture::Bert(config) => Ok(padded.pool(bert::forward(config, &pass, &padded)?, self.pooling)),
            Architecture::StaticEmbedding(config) => static_embedding::forward(config, &pass, &padded),
        }
    }

    fn download<const D: usize>(&self, tensor: Tensor<D>) -> Result<Vec<f32>> {
        tensor.try_into_vec_as::<f32>().map_err(|error| Error::Device {
            device: self.name.clone(),
            message: format!("reading a result back failed: {error}"),
            hint: None,
        })
    }

    /// Writes a group's rows to their places in the batch.
    fn scatter(&self, group: &[usize], rows: Tensor<2>, all: &mut Array2<f32>) -> Result<()> {
        let values = self.download(rows)?;
        for (row, at) in values.chunks_exact(self.dim()).zip(group) {
            all.row_mut(*at).assign(&ndarray::aview1(row));
        }
        Ok(())
    }
}

impl Backbone for BurnBackbone {
    fn dim(&self) -> usize {
        self.architecture.dim()
    }

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn update(&mut self, change: &mut dyn FnMut(&mut Parameters)) -> Result<()> {
        change(&mut self.parameters);
        self.weights = guarded(&self.name, || Weights::upload(&self.parameters, &self.device))?;
        Ok(())
    }

    fn embed(&self, batch: &TokenBatch) -> Result<Array2<f32>> {
        guarded(&self.name, || {
            let mut all = Array2::zeros((batch.len(), self.dim()));
            for group in groups(batch, BUDGET) {
                self.scatter(&group, self.forward(batch, &group, &self.weights, None)?, &mut all)?;
            }
            Ok(all)
        })
    }

    fn embed_tracked(&self, batch: &TokenBatch, dropout: Option<Dropout>) -> Result<(Array2<f32>, Tape)> {
        guarded(&self.name, || {
            let weights = self.weights.tracked(&self.parameters);
            let mut all = Array2::zeros((batch.len(), self.dim()));
            let mut tracked = Vec::new();
            for (number, group) in groups(batch, BUDGET).into_iter().enumerate() {
                // Groups differ in their masks, and the same batch has the same groups.
                let seed = |d: Dropout| Dropout { seed: d.seed.wrapping_add((number as u64) << 32) };
                let rows = self.forward(batch, &group, &weights, dropout.map(seed))?;
                self.scatter(&group, rows.clone().without_autodiff(), &mut all)?;
                tracked.push((group, rows));
            }
            let tape: Tape = Box::new(Graphs { groups: tracked, weights });
            Ok((all, tape))
        })
    }

    fn backward(&self, tape: Tape, at_embeddings: ArrayView2<'_, f32>, gradients: &mut Gradients) -> Result<()> {
        let Ok(graphs) = tape.downcast::<Graphs>() else {
            return Err(
                wb_core::Error::data("backward pass", "got the tape of another backbone, expected its own").into()
            );
        };
        guarded(&self.name, || {
            // The surrogate Σ embedding · gradient has the loss's gradients.
            let mut surrogate: Option<Tensor<1>> = None;
            for (group, rows) in graphs.groups {
                if !rows.is_tracked() {
                    continue;
                }
                let values: Vec<f32> = group.iter().flat_map(|at| at_embeddings.row(*at).to_vec()).collect();
                let gradient = Tensor::<2>::from_data(TensorData::new(values, [group.len(), self.dim()]), &self.device);
                let sum = (rows * gradient).sum();
                surrogate = Some(match surrogate {
                    Some(others) => others + sum,
                    None => sum,
                });
            }
            let Some(surrogate) = surrogate else { return Ok(()) };
            let found = surrogate.backward();
            for (at, weight) in graphs.weights.iter().enumerate().filter(|(_, weight)| weight.is_tracked()) {
                let values = match weight {
                    Weight::Vector(tensor) => self.gradient(tensor, &found)?,
                    Weight::Matrix(tensor) => self.gradient(tensor, &found)?,
                };
                for (sum, value) in gradients.at_mut(at).iter_mut().zip(values) {
                    *sum += value;
                }
            }
            Ok(())
        })
    }
}

impl BurnBackbone {
    /// A weight's gradient; empty where the weight had no part in the result.
    fn gradient<const D: usize>(&self, tensor: &Tensor<D>, found: &BurnGradients) -> Result<Vec<f32>> {
        tensor.grad(found).map_or(Ok(Vec::new()), |gradient| self.download(gradient))
    }
}
