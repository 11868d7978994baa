//! Work that rank 0 asks of another rank, and models on their way there.

use serde::{Deserialize, Serialize};
use wb_core::{Error, Result};
use wb_encoder::{
    Architecture, Model, Padding, Parameter, Parameters, Pooling, Precision, TokenBatch, Values, WeightType,
};

/// One thing to do. Numbers that it needs come behind it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    /// Number of the model.
    pub(crate) model: u32,
    /// Tapes that nobody needs any more.
    pub(crate) dropped: Vec<u64>,
    /// Changed weights, which come first among the numbers; empty where none has changed.
    pub(crate) weights: Vec<WeightHead>,
    pub(crate) work: Work,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Work {
    /// Takes a model, whose weights are all [`Request::weights`].
    Open {
        architecture: String,
        pooling: Pooling,
        adapter: String,
    },
    /// Forgets the model.
    Close,
    SetGradientCheckpointing(bool),
    SetPrecision(Precision),
    /// Embeddings `[texts, dim]`, or states of tokens `[tokens, dim]`.
    Embed {
        batch: TokenBatch,
        tokens: bool,
    },
    /// A tracked pass.
    Track {
        batch: TokenBatch,
        dropout: Option<u64>,
        tape: u64,
        gives: Gives,
    },
    /// The way back, from gradients at embeddings, then at states of tokens, as far as they are there.
    Backward {
        tape: u64,
        embeddings: bool,
        states: bool,
    },
    /// The sum of the gradients since the last time, of all weights that train, in their order.
    Collect,
    /// Drops that sum.
    Forget,
    /// The end of all, with the exit code of rank 0.
    End(u8),
}

/// Result of a tracked pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Gives {
    /// The tape alone: embeddings are known.
    Nothing,
    Embeddings,
    EmbeddingsAndStates,
}

/// The end of a request; numbers that were asked for come behind it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    Done {
        padding: Option<Padding>,
    },
    Failed {
        what: String,
        hint: Option<String>,
        /// A failure of its device, and whether its memory ran out.
        device: Option<(String, bool)>,
    },
}

/// A weight without its numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WeightHead {
    name: String,
    shape: Vec<usize>,
    kind: WeightType,
    trainable: bool,
    /// True where the numbers are those that were there, and do not come again.
    kept: bool,
}

/// Heads of all weights, and the numbers of those that `was` lacks or has others of. Weights that do not train and are
/// equal stay.
pub(crate) fn changes(was: Option<&Parameters>, now: &Parameters) -> (Vec<WeightHead>, Vec<u8>) {
    let mut numbers = Vec::new();
    let head = |weight: &Parameter| {
        let before = was.and_then(|was| was.get(&weight.name)).filter(|before| before.shape == weight.shape);
        let kept = before.is_some_and(|before| {
            before.values.shares(&weight.values) || (!weight.trainable && before.values == weight.values)
        });
        if !kept {
            numbers.extend(weight.values.to_bytes());
        }
        let Parameter { name, shape, trainable, values } = weight;
        WeightHead { name: name.clone(), shape: shape.clone(), kind: values.weight_type(), trainable: *trainable, kept }
    };
    (now.iter().map(head).collect(), numbers)
}

/// Weights by heads and numbers that [`changes`] gave, and the number of bytes that they took.
pub(crate) fn changed(was: &Parameters, heads: Vec<WeightHead>, numbers: &[u8]) -> Result<(Parameters, usize)> {
    let mut now = Parameters::default();
    let mut at = 0;
    for WeightHead { name, shape, kind, trainable, kept } in heads {
        let values = if kept {
            was.get(&name).map(|before| before.values.clone())
        } else {
            let bytes = shape.iter().product::<usize>() * kind.bytes();
            let values = numbers.get(at..at + bytes).map(|bytes| Values::from_bytes(kind, bytes));
            at += bytes;
            values
        };
        let values = values.ok_or_else(|| Error::failed(format!("rank 0 sent no numbers of {name}")))?;
        now.insert(Parameter { name, shape, values, trainable });
    }
    Ok((now, at))
}

impl Work {
    /// A model without its weights.
    pub(crate) fn open(model: &Model) -> Result<Self> {
        let json = |what: serde_json::Result<String>| what.map_err(|error| Error::failed(error.to_string()));
        Ok(Self::Open {
            architecture: json(serde_json::to_string(&model.architecture))?,
            pooling: model.pooling,
            adapter: json(serde_json::to_string(&model.adapter))?,
        })
    }
}

/// A model of what [`Work::open`] gave, and its weights.
pub(crate) fn model(architecture: &str, pooling: Pooling, adapter: &str, parameters: Parameters) -> Result<Model> {
    let none = |error: serde_json::Error| Error::failed(format!("rank 0 sent no model of this build's: {error}"));
    let architecture: Architecture = serde_json::from_str(architecture).map_err(none)?;
    Ok(Model { architecture, parameters, pooling, adapter: serde_json::from_str(adapter).map_err(none)? })
}
