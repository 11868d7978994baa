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

#[cfg(test)]
pub(in crate::on_device) mod tests {
    use std::io::Write;

    use burn::{
        backend::{Backend, Dispatch, backend_extension, tensor::FloatTensor},
        tensor::{DType, Device},
    };
    use burn_cubecl::CubeBackend;

    use super::*;
    use crate::{
        device::DeviceConfig,
        error::is_out_of_memory,
        on_device::traffic::{Link, Reading},
    };

    /// A launch that CubeCL takes for one that writes what it reads, as it takes a matrix product by TMA.
    #[cube(launch)]
    fn read_as_by_tma(missing: &Tensor<f32>, numbers: &mut Tensor<f32>) {
        let at = ABSOLUTE_POS;
        if at < numbers.shape(0) {
            numbers[at] = numbers[at] + missing[at];
        }
    }

    #[backend_extension(Cube, Fusion: cfg(feature = "fusion"))]
    trait Marking: Backend {
        #[fusion(dtype = numbers, shape = numbers)]
        fn marked(missing: FloatTensor<Self>, numbers: FloatTensor<Self>) -> FloatTensor<Self>;
    }

    impl Marking for CubeBackend {
        fn marked(missing: FloatTensor<Self>, numbers: FloatTensor<Self>) -> FloatTensor<Self> {
            let (client, dim) = (numbers.client.clone(), CubeDim::new_1d(32));
            let [missing, given] = [missing.into_tensor_arg(), numbers.clone().into_tensor_arg()];
            read_as_by_tma::launch(&client, CubeCount::new_single(), dim, missing, given);
            numbers
        }
    }

    /// Has a product of these numbers refused, as where its memory was too little.
    pub(in crate::on_device) fn mark_as_missing<const D: usize>(numbers: &burn::tensor::Tensor<D>) {
        // More than any device has, which is found out when something is to be done with them.
        let device = numbers.device();
        let missing = burn::tensor::Tensor::<2>::empty([1 << 20, 1 << 20], (&device, DType::F32));
        let _ = <Dispatch as Marking>::marked(missing.into_dispatch(), numbers.clone().into_dispatch());
    }

    /// The device of `WB_TEST_DEVICE`; none where it is not set, or is the processor.
    pub(in crate::on_device) fn device(test: &str) -> Option<Device> {
        let named = std::env::var("WB_TEST_DEVICE").ok().map(|name| name.parse::<DeviceConfig>().unwrap());
        let device = named.filter(|device| device.kernels().is_some());
        if device.is_none() {
            // Past the capture of test output, so that skipped tests are seen and counted.
            let _ = writeln!(std::io::stderr(), "SKIPPED {test}: WB_TEST_DEVICE names no GPU");
        }
        Some(device?.open().unwrap().burn().clone())
    }

    #[test]
    fn what_a_refused_product_marked_as_missing_is_there_again() {
        let Some(device) = device("what_a_refused_product_marked_as_missing_is_there_again") else { return };
        let link = Link::new(&device, "test device");
        let read = |numbers: &burn::tensor::Tensor<1>| {
            let mut reading = Reading::default();
            reading.add(numbers.clone());
            link.guarded(|| link.read(reading))
        };
        let numbers = link.floats(vec![1.5, -2.0, 3.25], [3]);
        assert_eq!(read(&numbers).unwrap(), [[1.5, -2.0, 3.25]]);
        mark_as_missing(&numbers);
        let error = read(&numbers).unwrap_err();
        assert!(is_out_of_memory(&error), "{error}");
        link.vouch(&numbers).unwrap();
        assert_eq!(read(&numbers).unwrap(), [[1.5, -2.0, 3.25]]);
    }
}
