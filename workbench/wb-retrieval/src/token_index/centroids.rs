//! Centroids of token vectors: spherical k-means, and the nearest centroid of a token.
//!
//! Comparing every token with tens of thousands of centroids is most of the work of building an index. So centroids
//! are themselves in groups: a token is compared with the groups' centers, and then with the centroids of the best
//! groups. What that misses costs a slightly larger residual, which the residual's code keeps anyway.

use ndarray::{Array2, ArrayView2, Axis};
use rand::RngExt;
use rayon::prelude::*;
use wb_core::{Progress, Seed};

use crate::{
    inner_product::inner_products,
    top_k::{hit, key, top_k},
};

/// Up to so many centroids, all are compared.
const ALL: usize = 1024;
/// Groups that a token looks into.
const GROUPS_PROBED: usize = 8;
/// Rounds of k-means for the groups' centers.
const GROUP_ITERATIONS: usize = 4;
/// Tokens that are compared together.
const BLOCK: usize = 8192;

/// Unit vectors, and groups of them where there are many.
pub(super) struct Centroids {
    vectors: Array2<f32>,
    groups: Option<Groups>,
}

struct Groups {
    centers: Array2<f32>,
    /// Positions of the centroids of each group, and their vectors.
    members: Vec<(Vec<u32>, Array2<f32>)>,
}

impl Centroids {
    /// Learns `n` centroids from a sample of token vectors, `[tokens, dim]`, at least `n` of them.
    pub(super) fn train(
        sample: ArrayView2<'_, f32>,
        n: usize,
        iterations: usize,
        seed: Seed,
        progress: &mut dyn FnMut(Progress),
    ) -> Self {
        let mut centroids = Self::from_vectors(sample.select(Axis(0), &draw(sample.nrows(), n, seed)), seed);
        for round in 0..iterations {
            progress(Progress::new("learning centroids", round, iterations));
            let assigned = centroids.nearest(sample);
            let means = means(sample, &assigned, centroids.vectors);
            centroids = Self::from_vectors(means, seed);
        }
        progress(Progress::new("learning centroids", iterations, iterations));
        centroids
    }

    /// Centroids that were learned before; the same vectors and seed give the same groups.
    pub(super) fn from_vectors(vectors: Array2<f32>, seed: Seed) -> Self {
        let n = vectors.nrows();
        if n <= ALL {
            return Self { vectors, groups: None };
        }
        let n_groups = (n as f64).sqrt().ceil() as usize;
        let mut centers = vectors.select(Axis(0), &draw(n, n_groups, Seed(seed.0 ^ 1)));
        let mut assigned = nearest_of_all(vectors.view(), centers.view());
        for _ in 0..GROUP_ITERATIONS {
            centers = means(vectors.view(), &assigned, centers);
            assigned = nearest_of_all(vectors.view(), centers.view());
        }
        let mut positions: Vec<Vec<u32>> = vec![Vec::new(); n_groups];
        for (at, group) in assigned.iter().enumerate() {
            positions[*group as usize].push(at as u32);
        }
        let of_group = |positions: Vec<u32>| {
            let rows: Vec<usize> = positions.iter().map(|at| *at as usize).collect();
            let vectors = vectors.select(Axis(0), &rows);
            (positions, vectors)
        };
        let members = positions.into_iter().map(of_group).collect();
        Self { vectors, groups: Some(Groups { centers, members }) }
    }

    /// All of them, `[centroids, dim]`.
    pub(super) fn view(&self) -> ArrayView2<'_, f32> {
        self.vectors.view()
    }

    /// Number of centroids.
    pub(super) fn len(&self) -> usize {
        self.vectors.nrows()
    }

    /// The centroid of each token: the one with the greatest inner product among those of the nearest groups.
    pub(super) fn nearest(&self, tokens: ArrayView2<'_, f32>) -> Vec<u32> {
        match &self.groups {
            None => nearest_of_all(tokens, self.vectors.view()),
            Some(groups) => {
                let blocks = tokens.axis_chunks_iter(Axis(0), BLOCK);
                blocks.flat_map(|block| groups.nearest(block)).collect()
            }
        }
    }
}

impl Groups {
    fn nearest(&self, tokens: ArrayView2<'_, f32>) -> Vec<u32> {
        let scores = inner_products(tokens, self.centers.view());
        let probed: Vec<Vec<usize>> = (0..tokens.nrows())
            .into_par_iter()
            .map(|token| {
                let row = scores.row(token);
                let best = row.as_slice().map(|row| top_k(row, GROUPS_PROBED)).unwrap_or_default();
                best.into_iter().map(|hit| hit.document).collect()
            })
            .collect();
        let mut visitors: Vec<Vec<usize>> = vec![Vec::new(); self.members.len()];
        for (token, groups) in probed.iter().enumerate() {
            groups.iter().for_each(|group| visitors[*group].push(token));
        }
        let found: Vec<Vec<(usize, u64)>> = self
            .members
            .par_iter()
            .zip(&visitors)
            .filter(|((positions, _), tokens)| !positions.is_empty() && !tokens.is_empty())
            .map(|((positions, vectors), visitors)| {
                let scores = inner_products(tokens.select(Axis(0), visitors).view(), vectors.view());
                let best = |(row, token): (ndarray::ArrayView1<'_, f32>, &usize)| {
                    let best = row.iter().zip(positions).map(|(score, at)| key(*score, *at)).max();
                    (*token, best.unwrap_or(0))
                };
                scores.rows().into_iter().zip(visitors).map(best).collect()
            })
            .collect();
        let mut best = vec![0u64; tokens.nrows()];
        for (token, key) in found.into_iter().flatten() {
            best[token] = best[token].max(key);
        }
        best.into_iter().map(|key| hit(key).document as u32).collect()
    }
}

/// The greatest inner product for each token; ties go to the first.
fn nearest_of_all(tokens: ArrayView2<'_, f32>, centroids: ArrayView2<'_, f32>) -> Vec<u32> {
    let mut nearest = Vec::with_capacity(tokens.nrows());
    for block in tokens.axis_chunks_iter(Axis(0), BLOCK) {
        let scores = inner_products(block, centroids);
        let best: Vec<u32> = (0..block.nrows())
            .into_par_iter()
            .map(|token| {
                let keys = scores.row(token).into_iter().enumerate().map(|(at, score)| key(*score, at as u32)).max();
                hit(keys.unwrap_or(0)).document as u32
            })
            .collect();
        nearest.extend(best);
    }
    nearest
}

/// The mean direction of each centroid's tokens; one without tokens stays where it was.
fn means(tokens: ArrayView2<'_, f32>, assigned: &[u32], old: Array2<f32>) -> Array2<f32> {
    let mut of: Vec<Vec<u32>> = vec![Vec::new(); old.nrows()];
    for (token, centroid) in assigned.iter().enumerate() {
        of[*centroid as usize].push(token as u32);
    }
    let dim = old.ncols();
    let mut new = old.as_standard_layout().into_owned();
    let rows = new.as_slice_mut().unwrap_or_default().par_chunks_mut(dim.max(1));
    rows.zip(&of).for_each(|(centroid, members)| {
        let mut sum = vec![0f64; dim];
        for member in members {
            sum.iter_mut().zip(tokens.row(*member as usize)).for_each(|(sum, x)| *sum += f64::from(*x));
        }
        let norm = sum.iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm > 0.0 {
            centroid.iter_mut().zip(&sum).for_each(|(out, x)| *out = (x / norm) as f32);
        }
    });
    new
}

/// `n` different positions of `0..of`, ascending; all of them where there are no more.
fn draw(of: usize, n: usize, seed: Seed) -> Vec<usize> {
    // Floyd's way: as many draws as positions, whatever `of` is.
    let mut rng = seed.stream("centroids");
    let mut drawn = std::collections::BTreeSet::new();
    for last in of.saturating_sub(n)..of {
        let at = rng.random_range(0..=last);
        if !drawn.insert(at) {
            drawn.insert(last);
        }
    }
    drawn.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use wb_core::progress::silent;

    use super::*;
    use crate::token_index::tests::clustered;

    #[test]
    fn drawn_positions_are_different() {
        assert_eq!(draw(5, 9, Seed(1)), [0, 1, 2, 3, 4]);
        let drawn = draw(1000, 100, Seed(1));
        assert_eq!(drawn.len(), 100);
        assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]) && drawn[99] < 1000);
    }

    #[test]
    fn means_by_hand() {
        let tokens = ndarray::array![[1.0, 0.0], [0.0, 1.0], [0.0, -1.0]];
        let old = ndarray::array![[0.6, 0.8], [0.0, -1.0], [1.0, 0.0]];
        let new = means(tokens.view(), &[0, 0, 1], old);
        let half = 0.5f32.sqrt();
        assert_eq!(new, ndarray::array![[half, half], [0.0, -1.0], [1.0, 0.0]]);
    }

    #[test]
    fn groups_find_nearly_the_nearest() {
        let tokens = clustered(3, 6000, 32, 400);
        let centroids = Centroids::train(tokens.view(), 2048, 2, Seed(5), &mut silent);
        assert!(centroids.groups.is_some());
        let all = nearest_of_all(tokens.view(), centroids.view());
        let found = centroids.nearest(tokens.view());
        let same = all.iter().zip(&found).filter(|(a, b)| a == b).count();
        assert!(same * 100 > all.len() * 95, "{same} of {}", all.len());
        let score = |token: usize, at: u32| tokens.row(token).dot(&centroids.view().row(at as usize));
        let loss: f32 = (0..all.len()).map(|i| score(i, all[i]) - score(i, found[i])).sum::<f32>() / all.len() as f32;
        assert!((0.0..0.01).contains(&loss), "{loss}");
    }
}
