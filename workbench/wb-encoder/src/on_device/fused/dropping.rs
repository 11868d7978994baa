//! Dropout by the hash of [`crate::dropout`]: a mask is drawn where it is used and kept nowhere.

use burn::backend::cubecl::dtype_to_storage_type;
use burn_cubecl::{kernel::into_contiguous, tensor::CubeTensor};
use cubecl::prelude::*;

use super::{
    Drops,
    rows::{OverRows, Units, empty, row_of_unit},
};
use crate::dropout::{BITS, FACTORS, STEP};

/// The word of a number: [`crate::dropout::MaskKey::word`].
#[cube]
fn word(number: u32, add: u32, turn: u32) -> u32 {
    let x = number * STEP + add;
    let y = (x ^ (x >> 16u32)) * FACTORS[0];
    let z = (y ^ (y >> 15u32) ^ turn) * FACTORS[1];
    z ^ (z >> 16u32)
}

#[cube(launch)]
fn drop_rows<F: Float>(
    x: &Tensor<F>,
    words: &Tensor<i32>,
    output: &mut Tensor<F>,
    rows_in_all: u32,
    columns: u32,
    rows_of_head: u32,
    heads: u32,
    sites: u32,
    site: u32,
    first: u32,
    step: u32,
    limit: u32,
    factor: f32,
    #[comptime] by_head: bool,
    #[comptime] units: Units,
    #[define(F)] _numbers: ElemType,
) {
    let row = row_of_unit(units) as u32;
    if row < rows_in_all {
        let (head_of_all, in_head) = (row / rows_of_head, row % rows_of_head);
        let (text, head) = (head_of_all / heads, head_of_all % heads);
        let texts = rows_in_all / (rows_of_head * heads);
        let place = u32::reinterpret(words[text as usize]);
        let add_of_site = u32::reinterpret(words[(texts + site) as usize]);
        let turn_of_site = u32::reinterpret(words[(texts + sites + site) as usize]);
        let mut add = word(place, add_of_site, turn_of_site);
        let mut turn = word(place, turn_of_site, add_of_site);
        if by_head {
            let of_head = word(head, add, turn);
            let crossed = word(head, turn, add);
            add = of_head;
            turn = crossed;
        }
        let numbered = first + in_head * step;
        let start = row as usize * columns as usize;
        let mut column = UNIT_POS_X;
        while column < columns {
            let at = start + column as usize;
            let drawn = word(numbered + column, add, turn) >> (32u32 - BITS);
            let grown = f32::cast_from(x[at]) * factor;
            output[at] = F::cast_from(select(drawn < limit, 0.0f32, grown));
            column += units.lanes;
        }
    }
}

pub(super) fn launch(x: CubeTensor, words: CubeTensor, drops: Drops) -> CubeTensor {
    let Drops { elements, layout, limit, factor } = drops;
    let (x, words) = (into_contiguous(x), into_contiguous(words));
    let (over, output) = (OverRows::of(&x), empty(&x, x.dtype));
    let numbers = x.dtype;
    drop_rows::launch(
        &over.client,
        over.count,
        over.dim,
        x.into_tensor_arg(),
        words.into_tensor_arg(),
        output.clone().into_tensor_arg(),
        over.rows,
        over.columns,
        elements.rows as u32,
        elements.heads.unwrap_or(1) as u32,
        layout.sites as u32,
        layout.site as u32,
        elements.first,
        elements.step,
        limit,
        factor,
        elements.heads.is_some(),
        over.units,
        dtype_to_storage_type(numbers),
    );
    output
}
