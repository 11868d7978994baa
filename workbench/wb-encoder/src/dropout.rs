//! Dropout masks that depend on nothing but a seed, a place in the network and an index.
//!
//! Devices' own random numbers depend on what else runs there; these can be drawn again, in any order, on any thread.

use rayon::prelude::*;

use crate::Dropout;

/// Places in a network where dropout is applied; a layer's places are `SITES * (layer + 1) + place`.
pub const SITES: u64 = 8;
/// On the sum of the embeddings, once.
pub const EMBEDDINGS: u64 = 0;
/// On the attention probabilities of a layer.
pub const ATTENTION: u64 = 0;
/// On the attention's output of a layer.
pub const ATTENTION_OUTPUT: u64 = 1;
/// On the feed-forward output of a layer.
pub const OUTPUT: u64 = 2;

/// Elements made by one task.
const CHUNK: usize = 1 << 16;

/// Which of `len` elements are dropped, each with the given probability.
pub fn dropped(dropout: Dropout, site: u64, len: usize, probability: f64) -> Vec<bool> {
    let key = scramble(dropout.seed ^ scramble(site.wrapping_add(0x5851_f42d_4c95_7f2d)));
    let limit = (probability * (1u64 << 32) as f64) as u64;
    let mut mask = vec![false; len];
    mask.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, mask)| {
        for (offset, element) in mask.iter_mut().enumerate() {
            let index = (chunk * CHUNK + offset) as u64;
            *element = scramble(key.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15))) >> 32 < limit;
        }
    });
    mask
}

/// The place of an adapter's input: one for each layer name.
pub fn adapter_site(layer: &str) -> u64 {
    // FNV-1a: fixed for ever, unlike the standard library's hash. The high bit keeps it apart from the other places.
    let hash = layer.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    hash | 1 << 63
}

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): every input bit changes every output bit.
fn scramble(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_fixed_apart_and_as_dense_as_asked() {
        let draw = |seed, site| dropped(Dropout { seed }, site, 200_000, 0.1);
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(1, 3));
        assert_ne!(draw(1, 2), draw(2, 2));
        // 20,000 expected, standard deviation 134.
        let count = draw(1, 2).into_iter().filter(|d| *d).count();
        assert!((19_400..20_600).contains(&count), "{count}");
        // A shorter mask is the beginning of a longer one.
        assert_eq!(dropped(Dropout { seed: 1 }, 2, 50, 0.1), draw(1, 2)[..50]);
        assert!(dropped(Dropout { seed: 1 }, 2, 1000, 0.0).iter().all(|d| !d));
    }
}
