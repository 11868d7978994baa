//! Linear layers with their adapters, forward and backward.

use super::{
    dora::{DoraLayer, DoraLayers},
    dropout_mask::Mask,
    groups::Group,
    lane::Lane,
    places::LinearPlaces,
    pool::sized,
};
use crate::{
    backbone::Dropout,
    batch::TokenBatch,
    dropout::adapter_site,
    kernels::{Mat, MatMut, matmul, vector},
    lora::Adapter,
    parameters::Parameters,
};

/// Buffers of the adapters.
#[derive(Debug, Default)]
pub struct AdapterScratch {
    dropped: Vec<f32>,
    narrow: Vec<f32>,
    wide: Vec<f32>,
    /// Outputs of a layer's weight, and of its adapter, where the lengths of its rows are learned.
    outputs: Vec<f32>,
    update: Vec<f32>,
}

/// A pass over a group of texts.
#[derive(Debug, Clone, Copy)]
pub struct GroupPass<'a> {
    pub batch: &'a TokenBatch,
    pub group: &'a Group,
    pub dropout: Option<Dropout>,
}

impl GroupPass<'_> {
    /// Number of tokens of the group.
    pub fn n_tokens(&self) -> usize {
        self.group.tokens.len()
    }

    /// Dropout on the group's rows of `width` numbers, where there is any.
    pub fn drop(&self, mask: Option<Mask>, x: &mut [f32], width: usize) {
        if let Some(mask) = mask {
            mask.apply(x, width, self.batch, self.group);
        }
    }
}

/// A network's weights, adapters among them where there are any.
#[derive(Debug)]
pub struct AdaptedWeights {
    pub parameters: Parameters,
    pub adapter: Option<Adapter>,
    /// Layers whose rows' lengths are learned, as the weights are now.
    pub dora: DoraLayers,
}

impl AdaptedWeights {
    /// Weights of which nothing is computed yet.
    pub fn new(parameters: Parameters, adapter: Option<Adapter>) -> Self {
        Self { parameters, adapter, dora: DoraLayers::new() }
    }

    /// The numbers of the weight at a place, which is no linear layer's and no table of token vectors.
    pub fn values(&self, place: usize) -> &[f32] {
        self.parameters.floats(place)
    }

    /// True where training changes it.
    pub fn trains(&self, place: usize) -> bool {
        self.parameters.at(place).trainable
    }

    /// A layer's bias; nothing where it has none.
    pub fn bias(&self, linear: &LinearPlaces) -> &[f32] {
        linear.bias.map_or(&[], |place| self.values(place))
    }

    /// Adds an adapter's output, s·(drop(x)·Aᵀ)·Bᵀ, to `y`, whose rows are `stride` apart.
    ///
    /// DoRA's (Liu et al. 2024, arXiv 2402.09353) is (g − 1)∘(drop(x)·Wᵀ) + g∘s·(drop(x)·Aᵀ)·Bᵀ with g = m / ‖W + s·B·A‖
    /// of each row, as in PEFT. drop(x)·Wᵀ is a product of its own, as large as the layer's: `y` may hold the bias
    /// already or not, and dropout is not in it.
    pub fn add_adapter(
        &self,
        linear: &LinearPlaces,
        pass: GroupPass<'_>,
        x: &[f32],
        y: &mut [f32],
        stride: usize,
        scratch: &mut AdapterScratch,
    ) {
        let (Some((a, b)), Some(adapter)) = (linear.adapter, &self.adapter) else { return };
        let (t, rank) = (pass.n_tokens(), self.parameters.at(a).shape[0]);
        let AdapterScratch { dropped, narrow, outputs, update, .. } = scratch;
        let x = self.dropped(linear, pass, x, dropped);
        let u = sized(narrow, t * rank);
        matmul(
            MatMut::new(u, t, rank),
            false,
            Mat::new(x, t, linear.inputs),
            Mat::new(self.values(a), rank, linear.inputs).t(),
            1.0,
        );
        if let Some((magnitude, dora)) = self.dora(linear) {
            let (base, update) = (sized(outputs, t * linear.outputs), sized(update, t * linear.outputs));
            dora.weight.forward(t, x, base, false);
            let b = Mat::new(self.values(b), linear.outputs, rank);
            let scale = adapter.scale_of(&linear.name);
            matmul(MatMut::new(update, t, linear.outputs), false, Mat::new(u, t, rank), b.t(), scale);
            let rows = base.chunks_exact(linear.outputs).zip(update.chunks_exact(linear.outputs));
            for (y, (base, update)) in y.chunks_mut(stride).zip(rows) {
                let of_rows = magnitude.iter().zip(&dora.lengths);
                for ((y, (base, update)), (m, n)) in y.iter_mut().zip(base.iter().zip(update)).zip(of_rows) {
                    let g = m / n;
                    *y += (g - 1.0) * base + g * update;
                }
            }
            return;
        }
        matmul(
            MatMut::strided(y, t, linear.outputs, stride),
            true,
            Mat::new(u, t, rank),
            Mat::new(self.values(b), linear.outputs, rank).t(),
            adapter.scale_of(&linear.name),
        );
    }

    /// A layer's magnitudes m and the lengths of its rows, where those are learned.
    fn dora(&self, linear: &LinearPlaces) -> Option<(&[f32], &DoraLayer)> {
        Some((self.values(linear.magnitude?), self.dora.get(&linear.weight)?))
    }

    /// The adapter's input after dropout.
    fn dropped<'a>(
        &self,
        linear: &LinearPlaces,
        pass: GroupPass<'_>,
        x: &'a [f32],
        buffer: &'a mut Vec<f32>,
    ) -> &'a [f32] {
        let probability = self.adapter.as_ref().map_or(0.0, |adapter| adapter.dropout);
        match Mask::new(pass.dropout, adapter_site(&linear.name), probability) {
            None => x,
            Some(mask) => {
                let len = pass.n_tokens() * linear.inputs;
                let buffer = sized(buffer, len);
                buffer.copy_from_slice(&x[..len]);
                pass.drop(Some(mask), buffer, linear.inputs);
                buffer
            }
        }
    }

    /// True where the backward pass of this layer needs its input.
    pub fn needs_input(&self, linear: &LinearPlaces) -> bool {
        linear.adapter.is_some() || self.trains(linear.weight)
    }

    /// True where a linear layer has gradients of its own or an adapter.
    pub fn learns(&self, linear: &LinearPlaces) -> bool {
        self.needs_input(linear) || linear.bias.is_some_and(|place| self.trains(place))
    }

    /// True where training changes anything of a linear layer or its adapter.
    pub fn changes(&self, linear: &LinearPlaces) -> bool {
        let adapter = linear.adapter.is_some_and(|(a, b)| self.trains(a) || self.trains(b));
        let adapter = adapter || linear.magnitude.is_some_and(|place| self.trains(place));
        adapter || self.trains(linear.weight) || linear.bias.is_some_and(|place| self.trains(place))
    }

    /// Adds the gradients of a linear layer's own weights, given its input and the gradient at its output
    /// (rows `stride` apart); with `dx`, adds the adapter's part of the gradient at the input.
    ///
    /// With DoRA the adapter sees g∘dy in place of dy, the magnitudes get Σ dy∘(drop(x)·Wᵀ + s·(drop(x)·Aᵀ)·Bᵀ) / n, and
    /// the input ((g − 1)∘dy)·W behind dropout besides; the lengths n count as constants, as in the paper and in PEFT.
    #[expect(clippy::too_many_arguments, reason = "one place for the layer's four gradients")]
    pub fn linear_backward(
        &self,
        linear: &LinearPlaces,
        pass: GroupPass<'_>,
        x: &[f32],
        dy: &[f32],
        stride: usize,
        dx: Option<&mut [f32]>,
        lane: &mut Lane,
        scratch: &mut AdapterScratch,
    ) {
        let (t, inputs, outputs) = (pass.n_tokens(), linear.inputs, linear.outputs);
        let dy_matrix = Mat::strided(dy, t, outputs, stride);
        if let Some(sum) = lane.wanted(linear.weight) {
            matmul(MatMut::new(sum, outputs, inputs), true, dy_matrix.t(), Mat::new(x, t, inputs), 1.0);
        }
        if let Some(sum) = linear.bias.and_then(|place| lane.wanted(place)) {
            for row in dy.chunks(stride).take(t) {
                vector::add_scaled(sum, 1.0, &row[..outputs]);
            }
        }
        let (Some((a, b)), Some(adapter)) = (linear.adapter, &self.adapter) else { return };
        let (rank, scale) = (self.parameters.at(a).shape[0], adapter.scale_of(&linear.name));
        let AdapterScratch { dropped, narrow, wide, outputs: base, update } = scratch;
        let dropped_x = self.dropped(linear, pass, x, dropped);
        let (a_matrix, b_matrix) = (Mat::new(self.values(a), rank, inputs), Mat::new(self.values(b), outputs, rank));
        let u = sized(narrow, t * rank);
        let dora = self.dora(linear);
        if let Some((_, dora)) = dora
            && let Some(sum) = linear.magnitude.and_then(|place| lane.wanted(place))
        {
            let whole = sized(base, t * outputs);
            dora.weight.forward(t, dropped_x, whole, false);
            matmul(MatMut::new(u, t, rank), false, Mat::new(dropped_x, t, inputs), a_matrix.t(), 1.0);
            matmul(MatMut::new(whole, t, outputs), true, Mat::new(u, t, rank), b_matrix.t(), scale);
            for (dy, whole) in dy.chunks(stride).zip(whole.chunks_exact(outputs)) {
                for ((sum, n), (dy, whole)) in sum.iter_mut().zip(&dora.lengths).zip(dy.iter().zip(whole)) {
                    *sum += dy * whole / n;
                }
            }
        }
        // The gradient at the adapter's output.
        let dy_matrix = match dora {
            None => dy_matrix,
            Some((magnitude, dora)) => {
                let scaled = sized(update, t * outputs);
                for (scaled, dy) in scaled.chunks_exact_mut(outputs).zip(dy.chunks(stride)) {
                    let of_rows = magnitude.iter().zip(&dora.lengths);
                    scaled.iter_mut().zip(dy).zip(of_rows).for_each(|((scaled, dy), (m, n))| *scaled = dy * (m / n));
                }
                Mat::new(scaled, t, outputs)
            }
        };
        if let Some(sum) = lane.wanted(b) {
            matmul(MatMut::new(u, t, rank), false, Mat::new(dropped_x, t, inputs), a_matrix.t(), 1.0);
            matmul(MatMut::new(sum, outputs, rank), true, dy_matrix.t(), Mat::new(u, t, rank), scale);
        }
        matmul(MatMut::new(u, t, rank), false, dy_matrix, b_matrix, scale);
        if let Some(sum) = lane.wanted(a) {
            matmul(MatMut::new(sum, rank, inputs), true, Mat::new(u, t, rank).t(), Mat::new(dropped_x, t, inputs), 1.0);
        }
        if let Some(dx) = dx {
            let mask = Mask::new(pass.dropout, adapter_site(&linear.name), adapter.dropout);
            if let Some((magnitude, dora)) = dora {
                let rest = sized(base, t * outputs);
                for (rest, dy) in rest.chunks_exact_mut(outputs).zip(dy.chunks(stride)) {
                    let of_rows = magnitude.iter().zip(&dora.lengths);
                    rest.iter_mut().zip(dy).zip(of_rows).for_each(|((rest, dy), (m, n))| *rest = dy * (m / n - 1.0));
                }
                let part = sized(wide, t * inputs);
                dora.weight.backward(&[linear], &self.parameters, t, rest, part, false);
                matmul(MatMut::new(part, t, inputs), true, Mat::new(u, t, rank), a_matrix, 1.0);
                pass.drop(mask, part, inputs);
                vector::add_scaled(dx, 1.0, part);
                return;
            }
            match mask {
                None => matmul(MatMut::new(dx, t, inputs), true, Mat::new(u, t, rank), a_matrix, 1.0),
                Some(mask) => {
                    let part = sized(wide, t * inputs);
                    matmul(MatMut::new(part, t, inputs), false, Mat::new(u, t, rank), a_matrix, 1.0);
                    pass.drop(Some(mask), part, inputs);
                    vector::add_scaled(dx, 1.0, part);
                }
            }
        }
    }
}

/// The gradient behind dropout; the gradient itself where there is none.
pub fn dropped_copy<'a>(
    g: &[f32],
    mask: Option<Mask>,
    pass: GroupPass<'_>,
    width: usize,
    buffer: &'a mut [f32],
) -> &'a mut [f32] {
    buffer.copy_from_slice(g);
    pass.drop(mask, buffer, width);
    buffer
}
