//! Activations of the feed-forward layer with their bias, forward and backward, in one pass.

use super::vector::{exp, vectorized};
use crate::models::Activation;

/// A function of one number.
trait Function {
    fn value(x: f32) -> f32;
    /// The gradient times the derivative at `x`.
    fn times_derivative(gradient: f32, x: f32) -> f32;
}

/// Runs `$work` with an activation's function as the type `$f`: the choice stands outside of the loops.
macro_rules! with_function {
    ($activation:expr, $f:ident => $work:expr) => {
        match $activation {
            Activation::Gelu => {
                type $f = Gelu;
                $work
            }
            Activation::GeluTanh => {
                type $f = GeluTanh;
                $work
            }
            Activation::Relu => {
                type $f = Relu;
                $work
            }
            Activation::Silu => {
                type $f = Silu;
                $work
            }
        }
    };
}

/// `x = activation(x + bias)` for `[rows, width]`, `bias` `[width]`.
pub fn add_bias_and_activate(x: &mut [f32], bias: &[f32], activation: Activation) {
    with_function!(activation, F => vectorized!({
        for row in x.chunks_exact_mut(bias.len()) {
            row.iter_mut().zip(bias).for_each(|(x, b)| *x = F::value(*x + b));
        }
    }));
}

/// `y = activation(x)`.
pub fn activate(y: &mut [f32], x: &[f32], activation: Activation) {
    with_function!(activation, F => vectorized!(y.iter_mut().zip(x).for_each(|(y, x)| *y = F::value(*x))));
}

/// `gradient *= activation'(x)`.
pub fn times_derivative(gradient: &mut [f32], x: &[f32], activation: Activation) {
    with_function!(activation, F => vectorized!(
        gradient.iter_mut().zip(x).for_each(|(g, x)| *g = F::times_derivative(*g, *x))
    ));
}

/// A gated activation (Shazeer 2020, arXiv 2002.05202): `y = activation(gate) · up`.
///
/// # Shapes
/// `y` `[rows, width]`; `x` `[rows, 2 · width]`, each row first `gate` and then `up`.
pub fn gate(y: &mut [f32], x: &[f32], width: usize, activation: Activation) {
    with_function!(activation, F => vectorized!({
        for (y, x) in y.chunks_exact_mut(width).zip(x.chunks_exact(2 * width)) {
            let (gate, up) = x.split_at(width);
            y.iter_mut().zip(gate).zip(up).for_each(|((y, g), u)| *y = F::value(*g) * u);
        }
    }));
}

/// From the gradient at the output of [`gate`], `[rows, width]`, to that at its input, `[rows, 2 · width]`.
pub fn gate_backward(dx: &mut [f32], dy: &[f32], x: &[f32], width: usize, activation: Activation) {
    with_function!(activation, F => vectorized!({
        let rows = dx.chunks_exact_mut(2 * width).zip(dy.chunks_exact(width)).zip(x.chunks_exact(2 * width));
        for ((dx, dy), x) in rows {
            let (d_gate, d_up) = dx.split_at_mut(width);
            let (gate, up) = x.split_at(width);
            for (((d, dy), g), u) in d_gate.iter_mut().zip(dy).zip(gate).zip(up) {
                *d = F::times_derivative(dy * u, *g);
            }
            d_up.iter_mut().zip(dy).zip(gate).for_each(|((d, dy), g)| *d = dy * F::value(*g));
        }
    }));
}

struct Gelu;

impl Function for Gelu {
    #[inline(always)]
    fn value(x: f32) -> f32 {
        gelu(x)
    }

    #[inline(always)]
    fn times_derivative(gradient: f32, x: f32) -> f32 {
        gradient * gelu_derivative(x)
    }
}

struct GeluTanh;

impl Function for GeluTanh {
    #[inline(always)]
    fn value(x: f32) -> f32 {
        gelu_tanh(x)
    }

    #[inline(always)]
    fn times_derivative(gradient: f32, x: f32) -> f32 {
        gradient * gelu_tanh_derivative(x)
    }
}

struct Relu;

impl Function for Relu {
    #[inline(always)]
    fn value(x: f32) -> f32 {
        x.max(0.0)
    }

    #[inline(always)]
    fn times_derivative(gradient: f32, x: f32) -> f32 {
        if x > 0.0 { gradient } else { 0.0 }
    }
}

struct Silu;

impl Function for Silu {
    #[inline(always)]
    fn value(x: f32) -> f32 {
        x / (1.0 + exp(-x))
    }

    #[inline(always)]
    fn times_derivative(gradient: f32, x: f32) -> f32 {
        let s = 1.0 / (1.0 + exp(-x));
        gradient * (x * s).mul_add(1.0 - s, s)
    }
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
        // torch.nn.functional.silu at 1 and -2
        assert!((Silu::value(1.0) - 0.731_058_6).abs() < 1e-6);
        assert!((Silu::value(-2.0) + 0.238_405_84).abs() < 1e-6);
    }

    #[test]
    fn a_gate_by_hand_and_its_gradient() {
        // gelu(1) = 0.841192 and gelu(-0.5) = -0.154286 in the tanh form.
        let x = [1.0f32, -0.5, 2.0, 3.0];
        let mut y = [0.0; 2];
        gate(&mut y, &x, 2, Activation::GeluTanh);
        assert!((y[0] - 1.682_384).abs() < 2e-6 && (y[1] + 0.462_858).abs() < 2e-6, "{y:?}");
        let mut dx = [0.0; 4];
        gate_backward(&mut dx, &[1.0, -2.0], &x, 2, Activation::GeluTanh);
        for i in 0..4 {
            let at = |shift: f32| {
                let mut moved = x;
                moved[i] += shift;
                gate(&mut y, &moved, 2, Activation::GeluTanh);
                y[0] - 2.0 * y[1]
            };
            let mut at = at;
            let difference = (at(2e-3) - at(-2e-3)) / 4e-3;
            assert!((difference - dx[i]).abs() < 2e-3, "{i}: {difference} {}", dx[i]);
        }
    }

    #[test]
    fn derivatives_equal_differences() {
        for activation in [Activation::Gelu, Activation::GeluTanh, Activation::Relu, Activation::Silu] {
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
