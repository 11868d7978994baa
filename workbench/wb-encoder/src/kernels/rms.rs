//! Normalization by the mean square alone (RMSNorm, Zhang and Sennrich 2019, arXiv 1910.07467), forward and backward.

use super::{
    normalize::Normalized,
    vector::{dot, vectorized},
};

/// `output = x / √(mean of x² + ε) · weight` by row, and with `keep` what [`rms_backward`] needs.
///
/// # Shapes
/// `output`, `x` `[rows, width]`; `weight` `[width]`.
pub fn rms_normalize(output: &mut [f32], x: &[f32], weight: &[f32], epsilon: f32, mut keep: Option<&mut Normalized>) {
    let width = weight.len();
    if let Some(keep) = keep.as_deref_mut() {
        keep.make_room(x.len(), width);
    }
    vectorized!({
        for (row, (y, x)) in output.chunks_exact_mut(width).zip(x.chunks_exact(width)).enumerate() {
            let inverse = 1.0 / (dot(x, x) / width as f32 + epsilon).sqrt();
            if let Some(keep) = keep.as_deref_mut() {
                keep.inverse_deviation[row] = inverse;
                let unit = &mut keep.unit[row * width..(row + 1) * width];
                unit.iter_mut().zip(x).for_each(|(u, x)| *u = x * inverse);
            }
            for ((y, x), w) in y.iter_mut().zip(x).zip(weight) {
                *y = (x * inverse) * w;
            }
        }
    });
}

/// The normalized output again, from what was kept: `unit · weight`.
pub fn rms_restore(output: &mut [f32], kept: &Normalized, weight: &[f32]) {
    let width = weight.len();
    vectorized!({
        for (y, u) in output.chunks_exact_mut(width).zip(kept.unit.chunks_exact(width)) {
            y.iter_mut().zip(u).zip(weight).for_each(|((y, u), w)| *y = u * w);
        }
    });
}

/// From the gradient at the output to the gradient at the input, in place; adds the gradient of the weight where it is wanted.
pub fn rms_backward(gradient: &mut [f32], kept: &Normalized, weight: &[f32], mut wanted: Option<&mut [f32]>) {
    let width = weight.len();
    vectorized!({
        for (row, g) in gradient.chunks_exact_mut(width).enumerate() {
            let unit = &kept.unit[row * width..(row + 1) * width];
            if let Some(sum) = wanted.as_deref_mut() {
                sum.iter_mut().zip(g.iter()).zip(unit).for_each(|((w, g), u)| *w = g.mul_add(*u, *w));
            }
            g.iter_mut().zip(weight).for_each(|(g, w)| *g *= w);
            let along = dot(g, unit) / width as f32;
            let inverse = kept.inverse_deviation[row];
            g.iter_mut().zip(unit).for_each(|(g, u)| *g = (*g - u * along) * inverse);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_by_hand() {
        // 1, 5, 5, 7: mean square 25.
        let mut y = [0.0; 4];
        rms_normalize(&mut y, &[1.0, 5.0, 5.0, 7.0], &[1.0, 2.0, -1.0, 10.0], 0.0, None);
        for (y, expected) in y.iter().zip([0.2, 2.0, -1.0, 14.0]) {
            assert!((y - expected).abs() < 1e-6);
        }
        // Nothing is divided by zero, and the mean is not taken away.
        rms_normalize(&mut y, &[0.0; 4], &[1.0; 4], 1e-6, None);
        assert_eq!(y, [0.0; 4]);
        rms_normalize(&mut y, &[3.0; 4], &[1.0; 4], 0.0, None);
        assert_eq!(y, [1.0; 4]);
    }

    #[test]
    fn the_gradient_equals_differences() {
        let x = [0.3f32, -1.2, 0.8, 2.0, 0.1, 0.4, -0.5, 1.1];
        let weight = [1.5f32, 0.5, -1.0, 2.0];
        let probe = [1.0f32, -2.0, 0.5, 0.7, 0.3, 0.2, -1.0, 0.4];
        let loss = |x: &[f32], weight: &[f32]| {
            let mut y = [0.0; 8];
            rms_normalize(&mut y, x, weight, 1e-5, None);
            dot(&y, &probe)
        };
        let mut kept = Normalized::default();
        let (mut y, mut again) = ([0.0; 8], [0.0; 8]);
        rms_normalize(&mut y, &x, &weight, 1e-5, Some(&mut kept));
        rms_restore(&mut again, &kept, &weight);
        assert_eq!(y, again);
        let mut gradient = probe;
        let mut at_weight = [0.0; 4];
        rms_backward(&mut gradient, &kept, &weight, Some(&mut at_weight));
        for i in 0..8 {
            let (mut up, mut down) = (x, x);
            up[i] += 1e-2;
            down[i] -= 1e-2;
            assert!(((loss(&up, &weight) - loss(&down, &weight)) / 2e-2 - gradient[i]).abs() < 2e-3, "{i}");
        }
        for i in 0..4 {
            let (mut up, mut down) = (weight, weight);
            up[i] += 1e-2;
            down[i] -= 1e-2;
            assert!(((loss(&x, &up) - loss(&x, &down)) / 2e-2 - at_weight[i]).abs() < 1e-3, "{i}");
        }
    }
}
