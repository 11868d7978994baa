//! A model computed by burn on any of its devices.

use burn::tensor::{Device, Gradients as BurnGradients, Tensor, TensorData};
use ndarray::Array2;

use crate::{
    backbone::{Backbone, BackboneTape, Dropout, Upstream},
    batch::TokenBatch,
    device::guarded,
    device_weights::{Pass, Weight, Weights},
    error::{Result, cannot_use},
    lora::Adapter,
    models::{Architecture, Model, Stack, static_embedding, transformer},
    padded::{Padded, groups},
    parameters::{Gradients, Parameters},
    pooling::Pooling,
    stop::Stop,
};

/// Tokens computed at once, padding included: bounds the memory of a pass.
const BUDGET: usize = 8192;

/// A model on a burn device.
pub struct BurnBackbone {
    architecture: Architecture,
    /// The network, where it is a transformer.
    stack: Option<Stack>,
    pooling: Pooling,
    adapter: Option<Adapter>,
    parameters: Parameters,
    weights: Weights,
    device: Device,
    name: String,
    stop: Stop,
}

/// The graphs of a tracked pass.
struct Graphs {
    groups: Vec<GroupGraph>,
    batch: TokenBatch,
    /// The weights as the pass saw them.
    weights: Weights,
}

/// Some texts of a batch: their positions in it, and their embeddings and token states with all that led to them.
struct GroupGraph {
    texts: Vec<usize>,
    embeddings: Tensor<2>,
    states: Tensor<3>,
}

impl BurnBackbone {
    /// Brings a model to a device; `name` is the device's, for messages.
    pub fn new(model: Model, device: &Device, name: &str) -> Result<Self> {
        let device = device.clone().without_autodiff();
        let weights = guarded(name, || Weights::upload(&model.parameters, &device))?;
        let Model { architecture, parameters, pooling, adapter } = model;
        Ok(Self {
            stack: architecture.stack(),
            architecture,
            pooling,
            adapter,
            parameters,
            weights,
            device,
            name: name.to_owned(),
            stop: Stop::default(),
        })
    }

    /// Embeddings and token states of some texts.
    fn forward(
        &self,
        batch: &TokenBatch,
        group: Vec<usize>,
        weights: &Weights,
        dropout: Option<Dropout>,
    ) -> Result<GroupGraph> {
        let texts: Vec<&[u32]> = group.iter().map(|at| batch.text(*at)).collect();
        let limit = self.architecture.max_tokens();
        let keys: Vec<usize> = group.iter().map(|at| batch.keys(*at)).collect();
        let padded = Padded::new(&texts, &keys, self.architecture.vocab_size(), limit, &self.device)?;
        let known = self.stack.as_ref().and_then(|stack| stack.token_types.as_ref()).map_or(1, |(_, rows)| *rows);
        let types: Vec<&[u32]> = group.iter().map(|at| batch.types_of(*at)).collect();
        let padded = padded.with_types(&types, known)?;
        let places = group.iter().map(|at| batch.place(*at)).collect();
        let pass = Pass { weights, adapter: self.adapter.as_ref(), dropout, places };
        let (embeddings, states) = match (&self.stack, &self.architecture) {
            (Some(stack), _) => {
                let states = transformer::forward(stack, &pass, &padded)?;
                (padded.pool(states.clone(), self.pooling), states)
            }
            (None, Architecture::StaticEmbedding(config)) => static_embedding::forward(config, &pass, &padded)?,
            (None, _) => return Err(wb_core::Error::data("encoder", "is neither a transformer nor a bag")),
        };
        Ok(GroupGraph { texts: group, embeddings, states })
    }

    fn download<const D: usize>(&self, tensor: Tensor<D>) -> Result<Vec<f32>> {
        tensor
            .try_into_vec_as::<f32>()
            .map_err(|error| cannot_use(&self.name, format!("reading a result back failed: {error}")))
    }

    /// Writes a group's embeddings to their places in the batch.
    fn scatter(&self, graph: &GroupGraph, all: &mut Array2<f32>) -> Result<()> {
        let values = self.download(graph.embeddings.clone().without_autodiff())?;
        for (row, at) in values.chunks_exact(self.dim()).zip(&graph.texts) {
            all.row_mut(*at).assign(&ndarray::aview1(row));
        }
        Ok(())
    }

    /// Writes a group's token states to their places in the batch, without padding.
    fn scatter_states(&self, batch: &TokenBatch, graph: &GroupGraph, all: &mut Array2<f32>) -> Result<()> {
        let [_, padded, dim] = graph.states.dims();
        let values = self.download(graph.states.clone().without_autodiff())?;
        for (rows, at) in values.chunks_exact((padded * dim).max(1)).zip(&graph.texts) {
            for (row, token) in rows.chunks_exact(dim).zip(batch.offsets()[*at]..batch.offsets()[at + 1]) {
                all.row_mut(token).assign(&ndarray::aview1(row));
            }
        }
        Ok(())
    }

    /// The tracked pass, with token states where they are wanted.
    fn tracked(
        &self,
        batch: &TokenBatch,
        dropout: Option<Dropout>,
        states: Option<&mut Array2<f32>>,
    ) -> Result<(Array2<f32>, BackboneTape)> {
        let weights = self.weights.tracked(&self.parameters);
        let mut all = Array2::zeros((batch.len(), self.dim()));
        let mut tracked = Vec::new();
        for group in groups(batch, BUDGET) {
            self.stop.check()?;
            let graph = self.forward(batch, group, &weights, dropout)?;
            self.scatter(&graph, &mut all)?;
            tracked.push(graph);
        }
        if let Some(states) = states {
            tracked.iter().try_for_each(|graph| self.scatter_states(batch, graph, states))?;
        }
        let tape: BackboneTape = Box::new(Graphs { groups: tracked, batch: batch.clone(), weights });
        Ok((all, tape))
    }

    /// Σ output · gradient over a group's outputs, whose gradients are the loss's; `None` where nothing led to them.
    fn surrogate(&self, batch: &TokenBatch, graph: GroupGraph, at: Upstream<'_>) -> Option<Tensor<1>> {
        let GroupGraph { texts, embeddings, states } = graph;
        let at_embeddings = at.embeddings.filter(|_| embeddings.is_tracked()).map(|at| {
            let values: Vec<f32> = texts.iter().flat_map(|text| at.row(*text).to_vec()).collect();
            (embeddings * Tensor::<2>::from_data(TensorData::new(values, [texts.len(), self.dim()]), &self.device))
                .sum()
        });
        let at_states = at.states.filter(|_| states.is_tracked()).map(|at| {
            let [n, padded, dim] = states.dims();
            let mut values = vec![0.0; n * padded * dim];
            for (rows, text) in values.chunks_exact_mut((padded * dim).max(1)).zip(&texts) {
                for (row, token) in rows.chunks_exact_mut(dim).zip(batch.offsets()[*text]..batch.offsets()[text + 1]) {
                    row.iter_mut().zip(at.row(token)).for_each(|(to, from)| *to = *from);
                }
            }
            (states * Tensor::<3>::from_data(TensorData::new(values, [n, padded, dim]), &self.device)).sum()
        });
        match (at_embeddings, at_states) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        }
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

    fn watch(&mut self, stop: Stop) {
        self.stop = stop;
    }

    fn embed(&self, batch: &TokenBatch) -> Result<Array2<f32>> {
        guarded(&self.name, || {
            let mut all = Array2::zeros((batch.len(), self.dim()));
            for group in groups(batch, BUDGET) {
                self.stop.check()?;
                self.scatter(&self.forward(batch, group, &self.weights, None)?, &mut all)?;
            }
            Ok(all)
        })
    }

    fn embed_tracked(&self, batch: &TokenBatch, dropout: Option<Dropout>) -> Result<(Array2<f32>, BackboneTape)> {
        guarded(&self.name, || self.tracked(batch, dropout, None))
    }

    fn embed_tokens(&self, batch: &TokenBatch) -> Result<Array2<f32>> {
        guarded(&self.name, || {
            let mut all = Array2::zeros((batch.ids().len(), self.dim()));
            for group in groups(batch, BUDGET) {
                self.stop.check()?;
                let graph = self.forward(batch, group, &self.weights, None)?;
                self.scatter_states(batch, &graph, &mut all)?;
            }
            Ok(all)
        })
    }

    fn embed_tokens_tracked(
        &self,
        batch: &TokenBatch,
        dropout: Option<Dropout>,
    ) -> Result<(Array2<f32>, Array2<f32>, BackboneTape)> {
        guarded(&self.name, || {
            let mut states = Array2::zeros((batch.ids().len(), self.dim()));
            let (embeddings, tape) = self.tracked(batch, dropout, Some(&mut states))?;
            Ok((embeddings, states, tape))
        })
    }

    fn backward_tokens(&self, tape: BackboneTape, at: Upstream<'_>, gradients: &mut Gradients) -> Result<()> {
        let Ok(graphs) = tape.downcast::<Graphs>() else {
            return Err(wb_core::Error::data("backward pass", "got the tape of another backbone, expected its own"));
        };
        at.check(&graphs.batch, self.dim())?;
        self.stop.check()?;
        guarded(&self.name, || {
            let Graphs { groups, batch, weights } = *graphs;
            let mut surrogate: Option<Tensor<1>> = None;
            for sum in groups.into_iter().filter_map(|graph| self.surrogate(&batch, graph, at)) {
                surrogate = Some(match surrogate {
                    Some(others) => others + sum,
                    None => sum,
                });
            }
            let Some(surrogate) = surrogate else { return Ok(()) };
            let found = surrogate.backward();
            for (at, weight) in weights.iter().enumerate().filter(|(_, weight)| weight.is_tracked()) {
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
