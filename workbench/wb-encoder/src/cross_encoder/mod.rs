//! Cross-encoders: a query and a document read together, `[CLS] query [SEP] document [SEP]`, to one score.
//!
//! The arithmetic is that of sentence-transformers' `CrossEncoder` (6.2) on transformers' `...ForSequenceClassification`
//! with one label: a head ([`ScoreHead`](crate::models::ScoreHead)) on a state of any transformer here, and the folder's
//! activation on its number, the logistic function where it names none. Too slow to rank a corpus with, and better than an encoder at ranking a few. It
//! is trained as encoders are, by losses on the scores of documents with their own anchors.

mod begin;
pub(crate) mod head;
mod reading;
mod template;

use std::{collections::HashMap, path::Path};

use wb_core::{Progress, Reranker, fingerprint::Fingerprint};

pub(crate) use self::template::PairTemplate;
pub use self::{begin::PairReadingConfig, head::ScoreActivation, reading::PairReading};
use crate::{
    backbone::Backbone,
    device::{DeviceConfig, OpenDevice},
    error::{Error, Result},
    folder::{Folder, MaxTokens},
    models::Model,
    text_vectors::by_length,
};

/// Pairs that are tokenized together, so that a text that stands in many of them is split into tokens once.
const WINDOW: usize = 4096;

/// A cross-encoder on its device.
pub struct CrossEncoder {
    /// All but the weights, which the backbone has.
    folder: Folder,
    reading: PairReading,
    backbone: Box<dyn Backbone>,
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
    /// Reads a folder as sentence-transformers or transformers write it, or a run's, for the processor.
    pub fn read(path: &Path) -> Result<Self> {
        Self::open(Folder::read_cross_encoder(path)?, &DeviceConfig::Cpu.open()?)
    }

    /// Brings a cross-encoder to a device, to score with it alone.
    pub fn open(mut folder: Folder, device: &OpenDevice) -> Result<Self> {
        let reading = folder.expect_cross_encoder()?.clone();
        folder.merge()?;
        folder.model.parameters.freeze();
        let parameters = std::mem::take(&mut folder.model.parameters);
        let backbone = device.open_backbone(Model { parameters, ..folder.model.clone() })?;
        Ok(Self { folder, reading, backbone })
    }

    /// Cuts two texts together at so many tokens, special tokens included; `key` is the config path.
    pub fn with_max_tokens(mut self, tokens: usize, key: &str) -> Result<Self> {
        self.folder.cut_pairs_at(tokens, key)?;
        Ok(self)
    }

    /// Gives it another name in tables and files.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.folder.name = name.into();
        self
    }

    /// Two texts are cut together at so many tokens, special tokens included.
    pub fn max_tokens(&self) -> usize {
        self.folder.max_tokens.document
    }

    /// Notes for people: choices that the folder left open, and how they were decided.
    pub fn notes(&self) -> &[String] {
        &self.folder.notes
    }

    /// A short description for tables: `bert 6 × 384, 12 heads`.
    pub fn describe(&self) -> String {
        self.folder.describe()
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
        // Whole: which of two long texts is the longer one decides where they are cut.
        let ids = self.folder.tokenizer.encode_all("", &texts, usize::MAX)?;
        let join = |[query, document]: &[usize; 2]| self.reading.join(&ids[*query], &ids[*document], self.max_tokens());
        Ok(of_pairs.iter().map(join).collect())
    }

    /// The scores of queries with documents, in order. Memory is bounded, and threads change nothing.
    pub fn scores(&self, pairs: &[(&str, &str)], progress: &mut dyn FnMut(Progress)) -> Result<Vec<f32>> {
        const STAGE: &str = "scoring pairs of texts";
        let (all, mut done) = (pairs.len(), 0);
        let mut scores = vec![0.0; all];
        progress(Progress::new(STAGE, 0, all));
        for (number, window) in pairs.chunks(WINDOW).enumerate() {
            let tokens = self.tokenize(window)?;
            for group in by_length(tokens.iter().map(|pair| pair.ids.len())) {
                let states = self.backbone.embed(&self.reading.batch(group.iter().map(|at| &tokens[*at])))?;
                let (numbers, _) = self.reading.head.numbers(self.backbone.parameters(), states.view())?;
                for (number_of_pair, at) in numbers.into_iter().zip(&group) {
                    let score = self.reading.activation.score(number_of_pair);
                    if !score.is_finite() {
                        return Err(self.not_finite(window[*at]));
                    }
                    scores[number * WINDOW + at] = score;
                }
                done += group.len();
                progress(Progress::new(STAGE, done, all));
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

impl Folder {
    /// Cuts two texts together at so many tokens, special tokens included; `key` is the config path.
    pub(crate) fn cut_pairs_at(&mut self, tokens: usize, key: &str) -> Result<()> {
        let special = self.pair_reading.as_ref().map_or(0, PairReading::special_tokens);
        let most = self.model.architecture.max_tokens().unwrap_or(usize::MAX);
        if tokens <= special || tokens > most {
            let name = &self.name;
            let message = format!(
                "got {tokens}, expected more than the {special} special tokens and at most {name}'s {most} positions"
            );
            return Err(Error::value(key, message));
        }
        self.max_tokens = MaxTokens::both(tokens);
        Ok(())
    }
}

impl Reranker for CrossEncoder {
    fn name(&self) -> String {
        self.folder.name.clone()
    }

    fn fingerprint(&self) -> Fingerprint {
        let Folder { model, tokenizer, max_tokens, .. } = &self.folder;
        let mut fingerprint = Fingerprint::builder();
        let settings = (&model.architecture, &self.reading, max_tokens);
        fingerprint.text("cross-encoder").text(Fingerprint::of_json(&settings).as_str());
        // A tokenizer that cannot be written as JSON would not have been read from it.
        fingerprint.text(&tokenizer.to_json().unwrap_or_default());
        for parameter in self.backbone.parameters().iter() {
            parameter.values.add_to(fingerprint.text(&parameter.name));
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
