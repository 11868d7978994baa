//! A launch that is refused, for tests of what comes after: CubeCL takes it for one that writes what it reads, as it takes a
//! matrix product by TMA.

use burn::{
    backend::{Backend, Dispatch, backend_extension, tensor::FloatTensor},
    tensor::DType,
};
use burn_cubecl::CubeBackend;
use cubecl::prelude::*;

#[cube(launch)]
fn read_as_by_tma(missing: &Tensor<f32>, numbers: &mut Tensor<f32>) {
    let at = ABSOLUTE_POS;
    if at < numbers.shape(0) {
        numbers[at] += missing[at];
    }
}

/// Work that is refused, on a backend.
#[backend_extension(Cube, Fusion: cfg(feature = "fusion"))]
trait Refused: Backend {
    #[fusion(dtype = numbers, shape = numbers)]
    fn read_with(missing: FloatTensor<Self>, numbers: FloatTensor<Self>) -> FloatTensor<Self>;
}

impl Refused for CubeBackend {
    fn read_with(missing: FloatTensor<Self>, numbers: FloatTensor<Self>) -> FloatTensor<Self> {
        let (client, dim) = (numbers.client.clone(), CubeDim::new_1d(32));
        let [missing, given] = [missing.into_tensor_arg(), numbers.clone().into_tensor_arg()];
        read_as_by_tma::launch(&client, CubeCount::new_single(), dim, missing, given);
        numbers
    }
}

/// Marks numbers as missing, as a product of them does whose memory was too little.
pub(in crate::on_device) fn mark_as_missing<const D: usize>(numbers: &burn::tensor::Tensor<D>) {
    // 16 GB at once, more than a device of software gives, which is found out when something is to be done with it.
    let missing = burn::tensor::Tensor::<2>::empty([1 << 15, (1 << 17) - 1], (&numbers.device(), DType::F32));
    let _ = <Dispatch as Refused>::read_with(missing.into_dispatch(), numbers.clone().into_dispatch());
}
