//! The `ab:` section: two ways to embed one corpus, on the same queries.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Error, Ranker, Result};
use wb_synth::annotate::EmbedText;

/// An A/B experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AbConfig {
    /// JSON lines, one query each: `id`, `text`, and what a good answer shows, each a list of words: `theme`,
    /// `technique`, `functions`, `library`. A useless result without the library and with another of these is
    /// `keyword_over_reliance`; without any of the functions and with library or theme `missing_function`; with the
    /// theme and without the technique `theme_without_technique`; else `other`.
    #[serde(deserialize_with = "wb_core::paths::typed")]
    pub queries: PathBuf,
    /// JSON lines, one judgement each: `query`, `document`, `grade` (above 0 is of use, `null` is not judged yet), and
    /// a `class` where a person knows it. `to-judge.jsonl` has this form: without judgements the first run writes it
    /// and ends.
    #[serde(default, deserialize_with = "wb_core::paths::typed")]
    pub judgements: Option<PathBuf>,
    /// Baseline and candidate, each `code`, `annotation` (summary, keywords and queries), `both` (a vector each, the
    /// better one counts) or `concat` (one text, the annotation first). A snippet without an annotation is its code.
    #[serde(default = "code_and_annotation")]
    pub arms: [EmbedText; 2],
    /// An encoder (a folder, a run, `latest`, `owner/name` of the hub), or `bm25`.
    pub encoder: Ranker,
    /// Searches as `wb search` does: through an index of the snippets with the context before them, by words and, with an
    /// encoder, by vectors, under the ranking's own weights. An arm that is not `code` has the annotations beside the code,
    /// as after `wb index --annotations`.
    #[serde(default)]
    pub index: bool,
    /// Longest text in tokens, instead of the encoder's own.
    #[serde(default)]
    pub max_tokens: Option<usize>,
}

fn code_and_annotation() -> [EmbedText; 2] {
    [EmbedText::Code, EmbedText::Annotation]
}

impl AbConfig {
    /// Refuses values that make no sense.
    pub fn validate(&self, key: &str) -> Result<()> {
        if self.arms[0] == self.arms[1] {
            let message = format!("`{}` stands there twice, expected two ways to embed", self.arms[0].as_str());
            return Err(Error::value(format!("{key}.arms"), message));
        }
        self.encoder.validate(&format!("{key}.encoder"))?;
        if self.max_tokens == Some(0) {
            return Err(Error::value(format!("{key}.max_tokens"), "got 0, expected 1 or more"));
        }
        Ok(())
    }
}
