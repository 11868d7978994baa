//! Sums of gradients that are kept apart and then added in order: the same on any number of threads.

use rayon::prelude::*;

use super::places::NormPlaces;
use crate::{
    kernels::vector,
    parameters::{Gradients, Parameter, Parameters},
};

/// Number of sums that are kept apart.
pub const LANES: usize = 8;

/// Sums of gradients of everything but the tables; empty where a weight does not train.
pub struct Lane(Vec<Vec<f32>>);

impl Lane {
    /// Zeros. The gradients of `tables` are added row by row elsewhere.
    pub fn new(parameters: &Parameters, tables: &[usize]) -> Self {
        let zeros = |(place, parameter): (usize, &Parameter)| match parameter.trainable && !tables.contains(&place) {
            true => vec![0.0; parameter.values.len()],
            false => Vec::new(),
        };
        Self(parameters.iter().enumerate().map(zeros).collect())
    }

    /// The sum of a weight's gradient, where it is wanted.
    pub fn wanted(&mut self, place: usize) -> Option<&mut [f32]> {
        Some(self.0[place].as_mut_slice()).filter(|sum| !sum.is_empty())
    }

    /// The sums of both weights of a layer normalization, or of the one that it has: all or none.
    pub fn wanted_norm(&mut self, norm: &NormPlaces) -> Option<(&mut [f32], &mut [f32])> {
        let Some(shift) = norm.shift else { return self.wanted(norm.weight).map(|weight| (weight, &mut [][..])) };
        let [weight, shift] = self.0.get_disjoint_mut([norm.weight, shift]).ok()?;
        (!weight.is_empty() && !shift.is_empty()).then_some((weight.as_mut_slice(), shift.as_mut_slice()))
    }

    /// Adds the lanes to the gradients, first lane first.
    pub fn add_in_order(lanes: &[Self], gradients: &mut Gradients) {
        gradients.iter_mut().enumerate().par_bridge().for_each(|(place, gradient)| {
            for lane in lanes.iter().filter(|lane| !lane.0[place].is_empty()) {
                vector::add_scaled(gradient, 1.0, &lane.0[place]);
            }
        });
    }
}
