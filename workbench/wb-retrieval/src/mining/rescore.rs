//! Scores of another model for pairs of query and document, out of a file: JSON lines of `query`, `document`, `score`.
//!
//! Whatever scored the candidates, the file carries its scores to the miner.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader},
    path::Path,
};

use serde::Deserialize;

use super::{MiningTexts, RescoreRequest, Rescorer};
use wb_core::remote;

use crate::{Error, Result};

/// Scores by query and document.
#[derive(Debug, Default)]
pub struct Rescored {
    scores: HashMap<(u32, u32), f32>,
    /// Lines whose query or document is none of these texts'.
    pub unknown: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    query: String,
    document: String,
    score: f32,
    // What the list of candidates has beside them may stay there.
    #[serde(default, rename = "rank")]
    _rank: serde::de::IgnoredAny,
    #[serde(default, rename = "query_text")]
    _query_text: serde::de::IgnoredAny,
    #[serde(default, rename = "document_text")]
    _document_text: serde::de::IgnoredAny,
}

impl Rescored {
    /// Reads a file. A query is named by the id of any of its pairs, a document by its own id or that of a pair whose
    /// positive it is. Two different scores for the same two are an error.
    pub fn read(path: &Path, texts: &MiningTexts<'_>) -> Result<Self> {
        let pairs = texts.pairs().iter().enumerate();
        let mut queries = HashMap::with_capacity(texts.pairs().len());
        let mut documents = HashMap::with_capacity(texts.documents().len());
        for (at, pair) in pairs {
            queries.insert(pair.id.as_str(), texts.query_of(at) as u32);
            documents.insert(pair.id.as_str(), texts.positive_of(at));
        }
        documents.extend(texts.document_ids().iter().zip(0u32..).map(|(id, at)| (*id, at)));
        let mut read = Self::default();
        let file = remote::open(path)?;
        for (line, number) in BufReader::new(file).lines().zip(1..) {
            let line = line.map_err(Error::io("read", path))?;
            if line.trim().is_empty() {
                continue;
            }
            let line: Line = serde_json::from_str(&line).map_err(|source| {
                Error::at(path, number, "expected an object with `query`, `document` and `score`").with_cause(source)
            })?;
            if !line.score.is_finite() {
                return Err(Error::at(path, number, format!("score {}, expected a finite number", line.score)));
            }
            let (Some(query), Some(document)) =
                (queries.get(line.query.as_str()), documents.get(line.document.as_str()))
            else {
                read.unknown += 1;
                continue;
            };
            if let Some(before) = read.scores.insert((*query, *document), line.score)
                && before != line.score
            {
                let message = format!(
                    "query `{}`, document `{}` has score {} here and {before} above",
                    line.query, line.document, line.score
                );
                return Err(Error::at(path, number, message));
            }
        }
        Ok(read)
    }

    /// Number of scores.
    pub fn len(&self) -> usize {
        self.scores.len()
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.scores.is_empty()
    }

    /// The scores of a query and some documents.
    pub fn scores(&self, query: usize, documents: &[u32]) -> Vec<Option<f32>> {
        documents.iter().map(|document| self.scores.get(&(query as u32, *document)).copied()).collect()
    }
}

impl Rescorer for Rescored {
    fn rescore(
        &self,
        _: &MiningTexts<'_>,
        asked: &[RescoreRequest],
        _: &mut dyn FnMut(usize),
    ) -> Result<Vec<Vec<Option<f32>>>> {
        Ok(asked.iter().map(|asked| self.scores(asked.query, &asked.documents)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mining::texts::tests::pair;

    #[test]
    fn scores_are_found_by_ids_and_bad_lines_are_named() {
        let pairs = [pair("a", "x", "1"), pair("b", "y", "2"), pair("c", "x", "2")];
        let texts = MiningTexts::new(&pairs, &[]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scores.jsonl");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Rescored::read(&path, &texts).map_err(|error| error.to_string().replace(&path.display().to_string(), "F"))
        };
        // `c` is another pair of the first query, and its positive is the second document.
        let found = read(
            "{\"query\":\"c\",\"document\":\"a\",\"score\":0.5,\"rank\":3}\n\n{\"query\":\"a\",\"document\":\"c\",\"score\":-2}\n{\"query\":\"z\",\"document\":\"a\",\"score\":1}\n",
        )
        .unwrap();
        assert_eq!(found.scores(0, &[0, 1]), [Some(0.5), Some(-2.0)]);
        assert_eq!(found.scores(1, &[0, 1]), [None, None]);
        assert_eq!((found.len(), found.unknown), (2, 1));
        let twice =
            "{\"query\":\"a\",\"document\":\"a\",\"score\":1}\n{\"query\":\"c\",\"document\":\"a\",\"score\":2}\n";
        assert_eq!(read(twice).unwrap_err(), "F:2: query `c`, document `a` has score 2 here and 1 above");
        assert_eq!(
            read("{\"query\":\"a\"}\n").unwrap_err(),
            "F:1: expected an object with `query`, `document` and `score`"
        );
        assert!(read("{\"query\":\"a\",\"document\":\"a\",\"score\":1e99}\n").is_err());
    }
}
