//! A tensor as a pickle describes it: a shape over a storage's numbers.

use std::borrow::Cow;

use safetensors::Dtype;

/// More than any weight has.
pub const MOST_DIMENSIONS: usize = 8;

/// Numbers of one type, which stand in an entry of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Storage<'a> {
    pub dtype: Dtype,
    /// The entry's name, after `data/`.
    pub key: &'a str,
    /// Number of numbers.
    pub count: usize,
}

/// A view of a storage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tensor<'a> {
    pub storage: Storage<'a>,
    /// The first number's place.
    pub offset: usize,
    pub shape: Vec<usize>,
    /// Distances between numbers that follow each other along a dimension.
    pub strides: Vec<usize>,
}

impl Tensor<'_> {
    /// The numbers' bytes, row after row. Takes their count, as 32-bit numbers, off `room`, and refuses where there is none left.
    pub fn rows<'a>(&self, storage: &'a [u8], room: &mut usize) -> Result<Cow<'a, [u8]>, String> {
        let width = self.storage.dtype.bitsize() / 8;
        let count = self.storage.count;
        if count.checked_mul(width) != Some(storage.len()) {
            return Err(format!("its storage has {} bytes, expected {count} numbers of {width}", storage.len()));
        }
        let (shape, strides) = (&self.shape, &self.strides);
        if shape.len() != strides.len() {
            return Err(format!("has shape {shape:?} and strides {strides:?}"));
        }
        let too_large = || format!("has shape {shape:?}, which is beyond its file");
        let n = shape.iter().try_fold(1usize, |n, size| n.checked_mul(*size)).ok_or_else(too_large)?;
        let taken = n.checked_mul(width.max(4)).filter(|taken| *taken <= *room).ok_or_else(too_large)?;
        *room -= taken;
        if n == 0 {
            return Ok(Cow::Borrowed(&[]));
        }
        let last = shape.iter().zip(strides).try_fold(self.offset, |last, (size, stride)| {
            (size - 1).checked_mul(*stride).and_then(|step| last.checked_add(step))
        });
        if last.is_none_or(|last| last >= count) {
            let offset = self.offset;
            let message = format!("shape {shape:?}, strides {strides:?} and offset {offset}");
            return Err(format!("has {message}, beyond the {count} numbers of its storage"));
        }
        let mut in_rows = 1;
        let is_in_rows = shape.iter().zip(strides).rev().all(|(size, stride)| {
            let fits = *size == 1 || *stride == in_rows;
            in_rows *= size;
            fits
        });
        if is_in_rows {
            return Ok(Cow::Borrowed(&storage[self.offset * width..(self.offset + n) * width]));
        }
        let mut rows = Vec::with_capacity(n * width);
        // Steps past the end are taken back before they are used, however large.
        let mut index = vec![0; shape.len()];
        let mut at = self.offset;
        for _ in 0..n {
            rows.extend_from_slice(&storage[at * width..(at + 1) * width]);
            // The next index: like a counter, from the last dimension.
            for dimension in (0..shape.len()).rev() {
                index[dimension] += 1;
                at = at.wrapping_add(strides[dimension]);
                if index[dimension] < shape[dimension] {
                    break;
                }
                at = at.wrapping_sub(shape[dimension].wrapping_mul(strides[dimension]));
                index[dimension] = 0;
            }
        }
        Ok(Cow::Owned(rows))
    }
}
