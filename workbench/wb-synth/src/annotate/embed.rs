//! Texts of a chunk that become vectors: its code, what was said of it, or both.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::records::annotation::Annotation;

use crate::Snippet;

/// Text of a chunk that is embedded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EmbedText {
    /// The code.
    #[default]
    Code,
    /// Summary, keywords and queries.
    Annotation,
    /// Both, each with a vector of its own; the better of the two counts.
    Both,
    /// Both in one text, the annotation first: encoders cut the end.
    Concat,
}

/// The texts of chunks to embed, and whose they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EmbedTexts {
    /// The texts, those of one chunk one after the other.
    pub texts: Vec<String>,
    /// The chunk of each text.
    pub chunks: Vec<usize>,
}

impl EmbedText {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Code, Self::Annotation, Self::Both, Self::Concat];

    /// The name in YAML.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Annotation => "annotation",
            Self::Both => "both",
            Self::Concat => "concat",
        }
    }

    /// The texts of one chunk. A chunk without an annotation is its code, whatever is asked for.
    pub fn of(self, code: &str, annotation: Option<&Annotation>) -> Vec<String> {
        let code = || code.to_owned();
        match (self, annotation) {
            (Self::Code, _) | (_, None) => vec![code()],
            (Self::Annotation, Some(annotation)) => vec![annotation.text()],
            (Self::Both, Some(annotation)) => vec![code(), annotation.text()],
            (Self::Concat, Some(annotation)) => vec![format!("{}\n\n{}", annotation.text(), code())],
        }
    }

    /// The texts of all chunks. There must be an annotation, or nothing, for each; what is missing at the end is nothing.
    pub fn all(self, snippets: &[Snippet], annotations: &[Option<Annotation>]) -> EmbedTexts {
        let mut all = EmbedTexts::default();
        for (chunk, snippet) in snippets.iter().enumerate() {
            let annotation = annotations.get(chunk).and_then(Option::as_ref);
            for text in self.of(&snippet.text, annotation) {
                all.texts.push(text);
                all.chunks.push(chunk);
            }
        }
        all
    }
}
