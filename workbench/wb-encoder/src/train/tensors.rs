//! Content of a checkpoint's safetensors files: trained weights by name, and their moments.

use std::{borrow::Cow, path::Path};

use safetensors::{Dtype, SafeTensors, View};
use wb_core::{Error, Result};

use super::optimizer::AdamW;
use crate::parameters::Parameters;

/// Values of one tensor on their way out.
struct Floats<'a> {
    shape: &'a [usize],
    values: &'a [f32],
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
        for (to, from) in bytes.chunks_exact_mut(4).zip(self.values) {
            to.copy_from_slice(&from.to_le_bytes());
        }
        Cow::Owned(bytes)
    }

    fn data_len(&self) -> usize {
        4 * self.values.len()
    }
}

/// Weights that train, by name.
pub fn weights_to_bytes(parameters: &Parameters) -> Result<Vec<u8>> {
    let trained = parameters.iter().filter(|p| p.trainable);
    to_bytes(trained.map(|p| (p.name.clone(), Floats { shape: &p.shape, values: &p.values })))
}

/// Other values of the weights that train, such as their average, by the weights' names.
pub fn values_to_bytes(parameters: &Parameters, values: &[Vec<f32>]) -> Result<Vec<u8>> {
    let trained = parameters.iter().zip(values).filter(|(p, _)| p.trainable);
    to_bytes(trained.map(|(p, values)| (p.name.clone(), Floats { shape: &p.shape, values })))
}

/// Puts back what [`values_to_bytes`] wrote.
pub fn values_from_bytes(bytes: &[u8], path: &Path, parameters: &Parameters, values: &mut [Vec<f32>]) -> Result<()> {
    let tensors = open(bytes, path)?;
    let mut trained = parameters.iter().zip(values).filter(|(p, _)| p.trainable);
    trained.try_for_each(|(p, values)| fill(&tensors, path, &p.name, &p.shape, values))
}

/// Puts back what [`weights_to_bytes`] wrote.
pub fn weights_from_bytes(bytes: &[u8], path: &Path, parameters: &mut Parameters) -> Result<()> {
    let tensors = open(bytes, path)?;
    let trained = parameters.iter_mut().filter(|p| p.trainable);
    trained.into_iter().try_for_each(|p| fill(&tensors, path, &p.name, &p.shape, &mut p.values))
}

/// Both moments of weights that train, as `NAME.first` and `NAME.second`.
pub fn moments_to_bytes(parameters: &Parameters, optimizer: &AdamW) -> Result<Vec<u8>> {
    let trained = parameters.iter().zip(optimizer.first.iter().zip(&optimizer.second)).filter(|(p, _)| p.trainable);
    to_bytes(trained.flat_map(|(p, (first, second))| {
        [("first", first), ("second", second)]
            .map(|(moment, values)| (format!("{}.{moment}", p.name), Floats { shape: &p.shape, values }))
    }))
}

/// Puts back what [`moments_to_bytes`] wrote.
pub fn moments_from_bytes(bytes: &[u8], path: &Path, parameters: &Parameters, optimizer: &mut AdamW) -> Result<()> {
    let tensors = open(bytes, path)?;
    let trained =
        parameters.iter().zip(optimizer.first.iter_mut().zip(&mut optimizer.second)).filter(|(p, _)| p.trainable);
    for (p, (first, second)) in trained {
        fill(&tensors, path, &format!("{}.first", p.name), &p.shape, first)?;
        fill(&tensors, path, &format!("{}.second", p.name), &p.shape, second)?;
    }
    Ok(())
}

fn to_bytes<'a>(tensors: impl Iterator<Item = (String, Floats<'a>)>) -> Result<Vec<u8>> {
    safetensors::serialize(tensors, None).map_err(|error| Error::data("checkpoint", error.to_string()))
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
