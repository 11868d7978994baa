//! Two texts as one: which special tokens stand around and between them, which types tokens have, where texts are cut.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::PairTokens;
use crate::{
    error::{Error, Result},
    tokenizer::Tokenizer,
};

/// The way a tokenizer joins two texts: `[CLS] a [SEP] b [SEP]` for BERT, `<s> a </s></s> b </s>` for RoBERTa.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PairTemplate {
    /// Special tokens before the first text, between both, and after the second, each with its type.
    special: [Vec<(u32, u32)>; 3],
    /// Types of the texts' own tokens.
    types: [u32; 2],
}

impl PairTemplate {
    /// Learns from two words what a tokenizer puts around and between texts; `path` is where it came from.
    pub(crate) fn of(tokenizer: &Tokenizer, path: &Path) -> Result<Self> {
        let plain = tokenizer.clone().without_special_tokens();
        let (first, second) = (plain.encode("", "a", usize::MAX)?, plain.encode("", "b", usize::MAX)?);
        let (ids, types) = tokenizer.encode_two("a", "b")?;
        let find = |own: &[u32], from: usize| {
            let windows = ids.get(from..)?.windows(own.len().max(1));
            windows.clone().position(|window| window == own).map(|at| from + at)
        };
        let places = find(&first, 0).and_then(|a| Some((a, find(&second, a + first.len())?)));
        let Some((a, b)) = places.filter(|_| types.len() == ids.len()) else {
            let message = format!(
                "turns two words of ids {first:?} and {second:?} into {ids:?}, expected both with special tokens only \
                 before, between and after"
            );
            return Err(Error::file(path, message));
        };
        let part = |range: std::ops::Range<usize>| ids[range.clone()].iter().copied().zip(types[range].iter().copied());
        let (end_a, end_b) = (a + first.len(), b + second.len());
        Ok(Self {
            special: [part(0..a).collect(), part(end_a..b).collect(), part(end_b..ids.len()).collect()],
            types: [types[a], types[b]],
        })
    }

    /// Leaves out the token types, for a model that is not told which text a token belongs to.
    #[must_use]
    pub(crate) fn without_types(mut self) -> Self {
        self.special.iter_mut().flatten().for_each(|(_, one)| *one = 0);
        self.types = [0, 0];
        self
    }

    /// Leaves out tokens at the end that are those which texts are filled up with: transformers' decoders are scored at the
    /// last token that is none of them, and no token sees what comes after it.
    #[must_use]
    pub(crate) fn without_end(mut self, padding: u32) -> Self {
        let end = &mut self.special[2];
        while end.last().is_some_and(|(id, _)| *id == padding) {
            end.pop();
        }
        self
    }

    /// Number of special tokens.
    pub(crate) fn special_tokens(&self) -> usize {
        self.special.iter().map(Vec::len).sum()
    }

    /// The largest type.
    pub(crate) fn largest_type(&self) -> u32 {
        self.special.iter().flatten().map(|(_, one)| *one).chain(self.types).max().unwrap_or(0)
    }

    /// Two texts' own tokens as one, cut to `max_tokens` with special tokens counted.
    pub(crate) fn join(&self, first: &[u32], second: &[u32], max_tokens: usize) -> PairTokens {
        let room = max_tokens.saturating_sub(self.special_tokens());
        let (n_first, n_second) = longest_first(first.len(), second.len(), room);
        let (first, second) = (&first[..n_first], &second[..n_second]);
        let mut tokens = PairTokens::default();
        let own = [Some((first, self.types[0])), Some((second, self.types[1])), None];
        for (special, own) in self.special.iter().zip(own) {
            for (id, one) in special {
                tokens.ids.push(*id);
                tokens.types.push(*one);
            }
            if let Some((ids, one)) = own {
                tokens.ids.extend(ids);
                tokens.types.resize(tokens.ids.len(), one);
            }
        }
        tokens
    }
}

/// Numbers of tokens left of two texts that together may have `room`: the longer is cut first. The rule is that of the
/// tokenizers library (`longest_first`), as transformers truncates pairs: a text shorter than half of the room stays
/// whole, else both get half, and an odd token goes to the longer one (to the second of two equally long ones).
fn longest_first(first: usize, second: usize, room: usize) -> (usize, usize) {
    if first + second <= room {
        return (first, second);
    }
    let shorter = first.min(second);
    let (less, more) = match shorter + shorter <= room {
        true => (shorter, room - shorter),
        false => (room / 2, room / 2 + room % 2),
    };
    if first > second { (more, less) } else { (less, more) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The library's own algorithm, in its words: what is left of `n1` and `n2` tokens.
    fn of_the_library(mut n1: usize, mut n2: usize, room: usize) -> (usize, usize) {
        let (a, b) = (n1, n2);
        if a + b <= room {
            return (a, b);
        }
        let swapped = n1 > n2;
        if swapped {
            std::mem::swap(&mut n1, &mut n2);
        }
        n2 = if n1 > room { n1 } else { n1.max(room - n1) };
        if n1 + n2 > room {
            n1 = room / 2;
            n2 = n1 + room % 2;
        }
        if swapped {
            std::mem::swap(&mut n1, &mut n2);
        }
        (n1.min(a), n2.min(b))
    }

    #[test]
    fn the_longer_text_is_cut_first_as_the_library_cuts_it() {
        for room in 0..14 {
            for first in 0..30 {
                for second in 0..30 {
                    let (a, b) = longest_first(first, second, room);
                    assert_eq!((a, b), of_the_library(first, second, room), "{first} {second} {room}");
                    assert!(a <= first && b <= second && a + b == room.min(first + second));
                }
            }
        }
        assert_eq!(longest_first(3, 50, 20), (3, 17));
        assert_eq!(longest_first(50, 40, 21), (11, 10));
        assert_eq!(longest_first(40, 40, 21), (10, 11));
    }

    #[test]
    fn templates_are_those_of_both_families() {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
        let of = |name: &str| {
            let path = golden.join(name).join("tokenizer.json");
            let tokenizer = Tokenizer::read(&path).unwrap();
            PairTemplate::of(&tokenizer, &path).unwrap()
        };
        let bert = of("tiny-bert");
        assert_eq!(bert.special, [vec![(2, 0)], vec![(3, 0)], vec![(3, 1)]]);
        assert_eq!((bert.types, bert.largest_type(), bert.special_tokens()), ([0, 1], 1, 3));
        let joined = bert.join(&[7, 8, 9], &[10], 6);
        assert_eq!((joined.ids, joined.types), (vec![2, 7, 8, 3, 10, 3], vec![0, 0, 0, 0, 1, 1]));
        assert_eq!(bert.without_types().largest_type(), 0);
        let roberta = of("tiny-roberta");
        assert_eq!(roberta.special, [vec![(0, 0)], vec![(2, 0), (2, 0)], vec![(2, 0)]]);
        assert_eq!(roberta.join(&[], &[], 8).ids, [0, 2, 2, 2]);
    }
}
