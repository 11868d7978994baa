//! Llama's arithmetic, with a table of positions as long as the context. candle's own ends at 4,096 tokens, half of what
//! Mistral and Llama 3 are trained for.

use std::io::{Read, Seek};

use candle_core::{
    DType, Device, IndexOp, Module, Result, Tensor,
    quantized::{QMatMul, QTensor, gguf_file::Content},
};
use candle_nn::{Embedding, kv_cache::KvCache, ops, rotary_emb};
use candle_transformers::quantized_nn::RmsNorm;

use super::architecture::DecoderSizes;

/// Tokens that the memory of keys and values grows by.
const GROWTH: usize = 512;

/// A model with the keys and values of the tokens that it has read.
pub struct Llama {
    embeddings: Embedding,
    layers: Vec<Layer>,
    norm: RmsNorm,
    output: QMatMul,
    /// Cosines and sines of every position, `[context, head / 2]`.
    rotation: (Tensor, Tensor),
    heads: usize,
    kv_heads: usize,
    head: usize,
}

struct Layer {
    attention_norm: RmsNorm,
    query: QMatMul,
    key: QMatMul,
    value: QMatMul,
    attention_output: QMatMul,
    feed_forward_norm: RmsNorm,
    gate: QMatMul,
    up: QMatMul,
    down: QMatMul,
    cache: KvCache,
}

impl Llama {
    /// Reads the tensors of a file whose sizes and names were checked, for so many tokens of context.
    pub fn load<R: Read + Seek>(sizes: &DecoderSizes, content: &Content, context: u32, reader: &mut R) -> Result<Self> {
        let device = Device::Cpu;
        let mut tensor = |name: &str| content.tensor(reader, name, &device);
        let epsilon = f64::from(sizes.epsilon);
        let embeddings = tensor("token_embd.weight")?;
        let has_output = content.tensor_infos.contains_key("output.weight");
        let mut layers = Vec::with_capacity(sizes.layers);
        for number in 0..sizes.layers {
            let mut weight = |name: &str| tensor(&format!("blk.{number}.{name}.weight"));
            let product = |tensor: QTensor| QMatMul::from_qtensor(tensor);
            layers.push(Layer {
                attention_norm: RmsNorm::from_qtensor(weight("attn_norm")?, epsilon)?,
                query: product(weight("attn_q")?)?,
                key: product(weight("attn_k")?)?,
                value: product(weight("attn_v")?)?,
                attention_output: product(weight("attn_output")?)?,
                feed_forward_norm: RmsNorm::from_qtensor(weight("ffn_norm")?, epsilon)?,
                gate: product(weight("ffn_gate")?)?,
                up: product(weight("ffn_up")?)?,
                down: product(weight("ffn_down")?)?,
                cache: KvCache::new(2, GROWTH),
            });
        }
        Ok(Self {
            norm: RmsNorm::from_qtensor(tensor("output_norm.weight")?, epsilon)?,
            embeddings: Embedding::new(embeddings.dequantize(&device)?, sizes.width),
            // Where there is none, the vectors of the tokens serve twice.
            output: QMatMul::from_qtensor(if has_output { tensor("output.weight")? } else { embeddings })?,
            rotation: rotation(sizes.head, sizes.rope_base, context)?,
            layers,
            heads: sizes.heads,
            kv_heads: sizes.kv_heads,
            head: sizes.head,
        })
    }

    /// Forgets all tokens.
    pub fn clear(&mut self) {
        self.layers.iter_mut().for_each(|layer| layer.cache.reset());
    }

    /// Logits `[1, vocabulary]` of the token after `tokens` `[1, n]`, the first of which stands at position `at`.
    pub fn forward(&mut self, tokens: &Tensor, at: usize) -> Result<Tensor> {
        let (_, n) = tokens.dims2()?;
        let shape = (self.heads, self.kv_heads, self.head);
        let rotation = (self.rotation.0.narrow(0, at, n)?, self.rotation.1.narrow(0, at, n)?);
        let mask = if n == 1 { None } else { Some(mask(n, at)?) };
        let mut states = self.embeddings.forward(tokens)?;
        for layer in &mut self.layers {
            let normed = layer.attention_norm.forward(&states)?;
            states = (layer.attend(&normed, shape, &rotation, mask.as_ref())? + &states)?;
            let normed = layer.feed_forward_norm.forward(&states)?;
            let gated = (ops::silu(&layer.gate.forward(&normed)?)? * layer.up.forward(&normed)?)?;
            states = (layer.down.forward(&gated)? + &states)?;
        }
        let last = self.norm.forward(&states)?.i((.., n - 1, ..))?;
        self.output.forward(&last)
    }
}

impl Layer {
    /// Attention of `states` `[1, n, width]` to themselves and to all that was read before.
    fn attend(
        &mut self,
        states: &Tensor,
        (heads, kv_heads, head): (usize, usize, usize),
        (cos, sin): &(Tensor, Tensor),
        mask: Option<&Tensor>,
    ) -> Result<Tensor> {
        let (_, n, _) = states.dims3()?;
        let by_head = |tensor: Tensor, heads: usize| tensor.reshape((1, n, heads, head))?.transpose(1, 2)?.contiguous();
        let query = rotary_emb::rope_i(&by_head(self.query.forward(states)?, heads)?, cos, sin)?;
        let key = rotary_emb::rope_i(&by_head(self.key.forward(states)?, kv_heads)?, cos, sin)?;
        let value = by_head(self.value.forward(states)?, kv_heads)?;
        let (keys, values) = self.cache.append(&key, &value)?;
        // Queries of one group share keys and values: their rows stand below each other in one product.
        let (rows, all) = (heads / kv_heads * n, keys.dim(2)?);
        let scores = (query.reshape((1, kv_heads, rows, head))?.matmul(&keys.t()?)? / (head as f64).sqrt())?;
        let scores = scores.reshape((1, heads, n, all))?;
        let scores = match mask {
            None => scores,
            Some(mask) => scores.broadcast_add(mask)?,
        };
        let shares = ops::softmax_last_dim(&scores)?.reshape((1, kv_heads, rows, all))?;
        let mixed = shares.matmul(&values)?.reshape((1, heads, n, head))?.transpose(1, 2)?;
        self.attention_output.forward(&mixed.reshape((1, n, heads * head))?)
    }
}

/// 0 where a token may look, and -inf at the tokens after it: `[n, at + n]`.
fn mask(n: usize, at: usize) -> Result<Tensor> {
    let sees = |row: usize, column: usize| if column <= at + row { 0.0 } else { f32::NEG_INFINITY };
    let values: Vec<f32> = (0..n).flat_map(|row| (0..at + n).map(move |column| sees(row, column))).collect();
    Tensor::from_vec(values, (n, at + n), &Device::Cpu)
}

/// Position p turns the pair i of a head by p / base^(2 i / head).
fn rotation(head: usize, base: f32, context: u32) -> Result<(Tensor, Tensor)> {
    let rates: Vec<f32> = (0..head).step_by(2).map(|i| 1.0 / base.powf(i as f32 / head as f32)).collect();
    let rates = Tensor::new(rates.as_slice(), &Device::Cpu)?.unsqueeze(0)?;
    let positions = Tensor::arange(0, context, &Device::Cpu)?.to_dtype(DType::F32)?.unsqueeze(1)?;
    let angles = positions.matmul(&rates)?;
    Ok((angles.cos()?, angles.sin()?))
}
