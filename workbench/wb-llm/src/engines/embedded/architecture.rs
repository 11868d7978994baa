//! The models that can be run, and the check that a file is one of them to the last tensor.
//!
//! A model run with another architecture's arithmetic writes a few good words and then nonsense, without any error.
//! So the architecture is taken from `general.architecture` alone, and everything in the file that could change the
//! arithmetic (a tensor, a setting of the architecture) has to be one that is known; the rest is refused by name.

use std::collections::{BTreeMap, HashMap};

use candle_core::{
    Shape as Dims,
    quantized::gguf_file::{Content, TensorInfo, Value as CandleValue, VersionedMagic},
};

use super::header::{GgufValue, Header};

/// An architecture whose answers were compared with llama.cpp's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GgufArchitecture {
    /// Llama, Mistral and all that is stored as such: rotary positions on neighboring pairs (2i, 2i+1).
    Llama,
    /// Qwen2 and Qwen2.5: biases on queries, keys and values, rotary positions on halves (i, i+d/2).
    Qwen2,
    /// Qwen3: queries and keys normalized per head, rotary positions on halves.
    Qwen3,
}

impl GgufArchitecture {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Llama, Self::Qwen2, Self::Qwen3];

    /// Its name in `general.architecture`, which is also the prefix of its settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Llama => "llama",
            Self::Qwen2 => "qwen2",
            Self::Qwen3 => "qwen3",
        }
    }
}

/// The sizes of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct DecoderSizes {
    /// Architecture of the model.
    pub architecture: GgufArchitecture,
    /// Layers.
    pub layers: usize,
    /// Numbers of a token between layers.
    pub width: usize,
    /// Heads of queries.
    pub heads: usize,
    /// Heads of keys and values.
    pub kv_heads: usize,
    /// Numbers of a head.
    pub head: usize,
    /// Numbers within the feed-forward part.
    pub hidden: usize,
    /// Tokens of the vocabulary.
    pub vocabulary: usize,
    /// Tokens of prompt and answer together that the model was trained for.
    pub context: u32,
    /// The base of the rotary positions.
    pub rope_base: f32,
    /// Number that is added to the mean square before its root.
    pub epsilon: f32,
}

impl DecoderSizes {
    /// The sizes of the model in a file, all of its settings and tensors checked.
    pub fn of(header: &Header) -> Result<Self, String> {
        let known = || GgufArchitecture::ALL.map(GgufArchitecture::name).join(", ");
        let name = header
            .text("general.architecture")
            .ok_or_else(|| format!("general.architecture is missing, known are {}", known()))?;
        let Some(architecture) = GgufArchitecture::ALL.into_iter().find(|a| a.name() == name) else {
            return Err(format!(
                "general.architecture is {name:?}, which this engine does not run; known are {}. A llama-server runs more: llm.engine: sidecar",
                known()
            ));
        };
        settings(header, name)?;
        let size = |key: &str, max: u32| {
            let key = format!("{name}.{key}");
            match header.integer(&key) {
                Some(v) if (1..=max).contains(&v) => Ok(v as usize),
                _ => Err(format!("{key} is {}, an integer from 1 to {max} was expected", found(header, &key))),
            }
        };
        let float = |key: &str, default: Option<f32>| {
            let key = format!("{name}.{key}");
            match (header.float(&key).or_else(|| if header.metadata.contains_key(&key) { None } else { default }), &key)
            {
                (Some(v), _) if v > 0.0 => Ok(v),
                _ => Err(format!("{key} is {}, a float above 0 was expected", found(header, &key))),
            }
        };
        let heads = size("attention.head_count", 1 << 10)?;
        let width = size("embedding_length", 1 << 17)?;
        let head = match header.metadata.get(&format!("{name}.attention.key_length")) {
            Some(_) => size("attention.key_length", 1 << 10)?,
            None if width.is_multiple_of(heads) => width / heads,
            None => {
                return Err(format!(
                    "{name}.attention.head_count is {heads}, which does not divide the width of {width}"
                ));
            }
        };
        let kv_heads = match header.metadata.get(&format!("{name}.attention.head_count_kv")) {
            Some(_) => size("attention.head_count_kv", 1 << 10)?,
            None => heads,
        };
        let vocabulary = match header.tensors.get("token_embd.weight").map(|t| t.dims.as_slice()) {
            Some([rows, _]) if *rows <= 1 << 22 => *rows,
            other => return Err(format!("tensor token_embd.weight is {other:?}, rows and columns were expected")),
        };
        let sizes = Self {
            architecture,
            layers: size("block_count", 1 << 10)?,
            width,
            heads,
            kv_heads,
            head,
            hidden: size("feed_forward_length", 1 << 20)?,
            vocabulary,
            context: size("context_length", u32::MAX)? as u32,
            rope_base: float("rope.freq_base", Some(10_000.0))?,
            epsilon: float("attention.layer_norm_rms_epsilon", None)?,
        };
        sizes.agree(header)?;
        sizes.tensors(header)?;
        Ok(sizes)
    }

    fn agree(&self, header: &Header) -> Result<(), String> {
        let name = self.architecture.name();
        if !self.heads.is_multiple_of(self.kv_heads) {
            return Err(format!(
                "{name}.attention.head_count_kv is {}, which does not divide {} heads",
                self.kv_heads, self.heads
            ));
        }
        if !self.head.is_multiple_of(2) {
            return Err(format!("heads of {} numbers cannot be turned in pairs", self.head));
        }
        if self.architecture != GgufArchitecture::Qwen3 && self.head * self.heads != self.width {
            return Err(format!(
                "{name}.attention.key_length is {}, {} was expected ({} / {} heads)",
                self.head,
                self.width / self.heads,
                self.width,
                self.heads
            ));
        }
        for key in ["attention.value_length", "rope.dimension_count"] {
            let key = format!("{name}.{key}");
            if header.metadata.contains_key(&key) && header.integer(&key) != Some(self.head as u32) {
                return Err(format!(
                    "{key} is {}, {} as the heads' length was expected",
                    found(header, &key),
                    self.head
                ));
            }
        }
        Ok(())
    }

    /// The tensors that the model needs with their rows and columns, and whether it can do without.
    fn expected(&self) -> BTreeMap<String, (Vec<usize>, bool)> {
        let (q, kv, width, hidden) = (self.heads * self.head, self.kv_heads * self.head, self.width, self.hidden);
        let mut all = BTreeMap::new();
        let mut add = |name: String, dims: &[usize], needed: bool| {
            all.insert(name, (dims.to_vec(), needed));
        };
        add("token_embd.weight".into(), &[self.vocabulary, width], true);
        add("output_norm.weight".into(), &[width], true);
        // Where it is missing, the table of embeddings is used for both.
        add("output.weight".into(), &[self.vocabulary, width], false);
        for layer in 0..self.layers {
            let mut add = |name: &str, dims: &[usize]| add(format!("blk.{layer}.{name}"), dims, true);
            add("attn_norm.weight", &[width]);
            add("attn_q.weight", &[q, width]);
            add("attn_k.weight", &[kv, width]);
            add("attn_v.weight", &[kv, width]);
            add("attn_output.weight", &[width, q]);
            add("ffn_norm.weight", &[width]);
            add("ffn_gate.weight", &[hidden, width]);
            add("ffn_up.weight", &[hidden, width]);
            add("ffn_down.weight", &[width, hidden]);
            match self.architecture {
                GgufArchitecture::Llama => {}
                GgufArchitecture::Qwen2 => {
                    add("attn_q.bias", &[q]);
                    add("attn_k.bias", &[kv]);
                    add("attn_v.bias", &[kv]);
                }
                GgufArchitecture::Qwen3 => {
                    add("attn_q_norm.weight", &[self.head]);
                    add("attn_k_norm.weight", &[self.head]);
                }
            }
        }
        all
    }

    fn tensors(&self, header: &Header) -> Result<(), String> {
        let name = self.architecture.name();
        // Before the list of what is expected is made: a file of a few bytes may announce a thousand layers.
        if header.tensors.len() < self.layers * 9 {
            return Err(format!(
                "{name}.block_count is {}, but the file has {} tensors",
                self.layers,
                header.tensors.len()
            ));
        }
        let expected = self.expected();
        for (tensor, (dims, needed)) in &expected {
            match header.tensors.get(tensor) {
                Some(place) if place.dims == *dims => {}
                Some(place) => return Err(format!("tensor {tensor} is {:?}, {dims:?} was expected", place.dims)),
                None if *needed => return Err(format!("tensor {tensor} is missing")),
                None => {}
            }
        }
        match header.tensors.keys().find(|t| !expected.contains_key(*t)) {
            Some(tensor) => Err(format!(
                "tensor {tensor} is not one that {name} is known to have: the model would be run wrongly. A llama-server runs more: llm.engine: sidecar"
            )),
            None => Ok(()),
        }
    }

    /// The file as candle takes it: only what it reads, with a table of positions of our length.
    pub fn content(&self, header: &Header, context: u32) -> Content {
        let name = self.architecture.name();
        let number = |v: usize| CandleValue::U32(v as u32);
        let metadata = HashMap::from([
            ("general.architecture".to_owned(), CandleValue::String(name.to_owned())),
            // Without it, candle reckons the positions of Qwen3 in 16 bits, which is wrong from a few hundred tokens on.
            ("general.dtype".to_owned(), CandleValue::U32(0)),
            (format!("{name}.attention.head_count"), number(self.heads)),
            (format!("{name}.attention.head_count_kv"), number(self.kv_heads)),
            (format!("{name}.attention.key_length"), number(self.head)),
            (format!("{name}.rope.dimension_count"), number(self.head)),
            (format!("{name}.block_count"), number(self.layers)),
            (format!("{name}.embedding_length"), number(self.width)),
            (format!("{name}.context_length"), CandleValue::U32(context)),
            (format!("{name}.attention.layer_norm_rms_epsilon"), CandleValue::F32(self.epsilon)),
            (format!("{name}.rope.freq_base"), CandleValue::F32(self.rope_base)),
        ]);
        let tensor_infos = header
            .tensors
            .iter()
            .map(|(tensor, place)| {
                (
                    tensor.clone(),
                    TensorInfo { ggml_dtype: place.kind, shape: Dims::from(place.dims.clone()), offset: place.offset },
                )
            })
            .collect();
        Content { magic: VersionedMagic::GgufV3, metadata, tensor_infos, tensor_data_offset: header.data }
    }
}

/// Refuses a setting of the architecture that is not known, or that asks for arithmetic that is not done here.
fn settings(header: &Header, name: &str) -> Result<(), String> {
    const KNOWN: [&str; 13] = [
        "context_length",
        "embedding_length",
        "block_count",
        "feed_forward_length",
        "vocab_size",
        "attention.head_count",
        "attention.head_count_kv",
        "attention.key_length",
        "attention.value_length",
        "attention.layer_norm_rms_epsilon",
        "rope.dimension_count",
        "rope.freq_base",
        "tensor_data_layout",
    ];
    for (key, value) in &header.metadata {
        let Some(setting) = key.strip_prefix(name).and_then(|k| k.strip_prefix('.')) else { continue };
        let harmless = match (setting, value) {
            ("expert_count" | "expert_used_count" | "expert_shared_count", GgufValue::Integer(0)) => true,
            ("rope.scaling.type", GgufValue::Text(kind)) => kind == "none",
            ("rope.scaling.factor" | "rope.scale_linear", GgufValue::Float(factor)) => *factor == 1.0 || *factor == 0.0,
            ("rope.scaling.original_context_length" | "rope.scaling.finetuned", _) => true,
            ("attention.causal", GgufValue::Bool(causal)) => *causal,
            ("use_parallel_residual", GgufValue::Bool(parallel)) => !parallel,
            ("attention.sliding_window", GgufValue::Integer(0)) => true,
            (other, _) => KNOWN.contains(&other),
        };
        if !harmless {
            return Err(format!(
                "{key} is {}, which this engine does not reckon with: the model would be run wrongly. A llama-server runs more: llm.engine: sidecar",
                found(header, key)
            ));
        }
    }
    Ok(())
}

/// Shows the value of a key, for messages.
fn found(header: &Header, key: &str) -> String {
    match header.metadata.get(key) {
        None => "missing".into(),
        Some(GgufValue::Integer(v)) => v.to_string(),
        Some(GgufValue::Float(v)) => v.to_string(),
        Some(GgufValue::Bool(v)) => v.to_string(),
        Some(GgufValue::Text(v)) => format!("{:?}", v.chars().take(40).collect::<String>()),
        Some(other) => other.kind().into(),
    }
}
