//! Annotations as a file: one JSON line a chunk, found again by the text that they speak of.

use serde::Serialize;
use wb_core::{
    Pair, Seed, Task,
    pair::Origin,
    records::{
        annotation::{Annotation, AnnotationsByText},
        data::Gate,
    },
};
use wb_llm::EngineInfo;

use super::AnnotatedSnippets;
use crate::{
    Snippet,
    chain::drop_one,
    provenance::{self, Maker, Provenance},
    review::{ReviewVerdict, Reviewed, Reviews},
};

/// The data set that pairs of example queries belong to.
pub const DATASET: &str = "annotations";

/// One annotated chunk, with all that is needed to find its source and to ask the same again.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnnotationRecord {
    /// The chunk's id.
    pub id: String,
    /// BLAKE3 of the chunk's text without white space around it: what the annotation is found by.
    pub text: String,
    /// The chunk's language.
    pub language: String,
    /// Group, file, lines and license of the chunk.
    pub source: Origin,
    /// The words of the model.
    pub annotation: Annotation,
    /// The model's name as its engine gives it.
    pub model: String,
    /// BLAKE3 of the model's file where it was at hand.
    pub model_hash: String,
    /// `http`, `sidecar`, `embedded` or `replay`.
    pub engine: String,
    /// The run's seed.
    pub seed: u64,
    /// BLAKE3 of the messages of the question.
    pub prompt_hash: String,
    /// The question behind it.
    pub asked: provenance::AskedQuestion,
}

/// Example queries as training pairs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AnnotationPairs {
    /// The pairs, in the chunks' order.
    pub pairs: Vec<Pair>,
    /// Provenance of each pair, in the same order.
    pub provenance: Vec<Provenance>,
    /// Queries before and after a person's review.
    pub gate: Gate,
    /// The decisions of a person about them.
    pub reviewed: Reviewed,
}

/// A chunk with what was said of it.
struct Said<'s> {
    snippet: &'s Snippet,
    annotation: &'s Annotation,
    asked: &'s provenance::AskedQuestion,
    prompt_hash: &'s str,
}

impl AnnotatedSnippets {
    /// The records of the chunks that have an annotation, in the chunks' order.
    pub fn records(&self, snippets: &[Snippet], info: &EngineInfo, seed: Seed) -> Vec<AnnotationRecord> {
        let record = |said: Said| AnnotationRecord {
            id: said.snippet.id.clone(),
            text: AnnotationsByText::key(&said.snippet.text),
            language: said.snippet.language.clone(),
            source: said.snippet.origin.clone(),
            annotation: said.annotation.clone(),
            model: info.model.clone(),
            model_hash: info.model_hash.clone(),
            engine: info.engine.clone(),
            seed: seed.0,
            prompt_hash: said.prompt_hash.to_owned(),
            asked: said.asked.clone(),
        };
        self.kept(snippets).map(record).collect()
    }

    /// Every example query with the code that it was written for, without those that a person rejected.
    pub fn pairs(&self, snippets: &[Snippet], info: &EngineInfo, reviews: &Reviews, seed: Seed) -> AnnotationPairs {
        let mut made = AnnotationPairs {
            gate: Gate { name: "review of queries".into(), ..Gate::default() },
            ..AnnotationPairs::default()
        };
        for said in self.kept(snippets) {
            for (at, query) in said.annotation.queries.iter().enumerate() {
                let pair = Pair {
                    id: format!("{DATASET}:{}#{at}", said.snippet.id),
                    task: Task::Text2code,
                    language: said.snippet.language.clone(),
                    anchor: query.clone(),
                    positive: said.snippet.text.clone(),
                    origin: Origin { dataset: DATASET.to_owned(), ..said.snippet.origin.clone() },
                    ..Pair::default()
                };
                let review = reviews.of_pair(&pair);
                made.gate.before += 1;
                made.reviewed.count(review);
                if review == Some(ReviewVerdict::Reject) {
                    drop_one(&mut made.gate, "rejected by a person".into(), &pair.id, &pair.anchor);
                    continue;
                }
                made.provenance.push(Provenance {
                    id: pair.id.clone(),
                    made_by: Maker::Annotation,
                    task: "text2code/annotation".into(),
                    item: said.snippet.id.clone(),
                    sample: u32::try_from(at).unwrap_or(u32::MAX),
                    language: pair.language.clone(),
                    source: said.snippet.origin.clone(),
                    prompt_hash: said.prompt_hash.to_owned(),
                    seed: seed.0,
                    asked: vec![said.asked.clone()],
                    review,
                    ..Provenance::of_model(info)
                });
                made.pairs.push(pair);
            }
        }
        made.gate.after = made.pairs.len() as u64;
        made
    }

    fn kept<'s>(&'s self, snippets: &'s [Snippet]) -> impl Iterator<Item = Said<'s>> {
        let kept = self.annotations.iter().zip(&self.asked).zip(&self.prompt_hashes);
        snippets.iter().zip(kept).filter_map(|(snippet, kept)| match kept {
            ((Some(annotation), Some(asked)), Some(prompt_hash)) => {
                Some(Said { snippet, annotation, asked, prompt_hash })
            }
            _ => None,
        })
    }
}
