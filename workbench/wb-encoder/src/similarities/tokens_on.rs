//! Late interaction composed of tensor operations: the reference that the host version is held to.

use burn::tensor::{Tensor, TensorData};

use super::tokens::{Normalizer, TokenSimilarity};

/// A value below every product of two vectors of length 1, and far from infinity.
const BELOW: f64 = -1e4;

impl TokenSimilarity {
    /// Scores of texts with one vector a token, whose beginnings and end are in the offsets.
    ///
    /// # Shapes
    /// `left` is `[left tokens, dim]`, `right` is `[right tokens, dim]`; the scores are `[left texts, right texts]`.
    pub fn forward_on(self, left: Tensor<2>, of_left: &[usize], right: Tensor<2>, of_right: &[usize]) -> Tensor<2> {
        let device = left.device();
        let products = left.matmul(right.transpose());
        let [rows, columns] = products.dims();
        let retrieved = match self {
            Self::Maxsim => vec![1.0; rows * columns],
            Self::Xtr(config) => {
                let values = products.clone().into_data().try_into_vec::<f32>().unwrap_or_default();
                values.chunks(columns.max(1)).flat_map(|row| nearest(row, config.top_k)).collect()
            }
        };
        let kept = Tensor::<2>::from_data(TensorData::new(retrieved, [rows, columns]), &device);
        // What is not retrieved stands below everything, and has no gradient.
        let products = products * kept.clone() + kept.neg().add_scalar(1.0).mul_scalar(BELOW);
        let maxima = |ends: &[usize]| match ends[1] > ends[0] {
            true => products.clone().slice([0..rows, ends[0]..ends[1]]).max_dim(1),
            false => Tensor::ones([rows, 1], &device).neg(),
        };
        let maxima = Tensor::cat(of_right.windows(2).map(maxima).collect(), 1);
        let members: Vec<f32> = of_left
            .windows(2)
            .flat_map(|ends| (0..rows).map(move |row| if (ends[0]..ends[1]).contains(&row) { 1.0 } else { 0.0 }))
            .collect();
        let members = Tensor::<2>::from_data(TensorData::new(members, [of_left.len() - 1, rows]), &device);
        let Self::Xtr(config) = self else { return members.matmul(maxima) };
        let least = match config.normalizer {
            Normalizer::SentenceTransformers => BELOW / 2.0,
            Normalizer::Pylate => 0.0,
        };
        let counts = maxima.clone().greater_elem(least).float();
        let z = members.clone().matmul(counts.clone()).clamp_min(1.0);
        members.matmul(maxima * counts) / z
    }
}

/// 1 for the `k` greatest, the first of equal ones before the others, and 0 for the rest.
fn nearest(row: &[f32], k: usize) -> Vec<f32> {
    let mut order: Vec<usize> = (0..row.len()).collect();
    order.sort_by(|a, b| row[*b].total_cmp(&row[*a]).then(a.cmp(b)));
    let mut kept = vec![0.0; row.len()];
    order.into_iter().take(k).for_each(|at| kept[at] = 1.0);
    kept
}
