//! Softmax of rows, forward and backward.

use super::vector::{LANES, dot, exp, max, sum, vectorized};

/// Each row of `[rows, width]` becomes its softmax.
pub fn softmax_rows(x: &mut [f32], width: usize) {
    vectorized!({
        for row in x.chunks_exact_mut(width) {
            let top = max(row);
            for x in row.iter_mut() {
                *x = exp(*x - top);
            }
            let factor = 1.0 / sum(row);
            for x in row.iter_mut() {
                *x *= factor;
            }
        }
    });
}

/// From the gradient at the probabilities to the gradient at the scores, in place: `g = p · (g - Σ g·p)` by row.
pub fn softmax_backward_rows(gradient: &mut [f32], probabilities: &[f32], width: usize) {
    vectorized!({
        for (g, p) in gradient.chunks_exact_mut(width).zip(probabilities.chunks_exact(width)) {
            let mean = dot(g, p);
            for (g, p) in g.iter_mut().zip(p) {
                *g = (*g - mean) * p;
            }
        }
    });
}

const _: () = assert!(LANES.is_power_of_two());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_sum_to_one_and_keep_their_order() {
        let mut x = vec![1.0, 2.0, 3.0, 1000.0, 1000.0, -1000.0];
        softmax_rows(&mut x, 3);
        for (x, expected) in x.iter().zip([0.090_030_57, 0.244_728_47, 0.665_240_94, 0.5, 0.5, 0.0]) {
            assert!((x - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn the_gradient_equals_differences() {
        let x = [0.3f32, -1.2, 0.8, 2.0];
        let weights = [1.0f32, -2.0, 0.5, 0.7];
        let loss = |x: &[f32]| {
            let mut p = x.to_vec();
            softmax_rows(&mut p, 4);
            dot(&p, &weights)
        };
        let mut p = x.to_vec();
        softmax_rows(&mut p, 4);
        let mut gradient = weights.to_vec();
        softmax_backward_rows(&mut gradient, &p, 4);
        for i in 0..4 {
            let (mut up, mut down) = (x, x);
            up[i] += 1e-2;
            down[i] -= 1e-2;
            assert!(((loss(&up) - loss(&down)) / 2e-2 - gradient[i]).abs() < 1e-3);
        }
    }
}
