//! The CPU path: backbones in plain Rust on the kernels, with backward passes written by hand.
//!
//! Equal to the burn implementations within rounding (tests compare both), and several times faster on a CPU:
//! no padding, one thread takes a few texts through the whole network with its buffers kept,
//! frozen weights get no gradients, and element-wise work is fused.
//!
//! Results do not depend on the number of threads: texts are cut into the same groups everywhere,
//! and gradients are summed in a fixed order.

mod attention;
mod backbone;
mod distances;
mod dora;
mod dropout_mask;
mod groups;
mod head_norm;
mod lane;
mod linear;
mod packs;
mod places;
mod pool;
mod rotary;
mod sharing;
mod stack;
mod states;
mod static_embedding;
mod surface;

pub use self::attention::{BLOCK, WHOLE};
use self::{backbone::NativeBackbone, linear::AdaptedWeights, stack::NativeStack};
use crate::{
    backbone::Backbone,
    error::{Error, Result},
    models::{Architecture, Model},
};

/// A model on the CPU.
pub fn open(model: Model) -> Result<Box<dyn Backbone>> {
    let Model { architecture, parameters, pooling, adapter } = model;
    let weights = AdaptedWeights::new(parameters, adapter);
    if let Architecture::StaticEmbedding(config) = architecture {
        return Ok(Box::new(static_embedding::NativeStatic::new(config, weights.parameters)?));
    }
    architecture.validate("encoder")?;
    let Some(stack) = architecture.stack() else { return Err(Error::data("encoder", "is no transformer")) };
    Ok(Box::new(NativeBackbone::new(NativeStack::new(stack, weights)?, pooling)))
}

#[cfg(test)]
mod made_up_tests;
#[cfg(test)]
mod tests;
