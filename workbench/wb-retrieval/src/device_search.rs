//! Exact search with the help of a device: it says which groups of documents may hold something, and their scores are
//! the processor's.

use std::{borrow::Cow, cmp::Ordering, sync::mpsc::sync_channel, thread};

use ndarray::{Array2, ArrayView2, Axis, concatenate, s};
use rayon::prelude::*;
use wb_core::{GroupMaxima, group_maxima::GROUP};

use crate::{
    Error, Result,
    kernel::{GroupScores, Machine, Panels},
    top_k::{hit, keep_best, key},
};

/// Documents that the device has at once, unless they take more than [`MOST_BYTES`].
const DOCUMENTS: usize = 32_768;
/// Bytes of a buffer that every device has: of many, a shader binds no larger one.
const MOST_BYTES: usize = 128 << 20;
/// Queries that meet them together: their products take a quarter of a gigabyte on the device where they are of 32 bits.
const QUERIES: usize = 2048;
/// Queries below which no fewer are tried where a device's memory runs out.
const LEAST: usize = 32;
/// Multiplications below which the processor is done before a device has begun.
const FEW: usize = 1 << 32;
/// Documents for each that is wanted, below which most groups hold something.
const MANY: usize = 64;

/// True where a device saves time: there is much to multiply, and little of it matters.
pub(crate) fn pays(queries: usize, documents: usize, dim: usize, k: usize) -> bool {
    queries.saturating_mul(documents).saturating_mul(dim) >= FEW && documents >= MANY.saturating_mul(k)
}

/// Bytes of host memory that a search needs for it: documents regrouped, and what the device gives of four parts.
pub(crate) fn bytes(dim: usize) -> u64 {
    ((4 * DOCUMENTS * dim).min(MOST_BYTES) + 4 * 4 * QUERIES * DOCUMENTS / GROUP) as u64
}

/// True where no vector is longer than 1, up to rounding, as the device needs them.
pub(crate) fn short(rows: ArrayView2<'_, f32>) -> bool {
    (0..rows.nrows()).into_par_iter().all(|row| rows.row(row).dot(&rows.row(row)) < 1.0002)
}

/// Adds the best of some documents to the best `k` that each query has, as keys of [`crate::top_k`]; more than `k` of them
/// may be left. `first` is the position of the first document. The numbers are those of [`crate::flat::search_rows`].
pub(crate) fn search(
    device: &mut dyn GroupMaxima,
    documents: ArrayView2<'_, f32>,
    first: usize,
    queries: ArrayView2<'_, f32>,
    k: usize,
    keys: &mut [&mut Vec<u64>],
) -> Result<()> {
    let dim = documents.ncols();
    if k == 0 || dim == 0 {
        return Ok(());
    }
    let machine = Machine::here();
    let mut panels = Panels::empty(dim, machine.panel);
    let at_once = (MOST_BYTES / (size_of::<f32>() * dim) / GROUP * GROUP).clamp(GROUP, DOCUMENTS);
    let mut queries_at_once = QUERIES;
    for start in (0..documents.nrows()).step_by(at_once) {
        let block = documents.slice(s![start..(start + at_once).min(documents.nrows()), ..]);
        panels.fill(&block.as_slice().map_or_else(|| block.iter().copied().collect(), Cow::Borrowed));
        device.take(block)?;
        let found = Found { machine, panels: &panels, documents: block.nrows(), first: first + start, k };
        let error = device.error() * 1.0003;
        thread::scope(|scope| {
            // The device is at work on the next queries while the processor looks at these.
            let (send, receive) = sync_channel(1);
            let (device, queries_at_once) = (&mut *device, &mut queries_at_once);
            scope.spawn(move || {
                for part in queries.axis_chunks_iter(Axis(0), QUERIES) {
                    if send.send(maxima(device, part, queries_at_once)).is_err() {
                        return;
                    }
                }
            });
            let parts = queries.axis_chunks_iter(Axis(0), QUERIES).zip(keys.chunks_mut(QUERIES));
            for (part, keys) in parts {
                let Ok(maxima) = receive.recv() else { return Err(Error::failed("a device's products have ended")) };
                let maxima = maxima?;
                keys.par_iter_mut().enumerate().try_for_each(|(query, keys)| {
                    let vector: Vec<f32> = part.row(query).to_vec();
                    found.look(&vector, maxima.row(query).as_slice().unwrap_or_default(), error, keys)
                })?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Greatest products that a device gives of queries, so many at once, and half as many whenever its memory runs out.
fn maxima(device: &mut dyn GroupMaxima, queries: ArrayView2<'_, f32>, at_once: &mut usize) -> Result<Array2<f32>> {
    loop {
        let parts = queries.axis_chunks_iter(Axis(0), *at_once).map(|part| device.maxima(part));
        match parts.collect::<Result<Vec<_>>>() {
            Err(error) if *at_once > LEAST && device.was_too_much(&error) => *at_once /= 2,
            parts => {
                let parts = parts?;
                let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
                return concatenate(Axis(0), &views)
                    .map_err(|error| Error::data("a device's products", error.to_string()));
            }
        }
    }
}

/// Documents that a device has multiplied.
struct Found<'a> {
    machine: Machine,
    panels: &'a Panels,
    documents: usize,
    /// The position of the first among all.
    first: usize,
    k: usize,
}

impl Found<'_> {
    /// Computes the scores of one query in groups that may hold something for it, those of the greatest products first.
    fn look(&self, query: &[f32], maxima: &[f32], error: f32, keys: &mut Vec<u64>) -> Result<()> {
        let full = (2 * self.k).max(self.k + 2 * GROUP);
        let least = |keys: &[u64]| match keys.len() < self.k {
            true => f32::NEG_INFINITY,
            false => keys.iter().min().map_or(f32::NEG_INFINITY, |key| hit(*key).score),
        };
        keep_best(keys, self.k);
        let mut worst = least(keys);
        // A product that is no number may be any: it is looked at first, and told.
        let products = maxima.iter().map(|product| if product.is_nan() { f32::INFINITY } else { *product });
        let mut groups: Vec<(f32, usize)> =
            products.enumerate().filter(|(_, m)| *m + error >= worst).map(|(g, m)| (m, g)).collect();
        groups.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
        let mut scores = [0f32; GROUP];
        for (greatest, group) in groups {
            if greatest + error < worst {
                break;
            }
            let start = group * GROUP;
            let scores = &mut scores[..GROUP.min(self.documents - start)];
            self.machine.group_scores(GroupScores { query, panels: self.panels, start, scores });
            let exact = scores.iter().fold(f32::NEG_INFINITY, |greatest, score| greatest.max(*score));
            // Also where it is not a number.
            if (exact - greatest).abs().partial_cmp(&error).is_none_or(Ordering::is_gt) {
                return Err(Error::failed(format!(
                    "a device's product of vectors is {greatest}, expected {exact} within {error:.1e}"
                ))
                .with_hint("`wb doctor --device NAME` tests the device; device=cpu searches without it"));
            }
            for (document, score) in (self.first + start..).zip(&*scores) {
                // Equal to the worst of the best may be better, by its position.
                if *score >= worst {
                    keys.push(key(*score, document as u32));
                }
            }
            if keys.len() >= full || worst == f32::NEG_INFINITY {
                keep_best(keys, self.k);
                worst = least(keys);
            }
        }
        keep_best(keys, self.k);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use wb_core::{Embeddings, Ranking};

    use super::*;
    use crate::{Flat, inner_product::tests::random, top_k::into_hits};

    /// A device whose products are off by up to so much, and which counts what it was asked.
    struct Made {
        documents: Array2<f32>,
        error: f32,
        lies: f32,
        /// Queries that fit into its memory.
        room: usize,
    }

    impl GroupMaxima for Made {
        fn take(&mut self, documents: ArrayView2<'_, f32>) -> Result<()> {
            self.documents = documents.to_owned();
            Ok(())
        }

        fn maxima(&mut self, queries: ArrayView2<'_, f32>) -> Result<Array2<f32>> {
            if queries.nrows() > self.room {
                return Err(Error::failed("too much"));
            }
            let products = queries.dot(&self.documents.t());
            let groups: Vec<_> = products.axis_chunks_iter(Axis(1), GROUP).collect();
            Ok(Array2::from_shape_fn((queries.nrows(), groups.len()), |(query, group)| {
                let greatest = groups[group].row(query).fold(f32::NEG_INFINITY, |a, b| a.max(*b));
                // Up and down, as rounding is.
                greatest + self.lies * ((query * 7 + group * 3) as f32).sin()
            }))
        }

        fn was_too_much(&self, error: &Error) -> bool {
            error.to_string() == "too much"
        }

        fn error(&self) -> f32 {
            self.error
        }
    }

    fn made() -> Made {
        Made { documents: Array2::zeros((0, 0)), error: 1e-5, lies: 0.0, room: usize::MAX }
    }

    fn unit(seed: u64, rows: usize, dim: usize) -> Array2<f32> {
        Embeddings::dense(random(seed, rows, dim)).normalized().into_inner()
    }

    fn found(
        device: &mut dyn GroupMaxima,
        documents: &Array2<f32>,
        queries: &Array2<f32>,
        k: usize,
    ) -> Result<Vec<Ranking>> {
        let mut keys = vec![Vec::new(); queries.nrows()];
        // In two parts, so that what was found before counts.
        let half = documents.nrows() / 2;
        for (rows, first) in [(documents.slice(s![..half, ..]), 0), (documents.slice(s![half.., ..]), half)] {
            search(device, rows, first, queries.view(), k, &mut keys.iter_mut().collect::<Vec<_>>())?;
        }
        let ranking = |(query, keys)| Ranking { query, hits: into_hits(keys) };
        Ok(keys.into_iter().enumerate().map(ranking).collect())
    }

    #[test]
    fn rankings_are_the_processors_to_the_last_bit() {
        for (n, dim, k) in [(1000, 33, 10), (77, 8, 100), (40_000, 4, 7), (31, 5, 1), (2, 3, 1)] {
            let (mut documents, queries) = (unit(1, n, dim), unit(2, 50, dim));
            // Documents that are equal are told apart by position, across groups and parts.
            for at in (0..n).step_by(17) {
                let first = documents.row(0).to_owned();
                documents.row_mut(at).assign(&first);
            }
            let expected = Flat::new(Embeddings::dense(documents.clone())).unwrap();
            let expected = expected.search(&Embeddings::dense(queries.clone()), k).unwrap();
            for lies in [0.0, 1e-3, 0.1] {
                let mut device = Made { error: lies + 1e-5, lies, ..made() };
                assert_eq!(found(&mut device, &documents, &queries, k).unwrap(), expected, "{n} {dim} {k} {lies}");
            }
            let mut device = Made { room: 40, ..made() };
            assert_eq!(found(&mut device, &documents, &queries, k).unwrap(), expected, "{n} {dim} {k}, a small device");
            let mut device = Made { room: 20, ..made() };
            assert_eq!(found(&mut device, &documents, &queries, k).unwrap_err().to_string(), "too much");
        }
    }

    #[test]
    fn a_device_that_is_worse_than_it_says_is_found_out() {
        let (documents, queries) = (unit(1, 1000, 33), unit(2, 50, 33));
        let mut device = Made { lies: 1e-2, ..made() };
        let error = found(&mut device, &documents, &queries, 10).unwrap_err().to_string();
        assert!(error.starts_with("a device's product of vectors is "), "{error}");
        // One that gives what is no number, though none of it seems to be among the best.
        let mut device = Made { lies: f32::NAN, ..made() };
        let error = found(&mut device, &documents, &queries, 10).unwrap_err().to_string();
        assert!(error.starts_with("a device's product of vectors is "), "{error}");
    }

    #[test]
    fn vectors_of_length_one_are_short() {
        let mut vectors = unit(1, 100, 768);
        assert!(short(vectors.view()));
        vectors.row_mut(99).mapv_inplace(|x| x * 1.01);
        assert!(!short(vectors.view()));
    }
}
