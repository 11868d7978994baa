//! The beginning of a cross-encoder: a folder of one, or an encoder that gets fresh layers on its state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::Seed;

use super::{PairReading, PairTemplate, ScoreActivation};
use crate::{
    error::{Error, Result, expect_value},
    export::transformer::pad_token,
    folder::{Folder, MaxTokens, Prompts, cross_encoder::ended},
    models::fresh_weight,
};

/// A model that reads query and document together and gives one score, in place of one that gives vectors.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PairReadingConfig {
    /// Query and document are cut together at so many tokens, special tokens included. Without it, as many as the model
    /// takes, 512 at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<usize>,
}

/// Most tokens of two texts where nothing says so: attention and its memory grow with their square.
const MOST_TOKENS: usize = 512;

impl PairReadingConfig {
    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        let tokens = self.max_tokens.unwrap_or(MOST_TOKENS);
        expect_value(format!("{key}.max_tokens"), tokens, tokens >= 4, "at least 4")
    }
}

impl Folder {
    /// Makes a cross-encoder of it, where it is none yet: its pooling, prompts and normalization go, and fresh layers come
    /// that train whole, also beside adapters. `activation` is what scores of a new one go through; one that was there
    /// keeps its own.
    ///
    /// # Errors
    ///
    /// If transformers has no such layers for the architecture, or the tokenizer cannot join two texts.
    pub fn add_pair_reading(
        &mut self,
        config: &PairReadingConfig,
        activation: ScoreActivation,
        seed: Seed,
        key: &str,
    ) -> Result<()> {
        if self.pair_reading.is_none() {
            self.begin_pair_reading(activation, seed, key)?;
        }
        let tokens = config.max_tokens.unwrap_or(self.max_tokens.document.min(MOST_TOKENS));
        self.cut_pairs_at(tokens, &format!("{key}.max_tokens"))
    }

    fn begin_pair_reading(&mut self, activation: ScoreActivation, seed: Seed, key: &str) -> Result<()> {
        let refuse = |message: String, hint: &str| Err(Error::value(key, message).with_hint(hint));
        if self.late_interaction.is_some() || !self.dense.is_empty() {
            let message = format!("{} has layers after its states, which a cross-encoder does without", self.name);
            return refuse(message, "begin with a model without such layers");
        }
        let transformer = self.model.architecture.transformer();
        let scored = transformer.map(|one| one.scored_as(None)).transpose()?.flatten();
        let Some(scored) = scored else {
            let message = format!("{} is {}, and transformers scores no texts with it", self.name, self.describe());
            return refuse(message, "begin with a BERT, RoBERTa, ModernBERT, NomicBERT, Qwen2, Qwen3 or Gemma 3");
        };
        let types = self.model.architecture.stack().and_then(|stack| stack.token_types).map_or(1, |(_, rows)| rows);
        let mut template = PairTemplate::of(&self.tokenizer, self.name.as_ref())?;
        if template.largest_type() as usize >= types {
            template = template.without_types();
        }
        let padding = pad_token(self)?;
        let template = ended(template, &scored.head, &self.model.architecture, Some(padding), self.name.as_ref())?;
        for spec in scored.head.weights(self.model.architecture.dim()) {
            self.model.parameters.insert(fresh_weight(spec, seed));
        }
        self.tokenizer = self.tokenizer.clone().without_special_tokens();
        self.model.pooling = scored.head.pooling;
        self.prompts = Prompts::default();
        self.normalize = false;
        self.pair_reading = Some(PairReading { template, head: scored.head, activation });
        self.max_tokens = MaxTokens::both(self.model.architecture.max_tokens().unwrap_or(MOST_TOKENS));
        Ok(())
    }

    /// A short description for tables: `bert 6 × 384, 12 heads`.
    pub fn describe(&self) -> String {
        self.model.architecture.describe()
    }
}
