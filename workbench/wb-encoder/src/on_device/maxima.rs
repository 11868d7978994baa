//! Products of vectors on a device, for exact search.

use std::{cmp::Ordering, sync::Arc};

use burn::tensor::{Device, FloatDType, Tensor};
use ndarray::{Array2, ArrayView2, concatenate, s};
use wb_core::{GroupMaxima, group_maxima::GROUP};

use super::traffic::{Link, Reading};
use crate::error::{Error, Result, is_out_of_memory};

/// Vectors that the error of a device is measured with, of each side.
const MEASURED: [usize; 2] = [64, 8 * GROUP];
/// The error is at least so many times the greatest that was measured.
const CAUTION: f32 = 8.0;

/// A device's products, in 16 bits where it has them and sums them up in more.
pub struct DeviceMaxima {
    link: Arc<Link>,
    /// Type of the numbers in the products where it is not that of 32 bits.
    float: Option<FloatDType>,
    documents: Option<Tensor<2>>,
    /// Dimensions, and the error of products of so many numbers.
    error: Option<(usize, f32)>,
}

impl DeviceMaxima {
    /// Products on a device; `name` is the device's, for messages.
    pub fn new(device: &Device, name: &str) -> Self {
        let float = Some(FloatDType::F16).filter(|float| device.supports_dtype(*float));
        Self { float, ..Self::in_32_bits(device, name) }
    }

    /// Products of 32-bit floats.
    pub fn in_32_bits(device: &Device, name: &str) -> Self {
        Self { link: Arc::new(Link::new(device, name)), float: None, documents: None, error: None }
    }

    fn rows(&self, rows: ArrayView2<'_, f32>) -> Tensor<2> {
        let shape = [rows.nrows(), rows.ncols()];
        let there = self.link.floats(rows.iter().copied().collect(), shape);
        match self.float {
            Some(float) => there.cast(float),
            None => there,
        }
    }

    /// Uploads documents in place of those that are there, the last group filled up with its last one. An error where they
    /// found no memory: what is there later is theirs.
    fn put(&mut self, documents: ArrayView2<'_, f32>) -> Result<()> {
        self.documents = None;
        let n = documents.nrows();
        let missing = n.next_multiple_of(GROUP) - n;
        let last = documents.slice(s![n - 1..n, ..]);
        let mut all = vec![documents];
        all.extend(std::iter::repeat_n(last, missing));
        let there = match concatenate(ndarray::Axis(0), &all) {
            Ok(filled) => self.rows(filled.view()),
            Err(_) => self.rows(documents),
        };
        let mut reading = Reading::default();
        reading.add_first(&there);
        self.link.read(reading)?;
        self.documents = Some(there);
        Ok(())
    }

    fn multiply(&self, queries: ArrayView2<'_, f32>) -> Result<Array2<f32>> {
        let Some(documents) = &self.documents else { return Ok(Array2::zeros((queries.nrows(), 0))) };
        let groups = documents.dims()[0] / GROUP;
        let products = self.rows(queries).matmul(documents.clone().transpose());
        let greatest = products.reshape([queries.nrows() * groups, GROUP]).max_dim(1).cast(FloatDType::F32);
        let mut reading = Reading::default();
        reading.add(greatest);
        let found = self.link.read(reading)?.into_iter().next().unwrap_or_default();
        Array2::from_shape_vec((queries.nrows(), groups), found)
            .map_err(|error| wb_core::Error::data("products of a device", error.to_string()))
    }

    /// The greatest difference of products of made-up vectors of length 1 from exact ones.
    fn measure(&mut self, dim: usize) -> Result<f32> {
        let vectors = |rows: usize, seed: f64| {
            let mut made = Array2::from_shape_fn((rows, dim), |(row, at)| {
                let x = ((row * dim + at) as f64 * 12.9898 + seed).sin() * 43758.5453;
                (x - x.floor() - 0.5) as f32
            });
            for mut row in made.rows_mut() {
                let length = row.dot(&row).sqrt().max(f32::MIN_POSITIVE);
                row.mapv_inplace(|x| x / length);
            }
            made
        };
        let [queries, documents] = [vectors(MEASURED[0], 1.0), vectors(MEASURED[1], 2.0)];
        self.put(documents.view())?;
        let found = self.multiply(queries.view())?;
        let exact = queries.mapv(f64::from).dot(&documents.mapv(f64::from).t());
        let mut worst = 0f64;
        for ((query, group), found) in found.indexed_iter() {
            let own = exact.slice(s![query, group * GROUP..(group + 1) * GROUP]);
            let greatest = own.fold(f64::NEG_INFINITY, |greatest, x| greatest.max(*x));
            let apart = (f64::from(*found) - greatest).abs();
            // Also where it is no number, which no maximum would have.
            if apart.partial_cmp(&worst) != Some(Ordering::Less) {
                worst = apart;
            }
        }
        Ok(worst as f32)
    }

    /// The error that numbers of a type cannot exceed where sums are made in 32 bits: each of two factors is rounded, and
    /// the result; numbers that are too small for the type are nothing.
    fn bound(&self, dim: usize) -> f32 {
        let sums = dim as f32 * 2f32.powi(-23);
        if self.float.is_some() { 3.1 * 2f32.powi(-11) + (dim as f32).sqrt() * 2f32.powi(-24) + sums } else { sums }
    }

    /// Finds the error of products of so many numbers. Where 16 bits are worse than they must be, 32 are taken.
    fn calibrate(&mut self, dim: usize) -> Result<()> {
        if self.error.is_some_and(|(known, _)| known == dim) {
            return Ok(());
        }
        let mut measured = self.measure(dim)?;
        if self.float.is_some() && measured.partial_cmp(&self.bound(dim)).is_none_or(Ordering::is_gt) {
            self.float = None;
            measured = self.measure(dim)?;
        }
        self.error = Some((dim, self.bound(dim).max(CAUTION * measured)));
        Ok(())
    }
}

impl GroupMaxima for DeviceMaxima {
    fn take(&mut self, documents: ArrayView2<'_, f32>) -> Result<()> {
        let link = Arc::clone(&self.link);
        link.guarded(|| {
            self.calibrate(documents.ncols())?;
            self.put(documents)
        })
    }

    fn maxima(&mut self, queries: ArrayView2<'_, f32>) -> Result<Array2<f32>> {
        let found = self.link.guarded(|| self.multiply(queries));
        if let (Some(documents), true) = (&self.documents, found.as_ref().is_err_and(is_out_of_memory)) {
            drop(self.link.guarded(|| self.link.vouch(documents)));
        }
        found
    }

    fn was_too_much(&self, error: &Error) -> bool {
        is_out_of_memory(error)
    }

    fn error(&self) -> f32 {
        self.error.map_or(0.0, |(_, error)| error)
    }
}
