//! An arm of the experiment: what one contestant finds in one set of texts.

use std::collections::BTreeMap;

use wb_core::{Progress, Side};
use wb_retrieval::top_k::top_k;

use super::AbQuery;
use crate::{
    Result,
    contestant::{BenchContestant, Chosen},
    texts::BenchmarkTexts,
};

/// One way to embed, with what it found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AbArm {
    /// Name of the arm: `code`, `annotation`.
    pub name: String,
    /// Ids of the documents found, best first, by query id.
    pub rankings: BTreeMap<String, Vec<String>>,
}

/// A corpus as an arm sees it: documents of one or more texts.
#[derive(Debug, Clone, Copy)]
pub struct ArmTexts<'a> {
    /// Ids of the documents.
    pub ids: &'a [String],
    /// Texts that are embedded.
    pub texts: &'a [String],
    /// The document of each text, as a position in `ids`; of several texts of one document the best one counts.
    pub documents: &'a [usize],
}

impl AbArm {
    /// Number of results that are looked at.
    pub const DEPTH: usize = 5;

    /// Searches the texts with all queries. Equal scores are ordered by position; what a contestant does not find at
    /// all (BM25: no word in common) is not in the ranking.
    pub fn search(
        name: impl Into<String>,
        contestant: &BenchContestant<'_>,
        queries: &[AbQuery],
        corpus: ArmTexts<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self> {
        let name = name.into();
        let wrong = |message: String| wb_core::Error::data(format!("arm `{name}`"), message);
        if corpus.texts.len() != corpus.documents.len() {
            let (texts, of) = (corpus.texts.len(), corpus.documents.len());
            return Err(wrong(format!("{texts} texts of {of} documents, expected one document for each text")));
        }
        if let Some(document) = corpus.documents.iter().find(|document| **document >= corpus.ids.len()) {
            return Err(wrong(format!("a text of document {document}, there are {}", corpus.ids.len())));
        }
        let mut texts = BenchmarkTexts::default();
        let asked: Vec<u32> = queries.iter().map(|query| texts.queries.number(&query.text)).collect();
        let searched: Vec<u32> = corpus.texts.iter().map(|text| texts.documents.number(text)).collect();
        let scorer = contestant.prepare(&texts, progress)?;
        let floor = scorer.floor();
        let found = |_: usize, scores: &[f32]| {
            let mut best = vec![f32::NEG_INFINITY; corpus.ids.len()];
            for (score, document) in scores.iter().zip(corpus.documents) {
                best[*document] = best[*document].max(*score);
            }
            let hits = top_k(&best, Self::DEPTH).into_iter();
            let is_found = |score: f32| score > floor.unwrap_or(f32::NEG_INFINITY);
            hits.filter(|hit| is_found(hit.score)).map(|hit| corpus.ids[hit.document].clone()).collect::<Vec<_>>()
        };
        let queries_side = Chosen { side: Side::Query, numbers: &asked };
        let rankings = scorer.scores(queries_side, Chosen { side: Side::Document, numbers: &searched }, found)?;
        let rankings = queries.iter().map(|query| query.id.clone()).zip(rankings).collect();
        Ok(Self { name, rankings })
    }
}

#[cfg(test)]
mod tests {
    use wb_retrieval::Bm25Config;

    use super::*;

    #[test]
    fn the_better_of_two_texts_counts_and_nothing_is_found_twice() {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let query = |id: &str, text: &str| AbQuery { id: id.into(), text: text.into(), ..AbQuery::default() };
        let queries = [query("q", "oversample with smote"), query("r", "nothing like it")];
        let ids = owned(&["a", "b", "c"]);
        let texts = owned(&["x.fit(y)", "oversample the rare class with smote", "smote smote", "plot(z)"]);
        let corpus = ArmTexts { ids: &ids, texts: &texts, documents: &[0, 0, 1, 2] };
        let bm25 = BenchContestant::Bm25(Bm25Config::default());
        let arm = AbArm::search("both", &bm25, &queries, corpus, &mut |_| ()).unwrap();
        assert_eq!(arm.rankings["q"], ["a", "b"]);
        assert_eq!(arm.rankings["r"], [""; 0]);
        let code = ArmTexts { texts: &texts[..1], documents: &[0], ..corpus };
        assert_eq!(AbArm::search("code", &bm25, &queries, code, &mut |_| ()).unwrap().rankings["q"], [""; 0]);
        let wrong = ArmTexts { documents: &[0, 0, 1, 3], ..corpus };
        assert!(AbArm::search("both", &bm25, &queries, wrong, &mut |_| ()).is_err());
        let short = ArmTexts { documents: &[0], ..corpus };
        let error = AbArm::search("both", &bm25, &queries, short, &mut |_| ()).unwrap_err().to_string();
        assert_eq!(error, "arm `both`: 4 texts of 1 documents, expected one document for each text");
    }
}
