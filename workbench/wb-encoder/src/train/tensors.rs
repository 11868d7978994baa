//! Content of a checkpoint's safetensors files: trained weights by name, and their moments.

use std::{borrow::Cow, path::Path};

use safetensors::{Dtype, SafeTensors, View};
use wb_core::{Error, Result};

use crate::parameters::Parameters;

/// Values of one tensor on their way out.
pub struct Floats<'a> {
    shape: &'a [usize],
    values: Cow<'a, [f32]>,
}

impl View for Floats<'_> {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        let mut bytes = vec![0; 4 * self.values.len()];
        for (to, from) in bytes.chunks_exact_mut(4).zip(self.values.iter()) {
            to.copy_from_slice(&from.to_le_bytes());
        }
        Cow::Owned(bytes)
    }

    fn data_len(&self) -> usize {
        4 * self.values.len()
    }
}

/// Weights that train, by name.
pub fn weights(parameters: &Parameters) -> impl Iterator<Item = (String, Floats<'_>)> {
    let trained = parameters.iter().filter(|p| p.trainable);
    trained.map(|p| (p.name.clone(), Floats { shape: &p.shape, values: p.values.floats() }))
}

/// Other values of the weights that train, such as their average, by the weights' names with an ending.
pub fn values<'a>(
    parameters: &'a Parameters,
    values: &'a [Vec<f32>],
    ending: &'a str,
) -> impl Iterator<Item = (String, Floats<'a>)> {
    let trained = parameters.iter().zip(values).filter(|(p, _)| p.trainable);
    trained.map(move |(p, values)| (format!("{}{ending}", p.name), Floats { shape: &p.shape, values: values.into() }))
}

/// The bytes of a file of tensors.
pub fn to_bytes<'a>(tensors: impl Iterator<Item = (String, Floats<'a>)>) -> Result<Vec<u8>> {
    safetensors::serialize(tensors, None).map_err(|error| Error::data("checkpoint", error.to_string()))
}

/// Puts back what was written of [`weights`], or other values by their names.
pub fn weights_from_bytes(bytes: &[u8], path: &Path, parameters: &mut Parameters) -> Result<()> {
    let tensors = open(bytes, path)?;
    let mut trained = parameters.iter_mut().filter(|p| p.trainable);
    trained.try_for_each(|p| fill(&tensors, path, &p.name, &p.shape, p.values.floats_mut()))
}

/// Puts back what was written of [`values`] with this ending.
pub fn values_from_bytes(
    bytes: &[u8],
    path: &Path,
    parameters: &Parameters,
    values: &mut [Vec<f32>],
    ending: &str,
) -> Result<()> {
    let tensors = open(bytes, path)?;
    let mut trained = parameters.iter().zip(values).filter(|(p, _)| p.trainable);
    trained.try_for_each(|(p, values)| fill(&tensors, path, &format!("{}{ending}", p.name), &p.shape, values))
}

fn open<'a>(bytes: &'a [u8], path: &Path) -> Result<SafeTensors<'a>> {
    SafeTensors::deserialize(bytes).map_err(|error| Error::data(path.display().to_string(), error.to_string()))
}

fn fill(tensors: &SafeTensors<'_>, path: &Path, name: &str, shape: &[usize], into: &mut [f32]) -> Result<()> {
    let place = || format!("{}: tensor {name}", path.display());
    let tensor = tensors.tensor(name).map_err(|error| Error::data(place(), error.to_string()))?;
    if tensor.dtype() != Dtype::F32 || tensor.shape() != shape {
        let message = format!("{:?} {:?}, expected F32 {shape:?}", tensor.dtype(), tensor.shape());
        return Err(Error::data(place(), message));
    }
    for (to, from) in into.iter_mut().zip(tensor.data().chunks_exact(4)) {
        let mut four = [0; 4];
        four.copy_from_slice(from);
        *to = f32::from_le_bytes(four);
    }
    Ok(())
}
