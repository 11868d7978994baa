//! Gradients of weights on a device: added up there, and read back at once.

use burn::tensor::{Gradients as Found, Tensor};

use super::{
    traffic::{Link, Reading},
    weights::{Weight, Weights},
};
use crate::{error::Result, parameters::Gradients};

/// Sums of gradients, in the weights' order, row by row; none for a weight that had no part in the result.
#[derive(Default)]
pub(super) struct Sums(Vec<Option<Tensor<1>>>);

impl Sums {
    /// Goes back from a number to the weights that led to it, and adds what is found. What is not a weight and wants a
    /// gradient is asked for in the result.
    pub(super) fn backward(&mut self, from: Tensor<1>, weights: &Weights) -> Found {
        let found = from.backward();
        self.0.resize_with(weights.iter().len(), || None);
        for (sum, weight) in self.0.iter_mut().zip(weights.iter()) {
            let gradient = match weight {
                Some(Weight::Vector(tensor)) if tensor.is_tracked() => tensor.grad(&found),
                Some(Weight::Matrix(tensor)) if tensor.is_tracked() => {
                    tensor.grad(&found).map(|gradient| gradient.flatten(0, 1))
                }
                _ => None,
            };
            add(sum, gradient);
        }
        found
    }

    /// Adds others to them.
    pub(super) fn add(&mut self, others: Self) {
        self.0.resize_with(self.0.len().max(others.0.len()), || None);
        self.0.iter_mut().zip(others.0).for_each(|(sum, other)| add(sum, other));
    }

    /// Takes out the sum of the weight at a place.
    pub(super) fn take(&mut self, at: usize) -> Option<Tensor<1>> {
        self.0.get_mut(at)?.take()
    }

    /// Adds them to those in host memory.
    pub(super) fn read(self, link: &Link, gradients: &mut Gradients) -> Result<()> {
        let (mut reading, mut places) = (Reading::default(), Vec::new());
        for (at, sum) in self.0.into_iter().enumerate().filter_map(|(at, sum)| Some((at, sum?))) {
            reading.add(sum);
            places.push(at);
        }
        for (at, values) in places.into_iter().zip(link.read(reading)?) {
            gradients.at_mut(at).iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        }
        Ok(())
    }
}

fn add(sum: &mut Option<Tensor<1>>, other: Option<Tensor<1>>) {
    *sum = match (sum.take(), other) {
        (Some(sum), Some(other)) => Some(sum + other),
        (sum, other) => sum.or(other),
    };
}
