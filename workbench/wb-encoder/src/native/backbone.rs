//! Surroundings of a transformer's passes on the CPU: batches cut into groups, threads, pooling, and sums in a fixed order.

use ndarray::Array2;

use super::{
    groups,
    groups::Group,
    lane::{LANES, Lane},
    linear::GroupPass,
    pool::BufferPool,
    sharing::{self, few_groups},
    stack::{GroupTape, NativeStack, StackScratch},
    states::{self, AtStates},
    surface::Surface,
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

/// A transformer with what its passes take and give back.
pub struct NativeBackbone {
    network: NativeStack,
    pooling: Pooling,
    scratches: BufferPool<StackScratch>,
    tapes: BufferPool<GroupTape>,
    checkpointing: bool,
    stop: Stop,
}

/// A tracked pass.
pub struct BatchTape {
    pub groups: Vec<(Group, GroupTape)>,
    batch: TokenBatch,
    dropout: Option<Dropout>,
}

impl NativeBackbone {
    /// Around a network.
    pub fn new(network: NativeStack, pooling: Pooling) -> Self {
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
        let groups = groups.into_iter().zip(rows).zip(states);
        let tokens = |((group, _), _): &((Group, _), _)| group.tokens.len();
        let groups = sharing::each(groups, few_groups(), tokens, |((group, rows), states)| {
            self.stop.check()?;
            let mut scratch = self.scratches.take();
            let mut tape = self.tapes.take();
            let pass = GroupPass { batch, group: &group, dropout };
            let found = self.network.forward(pass, batch.types(), &mut scratch, Some(&mut tape), self.checkpointing);
            states::pool(self.pooling, batch, &group, found, self.dim(), rows);
            states.copy_from_slice(&found[..states.len()]);
            self.scratches.give(scratch);
            Ok((group, tape))
        })?;
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
        let tokens = |(group, _): &(&Group, _)| group.tokens.len();
        sharing::each(groups.iter().zip(rows), few_groups(), tokens, |(group, rows)| {
            self.stop.check()?;
            let mut scratch = self.scratches.take();
            let pass = GroupPass { batch, group, dropout: None };
            take(group, self.network.forward(pass, batch.types(), &mut scratch, None, false), rows);
            self.scratches.give(scratch);
            Ok(())
        })?;
        Ok(())
    }

    /// Forgets the tapes that were given back.
    #[cfg(test)]
    pub fn forget_tapes(&mut self) {
        self.tapes = BufferPool::default();
    }

    /// The most buffers that were in use at once.
    #[cfg(test)]
    pub fn n_scratches(&self) -> usize {
        self.scratches.len()
    }
}

impl Backbone for NativeBackbone {
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
            .downcast::<BatchTape>()
            .map_err(|_| wb_core::Error::data("backward pass", "the tape was made by another backbone"))?;
        let BatchTape { groups, batch, dropout } = *tape;
        at.check(&batch, self.dim())?;
        let at = AtStates { at, pooling: self.pooling };
        let n_lanes = LANES.min(groups.len());
        let mut lanes: Vec<Vec<(Group, GroupTape)>> = (0..n_lanes).map(|_| Vec::new()).collect();
        for (at, group) in groups.into_iter().enumerate() {
            lanes[at % n_lanes].push(group);
        }
        let weights = self.network.weights();
        let tables = self.network.table_rows(&batch);
        let places: Vec<usize> = tables.iter().map(|table| table.place).collect();
        let wanted = places.iter().any(|place| weights.trains(*place));
        let mut surface = Surface::new(self.dim(), batch.ids().len(), wanted);
        let surfaces = surface.split(&lanes);
        let tokens =
            |(groups, _): &(Vec<(Group, GroupTape)>, _)| groups.iter().map(|(group, _)| group.tokens.len()).sum();
        // Little of a backward pass is shared: one lane alone gains by it, several are quicker side by side.
        let sums: Vec<Lane> = sharing::each(lanes.into_iter().zip(surfaces), 1, tokens, |(groups, surfaces)| {
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
        })?;
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
