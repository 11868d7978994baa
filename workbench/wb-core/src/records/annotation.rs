//! Annotations: what a language model said of a piece of code, found again by the text that it speaks of.

use std::{collections::HashMap, path::Path};

use serde::{Deserialize, Serialize};

use crate::{Result, fingerprint::Fingerprint, json_lines};

/// The words of a model about a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Annotation {
    /// A few sentences about what the code does and by which technique.
    pub summary: String,
    /// Techniques, functions, libraries, kinds of data.
    pub keywords: Vec<String>,
    /// Queries of somebody who looks for this chunk.
    pub queries: Vec<String>,
}

impl Annotation {
    /// The annotation as one text: summary, keywords, queries, a line each.
    pub fn text(&self) -> String {
        let mut lines = vec![self.summary.clone()];
        if !self.keywords.is_empty() {
            lines.push(format!("Keywords: {}", self.keywords.join(", ")));
        }
        lines.extend(self.queries.iter().cloned());
        lines.join("\n")
    }
}

/// Annotations by the text that they speak of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AnnotationsByText {
    by_text: HashMap<String, Annotation>,
}

impl<'t> FromIterator<(&'t str, Annotation)> for AnnotationsByText {
    fn from_iter<I: IntoIterator<Item = (&'t str, Annotation)>>(annotated: I) -> Self {
        let mut by_text = HashMap::new();
        for (text, annotation) in annotated {
            by_text.entry(Self::key(text)).or_insert(annotation);
        }
        Self { by_text }
    }
}

impl AnnotationsByText {
    /// Reads a file of annotated chunks, `annotations.jsonl`. Of two annotations of one text the first is taken.
    pub fn load(path: &Path) -> Result<Self> {
        /// The part of a record that is looked at.
        #[derive(Deserialize)]
        struct Annotated {
            text: String,
            annotation: Annotation,
        }
        let mut by_text = HashMap::new();
        for (_, record) in json_lines::read::<Annotated>(path)? {
            by_text.entry(record.text).or_insert(record.annotation);
        }
        Ok(Self { by_text })
    }

    /// The key of a text: BLAKE3 of it without white space around it.
    pub fn key(text: &str) -> String {
        Fingerprint::of_bytes(text.trim().as_bytes()).to_string()
    }

    /// The annotation of a text.
    pub fn of(&self, text: &str) -> Option<&Annotation> {
        self.by_text.get(&Self::key(text))
    }

    /// Number of annotated texts.
    pub fn len(&self) -> usize {
        self.by_text.len()
    }

    /// True where no text is annotated.
    pub fn is_empty(&self) -> bool {
        self.by_text.is_empty()
    }
}
