//! MaxSim of many texts with many: exact late interaction over token vectors in memory.
//!
//! s(q, d) = Σ_i max_j q_i·d_j over the tokens of the query and of the document (Khattab and Zaharia 2020, ColBERT,
//! arXiv 2004.12832). Products come from the kernel of [`crate::inner_product`], maxima are taken while they are in
//! cache, and the sum goes over the query's tokens in order: a score depends on its two texts alone.

use std::{cell::RefCell, ops::Range};

use ndarray::{Array2, ArrayView2};
use pulp::Arch;
use rayon::prelude::*;
use wb_core::{Embeddings, Ranking, simd};

use crate::{
    Result,
    error::{bad_vector, unlike_lengths},
    flat::LONGEST,
    inner_product::Matrix,
    kernel::{Machine, Panels},
    retriever::block_of,
    top_k::top_k,
};

/// Query tokens whose products are in memory at once, for each thread.
const QUERY_TOKENS: usize = 96;
/// Document tokens that meet them at once, in whole documents; both together are 400 KB.
const DOCUMENT_TOKENS: usize = 1024;
/// Score of each query token with a document without tokens: the least product of vectors of length 1.
const LEAST: f32 = -1.0;

/// MaxSim of every query with every document, `[queries, documents]`. A document without tokens comes last: each query
/// token counts as −1. Vectors of different lengths are an error.
pub fn max_sim(queries: &Embeddings, documents: &Embeddings) -> Result<Array2<f32>> {
    if queries.dim() != documents.dim() && !queries.is_empty() && !documents.is_empty() {
        let (given, expected) = (queries.dim(), documents.dim());
        return Err(unlike_lengths("dimensions of queries and documents", given, expected));
    }
    let mut scores = Array2::zeros((queries.texts(), documents.texts()));
    let n = documents.texts();
    if n == 0 || queries.is_empty() || queries.dim() == 0 {
        return Ok(scores);
    }
    let groups = groups(queries, QUERY_TOKENS);
    let mut rest = scores.as_slice_mut().unwrap_or_default();
    let mut parts = Vec::with_capacity(groups.len());
    for group in &groups {
        let (part, after) = rest.split_at_mut(group.len() * n);
        parts.push((group.clone(), part));
        rest = after;
    }
    let blocks = self::groups(documents, DOCUMENT_TOKENS);
    let machine = Machine::here();
    parts.into_par_iter().for_each(|(group, part)| {
        thread_local!(static WORK: RefCell<Vec<f32>> = const { RefCell::new(Vec::new()) });
        WORK.with_borrow_mut(|products| score_group(machine, queries, group, documents, &blocks, part, products));
    });
    Ok(scores)
}

/// The best `k` documents for each query by MaxSim, best first, ties by position. Queries go in blocks whose scores
/// fit 256 MiB.
pub fn rank(queries: &Embeddings, documents: &Embeddings, k: usize) -> Result<Vec<Ranking>> {
    if documents.is_empty() {
        return Ok((0..queries.texts()).map(|query| Ranking { query, hits: Vec::new() }).collect());
    }
    let mut rankings = Vec::with_capacity(queries.texts());
    let block = block_of(documents.texts());
    for first in (0..queries.texts()).step_by(block) {
        let scores = max_sim(&queries.part(first..(first + block).min(queries.texts())), documents)?;
        let rows = scores.as_slice().unwrap_or_default().par_chunks(documents.texts()).enumerate();
        rankings.par_extend(rows.map(|(at, row)| Ranking { query: first + at, hits: top_k(row, k) }));
    }
    Ok(rankings)
}

/// Neighboring texts of at most so many tokens together, or one text that is longer.
fn groups(of: &Embeddings, tokens: usize) -> Vec<Range<usize>> {
    let mut groups = Vec::new();
    let mut first = 0;
    for text in 0..of.texts() {
        if text > first && of.rows(first..text + 1).len() > tokens {
            groups.push(first..text);
            first = text;
        }
    }
    if first < of.texts() {
        groups.push(first..of.texts());
    }
    groups
}

fn score_group(
    machine: Machine,
    queries: &Embeddings,
    group: Range<usize>,
    documents: &Embeddings,
    blocks: &[Range<usize>],
    scores: &mut [f32],
    products: &mut Vec<f32>,
) {
    let (dim, n) = (queries.dim(), documents.texts());
    let numbers = |of: &Embeddings, tokens: Range<usize>| -> Vec<f32> {
        of.view().as_slice().unwrap_or_default()[tokens.start * dim..tokens.end * dim].to_vec()
    };
    let rows = queries.rows(group.clone());
    let mut left = Panels::empty(dim, machine.group);
    left.fill(&numbers(queries, rows.clone()));
    let mut right = Panels::empty(dim, machine.panel);
    let arch = Arch::new();
    for block in blocks {
        let columns = documents.rows(block.clone());
        let width = columns.len();
        let all = documents.view();
        right.fill(&all.as_slice().unwrap_or_default()[columns.start * dim..columns.end * dim]);
        products.clear();
        products.resize(rows.len() * width, 0.0);
        if width > 0 {
            machine.tiles(&left, 0, &right, &mut Matrix { out: products, n_columns: width, first: 0, n: width });
        }
        for (text, scores) in group.clone().zip(scores.chunks_exact_mut(n)) {
            let tokens = within(queries.rows(text..text + 1), rows.start);
            for document in block.clone() {
                let range = within(documents.rows(document..document + 1), columns.start);
                scores[document] = simd::dispatched(
                    arch,
                    #[inline(always)]
                    || tokens.clone().map(|token| greatest(&products[token * width..][range.clone()])).sum(),
                );
            }
        }
    }
}

/// A range of places, counted from a first one.
fn within(range: Range<usize>, first: usize) -> Range<usize> {
    range.start - first..range.end - first
}

/// The greatest of some numbers in lanes.
#[inline(always)]
fn greatest(numbers: &[f32]) -> f32 {
    const LANES: usize = 16;
    if numbers.is_empty() {
        return LEAST;
    }
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let chunks = numbers.chunks_exact(LANES);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, x) in lanes.iter_mut().zip(chunk) {
            *lane = if *x > *lane { *x } else { *lane };
        }
    }
    lanes.iter().chain(rest).fold(f32::NEG_INFINITY, |greatest, x| if *x > greatest { *x } else { greatest })
}

/// Refuses vectors with a number that is not finite, or that are longer than exact search can add up.
pub(crate) fn check(side: &'static str, vectors: ArrayView2<'_, f32>) -> Result<()> {
    let rows = vectors.as_slice().unwrap_or_default().par_chunks_exact(vectors.ncols().max(1));
    let wrong = rows.enumerate().find_map_first(|(at, row)| {
        let length = row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
        (!length.is_finite() || length > f64::from(LONGEST)).then_some(at)
    });
    match wrong {
        Some(row) => Err(bad_vector(side, row, "a token with a value that is not finite")),
        None => Ok(()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use rand::RngExt;
    use wb_core::Seed;

    use super::*;
    use crate::inner_product::tests::random;

    /// Texts of up to `most` tokens, some of none.
    pub(crate) fn texts(seed: u64, n: usize, most: usize, dim: usize) -> Embeddings {
        let mut rng = Seed(seed).stream("lengths");
        let mut offsets = vec![0];
        for _ in 0..n {
            offsets.push(offsets[offsets.len() - 1] + rng.random_range(0..=most));
        }
        let vectors = random(seed, offsets[n], dim);
        let vectors = Embeddings::dense(vectors).normalized().into_inner();
        Embeddings::ragged(vectors, offsets).unwrap()
    }

    /// The definition.
    fn naive(query: ArrayView2<'_, f32>, document: ArrayView2<'_, f32>) -> f32 {
        let product = |a: ndarray::ArrayView1<'_, f32>, b: ndarray::ArrayView1<'_, f32>| {
            a.iter().zip(b).fold(0f32, |sum, (a, b)| a.mul_add(*b, sum))
        };
        query
            .outer_iter()
            .map(|q| match document.nrows() {
                0 => LEAST,
                _ => document.outer_iter().map(|d| product(q, d)).fold(f32::NEG_INFINITY, f32::max),
            })
            .sum()
    }

    #[test]
    fn two_queries_by_hand() {
        let vectors = ndarray::arr2(&[[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]);
        let queries = Embeddings::ragged(vectors.clone(), vec![0, 2, 3]).unwrap();
        let documents = Embeddings::ragged(vectors, vec![0, 1, 3, 3]).unwrap();
        let expected = ndarray::arr2(&[[1.0, 1.6, -2.0], [0.6, 1.0, -1.0]]);
        let found = max_sim(&queries, &documents).unwrap();
        assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-6), "{found}");
        assert!(max_sim(&queries, &Embeddings::ragged(Array2::zeros((0, 3)), vec![0]).unwrap()).unwrap().is_empty());
        assert!(max_sim(&queries, &texts(1, 2, 3, 5)).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(30))]
        #[test]
        fn every_shape_equals_the_definition_bit_by_bit(n in 0usize..9, m in 0usize..30, q in 0usize..50, d in 0usize..90, seed: u64) {
            let (queries, documents) = (texts(seed, n, q, 24), texts(seed ^ 1, m, d, 24));
            let found = max_sim(&queries, &documents).unwrap();
            for ((i, j), score) in found.indexed_iter() {
                prop_assert_eq!(*score, naive(queries.of(i), documents.of(j)));
            }
        }
    }
}
