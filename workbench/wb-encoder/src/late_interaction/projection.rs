//! From token states to vectors of length 1, and the gradient back to the states and the matrix.

use ndarray::{Array2, ArrayView2, Axis};
use rayon::prelude::*;
use wb_core::Side;

use super::LateInteraction;
use crate::{
    batch::TokenBatch,
    error::Result,
    parameters::{Gradients, Parameters},
    similarities::{DenseSimilarity, PreparedRows, Similarity, product},
};

/// Vectors of a batch's tokens, and what their backward pass needs.
#[derive(Debug, Clone)]
pub struct Projected {
    /// Tokens of the batch that have a vector.
    tokens: Vec<usize>,
    /// Their vectors and the lengths that these were divided by.
    units: PreparedRows,
    offsets: Vec<usize>,
}

impl LateInteraction {
    /// Vectors of the tokens that count, out of the states of all, `[tokens, width]`. `side` tells which side a text
    /// of the batch is on.
    pub fn project(
        &self,
        parameters: &Parameters,
        batch: &TokenBatch,
        states: ArrayView2<'_, f32>,
        side: impl Fn(usize) -> Side,
    ) -> Result<Projected> {
        let width = states.ncols();
        let weight = parameters.at(self.place(parameters, width)?).values.floats();
        let (mut tokens, mut offsets) = (Vec::with_capacity(states.nrows()), vec![0]);
        for text in 0..batch.len() {
            let side = side(text);
            let range = batch.offsets()[text]..batch.offsets()[text + 1];
            tokens.extend(range.filter(|token| self.counts(batch.ids()[*token], side)));
            offsets.push(tokens.len());
        }
        let vectors = match ArrayView2::from_shape((self.dim(), width), &weight[..]) {
            Ok(weight) if tokens.len() == states.nrows() => product::by_rows(states, weight),
            Ok(weight) => product::by_rows(states.select(Axis(0), &tokens).view(), weight),
            Err(error) => return Err(wb_core::Error::data(super::WEIGHT, error.to_string())),
        };
        Ok(Projected { tokens, units: DenseSimilarity::cosine().prepare(vectors.view()), offsets })
    }

    /// Adds the gradient of the matrix, where it trains, and gives that at all states, out of the gradient at the vectors.
    pub fn backward(
        &self,
        parameters: &Parameters,
        states: ArrayView2<'_, f32>,
        projected: &Projected,
        at_vectors: ArrayView2<'_, f32>,
        gradients: &mut Gradients,
    ) -> Result<Array2<f32>> {
        let place = self.place(parameters, states.ncols())?;
        let parameter = parameters.at(place);
        let weight = parameter.values.floats();
        let weight = ArrayView2::from_shape((self.dim(), states.ncols()), &weight[..])
            .map_err(|error| wb_core::Error::data(super::WEIGHT, error.to_string()))?;
        let mut at = at_vectors.to_owned();
        DenseSimilarity::cosine().unprepare(&projected.units, &mut at);
        let all = projected.tokens.len() == states.nrows();
        if parameter.trainable {
            let counted;
            let of_vectors = if all {
                states
            } else {
                counted = states.select(Axis(0), &projected.tokens);
                counted.view()
            };
            let at_weight = product::by_columns(at.view(), of_vectors);
            gradients.at_mut(place).iter_mut().zip(&at_weight).for_each(|(sum, g)| *sum += g);
        }
        let found = product::plain(at.view(), weight);
        if all {
            return Ok(found);
        }
        let mut at_states = Array2::zeros(states.dim());
        for (row, token) in found.outer_iter().zip(&projected.tokens) {
            at_states.row_mut(*token).assign(&row);
        }
        Ok(at_states)
    }
}

impl Projected {
    /// The vectors, `[tokens that count, dim]`.
    pub fn view(&self) -> ArrayView2<'_, f32> {
        self.units.rows.view()
    }

    /// Beginnings of the texts among the vectors, and the end.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// The first text with a vector that is not finite.
    pub fn not_finite(&self) -> Option<usize> {
        let rows = &self.units.rows;
        let bad = rows.as_slice()?.par_iter().position_first(|x| !x.is_finite())? / rows.ncols().max(1);
        Some(self.offsets.partition_point(|offset| *offset <= bad) - 1)
    }
}
