//! A number for each head and distance between two tokens, laid out so that a row of scores finds its own side by side.

use std::ops::Range;

use crate::kernels::vector::vectorized;

/// Numbers for the distances `-(longest - 1) ..= longest - 1`, head by head.
#[derive(Debug, Clone, Default)]
pub struct Distances {
    values: Vec<f32>,
    longest: usize,
    span: usize,
}

impl Distances {
    /// Sets all numbers, for texts of at most `longest` tokens: `number(head, distance)`.
    pub fn fill(&mut self, heads: usize, longest: usize, number: impl Fn(usize, isize) -> f32) {
        self.longest = longest.max(1);
        self.span = 2 * self.longest - 1;
        self.values.clear();
        for head in 0..heads {
            for at in 0..self.span {
                self.values.push(number(head, self.distance(at)));
            }
        }
    }

    /// Distance of the key after the query.
    fn distance(&self, at: usize) -> isize {
        at as isize - (self.longest as isize - 1)
    }

    #[inline(always)]
    fn first(&self, head: usize, query: usize) -> usize {
        head * self.span + self.longest - 1 - query
    }

    /// Adds them to one head's scores of a text's tokens from `first_query` on with some of its keys.
    pub fn add_to(&self, head: usize, scores: &mut [f32], first_query: usize, keys: &Range<usize>) {
        vectorized!({
            for (query, row) in scores.chunks_exact_mut(keys.len()).enumerate() {
                let own = &self.values[self.first(head, first_query + query) + keys.start..][..keys.len()];
                row.iter_mut().zip(own).for_each(|(x, d)| *x += d);
            }
        });
    }

    /// Adds one head's numbers of a text's tokens from `first_query` on with some of its keys to those of their distances.
    pub fn add(&mut self, head: usize, scores: &[f32], first_query: usize, keys: &Range<usize>) {
        let first = self.first(head, first_query) + keys.start;
        let values = &mut self.values;
        vectorized!({
            for (query, row) in scores.chunks_exact(keys.len()).enumerate() {
                let own = &mut values[first - query..][..keys.len()];
                own.iter_mut().zip(row).for_each(|(d, x)| *d += x);
            }
        });
    }

    /// Calls with each head, distance and number.
    pub fn each(&self, mut take: impl FnMut(usize, isize, f32)) {
        for (head, values) in self.values.chunks_exact(self.span.max(1)).enumerate() {
            values.iter().enumerate().for_each(|(at, value)| take(head, self.distance(at), *value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_the_distances_of_its_keys() {
        let mut distances = Distances::default();
        distances.fill(2, 4, |head, distance| (100 * head) as f32 + distance as f32);
        let mut scores = [1000.0; 9];
        distances.add_to(1, &mut scores, 0, &(0..3));
        assert_eq!(scores, [1100.0, 1101.0, 1102.0, 1099.0, 1100.0, 1101.0, 1098.0, 1099.0, 1100.0]);
        distances.fill(2, 4, |_, _| 0.0);
        distances.add(1, &[1.0, 2.0, 3.0, 4.0], 0, &(0..2));
        let mut found = Vec::new();
        distances.each(|head, distance, value| {
            if value != 0.0 {
                found.push((head, distance, value));
            }
        });
        assert_eq!(found, [(1, -1, 3.0), (1, 0, 5.0), (1, 1, 2.0)]);
        // The same out of a block: the second query's second key is at distance 0.
        distances.fill(2, 4, |_, _| 0.0);
        distances.add(1, &[4.0, 5.0], 1, &(1..3));
        distances.each(|head, distance, value| {
            assert_eq!(
                value,
                match (head, distance) {
                    (1, 0) => 4.0,
                    (1, 1) => 5.0,
                    _ => 0.0,
                }
            )
        });
        distances.fill(1, 0, |_, _| 1.0);
        let mut one = [0.0];
        distances.add_to(0, &mut one, 0, &(0..1));
        assert_eq!(one, [1.0]);
    }
}
