//! Facts that an architecture's own file gives: its config, its names, and the network that they describe.

use std::path::Path;

use serde_json::Value;

use super::{Architecture, HubKeys, ScoredAs, Stack};
use crate::error::Result;

/// The config of an architecture with layers of attention. All that is known of an architecture stands in its file, in
/// this trait's methods; what computes, reads, writes and trains it asks here.
pub trait Transformer {
    /// The `model_type`s of a hub's `config.json`, each of which this config can be.
    fn model_types() -> &'static [&'static str]
    where
        Self: Sized;

    /// Reads a hub's `config.json`, which has one of the model types. What it asks for and is not computed is refused.
    fn from_hub(keys: &HubKeys) -> Result<Self>
    where
        Self: Sized;

    /// `config.json` for transformers and whatever reads its folders, but for what every model's has.
    fn to_hub(&self, tokens: HubTokens) -> Value;

    /// The kind, for tables: `bert`.
    fn kind(&self) -> &'static str;

    /// The network.
    fn stack(&self) -> Stack;

    /// Refuses sizes that cannot be; `key` is what messages call them by.
    fn validate(&self, key: &str) -> Result<()>;

    /// Lets tokens see those after them too, or not: false where the architecture knows one of the two alone.
    fn set_bidirectional(&mut self, on: bool) -> bool {
        on
    }

    /// True where [`Transformer::set_bidirectional`] has made the attention another than that of the `config.json` that
    /// was read: adapters of PEFT stand on a model whose own config does not say so.
    fn attention_changed(&self) -> bool {
        false
    }

    /// The first version of transformers that computes the network as it is: major and minor.
    fn transformers_version(&self) -> [u32; 2] {
        [4, 0]
    }

    /// Our name for a file's tensor: the name in the network alone, whatever holds it in the file.
    fn our_name(&self, name: &str) -> String {
        without_wrappers(name, &["model."]).to_owned()
    }

    /// Our names for the parts of a file's tensor, which has as many rows of each: where a file keeps together what is
    /// apart here.
    fn our_names(&self, name: &str) -> Vec<String> {
        vec![self.our_name(name)]
    }

    /// The padding token, where a config fixes it: RoBERTa counts places from it.
    fn pad_token_id(&self) -> Option<u32> {
        None
    }

    /// Roles of special tokens, as transformers' tokenizers call them.
    fn special_roles(&self) -> &'static [&'static str] {
        &["unk_token", "sep_token", "pad_token", "cls_token", "mask_token"]
    }

    /// The head by which transformers scores a text with this network; `keys` are those of a file that has one. None
    /// where it has no such head.
    fn scored_as(&self, _keys: Option<&HubKeys>) -> Result<Option<ScoredAs>> {
        Ok(None)
    }

    /// Standard deviation of a fresh table or linear layer by its name and the numbers that it takes: the
    /// `initializer_range` of the first BERT and of nearly all models since.
    fn fresh_std(&self, name: &str, inputs: usize) -> f32 {
        let _ = (name, inputs);
        0.02
    }
}

/// Tokens that a `config.json` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HubTokens {
    /// The token that fills up shorter texts of a batch.
    pub pad: u32,
    /// The token after a text, where the tokenizer has one.
    pub end: Option<u32>,
}

/// A tensor's name without what holds the network in a file: sentence-transformers' modules, and what the architecture
/// is wrapped in.
pub(crate) fn without_wrappers<'a>(name: &'a str, of_architecture: &[&str]) -> &'a str {
    let wrappers = ["0.auto_model.", "0.model."].iter().chain(of_architecture);
    wrappers.fold(name, |name, prefix| name.strip_prefix(prefix).unwrap_or(name))
}

impl Architecture {
    /// Reads a hub's `config.json`.
    pub fn from_hub(path: &Path) -> Result<Self> {
        let keys = HubKeys::read(path)?;
        let kind = keys.text("model_type", "")?;
        let Some((_, read)) = Self::HUB_READERS.iter().find(|(types, _)| types().contains(&kind.as_str())) else {
            return Err(keys.refuse(
                format!("has model_type `{kind}`, expected one of {}", Self::model_types().join(", ")),
                "all-MiniLM-L6-v2, the BGE models, UniXcoder, Qwen3-Embedding, gte-modernbert, CodeRankEmbed and EmbeddingGemma are of these types",
            ));
        };
        let architecture = read(&keys)?;
        architecture.validate(&keys.place())?;
        Ok(architecture)
    }

    /// Lets tokens see those after them too (LLM2Vec, arXiv 2404.05961), or not. `key` is what the message calls it by,
    /// where the architecture knows one of the two alone.
    pub fn set_bidirectional(&mut self, on: bool, key: &str) -> Result<()> {
        let described = self.describe();
        let is_set = self.transformer_mut().is_some_and(|config| config.set_bidirectional(on));
        if is_set {
            return Ok(());
        }
        let sees = if self.transformer().is_some() { "whose tokens see both ways" } else { "whose tokens see none" };
        let message = format!("got {on}, and the encoder is {described}, {sees}");
        Err(wb_core::Error::value(key, message)
            .with_hint("take it away: it is for decoders, such as Qwen3 and Gemma 3"))
    }

    /// Our name for a file's tensor.
    pub fn our_name(&self, name: &str) -> String {
        self.transformer().map_or_else(|| without_wrappers(name, &[]).to_owned(), |config| config.our_name(name))
    }

    /// Our names for the parts of a file's tensor.
    pub fn our_names(&self, name: &str) -> Vec<String> {
        self.transformer().map_or_else(|| vec![self.our_name(name)], |config| config.our_names(name))
    }

    /// The `model_type`s that are read.
    pub fn model_types() -> Vec<&'static str> {
        Self::HUB_READERS.iter().flat_map(|(types, _)| types().iter().copied()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::BertConfig;

    #[test]
    fn names_of_files_become_ours() {
        let bert = Architecture::Bert(BertConfig::tiny(0.0));
        let becomes = |name: &str, ours: &str| assert_eq!(bert.our_name(name), ours);
        becomes("bert.embeddings.LayerNorm.gamma", "embeddings.LayerNorm.weight");
        becomes("0.model.encoder.layer.0.output.dense.bias", "encoder.layer.0.output.dense.bias");
        becomes("roberta.encoder.layer.3.output.LayerNorm.beta", "encoder.layer.3.output.LayerNorm.bias");
        becomes("encoder.layer.0.output.dense.weight", "encoder.layer.0.output.dense.weight");
    }

    /// Each model type is read by one architecture.
    #[test]
    fn model_types_are_told_apart() {
        let mut types = Architecture::model_types();
        types.sort_unstable();
        let all = types.len();
        types.dedup();
        assert_eq!(types.len(), all);
        assert!(types.contains(&"bert") && types.contains(&"qwen3"), "{types:?}");
    }
}
