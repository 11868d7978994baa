//! Many texts to token vectors, in groups of similar length.

use ndarray::s;
use wb_core::{Embeddings, Side};

use super::LateInteraction;
use crate::{backbone::Backbone, batch::TokenBatch, bi_encoder::by_length, error::Result};

/// Token vectors that grow window by window.
#[derive(Debug, Clone)]
pub struct TokenVectors {
    values: Vec<f32>,
    offsets: Vec<usize>,
    dim: usize,
}

impl TokenVectors {
    /// A start without texts.
    pub fn new(dim: usize) -> Self {
        Self { values: Vec::new(), offsets: vec![0], dim }
    }

    /// All of it.
    pub fn finish(self) -> Result<Embeddings> {
        Embeddings::of_values(self.values, self.dim, Some(self.offsets))
    }

    /// Appends the vectors of some tokenized texts of one side. `each` is told how many texts a group had, and the first
    /// of them with a vector that is not finite, by its place in `ids`; it may break off.
    pub fn append(
        &mut self,
        late: &LateInteraction,
        backbone: &dyn Backbone,
        ids: &[Vec<u32>],
        side: Side,
        each: &mut dyn FnMut(usize, Option<usize>) -> Result<()>,
    ) -> Result<()> {
        for text in ids {
            let count = text.iter().filter(|id| late.counts(**id, side)).count();
            self.offsets.push(self.offsets.last().copied().unwrap_or(0) + count);
        }
        let starts = self.offsets[self.offsets.len() - 1 - ids.len()..].to_vec();
        self.values.resize(starts[ids.len()] * self.dim, 0.0);
        for group in by_length(ids) {
            let batch = TokenBatch::new(group.iter().map(|at| ids[*at].as_slice()));
            let batch = late.attending(batch, |_| side);
            let states = backbone.embed_tokens(&batch)?;
            let found = late.project(backbone.parameters(), &batch, states.view(), |_| side)?;
            each(group.len(), found.not_finite().map(|text| group[text]))?;
            for (ends, at) in found.offsets().windows(2).zip(&group) {
                let rows = found.view();
                let rows = rows.slice(s![ends[0]..ends[1], ..]);
                let to = &mut self.values[starts[*at] * self.dim..starts[at + 1] * self.dim];
                to.iter_mut().zip(rows.iter()).for_each(|(to, from)| *to = *from);
            }
        }
        Ok(())
    }
}
