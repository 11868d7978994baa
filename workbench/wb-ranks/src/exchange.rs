//! Arrays of numbers on their way between ranks.

use ndarray::{Array2, ArrayView2};
use wb_core::{Error, Result};

/// Bytes of an array, row by row, little-endian as on all machines that the kernels know.
pub(crate) fn bytes_of(array: ArrayView2<'_, f32>) -> Vec<u8> {
    let rows = array.as_standard_layout();
    rows.as_slice().map(|numbers| bytemuck::cast_slice(numbers).to_vec()).unwrap_or_default()
}

/// Numbers out of bytes.
pub(crate) fn numbers_of(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect()
}

/// An array of rows out of the first bytes, which are taken off.
pub(crate) fn rows_of(bytes: &mut &[u8], rows: usize, columns: usize) -> Result<Array2<f32>> {
    let length = 4 * rows * columns;
    let Some((first, rest)) = bytes.split_at_checked(length) else {
        return Err(Error::failed(format!("a rank sent {} bytes, expected {length}", bytes.len())));
    };
    *bytes = rest;
    Array2::from_shape_vec((rows, columns), numbers_of(first)).map_err(|error| Error::failed(error.to_string()))
}
