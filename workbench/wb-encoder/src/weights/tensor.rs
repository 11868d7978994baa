//! A tensor of a file, whose numbers are read piece by piece: memory holds what is made of them, and one piece.

use std::{io::Read, path::Path};

use safetensors::{Dtype, tensor::TensorView};

use super::tensor_error;
use crate::{
    error::{Error, Result},
    kernels::Short,
    values::Values,
};

/// Bytes that are read at once.
const PIECE: usize = 1 << 16;

/// A tensor whose numbers are read in their order.
pub(super) struct Tensor<'a> {
    /// Its file.
    pub path: &'a Path,
    /// Its name there.
    pub name: &'a str,
    /// Rows first.
    pub shape: &'a [usize],
    dtype: Dtype,
    bytes: Box<dyn Read + 'a>,
}

impl<'a> Tensor<'a> {
    pub fn new(path: &'a Path, name: &'a str, (dtype, shape): (Dtype, &'a [usize]), bytes: impl Read + 'a) -> Self {
        Self { path, name, shape, dtype, bytes: Box::new(bytes) }
    }

    /// One whose bytes are in memory.
    pub fn of_view(path: &'a Path, name: &'a str, view: &'a TensorView<'a>) -> Self {
        Self::new(path, name, (view.dtype(), view.shape()), view.data())
    }

    /// Number of numbers.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// The next numbers, which have to be finite: those of a matrix stay 16-bit floats in memory where they are that here.
    pub fn values(&mut self, shape: &[usize]) -> Result<Values> {
        let n = shape.iter().product();
        let Some(kind) = short(self.dtype).filter(|_| shape.len() > 1) else { return Ok(self.floats(n)?.into()) };
        let bits = self.numbers(n, u16::from_le_bytes)?;
        self.check_finite(bits.iter().map(|bits| kind.to_float(*bits)))?;
        Ok(Values::of_short(bits, kind))
    }

    /// The next numbers as 32-bit floats, which have to be finite.
    pub fn floats(&mut self, n: usize) -> Result<Vec<f32>> {
        let values = match (self.dtype, short(self.dtype)) {
            (Dtype::F32, _) => self.numbers(n, f32::from_le_bytes)?,
            (_, Some(kind)) => self.numbers(n, |bytes| kind.to_float(u16::from_le_bytes(bytes)))?,
            (other, None) => {
                let message = format!("has type {other:?}, expected F32, F16 or BF16");
                return Err(tensor_error(self.path, self.name, message, None));
            }
        };
        self.check_finite(values.iter().copied())?;
        Ok(values)
    }

    /// Passes over numbers, of a type that may be any.
    pub fn skip(&mut self, n: usize) -> Result<()> {
        let bytes = (n * self.dtype.bitsize() / 8) as u64;
        let skipped = std::io::copy(&mut self.bytes.by_ref().take(bytes), &mut std::io::sink());
        skipped.map(|_| ()).map_err(Error::io("read", self.path))
    }

    fn numbers<T, const WIDTH: usize>(&mut self, n: usize, number: impl Fn([u8; WIDTH]) -> T) -> Result<Vec<T>> {
        let mut numbers = Vec::with_capacity(n);
        let mut room = vec![0; PIECE.min(n * WIDTH)];
        while numbers.len() < n {
            let piece = &mut room[..PIECE.min((n - numbers.len()) * WIDTH)];
            self.bytes.read_exact(piece).map_err(Error::io("read", self.path))?;
            numbers.extend(piece.as_chunks().0.iter().map(|bytes| number(*bytes)));
        }
        Ok(numbers)
    }

    fn check_finite(&self, mut values: impl ExactSizeIterator<Item = f32> + Clone) -> Result<()> {
        let len = values.len();
        let Some(at) = values.clone().position(|value| !value.is_finite()) else { return Ok(()) };
        let found = values.nth(at).unwrap_or_default();
        let message = format!("has {found} at position {at} of {len}, expected finite numbers");
        Err(tensor_error(self.path, self.name, message, None))
    }
}

/// The kind of a type of 16 bits.
fn short(dtype: Dtype) -> Option<Short> {
    match dtype {
        Dtype::F16 => Some(Short::F16),
        Dtype::BF16 => Some(Short::Bf16),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_on_over_pieces_and_passed_over() {
        let floats = PIECE / 4;
        for n in [1, floats - 1, floats, floats + 1, 2 * floats + 3] {
            let numbers: Vec<f32> = (0..3 * n).map(|i| i as f32).collect();
            let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
            let shape = [3, n];
            let mut tensor = Tensor::new(Path::new("file"), "w", (Dtype::F32, &shape), bytes.as_slice());
            assert_eq!(tensor.len(), 3 * n);
            assert_eq!(tensor.floats(n).unwrap(), numbers[..n]);
            tensor.skip(n).unwrap();
            assert_eq!(tensor.values(&[1, n]).unwrap().floats(), &numbers[2 * n..]);
            let error = tensor.floats(1).unwrap_err().to_string();
            assert!(error.starts_with("cannot read file"), "{error}");
        }
        // Halves of a matrix stay halves, those of a vector do not.
        let halves: Vec<u8> = (0..6u16).flat_map(u16::to_le_bytes).collect();
        let mut tensor = Tensor::new(Path::new("file"), "w", (Dtype::F16, &[3, 2]), halves.as_slice());
        assert_eq!([tensor.values(&[2, 1]).unwrap().memory(), tensor.values(&[2]).unwrap().memory()], [4, 8]);
    }
}
