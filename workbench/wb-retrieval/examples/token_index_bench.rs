//! Builds a compressed token index of made-up documents, block by block, and says what that took and what it finds.
//!
//! `cargo run --release -p wb-retrieval --example token_index_bench -- [documents] [tokens] [dim] [bits]`

#![allow(clippy::print_stdout, clippy::expect_used, clippy::unwrap_used, reason = "a program for people who measure")]

use std::time::Instant;

use ndarray::{Array2, Axis};
use rand::RngExt;
use rayon::prelude::*;
use wb_core::{Embeddings, Ranking, Seed, progress::silent};
use wb_retrieval::{
    TokenIndex, TokenIndexBuilder,
    token_index::{PlaidSearch, TokenIndexConfig, TokenIndexPlan, TokenIndexSearch, XtrSearch, recall},
    top_k::top_k,
};

const QUERIES: usize = 64;
const QUERY_TOKENS: usize = 32;
/// Documents that are made and added together.
const BLOCK: usize = 2000;
/// Directions that tokens lie around, as words and their contexts do.
const SENSES: usize = 20_000;

/// Makes documents: each has a topic, whose senses most of its tokens come from.
struct Maker {
    senses: Array2<f32>,
    tokens: usize,
}

impl Maker {
    fn new(tokens: usize, dim: usize) -> Self {
        let mut rng = Seed(1).stream("senses");
        Self { senses: Array2::from_shape_fn((SENSES, dim), |_| rng.random_range(-1.0f32..1.0)), tokens }
    }

    fn document(&self, number: usize) -> Array2<f32> {
        let mut rng = Seed(2).stream_at("document", number as u64);
        let topic = rng.random_range(0..SENSES);
        let mut rows = Array2::zeros((self.tokens, self.senses.ncols()));
        for mut row in rows.rows_mut() {
            let near = (topic + rng.random_range(0..200)) % SENSES;
            let sense = if rng.random_range(0..4) == 0 { rng.random_range(0..SENSES) } else { near };
            row.iter_mut().zip(self.senses.row(sense)).for_each(|(x, s)| *x = s + rng.random_range(-0.7f32..0.7));
            let norm = row.dot(&row).sqrt();
            row.mapv_inplace(|x| x / norm);
        }
        rows
    }

    fn block(&self, documents: impl IntoParallelIterator<Item = usize>) -> Array2<f32> {
        let all: Vec<Array2<f32>> = documents.into_par_iter().map(|number| self.document(number)).collect();
        ndarray::concatenate(Axis(0), &all.iter().map(|rows| rows.view()).collect::<Vec<_>>()).expect("equal widths")
    }

    fn offsets(&self, documents: usize) -> Vec<usize> {
        (0..=documents).map(|at| at * self.tokens).collect()
    }
}

fn main() {
    let given: Vec<usize> = std::env::args().skip(1).map(|n| n.parse().expect("a number")).collect();
    let or = |at: usize, default: usize| given.get(at).copied().unwrap_or(default);
    let (documents, tokens, dim, bits) = (or(0, 100_000), or(1, 128), or(2, 128), or(3, 2) as u8);
    let folder = tempfile::tempdir().unwrap();
    let maker = Maker::new(tokens, dim);

    let config = TokenIndexConfig { bits, ..TokenIndexConfig::default() };
    let wanted = config.centroids_for(documents * tokens, usize::MAX);
    let sampled = (16 * wanted / tokens).clamp(1, documents);
    let sample = maker.block((0..sampled).map(|at| at * documents / sampled).collect::<Vec<_>>());
    let plan = TokenIndexPlan { config, tokens: documents * tokens, made_with: [].into(), seed: Seed(3) };
    let started = Instant::now();
    let sample = Embeddings::ragged(sample, maker.offsets(sampled)).unwrap();
    let mut builder = TokenIndexBuilder::create(folder.path(), &sample, plan, &mut silent).unwrap();
    drop(sample);
    println!("{wanted} centroids from {} tokens: {:.1} s", sampled * tokens, started.elapsed().as_secs_f64());

    // Documents that queries are made of are spread over all.
    let of_query = |query: usize| query * documents / QUERIES + 7 % documents;
    let mut queries = Array2::zeros((QUERIES * QUERY_TOKENS, dim));
    for query in 0..QUERIES {
        let (document, mut rng) = (maker.document(of_query(query)), Seed(4).stream_at("query", query as u64));
        for at in 0..QUERY_TOKENS {
            let mut row = document.row(rng.random_range(0..tokens)).to_owned();
            row.mapv_inplace(|x| x + rng.random_range(-0.1f32..0.1));
            let norm = row.dot(&row).sqrt();
            queries.row_mut(query * QUERY_TOKENS + at).assign(&(row / norm));
        }
    }
    let query_offsets: Vec<usize> = (0..=QUERIES).map(|at| at * QUERY_TOKENS).collect();

    let (mut adding, mut exact) = (0.0, vec![Vec::new(); QUERIES]);
    for first in (0..documents).step_by(BLOCK) {
        let n = BLOCK.min(documents - first);
        let block = maker.block((first..first + n).collect::<Vec<_>>());
        let block = Embeddings::ragged(block, maker.offsets(n)).unwrap();
        let started = Instant::now();
        builder.add(&block, &mut silent).unwrap();
        adding += started.elapsed().as_secs_f64();
        let products = wb_retrieval::inner_product::inner_products(queries.view(), block.view());
        for (query, scores) in exact.iter_mut().enumerate() {
            let of = |document: usize| -> f32 {
                let columns = document * tokens..(document + 1) * tokens;
                let best =
                    |row: usize| products.row(row).slice(ndarray::s![columns.clone()]).fold(f32::MIN, |a, b| a.max(*b));
                (query * QUERY_TOKENS..(query + 1) * QUERY_TOKENS).map(best).sum()
            };
            scores.extend((0..n).into_par_iter().map(of).collect::<Vec<f32>>());
        }
    }
    let exact: Vec<Ranking> =
        exact.iter().enumerate().map(|(query, scores)| Ranking { query, hits: top_k(scores, 100) }).collect();
    let index = TokenIndex::open(folder.path()).unwrap();
    let per_token = index.bytes() as f64 / index.tokens() as f64;
    println!(
        "{documents} documents of {tokens} tokens, {dim} dimensions, {bits} bits: added in {adding:.1} s, {:.2} GB, {per_token:.1} bytes a token",
        index.bytes() as f64 / 1e9
    );
    println!("memory at most: {}", peak());
    let queries = Embeddings::ragged(queries, query_offsets).unwrap();
    for probes in [4, 8, 16, 32] {
        for how in [
            TokenIndexSearch::Plaid(PlaidSearch { probes, candidates: 256 }),
            TokenIndexSearch::Xtr(XtrSearch { tokens: 1000, probes }),
        ] {
            let started = Instant::now();
            let found = index.search(&queries, 100, &how, &mut silent).unwrap();
            let seconds = started.elapsed().as_secs_f64();
            println!(
                "{how:?}: recall of the exact 10 {:.3}, 100 {:.3}; {:.1} queries/s",
                recall(&found, &exact, 10),
                recall(&found, &exact, 100),
                QUERIES as f64 / seconds
            );
        }
    }
}

/// The most memory that the process had, where the system says so.
fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "not known here".to_owned(), |line| line.trim().to_owned())
}
