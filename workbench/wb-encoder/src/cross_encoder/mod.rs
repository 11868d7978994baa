//! Cross-encoders: a query and a document read together, `[CLS] query [SEP] document [SEP]`, to one score.
//!
//! What sentence-transformers' `CrossEncoder` (6.2) computes from a `BertForSequenceClassification` or a
//! `RobertaForSequenceClassification` with one label: w·tanh(D·h + b) + c of the first token's state h, and the folder's
//! activation on it, the logistic function where it names none. Too slow to rank a corpus with, and better than an
//! encoder at ranking a few. It is computed on the processor; `TrainedCrossEncoder` gives
//! the gradients of its weights.

pub(crate) mod head;
pub mod losses;
mod template;
mod trained;

use std::{collections::HashMap, path::Path};

use wb_core::{Progress, Reranker, fingerprint::Fingerprint};

pub use self::head::{ScoreActivation, ScoreHead};
pub(crate) use self::template::PairTemplate;
pub use self::trained::{PairGradients, PairTape, TrainedCrossEncoder};
use crate::{
    batch::TokenBatch,
    error::{Error, Result},
    folder::cross_encoder::{self, CrossFolder},
    models::Transformer,
    native::PairBackbone,
    text_vectors::by_length,
};

/// Pairs that are tokenized together, so that a text that stands in many of them is split into tokens once.
const WINDOW: usize = 4096;

/// A cross-encoder on the processor.
pub struct CrossEncoder {
    /// All but the network's weights, which the backbone has.
    folder: CrossFolder,
    backbone: PairBackbone,
}

/// A query and a document as the network takes them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PairTokens {
    /// Token ids, special tokens included.
    pub ids: Vec<u32>,
    /// The type of each token: which of the two it belongs to, for models that are told.
    pub types: Vec<u32>,
}

impl CrossEncoder {
    /// Reads a folder as sentence-transformers or transformers write it.
    pub fn read(path: &Path) -> Result<Self> {
        let mut folder = cross_encoder::read(path)?;
        let parameters = std::mem::take(&mut folder.parameters);
        Ok(Self { backbone: PairBackbone::new(folder.config.stack(), parameters)?, folder })
    }

    /// Cuts two texts together at so many tokens, special tokens included; `key` is the config path.
    pub fn with_max_tokens(mut self, tokens: usize, key: &str) -> Result<Self> {
        let (special, most) = (self.folder.template.special_tokens(), self.positions());
        if tokens <= special || tokens > most {
            let message = format!(
                "got {tokens}, expected more than the {special} special tokens and at most {}'s {most} positions",
                self.folder.name
            );
            return Err(Error::value(key, message));
        }
        self.folder.max_tokens = tokens;
        Ok(self)
    }

    /// Two texts are cut together at so many tokens, special tokens included.
    pub fn max_tokens(&self) -> usize {
        self.folder.max_tokens
    }

    /// Notes for people: choices that the folder left open, and how they were decided.
    pub fn notes(&self) -> &[String] {
        &self.folder.notes
    }

    /// A short description for tables: `bert 6 × 384, 12 heads`.
    pub fn describe(&self) -> String {
        self.folder.architecture().describe()
    }

    fn positions(&self) -> usize {
        self.folder.config.sizes.max_position_embeddings.saturating_sub(self.folder.config.first_position)
    }

    /// The tokens of queries with documents, in order, cut from the longer of the two until both fit.
    pub fn tokenize(&self, pairs: &[(&str, &str)]) -> Result<Vec<PairTokens>> {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut texts: Vec<&str> = Vec::new();
        let mut of_pairs = Vec::with_capacity(pairs.len());
        for (query, document) in pairs {
            of_pairs.push([*query, *document].map(|text| {
                *places.entry(text).or_insert_with(|| {
                    texts.push(text);
                    texts.len() - 1
                })
            }));
        }
        let CrossFolder { tokenizer, template, max_tokens, .. } = &self.folder;
        // Whole: which of two long texts is the longer one decides where they are cut.
        let ids = tokenizer.encode_all("", &texts, usize::MAX)?;
        let joined = of_pairs.iter().map(|[query, document]| template.join(&ids[*query], &ids[*document], *max_tokens));
        Ok(joined.collect())
    }

    /// The scores of queries with documents, in order. Memory is bounded, and threads change nothing.
    pub fn scores(&self, pairs: &[(&str, &str)], progress: &mut dyn FnMut(Progress)) -> Result<Vec<f32>> {
        const STAGE: &str = "scoring pairs of texts";
        let mut scores = vec![0.0; pairs.len()];
        let mut done = 0;
        progress(Progress::new(STAGE, 0, pairs.len()));
        for (number, window) in pairs.chunks(WINDOW).enumerate() {
            let tokens = self.tokenize(window)?;
            let (ids, types): (Vec<_>, Vec<_>) = tokens.into_iter().map(|pair| (pair.ids, pair.types)).unzip();
            for group in by_length(&ids) {
                let batch = TokenBatch::new(group.iter().map(|at| ids[*at].as_slice()));
                let types: Vec<u32> = group.iter().flat_map(|at| &types[*at]).copied().collect();
                let states = self.backbone.first_states(&batch, &types)?;
                for (score, at) in self.folder.head.scores(states.view()).into_iter().zip(&group) {
                    if !score.is_finite() {
                        return Err(self.not_finite(window[*at]));
                    }
                    scores[number * WINDOW + at] = score;
                }
                done += group.len();
                progress(Progress::new(STAGE, done, pairs.len()));
            }
        }
        Ok(scores)
    }

    fn not_finite(&self, (query, document): (&str, &str)) -> Error {
        let beginning = |text: &str| text.chars().take(40).collect::<String>();
        let message = format!("the score of {:?} with {:?} is not finite", beginning(query), beginning(document));
        Error::data(self.folder.name.as_str(), message)
    }
}

impl Reranker for CrossEncoder {
    fn name(&self) -> String {
        self.folder.name.clone()
    }

    fn fingerprint(&self) -> Fingerprint {
        let CrossFolder { config, head, tokenizer, template, max_tokens, .. } = &self.folder;
        let mut fingerprint = Fingerprint::builder();
        let settings = (config, head.activation, max_tokens, template);
        fingerprint.text("cross-encoder").text(Fingerprint::of_json(&settings).as_str());
        // A tokenizer that cannot be written as JSON would not have been read from it.
        fingerprint.text(&tokenizer.to_json().unwrap_or_default());
        let of_backbone = self.backbone.parameters().iter().map(|one| (one.name.as_str(), one.values.floats()));
        for (name, values) in of_backbone.chain(head.weights()) {
            fingerprint.text(name).floats(&values);
        }
        fingerprint.finish()
    }

    fn score(
        &self,
        texts: &[(&str, &str)],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<f32>, Box<dyn std::error::Error + Send + Sync>> {
        Ok(self.scores(texts, progress)?)
    }
}
