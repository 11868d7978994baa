//! Weights out of `pytorch_model.bin`, the file of `torch.save`: a zip archive of a pickle and of raw storages.
//!
//! A pickle is a program, and loading one with Python runs what it says. Here a small machine runs it that can do nothing but
//! put together numbers, texts, tuples, dictionaries and tensors: whatever else the program names is refused by its name.
//! Nothing is allocated by what the file only claims: sizes are compared with the bytes that are there.

mod archive;
mod pickle;
mod tensor;
mod value;

use std::{borrow::Cow, path::Path};

use safetensors::{Dtype, tensor::TensorView};

use self::archive::Archive;
use super::tensor_error;
use crate::error::{Error, Result};

/// A file of tensors, by name.
#[derive(Debug)]
pub(super) struct TorchFile<'a> {
    tensors: Vec<Named<'a>>,
}

#[derive(Debug)]
struct Named<'a> {
    name: &'a str,
    dtype: Dtype,
    shape: Vec<usize>,
    /// Bytes in rows, as safetensors have them.
    data: Cow<'a, [u8]>,
}

/// True where these are the first bytes of a zip archive, which no safetensors file begins with.
pub(super) fn is_archive(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04")
}

/// Beginning of the files of older versions of torch: a pickle of this number.
const OLD_MAGIC: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";

impl<'a> TorchFile<'a> {
    /// Reads a dictionary of tensors, such as a module's `state_dict()`.
    pub fn open(path: &Path, bytes: &'a [u8]) -> Result<Self> {
        let refuse = |message: String| Error::file(path, message).with_hint_if(hint(bytes));
        let archive = Archive::open(bytes).map_err(|message| refuse(format!("is no whole zip archive: {message}")))?;
        let (prefix, program) = archive.program().map_err(refuse)?;
        if archive.get(&format!("{prefix}byteorder")).is_some_and(|order| order != b"little") {
            return Err(refuse("was written by a big-endian machine, expected little-endian".into()));
        }
        let found = pickle::run(program).map_err(|message| refuse(format!("{prefix}data.pkl: {message}")))?;
        // Tied weights are there once and named twice, and 16-bit numbers become 32-bit ones: more than four times
        // the file's size is no honest file.
        let mut room = bytes.len().saturating_mul(4);
        let mut tensors = Vec::with_capacity(found.len());
        for (name, tensor) in found {
            let refuse = |message: String| tensor_error(path, name, message, None);
            let storage_name = format!("{prefix}data/{}", tensor.storage.key);
            let storage = archive
                .get(&storage_name)
                .ok_or_else(|| refuse(format!("its numbers, {storage_name}, are missing")))?;
            let data = tensor.rows(storage, &mut room).map_err(refuse)?;
            tensors.push(Named { name, dtype: tensor.storage.dtype, shape: tensor.shape.clone(), data });
        }
        Ok(Self { tensors })
    }

    /// The tensors as safetensors has them.
    pub fn views(&self, path: &Path) -> Result<Vec<(&str, TensorView<'_>)>> {
        self.tensors
            .iter()
            .map(|named| {
                let view = TensorView::new(named.dtype, named.shape.clone(), &named.data)
                    .map_err(|error| tensor_error(path, named.name, error.to_string(), None))?;
                Ok((named.name, view))
            })
            .collect()
    }
}

fn hint(bytes: &[u8]) -> Option<String> {
    let text = match () {
        () if bytes.starts_with(OLD_MAGIC) => "save it again with a torch of version 1.6 or later",
        () if bytes.starts_with(b"version https://git-lfs") => {
            "this is a Git LFS pointer, not the weights: git lfs pull"
        }
        () => "expected a state_dict() saved by torch.save; safetensors need no such care",
    };
    Some(text.to_owned())
}

#[cfg(test)]
mod tests;
