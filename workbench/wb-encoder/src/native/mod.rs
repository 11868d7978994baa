//! The CPU path: backbones in plain Rust on the kernels, with backward passes written by hand.
//!
//! Equal to the burn implementations within rounding (tests compare both), and several times faster on a CPU:
//! no padding, one thread takes a few texts through the whole network with its buffers kept,
//! frozen weights get no gradients, and element-wise work is fused.
//!
//! Results do not depend on the number of threads: texts are cut into the same groups everywhere,
//! and gradients are summed in a fixed order.

mod bert;
mod dropout_mask;
mod groups;
mod pool;
mod static_embedding;

use crate::{Architecture, Backbone, Model, Result};

/// A model on the CPU.
pub fn open(model: Model) -> Result<Box<dyn Backbone>> {
    Ok(match model.architecture.clone() {
        Architecture::T5(_) => Box::new(crate::BurnBackbone::new(model, &burn::tensor::Device::flex(), "cpu")?),
        Architecture::Bert(config) => Box::new(bert::NativeBert::new(config, model)?),
        Architecture::StaticEmbedding(config) => Box::new(static_embedding::NativeStatic::new(config, model)?),
    })
}

#[cfg(test)]
mod tests;
