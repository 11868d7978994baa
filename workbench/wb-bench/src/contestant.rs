//! The contestants of a benchmark: an encoder, BM25, or the sum of both, each of which scores texts for texts.
//!
//! Every distinct text is embedded once, by [`BenchContestant::prepare`]; all protocols then read the same vectors.
//! Similarity is the cosine: vectors are divided by their length, then multiplied, in `f32`. (`csn-1000` computes its
//! own distances in `f64`, from the vectors as the encoder gave them.) An encoder of one vector a token is compared by
//! MaxSim: the sum, over the tokens of the text that searches, of the greatest cosine with a token of the other.

use std::{borrow::Cow, sync::Arc};

use ndarray::Array2;
use rayon::prelude::*;
use wb_core::{
    Embeddings, Encoder, Interaction, Progress, Side, fingerprint::Fingerprint, records::outcome::ContestantRole,
};
use wb_retrieval::{
    Bm25Config, FusionConfig, Retriever, inner_product::inner_products, maxsim::max_sim, retriever::block_of,
};

use crate::{Error, Result, reranking::Reranking, texts::BenchmarkTexts};

/// A way to score documents for queries.
pub enum BenchContestant<'a> {
    /// One vector a text, or one a token.
    Encoder(&'a dyn Encoder),
    /// Words. Each pool is an index of its own, so that a protocol's word statistics are those of its pool.
    Bm25(Bm25Config),
}

impl BenchContestant<'_> {
    /// A short name for tables and files.
    pub fn name(&self) -> String {
        match self {
            Self::Encoder(encoder) => encoder.name(),
            Self::Bm25(_) => "bm25".to_owned(),
        }
    }

    /// Its role, as far as its kind decides it: an encoder of a run is told by [`Scorer::known_as`].
    pub fn role(&self) -> ContestantRole {
        match self {
            Self::Encoder(_) => ContestantRole::Other,
            Self::Bm25(_) => ContestantRole::Bm25,
        }
    }

    /// Everything that decides the scores but the data.
    pub fn fingerprint(&self) -> Fingerprint {
        match self {
            Self::Encoder(encoder) => encoder.fingerprint(),
            Self::Bm25(config) => Fingerprint::of_json(&("bm25", config)),
        }
    }

    /// Embeds every text once.
    pub fn prepare<'t>(&self, texts: &'t BenchmarkTexts, progress: &mut dyn FnMut(Progress)) -> Result<Scorer<'t>> {
        let (bm25, embedded) = match self {
            Self::Bm25(config) => (Some(*config), None),
            Self::Encoder(encoder) => {
                let embedded = EncodedTexts {
                    interaction: encoder.interaction(),
                    queries: encode(*encoder, texts, Side::Query, progress)?,
                    documents: encode(*encoder, texts, Side::Document, progress)?,
                };
                (None, Some(Arc::new(embedded)))
            }
        };
        Ok(Scorer {
            name: self.name(),
            role: self.role(),
            base: None,
            fingerprint: self.fingerprint(),
            texts,
            bm25,
            embedded,
            fusion: FusionConfig::default(),
            reranking: None,
        })
    }
}

/// The embeddings of all texts as the encoder gave them, text `i` for text `i` of a side.
pub struct EncodedTexts {
    interaction: Interaction,
    queries: Embeddings,
    documents: Embeddings,
}

impl EncodedTexts {
    /// The embeddings of one side.
    pub fn side(&self, side: Side) -> &Embeddings {
        match side {
            Side::Query => &self.queries,
            Side::Document => &self.documents,
        }
    }

    /// Some texts of a side as they are compared: one vector a text divided by its length, or as many as there are,
    /// which are not copied where all are asked for in order.
    fn some(&self, side: Side, numbers: &[u32]) -> Cow<'_, Embeddings> {
        let all = self.side(side);
        let chosen = || all.select(numbers.iter().map(|number| *number as usize));
        let in_order = || numbers.len() == all.texts() && numbers.iter().zip(0..).all(|(number, at)| *number == at);
        match self.interaction {
            Interaction::InnerProduct => Cow::Owned(chosen().normalized()),
            Interaction::MaxSim if in_order() => Cow::Borrowed(all),
            Interaction::MaxSim => Cow::Owned(chosen()),
        }
    }

    /// The score of every source with every target, `[sources, targets]`.
    fn scores(&self, sources: &Embeddings, targets: &Embeddings) -> Result<Array2<f32>> {
        match self.interaction {
            Interaction::InnerProduct => Ok(inner_products(sources.view(), targets.view())),
            Interaction::MaxSim => Ok(max_sim(sources, targets)?),
        }
    }
}

fn encode(
    encoder: &dyn Encoder,
    texts: &BenchmarkTexts,
    side: Side,
    progress: &mut dyn FnMut(Progress),
) -> Result<Embeddings> {
    let list = texts.side(side).as_strs();
    if list.is_empty() {
        return Ok(Embeddings::dense(Array2::zeros((0, encoder.dim()))));
    }
    let what = side.plural();
    let embeddings = encoder
        .encode(&list, side, progress)
        .map_err(|source| Error::failed(format!("encoder {} failed on {what}", encoder.name())).with_cause(source))?;
    let wrong = |message: String| Error::data(format!("encoder {}", encoder.name()), message);
    if embeddings.texts() != list.len() {
        return Err(wrong(format!("{} vectors for {} {what}, expected one each", embeddings.texts(), list.len())));
    }
    let not_finite = |text: &usize| embeddings.of(*text).iter().any(|x| !x.is_finite());
    if let Some(text) = (0..list.len()).into_par_iter().find_first(not_finite) {
        let begin: String = list[text].chars().take(60).collect();
        return Err(wrong(format!("the vector of {what} {text} ({begin:?}) holds a number that is not finite")));
    }
    Ok(embeddings)
}

/// Some texts of one side, by their numbers.
#[derive(Debug, Clone, Copy)]
pub struct Chosen<'a> {
    /// Side whose texts they are.
    pub side: Side,
    /// Their numbers.
    pub numbers: &'a [u32],
}

/// A contestant with all texts of a benchmark.
#[derive(Clone)]
pub struct Scorer<'t> {
    name: String,
    role: ContestantRole,
    base: Option<String>,
    fingerprint: Fingerprint,
    texts: &'t BenchmarkTexts,
    bm25: Option<Bm25Config>,
    embedded: Option<Arc<EncodedTexts>>,
    fusion: FusionConfig,
    reranking: Option<Reranking<'t>>,
}

/// Number of sources that are scored at once, at most.
const BLOCK: usize = 512;

impl<'t> Scorer<'t> {
    /// The contestant's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The contestant's role.
    pub fn role(&self) -> ContestantRole {
        self.role
    }

    /// The pretrained encoder that its training began with.
    pub fn base(&self) -> Option<&str> {
        self.base.as_deref()
    }

    /// Sets the role that an encoder has in a run, and the pretrained encoder that it began with.
    #[must_use]
    pub fn known_as(self, role: ContestantRole, base: Option<String>) -> Self {
        Self { role, base, ..self }
    }

    /// The contestant's fingerprint.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    /// All texts.
    pub fn texts(&self) -> &'t BenchmarkTexts {
        self.texts
    }

    /// Joins these vectors with BM25, without embedding anything again.
    #[must_use]
    pub fn with_bm25(&self, bm25: Bm25Config, fusion: FusionConfig) -> Self {
        Self {
            name: format!("bm25+{}", self.name),
            role: ContestantRole::Fused,
            fingerprint: Fingerprint::of_json(&("fusion", &bm25, self.fingerprint.as_str(), &fusion)),
            bm25: Some(bm25),
            fusion,
            reranking: None,
            ..self.clone()
        }
    }

    /// Has the first documents of each query ordered by a cross-encoder, in protocols in which queries rank a pool.
    #[must_use]
    pub fn with_reranker(&self, reranking: Reranking<'t>) -> Self {
        let of_reranker = reranking.reranker.fingerprint();
        let all = ("reranked", self.fingerprint.as_str(), of_reranker.as_str(), reranking.top);
        Self {
            name: format!("{} + {}", self.name, reranking.reranker.name()),
            role: ContestantRole::Other,
            fingerprint: Fingerprint::of_json(&all),
            reranking: Some(reranking),
            ..self.clone()
        }
    }

    /// The cross-encoder that orders each query's first documents, if one does.
    pub fn reranking(&self) -> Option<Reranking<'t>> {
        self.reranking
    }

    /// Similarity that embeddings are compared by, where the contestant is an encoder and nothing else.
    pub fn similarity(&self) -> Option<&'static str> {
        match (&self.bm25, self.interaction()?) {
            (None, Interaction::InnerProduct) => Some("cosine"),
            (None, Interaction::MaxSim) => Some("maxsim"),
            (Some(_), _) => None,
        }
    }

    fn interaction(&self) -> Option<Interaction> {
        self.embedded.as_ref().map(|embedded| embedded.interaction)
    }

    /// The vectors, where the contestant is an encoder of one vector a text and nothing else.
    pub fn vectors(&self) -> Option<&EncodedTexts> {
        let embedded = self.embedded.as_deref().filter(|_| self.bm25.is_none())?;
        (embedded.interaction == Interaction::InnerProduct).then_some(embedded)
    }

    /// The vectors of all queries and all documents, one or several a text, where the contestant is an encoder and nothing
    /// else.
    pub fn embeddings(&self) -> Option<[&Embeddings; 2]> {
        let embedded = self.embedded.as_deref().filter(|_| self.bm25.is_none())?;
        Some([&embedded.queries, &embedded.documents])
    }

    /// The token vectors of all queries and all documents, where the contestant is an encoder of one vector a token.
    pub fn token_vectors(&self) -> Option<(&Embeddings, &Embeddings)> {
        let embedded = self.embedded.as_deref()?;
        (embedded.interaction == Interaction::MaxSim).then_some((&embedded.queries, &embedded.documents))
    }

    /// Scores at or under this mean that a document was not found at all (BM25: no word in common).
    pub fn floor(&self) -> Option<f32> {
        (self.bm25.is_some() && self.embedded.is_none()).then_some(0.0)
    }

    /// Gives `visit` the position of each source and its scores for all targets; results come in source order.
    ///
    /// A protocol that searches texts with code gives documents as sources and queries as targets.
    pub fn scores<T: Send>(
        &self,
        sources: Chosen<'_>,
        targets: Chosen<'_>,
        visit: impl Fn(usize, &[f32]) -> T + Sync,
    ) -> Result<Vec<T>> {
        let target_texts: Vec<&str> = targets.numbers.iter().map(|number| self.text(targets.side, *number)).collect();
        let words = self.bm25.map(|config| config.init(&target_texts, &mut |_| ())).transpose()?;
        let target_vectors = self.embedded.as_ref().map(|embedded| embedded.some(targets.side, targets.numbers));
        let mut results = Vec::with_capacity(sources.numbers.len());
        let block = block_of(targets.numbers.len()).min(BLOCK);
        for numbers in sources.numbers.chunks(block) {
            let by_words = match &words {
                Some(words) => {
                    let texts: Vec<&str> = numbers.iter().map(|number| self.text(sources.side, *number)).collect();
                    Some(words.scores(&texts, &mut |_| ())?)
                }
                None => None,
            };
            let by_vectors = match (&self.embedded, &target_vectors) {
                (Some(embedded), Some(targets)) => {
                    Some(embedded.scores(&embedded.some(sources.side, numbers), targets)?)
                }
                _ => None,
            };
            let scores = match (by_words, by_vectors) {
                (Some(words), Some(vectors)) => self.fusion.fuse(words, vectors)?,
                (Some(scores), None) | (None, Some(scores)) => scores,
                (None, None) => Array2::zeros((numbers.len(), targets.numbers.len())),
            };
            let first = results.len();
            let one = |index: usize| {
                let row = scores.row(index);
                row.as_slice().map_or_else(|| visit(first + index, &row.to_vec()), |row| visit(first + index, row))
            };
            results.par_extend((0..numbers.len()).into_par_iter().map(one));
        }
        Ok(results)
    }

    fn text(&self, side: Side, number: u32) -> &str {
        self.texts.side(side).text(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_search_in_either_direction() {
        let mut texts = BenchmarkTexts::default();
        let queries = [texts.queries.number("read a file"), texts.queries.number("open socket")];
        let documents = [texts.documents.number("def open_socket"), texts.documents.number("def read_file")];
        let scorer = BenchContestant::Bm25(Bm25Config::default()).prepare(&texts, &mut |_| ()).unwrap();
        let queries = Chosen { side: Side::Query, numbers: &queries };
        let documents = Chosen { side: Side::Document, numbers: &documents };
        let best = |_: usize, row: &[f32]| usize::from(row[1] > row[0]);
        assert_eq!(scorer.scores(queries, documents, best).unwrap(), [1, 0]);
        assert_eq!(scorer.scores(documents, queries, best).unwrap(), [1, 0]);
        assert_eq!(scorer.floor(), Some(0.0));
    }
}
