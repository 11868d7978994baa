//! MinHash sketches of code: sets of token shingles, their estimated and their true Jaccard similarity.
//!
//! A. Broder, "On the resemblance and containment of documents" (1997); banding as in J. Leskovec, A. Rajaraman,
//! J. Ullman, "Mining of Massive Datasets", chapter 3. Tokens are runs of letters, digits and `_`, and every other
//! visible character by itself; a shingle is five tokens in a row (a shorter text is one shingle). Where a library
//! would stop at the estimate, candidates here are always confirmed by the true similarity of their shingle sets.

use rayon::prelude::*;
use wb_core::{Seed, seed::split_mix64, simd};

use rand::RngExt;

/// Tokens in a shingle.
pub const SHINGLE: usize = 5;

/// Hash functions in a signature.
pub const PERMUTATIONS: usize = 128;

/// A text as a set of shingles and its MinHash signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sketch {
    /// Hashes of the distinct shingles, ascending.
    shingles: Vec<u32>,
    /// The least value of each hash function over the shingles.
    signature: Box<[u32; PERMUTATIONS]>,
}

/// Sketches of texts, in order; the same on every machine and for any number of threads.
pub fn sketches(texts: &[&str]) -> Vec<Sketch> {
    let minhash = MinHash::new();
    texts.par_iter().map(|text| minhash.sketch(text)).collect()
}

/// The least share of equal signature values with which texts can be near: five standard deviations below the threshold.
pub(crate) fn least_estimate(threshold: f64) -> f64 {
    threshold - 5.0 * (threshold * (1.0 - threshold) / PERMUTATIONS as f64).sqrt()
}

impl Sketch {
    /// Hashes of the distinct shingles, ascending.
    pub(crate) fn shingles(&self) -> &[u32] {
        &self.shingles
    }

    /// The least value of each hash function.
    pub(crate) fn signature(&self) -> &[u32; PERMUTATIONS] {
        &self.signature
    }

    /// |A ∩ B| / |A ∪ B| of the shingle sets; two empty texts are equal.
    pub fn jaccard(&self, other: &Self) -> f64 {
        let (a, b) = (&self.shingles, &other.shingles);
        if a.is_empty() && b.is_empty() {
            return 1.0;
        }
        let (mut i, mut j, mut both) = (0, 0, 0);
        while i < a.len() && j < b.len() {
            match a[i].cmp(&b[j]) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => {
                    (i, j, both) = (i + 1, j + 1, both + 1);
                }
            }
        }
        both as f64 / (a.len() + b.len() - both) as f64
    }

    /// The share of equal signature values: an estimate of [`Sketch::jaccard`] with a standard deviation of
    /// √(J(1−J)/128), at most 0.044.
    pub fn estimate(&self, other: &Self) -> f64 {
        let equal = self.signature.iter().zip(other.signature.iter()).filter(|(a, b)| a == b).count();
        equal as f64 / PERMUTATIONS as f64
    }

    /// True where the true similarity reaches a threshold; what cannot is told apart early.
    pub fn near(&self, other: &Self, threshold: f64) -> bool {
        let (a, b) = (self.shingles.len() as f64, other.shingles.len() as f64);
        // The smaller set divided by the larger bounds the similarity from above.
        if a.min(b) < threshold * a.max(b) {
            return false;
        }
        self.estimate(other) >= least_estimate(threshold) && self.jaccard(other) >= threshold
    }
}

/// Bands that a signature is cut into: texts that agree in all rows of a band become candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bands {
    /// Rows of a band.
    pub rows: usize,
    /// Bands.
    pub bands: usize,
}

/// Refuses a threshold that bands cannot serve; `key` is its config path.
pub(crate) fn check_threshold(near: f64, key: &str) -> wb_core::Result<()> {
    match near == 0.0 || (0.3..=1.0).contains(&near) {
        true => Ok(()),
        false => {
            let message = format!("got {near}, expected 0 (off) or a Jaccard similarity between 0.3 and 1");
            Err(wb_core::Error::value(key, message))
        }
    }
}

impl Bands {
    /// The longest bands that miss a pair at the threshold once in ten thousand times at most:
    /// (1 − thresholdʳ)ᵇ ≤ 10⁻⁴ with b = ⌊128 / r⌋. At 0.85 that is 21 bands of 6 rows.
    pub fn for_threshold(threshold: f64) -> Self {
        let misses = |rows: usize| (1.0 - threshold.powi(rows as i32)).powi((PERMUTATIONS / rows) as i32);
        let rows = (1..=32).rev().find(|rows| misses(*rows) <= 1e-4).unwrap_or(1);
        Self { rows, bands: PERMUTATIONS / rows }
    }

    /// The key of each band of a sketch; keys of different bands never meet.
    pub fn keys(self, sketch: &Sketch) -> Vec<u64> {
        sketch
            .signature
            .chunks_exact(self.rows)
            .take(self.bands)
            .zip(0_u64..)
            .map(|(rows, band)| rows.iter().fold(split_mix64(band), |key, row| split_mix64(key ^ u64::from(*row))))
            .collect()
    }
}

/// The hash functions x ↦ (x ⊕ mᵢ) · aᵢ mod 2³² with fixed random mᵢ and odd aᵢ, each a permutation of 32-bit hashes.
pub(crate) struct MinHash {
    arch: pulp::Arch,
    masks: [u32; PERMUTATIONS],
    factors: [u32; PERMUTATIONS],
}

impl MinHash {
    pub(crate) fn new() -> Self {
        // Fixed: a sketch is part of the method, not of an experiment's randomness.
        let mut rng = Seed(0).stream("minhash");
        let arch = pulp::Arch::new();
        Self {
            arch,
            masks: std::array::from_fn(|_| rng.random()),
            factors: std::array::from_fn(|_| rng.random::<u32>() | 1),
        }
    }

    pub(crate) fn sketch(&self, text: &str) -> Sketch {
        self.sketch_of(shingles(text))
    }

    /// The sketch of a text by its distinct shingles, ascending.
    pub(crate) fn sketch_of(&self, shingles: Vec<u32>) -> Sketch {
        let signature = self.signature(&shingles);
        Sketch { shingles, signature }
    }

    fn signature(&self, shingles: &[u32]) -> Box<[u32; PERMUTATIONS]> {
        let mut least = Box::new([u32::MAX; PERMUTATIONS]);
        // The same integer arithmetic on every processor, compiled for the widest registers that this one has.
        simd::dispatched(
            self.arch,
            #[inline(always)]
            || {
                for shingle in shingles {
                    for ((least, mask), factor) in least.iter_mut().zip(&self.masks).zip(&self.factors) {
                        *least = (*least).min((shingle ^ mask).wrapping_mul(*factor));
                    }
                }
            },
        );
        least
    }
}

fn shingles(text: &str) -> Vec<u32> {
    let tokens: Vec<u64> = tokens(text).map(|token| hash(token.as_bytes())).collect();
    let mut shingles: Vec<u32> = match tokens.len() {
        0 => Vec::new(),
        1..SHINGLE => vec![fold_tokens(&tokens)],
        _ => tokens.windows(SHINGLE).map(fold_tokens).collect(),
    };
    shingles.sort_unstable();
    shingles.dedup();
    shingles
}

fn fold_tokens(tokens: &[u64]) -> u32 {
    (tokens.iter().fold(0, |key, token| split_mix64(key ^ token)) >> 32) as u32
}

/// Runs of letters, digits and `_`; every other visible character by itself.
pub fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut rest = text;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let end = if word(first) { rest.find(|c| !word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (token, after) = rest.split_at(end);
        rest = after;
        Some(token)
    })
}

/// FNV-1a over bytes, finished by [`split_mix64`].
fn hash(bytes: &[u8]) -> u64 {
    split_mix64(
        bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_words_and_marks() {
        assert_eq!(tokens("a_1 += fö(x)").collect::<Vec<_>>(), ["a_1", "+", "=", "fö", "(", "x", ")"]);
        assert_eq!(tokens(" \n").count(), 0);
    }

    #[test]
    fn jaccard_by_hand() {
        // Seven tokens are three shingles; the other text shares the first two of its own three: 2 / 4.
        let two = sketches(&["a b c d e f g", "a b c d e f h", "", "x", "x"]);
        assert_eq!(two[0].jaccard(&two[1]), 0.5);
        assert_eq!(two[0].jaccard(&two[0]), 1.0);
        assert_eq!(two[0].jaccard(&two[2]), 0.0);
        assert_eq!(two[2].jaccard(&two[2]), 1.0);
        assert_eq!(two[3].jaccard(&two[4]), 1.0);
    }

    #[test]
    fn estimates_are_unbiased() {
        // 400 pairs of texts of 200 distinct tokens that share a prefix; the mean error is near zero and no error large.
        let mut texts = Vec::new();
        for at in 0..400 {
            let shared = at % 200;
            let text = |side: &str| {
                (0..200)
                    .map(|t| if t < shared { format!("t{at}_{t} ") } else { format!("{side}{at}_{t} ") })
                    .collect::<String>()
            };
            texts.push(text("l"));
            texts.push(text("r"));
        }
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let sketches = sketches(&texts);
        let errors: Vec<f64> =
            sketches.chunks(2).map(|two| two[0].estimate(&two[1]) - two[0].jaccard(&two[1])).collect();
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let largest = errors.iter().fold(0.0_f64, |largest, error| largest.max(error.abs()));
        assert!(mean.abs() < 0.008, "{mean}");
        assert!(largest < 0.2, "{largest}");
    }

    #[test]
    fn bands_fit_the_threshold() {
        assert_eq!(Bands::for_threshold(0.85), Bands { rows: 6, bands: 21 });
        for threshold in [0.3, 0.5, 0.7, 0.9, 0.95, 1.0] {
            let bands = Bands::for_threshold(threshold);
            assert!((1.0 - threshold.powi(bands.rows as i32)).powi(bands.bands as i32) <= 1e-4, "{threshold}");
        }
    }
}
