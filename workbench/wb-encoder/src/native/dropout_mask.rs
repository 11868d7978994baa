//! Dropout applied in place, drawn from the seed, the place in the network and the element's index.

use crate::{Dropout, kernels::vector::vectorized};

/// Dropout at one place of the network.
#[derive(Debug, Clone, Copy)]
pub struct Mask {
    key: u64,
    limit: u64,
    factor: f32,
}

impl Mask {
    /// `None` where nothing is dropped.
    pub fn new(dropout: Option<Dropout>, site: u64, probability: f64) -> Option<Self> {
        let dropout = dropout.filter(|_| probability > 0.0)?;
        Some(Self {
            key: scramble(dropout.seed ^ scramble(site.wrapping_add(0x5851_f42d_4c95_7f2d))),
            limit: (probability * (1u64 << 32) as f64) as u64,
            factor: (1.0 / (1.0 - probability)) as f32,
        })
    }

    /// Zeroes the dropped elements and scales the others; `first` is the index of `x[0]`.
    pub fn apply(self, x: &mut [f32], first: u64) {
        vectorized(
            #[inline(always)]
            || {
                for (offset, x) in x.iter_mut().enumerate() {
                    let index = first + offset as u64;
                    let drawn = scramble(self.key.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15))) >> 32;
                    *x = if drawn < self.limit { 0.0 } else { *x * self.factor };
                }
            },
        );
    }
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
#[inline(always)]
fn scramble(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_equal_the_whole_and_the_mean_stays() {
        let mask = Mask::new(Some(Dropout { seed: 7 }), 3, 0.25).unwrap();
        let mut whole = vec![1.0f32; 100_000];
        mask.apply(&mut whole, 0);
        let mut part = vec![1.0f32; 50];
        mask.apply(&mut part, 70);
        assert_eq!(part, whole[70..120]);
        let mean = whole.iter().sum::<f32>() / whole.len() as f32;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        assert!(Mask::new(None, 3, 0.25).is_none());
        assert!(Mask::new(Some(Dropout { seed: 7 }), 3, 0.0).is_none());
    }
}
