//! The way back through a group of texts, from the loss's gradients at its outputs.

use burn::tensor::Tensor;

use super::{BurnBackbone, Graphs, GroupGraph};
use crate::{
    backbone::{Backbone, Upstream},
    batch::TokenBatch,
    error::Result,
    models::Stack,
    on_device::{gradients::Sums, transformer::Network},
};

impl BurnBackbone {
    /// Goes back through a group of which the inputs of layers are kept: what comes after the layers, then layer by layer.
    pub(super) fn backward_by_layers(
        &self,
        graphs: &Graphs,
        group: &GroupGraph,
        stack: &Stack,
        at: Upstream<'_>,
        sums: &mut Sums,
    ) -> Result<()> {
        let pass = self.pass(&graphs.batch, &group.texts, &graphs.weights, graphs.dropout);
        let network = Network { stack, pass: &pass, batch: &group.padded };
        let mut inputs = group.inputs.iter().map(|input| input.clone().autodiff().require_grad()).rev();
        let Some(input) = inputs.next() else { return Ok(()) };
        let states = network.last(input.clone())?;
        let embeddings = group.padded.pool(states.clone(), self.pooling);
        let Some(sum) = self.surrogate(&graphs.batch, &group.texts, embeddings, states, at) else { return Ok(()) };
        let found = sums.backward(sum, &graphs.weights);
        let Some(mut upstream) = input.grad(&found) else { return Ok(()) };
        for (layer, input) in (0..stack.layers.len()).rev().zip(inputs) {
            self.stop.check()?;
            let output = network.only_layer(layer, input.clone())?;
            let found = sums.backward((output * upstream.autodiff()).sum(), &graphs.weights);
            let Some(next) = input.grad(&found) else { return Ok(()) };
            upstream = next;
        }
        let embeddings = network.embeddings()?;
        if embeddings.is_tracked() {
            sums.backward((embeddings * upstream.autodiff()).sum(), &graphs.weights);
        }
        Ok(())
    }

    /// Σ output · gradient over a group's outputs, whose gradients are the loss's; `None` where nothing led to them.
    pub(super) fn surrogate(
        &self,
        batch: &TokenBatch,
        texts: &[usize],
        embeddings: Tensor<2>,
        states: Tensor<3>,
        at: Upstream<'_>,
    ) -> Option<Tensor<1>> {
        let at_embeddings = at.embeddings.filter(|_| embeddings.is_tracked()).map(|at| {
            let values: Vec<f32> = texts.iter().flat_map(|text| at.row(*text).to_vec()).collect();
            (embeddings * self.link.floats(values, [texts.len(), self.dim()])).sum()
        });
        let at_states = at.states.filter(|_| states.is_tracked()).map(|at| {
            let [n, padded, dim] = states.dims();
            let mut values = vec![0.0; n * padded * dim];
            for (rows, text) in values.chunks_exact_mut((padded * dim).max(1)).zip(texts) {
                for (row, token) in rows.chunks_exact_mut(dim).zip(batch.offsets()[*text]..batch.offsets()[text + 1]) {
                    row.iter_mut().zip(at.row(token)).for_each(|(to, from)| *to = *from);
                }
            }
            (states * self.link.floats(values, [n, padded, dim])).sum()
        });
        match (at_embeddings, at_states) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        }
    }
}
