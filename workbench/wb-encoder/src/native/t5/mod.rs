//! The encoder of a T5 v1.1 on the CPU: what [`crate::models::T5Config`] describes.

mod backward;
mod forward;
mod places;
mod tape;

use rayon::prelude::*;

use self::places::{T5LayerPacks, T5Places};
use super::{
    attention::Heads, backbone::Network, dropout_mask::Mask, groups, linear::AdaptedWeights, surface::TableRows,
};
use crate::{
    backbone::Dropout,
    batch::TokenBatch,
    dropout::{ATTENTION, SITES},
    error::Result,
    models::T5Config,
};

/// A T5 encoder with its weights packed for the kernels.
pub struct NativeT5 {
    config: T5Config,
    weights: AdaptedWeights,
    places: T5Places,
    packs: Vec<T5LayerPacks>,
}

impl NativeT5 {
    /// Finds every weight by name and checks its shape.
    pub fn new(config: T5Config, weights: AdaptedWeights) -> Result<Self> {
        config.validate("encoder")?;
        let places = T5Places::find(&config, &weights.parameters)?;
        let packs = places.layers.par_iter().map(|layer| T5LayerPacks::new(layer, &weights.parameters)).collect();
        Ok(Self { config, weights, places, packs })
    }

    /// Dropout at a place outside of the layers.
    fn mask(&self, dropout: Option<Dropout>, place: u64) -> Option<Mask> {
        Mask::new(dropout, place, self.config.dropout_rate)
    }

    /// Dropout at a place of a layer.
    fn layer_mask(&self, dropout: Option<Dropout>, layer: usize, place: u64) -> Option<Mask> {
        self.mask(dropout, SITES * (layer as u64 + 1) + place)
    }

    fn heads(&self, layer: usize, dropout: Option<Dropout>) -> Heads {
        Heads {
            count: self.config.num_heads,
            size: self.config.d_kv,
            scale: 1.0,
            mask: self.layer_mask(dropout, layer, ATTENTION),
        }
    }
}

impl Network for NativeT5 {
    fn dim(&self) -> usize {
        self.config.d_model
    }

    fn check(&self, batch: &TokenBatch) -> Result<()> {
        groups::check(batch, self.config.vocab_size, usize::MAX)
    }

    fn weights(&self) -> &AdaptedWeights {
        &self.weights
    }

    fn weights_mut(&mut self) -> &mut AdaptedWeights {
        &mut self.weights
    }

    fn refresh(&mut self) -> Result<()> {
        let Self { config, weights: AdaptedWeights { parameters, .. }, places, packs } = self;
        *places = T5Places::find(config, parameters)?;
        packs.par_iter_mut().zip(&places.layers).for_each(|(packs, layer)| packs.refresh(layer, parameters));
        Ok(())
    }

    fn tables(&self, batch: &TokenBatch) -> Vec<TableRows> {
        vec![TableRows { place: self.places.words, rows: batch.ids().iter().map(|id| *id as usize).collect() }]
    }
}

#[cfg(test)]
mod tests {
    use wb_core::Seed;

    use super::{tape::T5LayerTape, *};
    use crate::{
        backbone::Backbone,
        lora::{self, LoraConfig},
        models::Architecture,
        native::{
            backbone::{BatchTape, NativeBackbone},
            tape::GroupTape,
        },
        pooling::Pooling,
    };

    /// The sizes of two layers of T5 v1.1 base. By hand, for each layer and token: two normalizations of 768 + 1,
    /// query, key and value 3 · 768, 12 heads' probabilities for each of n tokens, context 768 (where it trains or is
    /// adapted), the gate's input 2 · 2048; and the last normalization.
    #[test]
    fn checkpointing_keeps_a_tenth_and_less() {
        let sizes = T5Config {
            vocab_size: 100,
            d_model: 768,
            d_kv: 64,
            d_ff: 2048,
            num_layers: 2,
            num_heads: 12,
            relative_attention_num_buckets: 32,
            relative_attention_max_distance: 128,
            layer_norm_epsilon: 1e-6,
            dropout_rate: 0.1,
        };
        let architecture = Architecture::T5(sizes.clone());
        for (targets, context) in [(r#"["q", "v"]"#, 0), (r#"["q", "o"]"#, 768)] {
            let mut parameters = architecture.fresh(Seed(1));
            let config: LoraConfig = serde_json::from_str(&format!("{{\"targets\": {targets}}}")).unwrap();
            let adapter = lora::attach(&mut parameters, &architecture, &config, Seed(2), "tiny").unwrap();
            let t5 = NativeT5::new(sizes.clone(), AdaptedWeights { parameters, adapter: Some(adapter) }).unwrap();
            let mut t5 = NativeBackbone::new(t5, Pooling::Mean);
            let text = vec![5; 128];
            let batch = TokenBatch::new([text.as_slice(), text.as_slice()]);
            for (checkpointing, layer) in [(false, 2 * 769 + 3 * 768 + 12 * 128 + context + 2 * 2048), (true, 768)] {
                t5.set_gradient_checkpointing(checkpointing).unwrap();
                t5.forget_tapes();
                let tape =
                    t5.embed_tracked(&batch, None).unwrap().1.downcast::<BatchTape<GroupTape<T5LayerTape>>>().unwrap();
                let numbers: usize = tape.groups.iter().map(|(_, tape)| tape.numbers(T5LayerTape::numbers)).sum();
                assert_eq!(numbers / 256, 769 + 2 * layer);
            }
        }
    }
}
