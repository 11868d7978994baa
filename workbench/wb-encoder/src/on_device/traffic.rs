//! The one place that copies numbers from the host to a device and back, and counts them, and what is computed there.

use std::sync::{Mutex, MutexGuard, PoisonError};

use burn::tensor::{DType, Device, FloatDType, Int, Tensor, TensorData, Transaction};

use super::transformer::Turns;
use crate::{
    backbone::Padding,
    device::guarded,
    error::{Result, failed_on, is_out_of_memory},
    weights::WeightType,
};

/// Counts of what has crossed since a model was brought to a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Copies to the device.
    pub uploads: u64,
    /// Bytes that were copied to the device.
    pub uploaded: u64,
    /// Tensors that were read back.
    pub downloads: u64,
    /// Bytes that were read back.
    pub downloaded: u64,
    /// Times that the host has waited for the device.
    pub waits: u64,
}

/// A device, what it is called, and what has crossed to it and back.
#[derive(Debug)]
pub(crate) struct Link {
    device: Device,
    name: String,
    #[cfg(feature = "fused")]
    fuses: bool,
    /// Tables of places; what was computed of one that found no memory would be refused for ever.
    pub(super) turns: Turns,
    traffic: Mutex<Traffic>,
    padding: Mutex<Padding>,
}

impl Link {
    /// A link that nothing has crossed; tensors that it makes want no gradients.
    pub(crate) fn new(device: &Device, name: &str) -> Self {
        let device = device.clone().without_autodiff();
        Self {
            #[cfg(feature = "fused")]
            fuses: super::fused::are_on(&device),
            device,
            name: name.to_owned(),
            turns: Turns::default(),
            traffic: Mutex::default(),
            padding: Mutex::default(),
        }
    }

    /// The device, for tensors that it makes by itself.
    pub(crate) fn device(&self) -> &Device {
        &self.device
    }

    /// The device's name, for messages.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// True where the kernels of [`super::fused`] stand for chains of operations.
    #[cfg(feature = "fused")]
    pub(crate) fn fuses(&self) -> bool {
        self.fuses
    }

    /// Runs what the device may refuse or its driver may panic in. Where memory ran out, what is free of it is given back:
    /// kept for tensors of other sizes, it would be missing when smaller parts are tried.
    pub(crate) fn guarded<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let done = guarded(&self.name, work);
        if done.as_ref().is_err_and(is_out_of_memory) {
            self.turns.forget();
            drop(guarded(&self.name, || {
                self.device.memory_cleanup();
                Ok(())
            }));
        }
        done
    }

    /// Counts of what has crossed until now.
    pub(crate) fn traffic(&self) -> Traffic {
        *self.counts()
    }

    /// Counts of what has been computed until now.
    pub(crate) fn padding(&self) -> Padding {
        *self.padding.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a pass over so many places, of which so many hold tokens.
    pub(crate) fn count_places(&self, places: usize, tokens: usize) {
        let mut padding = self.padding.lock().unwrap_or_else(PoisonError::into_inner);
        padding.tokens += tokens as u64;
        padding.padding += (places - tokens) as u64;
    }

    /// Tensors one after the other in a dimension, at least one. By burn's own kernels the whole would not tell that a part
    /// could not be computed, so that ours are taken wherever they are.
    pub(crate) fn join<const D: usize>(&self, tensors: Vec<Tensor<D>>, dimension: usize) -> Tensor<D> {
        #[cfg(feature = "fused")]
        if super::fused::can_be_on(&self.device) {
            return super::fused::join(tensors, dimension);
        }
        Tensor::cat(tensors, dimension)
    }

    /// Has a tensor taken for one that could be computed, as it was: a launch that finds no memory marks all that it could
    /// have written as missing, and CubeCL cannot tell what a matrix product by TMA (Hopper and later) reads from what it
    /// writes (CubeCL 0.11.3, `buffer_io_by_position`).
    pub(crate) fn vouch<const D: usize>(&self, numbers: &Tensor<D>) -> Result<()> {
        #[cfg(feature = "fused")]
        if super::fused::can_be_on(&self.device) {
            let mut reading = Reading::default();
            reading.add_first(&super::fused::vouch(numbers.clone()));
            return self.read(reading).map(drop);
        }
        #[cfg(not(feature = "fused"))]
        let _ = numbers;
        Ok(())
    }

    /// Copies floats to the device.
    pub(crate) fn floats<const D: usize>(&self, values: Vec<f32>, shape: [usize; D]) -> Tensor<D> {
        self.count_upload(4 * values.len());
        Tensor::from_data(TensorData::new(values, shape), &self.device)
    }

    /// True where the device computes with numbers of this type.
    pub(crate) fn has(&self, kind: WeightType) -> bool {
        self.device.supports_dtype(float_of(kind))
    }

    /// Copies floats of 16 bits to the device.
    pub(crate) fn shorts<const D: usize>(&self, bytes: Vec<u8>, shape: [usize; D], kind: WeightType) -> Tensor<D> {
        self.count_upload(bytes.len());
        let dtype = DType::from(float_of(kind));
        Tensor::from_data(TensorData::from_bytes_vec(bytes, shape, dtype), (&self.device, dtype))
    }

    /// Copies whole numbers to the device, as such of 32 bits.
    pub(crate) fn ints<const D: usize>(&self, values: Vec<i32>, shape: [usize; D]) -> Tensor<D, Int> {
        self.count_upload(4 * values.len());
        Tensor::from_data(TensorData::new(values, shape), (&self.device, DType::I32))
    }

    /// The whole numbers from 0 to below `end`, of 32 bits, which the device makes.
    pub(crate) fn arange(&self, end: usize) -> Tensor<1, Int> {
        Tensor::arange(0..end as i64, (&self.device, DType::I32))
    }

    /// Reads tensors back, row by row each, in one wait for all of them.
    pub(crate) fn read(&self, tensors: Reading) -> Result<Vec<Vec<f32>>> {
        if tensors.count == 0 {
            return Ok(Vec::new());
        }
        let failed = |error: String| failed_on(&self.name, "reading a result back failed", &error);
        self.counts().waits += 1;
        let found = tensors.transaction.try_execute().map_err(|error| failed(error.to_string()))?;
        let floats = |data: TensorData| {
            let values = data.try_into_vec::<f32>().map_err(|error| failed(error.to_string()))?;
            let mut counts = self.counts();
            counts.downloads += 1;
            counts.downloaded += 4 * values.len() as u64;
            Ok(values)
        };
        found.into_iter().map(floats).collect()
    }

    fn count_upload(&self, bytes: usize) {
        let mut counts = self.counts();
        counts.uploads += 1;
        counts.uploaded += bytes as u64;
    }

    fn counts(&self) -> MutexGuard<'_, Traffic> {
        self.traffic.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Burn's name of a type.
pub(crate) fn float_of(kind: WeightType) -> FloatDType {
    match kind {
        WeightType::F32 => FloatDType::F32,
        WeightType::F16 => FloatDType::F16,
        WeightType::Bf16 => FloatDType::BF16,
    }
}

/// Tensors that are to be read back together.
#[derive(Default)]
pub(crate) struct Reading {
    transaction: Transaction,
    count: usize,
}

impl Reading {
    /// Adds a tensor, without what led to it.
    pub(crate) fn add<const D: usize>(&mut self, tensor: Tensor<D>) {
        let transaction = std::mem::take(&mut self.transaction);
        self.transaction = transaction.register(tensor.without_autodiff());
        self.count += 1;
    }

    /// Adds the first row of a tensor, or the first number where it has one dimension.
    pub(crate) fn add_first<const D: usize>(&mut self, tensor: &Tensor<D>) {
        self.add(tensor.clone().narrow(0, 0, 1).cast(FloatDType::F32));
    }
}
