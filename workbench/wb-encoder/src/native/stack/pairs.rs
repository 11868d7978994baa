//! The network as a cross-encoder asks it: the states of first tokens, of texts whose tokens are of several types.

use ndarray::Array2;

use super::{NativeStack, StackScratch};
use crate::{
    batch::TokenBatch,
    error::Result,
    models::stack::Stack,
    native::{
        backbone::{GROUP_TOKENS, split_rows},
        groups::{self, Group},
        linear::{AdaptedWeights, GroupPass},
        pool::BufferPool,
        sharing::{self, few_groups},
    },
    parameters::Parameters,
};

/// A transformer that reads two texts together. It is not trained.
pub struct PairBackbone {
    network: NativeStack,
    scratches: BufferPool<StackScratch>,
}

impl PairBackbone {
    /// Finds every weight by name and checks its shape.
    pub fn new(stack: Stack, mut parameters: Parameters) -> Result<Self> {
        parameters.freeze();
        let weights = AdaptedWeights::new(parameters, None);
        Ok(Self { network: NativeStack::new(stack, weights)?, scratches: BufferPool::default() })
    }

    /// The weights.
    pub fn parameters(&self) -> &Parameters {
        &self.network.weights.parameters
    }

    /// The state of each text's first token, `[texts, hidden]`, without dropout. `types` has a row of the token-type
    /// embedding for each token of the batch, as BERT tells the second of two texts from the first.
    ///
    /// A state depends on its own text alone, to the last bit: nothing is summed over texts, and no sum's order depends
    /// on what stands beside it.
    pub fn first_states(&self, batch: &TokenBatch, types: &[u32]) -> Result<Array2<f32>> {
        let network = &self.network;
        network.check(batch)?;
        if types.len() != batch.ids().len() {
            let message = format!("{} token types for {} tokens, expected one each", types.len(), batch.ids().len());
            return Err(wb_core::Error::data("a batch of pairs", message));
        }
        let known = network.stack.token_types.as_ref().map_or(1, |(_, rows)| *rows);
        if let Some(one) = types.iter().find(|one| **one as usize >= known) {
            let message = format!("token type {one}, the model knows {known}");
            return Err(wb_core::Error::data("a batch of pairs", message));
        }
        let hidden = network.dim();
        let mut all = Array2::zeros((batch.len(), hidden));
        let groups = groups::groups(batch, GROUP_TOKENS);
        let rows = split_rows(&mut all, groups.iter().map(|group| group.texts.len()));
        let tokens = |(group, _): &(&Group, _)| group.tokens.len();
        sharing::each(groups.iter().zip(rows), few_groups(), tokens, |(group, rows)| {
            if group.tokens.is_empty() {
                return Ok(());
            }
            let mut scratch = self.scratches.take();
            let pass = GroupPass { batch, group, dropout: None };
            let states = network.forward(pass, types, &mut scratch, None, false);
            for (text, row) in group.texts.clone().zip(rows.chunks_exact_mut(hidden)) {
                let first = batch.offsets()[text] - group.tokens.start;
                if !batch.text(text).is_empty() {
                    row.copy_from_slice(&states[first * hidden..][..hidden]);
                }
            }
            self.scratches.give(scratch);
            Ok(())
        })?;
        Ok(all)
    }
}
