//! Joining neighbors, the best pair first, until no pair is left: what both kinds of tokenizers do.

use std::{cmp::Ordering, collections::BinaryHeap};

/// Two neighbors that can be joined.
struct Pair<P> {
    priority: P,
    left: usize,
    right: usize,
    /// Bytes of both; where one of them was joined otherwise meanwhile, it has another length.
    length: usize,
}

impl<P: Ord> Ord for Pair<P> {
    /// The highest priority first; of two equal, the one further left.
    fn cmp(&self, other: &Self) -> Ordering {
        self.priority.cmp(&other.priority).then(other.left.cmp(&self.left))
    }
}

impl<P: Ord> PartialOrd for Pair<P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<P: Ord> PartialEq for Pair<P> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<P: Ord> Eq for Pair<P> {}

/// A run of characters between its neighbors; empty once it is part of its left one.
struct Run {
    begin: usize,
    end: usize,
    left: Option<usize>,
    right: Option<usize>,
}

/// The pieces of a text: its characters, joined as long as `priority` gives one for some pair of neighbors.
///
/// Takes `n log n` steps for a text of `n` characters, whatever it holds.
pub fn join<P: Ord>(text: &str, mut priority: impl FnMut(&str, &str) -> Option<P>) -> Vec<&str> {
    let mut runs: Vec<Run> = text
        .char_indices()
        .enumerate()
        .map(|(i, (begin, c))| Run { begin, end: begin + c.len_utf8(), left: i.checked_sub(1), right: Some(i + 1) })
        .collect();
    if let Some(last) = runs.last_mut() {
        last.right = None;
    }
    let mut heap = BinaryHeap::new();
    let mut offer = |runs: &[Run], heap: &mut BinaryHeap<Pair<P>>, left: usize, right: usize| {
        let (a, b) = (&runs[left], &runs[right]);
        if let Some(priority) = priority(&text[a.begin..a.end], &text[b.begin..b.end]) {
            heap.push(Pair { priority, left, right, length: b.end - a.begin });
        }
    };
    for i in 1..runs.len() {
        offer(&runs, &mut heap, i - 1, i);
    }
    while let Some(pair) = heap.pop() {
        let (left, right) = (&runs[pair.left], &runs[pair.right]);
        if left.begin == left.end || right.begin == right.end || right.end - left.begin != pair.length {
            continue;
        }
        let (end, next, before) = (right.end, right.right, left.left);
        runs[pair.right].begin = end;
        runs[pair.left].end = end;
        runs[pair.left].right = next;
        if let Some(next) = next {
            runs[next].left = Some(pair.left);
            offer(&runs, &mut heap, pair.left, next);
        }
        if let Some(before) = before {
            offer(&runs, &mut heap, before, pair.left);
        }
    }
    runs.iter().filter(|r| r.begin < r.end).map(|r| &text[r.begin..r.end]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_pair_goes_first_and_of_equal_ones_the_left() {
        let ranks = [("a", "b", 2), ("b", "c", 1), ("bc", "d", 3), ("a", "a", 5)];
        let rank = |l: &str, r: &str| {
            ranks.iter().find(|(a, b, _)| (*a, *b) == (l, r)).map(|(.., rank)| std::cmp::Reverse(*rank))
        };
        assert_eq!(join("abcd", rank), ["a", "bcd"]);
        assert_eq!(join("aaa", rank), ["aa", "a"]);
        assert_eq!(join("ab", rank), ["ab"]);
        assert!(join("", rank).is_empty());
    }

    #[test]
    fn a_million_equal_letters_take_no_quadratic_time() {
        let text = "a".repeat(1 << 20);
        let pieces = join(&text, |l, r| (l.len() == r.len() && l.len() < 64).then_some(std::cmp::Reverse(l.len())));
        assert_eq!(pieces.len(), 1 << 14);
    }
}
