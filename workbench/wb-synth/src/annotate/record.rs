//! Annotations as a file: one JSON line a chunk, found again by the text that they speak of.

use std::{collections::HashMap, path::Path};

use serde::{Deserialize, Serialize};
use wb_core::{Pair, Result, Seed, Task, fingerprint::Fingerprint, pair::Origin};
use wb_llm::EngineInfo;

use super::{Annotated, Annotation};
use crate::{Snippet, lines, provenance};

/// The data set that pairs of example queries belong to.
pub const DATASET: &str = "annotations";

/// One annotated chunk, with all that is needed to find its source and to ask the same again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The chunk's id.
    pub id: String,
    /// BLAKE3 of the chunk's text without white space around it: what the annotation is found by.
    pub text: String,
    /// The chunk's language.
    pub language: String,
    /// Group, file, lines and license of the chunk.
    pub source: Origin,
    /// What the model said.
    pub annotation: Annotation,
    /// The model's name as its engine gives it.
    pub model: String,
    /// BLAKE3 of the model's file where it was at hand.
    pub model_hash: String,
    /// `http`, `sidecar`, `embedded` or `replay`.
    pub engine: String,
    /// The run's seed.
    pub seed: u64,
    /// The question behind it.
    pub asked: provenance::Asked,
}

/// Annotations by the text that they speak of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Annotations {
    by_text: HashMap<String, Annotation>,
}

impl Annotations {
    /// Reads a file of [`Record`]s. Of two annotations of one text the first is taken.
    pub fn load(path: &Path) -> Result<Self> {
        let mut by_text = HashMap::new();
        for (_, record) in lines::read::<Record>(path)? {
            by_text.entry(record.text).or_insert(record.annotation);
        }
        Ok(Self { by_text })
    }

    /// What was said of a text.
    pub fn of(&self, text: &str) -> Option<&Annotation> {
        self.by_text.get(&hash(text))
    }

    /// How many texts are annotated.
    pub fn len(&self) -> usize {
        self.by_text.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.by_text.is_empty()
    }
}

fn hash(text: &str) -> String {
    Fingerprint::of_bytes(text.trim().as_bytes()).to_string()
}

impl Annotated {
    /// The records of the chunks that have an annotation, in the chunks' order.
    pub fn records(&self, snippets: &[Snippet], info: &EngineInfo, seed: Seed) -> Vec<Record> {
        let record = |(snippet, annotation, asked): (&Snippet, &Annotation, &provenance::Asked)| Record {
            id: snippet.id.clone(),
            text: hash(&snippet.text),
            language: snippet.language.clone(),
            source: snippet.origin.clone(),
            annotation: annotation.clone(),
            model: info.model.clone(),
            model_hash: info.model_hash.clone(),
            engine: info.engine.clone(),
            seed: seed.0,
            asked: asked.clone(),
        };
        self.kept(snippets).map(record).collect()
    }

    /// Every example query with the code that it was written for.
    pub fn pairs(&self, snippets: &[Snippet]) -> Vec<Pair> {
        let pairs = self.kept(snippets).flat_map(|(snippet, annotation, _)| {
            annotation.queries.iter().enumerate().map(|(at, query)| Pair {
                id: format!("{DATASET}:{}#{at}", snippet.id),
                task: Task::Text2code,
                language: snippet.language.clone(),
                anchor: query.clone(),
                positive: snippet.text.clone(),
                origin: Origin { dataset: DATASET.to_owned(), ..snippet.origin.clone() },
                ..Pair::default()
            })
        });
        pairs.collect()
    }

    fn kept<'s>(
        &'s self,
        snippets: &'s [Snippet],
    ) -> impl Iterator<Item = (&'s Snippet, &'s Annotation, &'s provenance::Asked)> {
        let kept = self.annotations.iter().zip(&self.asked);
        snippets.iter().zip(kept).filter_map(|(snippet, kept)| match kept {
            (Some(annotation), Some(asked)) => Some((snippet, annotation, asked)),
            _ => None,
        })
    }
}
