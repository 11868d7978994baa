//! The common parts of the CPU's networks: batches cut into groups, threads, pooling, and sums in a fixed order.

use ndarray::Array2;
use rayon::prelude::*;

use super::{
    groups,
    groups::Group,
    lane::{LANES, Lane},
    linear::{AdaptedWeights, GroupPass},
    pool::BufferPool,
    states::{self, AtStates},
    surface::{Surface, TableRows},
};
use crate::{
    backbone::{Backbone, BackboneTape, Dropout, Upstream},
    batch::TokenBatch,
    error::Result,
    parameters::{Gradients, Parameters},
    pooling::Pooling,
    stop::Stop,
};

/// Tokens that one thread takes together: enough for fast products, few enough for its cache.
pub(super) const GROUP_TOKENS: usize = 256;

/// The forward pass of a network, which one thread takes a group of texts through.
pub trait ForwardPass {
    /// Buffers of one thread.
    type Scratch: Default + Send + 'static;
    /// A group's part of a tracked pass, for its backward pass.
    type Tape: Default + Send + 'static;

    /// Token states of a group, `[tokens, dim]`, which stay in the scratch; with a tape, what the backward pass needs,
    /// which is less where it was to be `checkpointed`.
    fn forward<'a>(
        &self,
        pass: GroupPass<'_>,
        scratch: &'a mut Self::Scratch,
        tape: Option<&mut Self::Tape>,
        checkpointed: bool,
    ) -> &'a [f32];
}

/// The backward pass of a network.
pub trait BackwardPass: ForwardPass {
    /// Adds a group's gradients to the lane, and puts the gradient at its embeddings into `surface` unless that is empty.
    fn backward(
        &self,
        pass: GroupPass<'_>,
        tape: &Self::Tape,
        at: AtStates<'_>,
        scratch: &mut Self::Scratch,
        lane: &mut Lane,
        surface: &mut [f32],
    );
}

/// A network with its weights and its passes.
pub trait Network: BackwardPass + Send + Sync + 'static {
    /// Width of the token states.
    fn dim(&self) -> usize;

    /// Refuses a batch that the network cannot take.
    fn check(&self, batch: &TokenBatch) -> Result<()>;

    /// The weights.
    fn weights(&self) -> &AdaptedWeights;

    /// The weights, to change; [`Network::refresh`] follows.
    fn weights_mut(&mut self) -> &mut AdaptedWeights;

    /// Finds and packs weights again after a change.
    fn refresh(&mut self) -> Result<()>;

    /// The tables whose gradients are added row by row.
    fn tables(&self, batch: &TokenBatch) -> Vec<TableRows>;
}

/// A network with what its passes take and give back.
pub struct NativeBackbone<N: Network> {
    network: N,
    pooling: Pooling,
    scratches: BufferPool<N::Scratch>,
    tapes: BufferPool<N::Tape>,
    checkpointing: bool,
    stop: Stop,
}

/// A tracked pass.
pub struct BatchTape<T> {
    pub groups: Vec<(Group, T)>,
    batch: TokenBatch,
    dropout: Option<Dropout>,
}

impl<N: Network> NativeBackbone<N> {
    /// Around a network.
    pub fn new(network: N, pooling: Pooling) -> Self {
        let (scratches, tapes) = (BufferPool::default(), BufferPool::default());
        Self { network, pooling, scratches, tapes, checkpointing: false, stop: Stop::default() }
    }

    /// The tracked pass; `states` gets the token states if it has a row for each.
    fn tracked(
        &self,
        batch: &TokenBatch,
        dropout: Option<Dropout>,
        states: &mut Array2<f32>,
    ) -> Result<(Array2<f32>, BackboneTape)> {
        self.network.check(batch)?;
        let mut all = Array2::zeros((batch.len(), self.dim()));
        let groups = groups::groups(batch, GROUP_TOKENS);
        let rows = split_rows(&mut all, groups.iter().map(|group| group.texts.len()));
        let wanted = !states.is_empty();
        let states = split_rows(states, groups.iter().map(|group| if wanted { group.tokens.len() } else { 0 }));
        let groups: Vec<(Group, N::Tape)> = groups
            .into_par_iter()
            .zip(rows)
            .zip(states)
            .map(|((group, rows), states)| {
                self.stop.check()?;
                let mut scratch = self.scratches.take();
                let mut tape = self.tapes.take();
                let pass = GroupPass { batch, group: &group, dropout };
                let found = self.network.forward(pass, &mut scratch, Some(&mut tape), self.checkpointing);
                states::pool(self.pooling, batch, &group, found, self.dim(), rows);
                states.copy_from_slice(&found[..states.len()]);
                self.scratches.give(scratch);
                Ok((group, tape))
            })
            .collect::<Result<_>>()?;
        Ok((all, Box::new(BatchTape { groups, batch: batch.clone(), dropout })))
    }

    /// A pass without a tape; `take` is given each group's states and its part of the rows.
    fn untracked<'a>(
        &self,
        batch: &TokenBatch,
        groups: &[Group],
        rows: Vec<&'a mut [f32]>,
        take: impl Fn(&Group, &[f32], &'a mut [f32]) + Sync,
    ) -> Result<()> {
        groups.par_iter().zip(rows).try_for_each(|(group, rows)| {
            self.stop.check()?;
            let mut scratch = self.scratches.take();
            let pass = GroupPass { batch, group, dropout: None };
            take(group, self.network.forward(pass, &mut scratch, None, false), rows);
            self.scratches.give(scratch);
            Ok(())
        })
    }

    /// Forgets the tapes that were given back.
    #[cfg(test)]
    pub fn forget_tapes(&mut self) {
        self.tapes = BufferPool::default();
    }
}

impl<N: Network> Backbone for NativeBackbone<N> {
    fn dim(&self) -> usize {
        self.network.dim()
    }

    fn parameters(&self) -> &Parameters {
        &self.network.weights().parameters
    }

    fn update(&mut self, change: &mut dyn FnMut(&mut Parameters)) -> Result<()> {
        change(&mut self.network.weights_mut().parameters);
        self.network.refresh()
    }

    fn set_gradient_checkpointing(&mut self, on: bool) -> Result<()> {
        self.checkpointing = on;
        Ok(())
    }

    fn watch(&mut self, stop: Stop) {
        self.stop = stop;
    }

    fn embed(&self, batch: &TokenBatch) -> Result<Array2<f32>> {
        self.network.check(batch)?;
        let mut all = Array2::zeros((batch.len(), self.dim()));
        let groups = groups::groups(batch, GROUP_TOKENS);
        let rows = split_rows(&mut all, groups.iter().map(|group| group.texts.len()));
        self.untracked(batch, &groups, rows, |group, states, rows| {
            states::pool(self.pooling, batch, group, states, self.dim(), rows);
        })?;
        Ok(all)
    }

    fn embed_tracked(&self, batch: &TokenBatch, dropout: Option<Dropout>) -> Result<(Array2<f32>, BackboneTape)> {
        let mut no_states = Array2::zeros((0, self.dim()));
        self.tracked(batch, dropout, &mut no_states)
    }

    fn embed_tokens(&self, batch: &TokenBatch) -> Result<Array2<f32>> {
        self.network.check(batch)?;
        let mut all = Array2::zeros((batch.ids().len(), self.dim()));
        let groups = groups::groups(batch, GROUP_TOKENS);
        let rows = split_rows(&mut all, groups.iter().map(|group| group.tokens.len()));
        self.untracked(batch, &groups, rows, |_, states, rows| rows.copy_from_slice(&states[..rows.len()]))?;
        Ok(all)
    }

    fn embed_tokens_tracked(
        &self,
        batch: &TokenBatch,
        dropout: Option<Dropout>,
    ) -> Result<(Array2<f32>, Array2<f32>, BackboneTape)> {
        let mut states = Array2::zeros((batch.ids().len(), self.dim()));
        let (embeddings, tape) = self.tracked(batch, dropout, &mut states)?;
        Ok((embeddings, states, tape))
    }

    fn backward_tokens(&self, tape: BackboneTape, at: Upstream<'_>, gradients: &mut Gradients) -> Result<()> {
        let tape = tape
            .downcast::<BatchTape<N::Tape>>()
            .map_err(|_| wb_core::Error::data("backward pass", "the tape was made by another backbone"))?;
        let BatchTape { groups, batch, dropout } = *tape;
        at.check(&batch, self.dim())?;
        let at = AtStates { at, pooling: self.pooling };
        let n_lanes = LANES.min(groups.len());
        let mut lanes: Vec<Vec<(Group, N::Tape)>> = (0..n_lanes).map(|_| Vec::new()).collect();
        for (at, group) in groups.into_iter().enumerate() {
            lanes[at % n_lanes].push(group);
        }
        let weights = self.network.weights();
        let tables = self.network.tables(&batch);
        let places: Vec<usize> = tables.iter().map(|table| table.place).collect();
        let wanted = places.iter().any(|place| weights.trains(*place));
        let mut surface = Surface::new(self.dim(), batch.ids().len(), wanted);
        let surfaces = surface.split(&lanes);
        let sums: Vec<Lane> = lanes
            .into_par_iter()
            .zip(surfaces)
            .map(|(groups, surfaces)| {
                let mut lane = Lane::new(&weights.parameters, &places);
                let mut scratch = self.scratches.take();
                for ((group, tape), surface) in groups.into_iter().zip(surfaces) {
                    self.stop.check()?;
                    if !group.tokens.is_empty() {
                        let pass = GroupPass { batch: &batch, group: &group, dropout };
                        self.network.backward(pass, &tape, at, &mut scratch, &mut lane, surface);
                    }
                    self.tapes.give(tape);
                }
                self.scratches.give(scratch);
                Ok(lane)
            })
            .collect::<Result<_>>()?;
        Lane::add_in_order(&sums, gradients);
        surface.scatter(&weights.parameters, tables, gradients);
        Ok(())
    }
}

/// A result's rows, cut into pieces of so many each.
pub(super) fn split_rows(all: &mut Array2<f32>, counts: impl Iterator<Item = usize>) -> Vec<&mut [f32]> {
    let width = all.ncols();
    let mut rest = all.as_slice_mut().unwrap_or_default();
    let mut pieces = Vec::new();
    for count in counts {
        let (head, tail) = rest.split_at_mut(count * width);
        pieces.push(head);
        rest = tail;
    }
    pieces
}
