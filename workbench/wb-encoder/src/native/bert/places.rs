//! Where each weight of a BERT-family encoder stands among the parameters.

use crate::{Error, Parameters, Result, models::BertConfig};

/// Places of all weights.
#[derive(Debug, Clone)]
pub struct Places {
    pub word: usize,
    pub position: usize,
    pub token_type: usize,
    pub norm: NormPlaces,
    pub layers: Vec<LayerPlaces>,
}

/// Places of one layer's weights.
#[derive(Debug, Clone)]
pub struct LayerPlaces {
    /// Query, key, value.
    pub projections: [LinearPlaces; 3],
    pub attention_output: LinearPlaces,
    pub attention_norm: NormPlaces,
    pub intermediate: LinearPlaces,
    pub output: LinearPlaces,
    pub output_norm: NormPlaces,
}

/// Places of a linear layer's weights.
#[derive(Debug, Clone)]
pub struct LinearPlaces {
    /// The layer's name, which decides its adapter's dropout.
    pub name: String,
    pub weight: usize,
    pub bias: usize,
    /// `lora_A` and `lora_B`.
    pub adapter: Option<(usize, usize)>,
    pub inputs: usize,
    pub outputs: usize,
}

/// Places of a layer normalization's weights.
#[derive(Debug, Clone)]
pub struct NormPlaces {
    pub weight: usize,
    pub shift: usize,
}

impl Places {
    /// Finds every weight by name and checks its shape.
    pub fn find(config: &BertConfig, parameters: &Parameters) -> Result<Self> {
        let find = Finder { parameters };
        let (hidden, wide) = (config.hidden_size, config.intermediate_size);
        let heads = config.num_attention_heads;
        if heads == 0 || hidden % heads != 0 {
            let message = format!("{heads} attention heads, expected a divisor of the hidden size {hidden}");
            return Err(wb_core::Error::data("encoder", message).into());
        }
        let layers = (0..config.num_hidden_layers)
            .map(|layer| {
                let name = |part: &str| format!("encoder.layer.{layer}.{part}");
                let linear = |part: &str, inputs, outputs| find.linear(name(part), inputs, outputs);
                Ok(LayerPlaces {
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

struct Finder<'a> {
    parameters: &'a Parameters,
}

impl Finder<'_> {
    fn weight(&self, name: &str, shape: &[usize]) -> Result<usize> {
        let refuse = |message: String| Error::from(wb_core::Error::data(format!("weight {name}"), message));
        let place = self.parameters.position(name).ok_or_else(|| refuse("is missing".into()))?;
        let found = &self.parameters.at(place).shape;
        if found != shape {
            return Err(refuse(format!("has shape {found:?}, expected {shape:?}")));
        }
        Ok(place)
    }

    fn norm(&self, name: &str, width: usize) -> Result<NormPlaces> {
        Ok(NormPlaces {
            weight: self.weight(&format!("{name}.weight"), &[width])?,
            shift: self.weight(&format!("{name}.bias"), &[width])?,
        })
    }

    fn linear(&self, name: String, inputs: usize, outputs: usize) -> Result<LinearPlaces> {
        let a = format!("{name}.lora_A.weight");
        let adapter = match self.parameters.get(&a).map(|a| a.shape.clone()) {
            None => None,
            Some(shape) => {
                let rank = shape.first().copied().unwrap_or_default();
                Some((
                    self.weight(&a, &[rank, inputs])?,
                    self.weight(&format!("{name}.lora_B.weight"), &[outputs, rank])?,
                ))
            }
        };
        Ok(LinearPlaces {
            weight: self.weight(&format!("{name}.weight"), &[outputs, inputs])?,
            bias: self.weight(&format!("{name}.bias"), &[outputs])?,
            name,
            adapter,
            inputs,
            outputs,
        })
    }
}
