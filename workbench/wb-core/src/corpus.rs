//! The three tables of retrieval: queries, documents, and which answers which.

use std::collections::{BTreeMap, HashMap};

use crate::{Error, Result};

/// A text to search with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    /// Unique among the queries.
    pub id: String,
    /// Text that is searched for.
    pub text: String,
}

/// A text to be found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Document {
    /// Unique in the corpus.
    pub id: String,
    /// Text that is searched in.
    pub text: String,
    /// A title kept apart, as BEIR has it; empty where there is none.
    pub title: String,
}

/// Documents in a fixed order, found by id.
#[derive(Debug, Clone, Default)]
pub struct Corpus {
    documents: Vec<Document>,
    position: HashMap<String, usize>,
}

impl Corpus {
    /// Takes documents as they are ordered; two equal ids are an error.
    pub fn new(documents: Vec<Document>) -> Result<Self> {
        let mut position = HashMap::with_capacity(documents.len());
        for (index, document) in documents.iter().enumerate() {
            if let Some(before) = position.insert(document.id.clone(), index) {
                return Err(Error::data(
                    format!("document {}", document.id),
                    format!("the id stands at positions {before} and {index}, expected unique ids"),
                ));
            }
        }
        Ok(Self { documents, position })
    }

    /// The documents in order.
    pub fn documents(&self) -> &[Document] {
        &self.documents
    }

    /// The position of a document.
    pub fn position(&self, id: &str) -> Option<usize> {
        self.position.get(id).copied()
    }

    /// Number of documents.
    pub fn len(&self) -> usize {
        self.documents.len()
    }

    /// True where there are no documents.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }
}

/// Relevance judgements: query id, document id, grade (0 is judged and not relevant).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Qrels {
    grades: BTreeMap<String, BTreeMap<String, f64>>,
}

impl Qrels {
    /// Sets one judgement; the later one wins.
    pub fn set(&mut self, query: impl Into<String>, document: impl Into<String>, grade: f64) {
        self.grades.entry(query.into()).or_default().insert(document.into(), grade);
    }

    /// The judgements of one query, by document id.
    pub fn of(&self, query: &str) -> Option<&BTreeMap<String, f64>> {
        self.grades.get(query)
    }

    /// Every query with its judgements, by query id.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &BTreeMap<String, f64>)> {
        self.grades.iter()
    }

    /// Number of queries that have judgements.
    pub fn len(&self) -> usize {
        self.grades.len()
    }

    /// True where there are no judgements.
    pub fn is_empty(&self) -> bool {
        self.grades.is_empty()
    }
}
