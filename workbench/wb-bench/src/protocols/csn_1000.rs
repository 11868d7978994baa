//! `csn-1000`: each function ranks the 1,000 queries of its batch; MRR, mean over batches.
//!
//! After `src/model_test.py` of github/CodeSearchNet, in every detail that moves the number:
//!
//! 1. The functions of a language, or of all languages, stand in sorted file order; `np.random.seed(0)` and
//!    `np.random.shuffle` reorder them; then `np.random.choice` draws 50 for display, which only moves the stream.
//! 2. Chunks of 1,000 in that order; the last partial chunk is dropped. With fewer than 1,000 functions the batch is
//!    made that small, **and stays so for later evaluations** (see [`batch_sizes`]).
//! 3. A text without tokens has no representation: it gets standard normals from the same stream, codes of a batch
//!    first, then its queries.
//! 4. Rows are codes and columns are queries, `f32` vectors, cosine distance in `f64` as scipy's `cdist` computes it
//!    (`1 − dot / (|a| · |b|)`, the quotient kept within ±1). The rank is the number of distances that are not greater
//!    than the code's own: ties count against it.
//!
//! The pool is the batch's queries. De-duplication keeps the first of equal query texts in a batch.
//! A lexical contestant has no vectors: its index holds the batch's queries and is searched with code, and a query
//! that shares no word with its code has the last rank.

use std::collections::HashSet;

use rayon::prelude::*;
use wb_core::{
    Side,
    records::outcome::{ProtocolScore, QueryRank},
};

use super::protocol::{Context, Protocol, ProtocolNumbers};
use crate::{
    Result,
    contestant::{Chosen, EncodedTexts, Scorer},
    numpy_random::NumpyRandom,
};

/// `csn-1000` in words.
pub const DESCRIPTION: &str = "CodeSearchNet’s own protocol: each function ranks the 1,000 queries of its batch, a tie \
    counts against the answer, and the value is the mean over full batches";
/// Functions of a batch.
pub const BATCH: usize = 1000;
/// Functions that the reference draws for display after the shuffle.
const DISPLAYED: usize = 50;

/// One evaluation: functions in sorted file order.
#[derive(Debug, Clone)]
pub struct Csn1000 {
    /// `csn-1000` or `csn-func1000`.
    pub id: String,
    /// Description of the protocol, in words for people.
    pub description: &'static str,
    /// `ruby`, or `all`.
    pub language: String,
    /// `test` or `valid`.
    pub split: String,
    /// Functions in sorted file order.
    pub functions: Vec<BatchFunction>,
    /// 1,000, or what an earlier evaluation reduced it to.
    pub batch: usize,
}

/// A function with its query.
#[derive(Debug, Clone)]
pub struct BatchFunction {
    /// Its URL.
    pub id: String,
    /// The number of its code among the documents; `None` where it has no tokens.
    pub code: Option<u32>,
    /// The number of its query; `None` where it has no tokens.
    pub query: Option<u32>,
}

/// The batch size of each evaluation, in order, from the numbers of functions: the reference's tester keeps a reduced
/// batch for all evaluations after it.
pub fn batch_sizes(n_functions: &[usize]) -> Vec<usize> {
    let mut batch = BATCH;
    n_functions
        .iter()
        .map(|n| {
            batch = batch.min(*n);
            batch
        })
        .collect()
}

/// Place of a code's own query among the batch's.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// Queries strictly nearer.
    nearer: usize,
    /// Queries equally near, its own among them.
    tied: usize,
    /// Queries nearer and tied, counted over distinct query texts.
    distinct: (usize, usize),
}

impl Place {
    fn of(distances: &[f64], own: usize, first_of_text: &[bool]) -> Self {
        let limit = distances[own];
        if limit.is_nan() {
            // A vector of zeros has no direction; the reference would divide by a rank of 0 here.
            return Self::last(first_of_text);
        }
        let mut place = Self::default();
        for (index, distance) in distances.iter().enumerate() {
            let kept = usize::from(first_of_text[index]);
            if *distance < limit {
                place.nearer += 1;
                place.distinct.0 += kept;
            } else if *distance == limit {
                place.tied += 1;
                place.distinct.1 += kept;
            }
        }
        place
    }

    /// Behind everything.
    fn last(first_of_text: &[bool]) -> Self {
        let distinct = first_of_text.iter().filter(|first| **first).count();
        Self { nearer: first_of_text.len() - 1, tied: 1, distinct: (distinct - 1, 1) }
    }
}

impl Protocol for Csn1000 {
    fn id(&self) -> &str {
        &self.id
    }

    fn title(&self) -> String {
        format!("{} {} {}", self.id, self.language, self.split)
    }

    fn measure(&self, scorer: &Scorer<'_>, context: Context) -> Result<ProtocolNumbers> {
        let mut random = NumpyRandom::seed(0);
        let mut order: Vec<usize> = (0..self.functions.len()).collect();
        random.shuffle(&mut order);
        let in_full_batches = order.len() / self.batch * self.batch;
        // `choice` without replacement shuffles all of them, and takes the first few.
        if in_full_batches.min(DISPLAYED) > 0 {
            random.permutation(in_full_batches);
        }
        let mut places = Vec::with_capacity(in_full_batches);
        let mut missing = 0;
        for batch in order[..in_full_batches].chunks_exact(self.batch) {
            let functions: Vec<&BatchFunction> = batch.iter().map(|index| &self.functions[*index]).collect();
            missing += functions.iter().filter(|f| f.code.is_none() || f.query.is_none()).count();
            places.extend(match scorer.vectors() {
                Some(vectors) => by_distance(vectors, &functions, &mut random),
                None => by_score(scorer, &functions)?,
            });
        }
        let ids = order[..in_full_batches].iter().map(|index| self.functions[*index].id.clone());
        let mut measured =
            ProtocolNumbers { scores: vec![self.score(&places, ids, context)], ..ProtocolNumbers::default() };
        if missing > 0 {
            measured.warnings.push(format!(
                "{}: {missing} functions without tokens in code or query; {}",
                self.title(),
                if scorer.vectors().is_some() {
                    "they got random vectors, as in the reference"
                } else {
                    "they match nothing"
                }
            ));
        }
        Ok(measured)
    }
}

impl Csn1000 {
    fn score(&self, places: &[Place], ids: impl Iterator<Item = String>, context: Context) -> ProtocolScore {
        let reciprocal = |rank: usize| 1.0 / rank as f64;
        let mean_of_means = |value: &dyn Fn(&Place) -> f64| {
            let batches = places.chunks_exact(self.batch);
            let n = batches.len().max(1) as f64;
            batches.map(|batch| batch.iter().map(value).sum::<f64>() / batch.len() as f64).sum::<f64>() / n
        };
        let values: Vec<f64> = places.iter().map(|place| reciprocal(place.nearer + place.tied)).collect();
        let expected = |place: &Place| {
            (1..=place.tied).map(|t| reciprocal(place.nearer + t)).sum::<f64>() / place.tied.max(1) as f64
        };
        ProtocolScore {
            id: self.id.clone(),
            description: self.description.to_owned(),
            language: self.language.clone(),
            split: self.split.clone(),
            pool: self.batch as u64,
            n_queries: places.len() as u64,
            metric: "mrr".to_owned(),
            value: mean_of_means(&|place| reciprocal(place.nearer + place.tied)),
            interval: context.interval(&values),
            tie_best: mean_of_means(&|place| reciprocal(place.nearer + 1)),
            tie_expected: mean_of_means(&expected),
            tie_worst: mean_of_means(&|place| reciprocal(place.nearer + place.tied)),
            deduplicated: Some(mean_of_means(&|place| reciprocal(place.distinct.0 + place.distinct.1))),
            queries: ids
                .zip(places)
                .zip(values)
                .map(|((id, place), value)| QueryRank { id, rank: (place.nearer + place.tied) as u64, value })
                .collect(),
        }
    }
}

/// Marks, for each function, the first with its query text.
/// Missing queries are random vectors, so each is a text of its own.
fn first_of_texts(functions: &[&BatchFunction]) -> Vec<bool> {
    let mut seen = HashSet::new();
    functions.iter().map(|function| function.query.is_none_or(|query| seen.insert(query))).collect()
}

fn by_distance(vectors: &EncodedTexts, functions: &[&BatchFunction], random: &mut NumpyRandom) -> Vec<Place> {
    let dim = vectors.side(Side::Document).dim();
    let mut rows = |side: Side, number: &dyn Fn(&BatchFunction) -> Option<u32>| -> Vec<Vec<f64>> {
        let known = vectors.side(side);
        functions
            .iter()
            .map(|function| match number(function) {
                Some(number) => known.row(number as usize).iter().map(|x| f64::from(*x)).collect(),
                None => (0..dim).map(|_| f64::from(random.normal() as f32)).collect(),
            })
            .collect()
    };
    let codes = rows(Side::Document, &|function| function.code);
    let queries = rows(Side::Query, &|function| function.query);
    let norm = |row: &Vec<f64>| row.iter().fold(0.0, |sum, x| sum + x * x).sqrt();
    let query_norms: Vec<f64> = queries.iter().map(norm).collect();
    let n = functions.len();
    // `[dim, n]`: sums over the dimensions stay in order, as in scipy, while neighbours share a register.
    let mut columns = vec![0.0; dim * n];
    for (j, query) in queries.iter().enumerate() {
        for (k, x) in query.iter().enumerate() {
            columns[k * n + j] = *x;
        }
    }
    let first_of_text = first_of_texts(functions);
    codes
        .par_iter()
        .enumerate()
        .map(|(i, code)| {
            let code_norm = norm(code);
            let mut distances = vec![0.0; n];
            for (x, column) in code.iter().zip(columns.chunks_exact(n)) {
                for (sum, y) in distances.iter_mut().zip(column) {
                    *sum += x * y;
                }
            }
            for (sum, query_norm) in distances.iter_mut().zip(&query_norms) {
                let cosine = *sum / (code_norm * query_norm);
                *sum = 1.0 - if cosine.abs() > 1.0 { cosine.signum() } else { cosine };
            }
            Place::of(&distances, i, &first_of_text)
        })
        .collect()
}

fn by_score(scorer: &Scorer<'_>, functions: &[&BatchFunction]) -> Result<Vec<Place>> {
    let numbers = |number: &dyn Fn(&BatchFunction) -> Option<u32>| -> Vec<u32> {
        functions.iter().filter_map(|function| number(function)).collect()
    };
    let codes = numbers(&|function| function.code);
    let queries = numbers(&|function| function.query);
    // Positions of the batch that have a query; the others match nothing.
    let with_query: Vec<usize> = (0..functions.len()).filter(|index| functions[*index].query.is_some()).collect();
    let with_code: Vec<usize> = (0..functions.len()).filter(|index| functions[*index].code.is_some()).collect();
    let first_of_text = first_of_texts(functions);
    // What shares nothing is behind everything that shares something; an own query that shares nothing is last.
    let floor = scorer.floor().map_or(f64::NEG_INFINITY, f64::from);
    let place = |own: usize, scores: &[f32]| {
        let mut distances = vec![-floor; functions.len()];
        for (index, score) in with_query.iter().zip(scores) {
            distances[*index] = -f64::from(*score);
        }
        if distances[own] < -floor { Place::of(&distances, own, &first_of_text) } else { Place::last(&first_of_text) }
    };
    let sources = Chosen { side: Side::Document, numbers: &codes };
    let targets = Chosen { side: Side::Query, numbers: &queries };
    let scored = scorer.scores(sources, targets, |index, row| (with_code[index], place(with_code[index], row)))?;
    let mut places = vec![Place::last(&first_of_text); functions.len()];
    for (own, found) in scored {
        places[own] = found;
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reduced_batch_stays_reduced() {
        assert_eq!(batch_sizes(&[1400, 300, 5000, 200]), [1000, 300, 300, 200]);
    }

    #[test]
    fn ties_count_against_the_code() {
        // Own distance .5 at position 1; positions 0 and 3 are nearer with equal texts, 2 is tied.
        let place = Place::of(&[0.2, 0.5, 0.5, 0.2], 1, &[true, true, true, false]);
        assert_eq!((place.nearer, place.tied, place.distinct), (2, 2, (1, 2)));
    }

    #[test]
    fn a_repeated_own_query_is_found_once() {
        // The own query (position 2) repeats position 0: without duplicates only position 0 is left of the two.
        let place = Place::of(&[0.3, 0.1, 0.3], 2, &[true, true, false]);
        assert_eq!((place.nearer, place.tied, place.distinct), (1, 2, (1, 1)));
    }
}
