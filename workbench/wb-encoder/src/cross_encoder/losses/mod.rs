//! Losses of a cross-encoder: from its numbers, before the activation, to one number to lower.

mod binary_cross_entropy;
mod list_net;

pub use self::{binary_cross_entropy::binary_cross_entropy, list_net::list_net};
