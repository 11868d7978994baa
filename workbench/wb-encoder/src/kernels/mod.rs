//! Plain CPU kernels on slices: matrix products, and the element-wise work of a transformer in one pass each.
//!
//! A tensor library allocates an output and walks memory once for every operation; on a CPU that costs more than
//! half of an encoder's time. Here one thread takes a few texts through the whole network with its buffers kept,
//! so that activations stay in its cache. The compiler vectorizes the loops for what the processor has, found out
//! at run time.

pub mod activation;
mod bf16;
pub mod bytes;
mod instructions;
pub mod matmul;
pub mod normalize;
pub mod packed;
mod panels;
pub mod rms;
pub mod short;
pub mod softmax;
pub mod vector;

pub use bytes::Bytes;
pub use instructions::{has_bf16_products, instruction_set};
pub use matmul::{Mat, MatMut, matmul};
pub use packed::{Packed, matmul_packed};
pub use short::{Short, float_to_brain};
