//! Euclidean and Manhattan distance, negated: the closer, the higher the score.

use ndarray::Array2;

use super::{
    rows,
    similarity::{Matrix, PreparedRows, SideGradients, Similarity},
};
use crate::kernels::vector::vectorized;

/// A negated distance: s = −‖a − b‖₂ or s = −Σ|a − b|.
///
/// Two equal vectors have the score 0 and get no gradient from it (PyTorch's root has none that is a number there).
/// As sentence-transformers' `pairwise_euclidean_sim` and `pairwise_manhattan_sim`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distance {
    /// −‖a − b‖₂.
    Euclidean,
    /// −Σ|a − b|.
    Manhattan,
}

impl Distance {
    fn score(self, a: &[f32], b: &[f32]) -> f32 {
        vectorized!(match self {
            Self::Euclidean => -reduce(a, b, |x| x * x).sqrt(),
            Self::Manhattan => -reduce(a, b, f32::abs),
        })
    }

    /// Adds `at_score` times ∂s/∂a to `gradient`.
    fn add_gradient(self, a: &[f32], b: &[f32], at_score: f32, gradient: &mut [f32]) {
        if at_score == 0.0 {
            return;
        }
        vectorized!(match self {
            Self::Euclidean => {
                let length = reduce(a, b, |x| x * x).sqrt();
                let factor = if length > 0.0 { at_score / length } else { 0.0 };
                for ((g, a), b) in gradient.iter_mut().zip(a).zip(b) {
                    *g += factor * (b - a);
                }
            }
            Self::Manhattan => {
                for ((g, a), b) in gradient.iter_mut().zip(a).zip(b) {
                    let sign = if b > a { 1.0 } else { 0.0 } - if a > b { 1.0 } else { 0.0 };
                    *g += at_score * sign;
                }
            }
        });
    }
}

/// Σ f(a − b), in lanes whose order does not depend on the processor.
#[inline(always)]
fn reduce(a: &[f32], b: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    const LANES: usize = 16;
    let mut lanes = [0.0f32; LANES];
    let (left, right) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f32 = left.remainder().iter().zip(right.remainder()).map(|(a, b)| f(a - b)).sum();
    for (a, b) in left.zip(right) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += f(a - b);
        }
    }
    lanes.iter().sum::<f32>() + rest
}

impl Similarity for Distance {
    fn prepare(&self, rows: Matrix<'_>) -> PreparedRows {
        PreparedRows { rows: rows.as_standard_layout().into_owned(), factors: Vec::new() }
    }

    fn scores(&self, left: Matrix<'_>, right: Matrix<'_>) -> Array2<f32> {
        let (left_rows, right_rows) = (rows::slices(&left), rows::slices(&right));
        let mut scores = Array2::zeros((left.nrows(), right.nrows()));
        rows::each(&mut scores, |i, row| {
            row.iter_mut().zip(&right_rows).for_each(|(score, right)| *score = self.score(left_rows[i], right));
        });
        scores
    }

    fn backward(&self, left: Matrix<'_>, right: Matrix<'_>, at_scores: Matrix<'_>) -> SideGradients {
        let (left_rows, right_rows) = (rows::slices(&left), rows::slices(&right));
        let mut at_left = Array2::zeros(left.dim());
        rows::each(&mut at_left, |i, row| {
            for (j, right) in right_rows.iter().enumerate() {
                self.add_gradient(left_rows[i], right, at_scores[[i, j]], row);
            }
        });
        let mut at_right = Array2::zeros(right.dim());
        rows::each(&mut at_right, |j, row| {
            for (i, left) in left_rows.iter().enumerate() {
                self.add_gradient(right_rows[j], left, at_scores[[i, j]], row);
            }
        });
        (at_left, at_right)
    }

    fn own_scores(&self, left: Matrix<'_>, right: Matrix<'_>, owners: &[u32]) -> Vec<f32> {
        rows::own_scores(left, right, owners, |left, right| self.score(left, right))
    }

    fn own_backward(&self, left: Matrix<'_>, right: Matrix<'_>, owners: &[u32], at_scores: &[f32]) -> SideGradients {
        rows::own_backward(left, right, owners, at_scores, |own, other, at, sum| self.add_gradient(own, other, at, sum))
    }

    fn unprepare(&self, _prepared: &PreparedRows, _gradient: &mut Array2<f32>) {}
}

#[cfg(test)]
mod tests {
    use ndarray::s;

    use super::*;

    /// Tests with whole numbers, whose sums are exact, and more of them than the lanes hold.
    #[test]
    fn scores_and_gradients_equal_the_definition() {
        let whole = |rows: usize, factor: usize| {
            Array2::from_shape_fn((rows, 37), |(i, j)| ((factor * i + 3 * j + i * j) % 11) as f32 - 5.0)
        };
        let (left, right) = (whole(4, 7), whole(5, 5));
        let at_scores = Array2::from_shape_fn((4, 5), |(i, j)| (i * 5 + j) as f32 / 8.0 - 1.0);
        let owners = [0, 1, 2, 3, 1];
        for distance in [Distance::Euclidean, Distance::Manhattan] {
            let definition = |i: usize, j: usize| {
                let apart = &left.row(i) - &right.row(j);
                match distance {
                    Distance::Euclidean => -apart.mapv(|x| x * x).sum().sqrt(),
                    Distance::Manhattan => -apart.mapv(f32::abs).sum(),
                }
            };
            let expected = Array2::from_shape_fn((4, 5), |(i, j)| definition(i, j));
            assert_eq!(distance.compare(left.view(), right.view()), expected);
            let own = distance.own_scores(left.view(), right.view(), &owners);
            assert_eq!(own, (0..5).map(|j| expected[[owners[j] as usize, j]]).collect::<Vec<_>>());

            // ∂s/∂a of one score: (b − a)/‖a − b‖, or the sign of b − a.
            let slope = |i: usize, j: usize| {
                let toward = &right.row(j) - &left.row(i);
                match distance {
                    // Equal vectors, of which there are two here, have no slope.
                    Distance::Euclidean if expected[[i, j]] == 0.0 => toward,
                    Distance::Euclidean => toward / -expected[[i, j]],
                    Distance::Manhattan => toward.mapv(|x| if x == 0.0 { 0.0 } else { x.signum() }),
                }
            };
            let near = |a: &Array2<f32>, b: &Array2<f32>| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5);
            let (mut at_left, mut at_right) = (Array2::<f32>::zeros((4, 37)), Array2::<f32>::zeros((5, 37)));
            for ((i, j), at) in at_scores.indexed_iter() {
                at_left.row_mut(i).scaled_add(*at, &slope(i, j));
                at_right.row_mut(j).scaled_add(-at, &slope(i, j));
            }
            let (found_left, found_right) = distance.backward(left.view(), right.view(), at_scores.view());
            assert!(near(&found_left, &at_left) && near(&found_right, &at_right), "{distance:?}");

            at_left.fill(0.0);
            at_right.fill(0.0);
            let at_own = at_scores.slice(s![0, ..]).to_vec();
            for (j, at) in at_own.iter().enumerate() {
                let owner = owners[j] as usize;
                at_left.row_mut(owner).scaled_add(*at, &slope(owner, j));
                at_right.row_mut(j).scaled_add(-at, &slope(owner, j));
            }
            let (found_left, found_right) = distance.own_backward(left.view(), right.view(), &owners, &at_own);
            assert!(near(&found_left, &at_left) && near(&found_right, &at_right), "{distance:?}");
        }
    }
}
