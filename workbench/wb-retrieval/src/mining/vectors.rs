//! Vectors that are read a block of rows at a time, from memory or from a file that is larger than it.
//!
//! Files are NumPy's `.npy` (format 1 to 3) and `.safetensors`, both with little-endian 32-bit floats, row after row.

use std::{
    fs::File,
    io::{Read, Seek, SeekFrom},
    ops::Range,
    path::{Path, PathBuf},
};

use serde::Deserialize;
use wb_core::{Embeddings, remote};

use crate::{
    Error, Result,
    npy::{NpyHeader, sized_header},
};

/// Vectors by their position.
pub trait Vectors {
    /// Number of vectors.
    fn len(&self) -> usize;

    /// True where there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Numbers in a vector.
    fn dim(&self) -> usize;

    /// Puts some rows into `into` in place of what it held, `[rows, dim]`.
    fn read(&mut self, rows: Range<usize>, into: &mut Vec<f32>) -> Result<()>;
}

impl Vectors for &Embeddings {
    fn len(&self) -> usize {
        self.texts()
    }

    fn dim(&self) -> usize {
        Embeddings::dim(self)
    }

    fn read(&mut self, rows: Range<usize>, into: &mut Vec<f32>) -> Result<()> {
        into.clear();
        rows.for_each(|row| into.extend(self.row(row)));
        Ok(())
    }
}

/// Vectors in a file.
#[derive(Debug)]
pub struct VectorFile {
    path: PathBuf,
    file: File,
    start: u64,
    len: usize,
    dim: usize,
}

impl VectorFile {
    /// Opens a `.npy` or `.safetensors` file; the latter must hold one tensor of two dimensions.
    pub fn open(path: &Path) -> Result<Self> {
        let mut file = remote::open(path)?;
        let (start, shape) = match path.extension().and_then(|ending| ending.to_str()) {
            Some("npy") => npy_header(&mut file, path)?,
            Some("safetensors") => safetensors_header(&mut file, path)?,
            _ => {
                return Err(Error::file(path, "expected a file of vectors")
                    .with_hint("files of vectors end in .npy or .safetensors"));
            }
        };
        let size = file.metadata().map_err(Error::io("read", path))?.len();
        let wanted = shape[0].checked_mul(shape[1]).and_then(|n| n.checked_mul(4)?.checked_add(start));
        if wanted.is_none_or(|wanted| wanted > size) {
            return Err(Error::file(path, format!("{size} bytes are too few for {} × {} numbers", shape[0], shape[1])));
        }
        Ok(Self { path: path.to_owned(), file, start, len: shape[0] as usize, dim: shape[1] as usize })
    }
}

impl Vectors for VectorFile {
    fn len(&self) -> usize {
        self.len
    }

    fn dim(&self) -> usize {
        self.dim
    }

    fn read(&mut self, rows: Range<usize>, into: &mut Vec<f32>) -> Result<()> {
        let rows = rows.start..rows.end.min(self.len);
        into.resize(rows.len() * self.dim, 0.0);
        let place = self.start + 4 * (rows.start * self.dim) as u64;
        let read = self.file.seek(SeekFrom::Start(place));
        read.and_then(|_| self.file.read_exact(pulp::bytemuck::cast_slice_mut(into)))
            .map_err(Error::io("read", &self.path))?;
        if cfg!(target_endian = "big") {
            into.iter_mut().for_each(|number| *number = f32::from_bits(u32::from_le(number.to_bits())));
        }
        Ok(())
    }
}

/// Some rows of other vectors, in an order of its own.
pub struct Picked<V> {
    vectors: V,
    rows: Vec<u32>,
    part: Vec<f32>,
}

impl<V: Vectors> Picked<V> {
    /// Vector `i` is row `rows[i]` of `vectors`.
    pub fn new(vectors: V, rows: Vec<u32>) -> Self {
        Self { vectors, rows, part: Vec::new() }
    }
}

impl<V: Vectors> Vectors for Picked<V> {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn dim(&self) -> usize {
        self.vectors.dim()
    }

    fn read(&mut self, rows: Range<usize>, into: &mut Vec<f32>) -> Result<()> {
        into.clear();
        let mut wanted = &self.rows[rows];
        // Neighbors are read together.
        while let Some(&first) = wanted.first() {
            let run = wanted.iter().zip(first..).take_while(|(row, next)| *row == next).count();
            self.vectors.read(first as usize..first as usize + run, &mut self.part)?;
            into.extend_from_slice(&self.part);
            wanted = &wanted[run..];
        }
        Ok(())
    }
}

fn npy_header(file: &mut File, path: &Path) -> Result<(u64, [u64; 2])> {
    let (header, start) = NpyHeader::read(file).map_err(|message| Error::file(path, message))?;
    if header.kind != "'<f4'" {
        let message = format!("holds {}, expected little-endian 32-bit floats, '<f4'", header.kind);
        return Err(Error::file(path, message));
    }
    if header.fortran_order {
        return Err(Error::file(path, "is in column order, expected row after row"));
    }
    match header.shape[..] {
        [rows, dim] => Ok((start, [rows, dim])),
        _ => Err(Error::file(path, format!("has the shape {}, expected rows and dimensions", header.shape_text()))),
    }
}

#[derive(Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: [u64; 2],
}

fn safetensors_header(file: &mut File, path: &Path) -> Result<(u64, [u64; 2])> {
    let (header, length) = sized_header(file, 8).map_err(|message| Error::file(path, message))?;
    let header: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(&header)
        .map_err(|error| Error::file(path, format!("its header is not JSON: {error}")))?;
    let tensors = header.into_iter().filter(|(name, _)| name != "__metadata__");
    let mut matrices: Vec<(String, Tensor)> = tensors
        .map(|(name, value)| {
            Ok((name, serde_json::from_value::<Tensor>(value).map_err(|error| Error::file(path, error.to_string()))?))
        })
        .collect::<Result<_>>()?;
    matrices.retain(|(_, tensor)| tensor.shape.len() == 2);
    match &matrices[..] {
        [(_, Tensor { dtype, shape, data_offsets: [start, end] })] if dtype == "F32" => {
            let numbers = shape[0].checked_mul(shape[1]).and_then(|n| n.checked_mul(4));
            match numbers == end.checked_sub(*start) {
                true => Ok((8 + length + start, [shape[0], shape[1]])),
                false => Err(Error::file(path, "its header contradicts itself")),
            }
        }
        [(name, tensor)] => Err(Error::file(path, format!("tensor `{name}` holds {}, expected F32", tensor.dtype))),
        several => Err(Error::file(path, format!("{} tensors of two dimensions, expected one", several.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inner_product::tests::random;

    /// A `.npy` file as NumPy writes it.
    fn npy(kind: &str, shape: &[usize], numbers: &[f32]) -> Vec<u8> {
        let mut bytes = NpyHeader::new(kind, shape).encode();
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        bytes
    }

    fn safetensors(header: &str, numbers: &[f32]) -> Vec<u8> {
        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        bytes
    }

    fn all(mut vectors: impl Vectors) -> Vec<f32> {
        let mut rows = Vec::new();
        let n = vectors.len();
        vectors.read(0..n, &mut rows).unwrap();
        rows
    }

    #[test]
    fn files_and_memory_give_the_same_rows() {
        let folder = tempfile::tempdir().unwrap();
        let matrix = random(5, 7, 3);
        let numbers: Vec<f32> = matrix.iter().copied().collect();
        let (one, other) = (folder.path().join("a.npy"), folder.path().join("a.safetensors"));
        std::fs::write(&one, npy("<f4", &[7, 3], &numbers)).unwrap();
        let header =
            "{\"__metadata__\":{\"a\":\"b\"},\"v\":{\"dtype\":\"F32\",\"shape\":[7,3],\"data_offsets\":[0,84]}}";
        std::fs::write(&other, safetensors(header, &numbers)).unwrap();
        let memory = Embeddings::dense(matrix);
        assert_eq!(all(&memory), numbers);
        assert_eq!(all(VectorFile::open(&one).unwrap()), numbers);
        assert_eq!(all(VectorFile::open(&other).unwrap()), numbers);
        let mut part = vec![9.0; 100];
        VectorFile::open(&one).unwrap().read(2..5, &mut part).unwrap();
        assert_eq!(part, numbers[6..15]);
        let mut picked = Picked::new(VectorFile::open(&one).unwrap(), vec![6, 0, 1, 2, 0]);
        picked.read(0..5, &mut part).unwrap();
        let rows: Vec<f32> = [6, 0, 1, 2, 0].iter().flat_map(|row| &numbers[3 * row..3 * row + 3]).copied().collect();
        assert_eq!(part, rows);
    }

    #[test]
    fn files_that_are_not_vectors_say_what_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            let error = VectorFile::open(&path).unwrap_err().to_string();
            error.strip_prefix(&format!("{}: ", path.display())).unwrap().to_owned()
        };
        let tensor = |dtype: &str, shape: &str, end: usize| {
            safetensors(
                &format!("{{\"v\":{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":[0,{end}]}}}}"),
                &[0.0; 4],
            )
        };
        let rows: [(&str, Vec<u8>, &str); 10] = [
            ("a.npy", npy("<f8", &[2, 2], &[0.0; 8]), "holds '<f8', expected little-endian 32-bit floats, '<f4'"),
            ("a.npy", npy("<f4", &[4], &[0.0; 4]), "has the shape (4,), expected rows and dimensions"),
            ("a.npy", npy("<f4", &[2, 3], &[0.0; 5]), "148 bytes are too few for 2 × 3 numbers"),
            ("a.npy", b"\x93NUMPY\x01".to_vec(), "ends inside its header"),
            ("a.npy", b"PK\x03\x04 something else".to_vec(), "does not begin as a .npy file does"),
            ("a.safetensors", tensor("F16", "[2,2]", 8), "tensor `v` holds F16, expected F32"),
            ("a.safetensors", tensor("F32", "[2,2]", 12), "its header contradicts itself"),
            ("a.safetensors", tensor("F32", "[4]", 16), "0 tensors of two dimensions, expected one"),
            ("a.safetensors", vec![255; 40], "a header of 18446744073709551615 bytes, expected a shorter one"),
            ("a.bin", vec![0; 40], "expected a file of vectors"),
        ];
        for (name, bytes, message) in rows {
            assert_eq!(refused(name, &bytes), message);
        }
    }
}
