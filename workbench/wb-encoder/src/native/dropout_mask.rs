//! Dropout applied in place, drawn from the seed, the place in the network, the text's place in the batch
//! and the element's index.

use crate::{
    backbone::Dropout,
    batch::TokenBatch,
    dropout::{MaskKey, limit},
    kernels::vector::vectorized,
    native::groups::Group,
};

/// Dropout at one place of the network.
#[derive(Debug, Clone, Copy)]
pub struct Mask {
    site: MaskKey,
    limit: u32,
    factor: f32,
}

impl Mask {
    /// `None` where nothing is dropped.
    pub fn new(dropout: Option<Dropout>, site: u64, probability: f64) -> Option<Self> {
        let dropout = dropout.filter(|_| probability > 0.0)?;
        let (site, factor) = (MaskKey::of_site(dropout, site), (1.0 / (1.0 - probability)) as f32);
        Some(Self { site, limit: limit(probability), factor })
    }

    /// Zeroes the dropped elements and scales the others, for a group's rows of `width` numbers, one a token.
    pub fn apply(self, x: &mut [f32], width: usize, batch: &TokenBatch, group: &Group) {
        for text in group.texts.clone() {
            let first = (batch.offsets()[text] - group.tokens.start) * width;
            let last = (batch.offsets()[text + 1] - group.tokens.start) * width;
            self.apply_to_rows(&mut x[first..last], usize::MAX, self.of_text(batch.place(text)), |_| 0);
        }
    }

    /// The key of the text at a place of the whole batch.
    pub fn of_text(self, place: u64) -> MaskKey {
        self.site.of(place as u32)
    }

    /// Drops elements of rows of `width` numbers by a key; `element` is the number of a row's first element.
    pub fn apply_to_rows(self, x: &mut [f32], width: usize, key: MaskKey, element: impl Fn(usize) -> u32) {
        vectorized!({
            for (row, x) in x.chunks_mut(width).enumerate() {
                let mut element = element(row);
                for x in x.iter_mut() {
                    let drop = key.draw(element) < self.limit;
                    *x = if drop { 0.0 } else { *x * self.factor };
                    element = element.wrapping_add(1);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::groups::groups;

    #[test]
    fn parts_equal_the_whole_and_the_mean_stays() {
        let mask = Mask::new(Some(Dropout { seed: 7 }), 3, 0.25).unwrap();
        let texts: Vec<Vec<u32>> = (0..40).map(|text| vec![0; text * 5 % 17]).collect();
        let batch = TokenBatch::new(texts.iter().map(Vec::as_slice));
        let apply = |batch: &TokenBatch| {
            let mut x = vec![1.0f32; batch.ids().len() * 100];
            for group in groups(batch, 30) {
                let rows = group.tokens.start * 100..group.tokens.end * 100;
                mask.apply(&mut x[rows], 100, batch, &group);
            }
            x
        };
        let whole = apply(&batch);
        assert_eq!(apply(&batch.part(13..29)), whole[batch.offsets()[13] * 100..batch.offsets()[29] * 100]);
        let key = MaskKey::of_site(Dropout { seed: 7 }, 3).of(13);
        let expected: Vec<bool> = (0..texts[13].len() as u32 * 100).map(|at| key.draw(at) < limit(0.25)).collect();
        let found: Vec<bool> =
            whole[batch.offsets()[13] * 100..].iter().map(|x| *x == 0.0).take(expected.len()).collect();
        assert_eq!(found, expected);
        let mean = whole.iter().sum::<f32>() / whole.len() as f32;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        assert!(Mask::new(None, 3, 0.25).is_none());
        assert!(Mask::new(Some(Dropout { seed: 7 }), 3, 0.0).is_none());
    }
}
