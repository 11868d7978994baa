//! A launch that is given a tensor to write, and writes nothing. CubeCL then takes the tensor's numbers, which are what they
//! were, for numbers that are there.

use burn::backend::cubecl::dtype_to_storage_type;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

#[cube(launch)]
fn vouch<F: Float>(numbers: &mut Tensor<F>, none: u32, #[define(F)] _numbers: ElemType) {
    let at = ABSOLUTE_POS as u32;
    // Known when it runs alone, so that it stays a kernel that writes.
    if at < none {
        numbers[at as usize] = F::new(0.0);
    }
}

pub(super) fn launch(numbers: CubeTensor) -> CubeTensor {
    let (client, kind) = (numbers.client.clone(), dtype_to_storage_type(numbers.dtype));
    vouch::launch(&client, CubeCount::new_single(), CubeDim::new_1d(32), numbers.clone().into_tensor_arg(), 0, kind);
    numbers
}
