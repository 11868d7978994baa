//! A model's arithmetic: tokens go in, and how likely each token of the vocabulary comes next comes out.

use std::io::{Read, Seek};

use candle_core::{Device, Tensor};
use candle_transformers::models::{quantized_qwen2, quantized_qwen3};

use super::{
    architecture::{DecoderSizes, GgufArchitecture},
    guarded::guarded,
    header::Header,
    llama::Llama,
};

/// Tokens of a prompt that are worked on at once: the scores of all pairs of a step stay below
/// heads x 256 x context numbers.
const STEP: usize = 256;

enum Weights {
    Llama(Box<Llama>),
    Qwen2(Box<quantized_qwen2::ModelWeights>),
    Qwen3(Box<quantized_qwen3::ModelWeights>),
}

/// A model with the keys and values of the tokens that it has read.
pub struct Decoder {
    weights: Weights,
    read: usize,
}

impl Decoder {
    /// Reads the tensors.
    pub fn load<R: Read + Seek>(
        sizes: &DecoderSizes,
        header: &Header,
        context: u32,
        reader: &mut R,
    ) -> Result<Self, String> {
        let content = sizes.content(header, context);
        let device = Device::Cpu;
        let weights = run(|| {
            Ok(match sizes.architecture {
                GgufArchitecture::Llama => Weights::Llama(Box::new(Llama::load(sizes, &content, context, reader)?)),
                GgufArchitecture::Qwen2 => {
                    Weights::Qwen2(Box::new(quantized_qwen2::ModelWeights::from_gguf(content, reader, &device)?))
                }
                GgufArchitecture::Qwen3 => {
                    Weights::Qwen3(Box::new(quantized_qwen3::ModelWeights::from_gguf(content, reader, &device)?))
                }
            })
        })?;
        Ok(Self { weights, read: 0 })
    }

    /// Forgets all tokens, reads a prompt, and gives the logits of the token after it, one per token of the vocabulary.
    ///
    /// The prompt is cut the same way whatever was read before, so an answer is a function of the prompt alone. After
    /// whole steps the rest goes in powers of two, longest first: candle keeps a mask for every pair of lengths that it
    /// has met, and these pairs are few. `late` is asked between two steps; none where it is, and [`Decoder::read`] says how
    /// far it came.
    pub fn prompt(&mut self, tokens: &[u32], late: &dyn Fn() -> bool) -> Result<Option<Vec<f32>>, String> {
        match &mut self.weights {
            Weights::Llama(w) => w.clear(),
            Weights::Qwen2(w) => w.clear_kv_cache(),
            Weights::Qwen3(w) => w.clear_kv_cache(),
        }
        self.read = 0;
        let mut rest = tokens;
        let mut logits = Vec::new();
        while !rest.is_empty() {
            if late() {
                return Ok(None);
            }
            let n = if rest.len() >= STEP { STEP } else { 1 << rest.len().ilog2() };
            let (now, later) = rest.split_at(n);
            logits = self.next(now)?;
            rest = later;
        }
        Ok(Some(logits))
    }

    /// Tokens read since it forgot them last.
    pub fn read(&self) -> usize {
        self.read
    }

    /// Reads more tokens and gives the logits of the token after them.
    pub fn next(&mut self, tokens: &[u32]) -> Result<Vec<f32>, String> {
        let (at, weights) = (self.read, &mut self.weights);
        let logits = run(|| {
            let input = Tensor::new(tokens, &Device::Cpu)?.unsqueeze(0)?;
            let out = match weights {
                Weights::Llama(w) => w.forward(&input, at)?,
                Weights::Qwen2(w) => w.forward(&input, at)?,
                Weights::Qwen3(w) => w.forward(&input, at)?,
            };
            out.flatten_all()?.to_vec1::<f32>()
        })?;
        self.read += tokens.len();
        match logits.iter().any(|x| x.is_nan()) {
            true => {
                Err("the model gives numbers that are none: its weights are damaged, or it needs more exact arithmetic"
                    .into())
            }
            false => Ok(logits),
        }
    }
}

/// Runs candle's code.
fn run<T>(f: impl FnOnce() -> candle_core::Result<T>) -> Result<T, String> {
    guarded(|| f().map_err(|e| e.to_string()))
}
