//! Tokens left out of the texts of a batch, so that a model cannot learn single texts by heart.
//!
//! A token is left out of a text wherever it stands in it: a bag of token vectors would hardly notice one occurrence less.

use wb_core::{Seed, seed::split_mix64};

use crate::batch::TokenBatch;

/// Leaves each different token out of each text with a probability, all its occurrences together.
/// `special` tokens stand before and after every text, and stay. A text that would lose everything stays as it is. The
/// same seed and batch number leave out the same.
pub fn drop_tokens(batch: TokenBatch, probability: f64, special: [usize; 2], seed: Seed, number: u64) -> TokenBatch {
    if probability <= 0.0 {
        return batch;
    }
    let key = seed.number_at("token dropout", number);
    let limit = (probability * (1u64 << 32) as f64) as u64;
    let mut kept = Vec::with_capacity(batch.ids().len());
    let mut ends = vec![0];
    for (at, text) in batch.texts().enumerate() {
        let begin = kept.len();
        let of_text = split_mix64(key ^ split_mix64(at as u64));
        let own = special[0]..text.len().saturating_sub(special[1]);
        kept.extend(text.iter().enumerate().filter_map(|(place, id)| {
            (!own.contains(&place) || split_mix64(of_text ^ u64::from(*id)) >> 32 >= limit).then_some(*id)
        }));
        if kept.len() == begin {
            kept.extend_from_slice(text);
        }
        ends.push(kept.len());
    }
    TokenBatch::new(ends.windows(2).map(|ends| &kept[ends[0]..ends[1]]))
}

/// Number of different tokens of a text.
#[cfg(test)]
fn different(text: &[u32]) -> usize {
    text.iter().collect::<std::collections::HashSet<_>>().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch() -> TokenBatch {
        let texts: Vec<Vec<u32>> = (0..200u32).map(|t| (0..100).map(|i| (i * i + t) % 37).collect()).collect();
        TokenBatch::new(texts.iter().map(Vec::as_slice))
    }

    #[test]
    fn a_share_of_each_text_is_left_out_and_no_token_by_half() {
        let whole = batch();
        let part = drop_tokens(whole.clone(), 0.3, [0, 0], Seed(1), 5);
        assert_eq!(part, drop_tokens(whole.clone(), 0.3, [0, 0], Seed(1), 5));
        assert_ne!(part, drop_tokens(whole.clone(), 0.3, [0, 0], Seed(1), 6));
        let (all, left): (usize, usize) =
            whole.texts().zip(part.texts()).fold((0, 0), |(a, l), (w, p)| (a + different(w), l + different(p)));
        let share = left as f64 / all as f64;
        assert!((share - 0.7).abs() < 0.02, "{share}");
        for (whole, part) in whole.texts().zip(part.texts()) {
            let of = |text: &[u32], id| text.iter().filter(|other| **other == id).count();
            assert!(part.iter().all(|id| of(part, *id) == of(whole, *id)));
        }
    }

    #[test]
    fn ends_and_short_texts_stay() {
        let texts: [&[u32]; 3] = [&[1, 2, 3, 4, 5], &[7], &[]];
        let part = drop_tokens(TokenBatch::new(texts), 0.999_999, [1, 1], Seed(1), 0);
        assert_eq!(part.text(0), [1, 5]);
        // A UniXcoder's texts begin with three.
        let part = drop_tokens(TokenBatch::new(texts), 0.999_999, [3, 1], Seed(1), 0);
        assert_eq!((part.text(0), part.text(1)), ([1, 2, 3, 5].as_slice(), [7].as_slice()));
        let part = drop_tokens(TokenBatch::new(texts), 0.999_999, [0, 0], Seed(1), 0);
        assert_eq!(part.text(0), [1, 2, 3, 4, 5]);
        assert_eq!((part.text(1), part.text(2)), ([7].as_slice(), [].as_slice()));
        assert_eq!(drop_tokens(batch(), 0.0, [0, 0], Seed(1), 0), batch());
    }
}
