//! The texts of training pairs as numbers, equal for equal texts, and their tokens, made once where memory allows.

use std::{
    collections::HashMap,
    sync::{
        OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use wb_core::{Pair, Side};

use super::sampler::PairTexts;
use crate::{
    Result,
    losses::{Labels, PairLabels},
};

/// Text to token ids as the model wants them: prompts, special tokens and truncation included.
pub type Tokenize<'a> = dyn Fn(&str, Side) -> Result<Vec<u32>> + Sync + 'a;

/// Which text each pair's anchor, positive and hard negatives are.
#[derive(Debug)]
pub struct PairTable<'a> {
    texts: Vec<&'a str>,
    anchors: Vec<u32>,
    /// The positive, then the hard negatives that are used, pair after pair.
    documents: Vec<u32>,
    ends: Vec<usize>,
    scores: Vec<&'a [f32]>,
}

impl<'a> PairTable<'a> {
    /// Numbers the texts of pairs, with at most `negatives` hard negatives of each.
    pub fn new(pairs: &'a [Pair], negatives: usize) -> Self {
        let mut numbers: HashMap<&'a str, u32> = HashMap::with_capacity(2 * pairs.len());
        let mut table = Self {
            texts: Vec::new(),
            anchors: Vec::with_capacity(pairs.len()),
            documents: Vec::new(),
            ends: vec![0],
            scores: pairs.iter().map(|pair| pair.scores.as_slice()).collect(),
        };
        for pair in pairs {
            let texts = &mut table.texts;
            let mut number = |text: &'a str| {
                *numbers.entry(text).or_insert_with(|| {
                    texts.push(text);
                    texts.len() as u32 - 1
                })
            };
            table.anchors.push(number(&pair.anchor));
            table.documents.push(number(&pair.positive));
            table.documents.extend(pair.negatives.iter().take(negatives).map(|text| number(text)));
            table.ends.push(table.documents.len());
        }
        table
    }

    /// How many pairs.
    pub fn len(&self) -> usize {
        self.anchors.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.anchors.is_empty()
    }

    /// A text by its number.
    pub fn text(&self, number: u32) -> &'a str {
        self.texts[number as usize]
    }

    /// How many different texts.
    pub fn texts(&self) -> usize {
        self.texts.len()
    }

    /// A pair's anchor.
    pub fn anchor(&self, pair: u32) -> u32 {
        self.anchors[pair as usize]
    }

    /// A pair's positive, then its hard negatives.
    pub fn documents(&self, pair: u32) -> &[u32] {
        &self.documents[self.ends[pair as usize]..self.ends[pair as usize + 1]]
    }

    /// Anchor and positive of each pair.
    pub fn pair_texts(&self) -> Vec<PairTexts> {
        (0..self.len() as u32).map(|pair| [self.anchor(pair), self.documents(pair)[0]]).collect()
    }

    /// Anchors and documents of a batch in their order, with what a loss knows of them.
    pub fn labels(&self, pairs: &[u32]) -> Labels {
        let of = |pair: &u32| PairLabels {
            anchor: self.anchor(*pair),
            documents: self.documents(*pair),
            scores: self.scores[*pair as usize],
        };
        Labels::by_column(&pairs.iter().map(of).collect::<Vec<_>>())
    }
}

/// Token ids by text and side, kept up to a number of bytes; what does not fit is made again each time.
#[derive(Debug)]
pub struct TokenCache {
    queries: Vec<OnceLock<Box<[u32]>>>,
    documents: Vec<OnceLock<Box<[u32]>>>,
    room: AtomicUsize,
}

impl TokenCache {
    /// For so many texts, with room for so many bytes of ids.
    pub fn new(texts: usize, bytes: usize) -> Self {
        let empty = || (0..texts).map(|_| OnceLock::new()).collect();
        Self { queries: empty(), documents: empty(), room: AtomicUsize::new(bytes) }
    }

    /// Appends a text's token ids to `into`, from the cache or from `tokenize`. Returns how many.
    pub fn append(
        &self,
        number: u32,
        side: Side,
        into: &mut Vec<u32>,
        tokenize: impl FnOnce() -> Result<Vec<u32>>,
    ) -> Result<usize> {
        let slots = match side {
            Side::Query => &self.queries,
            Side::Document => &self.documents,
        };
        let slot = &slots[number as usize];
        if let Some(ids) = slot.get() {
            into.extend_from_slice(ids);
            return Ok(ids.len());
        }
        let ids = tokenize()?;
        into.extend_from_slice(&ids);
        let bytes = size_of_val(ids.as_slice());
        let count = ids.len();
        let reserve = |room: usize| room.checked_sub(bytes);
        if self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, reserve).is_ok() {
            // Another thread may have been quicker with the same ids; then this copy is dropped.
            let _ = slot.set(ids.into_boxed_slice());
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(id: &str, anchor: &str, positive: &str, negatives: &[&str]) -> Pair {
        let negatives = negatives.iter().map(|n| (*n).to_owned()).collect();
        Pair { id: id.into(), anchor: anchor.into(), positive: positive.into(), negatives, ..Pair::default() }
    }

    #[test]
    fn columns_are_positives_then_negatives_by_rank() {
        let pairs = [pair("a", "q", "p", &["x", "y", "z"]), pair("b", "r", "q", &[]), pair("c", "q", "s", &["p"])];
        let table = PairTable::new(&pairs, 2);
        let labels = table.labels(&[0, 1, 2]);
        let texts: Vec<&str> = labels.documents().iter().map(|number| table.text(*number)).collect();
        assert_eq!(texts, ["p", "q", "s", "x", "p", "y"]);
        assert_eq!(labels.owners(), [0, 1, 2, 0, 2, 0]);
        assert_eq!(table.anchor(0), table.anchor(2));
        assert_eq!(table.texts(), 7 - 1);
    }

    #[test]
    fn what_does_not_fit_is_made_again() {
        let cache = TokenCache::new(2, 12);
        let (mut into, mut made) = (Vec::new(), 0);
        for number in [0, 1, 0, 1] {
            let ids = vec![number; 2];
            let count = cache.append(number, Side::Query, &mut into, || {
                made += 1;
                Ok(ids)
            });
            assert_eq!(count.unwrap(), 2);
        }
        assert_eq!(into, [0, 0, 1, 1, 0, 0, 1, 1]);
        assert_eq!(made, 3, "8 of 12 bytes hold the first text, the second does not fit");
    }
}
