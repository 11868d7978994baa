//! Dropout masks that depend on nothing but a seed, a place in the network, a text's place in the batch and an index.
//!
//! Devices' own random numbers depend on what else runs there; these can be drawn again, in any order, on any thread.

use rayon::prelude::*;
use wb_core::seed::{GAMMA, mix64};

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

/// The first element of a row of attention probabilities: those of one head's query token with all keys.
/// It does not depend on the text's length, so that padding moves nothing.
#[inline(always)]
pub fn attention_element(head: usize, query: usize) -> u64 {
    (head as u64) << 48 | (query as u64) << 24
}

/// Key of a text's mask, out of the seed, the place in the network, and the text's place in the whole batch.
/// The way a batch is cut into parts has no say in it.
#[inline(always)]
pub fn key(dropout: Dropout, site: u64, text: u64) -> u64 {
    let of_site = mix64(dropout.seed ^ mix64(site.wrapping_add(0x5851_f42d_4c95_7f2d)));
    mix64(of_site ^ mix64(text.wrapping_add(0x1405_7b7e_f767_814f)))
}

/// Below this a drawn number drops its element.
pub fn limit(probability: f64) -> u64 {
    (probability * (1u64 << 32) as f64) as u64
}

/// The number drawn for an element, below 2^32.
#[inline(always)]
pub fn draw(key: u64, element: u64) -> u64 {
    mix64(key.wrapping_add(element.wrapping_mul(GAMMA))) >> 32
}

/// Draws the elements of texts that are dropped, each with the given probability: text after text, `n` of each,
/// for the texts at these places in the whole batch. `element` numbers a text's elements.
pub fn dropped(
    dropout: Dropout,
    site: u64,
    places: &[u64],
    n: usize,
    element: impl Fn(usize) -> u64 + Sync,
    probability: f64,
) -> Vec<bool> {
    let limit = limit(probability);
    let mut mask = vec![false; places.len() * n];
    if n > 0 {
        mask.par_chunks_mut(n).zip(places).for_each(|(mask, text)| {
            let key = key(dropout, site, *text);
            mask.iter_mut().enumerate().for_each(|(at, drop)| *drop = draw(key, element(at)) < limit);
        });
    }
    mask
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

    #[test]
    fn masks_are_fixed_apart_and_as_dense_as_asked() {
        let draw = |seed, site, text| dropped(Dropout { seed }, site, &[text], 200_000, |at| at as u64, 0.1);
        assert_eq!(draw(1, 2, 0), draw(1, 2, 0));
        assert_ne!(draw(1, 2, 0), draw(1, 3, 0));
        assert_ne!(draw(1, 2, 0), draw(2, 2, 0));
        assert_ne!(draw(1, 2, 0), draw(1, 2, 1));
        // 20,000 expected, standard deviation 134.
        let count = draw(1, 2, 0).into_iter().filter(|d| *d).count();
        assert!((19_400..20_600).contains(&count), "{count}");
        // The masks of neighbours share a tenth of a tenth of what they drop: 2,000, standard deviation 44.
        let both = draw(1, 2, 0).into_iter().zip(draw(1, 2, 1)).filter(|(a, b)| *a && *b).count();
        assert!((1_800..2_200).contains(&both), "{both}");
        // A shorter mask is the beginning of a longer one, and a text's mask does not know its neighbours.
        let few = dropped(Dropout { seed: 1 }, 2, &[7, 0], 50, |at| at as u64, 0.1);
        assert_eq!(few[50..], draw(1, 2, 0)[..50]);
        assert_eq!(few[..50], draw(1, 2, 7)[..50]);
        assert!(dropped(Dropout { seed: 1 }, 2, &[0], 1000, |at| at as u64, 0.0).iter().all(|d| !d));
    }
}
