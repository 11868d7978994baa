//! Weights out to safetensors files.

use std::path::Path;

use safetensors::tensor::TensorView;
use wb_core::atomic;

use super::{dtype::WeightType, tensor_error};
use crate::{
    error::{Error, Result},
    parameters::Parameter,
};

/// Writes weights as 32-bit floats; the file appears whole or not at all.
pub fn write<'a>(path: &Path, weights: impl Iterator<Item = &'a Parameter>) -> Result<()> {
    write_as(path, weights.map(|p| (p.name.clone(), p)), WeightType::F32)
}

/// Writes weights under the names and in the type given; the file appears whole or not at all.
/// A number beyond the type's range is an error.
pub fn write_as<'a>(
    path: &Path,
    weights: impl Iterator<Item = (String, &'a Parameter)>,
    dtype: WeightType,
) -> Result<()> {
    let mut tensors: Vec<(String, &[usize], Vec<u8>)> = Vec::new();
    for (name, parameter) in weights {
        let bytes = dtype.to_bytes(&parameter.values).map_err(|at| {
            let message =
                format!("has {} at position {at}, which is beyond the range of {dtype}", parameter.values[at]);
            tensor_error(path, &name, message, Some("write it as bf16 or f32".into()))
        })?;
        tensors.push((name, &parameter.shape, bytes));
    }
    let mut views = Vec::with_capacity(tensors.len());
    for (name, shape, bytes) in &tensors {
        let view = TensorView::new(dtype.dtype(), shape.to_vec(), bytes)
            .map_err(|error| tensor_error(path, name, error.to_string(), None))?;
        views.push((name.as_str(), view));
    }
    // `format: pt` is what transformers asks of a file that it is to load.
    let metadata = [("format".to_owned(), "pt".to_owned())].into();
    let file = safetensors::serialize(views, Some(metadata))
        .map_err(|error| Error::file(path, format!("cannot be written as safetensors: {error}")))?;
    atomic::write(path, &file)
}
