//! The arithmetic of a head: from states to numbers, and back.
//!
//! It is computed on the host, after any backbone that pools, with weights that stand among the backbone's own; optimizer
//! and checkpoints know nothing else. Nothing in it drops while training.

use std::borrow::Cow;

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};
use wb_core::Error;

use crate::{
    error::Result,
    kernels::{
        Mat, MatMut, Packed,
        activation::{activate, times_derivative},
        matmul, matmul_packed,
        normalize::{Normalized, add_and_normalize, normalize_backward},
        vector,
    },
    models::{Activation, InnerActivation, InnerNorm, ScoreHead, score_head::PREFIX},
    parameters::{Gradients, Parameters},
};

/// The function that turns a cross-encoder's number into a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScoreActivation {
    /// 1 / (1 + exp(−x)): what sentence-transformers takes for one label where a folder names nothing.
    Sigmoid,
    /// The number itself.
    Identity,
}

impl ScoreActivation {
    /// The score of a number.
    pub fn score(self, x: f32) -> f32 {
        match self {
            Self::Identity => x,
            Self::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        }
    }
}

/// Kept of a head's pass, `[texts, hidden]` each.
#[derive(Default)]
pub(crate) struct HeadTape {
    /// The states.
    states: Vec<f32>,
    /// Numbers of the dense layer, before its function.
    dense: Vec<f32>,
    /// Numbers that the last layer took.
    last: Vec<f32>,
    normalized: Normalized,
}

impl ScoreHead {
    /// The numbers of states, `[texts, hidden]`, before the activation: w·norm(f(D·h + b)) + c, or w·h + c without a
    /// layer in between. Each depends on its own state alone, to the last bit. Also what [`ScoreHead::backward`] needs.
    pub(crate) fn numbers(&self, parameters: &Parameters, states: ArrayView2<'_, f32>) -> Result<(Vec<f32>, HeadTape)> {
        let (n, hidden) = states.dim();
        let weights = Weights { head: self, parameters };
        let states: Vec<f32> = states.iter().copied().collect();
        let mut tape = HeadTape { states, ..HeadTape::default() };
        if let Some(inner) = &self.inner {
            let mut dense = vec![0.0; n * hidden];
            if inner.bias {
                vector::fill_rows(&mut dense, &weights.get(&inner.name, "bias")?);
            }
            let weight = weights.get(&inner.name, "weight")?;
            let packed = Packed::new(Mat::new(&weight, hidden, hidden).t());
            matmul_packed(
                MatMut::new(&mut dense, n, hidden),
                inner.bias,
                Mat::new(&tape.states, n, hidden),
                &packed,
                1.0,
            );
            let mut last = dense.clone();
            match inner.activation {
                InnerActivation::Tanh => last.iter_mut().for_each(|x| *x = x.tanh()),
                InnerActivation::Gelu => activate(&mut last, &dense, Activation::Gelu),
            }
            if let Some(norm) = &inner.norm {
                let (weight, shift) = (weights.get(&norm.name, "weight")?, weights.shift(norm, hidden)?);
                add_and_normalize(
                    &mut last,
                    &[],
                    &[],
                    &weight,
                    &shift,
                    norm.epsilon as f32,
                    Some(&mut tape.normalized),
                );
            }
            (tape.dense, tape.last) = (dense, last);
        }
        let out = weights.get(&self.out, "weight")?;
        let constant = if self.bias { weights.get(&self.out, "bias")?[0] } else { 0.0 };
        let rows = tape.last(self).chunks_exact(hidden.max(1));
        let numbers = rows.map(|row| vector::dot(row, &out) + constant).collect();
        Ok((numbers, tape))
    }

    /// Adds the gradients of the weights that train, and gives those at the states, `[texts, hidden]`, out of those at the
    /// numbers, `[texts]`.
    pub(crate) fn backward(
        &self,
        parameters: &Parameters,
        tape: &HeadTape,
        at_numbers: &[f32],
        gradients: &mut Gradients,
    ) -> Result<Array2<f32>> {
        let weights = Weights { head: self, parameters };
        let out = weights.get(&self.out, "weight")?;
        let (n, hidden) = (at_numbers.len(), out.len());
        let mut at = vec![0.0; n * hidden];
        let last = tape.last(self);
        for (row, g) in at.chunks_exact_mut(hidden.max(1)).zip(at_numbers) {
            vector::add_scaled(row, *g, &out);
        }
        weights.add(gradients, &self.out, "weight", |sum| {
            last.chunks_exact(hidden.max(1)).zip(at_numbers).for_each(|(row, g)| vector::add_scaled(sum, *g, row));
        })?;
        if self.bias {
            weights.add(gradients, &self.out, "bias", |sum| sum[0] += at_numbers.iter().sum::<f32>())?;
        }
        let mut at_states = Array2::zeros((n, hidden));
        let Some(inner) = &self.inner else {
            at_states.iter_mut().zip(at).for_each(|(to, from)| *to = from);
            return Ok(at_states);
        };
        if let Some(norm) = &inner.norm {
            let weight = weights.get(&norm.name, "weight")?;
            let (mut at_weight, mut at_shift) = (vec![0.0; hidden], vec![0.0; hidden]);
            normalize_backward(&mut at, &tape.normalized, &weight, Some((&mut at_weight, &mut at_shift)));
            weights.add(gradients, &norm.name, "weight", |sum| vector::add_scaled(sum, 1.0, &at_weight))?;
            if norm.shift {
                weights.add(gradients, &norm.name, "bias", |sum| vector::add_scaled(sum, 1.0, &at_shift))?;
            }
        }
        match inner.activation {
            InnerActivation::Tanh => at.iter_mut().zip(&tape.dense).for_each(|(g, x)| {
                let u = x.tanh();
                *g *= 1.0 - u * u;
            }),
            InnerActivation::Gelu => times_derivative(&mut at, &tape.dense, Activation::Gelu),
        }
        if inner.bias {
            weights.add(gradients, &inner.name, "bias", |sum| vector::add_column_sums(sum, &at))?;
        }
        let (at_dense, states) = (Mat::new(&at, n, hidden), Mat::new(&tape.states, n, hidden));
        weights.add(gradients, &inner.name, "weight", |sum| {
            matmul(MatMut::new(sum, hidden, hidden), true, at_dense.t(), states, 1.0);
        })?;
        let weight = weights.get(&inner.name, "weight")?;
        if let Some(all) = at_states.as_slice_mut() {
            matmul(MatMut::new(all, n, hidden), false, at_dense, Mat::new(&weight, hidden, hidden), 1.0);
        }
        Ok(at_states)
    }
}

impl HeadTape {
    /// Numbers that the last layer took.
    fn last(&self, head: &ScoreHead) -> &[f32] {
        if head.inner.is_some() { &self.last } else { &self.states }
    }
}

/// A head's weights among those of its backbone.
struct Weights<'a> {
    head: &'a ScoreHead,
    parameters: &'a Parameters,
}

impl<'a> Weights<'a> {
    fn place(&self, module: &str, part: &str) -> Result<usize> {
        let name = format!("{PREFIX}{module}.{part}");
        self.parameters.position(&name).ok_or_else(|| Error::data(name, format!("is missing, of {:?}", self.head)))
    }

    fn get(&self, module: &str, part: &str) -> Result<Cow<'a, [f32]>> {
        Ok(self.parameters.at(self.place(module, part)?).values.floats())
    }

    /// The shift of a normalization; zeros where it has none.
    fn shift(&self, norm: &InnerNorm, hidden: usize) -> Result<Cow<'a, [f32]>> {
        if norm.shift { self.get(&norm.name, "bias") } else { Ok(vec![0.0; hidden].into()) }
    }

    /// Lets `add` add to a weight's gradient, where it trains.
    fn add(&self, gradients: &mut Gradients, module: &str, part: &str, add: impl FnOnce(&mut [f32])) -> Result<()> {
        let place = self.place(module, part)?;
        if self.parameters.at(place).trainable {
            add(gradients.at_mut(place));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use ndarray::arr2;

    use super::*;
    use crate::parameters::Parameter;

    /// Computed by hand: D·h + b = (0.5, −1), tanh of it (0.46211716, −0.76159416), and w·that + c =
    /// 0.46211716 + 1.52318831 + 0.25.
    #[test]
    fn a_score_is_that_by_hand() {
        let head = ScoreHead::of_first_token("pooler.dense", "classifier");
        let weights = [vec![1.0, 0.0, 0.0, 2.0], vec![0.25, 0.0], vec![1.0, -2.0], vec![0.25]];
        let mut parameters = Parameters::default();
        for (spec, values) in head.weights(2).into_iter().zip(weights) {
            parameters.insert(Parameter {
                name: spec.name,
                shape: spec.shape,
                values: values.into(),
                trainable: false,
            });
        }
        let (numbers, _) = head.numbers(&parameters, arr2(&[[0.25, -0.5]]).view()).unwrap();
        let of = |activation: ScoreActivation| activation.score(numbers[0]);
        assert!((of(ScoreActivation::Identity) - 2.235_305_5).abs() < 1e-6);
        assert!((of(ScoreActivation::Sigmoid) - 0.903_375_5).abs() < 1e-6);
    }
}
