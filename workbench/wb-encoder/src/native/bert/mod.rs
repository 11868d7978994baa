//! A BERT-family encoder on the CPU.

mod backward;
mod forward;
mod packs;
mod pairs;
mod places;
mod tape;

use rayon::prelude::*;

pub use self::pairs::PairBert;
use self::{packs::BertLayerPacks, places::BertPlaces};
use super::{
    attention::Heads, backbone::Network, dropout_mask::Mask, groups, linear::AdaptedWeights, surface::TableRows,
};
use crate::{
    backbone::Dropout,
    batch::TokenBatch,
    dropout::{ATTENTION, SITES},
    error::Result,
    models::BertConfig,
};

/// A BERT-family encoder with its weights packed for the kernels.
pub struct NativeBert {
    config: BertConfig,
    weights: AdaptedWeights,
    places: BertPlaces,
    packs: Vec<BertLayerPacks>,
}

impl NativeBert {
    /// Finds every weight by name and checks its shape.
    pub fn new(config: BertConfig, weights: AdaptedWeights) -> Result<Self> {
        let places = BertPlaces::find(&config, &weights.parameters)?;
        let packs = places.layers.par_iter().map(|layer| BertLayerPacks::new(layer, &weights.parameters)).collect();
        Ok(Self { config, weights, places, packs })
    }

    fn heads(&self, layer: usize, dropout: Option<Dropout>) -> Heads {
        let count = self.config.num_attention_heads;
        let size = self.config.hidden_size / count;
        let mask = Mask::new(dropout, SITES * (layer as u64 + 1) + ATTENTION, self.config.attention_dropout);
        Heads { count, size, scale: (1.0 / (size as f64).sqrt()) as f32, mask }
    }
}

impl Network for NativeBert {
    fn dim(&self) -> usize {
        self.config.hidden_size
    }

    fn check(&self, batch: &TokenBatch) -> Result<()> {
        let positions = self.config.max_position_embeddings.saturating_sub(self.config.first_position);
        groups::check(batch, self.config.vocab_size, positions)
    }

    fn weights(&self) -> &AdaptedWeights {
        &self.weights
    }

    fn weights_mut(&mut self) -> &mut AdaptedWeights {
        &mut self.weights
    }

    fn refresh(&mut self) -> Result<()> {
        let Self { config, weights: AdaptedWeights { parameters, .. }, places, packs } = self;
        *places = BertPlaces::find(config, parameters)?;
        packs.par_iter_mut().zip(&places.layers).for_each(|(packs, layer)| packs.refresh(layer, parameters));
        Ok(())
    }

    fn tables(&self, batch: &TokenBatch) -> Vec<TableRows> {
        let words: Vec<usize> = batch.ids().iter().map(|id| *id as usize).collect();
        let positions = batch.texts().flat_map(|text| 0..text.len()).map(|p| p + self.config.first_position).collect();
        let types = vec![0; words.len()];
        let rows = [words, positions, types];
        self.places.tables().into_iter().zip(rows).map(|(place, rows)| TableRows { place, rows }).collect()
    }
}

#[cfg(test)]
mod tests {
    use wb_core::Seed;

    use super::{tape::BertLayerTape, *};
    use crate::{
        backbone::Backbone,
        lora::{self, LoraConfig},
        models::{Activation, Architecture},
        native::{
            backbone::{BatchTape, NativeBackbone},
            tape::GroupTape,
        },
        pooling::Pooling,
    };

    /// Bytes that a tracked pass keeps for each token of texts of so many tokens.
    fn bytes_per_token(bert: &mut NativeBackbone<NativeBert>, length: usize, checkpointing: bool) -> usize {
        bert.set_gradient_checkpointing(checkpointing).unwrap();
        bert.forget_tapes();
        let text = vec![5; length];
        let batch = TokenBatch::new([text.as_slice(), text.as_slice()]);
        let tape =
            bert.embed_tracked(&batch, None).unwrap().1.downcast::<BatchTape<GroupTape<BertLayerTape>>>().unwrap();
        4 * tape.groups.iter().map(|(_, tape)| tape.numbers(BertLayerTape::numbers)).sum::<usize>() / batch.ids().len()
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
            let bert = NativeBert::new(sizes.clone(), AdaptedWeights { parameters, adapter }).unwrap();
            let mut bert = NativeBackbone::new(bert, Pooling::Mean);
            for n in [128, 256] {
                let layer = 3 * 384 + 12 * n + if adapted { 0 } else { 384 } + 2 * 385 + 1536;
                assert_eq!(bytes_per_token(&mut bert, n, false), 4 * (385 + 6 * layer));
                assert_eq!(bytes_per_token(&mut bert, n, true), 4 * (385 + 6 * 384));
            }
        }
    }
}
