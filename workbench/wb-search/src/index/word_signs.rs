//! The first letters of some of an index's words, by which a search for a word begins: the last steps of a halving alone look
//! at words themselves, each of which is somewhere else in memory.

use std::sync::OnceLock;

use crate::Result;

/// Words from one whose first letters are known to the next.
const STEP: usize = 128;

/// Eight letters of every 128th word, made with the first search.
#[derive(Debug, Clone, Default)]
pub(super) struct WordSigns(OnceLock<Vec<u64>>);

impl WordSigns {
    /// Positions, of `n` words that ascend, between which the first is that is not before `wanted`.
    pub fn around<'a>(&self, n: usize, wanted: &[u8], word: impl Fn(usize) -> Result<&'a [u8]>) -> Result<[usize; 2]> {
        let signs = match self.0.get() {
            Some(signs) => signs,
            None => {
                let made = (0..n).step_by(STEP).map(|at| word(at).map(sign)).collect::<Result<_>>()?;
                self.0.get_or_init(|| made)
            }
        };
        let wanted = sign(wanted);
        let before = signs.partition_point(|sign| *sign < wanted);
        let not_behind = signs.partition_point(|sign| *sign <= wanted);
        Ok([before.saturating_sub(1) * STEP, n.min(not_behind * STEP)])
    }
}

/// The first eight letters as a number that ascends as words do; of two words with the same, either may stand first.
fn sign(word: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = word.len().min(8);
    first[..length].copy_from_slice(&word[..length]);
    u64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_that_is_not_before_a_word_is_between(
            mut words in prop::collection::vec("[ab\u{0}é]{0,11}", 0..700),
            wanted in "[ab\u{0}é]{0,11}",
        ) {
            words.sort_unstable();
            words.dedup();
            let signs = WordSigns::default();
            for wanted in words.iter().chain([&wanted]) {
                let around = signs.around(words.len(), wanted.as_bytes(), |at| Ok(words[at].as_bytes())).unwrap();
                let first = words.partition_point(|word| word < wanted);
                prop_assert!(around[0] <= first && first <= around[1], "{around:?} {first}");
                prop_assert!(around[1] - around[0] <= words.len());
            }
        }
    }
}
