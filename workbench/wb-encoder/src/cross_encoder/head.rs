//! From a first token's state to a score: a dense layer, tanh, a vector, and the activation of the folder.

use std::borrow::Cow;

use ndarray::{Array2, ArrayView2};
use serde::Serialize;

use crate::{
    kernels::{Mat, MatMut, Packed, matmul, matmul_packed, vector},
    models::{WeightInit, WeightSpec},
};

/// The function that turns a cross-encoder's number into a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ScoreActivation {
    /// 1 / (1 + exp(−x)): what sentence-transformers takes for one label where a folder names nothing.
    Sigmoid,
    /// The number itself.
    Identity,
}

/// Names of a head's weights, as transformers has them, in the order of [`ScoreHead`]'s fields.
pub(crate) type HeadNames = [&'static str; 4];

/// BERT's: its pooler and the classifier.
pub(crate) const BERT: HeadNames = ["pooler.dense.weight", "pooler.dense.bias", "classifier.weight", "classifier.bias"];
/// RoBERTa's: both in the classifier.
pub(crate) const ROBERTA: HeadNames =
    ["classifier.dense.weight", "classifier.dense.bias", "classifier.out_proj.weight", "classifier.out_proj.bias"];

/// w·tanh(D·h + b) + c of a state h, `[hidden]`, and an activation on it.
pub struct ScoreHead {
    /// D `[hidden, hidden]`, b `[hidden]`, w `[1, hidden]`, c `[1]`.
    weights: [Vec<f32>; 4],
    names: HeadNames,
    packed: Packed,
    /// The function that turns the number into a score.
    pub activation: ScoreActivation,
}

/// Kept of a head's pass, `[texts, hidden]` each: the states, and tanh of the dense layer.
pub(crate) struct HeadTape {
    states: Vec<f32>,
    inner: Vec<f32>,
}

/// The weights of a head of one label.
pub(crate) fn specs(names: HeadNames, hidden: usize) -> [WeightSpec; 4] {
    let spec = |at: usize, shape: &[usize]| WeightSpec {
        name: names[at].to_owned(),
        shape: shape.to_vec(),
        init: WeightInit::Zeros,
    };
    [spec(0, &[hidden, hidden]), spec(1, &[hidden]), spec(2, &[1, hidden]), spec(3, &[1])]
}

impl ScoreHead {
    /// Takes the weights that [`specs`] asks for, in that order.
    pub(crate) fn new(names: HeadNames, weights: [Vec<f32>; 4], activation: ScoreActivation) -> Self {
        let hidden = weights[1].len();
        let packed = Packed::new(Mat::new(&weights[0], hidden, hidden).t());
        Self { weights, names, packed, activation }
    }

    /// The weights by name.
    pub(crate) fn weights(&self) -> impl Iterator<Item = (&str, Cow<'_, [f32]>)> {
        self.names.iter().copied().zip(self.weights.iter().map(Cow::from))
    }

    /// The scores of states, `[texts, hidden]`. Each depends on its own state alone.
    pub fn scores(&self, states: ArrayView2<'_, f32>) -> Vec<f32> {
        let activate = |x: f32| match self.activation {
            ScoreActivation::Identity => x,
            ScoreActivation::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        };
        self.numbers(states).0.into_iter().map(activate).collect()
    }

    /// The numbers before the activation, and what [`ScoreHead::backward`] needs.
    pub(crate) fn numbers(&self, states: ArrayView2<'_, f32>) -> (Vec<f32>, HeadTape) {
        let [_, bias, out, constant] = &self.weights;
        let (n, hidden) = states.dim();
        let states: Vec<f32> = states.iter().copied().collect();
        let mut inner = vec![0.0; n * hidden];
        vector::fill_rows(&mut inner, bias);
        matmul_packed(MatMut::new(&mut inner, n, hidden), true, Mat::new(&states, n, hidden), &self.packed, 1.0);
        inner.iter_mut().for_each(|x| *x = x.tanh());
        let numbers = inner.chunks_exact(hidden.max(1)).map(|row| vector::dot(row, out) + constant[0]).collect();
        (numbers, HeadTape { states, inner })
    }

    /// Gradients of the weights, in their order, and at the states, `[texts, hidden]`, given those at the numbers,
    /// `[texts]`. With u = tanh(D·h + b) and g the gradient at a number: g·u at w, g at c, and with
    /// e = g·w·(1 − u²): e at b, e·hᵀ at D, Dᵀ·e at h; each summed over the texts.
    pub(crate) fn backward(&self, tape: &HeadTape, at_numbers: &[f32]) -> ([Vec<f32>; 4], Array2<f32>) {
        let [dense, _, out, _] = &self.weights;
        let (n, hidden) = (at_numbers.len(), out.len());
        let mut at = self.weights.each_ref().map(|weight| vec![0.0; weight.len()]);
        let mut e = tape.inner.clone();
        for (row, g) in e.chunks_exact_mut(hidden.max(1)).zip(at_numbers) {
            vector::add_scaled(&mut at[2], *g, row);
            at[3][0] += g;
            row.iter_mut().zip(out).for_each(|(u, w)| *u = g * w * (1.0 - *u * *u));
        }
        vector::add_column_sums(&mut at[1], &e);
        let (at_inner, states) = (Mat::new(&e, n, hidden), Mat::new(&tape.states, n, hidden));
        matmul(MatMut::new(&mut at[0], hidden, hidden), false, at_inner.t(), states, 1.0);
        let mut at_states = Array2::zeros((n, hidden));
        if let Some(all) = at_states.as_slice_mut() {
            matmul(MatMut::new(all, n, hidden), false, at_inner, Mat::new(dense, hidden, hidden), 1.0);
        }
        (at, at_states)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::arr2;

    use super::*;

    /// Computed by hand: D·h + b = (0.5, −1), tanh of it (0.46211716, −0.76159416), and w·that + c =
    /// 0.46211716 + 1.52318831 + 0.25.
    #[test]
    fn a_score_is_that_by_hand() {
        let weights = [vec![1.0, 0.0, 0.0, 2.0], vec![0.25, 0.0], vec![1.0, -2.0], vec![0.25]];
        let of = |activation| ScoreHead::new(BERT, weights.clone(), activation).scores(arr2(&[[0.25, -0.5]]).view())[0];
        assert!((of(ScoreActivation::Identity) - 2.235_305_5).abs() < 1e-6);
        assert!((of(ScoreActivation::Sigmoid) - 0.903_375_5).abs() < 1e-6);
    }
}
