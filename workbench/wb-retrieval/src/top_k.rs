//! The best `k` of many scores, and the order that all rankings share: score descending, then position ascending.

use wb_core::Hit;

/// A score and a position as one integer that is greater the better the hit is, so that selecting and sorting compare
/// integers. Zeros of both signs are equal, and a score that is not a number comes last.
pub(crate) fn key(score: f32, position: u32) -> u64 {
    let score = if score.is_nan() { f32::NEG_INFINITY } else { score + 0.0 };
    let bits = score.to_bits();
    let ordered = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
    u64::from(ordered) << 32 | u64::from(!position)
}

/// The hit that a key was made of.
pub(crate) fn hit(key: u64) -> Hit {
    let ordered = (key >> 32) as u32;
    let bits = if ordered >> 31 == 1 { ordered & !(1 << 31) } else { !ordered };
    Hit { document: !(key as u32) as usize, score: f32::from_bits(bits) }
}

/// Leaves the greatest `k` keys, in no order.
pub(crate) fn keep_best<K: Ord>(keys: &mut Vec<K>, k: usize) {
    if k == 0 {
        keys.clear();
    } else if keys.len() > k {
        keys.select_nth_unstable_by(k - 1, |a, b| b.cmp(a));
        keys.truncate(k);
    }
}

/// Hits of keys, best first.
pub(crate) fn into_hits(mut keys: Vec<u64>) -> Vec<Hit> {
    keys.sort_unstable_by(|a, b| b.cmp(a));
    keys.into_iter().map(hit).collect()
}

/// The best `k` of a row of scores (at most 2³² of them), best first; ties by position, lower first.
pub fn top_k(scores: &[f32], k: usize) -> Vec<Hit> {
    let k = k.min(scores.len());
    if k == 0 {
        return Vec::new();
    }
    let full = k.saturating_mul(2).max(64);
    let mut keys: Vec<u64> = Vec::with_capacity(full.min(scores.len()));
    let mut least = f32::NEG_INFINITY;
    for (position, &score) in scores.iter().enumerate() {
        // Once k are held, a later score must be greater: an equal one would stand behind by its position.
        if score > least || keys.len() < k {
            keys.push(key(score, position as u32));
            if keys.len() == full {
                keep_best(&mut keys, k);
                least = keys.iter().min().map_or(f32::NEG_INFINITY, |key| hit(*key).score);
            }
        }
    }
    keep_best(&mut keys, k);
    into_hits(keys)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wb_core::Ranking;

    use super::*;

    #[test]
    fn keys_order_as_hits_do_and_come_back() {
        let scores = [f32::NEG_INFINITY, -3.5, -1e-40, 0.0, 1e-40, 0.1, 7.0, f32::MAX];
        for pair in scores.windows(2) {
            assert!(key(pair[0], 0) < key(pair[1], u32::MAX));
        }
        for score in scores {
            let back = hit(key(score, 77));
            assert_eq!((back.score, back.document), (score, 77));
        }
        assert_eq!(key(-0.0, 5), key(0.0, 5));
        assert!(key(1.0, 1) > key(1.0, 2));
        assert_eq!(hit(key(f32::NAN, 5)).score, f32::NEG_INFINITY);
    }

    proptest! {
        #[test]
        fn the_same_as_sorting(scores in prop::collection::vec(-4i8..4, 0..400), k in 0usize..450) {
            let scores: Vec<f32> = scores.into_iter().map(f32::from).collect();
            let all = scores.iter().enumerate().map(|(document, &score)| Hit { document, score }).collect();
            let mut sorted = Ranking::from_hits(0, all).hits;
            sorted.truncate(k);
            prop_assert_eq!(top_k(&scores, k), sorted);
        }
    }
}
