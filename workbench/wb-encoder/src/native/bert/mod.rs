//! A BERT-family encoder on the CPU.

mod attention;
mod backward;
mod forward;
mod linear;
mod packs;
mod pairs;
mod places;
mod tape;

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use self::{
    backward::{Lane, Surface},
    forward::Scratch,
    packs::LayerPacks,
    places::Places,
    tape::GroupTape,
};
use super::{groups, groups::Group, pool::Pool};
use crate::{
    Backbone, Dropout, Error, Gradients, Model, Parameters, Pooling, Result, Tape, TokenBatch, Upstream, lora::Adapter,
    models::BertConfig,
};

/// Tokens that one thread takes together: enough for fast products, few enough for its cache.
const GROUP_TOKENS: usize = 256;
/// Sums of gradients that are kept apart and then added in order: the same on any number of threads.
const LANES: usize = 8;

/// A BERT-family encoder with its weights packed for the kernels.
pub struct NativeBert {
    config: BertConfig,
    pooling: Pooling,
    adapter: Option<Adapter>,
    parameters: Parameters,
    places: Places,
    packs: Vec<LayerPacks>,
    scratches: Pool<Scratch>,
    tapes: Pool<GroupTape>,
    checkpointing: bool,
}

/// A tracked pass.
struct BatchTape {
    groups: Vec<(Group, GroupTape)>,
    batch: TokenBatch,
    dropout: Option<Dropout>,
}

impl NativeBert {
    /// Finds every weight by name and checks its shape.
    pub fn new(config: BertConfig, model: Model) -> Result<Self> {
        let places = Places::find(&config, &model.parameters)?;
        let packs = places.layers.par_iter().map(|layer| LayerPacks::new(layer, &model.parameters)).collect();
        Ok(Self {
            config,
            pooling: model.pooling,
            adapter: model.adapter,
            parameters: model.parameters,
            places,
            packs,
            scratches: Pool::default(),
            tapes: Pool::default(),
            checkpointing: false,
        })
    }

    fn check(&self, batch: &TokenBatch) -> Result<()> {
        let positions = self.config.max_position_embeddings.saturating_sub(self.config.first_position);
        groups::check(batch, self.config.vocab_size, positions)
    }

    /// The tracked pass; `states` gets the token states if it has a row for each.
    fn tracked(
        &self,
        batch: &TokenBatch,
        dropout: Option<Dropout>,
        states: &mut Array2<f32>,
    ) -> Result<(Array2<f32>, Tape)> {
        self.check(batch)?;
        let mut all = Array2::zeros((batch.len(), self.dim()));
        let groups = groups::groups(batch, GROUP_TOKENS);
        let rows = split_rows(&mut all, groups.iter().map(|group| group.texts.len()));
        let wanted = !states.is_empty();
        let states = split_rows(states, groups.iter().map(|group| if wanted { group.tokens.len() } else { 0 }));
        let groups: Vec<(Group, GroupTape)> = groups
            .into_par_iter()
            .zip(rows)
            .zip(states)
            .map(|((group, rows), states)| {
                let mut scratch = self.scratches.take();
                let mut tape = self.tapes.take();
                self.forward(batch, &group, &mut scratch, dropout, Some(&mut tape));
                self.pool_states(batch, &group, &scratch, rows);
                states.copy_from_slice(&scratch.stream[..states.len()]);
                self.scratches.give(scratch);
                (group, tape)
            })
            .collect();
        Ok((all, Box::new(BatchTape { groups, batch: batch.clone(), dropout })))
    }

    fn values(&self, place: usize) -> &[f32] {
        &self.parameters.at(place).values
    }

    fn trains(&self, place: usize) -> bool {
        self.parameters.at(place).trainable
    }
}

impl Backbone for NativeBert {
    fn dim(&self) -> usize {
        self.config.hidden_size
    }

    fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    fn update(&mut self, change: &mut dyn FnMut(&mut Parameters)) -> Result<()> {
        change(&mut self.parameters);
        self.places = Places::find(&self.config, &self.parameters)?;
        let Self { packs, places, parameters, .. } = self;
        packs.par_iter_mut().zip(&places.layers).for_each(|(packs, layer)| packs.refresh(layer, parameters));
        Ok(())
    }

    fn set_gradient_checkpointing(&mut self, on: bool) -> Result<()> {
        self.checkpointing = on;
        Ok(())
    }

    fn embed(&self, batch: &TokenBatch) -> Result<Array2<f32>> {
        self.check(batch)?;
        let mut all = Array2::zeros((batch.len(), self.dim()));
        let groups = groups::groups(batch, GROUP_TOKENS);
        let rows = split_rows(&mut all, groups.iter().map(|group| group.texts.len()));
        groups.par_iter().zip(rows).for_each(|(group, rows)| {
            let mut scratch = self.scratches.take();
            self.forward(batch, group, &mut scratch, None, None);
            self.pool_states(batch, group, &scratch, rows);
            self.scratches.give(scratch);
        });
        Ok(all)
    }

    fn embed_tracked(&self, batch: &TokenBatch, dropout: Option<Dropout>) -> Result<(Array2<f32>, Tape)> {
        let mut no_states = Array2::zeros((0, self.dim()));
        let (embeddings, tape) = self.tracked(batch, dropout, &mut no_states)?;
        Ok((embeddings, tape))
    }

    fn backward(&self, tape: Tape, at_embeddings: ArrayView2<'_, f32>, gradients: &mut Gradients) -> Result<()> {
        self.backward_tokens(tape, Upstream::embeddings(at_embeddings), gradients)
    }

    fn embed_tokens(&self, batch: &TokenBatch) -> Result<Array2<f32>> {
        self.check(batch)?;
        let mut all = Array2::zeros((batch.ids().len(), self.dim()));
        let groups = groups::groups(batch, GROUP_TOKENS);
        let rows = split_rows(&mut all, groups.iter().map(|group| group.tokens.len()));
        groups.par_iter().zip(rows).for_each(|(group, rows)| {
            let mut scratch = self.scratches.take();
            self.forward(batch, group, &mut scratch, None, None);
            rows.copy_from_slice(&scratch.stream[..rows.len()]);
            self.scratches.give(scratch);
        });
        Ok(all)
    }

    fn embed_tokens_tracked(
        &self,
        batch: &TokenBatch,
        dropout: Option<Dropout>,
    ) -> Result<(Array2<f32>, Array2<f32>, Tape)> {
        let mut states = Array2::zeros((batch.ids().len(), self.dim()));
        let (embeddings, tape) = self.tracked(batch, dropout, &mut states)?;
        Ok((embeddings, states, tape))
    }

    fn backward_tokens(&self, tape: Tape, at: Upstream<'_>, gradients: &mut Gradients) -> Result<()> {
        let tape = tape
            .downcast::<BatchTape>()
            .map_err(|_| Error::from(wb_core::Error::data("backward pass", "the tape was made by another backbone")))?;
        let BatchTape { groups, batch, dropout } = *tape;
        at.check(&batch, self.dim())?;
        let n_lanes = LANES.min(groups.len());
        let mut lanes: Vec<Vec<(Group, GroupTape)>> = (0..n_lanes).map(|_| Vec::new()).collect();
        for (at, group) in groups.into_iter().enumerate() {
            lanes[at % n_lanes].push(group);
        }
        let mut surface = Surface::new(self, batch.ids().len());
        let surfaces = surface.split(&lanes);
        let sums: Vec<Lane> = lanes
            .into_par_iter()
            .zip(surfaces)
            .map(|(groups, surfaces)| {
                let mut lane = Lane::new(&self.parameters, &self.places);
                let mut scratch = self.scratches.take();
                for ((group, tape), surface) in groups.into_iter().zip(surfaces) {
                    self.backward_group(&batch, &group, &tape, dropout, at, &mut scratch, &mut lane, surface);
                    self.tapes.give(tape);
                }
                self.scratches.give(scratch);
                lane
            })
            .collect();
        Lane::add_in_order(&sums, gradients);
        surface.scatter(self, &batch, gradients);
        Ok(())
    }
}

/// A result's rows, cut into pieces of so many each.
fn split_rows(all: &mut Array2<f32>, counts: impl Iterator<Item = usize>) -> Vec<&mut [f32]> {
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

#[cfg(test)]
mod tests {
    use wb_core::Seed;

    use super::*;
    use crate::{Architecture, LoraConfig, lora, models::Activation};

    /// Bytes that a tracked pass keeps for each token of texts of so many tokens.
    fn bytes_per_token(bert: &mut NativeBert, length: usize, checkpointing: bool) -> usize {
        bert.set_gradient_checkpointing(checkpointing).unwrap();
        bert.tapes = Pool::default();
        let text = vec![5; length];
        let batch = TokenBatch::new([text.as_slice(), text.as_slice()]);
        let tape = bert.embed_tracked(&batch, None).unwrap().1.downcast::<BatchTape>().unwrap();
        4 * tape.groups.iter().map(|(_, tape)| tape.numbers()).sum::<usize>() / batch.ids().len()
    }

    /// MiniLM's sizes, with adapters as by default. By hand, for each layer and token: query, key and value 3 · 384,
    /// 12 heads' probabilities for each of n tokens, context 384 (where it trains or is adapted), two normalizations
    /// of 384 + 1, input of the activation 1536.
    #[test]
    fn checkpointing_keeps_a_tenth_and_less() {
        let sizes = BertConfig {
            vocab_size: 100,
            hidden_size: 384,
            num_hidden_layers: 6,
            num_attention_heads: 12,
            intermediate_size: 1536,
            max_position_embeddings: 512,
            type_vocab_size: 2,
            layer_norm_eps: 1e-12,
            first_position: 0,
            activation: Activation::Gelu,
            hidden_dropout: 0.1,
            attention_dropout: 0.1,
        };
        let architecture = Architecture::Bert(sizes.clone());
        for adapted in [false, true] {
            let mut parameters = architecture.fresh(Seed(1));
            let config = LoraConfig::default();
            let adapter =
                adapted.then(|| lora::attach(&mut parameters, &architecture, &config, Seed(2), "tiny").unwrap());
            let model = Model { architecture: architecture.clone(), parameters, pooling: Pooling::Mean, adapter };
            let mut bert = NativeBert::new(sizes.clone(), model).unwrap();
            for n in [128, 256] {
                let layer = 3 * 384 + 12 * n + if adapted { 0 } else { 384 } + 2 * 385 + 1536;
                assert_eq!(bytes_per_token(&mut bert, n, false), 4 * (385 + 6 * layer));
                assert_eq!(bytes_per_token(&mut bert, n, true), 4 * (385 + 6 * 384));
            }
        }
    }
}
