//! A separate corpus: documents that may be negatives beside the pairs' positives.

use std::collections::HashMap;

use anyhow::Result;
use wb_core::{Document, Error, Pair};
use wb_retrieval::{
    beir,
    mining::MiningConfig,
    retriever::{Titles, document_texts},
};

/// Reads the corpus of a config; none where it names none. Titles are joined with their texts.
///
/// Documents and pairs are known by their ids in the same files, so an id that means two texts is refused.
pub fn read(config: &MiningConfig, pairs: &[Pair]) -> Result<Vec<Document>> {
    let Some(path) = &config.corpus else { return Ok(Vec::new()) };
    let corpus = beir::read_corpus(path)?;
    let texts = document_texts(&corpus, Titles::Join);
    let documents = corpus.documents().iter().zip(texts);
    let documents: Vec<Document> =
        documents.map(|(document, text)| Document { id: document.id.clone(), text, title: String::new() }).collect();
    let positives: HashMap<&str, &str> = pairs.iter().map(|pair| (pair.id.as_str(), pair.positive.as_str())).collect();
    let two =
        documents.iter().find(|document| positives.get(document.id.as_str()).is_some_and(|p| *p != document.text));
    match two {
        None => Ok(documents),
        Some(document) => {
            let message = format!("the id `{}` is that of a training pair with another positive", document.id);
            Err(Error::data(path.display().to_string(), message)
                .with_hint("put something before the corpus's ids, as in `corpus-1`")
                .into())
        }
    }
}
