//! A model in burn's tensors, on any device that burn has.

mod backbone;
mod bag;
mod distances;
mod gradients;
mod masks;
mod padded;
mod pass;
mod results;
mod traffic;
mod transformer;
mod weights;

pub use backbone::BurnBackbone;
pub use traffic::Traffic;
