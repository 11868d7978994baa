//! Results of a pass on a device, group by group, until they are read back together.

use burn::tensor::Tensor;
use ndarray::{Array2, aview1};

use super::traffic::{Link, Reading};
use crate::{batch::TokenBatch, error::Result};

/// Results of a pass that are read back.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) embeddings: bool,
    pub(super) states: bool,
}

/// Results that wait on the device. Nothing is waited for until all are there.
pub(super) struct Results {
    wanted: Wanted,
    reading: Reading,
    /// Positions of each group's texts in the batch, and tokens with padding.
    groups: Vec<(Vec<usize>, usize)>,
}

impl Results {
    /// Begins without results.
    pub(super) fn new(wanted: Wanted) -> Self {
        Self { wanted, reading: Reading::default(), groups: Vec::new() }
    }

    /// Adds what is wanted of a group: embeddings `[texts, dim]`, states `[texts, tokens, dim]`.
    pub(super) fn add(&mut self, texts: &[usize], embeddings: &Tensor<2>, states: &Tensor<3>) {
        self.groups.push((texts.to_vec(), states.dims()[1]));
        if self.wanted.embeddings {
            self.reading.add(embeddings.clone());
        }
        if self.wanted.states {
            self.reading.add(states.clone());
        }
    }

    /// Embeddings at their texts' places in the batch, and token states without padding, each where it is wanted.
    pub(super) fn read(self, batch: &TokenBatch, dim: usize, link: &Link) -> Result<(Array2<f32>, Array2<f32>)> {
        let Self { wanted, reading, groups } = self;
        let mut embeddings = Array2::zeros((if wanted.embeddings { batch.len() } else { 0 }, dim));
        let mut states = Array2::zeros((if wanted.states { batch.ids().len() } else { 0 }, dim));
        let mut found = link.read(reading)?.into_iter();
        for (texts, padded) in groups {
            if wanted.embeddings {
                let values = found.next().unwrap_or_default();
                for (row, at) in values.chunks_exact(dim).zip(&texts) {
                    embeddings.row_mut(*at).assign(&aview1(row));
                }
            }
            if wanted.states {
                let values = found.next().unwrap_or_default();
                for (rows, at) in values.chunks_exact((padded * dim).max(1)).zip(&texts) {
                    for (row, token) in rows.chunks_exact(dim).zip(batch.offsets()[*at]..batch.offsets()[at + 1]) {
                        states.row_mut(token).assign(&aview1(row));
                    }
                }
            }
        }
        Ok((embeddings, states))
    }
}
