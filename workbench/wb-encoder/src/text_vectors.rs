//! Many texts to vectors, in groups of similar length: one vector a text, or one a token.

use ndarray::{ArrayView2, Axis, s};
use wb_core::{Embeddings, Side};

use crate::{
    backbone::Backbone,
    batch::{BATCH_TOKENS, TokenBatch},
    error::Result,
    late_interaction::LateInteraction,
};

/// Vectors of texts that grow window by window: one a text, or one a token with late interaction.
#[derive(Debug, Clone)]
pub struct TextVectors<'a> {
    late: Option<&'a LateInteraction>,
    values: Vec<f32>,
    /// Beginnings of the texts among the vectors, and the end.
    offsets: Vec<usize>,
    dim: usize,
}

impl<'a> TextVectors<'a> {
    /// A start without texts, with room for one vector of each of so many.
    pub fn new(late: Option<&'a LateInteraction>, backbone: &dyn Backbone, texts: usize) -> Self {
        let dim = late.map_or_else(|| backbone.dim(), LateInteraction::dim);
        Self { late, values: Vec::with_capacity(texts * dim), offsets: vec![0], dim }
    }

    /// All of it.
    pub fn finish(self) -> Result<Embeddings> {
        Embeddings::of_values(self.values, self.dim, self.late.map(|_| self.offsets))
    }

    /// Appends the vectors of some tokenized texts of one side. `each` is told how many texts a group had, and the first
    /// of them with a vector that is not finite, by its place in `ids`; it may break off.
    pub fn append(
        &mut self,
        backbone: &dyn Backbone,
        ids: &[Vec<u32>],
        side: Side,
        each: &mut dyn FnMut(usize, Option<usize>) -> Result<()>,
    ) -> Result<()> {
        let (late, dim) = (self.late, self.dim);
        for text in ids {
            let count = late.map_or(1, |late| text.iter().filter(|id| late.counts(**id, side)).count());
            self.offsets.push(self.offsets.last().copied().unwrap_or(0) + count);
        }
        let starts = &self.offsets[self.offsets.len() - 1 - ids.len()..];
        self.values.resize(starts[ids.len()] * dim, 0.0);
        let values = &mut self.values;
        let mut put = |at: usize, rows: ArrayView2<'_, f32>| {
            let to = &mut values[starts[at] * dim..starts[at + 1] * dim];
            to.iter_mut().zip(rows).for_each(|(to, from)| *to = *from);
        };
        for group in by_length(ids.iter().map(Vec::len)) {
            let batch = TokenBatch::new(group.iter().map(|at| ids[*at].as_slice()));
            let Some(late) = late else {
                let rows = backbone.embed(&batch)?;
                let not_finite = rows.rows().into_iter().position(|row| row.iter().any(|value| !value.is_finite()));
                each(group.len(), not_finite.map(|text| group[text]))?;
                rows.axis_chunks_iter(Axis(0), 1).zip(&group).for_each(|(row, at)| put(*at, row));
                continue;
            };
            let batch = late.attending(batch, |_| side);
            let states = backbone.embed_tokens(&batch)?;
            let found = late.project(backbone.parameters(), &batch, states.view(), |_| side)?;
            each(group.len(), found.not_finite().map(|text| group[text]))?;
            for (ends, at) in found.offsets().windows(2).zip(&group) {
                put(*at, found.view().slice_move(s![ends[0]..ends[1], ..]));
            }
        }
        Ok(())
    }
}

/// Positions of texts of these lengths in groups of similar length, longest first, each of at most [`BATCH_TOKENS`] tokens
/// (or one text).
pub(crate) fn by_length(lengths: impl Iterator<Item = usize>) -> Vec<Vec<usize>> {
    let lengths: Vec<usize> = lengths.collect();
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|at| (std::cmp::Reverse(lengths[*at]), *at));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut tokens = 0;
    for at in order {
        let own = lengths[at].max(1);
        match groups.last_mut() {
            Some(group) if tokens + own <= BATCH_TOKENS => group.push(at),
            _ => {
                groups.push(vec![at]);
                tokens = 0;
            }
        }
        tokens += own;
    }
    groups
}
