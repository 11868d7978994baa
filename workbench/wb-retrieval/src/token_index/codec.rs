//! Residuals, the difference of a token vector and its centroid, in a few bits for each number.
//!
//! The buckets are those of ColBERTv2 (Santhanam et al. 2022): cut at the quantiles of residuals of a sample, so that
//! all are equally full, and each stands for its middle quantile. One set of buckets for all dimensions.

use ndarray::ArrayView1;
use wb_core::statistics::quantile;

/// Buckets, and how codes are packed: `8 / bits` of them in a byte, the first in the lowest bits.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Codec {
    bits: u32,
    dim: usize,
    /// Ascending; one less than there are buckets.
    cuts: Vec<f32>,
    /// Values that buckets stand for.
    values: Vec<f32>,
}

impl Codec {
    /// Learns buckets from numbers of residuals.
    pub(super) fn train(bits: u8, dim: usize, mut numbers: Vec<f32>) -> Self {
        numbers.sort_unstable_by(f32::total_cmp);
        let buckets = 1usize << bits;
        let quantile = |share: f64| quantile(&numbers, share).unwrap_or_default() as f32;
        let cuts = (1..buckets).map(|at| quantile(at as f64 / buckets as f64)).collect();
        let values = (0..buckets).map(|at| quantile((at as f64 + 0.5) / buckets as f64)).collect();
        Self { bits: u32::from(bits), dim, cuts, values }
    }

    /// Buckets that were learned before; nothing where their number does not fit the bits.
    pub(super) fn from_buckets(bits: u8, dim: usize, cuts: Vec<f32>, values: Vec<f32>) -> Option<Self> {
        let buckets = 1usize << bits;
        (cuts.len() == buckets - 1 && values.len() == buckets).then_some(Self {
            bits: u32::from(bits),
            dim,
            cuts,
            values,
        })
    }

    pub(super) fn cuts(&self) -> &[f32] {
        &self.cuts
    }

    pub(super) fn values(&self) -> &[f32] {
        &self.values
    }

    /// Bytes of one token's residual.
    pub(super) fn bytes(&self) -> usize {
        bytes_of(self.dim, self.bits as u8)
    }

    fn per_byte(&self) -> usize {
        8 / self.bits as usize
    }

    /// Writes the codes of `token - centroid` into `out`, [`Codec::bytes`] of them.
    pub(super) fn encode(&self, token: ArrayView1<'_, f32>, centroid: ArrayView1<'_, f32>, out: &mut [u8]) {
        out.fill(0);
        for (at, (x, c)) in token.iter().zip(centroid).enumerate() {
            let residual = x - c;
            let code = self.cuts.partition_point(|cut| *cut < residual) as u32;
            out[at / self.per_byte()] |= (code << ((at % self.per_byte()) as u32 * self.bits)) as u8;
        }
    }

    /// Adds the residual to `out`, which holds the centroid.
    pub(super) fn add_to(&self, residual: &[u8], out: &mut [f32]) {
        let mask = (1u32 << self.bits) - 1;
        for (numbers, byte) in out.chunks_mut(self.per_byte()).zip(residual) {
            for (at, number) in numbers.iter_mut().enumerate() {
                let code = (u32::from(*byte) >> (at as u32 * self.bits)) & mask;
                *number += self.values[code as usize];
            }
        }
    }

    /// Amounts that every value of every byte adds to the inner product with a query token: 256 numbers a byte.
    pub(super) fn table(&self, query: ArrayView1<'_, f32>) -> Vec<f32> {
        let mask = (1usize << self.bits) - 1;
        let mut table = vec![0f32; self.bytes() * 256];
        for (at, x) in query.iter().enumerate() {
            let shift = (at % self.per_byte()) * self.bits as usize;
            let of_byte = &mut table[at / self.per_byte() * 256..][..256];
            for (byte, sum) in of_byte.iter_mut().enumerate() {
                *sum += x * self.values[(byte >> shift) & mask];
            }
        }
        table
    }
}

/// The inner product of a query token with a residual, by the query token's table.
pub(super) fn look_up(table: &[f32], residual: &[u8]) -> f32 {
    // Four chains, so that additions need not wait for each other.
    let mut sums = [0f32; 4];
    for (at, (values, byte)) in table.as_chunks::<256>().0.iter().zip(residual).enumerate() {
        sums[at % 4] += values[usize::from(*byte)];
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// The byte for what a vector of this length has to be multiplied by to have length 1, between 1/2 and 3/2.
pub(super) fn scale_code(length: f32) -> u8 {
    ((length.recip() - 0.5) * 255.0).round().clamp(0.0, 255.0) as u8
}

/// The number that such a byte stands for.
pub(super) fn scale(code: u8) -> f32 {
    0.5 + f32::from(code) / 255.0
}

/// Bytes of a residual of so many numbers.
pub(super) fn bytes_of(dim: usize, bits: u8) -> usize {
    (dim * usize::from(bits)).div_ceil(8)
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, array};
    use rand::RngExt;
    use wb_core::Seed;

    use super::*;

    #[test]
    fn buckets_and_codes_by_hand() {
        // Quartiles of 0..=8 are 2, 4, 6; the middles of the quarters 1, 3, 5, 7.
        let codec = Codec::train(2, 5, (0u8..=8).map(f32::from).collect());
        assert_eq!(codec.cuts, [2.0, 4.0, 6.0]);
        assert_eq!(codec.values, [1.0, 3.0, 5.0, 7.0]);
        let mut bytes = [9; 2];
        codec.encode(array![0.0, 2.0, 2.5, 100.0, 5.0].view(), Array1::zeros(5).view(), &mut bytes);
        // Codes 0, 0, 1, 3 | 2.
        assert_eq!(bytes, [0b1101_0000, 0b10]);
        let mut out = [10.0; 5];
        codec.add_to(&bytes, &mut out);
        assert_eq!(out, [11.0, 11.0, 13.0, 17.0, 15.0]);
    }

    #[test]
    fn scales_by_hand() {
        for (length, scale_of_it) in [(1.0, 1.0), (2.0, 0.5), (4.0, 0.5), (0.0, 1.5), (0.8, 1.25)] {
            let found = scale(scale_code(length));
            assert!((found - scale_of_it).abs() <= 0.5 / 255.0 + 1e-6, "{length}: {found}");
        }
    }

    #[test]
    fn looking_up_is_the_inner_product_with_what_was_decoded() {
        let mut rng = Seed(3).stream("codec");
        let mut random = |n: usize| Array1::from_shape_fn(n, |_| rng.random_range(-0.3f32..0.3));
        for bits in [1u8, 2, 4, 8] {
            for dim in [1, 7, 16, 33, 128] {
                let codec = Codec::train(bits, dim, random(4000).to_vec());
                let (token, query) = (random(dim), random(dim));
                let mut bytes = vec![0; codec.bytes()];
                codec.encode(token.view(), Array1::zeros(dim).view(), &mut bytes);
                let mut decoded = vec![0f32; dim];
                codec.add_to(&bytes, &mut decoded);
                let expected: f32 = decoded.iter().zip(&query).map(|(a, b)| a * b).sum();
                let found = look_up(&codec.table(query.view()), &bytes);
                assert!((found - expected).abs() < 1e-5, "{bits} bits, {dim}: {found} {expected}");
                let worst = decoded.iter().zip(&token).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                let widest = 0.6 / f32::from(1u16 << bits);
                assert!(worst < 1.2 * widest, "{bits} bits: {worst} of {widest}");
            }
        }
    }
}
