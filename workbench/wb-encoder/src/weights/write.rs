//! Weights out to safetensors files.

use std::{borrow::Cow, path::Path};

use safetensors::{Dtype, tensor::View};
use wb_core::atomic;

use super::{dtype::WeightType, tensor_error};
use crate::{
    error::{Error, Result},
    parameters::Parameter,
};

/// Writes weights in the types that they have in memory; the file appears whole or not at all.
pub fn write<'a>(path: &Path, weights: impl Iterator<Item = &'a Parameter>) -> Result<()> {
    write_as(path, weights.map(|p| (p.name.clone(), p)), None)
}

/// Writes weights under the names and in the type given, or in those that they have in memory; the file appears whole or
/// not at all. A number beyond the type's range is an error.
pub fn write_as<'a>(
    path: &Path,
    weights: impl Iterator<Item = (String, &'a Parameter)>,
    dtype: Option<WeightType>,
) -> Result<()> {
    let written = |(name, parameter): (String, &'a Parameter)| {
        (name, Written { parameter, dtype: dtype.unwrap_or(parameter.values.weight_type()) })
    };
    let weights: Vec<(String, Written<'a>)> = weights.map(written).collect();
    for (name, Written { parameter, dtype }) in &weights {
        if *dtype == parameter.values.weight_type() {
            continue;
        }
        let values = parameter.values.floats();
        if let Some(at) = dtype.out_of_range(&values) {
            let message = format!("has {} at position {at}, which is beyond the range of {dtype}", values[at]);
            return Err(tensor_error(path, name, message, Some("write it as bf16 or f32".into())));
        }
    }
    // `format: pt` is what transformers asks of a file that it is to load.
    let metadata = [("format".to_owned(), "pt".to_owned())].into();
    let file = safetensors::serialize(weights, Some(metadata))
        .map_err(|error| Error::file(path, format!("cannot be written as safetensors: {error}")))?;
    atomic::write(path, &file)
}

/// A weight in the type that it is written in, whose bytes are made when it is its turn.
struct Written<'a> {
    parameter: &'a Parameter,
    dtype: WeightType,
}

impl View for Written<'_> {
    fn dtype(&self) -> Dtype {
        self.dtype.dtype()
    }

    fn shape(&self) -> &[usize] {
        &self.parameter.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Owned(self.dtype.to_bytes(&self.parameter.values.floats()))
    }

    fn data_len(&self) -> usize {
        self.dtype.bytes() * self.parameter.values.len()
    }
}
