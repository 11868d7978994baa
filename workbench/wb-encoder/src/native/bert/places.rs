//! Places of a BERT-family encoder's weights among the parameters.

use crate::{
    error::Result,
    models::BertConfig,
    native::places::{Finder, LinearPlaces, NormPlaces},
    parameters::Parameters,
};

/// Places of all weights.
#[derive(Debug, Clone)]
pub struct BertPlaces {
    pub word: usize,
    pub position: usize,
    pub token_type: usize,
    pub norm: NormPlaces,
    pub layers: Vec<BertLayerPlaces>,
}

/// Places of one layer's weights.
#[derive(Debug, Clone)]
pub struct BertLayerPlaces {
    /// Query, key, value.
    pub projections: [LinearPlaces; 3],
    pub attention_output: LinearPlaces,
    pub attention_norm: NormPlaces,
    pub intermediate: LinearPlaces,
    pub output: LinearPlaces,
    pub output_norm: NormPlaces,
}

impl BertLayerPlaces {
    /// Query, key and value, which share their input.
    pub fn qkv(&self) -> [&LinearPlaces; 3] {
        self.projections.each_ref()
    }
}

impl BertPlaces {
    /// Finds every weight by name and checks its shape.
    pub fn find(config: &BertConfig, parameters: &Parameters) -> Result<Self> {
        let find = Finder { parameters };
        let (hidden, wide) = (config.hidden_size, config.intermediate_size);
        let heads = config.num_attention_heads;
        if heads == 0 || hidden % heads != 0 {
            let message = format!("{heads} attention heads, expected a divisor of the hidden size {hidden}");
            return Err(wb_core::Error::data("encoder", message));
        }
        let layers = (0..config.num_hidden_layers)
            .map(|layer| {
                let name = |part: &str| format!("encoder.layer.{layer}.{part}");
                let linear = |part: &str, inputs, outputs| find.linear(name(part), inputs, outputs, true);
                Ok(BertLayerPlaces {
                    projections: [
                        linear("attention.self.query", hidden, hidden)?,
                        linear("attention.self.key", hidden, hidden)?,
                        linear("attention.self.value", hidden, hidden)?,
                    ],
                    attention_output: linear("attention.output.dense", hidden, hidden)?,
                    attention_norm: find.norm(&name("attention.output.LayerNorm"), hidden)?,
                    intermediate: linear("intermediate.dense", hidden, wide)?,
                    output: linear("output.dense", wide, hidden)?,
                    output_norm: find.norm(&name("output.LayerNorm"), hidden)?,
                })
            })
            .collect::<Result<_>>()?;
        let table = |part: &str, rows| find.weight(&format!("embeddings.{part}.weight"), &[rows, hidden]);
        Ok(Self {
            word: table("word_embeddings", config.vocab_size)?,
            position: table("position_embeddings", config.max_position_embeddings)?,
            token_type: table("token_type_embeddings", config.type_vocab_size)?,
            norm: find.norm("embeddings.LayerNorm", hidden)?,
            layers,
        })
    }

    /// The tables whose gradients are scattered row by row.
    pub fn tables(&self) -> [usize; 3] {
        [self.word, self.position, self.token_type]
    }
}
