//! Activations of the feed-forward layer with their bias, forward and backward, in one pass.

use super::vector::{exp, vectorized};
use crate::models::bert_config::Activation;

/// `x = activation(x + bias)` for `[rows, width]`, `bias` `[width]`.
pub fn add_bias_and_activate(x: &mut [f32], bias: &[f32], activation: Activation) {
    vectorized!({
        for row in x.chunks_exact_mut(bias.len()) {
            match activation {
                Activation::Gelu => row.iter_mut().zip(bias).for_each(|(x, b)| *x = gelu(*x + b)),
                Activation::GeluTanh => row.iter_mut().zip(bias).for_each(|(x, b)| *x = gelu_tanh(*x + b)),
                Activation::Relu => row.iter_mut().zip(bias).for_each(|(x, b)| *x = (*x + b).max(0.0)),
            }
        }
    });
}

/// `y = activation(x)`.
pub fn activate(y: &mut [f32], x: &[f32], activation: Activation) {
    vectorized!({
        let pairs = y.iter_mut().zip(x);
        match activation {
            Activation::Gelu => pairs.for_each(|(y, x)| *y = gelu(*x)),
            Activation::GeluTanh => pairs.for_each(|(y, x)| *y = gelu_tanh(*x)),
            Activation::Relu => pairs.for_each(|(y, x)| *y = x.max(0.0)),
        }
    });
}

/// `gradient *= activation'(x)`.
pub fn times_derivative(gradient: &mut [f32], x: &[f32], activation: Activation) {
    vectorized!({
        let pairs = gradient.iter_mut().zip(x);
        match activation {
            Activation::Gelu => pairs.for_each(|(g, x)| *g *= gelu_derivative(*x)),
            Activation::GeluTanh => pairs.for_each(|(g, x)| *g *= gelu_tanh_derivative(*x)),
            Activation::Relu => pairs.for_each(|(g, x)| *g = if *x > 0.0 { *g } else { 0.0 }),
        }
    });
}

/// Gated GELU in its tanh form (GEGLU, Shazeer 2020, arXiv 2002.05202): `y = gelu(gate) · up`.
///
/// # Shapes
/// `y` `[rows, width]`; `x` `[rows, 2 · width]`, each row first `gate` and then `up`.
pub fn gate(y: &mut [f32], x: &[f32], width: usize) {
    vectorized!({
        for (y, x) in y.chunks_exact_mut(width).zip(x.chunks_exact(2 * width)) {
            let (gate, up) = x.split_at(width);
            y.iter_mut().zip(gate).zip(up).for_each(|((y, g), u)| *y = gelu_tanh(*g) * u);
        }
    });
}

/// From the gradient at the output of [`gate`], `[rows, width]`, to that at its input, `[rows, 2 · width]`.
pub fn gate_backward(dx: &mut [f32], dy: &[f32], x: &[f32], width: usize) {
    vectorized!({
        let rows = dx.chunks_exact_mut(2 * width).zip(dy.chunks_exact(width)).zip(x.chunks_exact(2 * width));
        for ((dx, dy), x) in rows {
            let (d_gate, d_up) = dx.split_at_mut(width);
            let (gate, up) = x.split_at(width);
            for (((d, dy), g), u) in d_gate.iter_mut().zip(dy).zip(gate).zip(up) {
                *d = dy * u * gelu_tanh_derivative(*g);
            }
            d_up.iter_mut().zip(dy).zip(gate).for_each(|((d, dy), g)| *d = dy * gelu_tanh(*g));
        }
    });
}

/// The normal distribution's function Φ and its density φ at `x`, within 2e-7.
///
/// Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26.
#[inline(always)]
fn normal(x: f32) -> (f32, f32) {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / z.mul_add(0.327_591_1, 1.0);
    let e = exp(-z * z);
    let p = 1.061_405_4f32
        .mul_add(t, -1.453_152_1)
        .mul_add(t, 1.421_413_8)
        .mul_add(t, -0.284_496_72)
        .mul_add(t, 0.254_829_6)
        * t;
    let upper = (0.5 * p) * e;
    let below = if x < 0.0 { upper } else { 1.0 - upper };
    (below, e * 0.398_942_3)
}

#[inline(always)]
fn gelu(x: f32) -> f32 {
    x * normal(x).0
}

#[inline(always)]
fn gelu_derivative(x: f32) -> f32 {
    let (below, density) = normal(x);
    x.mul_add(density, below)
}

/// 2/√π · 1/√2 and the cubic factor of the tanh approximation.
const TANH_FACTOR: f32 = 0.797_884_6;
const TANH_CUBIC: f32 = 0.044_715;

#[inline(always)]
fn gelu_tanh(x: f32) -> f32 {
    // (1 + tanh u) / 2 = 1 / (1 + e^(-2u))
    x / (1.0 + exp(-2.0 * TANH_FACTOR * (TANH_CUBIC * x * x).mul_add(x, x)))
}

#[inline(always)]
fn gelu_tanh_derivative(x: f32) -> f32 {
    let s = 1.0 / (1.0 + exp(-2.0 * TANH_FACTOR * (TANH_CUBIC * x * x).mul_add(x, x)));
    let inner = 2.0 * TANH_FACTOR * (3.0 * TANH_CUBIC * x).mul_add(x, 1.0);
    (x * s * (1.0 - s)).mul_add(inner, s)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// x, x·Φ(x) from tables of the normal distribution.
    #[test]
    fn gelu_matches_known_values() {
        for (x, expected) in [
            (0.0, 0.0),
            (1.0, 0.841_344_75),
            (-1.0, -0.158_655_25),
            (2.0, 1.954_499_7),
            (-3.0, -0.004_049_694),
            (6.0, 6.0),
        ] {
            assert!((gelu(x) - expected as f32).abs() < 3e-7, "{x}: {} {expected}", gelu(x));
        }
        // torch.nn.functional.gelu(approximate="tanh") at 1 and -0.5
        assert!((gelu_tanh(1.0) - 0.841_192).abs() < 1e-6);
        assert!((gelu_tanh(-0.5) + 0.154_286).abs() < 1e-6);
    }

    #[test]
    fn a_gate_by_hand_and_its_gradient() {
        // gelu(1) = 0.841192 and gelu(-0.5) = -0.154286 in the tanh form.
        let x = [1.0f32, -0.5, 2.0, 3.0];
        let mut y = [0.0; 2];
        gate(&mut y, &x, 2);
        assert!((y[0] - 1.682_384).abs() < 2e-6 && (y[1] + 0.462_858).abs() < 2e-6, "{y:?}");
        let mut dx = [0.0; 4];
        gate_backward(&mut dx, &[1.0, -2.0], &x, 2);
        for i in 0..4 {
            let at = |shift: f32| {
                let mut moved = x;
                moved[i] += shift;
                gate(&mut y, &moved, 2);
                y[0] - 2.0 * y[1]
            };
            let mut at = at;
            let difference = (at(2e-3) - at(-2e-3)) / 4e-3;
            assert!((difference - dx[i]).abs() < 2e-3, "{i}: {difference} {}", dx[i]);
        }
    }

    #[test]
    fn derivatives_equal_differences() {
        for activation in [Activation::Gelu, Activation::GeluTanh, Activation::Relu] {
            let x: Vec<f32> = (-40..40).map(|i| i as f32 * 0.13 + 0.011).collect();
            let h = 2e-3;
            let at = |shift: f32| {
                let mut y: Vec<f32> = x.iter().map(|x| x + shift).collect();
                add_bias_and_activate(&mut y, &vec![0.0; x.len()], activation);
                y
            };
            let mut derivative = vec![1.0; x.len()];
            times_derivative(&mut derivative, &x, activation);
            for ((up, down), d) in at(h).iter().zip(at(-h)).zip(derivative) {
                assert!(((up - down) / (2.0 * h) - d).abs() < 1e-3, "{activation:?}");
            }
        }
    }
}
