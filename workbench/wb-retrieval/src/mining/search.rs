//! Exact search over vectors that need not fit into memory: blocks of queries meet blocks of documents.
//!
//! A score is the cosine of two vectors, by the kernel of [`crate::inner_product`], so it depends on these two alone,
//! and a ranking does not depend on how large blocks are or on how many threads search them.

use std::ops::Range;

use ndarray::ArrayView2;
use rayon::prelude::*;
use wb_core::GroupMaxima;

use super::{Batch, ByteSize, CandidateSource, MiningTexts, RankedQuery, Seen, Vectors};
use crate::{
    Result, device_search,
    error::{bad_vector, unlike_lengths},
    flat::search_rows,
    kernel::dot,
    top_k::{keep_best, key},
};

/// Ranks documents by the cosine of their vectors and a query's.
pub struct VectorSearch<'a> {
    queries: Box<dyn Vectors + 'a>,
    documents: Box<dyn Vectors + 'a>,
    blocks: Blocks,
    device: Option<Box<dyn GroupMaxima>>,
}

/// Numbers of rows that are in memory at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    /// Queries with their candidates.
    pub queries: usize,
    /// Documents.
    pub documents: usize,
}

/// Queries that meet a block of documents together: the kernel regroups them and keeps candidates for them apart.
const AT_ONCE: usize = 2048;
/// Fewer than so many rows are no block.
const FEWEST: usize = 64;
/// The program itself, and what else it needs while it searches.
const PROGRAM: u64 = 40_000_000;

impl Blocks {
    /// Blocks that fit into an amount of memory beside what is taken already. Candidates get up to half of the rest,
    /// because each block of queries reads all documents once; documents get what remains.
    pub fn within(ram: ByteSize, taken: u64, [queries, documents, dim]: [usize; 3], depth: usize) -> Result<Self> {
        let threads = rayon::current_num_threads();
        let a_document = 4 * dim.max(1) as u64;
        // The vector; its candidates, kept and new; what is told of it.
        let a_query = 4 * dim as u64 + 8 * 3 * depth as u64 + 128;
        // Regrouped vectors, each thread's candidates, and the ranking of one block of documents.
        let at_once = AT_ONCE.min(queries.max(1)) as u64;
        let working = at_once * (8 * dim as u64 + threads as u64 * 8 * (2 * depth as u64 + 64) + 16 * depth as u64)
            + threads as u64 * (1 << 20);
        let fixed = taken + PROGRAM + working;
        let least = fixed + FEWEST as u64 * (a_query + a_document);
        if ram.0 < least {
            let message = format!(
                "got {ram}, too small: texts take {}, one block of {depth} candidates for each of {at_once} queries {}",
                ByteSize(taken.next_multiple_of(1_000_000)),
                ByteSize((least - taken).next_multiple_of(1_000_000))
            );
            let hint = format!("negatives.ram={}", ByteSize(least.next_multiple_of(100_000_000)));
            return Err(wb_core::Error::value("negatives.ram", message).with_hint(hint));
        }
        let free = ram.0 - fixed;
        let fit = |bytes: u64, each: u64, n: usize| ((bytes / each) as usize).clamp(FEWEST, n.max(FEWEST));
        let queries = fit(free / 2, a_query, queries);
        let documents = fit(free.saturating_sub(queries as u64 * a_query), a_document, documents);
        Ok(Self { queries, documents })
    }
}

/// Bytes of memory that a search with the help of a device takes beside its blocks.
pub fn beside_a_device(dim: usize) -> u64 {
    device_search::bytes(dim)
}

impl<'a> VectorSearch<'a> {
    /// Takes one vector for each query and for each document of the texts.
    pub fn new(
        texts: &MiningTexts<'_>,
        queries: impl Vectors + 'a,
        documents: impl Vectors + 'a,
        blocks: Blocks,
    ) -> Result<Self> {
        let lengths = [
            ("query vectors and queries", queries.len(), texts.queries().len()),
            ("document vectors and documents", documents.len(), texts.documents().len()),
            ("dimensions of queries and documents", queries.dim(), documents.dim()),
        ];
        for (what, given, expected) in lengths {
            if given != expected && !texts.queries().is_empty() {
                return Err(unlike_lengths(what, given, expected));
            }
        }
        Ok(Self { queries: Box::new(queries), documents: Box::new(documents), blocks, device: None })
    }

    /// Searches with the help of a device, where that saves time; the same result.
    pub fn with(self, device: Option<Box<dyn GroupMaxima>>) -> Self {
        Self { device, ..self }
    }
}

impl CandidateSource for VectorSearch<'_> {
    fn at_once(&self) -> usize {
        self.blocks.queries
    }

    fn rank(&mut self, batch: Batch<'_, '_>, seen: Seen<'_>) -> Result<Vec<RankedQuery>> {
        let Batch { texts, queries, depth } = batch;
        let (dim, n_documents) = (self.documents.dim(), self.documents.len());
        let mut vectors = Vec::new();
        self.queries.read(queries.clone(), &mut vectors)?;
        normalize("query", &mut vectors, dim, queries.start)?;
        let mut ranked: Vec<RankedQuery> =
            queries.clone().map(|query| RankedQuery::new(texts.positives(query).len())).collect();
        // Positives in the order in which their vectors pass.
        let mut wanted: Vec<(u32, usize, usize)> = Vec::new();
        for (row, query) in queries.clone().enumerate() {
            wanted.extend(texts.positives(query).iter().enumerate().map(|(slot, document)| (*document, row, slot)));
        }
        wanted.sort_unstable();
        let mut wanted = wanted.into_iter().peekable();
        let mut block = Vec::new();
        let mut device =
            self.device.as_deref_mut().filter(|_| device_search::pays(queries.len(), n_documents, dim, depth));
        for first in (0..n_documents).step_by(self.blocks.documents) {
            let rows = first..(first + self.blocks.documents).min(n_documents);
            self.documents.read(rows.clone(), &mut block)?;
            normalize("document", &mut block, dim, first)?;
            while let Some((document, row, slot)) =
                wanted.next_if(|(document, ..)| rows.contains(&(*document as usize)))
            {
                let at = (document as usize - first) * dim;
                ranked[row].positives[slot] = dot(&vectors[row * dim..][..dim], &block[at..][..dim]);
            }
            match &mut device {
                Some(device) => search_block_with(*device, [&vectors, &block], dim, first, depth, &mut ranked)?,
                None => search_block(&vectors, &block, dim, &rows, depth, &mut ranked),
            }
            seen(rows.end)?;
        }
        Ok(ranked)
    }
}

/// Merges the best of one block of documents into what was the best before.
fn search_block(
    vectors: &[f32],
    block: &[f32],
    dim: usize,
    rows: &Range<usize>,
    depth: usize,
    ranked: &mut [RankedQuery],
) {
    let view = |numbers| ArrayView2::from_shape((rows_of(numbers, dim), dim), numbers);
    let Ok(documents) = view(block) else { return };
    for (part, ranked) in vectors.chunks((AT_ONCE * dim).max(1)).zip(ranked.chunks_mut(AT_ONCE)) {
        let Ok(queries) = view(part) else { continue };
        let found = search_rows(documents, queries, depth);
        ranked.par_iter_mut().zip(found).for_each(|(ranked, found)| {
            let offset = rows.start;
            ranked.keys.extend(found.hits.iter().map(|hit| key(hit.score, (hit.document + offset) as u32)));
            keep_best(&mut ranked.keys, depth);
        });
    }
}

/// Merges the best of one block of documents, found with the help of a device.
fn search_block_with(
    device: &mut dyn GroupMaxima,
    [vectors, block]: [&[f32]; 2],
    dim: usize,
    first: usize,
    depth: usize,
    ranked: &mut [RankedQuery],
) -> Result<()> {
    let view = |numbers| ArrayView2::from_shape((rows_of(numbers, dim), dim), numbers);
    let (Ok(queries), Ok(documents)) = (view(vectors), view(block)) else { return Ok(()) };
    let mut keys: Vec<&mut Vec<u64>> = ranked.iter_mut().map(|ranked| &mut ranked.keys).collect();
    device_search::search(device, documents, first, queries, depth, &mut keys)
}

fn rows_of(numbers: &[f32], dim: usize) -> usize {
    numbers.len().checked_div(dim).unwrap_or(0)
}

/// Divides every row by its length, as [`wb_core::Embeddings::normalized`] does; a row with a number that is not finite
/// is refused with its position.
fn normalize(side: &'static str, rows: &mut [f32], dim: usize, first: usize) -> Result<()> {
    let wrong = rows.par_chunks_mut(dim.max(1)).enumerate().find_map_first(|(at, row)| {
        let norm = row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt() as f32;
        if !norm.is_finite() {
            return Some(at);
        }
        if norm > 0.0 {
            row.iter_mut().for_each(|x| *x /= norm);
        }
        None
    });
    match wrong {
        Some(at) => Err(bad_vector(side, first + at, "a value that is not finite")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_fit_and_what_does_not_is_refused_with_what_would() {
        let sizes = [20_000, 200_000, 384];
        let depth = 52;
        let blocks = Blocks::within(ByteSize(400_000_000), 30_000_000, sizes, depth).unwrap();
        assert_eq!(blocks.queries, 20_000);
        assert!((100_000..200_000).contains(&blocks.documents), "{blocks:?}");
        let large = Blocks::within(ByteSize(8_000_000_000), 30_000_000, sizes, depth).unwrap();
        assert_eq!((large.queries, large.documents), (20_000, 200_000));
        let error = Blocks::within(ByteSize(64_000_000), 30_000_000, sizes, depth).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("negatives.ram: got 64MB, too small: texts take 30MB, one block of 52 candidates"),
            "{text}"
        );
        let hint: ByteSize = error.hint().unwrap().strip_prefix("negatives.ram=").unwrap().parse().unwrap();
        assert!(Blocks::within(hint, 30_000_000, sizes, depth).is_ok());
    }

    #[test]
    fn rows_that_are_not_finite_are_named() {
        let mut rows = vec![3.0, 4.0, 0.0, 0.0, f32::NAN, 1.0];
        let error = normalize("document", &mut rows, 2, 100).unwrap_err();
        assert!(error.to_string().starts_with("document vector 102 has a value that is not finite"), "{error}");
        let mut rows = vec![3.0, 4.0, 0.0, 0.0, 1e30, 0.0];
        normalize("query", &mut rows, 2, 0).unwrap();
        assert_eq!(rows, [0.6, 0.8, 0.0, 0.0, 1.0, 0.0]);
    }
}
