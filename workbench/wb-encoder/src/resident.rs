//! Training whose weights, moments and gradients stay where the network is computed, and the update that is done there.

use crate::{error::Result, parameters::Gradients};

/// First moments below this become 0: left alone, those of weights that get no gradient for long would
/// sink into subnormal numbers, which processors are slow at.
const SMALLEST: f32 = 1e-30;

/// A backbone with a memory of its own, which keeps there what changes with every step of a training.
///
/// From [`Resident::settle`] to [`Resident::leave`] backward passes add to gradients there and leave the caller's alone,
/// and the weights in host memory are those that were last brought home.
pub trait Resident {
    /// Takes over every trained weight that the network reads, with its moments and average. Says of each of the
    /// parameters whether it was taken. `alike` says of two of them that one step changes them by the same numbers.
    fn settle(
        &mut self,
        alike: &dyn Fn(usize, usize) -> bool,
        first: &[Vec<f32>],
        second: &[Vec<f32>],
        average: Option<&[Vec<f32>]>,
    ) -> Result<Vec<bool>>;

    /// Adds gradients that were found elsewhere, those of weights that live here.
    fn add_gradients(&mut self, gradients: &Gradients) -> Result<()>;

    /// Sum of the squares of the gradients since the last update. The only number that a step waits for.
    fn gradient_squares(&mut self) -> Result<f64>;

    /// One step, given the numbers of each of the parameters, and of the average: e ← e + (w − e) · `follow`.
    fn step(&mut self, steps: &[AdamwStep], follow: Option<f32>) -> Result<()>;

    /// Waits for the last update, whose failure would be told by what is computed next; an error where something that lives
    /// here could not be computed.
    fn verify(&mut self) -> Result<()>;

    /// Sets the gradients to zero.
    fn forget_gradients(&mut self);

    /// Exchanges the weights and their average.
    fn swap_average(&mut self) -> Result<()>;

    /// Brings the weights to host memory, and nothing else.
    fn bring_weights(&mut self) -> Result<()>;

    /// Brings the weights to host memory, and what else a checkpoint needs into these.
    fn bring_home(
        &mut self,
        first: &mut [Vec<f32>],
        second: &mut [Vec<f32>],
        average: Option<&mut [Vec<f32>]>,
    ) -> Result<()>;

    /// Trains in host memory again, with the weights that were last brought there.
    fn leave(&mut self) -> Result<()>;
}

/// The numbers of one step of AdamW for one weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamwStep {
    /// 1 − r·λ.
    pub keep: f32,
    /// Factor of the gradient, for its clipping and the scaling of the loss.
    pub gradient_factor: f32,
    /// 1 − β₁.
    pub follow1: f32,
    /// β₂.
    pub beta2: f32,
    /// 1 − β₂.
    pub follow2: f32,
    /// 1/√(1 − β₂ᵗ).
    pub root_correction: f32,
    /// ε.
    pub eps: f32,
    /// r/(1 − β₁ᵗ).
    pub step: f32,
}

impl AdamwStep {
    /// Changes weights and moments in host memory, and leaves the gradients as zeros. Plain enough that the compiler turns
    /// it into vector instructions.
    pub fn run(self, weights: &mut [f32], gradients: &mut [f32], first: &mut [f32], second: &mut [f32]) {
        for (((w, g), m), v) in weights.iter_mut().zip(gradients).zip(first).zip(second) {
            let gradient = *g * self.gradient_factor;
            *g = 0.0;
            let mean = *m + (gradient - *m) * self.follow1;
            let mean = if mean.abs() < SMALLEST { 0.0 } else { mean };
            let square = *v * self.beta2 + gradient * gradient * self.follow2;
            *m = mean;
            *v = square;
            *w = *w * self.keep - self.step * mean / (square.sqrt() * self.root_correction + self.eps);
        }
    }
}
