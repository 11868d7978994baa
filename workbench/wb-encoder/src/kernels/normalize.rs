//! Layer normalization with the residual before it, forward and backward.

use super::vector::{dot, sum, vectorized};

/// Values that layer normalization leaves for its backward pass.
#[derive(Debug, Default)]
pub struct Normalized {
    /// (x - mean) / standard deviation, `[rows, width]`.
    pub unit: Vec<f32>,
    /// 1 / standard deviation, `[rows]`.
    pub inverse_deviation: Vec<f32>,
}

impl Normalized {
    /// Room for so many numbers in rows of `width`.
    pub(super) fn make_room(&mut self, len: usize, width: usize) {
        self.unit.resize(len, 0.0);
        self.inverse_deviation.resize(len / width, 0.0);
    }

    /// Number of numbers that are kept.
    #[cfg(test)]
    pub fn numbers(&self) -> usize {
        self.unit.len() + self.inverse_deviation.len()
    }
}

/// `stream = LayerNorm(stream + update + bias)`; `update` and `bias` may be left out as an empty slice.
/// With `keep`, what [`normalize_backward`] needs.
///
/// # Shapes
/// `stream`, `update` `[rows, width]`; `bias`, `weight`, `shift` `[width]`.
pub fn add_and_normalize(
    stream: &mut [f32],
    update: &[f32],
    bias: &[f32],
    weight: &[f32],
    shift: &[f32],
    epsilon: f32,
    mut keep: Option<&mut Normalized>,
) {
    let width = weight.len();
    if let Some(keep) = keep.as_deref_mut() {
        keep.make_room(stream.len(), width);
    }
    vectorized!({
        for (row, x) in stream.chunks_exact_mut(width).enumerate() {
            if !update.is_empty() {
                let update = &update[row * width..(row + 1) * width];
                x.iter_mut().zip(update).for_each(|(x, u)| *x += u);
            }
            if !bias.is_empty() {
                x.iter_mut().zip(bias).for_each(|(x, b)| *x += b);
            }
            let mean = sum(x) / width as f32;
            x.iter_mut().for_each(|x| *x -= mean);
            let inverse = 1.0 / (dot(x, x) / width as f32 + epsilon).sqrt();
            if let Some(keep) = keep.as_deref_mut() {
                keep.inverse_deviation[row] = inverse;
                let unit = &mut keep.unit[row * width..(row + 1) * width];
                unit.iter_mut().zip(x.iter()).for_each(|(u, x)| *u = x * inverse);
            }
            for ((x, w), s) in x.iter_mut().zip(weight).zip(shift) {
                *x = (*x * inverse).mul_add(*w, *s);
            }
        }
    });
}

/// The normalized output again, from what was kept: `unit · weight + shift`.
pub fn restore(output: &mut [f32], kept: &Normalized, weight: &[f32], shift: &[f32]) {
    let width = weight.len();
    vectorized!({
        for (y, u) in output.chunks_exact_mut(width).zip(kept.unit.chunks_exact(width)) {
            for (((y, u), w), s) in y.iter_mut().zip(u).zip(weight).zip(shift) {
                *y = u.mul_add(*w, *s);
            }
        }
    });
}

/// From the gradient at the output to the gradient at the input, in place;
/// adds the gradients of weight and shift where they are wanted; that of the shift may be left out as an empty slice.
pub fn normalize_backward(
    gradient: &mut [f32],
    kept: &Normalized,
    weight: &[f32],
    mut wanted: Option<(&mut [f32], &mut [f32])>,
) {
    let width = weight.len();
    vectorized!({
        for (row, g) in gradient.chunks_exact_mut(width).enumerate() {
            let unit = &kept.unit[row * width..(row + 1) * width];
            if let Some((weight_gradient, shift_gradient)) = wanted.as_mut() {
                weight_gradient.iter_mut().zip(g.iter()).zip(unit).for_each(|((w, g), u)| *w = g.mul_add(*u, *w));
                shift_gradient.iter_mut().zip(g.iter()).for_each(|(s, g)| *s += g);
            }
            g.iter_mut().zip(weight).for_each(|(g, w)| *g *= w);
            let mean = sum(g) / width as f32;
            let along = dot(g, unit) / width as f32;
            let inverse = kept.inverse_deviation[row];
            for (g, u) in g.iter_mut().zip(unit) {
                *g = (*g - mean - u * along) * inverse;
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_by_hand() {
        // 1, 2, 3, 6: mean 3, variance 3.5
        let mut x = vec![0.0, 1.0, 2.0, 5.0];
        add_and_normalize(&mut x, &[1.0; 4], &[], &[1.0; 4], &[0.0; 4], 0.0, None);
        for (x, expected) in x.iter().zip([-1.069_045, -0.534_522_5, 0.0, 1.603_567_5]) {
            assert!((x - expected).abs() < 1e-6);
        }
    }

    #[test]
    fn the_gradient_equals_differences() {
        let x = [0.3f32, -1.2, 0.8, 2.0, 0.1, 0.4, -0.5, 1.1];
        let weight = [1.5f32, 0.5, -1.0, 2.0];
        let shift = [0.1f32, 0.2, 0.3, 0.4];
        let probe = [1.0f32, -2.0, 0.5, 0.7, 0.3, 0.2, -1.0, 0.4];
        let loss = |x: &[f32]| {
            let mut y = x.to_vec();
            add_and_normalize(&mut y, &[], &[], &weight, &shift, 1e-5, None);
            dot(&y, &probe)
        };
        let mut kept = Normalized::default();
        let mut y = x.to_vec();
        add_and_normalize(&mut y, &[], &[], &weight, &shift, 1e-5, Some(&mut kept));
        let mut again = vec![0.0; 8];
        restore(&mut again, &kept, &weight, &shift);
        assert!(y.iter().zip(&again).all(|(a, b)| (a - b).abs() < 1e-6));
        let mut gradient = probe.to_vec();
        let (mut at_weight, mut at_shift) = (vec![0.0; 4], vec![0.0; 4]);
        normalize_backward(&mut gradient, &kept, &weight, Some((&mut at_weight, &mut at_shift)));
        for i in 0..8 {
            let (mut up, mut down) = (x, x);
            up[i] += 1e-2;
            down[i] -= 1e-2;
            assert!(((loss(&up) - loss(&down)) / 2e-2 - gradient[i]).abs() < 2e-3, "{i}");
        }
        assert!((at_shift[0] - 1.3).abs() < 1e-6);
    }
}
