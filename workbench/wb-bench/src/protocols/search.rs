//! `search-docstring`, `search-commit`, `search-symbol` and `search-questions`: a repository asked for what was made of it.
//!
//! Every unit of the repository is ranked by `wb search` as it ships (words, names, paths, files), and an encoder adds its
//! vectors to that ranking; BM25 as a contestant stands for the same ranking without vectors. A documented function is
//! found where a unit has one of its lines, and its documentation was taken out before; a commit where a unit is of one of
//! the files that it changed; a name where a unit has the line that defines it. Ranks beyond 60 count as not found.

use std::{collections::HashMap, sync::Arc};

use wb_core::{
    records::outcome::{ProtocolScore, QueryRank},
    statistics::mean,
};
use wb_search::{
    CodeIndex, RankingWeights, UnitVectors, VectorEncoder,
    sets::{LoadedSet, Measured, QuestionValues, measure},
    vectors::of_text,
};

use super::protocol::{Context, Protocol, ProtocolNumbers};
use crate::{Error, Result, contestant::Scorer};

/// A kind of question.
#[derive(Debug, Clone, Copy)]
pub struct AskedKind {
    /// Protocol.
    pub id: &'static str,
    /// Kinds of the set's questions that belong to it.
    categories: &'static [&'static str],
    description: &'static str,
    /// Needs of a repository that has no such question.
    pub needs: &'static str,
}

/// Kinds of questions, the one that a verdict is about first: names are found by every ranking, and say little.
pub const ASKED: [AskedKind; 4] = [
    AskedKind {
        id: "search-questions",
        categories: &["docstring", "commit"],
        description: "units found by documentation and by the first lines of commits",
        needs: "it needs documented functions or commits",
    },
    AskedKind {
        id: "search-docstring",
        categories: &["docstring"],
        description: "functions found by their documentation, which is not there to be read",
        needs: "it needs functions with at least four words of documentation",
    },
    AskedKind {
        id: "search-commit",
        categories: &["commit"],
        description: "files found by the first line of the commit that changed them, three at most",
        needs: "it needs a git history, and commits of three files at most",
    },
    AskedKind {
        id: "search-symbol",
        categories: &["symbol"],
        description: "definitions found by names that are defined once",
        needs: "it needs names that are defined once",
    },
];

/// A repository with the questions about it.
#[derive(Debug, Clone)]
pub struct RepositorySearch {
    /// The questions.
    pub set: LoadedSet,
    /// The repository, without what is asked for.
    pub index: CodeIndex,
    /// Units whose texts could be read, by position, with the number of their text.
    pub documents: Vec<(usize, u32)>,
    /// Texts of the questions with their numbers.
    pub questions: HashMap<String, u32>,
}

/// The questions of one kind.
#[derive(Debug, Clone)]
pub struct SearchProtocol {
    /// The kind.
    pub kind: AskedKind,
    /// The repository, which all kinds share.
    pub asked: Arc<RepositorySearch>,
}

impl RepositorySearch {
    /// Number of questions of a kind.
    pub fn count(&self, kind: AskedKind) -> usize {
        self.set.questions.iter().filter(|one| kind.categories.contains(&one.category.as_str())).count()
    }

    /// Gives units and questions the vectors of a contestant, where it has some.
    fn with_vectors(mut self, scorer: &Scorer<'_>, weights: &RankingWeights) -> Result<Self> {
        let Some([queries, documents]) = scorer.embeddings() else {
            return match scorer.floor().is_some() {
                true => Ok(self),
                false => Err(Error::failed(format!(
                    "{} cannot be measured by `search`, which takes encoders, and bm25 for words alone",
                    scorer.name()
                ))
                .with_hint("bench.contestants=[bm25, untrained, trained]")),
            };
        };
        let (queries, documents) = (queries.clone().normalized(), documents.clone().normalized());
        let dim = documents.dim();
        let (opens, fingerprint) = (scorer.name().to_owned(), scorer.fingerprint().clone());
        let made_by = VectorEncoder { opens, fingerprint, dim, stamp: String::new() };
        let mut vectors = UnitVectors::empty(made_by);
        for (unit, text) in &self.documents {
            vectors.push(self.index.units()[*unit].key, &of_text(&documents, *text as usize));
        }
        self.index.set_vectors(vectors);
        let of_text = |text: &str| {
            let number = self.questions.get(text);
            let number = number.ok_or_else(|| Error::data("search", format!("{text:?} was not embedded")))?;
            Ok(of_text(&queries, *number as usize))
        };
        self.set.set_vectors(&of_text, weights)?;
        Ok(self)
    }
}

impl Protocol for SearchProtocol {
    fn id(&self) -> &str {
        self.kind.id
    }

    fn title(&self) -> String {
        format!("{} {}", self.kind.id, self.asked.set.repositories[0].name)
    }

    fn measure(&self, scorer: &Scorer<'_>, context: Context) -> Result<ProtocolNumbers> {
        let weights = RankingWeights::shipped()?;
        let mut asked = RepositorySearch::clone(&self.asked);
        asked.set.questions.retain(|one| self.kind.categories.contains(&one.category.as_str()));
        let asked = asked.with_vectors(scorer, &weights)?;
        let measured = measure(&asked.set, std::slice::from_ref(&asked.index), &weights, scorer.name())?;
        let ranks = ranks(&measured);
        let of_metric = |(metric, worth): (&str, &dyn Fn(u64) -> f64)| {
            let of_query = |(id, rank): &(String, u64)| QueryRank { id: id.clone(), rank: *rank, value: worth(*rank) };
            let queries: Vec<QueryRank> = ranks.iter().map(of_query).collect();
            let values: Vec<f64> = queries.iter().map(|query| query.value).collect();
            let value = mean(&values);
            ProtocolScore {
                id: self.kind.id.to_owned(),
                description: format!(
                    "{}, in the ranking of wb search; BM25 is that ranking without vectors",
                    self.kind.description
                ),
                language: "all".to_owned(),
                split: self.asked.set.repositories[0].name.clone(),
                pool: asked.index.units().len() as u64,
                n_queries: queries.len() as u64,
                metric: metric.to_owned(),
                value,
                interval: context.interval(&values),
                // No two units share a place.
                tie_best: value,
                tie_expected: value,
                tie_worst: value,
                deduplicated: None,
                queries,
            }
        };
        let within = |k: u64| move |rank: u64| f64::from(u8::from((1..=k).contains(&rank)));
        let reciprocal = |rank: u64| if rank == 0 { 0.0 } else { 1.0 / rank as f64 };
        let metrics: [(&str, &dyn Fn(u64) -> f64); 4] =
            [("mrr", &reciprocal), ("recall@1", &within(1)), ("recall@5", &within(5)), ("recall@10", &within(10))];
        Ok(ProtocolNumbers { scores: metrics.into_iter().map(of_metric).collect(), ..ProtocolNumbers::default() })
    }
}

/// Each question's rank; 0 where the answer was not found.
fn ranks(measured: &Measured) -> Vec<(String, u64)> {
    let rank = |reciprocal: f64| if reciprocal > 0.0 { (1.0 / reciprocal).round() as u64 } else { 0 };
    let of_question = |question: &QuestionValues| {
        let reciprocal = question.values.get(&format!("{}_mrr", question.category)).copied().unwrap_or_default();
        (question.id.clone(), rank(reciprocal))
    };
    measured.questions.iter().map(of_question).collect()
}
