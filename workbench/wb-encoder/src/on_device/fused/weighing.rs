//! Attention's probabilities: softmax over the keys of `scores · factor + bias`.

use burn::{
    backend::{TensorMetadata, cubecl::dtype_to_storage_type},
    tensor::DType,
};
use burn_cubecl::{kernel::into_contiguous, tensor::CubeTensor};
use cubecl::prelude::*;

use super::rows::{OverRows, Units, empty, greatest_of_row, row_of_unit, sum_of_row};

/// From a number to the next in a dimension; none where it has one number for all places.
#[cube]
fn step_of_spread(of: &Tensor<f32>, #[comptime] dimension: usize) -> usize {
    select(of.shape(dimension) == 1, 0usize, of.stride(dimension))
}

/// The first number of a row of `[texts, heads, queries, keys]` in a tensor that spreads over it.
#[cube]
fn start_of_spread(of: &Tensor<f32>, row: u32, heads: u32, queries: u32) -> usize {
    let (text, head, query) = (row / (heads * queries), row / queries % heads, row % queries);
    step_of_spread(of, 0usize) * text as usize
        + step_of_spread(of, 1usize) * head as usize
        + step_of_spread(of, 2usize) * query as usize
}

#[cube(launch)]
fn weigh_rows<S: Float, P: Float>(
    scores: &Tensor<S>,
    bias: &Tensor<f32>,
    output: &mut Tensor<P>,
    rows: u32,
    keys: u32,
    heads: u32,
    queries: u32,
    factor: f32,
    #[comptime] units: Units,
    #[define(S, P)] _numbers: [ElemType; 2],
) {
    let mut shared = Shared::<[f32]>::new_slice(comptime![(units.lanes * units.rows) as usize]);
    let own = row_of_unit(units) as u32;
    // Units without a row take part in the sums of another, and write nothing.
    let row = min(own, rows - 1);
    let start = row as usize * keys as usize;
    let start_of_bias = start_of_spread(bias, row, heads, queries);
    let step = step_of_spread(bias, 3usize);
    let mut greatest = f32::min_value();
    let mut key = UNIT_POS_X;
    while key < keys {
        let score = f32::cast_from(scores[start + key as usize]) * factor + bias[start_of_bias + key as usize * step];
        greatest = max(greatest, score);
        key += units.lanes;
    }
    let greatest = greatest_of_row(&mut shared, greatest, units);
    let mut sum = 0.0f32;
    let mut key = UNIT_POS_X;
    while key < keys {
        let score = f32::cast_from(scores[start + key as usize]) * factor + bias[start_of_bias + key as usize * step];
        sum += (score - greatest).exp();
        key += units.lanes;
    }
    let sum = sum_of_row(&mut shared, sum, units);
    if own < rows {
        let mut key = UNIT_POS_X;
        while key < keys {
            let at = start + key as usize;
            let score = f32::cast_from(scores[at]) * factor + bias[start_of_bias + key as usize * step];
            output[at] = P::cast_from((score - greatest).exp() / sum);
            key += units.lanes;
        }
    }
}

#[cube(launch)]
fn gradient_of_rows<P: Float, G: Float, S: Float>(
    probabilities: &Tensor<P>,
    gradient: &Tensor<G>,
    output: &mut Tensor<S>,
    rows: u32,
    keys: u32,
    factor: f32,
    #[comptime] units: Units,
    #[define(P, G, S)] _numbers: [ElemType; 3],
) {
    let mut shared = Shared::<[f32]>::new_slice(comptime![(units.lanes * units.rows) as usize]);
    let own = row_of_unit(units) as u32;
    let start = min(own, rows - 1) as usize * keys as usize;
    let mut sum = 0.0f32;
    let mut key = UNIT_POS_X;
    while key < keys {
        let at = start + key as usize;
        sum += f32::cast_from(probabilities[at]) * f32::cast_from(gradient[at]);
        key += units.lanes;
    }
    let mean = sum_of_row(&mut shared, sum, units);
    if own < rows {
        let mut key = UNIT_POS_X;
        while key < keys {
            let at = start + key as usize;
            let away = f32::cast_from(gradient[at]) - mean;
            output[at] = S::cast_from(f32::cast_from(probabilities[at]) * away * factor);
            key += units.lanes;
        }
    }
}

pub(super) fn launch(scores: CubeTensor, bias: CubeTensor, factor: f32, numbers: DType) -> CubeTensor {
    let scores = into_contiguous(scores);
    let shape = scores.shape();
    let (heads, queries) = (shape.as_slice()[1], shape.as_slice()[2]);
    let (over, output) = (OverRows::of(&scores), empty(&scores, numbers));
    let types = [scores.dtype, numbers].map(dtype_to_storage_type);
    weigh_rows::launch(
        &over.client,
        over.count,
        over.dim,
        scores.into_tensor_arg(),
        bias.into_tensor_arg(),
        output.clone().into_tensor_arg(),
        over.rows,
        over.columns,
        heads as u32,
        queries as u32,
        factor,
        over.units,
        types,
    );
    output
}

pub(super) fn launch_gradient(
    probabilities: CubeTensor,
    gradient: CubeTensor,
    factor: f32,
    numbers: DType,
) -> CubeTensor {
    let [probabilities, gradient] = [probabilities, gradient].map(into_contiguous);
    let (over, output) = (OverRows::of(&probabilities), empty(&probabilities, numbers));
    let types = [probabilities.dtype, gradient.dtype, numbers].map(dtype_to_storage_type);
    gradient_of_rows::launch(
        &over.client,
        over.count,
        over.dim,
        probabilities.into_tensor_arg(),
        gradient.into_tensor_arg(),
        output.clone().into_tensor_arg(),
        over.rows,
        over.columns,
        factor,
        over.units,
        types,
    );
    output
}
