//! BM25 over words of code: the lexical baseline that a trained encoder has to beat.
//!
//! The index is tantivy's, in memory and in one segment, so a document's number is its position in the corpus.
//! The score is tantivy's too (Robertson's BM25 with `idf = ln(1 + (N − n + 0.5) / (n + 0.5))`, k1 = 1.2, b = 0.75,
//! document lengths kept in one byte as Lucene does), summed here word by word over *every* matching document:
//! ranks over a whole pool need all scores, and a document that shares no word with the query has score 0.

use std::{collections::HashMap, sync::Arc};

use ndarray::Array2;
use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tantivy::{
    Index, InvertedIndexReader, TantivyDocument, Term,
    fieldnorm::FieldNormReader,
    query::Bm25Weight,
    schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions},
    tokenizer::TokenizerManager,
};
use wb_core::{Progress, Ranking, fingerprint::Fingerprint};

use crate::{
    Result, Retriever,
    code_tokens::{CodeTokenizer, CodeTokensConfig},
    error::{lexical, too_many},
    top_k::top_k,
};

/// Rules by which words are made and counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bm25Config {
    /// Rules by which texts become words: `split`, `whole`, `stemming`.
    pub tokens: CodeTokensConfig,
    /// Count of a word that a query has several times: `each_time` as often as it stands there, or `once`.
    pub repeated: Repeated,
}

/// Count of a word that a query has several times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Repeated {
    /// Counts as often as it stands there, as a disjunction of all its words does in Lucene and tantivy.
    #[default]
    EachTime,
    /// Once.
    Once,
}

/// An index in memory. Searching is parallel over queries and does not depend on the number of threads.
pub struct Bm25 {
    config: Bm25Config,
    tokens: CodeTokenizer,
    field: Field,
    postings: Arc<InvertedIndexReader>,
    lengths: FieldNormReader,
    mean_length: f32,
    n_documents: usize,
    fingerprint: Fingerprint,
}

const TOKENIZER: &str = "code_tokens";
const WRITER_BYTES: usize = 64 << 20;
const REPORT_EVERY: usize = 1000;

impl Bm25Config {
    /// Refuses settings that make no sense. There is none that can be set wrong yet.
    pub fn validate(&self, _key: &str) -> wb_core::Result<()> {
        Ok(())
    }

    /// Indexes documents in the order given.
    pub fn init(self, documents: &[impl AsRef<str>], progress: &mut dyn FnMut(Progress)) -> Result<Bm25> {
        let limit = tantivy::TERMINATED as usize - 1;
        if documents.len() > limit {
            return Err(too_many(documents.len(), limit));
        }
        let tokens = self.tokens.init();
        let (index, field, fingerprint) = self.write(&tokens, documents, progress).map_err(lexical("build"))?;
        let searcher = index.reader().map_err(lexical("read"))?.searcher();
        let (postings, lengths) = match searcher.segment_readers() {
            [segment] => (
                segment.inverted_index(field).map_err(lexical("read"))?,
                segment.get_fieldnorms_reader(field).map_err(lexical("read"))?,
            ),
            // Without documents there is no segment.
            _ => (Arc::new(InvertedIndexReader::empty(IndexRecordOption::WithFreqs)), FieldNormReader::constant(0, 0)),
        };
        let mean_length = postings.total_num_tokens() as f32 / documents.len().max(1) as f32;
        let n_documents = documents.len();
        Ok(Bm25 { config: self, tokens, field, postings, lengths, mean_length, n_documents, fingerprint })
    }

    fn write(
        self,
        tokens: &CodeTokenizer,
        documents: &[impl AsRef<str>],
        progress: &mut dyn FnMut(Progress),
    ) -> tantivy::Result<(Index, Field, Fingerprint)> {
        let mut schema = Schema::builder();
        let indexing =
            TextFieldIndexing::default().set_tokenizer(TOKENIZER).set_index_option(IndexRecordOption::WithFreqs);
        let field = schema.add_text_field("text", TextOptions::default().set_indexing_options(indexing));
        let tokenizers = TokenizerManager::new();
        tokenizers.register(TOKENIZER, tokens.clone());
        let mut fingerprint = Fingerprint::builder();
        fingerprint.text("bm25").text(Fingerprint::of_json(&self).as_str());
        let mut writer = Index::builder()
            .schema(schema.build())
            .tokenizers(tokenizers)
            .single_segment_index_writer::<TantivyDocument>(tantivy::directory::RamDirectory::create(), WRITER_BYTES)?;
        for (position, text) in documents.iter().enumerate() {
            let mut document = TantivyDocument::default();
            document.add_text(field, text.as_ref());
            writer.add_document(document)?;
            fingerprint.text(text.as_ref());
            if position % REPORT_EVERY == 0 {
                progress(Progress::new("indexing words", position, documents.len()));
            }
        }
        progress(Progress::new("indexing words", documents.len(), documents.len()).note("merging"));
        let index = writer.finalize()?;
        progress(Progress::new("indexing words", documents.len(), documents.len()));
        Ok((index, field, fingerprint.finish()))
    }
}

impl Bm25 {
    /// The words of a query with their counts, in the order in which they first stand there.
    fn query_words(&self, tokens: &mut CodeTokenizer, query: &str) -> Vec<(String, f32)> {
        let mut words: Vec<(String, f32)> = Vec::new();
        let mut position: HashMap<String, usize> = HashMap::new();
        tokens.each_word(query, |word| match (position.get(word), self.config.repeated) {
            (None, _) => {
                position.insert(word.to_owned(), words.len());
                words.push((word.to_owned(), 1.0));
            }
            (Some(at), Repeated::EachTime) => words[*at].1 += 1.0,
            (Some(_), Repeated::Once) => {}
        });
        words
    }

    /// Adds the score of every matching document to `scores`, which must be zeros, one for each document.
    fn add_scores(&self, tokens: &mut CodeTokenizer, query: &str, scores: &mut [f32]) -> std::io::Result<()> {
        for (word, count) in self.query_words(tokens, query) {
            let Some(info) = self.postings.get_term_info(&Term::from_field_text(self.field, &word))? else { continue };
            let weight = Bm25Weight::for_one_term_without_explain(
                u64::from(info.doc_freq),
                self.n_documents as u64,
                self.mean_length,
            )
            .boost_by(count);
            let mut block = self.postings.read_block_postings_from_terminfo(&info, IndexRecordOption::WithFreqs)?;
            while block.block_len() > 0 {
                for (&document, &frequency) in block.docs().iter().zip(block.freqs()) {
                    scores[document as usize] += weight.score(self.lengths.fieldnorm_id(document), frequency);
                }
                block.advance();
            }
        }
        Ok(())
    }
}

impl Retriever for Bm25 {
    fn name(&self) -> String {
        "bm25".to_owned()
    }

    fn fingerprint(&self) -> Fingerprint {
        self.fingerprint.clone()
    }

    fn n_documents(&self) -> usize {
        self.n_documents
    }

    fn scores(&self, queries: &[&str], progress: &mut dyn FnMut(Progress)) -> Result<Array2<f32>> {
        let mut scores = Array2::zeros((queries.len(), self.n_documents));
        progress(Progress::new("scoring words", 0, queries.len()));
        if let (Some(all), true) = (scores.as_slice_mut(), self.n_documents > 0) {
            all.par_chunks_mut(self.n_documents)
                .zip(queries)
                .try_for_each_init(|| self.tokens.clone(), |tokens, (row, query)| self.add_scores(tokens, query, row))
                .map_err(lexical("read"))?;
        }
        progress(Progress::new("scoring words", queries.len(), queries.len()));
        Ok(scores)
    }

    fn rank(&self, queries: &[&str], k: usize, progress: &mut dyn FnMut(Progress)) -> Result<Vec<Ranking>> {
        let mut rankings = Vec::with_capacity(queries.len());
        progress(Progress::new("searching words", 0, queries.len()));
        for block in queries.chunks(REPORT_EVERY) {
            let first = rankings.len();
            let ranked: std::io::Result<Vec<Ranking>> = block
                .par_iter()
                .enumerate()
                .map_init(
                    || (self.tokens.clone(), vec![0f32; self.n_documents]),
                    |(tokens, scores), (index, query)| {
                        scores.fill(0.0);
                        self.add_scores(tokens, query, scores)?;
                        let mut hits = top_k(scores, k);
                        hits.truncate(hits.partition_point(|hit| hit.score > 0.0));
                        Ok(Ranking { query: first + index, hits })
                    },
                )
                .collect();
            rankings.extend(ranked.map_err(lexical("read"))?);
            progress(Progress::new("searching words", rankings.len(), queries.len()));
        }
        Ok(rankings)
    }
}

#[cfg(test)]
mod tests {
    use wb_core::progress::silent;

    use super::*;

    fn index(documents: &[&str]) -> Bm25 {
        Bm25Config::default().init(documents, &mut silent).unwrap()
    }

    #[test]
    fn scores_are_those_of_the_formula() {
        let bm25 = index(&["read file", "read read line", "write socket now"]);
        let scores = bm25.scores(&["read", "file read", "read read", "nothing"], &mut silent).unwrap();
        // N 3, n(read) 2, n(file) 1, lengths 2 3 3, mean 8/3.
        let idf = |n: f64| (1.0 + (3.0 - n + 0.5) / (n + 0.5)).ln();
        let weight = |tf: f64, length: f64| 2.2 * tf / (tf + 1.2 * (0.25 + 0.75 * length / (8.0 / 3.0)));
        let expected = [
            [idf(2.0) * weight(1.0, 2.0), idf(2.0) * weight(2.0, 3.0), 0.0],
            [(idf(2.0) + idf(1.0)) * weight(1.0, 2.0), idf(2.0) * weight(2.0, 3.0), 0.0],
            [2.0 * idf(2.0) * weight(1.0, 2.0), 2.0 * idf(2.0) * weight(2.0, 3.0), 0.0],
            [0.0; 3],
        ];
        for (row, wanted) in scores.rows().into_iter().zip(expected) {
            for (score, wanted) in row.iter().zip(wanted) {
                assert!((f64::from(*score) - wanted).abs() < 1e-5, "{score} {wanted}");
            }
        }
    }

    #[test]
    fn rankings_hold_matching_documents_best_first_and_ties_by_position() {
        let bm25 = index(&["open socket", "readFile", "close it", "read_file", "file"]);
        let rankings = bm25.rank(&["ReadFile", "", "zebra"], 10, &mut silent).unwrap();
        let positions: Vec<usize> = rankings[0].hits.iter().map(|hit| hit.document).collect();
        assert_eq!(positions, [1, 3, 4]);
        assert_eq!(rankings[0].hits[0].score, rankings[0].hits[1].score);
        assert!(rankings[1].hits.is_empty() && rankings[2].hits.is_empty());
        assert_eq!(bm25.rank(&["read file"], 1, &mut silent).unwrap()[0].hits.len(), 1);
    }

    #[test]
    fn nothing_in_a_query_is_syntax() {
        let bm25 = index(&["a:b AND (c", "quotes \" here"]);
        for query in ["field:x AND (", "\"", "+-!(){}[]^~*?:\\/", "c\" OR *"] {
            bm25.scores(&[query], &mut silent).unwrap();
        }
        assert_eq!(bm25.rank(&["AND ("], 5, &mut silent).unwrap()[0].hits[0].document, 0);
    }

    #[test]
    fn empty_corpora_and_empty_documents_are_fine() {
        let nothing = index(&[]);
        assert_eq!(nothing.scores(&["a"], &mut silent).unwrap().dim(), (1, 0));
        assert!(nothing.rank(&["a"], 3, &mut silent).unwrap()[0].hits.is_empty());
        let holes = index(&["", "word", ""]);
        assert_eq!(holes.rank(&["word"], 3, &mut silent).unwrap()[0].hits[0].document, 1);
        assert!(index(&["", ""]).rank(&["word"], 3, &mut silent).unwrap()[0].hits.is_empty());
    }

    #[test]
    fn more_documents_than_one_block_keep_their_positions() {
        let documents: Vec<String> = (0..1000).map(|i| format!("common word{i} {}", "pad ".repeat(i % 7))).collect();
        let bm25 = Bm25Config::default().init(&documents, &mut silent).unwrap();
        let rankings = bm25.rank(&["common 637"], 1000, &mut silent).unwrap();
        assert_eq!(rankings[0].hits.len(), 1000);
        assert_eq!(rankings[0].hits[0].document, 637);
        let scores = bm25.scores(&["common 637"], &mut silent).unwrap();
        for hit in &rankings[0].hits {
            assert_eq!(hit.score, scores[[0, hit.document]]);
        }
    }

    #[test]
    fn the_fingerprint_sees_documents_and_settings() {
        let one = index(&["a", "b"]).fingerprint();
        assert_eq!(one, index(&["a", "b"]).fingerprint());
        assert_ne!(one, index(&["b", "a"]).fingerprint());
        let once = Bm25Config { repeated: Repeated::Once, ..Bm25Config::default() };
        assert_ne!(one, once.init(&["a", "b"], &mut silent).unwrap().fingerprint());
    }
}
