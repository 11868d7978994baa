//! Exact search: every document is compared with every query.
//!
//! Scores are made tile by tile in registers ([`crate::inner_product`]) and compared there with the worst score that
//! is still among a query's best `k`; only what passes is written, into a buffer that is cut back to `k` when it is
//! full. Memory beyond the vectors is bounded: queries go in batches whose buffers fit 64 MiB per thread.
//! Texts of several vectors are compared by MaxSim ([`crate::maxsim`]).

use ndarray::{Array2, ArrayView2};
use pulp::Simd;
use rayon::prelude::*;
use wb_core::{Embeddings, GroupMaxima, Ranking};

use crate::{
    Result, device_search,
    error::{bad_vector, too_many, unlike_lengths},
    inner_product::{inner_products, sweep},
    kernel::{Machine, PANEL_REGISTERS, Panels, Sink},
    maxsim::{max_sim, rank},
    top_k::{into_hits, keep_best, key},
};

/// The greatest Euclidean length of a vector: products of two such vectors are far from the greatest `f32`.
pub const LONGEST: f32 = 1e18;

/// Bytes that a thread may use for the candidates of one batch of queries.
const BUFFER_BYTES: usize = 64 << 20;
/// Queries in a batch: few enough for their panels to come back from the shared cache, enough to read documents rarely.
const BATCH: usize = 2048;

/// The embeddings of all documents, searched exactly: by inner product (cosine, where vectors have length 1), or by
/// MaxSim where documents or queries have several vectors. Memory: 4 bytes for each number of each vector.
#[derive(Debug)]
pub struct Flat {
    documents: Embeddings,
}

impl Flat {
    /// Takes the documents; a vector with a number that is not finite, or longer than [`LONGEST`], is refused.
    pub fn new(documents: Embeddings) -> Result<Self> {
        let limit = u32::MAX as usize;
        if documents.texts() > limit {
            return Err(too_many(documents.texts(), limit));
        }
        check("document", documents.view())?;
        Ok(Self { documents })
    }

    /// Number of documents.
    pub fn len(&self) -> usize {
        self.documents.texts()
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.documents.is_empty()
    }

    /// The best `k` documents for each query, best first; fewer where there are fewer documents.
    /// Equal scores are ordered by position, lower first.
    pub fn search(&self, queries: &Embeddings, k: usize) -> Result<Vec<Ranking>> {
        self.search_on(Machine::here(), queries, k)
    }

    /// [`Flat::search`] with the help of a device, where that saves time and vectors are no longer than 1; the same result.
    pub fn search_with(
        &self,
        device: Option<Box<dyn GroupMaxima>>,
        queries: &Embeddings,
        k: usize,
    ) -> Result<Vec<Ranking>> {
        let (documents, queries_there) = (self.documents.view(), queries.view());
        let pays = || {
            !self.by_max_sim(queries)
                && device_search::pays(queries.texts(), self.len(), queries.dim(), k)
                && [documents, queries_there].into_iter().all(device_search::short)
        };
        match device.filter(|_| pays()) {
            None => self.search(queries, k),
            Some(mut device) => {
                self.check_queries(queries)?;
                let mut keys = vec![Vec::new(); queries.texts()];
                let places = &mut keys.iter_mut().collect::<Vec<_>>();
                device_search::search(&mut *device, documents, 0, queries_there, k, places)?;
                let ranking = |(query, keys)| Ranking { query, hits: into_hits(keys) };
                Ok(keys.into_par_iter().enumerate().map(ranking).collect())
            }
        }
    }

    /// The score of every document for every query, `[queries, documents]`; the same numbers as in [`Flat::search`].
    pub fn scores(&self, queries: &Embeddings) -> Result<Array2<f32>> {
        self.check_queries(queries)?;
        match self.by_max_sim(queries) {
            true => max_sim(queries, &self.documents),
            false => Ok(inner_products(queries.view(), self.documents.view())),
        }
    }

    fn by_max_sim(&self, queries: &Embeddings) -> bool {
        queries.offsets().is_some() || self.documents.offsets().is_some()
    }

    fn search_on(&self, machine: Machine, queries: &Embeddings, k: usize) -> Result<Vec<Ranking>> {
        self.check_queries(queries)?;
        if self.by_max_sim(queries) {
            return rank(queries, &self.documents, k);
        }
        Ok(search_rows_on(machine, self.documents.view(), queries.view(), k))
    }

    fn check_queries(&self, queries: &Embeddings) -> Result<()> {
        if queries.dim() != self.documents.dim() && !queries.is_empty() && !self.is_empty() {
            return Err(unlike_lengths("dimensions of queries and documents", queries.dim(), self.documents.dim()));
        }
        check("query", queries.view())
    }
}

/// The best `k` rows of `documents` for each row of `queries`. Both have the same number of dimensions and hold finite
/// numbers whose products are finite.
pub(crate) fn search_rows(documents: ArrayView2<'_, f32>, queries: ArrayView2<'_, f32>, k: usize) -> Vec<Ranking> {
    search_rows_on(Machine::here(), documents, queries, k)
}

fn search_rows_on(
    machine: Machine,
    documents: ArrayView2<'_, f32>,
    queries: ArrayView2<'_, f32>,
    k: usize,
) -> Vec<Ranking> {
    let (n_queries, n_documents, dim) = (queries.nrows(), documents.nrows(), documents.ncols());
    let k = k.min(n_documents);
    let (Some(vectors), Some(documents), true) = (queries.as_slice(), documents.as_slice(), k > 0 && dim > 0) else {
        // Where all scores are zero, as vectors without dimensions have them.
        let by_position =
            |query| Ranking { query, hits: (0..k).map(|document| wb_core::Hit { document, score: 0.0 }).collect() };
        return (0..n_queries).map(by_position).collect();
    };
    let full = (2 * k).max(k + 64);
    let batch = (BUFFER_BYTES / 8 / full).clamp(1, BATCH);
    let mut rankings = Vec::with_capacity(n_queries);
    for vectors in vectors.chunks(batch * dim) {
        let panels = Panels::new(vectors, dim, machine.panel);
        let n = vectors.len() / dim;
        let found = sweep(machine, documents, &panels, || Candidates::new(n, panels.padded(), n_documents, k, full));
        let first = rankings.len();
        rankings.par_extend((0..n).into_par_iter().map(|query| {
            let mut keys: Vec<u64> = found.iter().flat_map(|worker| &worker.keys[query]).copied().collect();
            keep_best(&mut keys, k);
            Ranking { query: first + query, hits: into_hits(keys) }
        }));
    }
    rankings
}

/// Refuses vectors that no score can be computed with.
fn check(side: &'static str, vectors: ArrayView2<'_, f32>) -> Result<()> {
    let wrong = |row: usize| {
        let row = vectors.row(row);
        let squares: f64 = row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
        if row.iter().any(|x| x.is_nan()) {
            Some("a value that is not a number")
        } else if row.iter().any(|x| x.is_infinite()) {
            Some("an infinite value")
        } else if squares.sqrt() > f64::from(LONGEST) {
            Some("too great a length")
        } else {
            None
        }
    };
    // Most rows are right, and a plain sum of squares shows it fast: it is not finite where a value is not.
    let plainly_right = |row: usize| {
        let row = vectors.row(row);
        row.dot(&row) < LONGEST
    };
    match (0..vectors.nrows())
        .into_par_iter()
        .filter(|row| !plainly_right(*row))
        .find_map_first(|row| Some((row, wrong(row)?)))
    {
        Some((row, what)) => Err(bad_vector(side, row, what)),
        None => Ok(()),
    }
}

/// The best documents that one worker has seen, for each query of a batch.
struct Candidates {
    /// Keys of [`crate::top_k`], at most `full` for a query.
    keys: Vec<Vec<u64>>,
    /// A score must be greater than this to matter; infinite for padding.
    least: Vec<f32>,
    n_documents: usize,
    k: usize,
    full: usize,
}

impl Candidates {
    fn new(n_queries: usize, padded: usize, n_documents: usize, k: usize, full: usize) -> Self {
        let mut least = vec![f32::NEG_INFINITY; n_queries];
        least.resize(padded, f32::INFINITY);
        Self { keys: (0..n_queries).map(|_| Vec::with_capacity(full)).collect(), least, n_documents, k, full }
    }

    /// Takes those of some queries' scores for one document that are good enough.
    #[inline(never)]
    fn offer(&mut self, scores: &[f32], first_query: usize, document: usize) {
        for (query, &score) in (first_query..).zip(scores) {
            if score > self.least[query] {
                let keys = &mut self.keys[query];
                keys.push(key(score, document as u32));
                if keys.len() == self.full {
                    keep_best(keys, self.k);
                    // Documents come in ascending order: one that equals the worst of the best stands behind it.
                    self.least[query] = keys.iter().min().map_or(f32::INFINITY, |key| crate::top_k::hit(*key).score);
                }
            }
        }
    }
}

impl Sink for Candidates {
    #[inline(always)]
    fn take<S: Simd, const R: usize>(
        &mut self,
        simd: S,
        tile: &[[S::f32s; PANEL_REGISTERS]; R],
        row: usize,
        column: usize,
    ) {
        for register in 0..PANEL_REGISTERS {
            let first_query = column + register * S::F32_LANES;
            let Some(&least) = S::as_simd_f32s(&self.least[first_query..]).0.first() else { return };
            // One comparison for all rows of the tile: hardly any has a score that matters.
            let greatest =
                tile[1..].iter().fold(tile[0][register], |greatest, sums| simd.max_f32s(greatest, sums[register]));
            if simd.first_true_m32s(simd.greater_than_f32s(greatest, least)) < S::F32_LANES {
                for (document, sums) in (row..self.n_documents).zip(tile) {
                    let better = simd.greater_than_f32s(sums[register], least);
                    if simd.first_true_m32s(better) < S::F32_LANES {
                        self.offer(pulp::bytemuck::cast_slice(&[sums[register]]), first_query, document);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inner_product::tests::{machines, random};

    #[test]
    fn all_kinds_of_registers_find_the_same() {
        let flat = Flat::new(Embeddings::dense(random(1, 700, 33))).unwrap();
        let queries = Embeddings::dense(random(2, 50, 33));
        let expected = flat.search(&queries, 20).unwrap();
        for machine in machines() {
            assert_eq!(flat.search_on(machine, &queries, 20).unwrap(), expected, "{machine:?}");
        }
    }
}
