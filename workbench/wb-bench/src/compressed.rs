//! Recall against exact search, size and speed of a compressed token index for a late-interaction encoder.

use std::time::Instant;

use wb_core::{Embeddings, Encoder, Interaction, Progress, Seed};
use wb_retrieval::{
    TokenIndex, TokenIndexBuilder, maxsim,
    token_index::{PlaidSearch, TokenIndexConfig, TokenIndexPlan, TokenIndexSearch, XtrSearch, recall},
};

use crate::{Result, Scorer};

/// Queries that are searched, at most; speed and recall hardly change beyond.
const QUERIES: usize = 500;
/// Tokens of the sample for each centroid.
const SAMPLE: usize = 16;
/// Documents that are added together.
const BLOCK: usize = 20_000;
/// Depths at which rankings are compared.
const DEPTHS: [usize; 2] = [10, 100];

/// An index of a benchmark's documents, measured with its queries.
#[derive(Debug, Clone, PartialEq)]
pub struct Compressed {
    /// Documents in the index.
    pub documents: usize,
    /// Their tokens.
    pub tokens: usize,
    /// Centroids.
    pub centroids: usize,
    /// Bytes on the disk for each token, centroids included.
    pub bytes_per_token: f64,
    /// Bytes for each token of exact search, 4 for each number.
    pub exact_bytes_per_token: usize,
    /// Seconds that building took, without encoding.
    pub build_seconds: f64,
    /// Queries that were searched.
    pub queries: usize,
    /// Exact search first.
    pub searches: Vec<Searched>,
}

/// One way to search.
#[derive(Debug, Clone, PartialEq)]
pub struct Searched {
    /// Name of the way.
    pub name: String,
    /// Share of the exact 10 and of the exact 100 best documents that it found.
    pub recall: [f64; 2],
    /// Number of queries a second, without encoding them.
    pub queries_per_second: f64,
}

/// Refuses an encoder of one vector a text, which a token index cannot hold.
pub fn check_compressible(encoder: &dyn Encoder) -> Result<()> {
    match encoder.interaction() {
        Interaction::MaxSim => Ok(()),
        Interaction::InnerProduct => Err(of_whole_texts(&encoder.name())),
    }
}

fn of_whole_texts(name: &str) -> wb_core::Error {
    wb_core::Error::data(name, "gives one vector a text, and a token index holds one a token")
        .with_hint("measure an encoder with late_interaction, or leave the token index away")
}

/// Builds an index of all documents in a temporary folder and searches it with the first queries. An encoder of one
/// vector a text is an error.
pub fn compressed(
    scorer: &Scorer<'_>,
    config: &TokenIndexConfig,
    seed: Seed,
    progress: &mut dyn FnMut(Progress),
) -> Result<Compressed> {
    config.validate("token_index")?;
    let Some((queries, documents)) = scorer.token_vectors() else {
        return Err(of_whole_texts(scorer.name()));
    };
    let queries = queries.part(0..queries.texts().min(QUERIES));
    let started = Instant::now();
    let exact = maxsim::rank(&queries, documents, DEPTHS[1])?;
    let mut searches = vec![Searched {
        name: "exact MaxSim".to_owned(),
        recall: [1.0; 2],
        queries_per_second: speed(&queries, started),
    }];

    let folder = tempfile::tempdir().map_err(wb_core::Error::io("create", &std::env::temp_dir()))?;
    let started = Instant::now();
    let tokens = documents.view().nrows();
    let plan = TokenIndexPlan { config: config.clone(), tokens, made_with: [].into(), seed };
    let sample = sample(documents, SAMPLE * config.centroids_for(tokens, usize::MAX), seed);
    let mut builder = TokenIndexBuilder::create(folder.path(), &sample, plan, progress)?;
    for first in (0..documents.texts()).step_by(BLOCK) {
        builder.add(&documents.part(first..documents.texts().min(first + BLOCK)), progress)?;
    }
    let build_seconds = started.elapsed().as_secs_f64();
    let index = TokenIndex::open(folder.path())?;
    for (name, how) in ways() {
        let started = Instant::now();
        let found = index.search(&queries, DEPTHS[1], &how, progress)?;
        let queries_per_second = speed(&queries, started);
        searches.push(Searched { name, recall: DEPTHS.map(|k| recall(&found, &exact, k)), queries_per_second });
    }
    Ok(Compressed {
        documents: index.len(),
        tokens,
        centroids: index.centroids(),
        bytes_per_token: index.bytes() as f64 / tokens.max(1) as f64,
        exact_bytes_per_token: 4 * index.dim(),
        build_seconds,
        queries: queries.texts(),
        searches,
    })
}

fn ways() -> Vec<(String, TokenIndexSearch)> {
    let mut ways = Vec::new();
    for (probes, candidates) in [(4, 256), (8, 256), (16, 1024)] {
        let name = format!("PLAID, {probes} probes, {candidates} candidates");
        ways.push((name, TokenIndexSearch::Plaid(PlaidSearch { probes, candidates })));
    }
    for (probes, tokens) in [(16, 1000), (64, 1000), (64, 40_000)] {
        let name = format!("XTR, {probes} probes, {tokens} tokens");
        ways.push((name, TokenIndexSearch::Xtr(XtrSearch { probes, tokens })));
    }
    ways
}

/// Documents drawn at random until they have so many tokens.
fn sample(documents: &Embeddings, tokens: usize, seed: Seed) -> Embeddings {
    let order = seed.permutation_at("token index sample", 0, documents.texts());
    let mut found = 0;
    let mut chosen: Vec<usize> = order
        .into_iter()
        .take_while(|document| {
            let more = found < tokens;
            found += documents.of(*document).nrows();
            more
        })
        .collect();
    chosen.sort_unstable();
    documents.select(chosen)
}

fn speed(queries: &Embeddings, started: Instant) -> f64 {
    queries.texts() as f64 / started.elapsed().as_secs_f64().max(1e-9)
}
