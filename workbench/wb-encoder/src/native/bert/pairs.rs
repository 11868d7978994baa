//! What a cross-encoder asks of the network: the states of first tokens, of texts whose tokens are of several types.

use ndarray::Array2;
use rayon::prelude::*;

use super::{GROUP_TOKENS, NativeBert, split_rows};
use crate::{Backbone, Result, TokenBatch, native::groups};

impl NativeBert {
    /// The state of each text's first token, `[texts, hidden]`, without dropout. `types` has a row of the token-type
    /// embedding for each token of the batch, as BERT tells the second of two texts from the first.
    ///
    /// A state depends on its own text alone, to the last bit: nothing is summed over texts, and no sum's order depends
    /// on what stands beside it.
    pub fn first_states(&self, batch: &TokenBatch, types: &[u32]) -> Result<Array2<f32>> {
        self.check(batch)?;
        if types.len() != batch.ids().len() {
            let message = format!("{} token types for {} tokens, expected one each", types.len(), batch.ids().len());
            return Err(wb_core::Error::data("a batch of pairs", message).into());
        }
        if let Some(one) = types.iter().find(|one| **one as usize >= self.config.type_vocab_size) {
            let message = format!("token type {one}, the model knows {}", self.config.type_vocab_size);
            return Err(wb_core::Error::data("a batch of pairs", message).into());
        }
        let hidden = self.dim();
        let mut all = Array2::zeros((batch.len(), hidden));
        let groups = groups::groups(batch, GROUP_TOKENS);
        let rows = split_rows(&mut all, groups.iter().map(|group| group.texts.len()));
        groups.par_iter().zip(rows).for_each(|(group, rows)| {
            if group.tokens.is_empty() {
                return;
            }
            let mut scratch = self.scratches.take();
            self.embed_group(batch, group, types, &mut scratch, None, None);
            for layer in 0..self.config.num_hidden_layers {
                self.forward_layer(batch, group, layer, &mut scratch, None, None);
            }
            for (text, row) in group.texts.clone().zip(rows.chunks_exact_mut(hidden)) {
                let (first, n) = self.rows_of(batch, group, text);
                if n > 0 {
                    row.copy_from_slice(&scratch.stream[first * hidden..][..hidden]);
                }
            }
            self.scratches.give(scratch);
        });
        Ok(all)
    }
}
