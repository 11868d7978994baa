//! The texts of a mining: anchors and documents without repeats, who belongs to whom, and what may be nobody's
//! negative.
//!
//! Pairs with the same anchor are one query with several positives. The documents are the corpus and all positives,
//! each text once, in the order in which they first stand there: sentence-transformers' order, and so its positions.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher},
};

use wb_core::{Document, Error, Pair};

use crate::{Result, error::too_many};

/// Texts of pairs and of a corpus, by reference.
#[derive(Debug)]
pub struct MiningTexts<'a> {
    pairs: &'a [Pair],
    queries: Vec<&'a str>,
    documents: Vec<&'a str>,
    document_ids: Vec<&'a str>,
    query_of: Vec<u32>,
    positive_of: Vec<u32>,
    first_pair_of: Vec<u32>,
    positives: Vec<Vec<u32>>,
    never: Vec<Vec<u32>>,
    most_pairs: usize,
    /// Bytes of all texts that were given, repeats too: they are in memory.
    text_bytes: usize,
}

impl<'a> MiningTexts<'a> {
    /// Takes pairs and, before their positives, the documents of a separate corpus.
    pub fn new(pairs: &'a [Pair], corpus: &'a [Document]) -> Result<Self> {
        let limit = u32::MAX as usize;
        if pairs.len() + corpus.len() > limit {
            return Err(too_many(pairs.len() + corpus.len(), limit));
        }
        let mut documents = Distinct::default();
        let mut document_ids = Vec::new();
        let mut text_bytes = 0;
        for document in corpus {
            text_bytes += document.text.len();
            if documents.add(&document.text).1 {
                document_ids.push(document.id.as_str());
            }
        }
        let mut queries = Distinct::default();
        let (mut query_of, mut positive_of) = (Vec::with_capacity(pairs.len()), Vec::with_capacity(pairs.len()));
        let (mut positives, mut n_pairs): (Vec<Vec<u32>>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut first_pair_of = Vec::new();
        for (at, pair) in pairs.iter().enumerate() {
            if pair.is_text() {
                let message = "is a text without a label, and negatives are mined for pairs";
                return Err(Error::data(format!("pair {}", pair.id), message)
                    .with_hint("mine on the pairs alone: take away the sources with `positive: null`"));
            }
            text_bytes += pair.anchor.len() + pair.positive.len();
            let (document, is_new) = documents.add(&pair.positive);
            if is_new {
                document_ids.push(pair.id.as_str());
            }
            let (query, is_new) = queries.add(&pair.anchor);
            if is_new {
                positives.push(Vec::new());
                n_pairs.push(0);
                first_pair_of.push(at as u32);
            }
            if !positives[query as usize].contains(&document) {
                positives[query as usize].push(document);
            }
            n_pairs[query as usize] += 1;
            query_of.push(query);
            positive_of.push(document);
        }
        let most_pairs = n_pairs.into_iter().max().unwrap_or(0);
        let (queries, documents) = (queries.texts, documents.texts);
        let never = never(&queries, &documents, &positives);
        Ok(Self {
            pairs,
            queries,
            documents,
            document_ids,
            query_of,
            positive_of,
            first_pair_of,
            positives,
            never,
            most_pairs,
            text_bytes,
        })
    }

    /// The pairs as they were given.
    pub fn pairs(&self) -> &'a [Pair] {
        self.pairs
    }

    /// Different anchors, in order.
    pub fn queries(&self) -> &[&'a str] {
        &self.queries
    }

    /// Different documents, in order.
    pub fn documents(&self) -> &[&'a str] {
        &self.documents
    }

    /// The id of each document: the corpus's, or that of the first pair whose positive it is.
    pub fn document_ids(&self) -> &[&'a str] {
        &self.document_ids
    }

    /// The query of a pair.
    pub fn query_of(&self, pair: usize) -> usize {
        self.query_of[pair] as usize
    }

    /// The document that is a pair's positive.
    pub fn positive_of(&self, pair: usize) -> u32 {
        self.positive_of[pair]
    }

    /// The first pair with a query's anchor.
    pub fn first_pair_of(&self, query: usize) -> usize {
        self.first_pair_of[query] as usize
    }

    /// A query's different positives, in order.
    pub fn positives(&self, query: usize) -> &[u32] {
        &self.positives[query]
    }

    /// Documents that are no query's negative because of their text, ascending: those that are the query itself, one of
    /// its positives, or a positive of the same anchor, white space folded.
    pub fn never(&self, query: usize) -> &[u32] {
        &self.never[query]
    }

    /// The greatest number of pairs with one anchor.
    pub fn most_pairs(&self) -> usize {
        self.most_pairs
    }

    /// The greatest number of documents that may not be a query's negatives.
    pub fn most_never(&self) -> usize {
        self.never.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Bytes that the texts take in memory, with what stands beside them: pairs, ids, positions.
    pub fn bytes(&self) -> u64 {
        let beside = 140 * self.documents.len() + 160 * self.queries.len() + 400 * self.pairs.len();
        (self.text_bytes + beside) as u64
    }
}

/// Texts in the order in which they first come.
#[derive(Default)]
struct Distinct<'a> {
    texts: Vec<&'a str>,
    position: HashMap<&'a str, u32>,
}

impl<'a> Distinct<'a> {
    /// The position of a text, and whether it is new.
    fn add(&mut self, text: &'a str) -> (u32, bool) {
        let next = self.texts.len() as u32;
        let position = *self.position.entry(text).or_insert(next);
        if position == next {
            self.texts.push(text);
        }
        (position, position == next)
    }
}

/// Texts found by what they are when white space is folded.
struct Folded<'a> {
    texts: &'a [&'a str],
    buckets: HashMap<u64, Vec<u32>, BuildHasherDefault<DefaultHasher>>,
}

impl<'a> Folded<'a> {
    fn new(texts: &'a [&'a str]) -> Self {
        let mut buckets: HashMap<u64, Vec<u32>, _> = HashMap::default();
        for (at, text) in texts.iter().enumerate() {
            buckets.entry(folded_hash(text)).or_default().push(at as u32);
        }
        Self { texts, buckets }
    }

    /// Positions of the texts that equal this one.
    fn equal(&self, text: &str) -> impl Iterator<Item = u32> {
        let found = self.buckets.get(&folded_hash(text)).into_iter().flatten().copied();
        found.filter(move |at| self.texts[*at as usize].split_whitespace().eq(text.split_whitespace()))
    }
}

fn folded_hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.split_whitespace().for_each(|word| word.hash(&mut hasher));
    hasher.finish()
}

fn never(queries: &[&str], documents: &[&str], positives: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let (by_document, by_query) = (Folded::new(documents), Folded::new(queries));
    let of_query = |text: &&str| {
        let mut found: Vec<u32> = by_document.equal(text).collect();
        for same_anchor in by_query.equal(text) {
            for positive in &positives[same_anchor as usize] {
                found.extend(by_document.equal(documents[*positive as usize]));
            }
        }
        found.sort_unstable();
        found.dedup();
        found.shrink_to_fit();
        found
    };
    queries.iter().map(of_query).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn pair(id: &str, anchor: &str, positive: &str) -> Pair {
        Pair { id: id.into(), anchor: anchor.into(), positive: positive.into(), ..Pair::default() }
    }

    pub(crate) fn document(id: &str, text: &str) -> Document {
        Document { id: id.into(), text: text.into(), title: String::new() }
    }

    #[test]
    fn repeats_are_one_and_keep_their_first_place() {
        let pairs = [pair("a", "x", "1"), pair("b", "y", "2"), pair("c", "x", "3"), pair("d", "x", "1")];
        let corpus = [document("k", "9"), document("l", "2"), document("m", "9")];
        let texts = MiningTexts::new(&pairs, &corpus).unwrap();
        assert_eq!(texts.queries(), ["x", "y"]);
        assert_eq!(texts.documents(), ["9", "2", "1", "3"]);
        assert_eq!(texts.document_ids(), ["k", "l", "a", "c"]);
        assert_eq!((texts.positives(0), texts.positives(1)), (&[2, 3][..], &[1][..]));
        assert_eq!((texts.query_of(3), texts.positive_of(3), texts.first_pair_of(1)), (0, 2, 1));
        assert_eq!((texts.most_pairs(), texts.most_never()), (3, 2));
    }

    #[test]
    fn white_space_makes_no_negative() {
        let pairs = [pair("a", "sort it", "f( a )"), pair("b", "sort  it", "g"), pair("c", "other", "h")];
        let corpus = [document("k", "f( a\t)"), document("l", " sort it\n"), document("m", "g h")];
        let texts = MiningTexts::new(&pairs, &corpus).unwrap();
        // Documents: k, l, m, then the positives f( a ), g, h.
        assert_eq!(texts.never(0), [0, 1, 3, 4]);
        assert_eq!(texts.never(1), [0, 1, 3, 4]);
        assert_eq!(texts.never(2), [5]);
    }

    #[test]
    fn nothing_is_fine() {
        let texts = MiningTexts::new(&[], &[]).unwrap();
        assert_eq!((texts.queries().len(), texts.most_pairs(), texts.most_never()), (0, 0, 0));
    }
}
