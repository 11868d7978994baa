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
mod bert;
mod distances;
mod dropout_mask;
mod groups;
mod lane;
mod linear;
mod packs;
mod places;
mod pool;
mod states;
mod static_embedding;
mod surface;
mod t5;
mod tape;

pub(crate) use bert::PairBert;

use self::backbone::NativeBackbone;
pub(crate) use self::linear::AdaptedWeights;
use crate::{
    backbone::Backbone,
    error::Result,
    models::{Architecture, Model},
};

/// A model on the CPU.
pub fn open(model: Model) -> Result<Box<dyn Backbone>> {
    let Model { architecture, parameters, pooling, adapter } = model;
    let weights = AdaptedWeights { parameters, adapter };
    Ok(match architecture {
        Architecture::Bert(config) => Box::new(NativeBackbone::new(bert::NativeBert::new(config, weights)?, pooling)),
        Architecture::T5(config) => Box::new(NativeBackbone::new(t5::NativeT5::new(config, weights)?, pooling)),
        Architecture::StaticEmbedding(config) => {
            Box::new(static_embedding::NativeStatic::new(config, weights.parameters)?)
        }
    })
}

#[cfg(test)]
mod tests;
