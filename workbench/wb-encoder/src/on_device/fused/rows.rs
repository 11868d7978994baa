//! Rows of a tensor, each read by a few units that stand side by side.

use burn::{backend::TensorMetadata, tensor::DType};
use burn_cubecl::{ops::numeric::empty_device_contiguous_dtype, tensor::CubeTensor};
use cubecl::{calculate_cube_count_elemwise, client::Client, prelude::*};

/// Units that share a row, and rows of a cube.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Units {
    pub(super) lanes: u32,
    pub(super) rows: u32,
}

impl Units {
    /// Units for a device: of a GPU a warp's, on most of them, and 256 in a cube, which all allow; of a processor one, as
    /// units that wait for each other are threads there.
    pub(super) fn of(client: &Client) -> Self {
        match client.properties().hardware.num_cpu_cores {
            Some(_) => Self { lanes: 1, rows: 1 },
            None => Self { lanes: 32, rows: 8 },
        }
    }
}

/// A launch of a kernel that goes over the rows of a tensor.
pub(super) struct OverRows {
    pub(super) client: Client,
    pub(super) count: CubeCount,
    pub(super) dim: CubeDim,
    pub(super) units: Units,
    pub(super) rows: u32,
    pub(super) columns: u32,
}

impl OverRows {
    /// A launch over the rows of the last dimension.
    pub(super) fn of(x: &CubeTensor) -> Self {
        let (shape, client) = (x.shape(), x.client.clone());
        let columns = shape.as_slice().last().copied().unwrap_or(1);
        let rows = shape.num_elements() / columns.max(1);
        let units = Units::of(&client);
        let dim = CubeDim::new_2d(units.lanes, units.rows);
        let all = rows.div_ceil(units.rows as usize) * (units.lanes * units.rows) as usize;
        let count = calculate_cube_count_elemwise(&client, all, dim);
        Self { client, count, dim, units, rows: rows as u32, columns: columns as u32 }
    }
}

/// The row of a unit; there may be none at it.
#[cube]
pub(super) fn row_of_unit(#[comptime] units: Units) -> usize {
    CUBE_POS * units.rows as usize + UNIT_POS_Y as usize
}

/// The sum over the units of a row.
#[cube]
pub(super) fn sum_of_row(shared: &mut Shared<[f32]>, own: f32, #[comptime] units: Units) -> f32 {
    of_row(shared, own, units, false)
}

/// The greatest over the units of a row.
#[cube]
pub(super) fn greatest_of_row(shared: &mut Shared<[f32]>, own: f32, #[comptime] units: Units) -> f32 {
    of_row(shared, own, units, true)
}

/// The sum over the units of a row, or the greatest, half of them at a time.
#[cube]
fn of_row(shared: &mut Shared<[f32]>, own: f32, #[comptime] units: Units, #[comptime] greatest: bool) -> f32 {
    let at = (UNIT_POS_Y * units.lanes + UNIT_POS_X) as usize;
    shared[at] = own;
    sync_cube();
    #[unroll]
    for halved in 0..comptime![units.lanes.ilog2()] {
        let half = comptime![(units.lanes / 2) >> halved];
        if UNIT_POS_X < half {
            let other = shared[at + half as usize];
            shared[at] = if greatest { max(shared[at], other) } else { shared[at] + other };
        }
        sync_cube();
    }
    let all = shared[(UNIT_POS_Y * units.lanes) as usize];
    sync_cube();
    all
}

/// A tensor of the same shape in numbers of this type, that holds nothing yet.
pub(super) fn empty(like: &CubeTensor, numbers: DType) -> CubeTensor {
    empty_device_contiguous_dtype(like.client.clone(), like.device.clone(), like.shape(), numbers)
}
