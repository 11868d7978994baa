//! Dropout masks that depend on nothing but a seed, a place in the network, a text's place in the batch and an index.
//!
//! Devices' own random numbers depend on what else runs there; these can be drawn again, in any order, on any thread, and
//! on any device: the hash is of 32-bit words, which all of them have (`on_device::masks`).

use wb_core::seed::mix64;

use crate::backbone::Dropout;

/// Places in a network where dropout is applied; a layer's places are `SITES * (layer + 1) + place`.
pub const SITES: u64 = 8;
/// Site on the sum of the embeddings, once.
pub const EMBEDDINGS: u64 = 0;
/// Site on the attention probabilities of a layer.
pub const ATTENTION: u64 = 0;
/// Site on the attention's output of a layer.
pub const ATTENTION_OUTPUT: u64 = 1;
/// Site on the feed-forward output of a layer.
pub const OUTPUT: u64 = 2;
/// Between the feed-forward products of a layer, in a T5.
pub const INNER: u64 = 3;
/// Site on the states after the last normalization, once, in a T5.
pub const STATES: u64 = 1;

/// An odd number near 2^32 over the golden ratio: steps by it are spread evenly.
pub const STEP: u32 = 0x9e37_79b9;
/// The factors of [`MaskKey::word`], with shifts of 16, 15 and 16 between: those of `lowbias32` (Wellons 2018, "Prospecting
/// for Hash Functions"), among the least biased that there are of this form.
pub const FACTORS: [u32; 2] = [0x7feb_352d, 0x846c_a68b];
/// Number of bits that are drawn for an element.
pub const BITS: u32 = 24;

/// Two words that decide a mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaskKey {
    /// Added before the words are mixed.
    pub add: u32,
    /// Turns bits on and off while they are mixed, so that the masks of two keys are no shifted copies of each other.
    pub turn: u32,
}

impl MaskKey {
    /// The key of a place in the network.
    pub fn of_site(dropout: Dropout, site: u64) -> Self {
        let both = mix64(dropout.seed ^ mix64(site.wrapping_add(0x5851_f42d_4c95_7f2d)));
        Self { add: both as u32, turn: (both >> 32) as u32 }
    }

    /// The key of a part of what this is the key of: of a text by its place in the whole batch, of a head by its number.
    /// The way a batch is cut into parts has no say in it.
    #[inline(always)]
    pub fn of(self, number: u32) -> Self {
        let crossed = Self { add: self.turn, turn: self.add };
        Self { add: self.word(number), turn: crossed.word(number) }
    }

    /// A word for a number.
    #[inline(always)]
    pub fn word(self, number: u32) -> u32 {
        let x = number.wrapping_mul(STEP).wrapping_add(self.add);
        let x = (x ^ (x >> 16)).wrapping_mul(FACTORS[0]);
        let x = (x ^ (x >> 15) ^ self.turn).wrapping_mul(FACTORS[1]);
        x ^ (x >> 16)
    }

    /// The number drawn for an element, of [`BITS`] bits.
    #[inline(always)]
    pub fn draw(self, element: u32) -> u32 {
        self.word(element) >> (32 - BITS)
    }
}

/// The first element of a query's row of attention probabilities, those with all keys. It does not depend on the text's
/// length, so that padding moves nothing.
#[inline(always)]
pub fn attention_element(query: usize) -> u32 {
    (query as u32) << 16
}

/// Below this a drawn number drops its element.
pub fn limit(probability: f64) -> u32 {
    (probability * f64::from(1u32 << BITS)) as u32
}

/// The place of an adapter's input: one for each layer name.
pub fn adapter_site(layer: &str) -> u64 {
    // FNV-1a: fixed for ever, unlike the standard library's hash. The high bit keeps it apart from the other places.
    let hash = layer.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3));
    hash | 1 << 63
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: u32 = 200_000;

    fn dropped(key: MaskKey) -> Vec<bool> {
        (0..N).map(|element| key.draw(element) < limit(0.1)).collect()
    }

    fn both(a: &[bool], b: &[bool]) -> usize {
        a.iter().zip(b).filter(|(a, b)| **a && **b).count()
    }

    #[test]
    fn masks_are_fixed_apart_and_as_dense_as_asked() {
        let key = |seed, site, text| MaskKey::of_site(Dropout { seed }, site).of(text);
        let one = dropped(key(1, 2, 0));
        assert_eq!(one, dropped(key(1, 2, 0)));
        // 20,000 expected, standard deviation 134.
        let count = one.iter().filter(|dropped| **dropped).count();
        assert!((19_400..20_600).contains(&count), "{count}");
        // Masks share a tenth of a tenth of what they drop: 2,000, standard deviation 44. Those of neighbouring texts,
        // heads, places and seeds, and each shifted by a few.
        let others = [key(1, 3, 0), key(2, 2, 0), key(1, 2, 1), key(1, 2, 0).of(0), key(1, 2, 0).of(1)];
        for other in others.map(dropped) {
            for shift in [0, 1, 2, 64, 384] {
                let count = both(&one[shift..], &other);
                assert!((1_800..2_200).contains(&count), "{count} at {shift}");
            }
        }
        for shift in [1, 2, 3, 16, 64, 384, 65_536] {
            let (count, n) = (both(&one[shift..], &one), N as usize - shift);
            let expected = n / 100;
            assert!(count.abs_diff(expected) < 200, "{count}, {expected} at {shift}");
        }
    }

    #[test]
    fn draws_are_even_in_each_range() {
        // Of 256 ranges each has 200,000/256 = 781; the sum of (count - 781)²/781 is 255, standard deviation 22.6.
        for key in [MaskKey { add: 0, turn: 0 }, MaskKey::of_site(Dropout { seed: 5 }, 9).of(3)] {
            let mut counts = [0f64; 256];
            (0..N).for_each(|element| counts[(key.draw(element) >> (BITS - 8)) as usize] += 1.0);
            let expected = f64::from(N) / 256.0;
            let sum: f64 = counts.iter().map(|count| (count - expected).powi(2) / expected).sum();
            assert!((140.0..370.0).contains(&sum), "{sum}");
        }
    }

    #[test]
    fn nothing_is_dropped_by_a_probability_of_zero() {
        let key = MaskKey::of_site(Dropout { seed: 1 }, 2);
        assert!((0..1000).all(|element| key.draw(element) >= limit(0.0)));
    }
}
