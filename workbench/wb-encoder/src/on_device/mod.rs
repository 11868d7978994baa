//! A model in burn's tensors, on any device that burn has.

mod backbone;
mod bag;
mod bias;
mod distances;
#[cfg(feature = "fused")]
mod fused;
mod gradients;
mod masks;
mod maxima;
mod padded;
mod pass;
mod resident;
mod results;
mod traffic;
mod transformer;
mod weights;

pub use backbone::BurnBackbone;
pub use maxima::DeviceMaxima;
pub use traffic::Traffic;
