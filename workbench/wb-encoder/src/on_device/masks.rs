//! Dropout masks drawn on a device: the numbers of [`crate::dropout`], in whole numbers of 32 bits.

use std::{cell::OnceCell, collections::HashMap, ops::Range};

use burn::tensor::{Bool, Int, Tensor};

use super::traffic::Link;
use crate::{
    backbone::Dropout,
    dropout::{self, BITS, FACTORS, MaskKey, SITES, STEP, adapter_site},
    lora,
    models::Stack,
    parameters::Parameters,
};

/// Places in a network where something may be dropped, in the order in which their keys lie on a device.
#[derive(Debug)]
pub(crate) struct Sites {
    all: Vec<u64>,
    position: HashMap<u64, usize>,
}

impl Sites {
    /// The places of a network's layers, and those of the adapters among the weights.
    pub(crate) fn of(stack: Option<&Stack>, parameters: &Parameters) -> Self {
        let layers = stack.map_or(0, |stack| stack.layers.len());
        let adapters = parameters.iter().filter_map(|parameter| lora::adapted_layer(&parameter.name)).map(adapter_site);
        let all: Vec<u64> = (0..SITES * (layers as u64 + 1)).chain(adapters).collect();
        let position = all.iter().enumerate().map(|(at, site)| (*site, at)).collect();
        Self { all, position }
    }
}

/// Keys of all masks of a pass, which cross to the device at once.
pub(crate) struct Masks<'a> {
    /// The places of the texts in the whole batch, then for each site the word that is added, then for each that which turns
    /// bits.
    words: Tensor<1, Int>,
    texts: usize,
    sites: &'a Sites,
    /// Keys of the texts at each site, `[sites, texts, 1, 1]`, once they are asked for.
    of_texts: OnceCell<Keys>,
}

/// The masks of a site.
#[derive(Clone, Copy)]
pub(crate) struct SiteMasks<'a> {
    masks: &'a Masks<'a>,
    site: usize,
}

/// A place in the words of [`Masks`].
#[derive(Debug, Clone, Copy)]
#[cfg(feature = "fused")]
pub(crate) struct MaskLayout {
    pub(crate) sites: usize,
    /// The site's position among them.
    pub(crate) site: usize,
}

impl<'a> Masks<'a> {
    /// The keys of texts at these places in the whole batch.
    pub(crate) fn new(dropout: Dropout, sites: &'a Sites, places: &[u64], link: &Link) -> Self {
        let keys: Vec<MaskKey> = sites.all.iter().map(|site| MaskKey::of_site(dropout, *site)).collect();
        let (adds, turns) = (keys.iter().map(|key| key.add), keys.iter().map(|key| key.turn));
        let words: Vec<i32> =
            places.iter().map(|place| *place as u32).chain(adds).chain(turns).map(|word| word as i32).collect();
        let count = words.len();
        Self { words: link.ints(words, [count]), texts: places.len(), sites, of_texts: OnceCell::new() }
    }

    /// The masks of a site; none of one that the network has not.
    pub(crate) fn at(&self, site: u64) -> Option<SiteMasks<'_>> {
        Some(SiteMasks { masks: self, site: *self.sites.position.get(&site)? })
    }

    fn of_texts(&self) -> &Keys {
        self.of_texts.get_or_init(|| {
            let (texts, sites) = (self.texts, self.sites.all.len());
            let words = |start: usize, count: usize| self.words.clone().narrow(0, start, count);
            let of_sites = |start: usize| words(start, sites).reshape([sites, 1, 1, 1]);
            let keys = Keys { add: of_sites(texts), turn: of_sites(texts + sites) };
            keys.of(words(0, texts).reshape([1, texts, 1, 1]))
        })
    }
}

impl SiteMasks<'_> {
    /// Number of texts.
    pub(crate) fn texts(&self) -> usize {
        self.masks.texts
    }

    /// The words of [`Masks`], and where those of the site are.
    #[cfg(feature = "fused")]
    pub(crate) fn words(&self) -> (Tensor<1, Int>, MaskLayout) {
        (self.masks.words.clone(), MaskLayout { sites: self.masks.sites.all.len(), site: self.site })
    }

    /// Keys of the texts, which masks are drawn by.
    pub(crate) fn keys(&self) -> Keys {
        let of_site = |words: &Tensor<4, Int>| words.clone().narrow(0, self.site, 1).reshape([self.texts(), 1, 1, 1]);
        let Keys { add, turn } = self.masks.of_texts();
        Keys { add: of_site(add), turn: of_site(turn) }
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
        self.of(link.arange(heads).reshape([1, heads, 1, 1]))
    }

    /// [`MaskKey::of`] of each.
    fn of(self, numbers: Tensor<4, Int>) -> Self {
        let crossed = Self { add: self.turn.clone(), turn: self.add.clone() };
        Self { add: self.words(numbers.clone()), turn: crossed.words(numbers) }
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
pub(crate) fn attention_elements([queries, keys]: [&Range<usize>; 2], link: &Link) -> Tensor<4, Int> {
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
    use crate::dropout::attention_element;

    #[test]
    fn masks_are_those_of_the_processor() {
        let link = Link::new(&Device::flex(), "flex");
        let (dropout, sites) = (Dropout { seed: 7 }, Sites::of(None, &Parameters::default()));
        let site = MaskKey::of_site(dropout, 3);
        let (texts, heads, tokens, width) = ([0, 13, 70_000], 3, 17, 40);
        let (probability, limit) = (0.25, dropout::limit(0.25));
        let masks = Masks::new(dropout, &sites, &texts, &link);
        assert!(masks.at(SITES).is_none());
        let keys = || masks.at(3).unwrap().keys();
        let found = keys().dropped(elements(tokens, width, &link), probability).try_into_vec_as::<bool>().unwrap();
        let of_text = |text: u64| (0..tokens * width).map(move |at| site.of(text as u32).draw(at as u32) < limit);
        assert_eq!(found, texts.into_iter().flat_map(of_text).collect::<Vec<_>>());
        let (queries, keys_seen) = (5..tokens, 2..11);
        let elements = attention_elements([&queries, &keys_seen], &link);
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
