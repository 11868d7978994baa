//! Dropout masks drawn on a device: the numbers of [`crate::dropout`], in whole numbers of 32 bits.

use std::ops::Range;

use burn::tensor::{Bool, Int, Tensor};

use super::traffic::Link;
use crate::dropout::{self, BITS, FACTORS, MaskKey, STEP};

/// The keys of texts on a device, `[2, texts]`: the words of [`MaskKey`].
pub(crate) struct TextKeys(Tensor<2, Int>);

impl TextKeys {
    /// The keys of texts at these places in the whole batch.
    pub(crate) fn new(site: MaskKey, places: &[u64], link: &Link) -> Self {
        let keys: Vec<MaskKey> = places.iter().map(|place| site.of(*place as u32)).collect();
        let words = keys.iter().map(|key| key.add).chain(keys.iter().map(|key| key.turn));
        Self(link.ints(words.map(|word| word as i32).collect(), [2, keys.len()]))
    }

    /// The words themselves.
    #[cfg(feature = "fused")]
    pub(crate) fn words(self) -> Tensor<2, Int> {
        self.0
    }

    /// Keys that masks are drawn by.
    pub(crate) fn keys(self) -> Keys {
        let [_, n] = self.0.dims();
        let word = |at: usize| self.0.clone().slice([at..at + 1, 0..n]).reshape([n, 1, 1, 1]);
        Keys { add: word(0), turn: word(1) }
    }
}

/// Keys side by side on a device, `[texts, 1, 1, 1]` or `[texts, heads, 1, 1]`.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    add: Tensor<4, Int>,
    turn: Tensor<4, Int>,
}

impl Keys {
    /// The keys of the heads of texts: `[texts, heads, 1, 1]`.
    pub(crate) fn of_heads(self, heads: usize, link: &Link) -> Self {
        let heads = link.arange(heads).reshape([1, heads, 1, 1]);
        let crossed = Self { add: self.turn.clone(), turn: self.add.clone() };
        Self { add: self.words(heads.clone()), turn: crossed.words(heads) }
    }

    /// True for the elements that are dropped, of the shape that keys and elements have together.
    pub(crate) fn dropped(self, elements: Tensor<4, Int>, probability: f64) -> Tensor<4, Bool> {
        let drawn = shifted(self.words(elements), 32 - BITS);
        drawn.lower_elem(dropout::limit(probability) as i32)
    }

    /// [`MaskKey::word`] of each.
    fn words(self, numbers: Tensor<4, Int>) -> Tensor<4, Int> {
        let x = numbers.mul_scalar(STEP as i32) + self.add;
        let x = x.clone().bitwise_xor(shifted(x, 16)).mul_scalar(FACTORS[0] as i32);
        let x = x.clone().bitwise_xor(shifted(x, 15)).bitwise_xor(self.turn).mul_scalar(FACTORS[1] as i32);
        x.clone().bitwise_xor(shifted(x, 16))
    }
}

/// The numbers of a text's `[tokens, width]` elements, `[1, 1, tokens, width]`.
pub(crate) fn elements(tokens: usize, width: usize, link: &Link) -> Tensor<4, Int> {
    link.arange(tokens * width).reshape([1, 1, tokens, width])
}

/// The numbers of a head's queries and keys at these places, `[1, 1, queries, keys]`.
pub(crate) fn attention_elements(queries: &Range<usize>, keys: &Range<usize>, link: &Link) -> Tensor<4, Int> {
    let step = dropout::attention_element(1) as i32;
    let places = |places: &Range<usize>| match places.start {
        0 => link.arange(places.len()),
        start => link.arange(places.len()).add_scalar(start as i32),
    };
    let rows = places(queries).reshape([1, 1, queries.len(), 1]).mul_scalar(step);
    rows + places(keys).reshape([1, 1, 1, keys.len()])
}

/// Bits moved to the right, as those of a number without a sign: what comes in from the left is zeros.
fn shifted<const D: usize>(x: Tensor<D, Int>, bits: u32) -> Tensor<D, Int> {
    x.bitwise_right_shift_scalar(bits as i32).bitwise_and_scalar((u32::MAX >> bits) as i32)
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::{backbone::Dropout, dropout::attention_element};

    #[test]
    fn masks_are_those_of_the_processor() {
        let link = Link::new(&Device::flex(), "flex");
        let site = MaskKey::of_site(Dropout { seed: 7 }, 3);
        let (texts, heads, tokens, width) = ([0, 13, 70_000], 3, 17, 40);
        let (probability, limit) = (0.25, dropout::limit(0.25));
        let keys = || TextKeys::new(site, &texts, &link).keys();
        let found = keys().dropped(elements(tokens, width, &link), probability).try_into_vec_as::<bool>().unwrap();
        let of_text = |text: u64| (0..tokens * width).map(move |at| site.of(text as u32).draw(at as u32) < limit);
        assert_eq!(found, texts.into_iter().flat_map(of_text).collect::<Vec<_>>());
        let (queries, keys_seen) = (5..tokens, 2..11);
        let elements = attention_elements(&queries, &keys_seen, &link);
        let found = keys().of_heads(heads, &link).dropped(elements, probability);
        let expected = texts.iter().flat_map(|text| {
            let row = move |head: usize, query: usize| {
                let key = site.of(*text as u32).of(head as u32);
                (2..11).map(move |at| key.draw(attention_element(query) + at as u32) < limit)
            };
            (0..heads).flat_map(move |head| (5..tokens).flat_map(move |query| row(head, query)))
        });
        assert_eq!(found.try_into_vec_as::<bool>().unwrap(), expected.collect::<Vec<_>>());
    }
}
