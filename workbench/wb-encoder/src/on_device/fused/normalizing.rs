//! Normalization of rows of 32-bit floats: around their mean (Ba et al. 2016, arXiv 1607.06450) or around zero (Zhang and
//! Sennrich 2019, arXiv 1910.07467).

use burn_cubecl::{kernel::into_contiguous, tensor::CubeTensor};
use cubecl::prelude::*;

use super::{
    Norm,
    rows::{OverRows, Units, empty, row_of_unit, sum_of_row},
};

/// The mean of a row, or 0, and one over the root of the mean square around it.
#[cube]
fn moments(
    x: &Tensor<f32>,
    shared: &mut Shared<[f32]>,
    start: usize,
    columns: u32,
    epsilon: f32,
    #[comptime] centered: bool,
    #[comptime] units: Units,
) -> (f32, f32) {
    let width = f32::cast_from(columns);
    let mut mean = 0.0f32;
    if centered {
        let mut sum = 0.0f32;
        let mut column = UNIT_POS_X;
        while column < columns {
            sum += x[start + column as usize];
            column += units.lanes;
        }
        mean = sum_of_row(shared, sum, units) / width;
    }
    let mut squares = 0.0f32;
    let mut column = UNIT_POS_X;
    while column < columns {
        let away = x[start + column as usize] - mean;
        squares += away * away;
        column += units.lanes;
    }
    let square = sum_of_row(shared, squares, units) / width;
    (mean, 1.0f32 / (square + epsilon).sqrt())
}

#[cube(launch)]
fn normalize_rows(
    x: &Tensor<f32>,
    scale: &Tensor<f32>,
    shift: &Tensor<f32>,
    output: &mut Tensor<f32>,
    rows: u32,
    columns: u32,
    epsilon: f32,
    #[comptime] centered: bool,
    #[comptime] shifted: bool,
    #[comptime] units: Units,
) {
    let mut shared = Shared::<[f32]>::new_slice(comptime![(units.lanes * units.rows) as usize]);
    let row = row_of_unit(units) as u32;
    // Units without a row take part in the sums of another, and write nothing.
    let start = min(row, rows - 1) as usize * columns as usize;
    let (mean, factor) = moments(x, &mut shared, start, columns, epsilon, centered, units);
    if row < rows {
        let mut column = UNIT_POS_X;
        while column < columns {
            let at = start + column as usize;
            let mut y = (x[at] - mean) * factor * scale[column as usize];
            if shifted {
                y += shift[column as usize];
            }
            output[at] = y;
            column += units.lanes;
        }
    }
}

#[cube(launch)]
fn gradient_of_rows(
    x: &Tensor<f32>,
    scale: &Tensor<f32>,
    gradient: &Tensor<f32>,
    output: &mut Tensor<f32>,
    rows: u32,
    columns: u32,
    epsilon: f32,
    #[comptime] centered: bool,
    #[comptime] units: Units,
) {
    let mut shared = Shared::<[f32]>::new_slice(comptime![(units.lanes * units.rows) as usize]);
    let row = row_of_unit(units) as u32;
    let start = min(row, rows - 1) as usize * columns as usize;
    let (mean, factor) = moments(x, &mut shared, start, columns, epsilon, centered, units);
    let width = f32::cast_from(columns);
    let mut own = 0.0f32;
    let mut with = 0.0f32;
    let mut column = UNIT_POS_X;
    while column < columns {
        let at = start + column as usize;
        let scaled = gradient[at] * scale[column as usize];
        own += scaled;
        with += scaled * ((x[at] - mean) * factor);
        column += units.lanes;
    }
    let mut level = 0.0f32;
    if centered {
        level = sum_of_row(&mut shared, own, units) / width;
    }
    let along = sum_of_row(&mut shared, with, units) / width;
    if row < rows {
        let mut column = UNIT_POS_X;
        while column < columns {
            let at = start + column as usize;
            let scaled = gradient[at] * scale[column as usize];
            output[at] = factor * (scaled - level - (x[at] - mean) * factor * along);
            column += units.lanes;
        }
    }
}

pub(super) fn launch(x: CubeTensor, scale: CubeTensor, shift: CubeTensor, norm: Norm) -> CubeTensor {
    let [x, scale, shift] = [x, scale, shift].map(into_contiguous);
    let (over, output) = (OverRows::of(&x), empty(&x, x.dtype));
    normalize_rows::launch(
        &over.client,
        over.count,
        over.dim,
        x.into_tensor_arg(),
        scale.into_tensor_arg(),
        shift.into_tensor_arg(),
        output.clone().into_tensor_arg(),
        over.rows,
        over.columns,
        norm.epsilon,
        norm.centered,
        norm.shifted,
        over.units,
    );
    output
}

pub(super) fn launch_gradient(x: CubeTensor, scale: CubeTensor, gradient: CubeTensor, norm: Norm) -> CubeTensor {
    let [x, scale, gradient] = [x, scale, gradient].map(into_contiguous);
    let (over, output) = (OverRows::of(&x), empty(&x, x.dtype));
    gradient_of_rows::launch(
        &over.client,
        over.count,
        over.dim,
        x.into_tensor_arg(),
        scale.into_tensor_arg(),
        gradient.into_tensor_arg(),
        output.clone().into_tensor_arg(),
        over.rows,
        over.columns,
        norm.epsilon,
        norm.centered,
        over.units,
    );
    output
}
