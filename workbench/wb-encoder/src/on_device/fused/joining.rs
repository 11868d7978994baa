//! Two tensors one after the other. Burn's way writes both into a tensor that is there, one by one, and what is written last
//! has CubeCL forget that the first could not be computed, as where memory ran out.

use burn::backend::{TensorMetadata, cubecl::dtype_to_storage_type};
use burn_cubecl::{kernel::into_contiguous, ops::numeric::empty_device_contiguous_dtype, tensor::CubeTensor};
use cubecl::{calculate_cube_count_elemwise, prelude::*};

use super::joined_shape;

#[cube(launch)]
fn join<F: Float>(
    first: &Tensor<F>,
    second: &Tensor<F>,
    output: &mut Tensor<F>,
    all: u32,
    of_first: u32,
    of_second: u32,
    #[define(F)] _numbers: ElemType,
) {
    let at = ABSOLUTE_POS as u32;
    if at < all {
        let of_both = of_first + of_second;
        let (row, column) = (at / of_both, at % of_both);
        if column < of_first {
            output[at as usize] = first[(row * of_first + column) as usize];
        } else {
            output[at as usize] = second[(row * of_second + column - of_first) as usize];
        }
    }
}

pub(super) fn launch([first, second]: [CubeTensor; 2], dimension: usize) -> CubeTensor {
    let (first, second) = (into_contiguous(first), into_contiguous(second));
    // Numbers that stand together in each.
    let together = |of: &CubeTensor| of.shape().as_slice()[dimension..].iter().product::<usize>() as u32;
    let (of_first, of_second) = (together(&first), together(&second));
    let shape = joined_shape(&first.shape(), &second.shape(), dimension);
    let (client, numbers, all) = (first.client.clone(), first.dtype, shape.num_elements());
    assert!(second.dtype == numbers && all <= u32::MAX as usize, "{all} numbers of {numbers:?} and {:?}", second.dtype);
    let output = empty_device_contiguous_dtype(client.clone(), first.device.clone(), shape, numbers);
    let dim = CubeDim::new_1d(256);
    join::launch(
        &client,
        calculate_cube_count_elemwise(&client, all, dim),
        dim,
        first.into_tensor_arg(),
        second.into_tensor_arg(),
        output.clone().into_tensor_arg(),
        all as u32,
        of_first,
        of_second,
        dtype_to_storage_type(numbers),
    );
    output
}
