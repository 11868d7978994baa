//! A step of AdamW (Loshchilov and Hutter 2019, arXiv 1711.05101) for many weights at once.

use burn::backend::TensorMetadata;
use burn_cubecl::{kernel::into_contiguous, tensor::CubeTensor};
use cubecl::{calculate_cube_count_elemwise, prelude::*};

use super::rows::empty;
use crate::resident::AdamwStep;

/// Numbers of a step that change from one to the next: [`super::update`].
const CHANGING: usize = 4;

#[cube(launch)]
fn update_each(
    weights: &Tensor<f32>,
    first: &Tensor<f32>,
    second: &Tensor<f32>,
    gradient: &Tensor<f32>,
    changing: &Tensor<f32>,
    new_weights: &mut Tensor<f32>,
    new_first: &mut Tensor<f32>,
    new_second: &mut Tensor<f32>,
    follow1: f32,
    beta2: f32,
    follow2: f32,
    eps: f32,
) {
    let at = ABSOLUTE_POS;
    if at < weights.shape(0) {
        let g = gradient[at] * changing[1];
        let m = first[at] + (g - first[at]) * follow1;
        let v = second[at] * beta2 + g * g * follow2;
        let divisor = v.sqrt() * changing[2] + eps;
        new_weights[at] = weights[at] * changing[0] - m * changing[3] / divisor;
        new_first[at] = m;
        new_second[at] = v;
    }
}

pub(super) fn launch(
    tensors: [CubeTensor; 4],
    changing: CubeTensor,
    AdamwStep { follow1, beta2, follow2, eps, .. }: AdamwStep,
) -> [CubeTensor; 3] {
    let [weights, first, second, gradient] = tensors.map(into_contiguous);
    let changing = into_contiguous(changing);
    debug_assert_eq!(changing.shape().num_elements(), CHANGING);
    let new = [&weights, &first, &second].map(|old| empty(old, old.dtype));
    let [new_weights, new_first, new_second] = new.clone();
    let (client, each) = (weights.client.clone(), weights.shape().num_elements());
    let dim = CubeDim::new_1d(256);
    update_each::launch(
        &client,
        calculate_cube_count_elemwise(&client, each, dim),
        dim,
        weights.into_tensor_arg(),
        first.into_tensor_arg(),
        second.into_tensor_arg(),
        gradient.into_tensor_arg(),
        changing.into_tensor_arg(),
        new_weights.into_tensor_arg(),
        new_first.into_tensor_arg(),
        new_second.into_tensor_arg(),
        follow1,
        beta2,
        follow2,
        eps,
    );
    new
}
