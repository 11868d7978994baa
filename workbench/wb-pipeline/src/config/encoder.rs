//! The `encoder:` section: a model from scratch or a pretrained one, and how it is adapted.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{EncoderRef, Error, Result};
use wb_encoder::{
    Architecture, BagFromTeacher, LateInteractionConfig, LoraConfig, PairReadingConfig, Pooling, TokenizerConfig,
    folder::{MaxTokens, Prompts},
    models::{Activation, BertConfig, StaticConfig, TransformerSizes},
};

/// Encoder to train.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EncoderConfig {
    /// One of `static_embedding`, `transformer`, `pretrained`.
    pub model: ModelChoice,
    /// The tokenizer of a model from scratch, learned from the training pairs; a pretrained model brings its own.
    #[serde(default)]
    pub tokenizer: TokenizerConfig,
    /// Longer texts are cut: `{ query: N, document: N }`, special tokens included. Time and memory grow with it.
    /// Without it, a pretrained model's own, or 256 from scratch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<MaxTokens>,
    /// Put before every text of its side: `{ query: "...", document: "..." }`. A side that is left out has none.
    /// Without it, a pretrained model's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompts: Option<Prompts>,
    /// From token states to one vector: `mean`, `weighted_mean` (later tokens weigh more), `cls` (the first token),
    /// `last`. A bag of token vectors does not use it. Without it, a pretrained model's own, or `mean`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pooling: Option<Pooling>,
    /// Lets the tokens of a decoder (Qwen2, Qwen3, Gemma 3) see those after them too, as LLM2Vec does, or not. It is
    /// exported as what it is, which transformers reads of a Qwen from 5.2 on and of a Gemma from 4.57 on; not as PEFT's
    /// adapters, whose base model does not say so. Without it, the model's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bidirectional: Option<bool>,
    /// One vector for each token in place of one for the text; needs `train.similarity: maxsim` or `xtr`. A folder that
    /// has it brings its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_interaction: Option<LateInteractionConfig>,
    /// A model that reads query and document together and gives one score, in place of vectors: it ranks what another
    /// one found (`wb bench NAME --rerank RUN`). It begins with an encoder, which gets fresh layers on top, or with a
    /// cross-encoder; needs `train.loss: binary_cross_entropy`, `list_net`, or one on a teacher's scores, and hard
    /// negatives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_encoder: Option<PairReadingConfig>,
    /// Trains small adapters and freezes everything else; for `pretrained` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lora: Option<LoraConfig>,
}

/// Origin of the weights.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelChoice {
    /// A bag of token vectors, from scratch or made from another encoder.
    StaticEmbedding(StaticChoice),
    /// A small BERT-style transformer, from scratch.
    Transformer(TransformerChoice),
    /// An encoder that knows something: a sentence-transformers or Hugging Face model, or a run's.
    Pretrained(EncoderRef),
}

/// A bag of token vectors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StaticChoice {
    /// Length of a vector. Memory and time grow with it.
    pub dim: usize,
    /// Gives every token a learned weight in the mean.
    pub weighted: bool,
    /// Number of learned weights for places in a text, finer at its beginning; 48 reach to about the 500th token, 0 for
    /// none. Code says what it does in its first line: on held-out crates this is worth .08 of MRR (reports/LOG.md).
    /// They are few and have few steps to move in, so give them a larger rate: `rate_factors: { position_weights: 15
    /// }`.
    pub positions: usize,
    /// Begins with vectors made from this encoder as Model2Vec makes them: its state of every token of its tokenizer,
    /// shortened to `dim` by principal components (its own width is the most). A name as in `pretrained`; the bag takes
    /// its tokenizer. Costs one pass of it over its vocabulary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<EncoderRef>,
    /// SIF's `a` beside `from`: a token of probability p begins with the weight a / (a + p), 0 to below 1; 0 for none.
    /// Left out, 0.0001.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sif: Option<f64>,
}

/// SIF's `a` where nothing says otherwise.
const DEFAULT_SIF: f64 = 1e-4;

impl Default for StaticChoice {
    fn default() -> Self {
        Self { dim: 256, weighted: true, positions: 48, from: None, sif: None }
    }
}

/// A small transformer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TransformerChoice {
    /// Width of the stream, and length of a vector.
    pub hidden_size: usize,
    /// Number of layers; time grows with it.
    pub layers: usize,
    /// Attention heads; divides `hidden_size`.
    pub heads: usize,
    /// Width of the feed-forward layer.
    pub intermediate_size: usize,
    /// The longest text that it has positions for, in tokens; not less than `max_tokens`.
    pub positions: usize,
    /// Dropout while training, 0 to below 1.
    pub dropout: f64,
}

impl Default for TransformerChoice {
    fn default() -> Self {
        Self { hidden_size: 128, layers: 2, heads: 4, intermediate_size: 512, positions: 256, dropout: 0.1 }
    }
}

/// Tokens of a text where nothing says otherwise.
const DEFAULT_MAX_TOKENS: usize = 256;

impl EncoderConfig {
    /// The limit of a model from scratch.
    pub fn scratch_max_tokens(&self) -> MaxTokens {
        self.max_tokens.unwrap_or(MaxTokens::both(DEFAULT_MAX_TOKENS))
    }

    /// The teacher that the vectors of a bag are made from, and the bag as it is asked for; `None` for all other models.
    pub fn from_teacher(&self) -> Option<(&EncoderRef, BagFromTeacher)> {
        let ModelChoice::StaticEmbedding(choice) = &self.model else { return None };
        let Some(Architecture::StaticEmbedding(bag)) = self.architecture(0) else { return None };
        let sif = choice.sif.unwrap_or(DEFAULT_SIF);
        Some((choice.from.as_ref()?, BagFromTeacher { bag, sif, max_tokens: self.scratch_max_tokens() }))
    }

    /// Refuses what does not go with a teacher, or does not go without one.
    fn validate_teacher(&self, key: &str) -> Result<()> {
        let ModelChoice::StaticEmbedding(choice) = &self.model else { return Ok(()) };
        let of_model = format!("{key}.model.static_embedding");
        let Some(from) = &choice.from else {
            let Some(_) = choice.sif else { return Ok(()) };
            let message = "weights of a bag that is not made from another encoder";
            return Err(Error::value(format!("{of_model}.sif"), message)
                .with_hint("name that encoder in encoder.model.static_embedding.from, or take `sif` away"));
        };
        from.validate(&format!("{of_model}.from"))?;
        BagFromTeacher::validate_sif(choice.sif.unwrap_or(DEFAULT_SIF), &format!("{of_model}.sif"))?;
        if self.tokenizer != TokenizerConfig::default() {
            let message = "a tokenizer to be learned, and the bag takes that of the encoder that it is made from";
            return Err(Error::value(format!("{key}.tokenizer"), message)
                .with_hint("take `tokenizer` away, or take `from` away"));
        }
        Ok(())
    }

    /// The sizes of a model from scratch; `None` for a pretrained one.
    pub fn architecture(&self, vocab_size: usize) -> Option<Architecture> {
        match &self.model {
            ModelChoice::StaticEmbedding(choice) => Some(Architecture::StaticEmbedding(StaticConfig {
                vocab_size,
                dim: choice.dim,
                weighted: choice.weighted,
                positions: choice.positions,
            })),
            ModelChoice::Transformer(choice) => Some(Architecture::Bert(BertConfig {
                sizes: TransformerSizes {
                    vocab_size,
                    hidden_size: choice.hidden_size,
                    num_hidden_layers: choice.layers,
                    num_attention_heads: choice.heads,
                    intermediate_size: choice.intermediate_size,
                    max_position_embeddings: choice.positions,
                },
                type_vocab_size: 1,
                layer_norm_eps: 1e-12,
                first_position: 0,
                activation: Activation::Gelu,
                hidden_dropout: choice.dropout,
                attention_dropout: choice.dropout,
            })),
            ModelChoice::Pretrained(_) => None,
        }
    }

    /// True where texts get special tokens before and after them, for a model from scratch: a transformer reads
    /// the beginning and the end of a text; a bag of vectors would average two constants in.
    pub fn has_special_tokens(&self) -> bool {
        self.tokenizer.special_tokens || matches!(self.model, ModelChoice::Transformer(_))
    }

    /// Lengths that hold the special tokens and at least one more, and for which the model has positions.
    fn validate_max_tokens(&self, key: &str, special: usize, positions: Option<usize>) -> Result<()> {
        let tokens = self.scratch_max_tokens();
        for (side, tokens) in [("query", tokens.query), ("document", tokens.document)] {
            if tokens <= special {
                let message = format!("got {tokens}, expected more than {special}");
                return Err(Error::value(format!("{key}.{side}"), message));
            }
            if let Some(most) = positions.filter(|most| tokens > *most) {
                let message = format!("got {tokens}, expected at most {most}: the model has no more positions");
                return Err(Error::value(format!("{key}.{side}"), message)
                    .with_hint("set encoder.model.transformer.positions, or a smaller encoder.max_tokens"));
            }
        }
        Ok(())
    }

    /// Refuses what a cross-encoder has no use for.
    fn validate_cross_encoder(&self, key: &str) -> Result<()> {
        let Some(config) = &self.cross_encoder else { return Ok(()) };
        config.validate(&format!("{key}.cross_encoder"))?;
        let of_vectors = [
            ("late_interaction", self.late_interaction.is_some()),
            ("max_tokens", self.max_tokens.is_some()),
            ("pooling", self.pooling.is_some()),
            ("prompts", self.prompts.is_some()),
        ];
        if let Some((name, _)) = of_vectors.iter().find(|(_, is_there)| *is_there) {
            let message = "is of encoders, which give each text a vector, and `encoder.cross_encoder` reads two as one";
            let hint = match *name {
                "max_tokens" => "encoder.cross_encoder.max_tokens is the length of both together",
                _ => "take it away",
            };
            return Err(Error::value(format!("{key}.{name}"), message).with_hint(hint));
        }
        if matches!(self.model, ModelChoice::StaticEmbedding(_)) {
            let message = "a bag of token vectors cannot read two texts as one, expected a transformer";
            return Err(Error::value(format!("{key}.model"), message).with_hint("model: { pretrained: ... }"));
        }
        Ok(())
    }

    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> Result<()> {
        self.tokenizer.validate(&format!("{key}.tokenizer"))?;
        if let Some(late) = &self.late_interaction {
            late.validate(&format!("{key}.late_interaction"))?;
        }
        self.validate_cross_encoder(key)?;
        if let Some(lora) = &self.lora {
            lora.validate(&format!("{key}.lora"))?;
            if !matches!(self.model, ModelChoice::Pretrained(_)) {
                let message = "adapters on a model from scratch: its frozen weights would be random";
                return Err(Error::value(format!("{key}.lora"), message)
                    .with_hint("take `lora` away, or use `model: { pretrained: ... }`"));
            }
        }
        if self.bidirectional.is_some() && !matches!(self.model, ModelChoice::Pretrained(_)) {
            let message = "of a model from scratch, which is no decoder";
            return Err(Error::value(format!("{key}.bidirectional"), message)
                .with_hint("take it away, or use `model: { pretrained: ... }` with a decoder"));
        }
        match &self.model {
            ModelChoice::Pretrained(pretrained) => pretrained.validate(&format!("{key}.model.pretrained")),
            _ => {
                self.validate_teacher(key)?;
                let Some(architecture) = self.architecture(self.tokenizer.vocab_size) else { return Ok(()) };
                let is_transformer = matches!(self.model, ModelChoice::Transformer(_));
                let special = if self.has_special_tokens() { 2 } else { 0 };
                let name = if is_transformer { "transformer" } else { "static_embedding" };
                architecture.validate(&format!("{key}.model.{name}")).map_err(as_written)?;
                self.validate_max_tokens(&format!("{key}.max_tokens"), special, architecture.max_tokens())
            }
        }
    }
}

/// A transformer's sizes have the names of its `config.json` in the library, and shorter ones in the YAML.
fn as_written(error: Error) -> Error {
    let Error::Value { mut key, message, hint } = error else { return error };
    for (name, written) in
        [("num_attention_heads", "heads"), ("num_hidden_layers", "layers"), ("max_position_embeddings", "positions")]
    {
        key = key.replace(name, written);
    }
    Error::Value { key, message, hint }
}
