//! Building a compressed token index: centroids from a sample, then documents block by block.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use ndarray::Axis;
use rayon::prelude::*;
use wb_core::{Embeddings, Error, Progress, Seed, atomic, fingerprint::Fingerprint};

use super::{
    TokenIndexConfig,
    centroids::Centroids,
    codec::{Codec, scale_code},
    layout::{CENTROIDS, INDEX, Layout, Listed, SegmentEntry},
    open_centroids, segment,
};
use crate::{
    Result,
    error::{too_many, unlike_lengths},
    maxsim::check,
};

/// Tokens of the sample whose residuals the buckets are learned from.
const RESIDUALS: usize = 1 << 15;
/// Tokens that are compressed together.
const BLOCK: usize = 1 << 15;

/// Settings of a new index, and what it is made for.
#[derive(Debug, Clone)]
pub struct TokenIndexPlan {
    /// Settings of the index.
    pub config: TokenIndexConfig,
    /// Number of tokens that all documents will have, roughly; it decides the number of centroids.
    pub tokens: usize,
    /// Names and fingerprints of what makes the vectors, such as the encoder; checked when more are added.
    pub made_with: BTreeMap<String, String>,
    /// Decides the centroids' first places.
    pub seed: Seed,
}

/// Adds documents to an index.
///
/// Memory: the centroids, and for each block that is added its vectors (the caller's) and about a tenth of that.
/// Several tens of thousands of documents at once are a good block; each becomes a segment.
pub struct TokenIndexBuilder {
    folder: PathBuf,
    layout: Layout,
    centroids: Centroids,
    codec: Codec,
}

impl TokenIndexBuilder {
    /// Begins an index in a folder that is not there or empty: learns centroids and buckets from token vectors of some
    /// documents, drawn at random by the caller; 16 tokens for each centroid are plenty.
    pub fn create(
        folder: &Path,
        sample: &Embeddings,
        plan: TokenIndexPlan,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self> {
        plan.config.validate("index")?;
        fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        if folder.join(INDEX).exists() {
            return Err(Error::data(folder.display().to_string(), "there is an index already")
                .with_hint("add to it, or take the folder away"));
        }
        let vectors = sample.view();
        let (n, dim) = vectors.dim();
        if n == 0 || dim == 0 {
            return Err(Error::data("sample of token vectors", "none, expected at least one"));
        }
        check("document", vectors)?;
        let wanted = plan.config.centroids_for(plan.tokens, n);
        let centroids = Centroids::train(vectors, wanted, plan.config.iterations, plan.seed, progress);
        // Evenly from all over the sample.
        let rows: Vec<usize> = (0..n.min(RESIDUALS)).map(|at| at * n / n.min(RESIDUALS)).collect();
        let some = vectors.select(Axis(0), &rows);
        let nearest: Vec<usize> = centroids.nearest(some.view()).into_iter().map(|at| at as usize).collect();
        let residuals = some - centroids.view().select(Axis(0), &nearest);
        let codec = Codec::train(plan.config.bits, dim, residuals.into_iter().collect());
        let bytes: Vec<u8> = centroids.view().iter().flat_map(|x| x.to_le_bytes()).collect();
        atomic::write(&folder.join(CENTROIDS), &bytes)?;
        let layout =
            Layout::new(dim, centroids.len(), plan.config, plan.seed.0, plan.made_with, &codec, listed(&bytes));
        let builder = Self { folder: folder.to_owned(), layout, centroids, codec };
        builder.commit(&builder.layout)?;
        Ok(builder)
    }

    /// Goes on with an index, for vectors made with the same things.
    pub fn open(folder: &Path, made_with: &BTreeMap<String, String>) -> Result<Self> {
        let layout = Layout::read(folder)?;
        if layout.made_with != *made_with {
            let differs = |key: &&String| layout.made_with.get(*key) != made_with.get(*key);
            let mut keys: Vec<&String> = layout.made_with.keys().chain(made_with.keys()).filter(differs).collect();
            keys.dedup();
            let keys: Vec<&str> = keys.into_iter().map(String::as_str).collect();
            let message = format!("its vectors were made with other things: {}", keys.join(", "));
            return Err(
                Error::data(folder.display().to_string(), message).with_hint("build an index of its own for them")
            );
        }
        let (centroids, codec) = open_centroids(folder, &layout)?;
        Ok(Self { folder: folder.to_owned(), layout, centroids, codec })
    }

    /// Number of documents that were added so far.
    pub fn documents(&self) -> usize {
        self.layout.segments.iter().map(|segment| segment.documents).sum()
    }

    /// Adds documents after those that are there. When it returns they are on the disk; when it fails, or the process
    /// ends before that, the index is as it was.
    pub fn add(&mut self, documents: &Embeddings, progress: &mut dyn FnMut(Progress)) -> Result<()> {
        let vectors = documents.view();
        let tokens = vectors.nrows();
        if vectors.ncols() != self.layout.dim {
            let what = "dimensions of vectors and index";
            return Err(unlike_lengths(what, vectors.ncols(), self.layout.dim));
        }
        check("document", vectors)?;
        let limit = u32::MAX as usize;
        for given in [self.documents() + documents.texts(), tokens] {
            if given > limit {
                return Err(too_many(given, limit));
            }
        }
        if documents.is_empty() {
            return Ok(());
        }
        let size = self.codec.bytes();
        let mut codes = Vec::with_capacity(tokens);
        let (mut scales, mut residuals) = (vec![0u8; tokens], vec![0u8; tokens * size]);
        let blocks = scales.chunks_mut(BLOCK).zip(residuals.chunks_mut(BLOCK * size));
        for (block, (scales, out)) in vectors.axis_chunks_iter(Axis(0), BLOCK).zip(blocks) {
            let nearest = self.centroids.nearest(block);
            out.par_chunks_mut(size).zip(scales).enumerate().for_each(|(at, (out, scale))| {
                let centroid = self.centroids.view().index_axis_move(Axis(0), nearest[at] as usize);
                self.codec.encode(block.row(at), centroid, out);
                let mut decompressed = centroid.to_vec();
                self.codec.add_to(out, &mut decompressed);
                *scale = scale_code(decompressed.iter().map(|x| x * x).sum::<f32>().sqrt());
            });
            codes.extend(nearest);
            progress(Progress::new("compressing tokens", codes.len(), tokens));
        }
        let bytes = segment::bytes(&self.layout, documents, &codes, &scales, &residuals);
        let name = format!("segment-{:06}.bin", self.layout.segments.len());
        atomic::write(&self.folder.join(&name), &bytes)?;
        let mut layout = self.layout.clone();
        layout.segments.push(SegmentEntry { name, documents: documents.texts(), tokens, file: listed(&bytes) });
        self.commit(&layout)?;
        self.layout = layout;
        Ok(())
    }

    fn commit(&self, layout: &Layout) -> Result<()> {
        let text =
            serde_json::to_string_pretty(layout).map_err(|error| Error::data("index of tokens", error.to_string()))?;
        atomic::write(&self.folder.join(INDEX), text.as_bytes())
    }
}

fn listed(bytes: &[u8]) -> Listed {
    Listed { bytes: bytes.len() as u64, blake3: Fingerprint::of_bytes(bytes) }
}
