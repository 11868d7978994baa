//! AnglE: scored pairs in the right order, by the angle between vectors of complex numbers.

use ndarray::Array2;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::Result;

use super::{
    LossConfig,
    cosent::CosentConfig,
    labels::Labels,
    loss::{Loss, Needs},
    mnrl::positive,
    sides::BatchSides,
};
use crate::similarities::{DenseSimilarity, Matrix, PreparedRows, SideGradients, Similarity, SimilarityConfig};

/// AnglE (angle-optimized embeddings) for pairs with scores.
///
/// [`CosentConfig`]'s loss on another score s of an anchor x and a document y. Both are brought to length 1, and their
/// two halves are the real and the imaginary parts of complex numbers, x = a + bi and y = c + di; then
/// s = |Re z + Im z| of z = Σ x·ȳ, which is |(a·c + b·d) + (b·c − a·d)|, 0 to √2. A vector with an odd number of
/// dimensions gets a 0 at its end. Anchor and document are not alike: the other way round, the sign of Im z changes.
/// The score is one to train with; trained vectors are compared by their cosines.
///
/// # Shapes
/// One score a document, `[D]`; without hard negatives one a pair, whose label is the pair's score.
///
/// Li and Li 2024, "AnglE-optimized Text Embeddings", arXiv 2309.12871; the paper subtracts in the other order than the
/// authors' program. Equals sentence-transformers' `AnglELoss`, which does as the program; it also takes triplets
/// without scores, as pairs of the scores 1 and 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AngleConfig {
    /// Scores of the model are multiplied by this; the inverse of a temperature.
    pub scale: f64,
}

impl Default for AngleConfig {
    fn default() -> Self {
        Self { scale: 20.0 }
    }
}

impl Loss for AngleConfig {
    fn needs(&self) -> Needs {
        Needs { loss: "angle", scores: true, ..Needs::default() }
    }

    fn forward_backward(&self, sides: &mut BatchSides<'_>, labels: &Labels) -> f64 {
        CosentConfig { scale: self.scale }.forward_backward(sides, labels)
    }

    fn similarity(&self, _given: SimilarityConfig) -> Box<dyn Similarity> {
        Box::new(AngleSimilarity { cosine: DenseSimilarity::cosine() })
    }

    fn not_by_tokens(&self) -> Option<&'static str> {
        Some("`angle` has a score of its own of two vectors")
    }

    fn scale(&self) -> Option<f64> {
        Some(self.scale)
    }

    fn with_scale(&self, scale: f64) -> Option<LossConfig> {
        Some(LossConfig::Angle(Self { scale }))
    }

    fn validate(&self, key: &str) -> Result<()> {
        positive(
            &format!("{key}.scale"),
            Some(self.scale),
            "20 is that of the paper; it is the inverse of a temperature",
        )
    }
}

/// |Re z + Im z|, computed as the dot product |x·Ty| of rows of length 1 with T(c + di) = (c − d) + (c + d)i.
///
/// A score of 0 gets no gradient.
#[derive(Debug, Clone, Copy)]
struct AngleSimilarity {
    cosine: DenseSimilarity,
}

impl Similarity for AngleSimilarity {
    fn prepare(&self, rows: Matrix<'_>) -> PreparedRows {
        self.cosine.prepare(rows)
    }

    fn scores(&self, left: Matrix<'_>, right: Matrix<'_>) -> Array2<f32> {
        self.cosine.scores(left, turned(right, 1.0).view()).mapv_into(f32::abs)
    }

    fn backward(&self, left: Matrix<'_>, right: Matrix<'_>, at_scores: Matrix<'_>) -> SideGradients {
        let right = turned(right, 1.0);
        let mut at_products = self.cosine.scores(left, right.view());
        at_products.zip_mut_with(&at_scores, |product, at| *product = with_sign(*at, *product));
        let (at_left, at_right) = self.cosine.backward(left, right.view(), at_products.view());
        (at_left, turned(at_right.view(), -1.0))
    }

    fn own_scores(&self, left: Matrix<'_>, right: Matrix<'_>, owners: &[u32]) -> Vec<f32> {
        let products = self.cosine.own_scores(left, turned(right, 1.0).view(), owners);
        products.into_iter().map(f32::abs).collect()
    }

    fn own_backward(&self, left: Matrix<'_>, right: Matrix<'_>, owners: &[u32], at_scores: &[f32]) -> SideGradients {
        let right = turned(right, 1.0);
        let products = self.cosine.own_scores(left, right.view(), owners);
        let at_products: Vec<f32> =
            at_scores.iter().zip(products).map(|(at, product)| with_sign(*at, product)).collect();
        let (at_left, at_right) = self.cosine.own_backward(left, right.view(), owners, &at_products);
        (at_left, turned(at_right.view(), -1.0))
    }

    fn unprepare(&self, prepared: &PreparedRows, gradient: &mut Array2<f32>) {
        self.cosine.unprepare(prepared, gradient);
    }
}

/// T of each row, or with the direction −1 its transpose: real parts less, imaginary parts plus the other half. What
/// stands opposite the middle of an odd row is 0.
fn turned(rows: Matrix<'_>, direction: f32) -> Array2<f32> {
    let half = rows.ncols().div_ceil(2);
    Array2::from_shape_fn(rows.dim(), |(row, at)| match at.checked_sub(half) {
        Some(real) => rows[[row, at]] + direction * rows[[row, real]],
        None => rows[[row, at]] - direction * rows.get((row, at + half)).copied().unwrap_or_default(),
    })
}

/// The gradient at a number, given that at its absolute value.
fn with_sign(at_absolute: f32, number: f32) -> f32 {
    if number == 0.0 { 0.0 } else { at_absolute * number.signum() }
}

#[cfg(test)]
mod tests {
    use ndarray::arr2;

    use super::*;

    /// x = 0.6 + 0.8i and y = i: x·ȳ = 0.8 − 0.6i, so 0.2; the other way round 0.8 + 0.6i, so 1.4.
    #[test]
    fn scores_are_those_of_complex_numbers() {
        let (x, y) = (arr2(&[[3.0, 4.0]]), arr2(&[[0.0, 2.0]]));
        let angle = AngleConfig::default().similarity(SimilarityConfig::Dot);
        let near = |found: Array2<f32>, expected: f32| assert!((found[[0, 0]] - expected).abs() < 1e-6, "{found}");
        near(angle.compare(x.view(), y.view()), 0.2);
        near(angle.compare(y.view(), x.view()), 1.4);
    }

    /// Everyone against everyone is the same as each document with its own anchor, forward and backward.
    #[test]
    fn blocks_equal_own_scores() {
        let left = Array2::from_shape_fn((2, 5), |(i, j)| ((7 * i + 3 * j) % 11) as f32 - 4.5);
        let right = Array2::from_shape_fn((3, 5), |(i, j)| ((5 * i + 2 * j) % 13) as f32 - 6.5);
        let angle = AngleConfig::default().similarity(SimilarityConfig::Cosine);
        let (left, right) = (angle.prepare(left.view()).rows, angle.prepare(right.view()).rows);
        let scores = angle.scores(left.view(), right.view());
        let owners = [1, 0, 1];
        let own = angle.own_scores(left.view(), right.view(), &owners);
        let (mut at_scores, at_own) = (Array2::zeros((2, 3)), [0.5, -2.0, 1.0]);
        for (document, owner) in owners.iter().enumerate() {
            let at = [*owner as usize, document];
            assert!((scores[at] - own[document]).abs() < 1e-6, "{scores} {own:?}");
            at_scores[at] = at_own[document];
        }
        let block = angle.backward(left.view(), right.view(), at_scores.view());
        let found = angle.own_backward(left.view(), right.view(), &owners, &at_own);
        assert!((block.0 - found.0).iter().chain(&(block.1 - found.1)).all(|off| off.abs() < 1e-5));
    }
}
