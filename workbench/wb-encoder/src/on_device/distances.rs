//! Numbers that depend on how far a key stands after its query.

use std::ops::Range;

use burn::tensor::{Int, Tensor};

use super::traffic::Link;

/// Neighbouring queries and neighbouring keys of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    queries: usize,
    keys: usize,
    /// Places from the first query to the first key.
    offset: isize,
}

impl Part {
    /// The queries and keys at these places.
    pub(super) fn new(queries: &Range<usize>, keys: &Range<usize>) -> Self {
        let offset = keys.start as isize - queries.start as isize;
        Self { queries: queries.len(), keys: keys.len(), offset }
    }

    /// The distances between them, least and greatest.
    pub(super) fn distances(self) -> [isize; 2] {
        let last = |n: usize| n.saturating_sub(1) as isize;
        [self.offset - last(self.queries), self.offset + last(self.keys)]
    }

    /// A number for each distance, as a ring: from the first query to each key, and then from the others to the first key,
    /// the nearest at the end.
    fn ring<T>(self, number: impl Fn(isize) -> T) -> Vec<T> {
        let all = self.queries + self.keys;
        let place = |at: usize| if at < self.keys { at as isize } else { at as isize - all as isize };
        (0..all).map(|at| number(self.offset + place(at))).collect()
    }

    /// A whole number for each distance, `[1, queries + keys]`.
    pub(super) fn ints(self, number: impl Fn(isize) -> i32, link: &Link) -> Tensor<2, Int> {
        link.ints(self.ring(number), [1, self.queries + self.keys])
    }

    /// A number for each distance, `[1, queries + keys]`.
    pub(super) fn floats(self, number: impl Fn(isize) -> f32, link: &Link) -> Tensor<2> {
        link.floats(self.ring(number), [1, self.queries + self.keys])
    }

    /// The number of each query and key, `[heads, queries, keys]`, of those of the distances, `[heads, queries + keys]`.
    ///
    /// Nothing is looked up one by one, neither here nor for the gradient, which is a sum over queries: the ring, written so
    /// often and cut into rows that are one shorter, begins one number earlier in each row.
    pub(super) fn between(self, numbers: Tensor<2>) -> Tensor<3> {
        let ([heads, ring], Self { queries, keys, .. }) = (numbers.dims(), self);
        let all = numbers.reshape([heads, 1, ring]).expand([heads, queries, ring]).reshape([heads, queries * ring]);
        let rows = all.slice([0..heads, 0..queries * (ring - 1)]).reshape([heads, queries, ring - 1]);
        rows.slice([0..heads, 0..queries, 0..keys])
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    #[test]
    fn each_query_and_key_has_the_number_of_its_distance() {
        let link = Link::new(&Device::flex(), "flex");
        for (queries, keys) in [(0..1, 0..1), (0..2, 0..2), (0..33, 0..33), (5..9, 2..13), (3..4, 0..7), (0..6, 4..5)] {
            let part = Part::new(&queries, &keys);
            let found = part.between(part.floats(|distance| distance as f32, &link));
            let expected = queries.flat_map(|query| keys.clone().map(move |key| key as f32 - query as f32));
            let expected: Vec<f32> = expected.collect();
            assert_eq!(found.try_into_vec_as::<f32>().unwrap(), expected);
            let [least, greatest] = part.distances().map(|distance| distance as f32);
            assert!(expected.contains(&least) && expected.contains(&greatest));
            assert!(expected.iter().all(|distance| (least..=greatest).contains(distance)));
        }
    }

    #[test]
    fn gradients_are_sums_over_queries() {
        let link = Link::new(&Device::flex(), "flex");
        let part = Part::new(&(0..3), &(0..3));
        let numbers = part.floats(|distance| distance as f32, &link).autodiff().require_grad();
        let weights = link.floats((0..9).map(|at| 10f32.powi(at)).collect(), [1, 3, 3]).autodiff();
        let gradients = (part.between(numbers.clone()) * weights).sum().backward();
        // Places 0 to 8 have the distances 0, 1, 2, -1, 0, 1, -2, -1, 0; the ring is 0, 1, 2, -3, -2, -1.
        let found = numbers.grad(&gradients).unwrap().try_into_vec_as::<f32>().unwrap();
        assert_eq!(found, [100_010_001.0, 100_010.0, 100.0, 0.0, 1_000_000.0, 10_001_000.0]);
    }
}
