//! Vectors in one byte a number, each with a scale of its own, compared with a query in full precision.

use pulp::Arch;
use rayon::prelude::*;
use wb_core::{Error, Result, simd};

use crate::MappedBytes;

/// Vectors that one thread takes at a time.
const TOGETHER: usize = 4096;
/// Texts of several vectors that one thread takes at a time.
const TEXTS_TOGETHER: usize = 64;

/// Vectors of `dim` numbers, one byte each: number `i` is `code[i] * scale`. A quarter of the memory of 32 bits; for
/// vectors of length 1 and 256 numbers, an inner product is wrong by about .001 (the root of the mean square).
#[derive(Debug, Clone, Default)]
pub struct ByteVectors {
    dim: usize,
    codes: Codes,
    scales: Vec<f32>,
}

/// Numbers of vectors: those of a file where it lies, else those that grow here.
#[derive(Debug, Clone, Default)]
struct Codes {
    mapped: Option<MappedBytes>,
    own: Vec<i8>,
}

impl Codes {
    /// The numbers to add some to; those of a file are copied first.
    fn own(&mut self) -> &mut Vec<i8> {
        if let Some(bytes) = self.mapped.take() {
            self.own = bytemuck::cast_slice(bytes.as_slice()).to_vec();
        }
        &mut self.own
    }
}

impl PartialEq for ByteVectors {
    fn eq(&self, other: &Self) -> bool {
        (self.dim, self.codes(), &self.scales) == (other.dim, other.codes(), &other.scales)
    }
}

impl ByteVectors {
    /// None yet.
    pub fn empty(dim: usize) -> Self {
        Self { dim, ..Self::default() }
    }

    /// Takes what [`ByteVectors::codes`] and [`ByteVectors::scales`] gave; an error where they do not fit together.
    pub fn from_parts(dim: usize, codes: MappedBytes, scales: Vec<f32>) -> Result<Self> {
        if codes.len() != dim * scales.len() || !scales.iter().all(|scale| scale.is_finite()) {
            let what = format!("{} codes and {} scales are no vectors of {dim} numbers", codes.len(), scales.len());
            return Err(Error::data("vectors in bytes", what));
        }
        Ok(Self { dim, codes: Codes { mapped: Some(codes), own: Vec::new() }, scales })
    }

    /// Adds a vector behind those that are there, each number rounded to the nearest of 255 steps up to its greatest.
    ///
    /// # Panics
    /// When it has another number of dimensions.
    pub fn push(&mut self, vector: &[f32]) {
        assert_eq!(vector.len(), self.dim, "dimensions of a vector");
        let greatest = vector.iter().fold(0.0_f32, |greatest, x| greatest.max(x.abs()));
        let steps = if greatest > 0.0 { 127.0 / greatest } else { 0.0 };
        self.codes.own().extend(vector.iter().map(|x| (x * steps).round() as i8));
        self.scales.push(greatest / 127.0);
    }

    /// Adds one of others behind those that are there.
    pub fn push_from(&mut self, others: &Self, at: usize) {
        self.codes.own().extend_from_slice(&others.codes()[at * self.dim..][..self.dim]);
        self.scales.push(others.scales[at]);
    }

    /// Number of vectors.
    pub fn len(&self) -> usize {
        self.scales.len()
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.scales.is_empty()
    }

    /// Length of a vector.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Numbers of all vectors in steps, `[len, dim]`.
    pub fn codes(&self) -> &[i8] {
        self.codes.mapped.as_ref().map_or(&self.codes.own, |bytes| bytemuck::cast_slice(bytes.as_slice()))
    }

    /// Size of a step of each vector, `[len]`.
    pub fn scales(&self) -> &[f32] {
        &self.scales
    }

    /// MaxSim of a query with texts of several vectors each, `[texts]`, as a mean: the greatest inner product of each of the
    /// query's vectors (`[n * dim]`) with one of the text's, summed and divided by `n`. Text `i` has the vectors up to
    /// `ends[i]`; one without any has 0. Rounding is that of [`ByteVectors::scores`], and so are threads and machines.
    ///
    /// # Panics
    /// When the query is no vectors of this length, or the ends are not ascending up to the number of vectors.
    pub fn mean_max_sims(&self, query: &[f32], ends: &[u32]) -> Vec<f32> {
        let dim = self.dim.max(1);
        assert_eq!(query.len() % dim, 0, "dimensions of a query");
        assert_eq!(ends.last().copied().unwrap_or_default() as usize, self.len(), "the end of the last text");
        let query: Vec<(Vec<i16>, f32)> = query.chunks_exact(dim).map(in_steps).collect();
        let share = 1.0 / query.len().max(1) as f32;
        let codes = self.codes();
        let of_text = |text: usize| {
            let first = text.checked_sub(1).map_or(0, |before| ends[before] as usize);
            let rows = first..ends[text] as usize;
            let (codes, scales) = (&codes[rows.start * dim..rows.end * dim], &self.scales[rows]);
            let best = |(numbers, step): &(Vec<i16>, f32)| {
                let rows = codes.chunks_exact(dim).zip(scales);
                rows.map(|(codes, scale)| product(numbers, codes) as f32 * step * scale).fold(f32::MIN, f32::max)
            };
            if scales.is_empty() { 0.0 } else { query.iter().map(best).sum::<f32>() * share }
        };
        let mut sims = vec![0.0; ends.len()];
        sims.par_chunks_mut(TEXTS_TOGETHER).enumerate().for_each(|(chunk, sims)| {
            simd::dispatched(
                Arch::new(),
                #[inline(always)]
                || sims.iter_mut().zip(chunk * TEXTS_TOGETHER..).for_each(|(sim, text)| *sim = of_text(text)),
            );
        });
        sims
    }

    /// Inner products of a query with every vector, `[len]`, the query rounded to 16 bits a number (fewer beyond 512 numbers,
    /// 13 for 4,096); the same bits on every machine and with any number of threads.
    ///
    /// # Panics
    /// When it has another number of dimensions.
    pub fn scores(&self, query: &[f32]) -> Vec<f32> {
        assert_eq!(query.len(), self.dim, "dimensions of a query");
        let (query, step) = in_steps(query);
        let mut scores = vec![0.0; self.len()];
        let parts = self.codes().par_chunks(TOGETHER * self.dim.max(1)).zip(self.scales.par_chunks(TOGETHER));
        scores.par_chunks_mut(TOGETHER).zip(parts).for_each(|(scores, (codes, scales))| {
            simd::dispatched(
                Arch::new(),
                #[inline(always)]
                || {
                    let rows = codes.chunks_exact(self.dim.max(1)).zip(scales);
                    for (score, (codes, scale)) in scores.iter_mut().zip(rows) {
                        *score = product(&query, codes) as f32 * step * scale;
                    }
                },
            );
        });
        scores
    }
}

/// Product in whole numbers, whose sum is the same in any order: a compiler may take as many at once as a processor has.
#[inline(always)]
fn product(query: &[i16], codes: &[i8]) -> i32 {
    query.iter().zip(codes).map(|(number, code)| i32::from(*number) * i32::from(*code)).sum()
}

/// A query in steps, and the size of a step: as fine as 16 bits are, but so that no sum of products leaves 32.
fn in_steps(query: &[f32]) -> (Vec<i16>, f32) {
    let most = (i32::MAX / (128 * query.len().max(1) as i32)).min(i32::from(i16::MAX)) as f32;
    let greatest = query.iter().fold(0.0_f32, |greatest, x| greatest.max(x.abs()));
    let steps = if greatest > 0.0 { most / greatest } else { 0.0 };
    (query.iter().map(|x| (x * steps).round() as i16).collect(), greatest / most)
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use wb_core::Seed;

    use super::*;

    #[test]
    fn products_are_those_of_the_numbers_that_are_kept() {
        let mut vectors = ByteVectors::empty(3);
        vectors.push(&[1.27, -0.635, 0.0]);
        vectors.push(&[0.0; 3]);
        assert_eq!((vectors.codes(), vectors.len()), (&[127, -64, 0, 0, 0, 0][..], 2));
        let scores = vectors.scores(&[1.0, 2.0, 3.0]);
        // 1 and 2 in steps of 3 / 32,767.
        let expected = (10_922.0 * 1.27 - 21_845.0 * 0.64) * (3.0 / 32_767.0);
        assert!((scores[0] - expected).abs() < 1e-6, "{scores:?}");
        assert_eq!(scores[1], 0.0);
        let mut again = ByteVectors::empty(3);
        again.push_from(&vectors, 1);
        again.push_from(&vectors, 0);
        assert_eq!(again.scores(&[1.0, 2.0, 3.0]), [scores[1], scores[0]]);
    }

    #[test]
    fn texts_of_several_vectors_are_scored_by_their_best() {
        let mut vectors = ByteVectors::empty(2);
        [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.6, 0.8]].iter().for_each(|vector| vectors.push(vector));
        // The first text has two vectors, the second none, the third two.
        let sims = vectors.mean_max_sims(&[1.0, 0.0, 0.0, -1.0], &[2, 2, 4]);
        // Greatest products 1 and 0; .6 and 0.
        assert!((sims[0] - 0.5).abs() < 1e-4 && sims[1] == 0.0 && (sims[2] - 0.3).abs() < 2e-3, "{sims:?}");
        let one_each = vectors.mean_max_sims(&[0.3, 0.4], &[1, 2, 3, 4]);
        assert_eq!(one_each, vectors.scores(&[0.3, 0.4]));
        assert_eq!(ByteVectors::empty(2).mean_max_sims(&[1.0, 0.0], &[0, 0]), [0.0; 2]);
    }

    #[test]
    fn no_sum_is_too_large() {
        for dim in [1, 512, 1024, 4096, 16_384] {
            let mut vectors = ByteVectors::empty(dim);
            vectors.push(&vec![-2.0; dim]);
            let score = vectors.scores(&vec![3.0; dim])[0];
            assert!((score / (-6.0 * dim as f32) - 1.0).abs() < 1e-5, "{dim}: {score}");
            assert_eq!(vectors.scores(&vec![0.0; dim]), [0.0]);
        }
    }

    #[test]
    fn an_inner_product_of_unit_vectors_is_wrong_by_a_thousandth() {
        let mut numbers = Seed(3).stream("byte vectors");
        let mut unit = |dim: usize| -> Vec<f32> {
            let vector: Vec<f32> = (0..dim).map(|_| numbers.random_range(-1.0..1.0)).collect();
            let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            vector.into_iter().map(|x| x / length).collect()
        };
        for dim in [1, 31, 32, 33, 256] {
            let mut vectors = ByteVectors::empty(dim);
            let exact: Vec<Vec<f32>> = (0..5000).map(|_| unit(dim)).collect();
            exact.iter().for_each(|vector| vectors.push(vector));
            let query = unit(dim);
            let scores = vectors.scores(&query);
            let wrong = scores.iter().zip(&exact).map(|(score, vector)| {
                let product: f64 = vector.iter().zip(&query).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
                (f64::from(*score) - product).powi(2)
            });
            let root = (wrong.sum::<f64>() / 5000.0).sqrt();
            assert!(root < 0.005 / (dim as f64).sqrt().max(3.0), "{dim}: {root}");
        }
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        assert!(ByteVectors::from_parts(2, MappedBytes::new(vec![0; 4]), vec![1.0; 2]).is_ok());
        for (codes, scale) in [(3, 1.0), (4, f32::NAN)] {
            assert!(ByteVectors::from_parts(2, MappedBytes::new(vec![0; codes]), vec![scale; 2]).is_err());
        }
    }
}
