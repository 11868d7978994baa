//! Sampling of pairs that share a batch: batches out of pairs in a given order, planned before training starts.

use std::collections::{HashMap, HashSet, VecDeque};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Choice of the pairs that share a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SamplerConfig {
    /// Keeps a text from standing twice among the anchors and positives of a batch, where it would be its own negative.
    #[default]
    NoDuplicates,
    /// Any order.
    Shuffle,
}

/// A pair as a sampler sees it: the numbers of its texts, equal for equal texts.
pub type PairTexts = [u32; 2];

impl SamplerConfig {
    /// Batches of `size` pairs out of pairs in a given order; `texts` are those of all pairs.
    /// A batch that is not full (the last one, or where duplicates kept it from filling up) is left out with `drop_last`,
    /// and in any case where it holds fewer than 2 pairs.
    pub fn batches(self, texts: &[PairTexts], order: Vec<u32>, size: usize, drop_last: bool) -> Vec<Vec<u32>> {
        let mut batches = match self {
            Self::Shuffle => order.chunks(size.max(1)).map(<[u32]>::to_vec).collect(),
            Self::NoDuplicates => without_duplicates(texts, order, size.max(1)),
        };
        let least = if drop_last { size } else { size.min(2) };
        batches.retain(|batch| batch.len() >= least);
        batches
    }
}

/// Fills batches greedily in the given order. A pair whose text is in the batch already waits for that text:
/// when a batch that holds the text is closed, the first pair that waits for it comes before all others.
/// So a pair is looked at a few times, not once for every batch, however many duplicates there are.
fn without_duplicates(pairs: &[PairTexts], order: Vec<u32>, size: usize) -> Vec<Vec<u32>> {
    let mut batches = Vec::with_capacity(order.len() / size + 1);
    let mut fresh = order.into_iter();
    let mut released: VecDeque<u32> = VecDeque::new();
    let mut waiting: HashMap<u32, VecDeque<u32>> = HashMap::new();
    loop {
        let mut batch = Vec::with_capacity(size);
        let mut texts: Vec<u32> = Vec::with_capacity(2 * size);
        let mut taken: HashSet<u32> = HashSet::with_capacity(2 * size);
        while batch.len() < size {
            let Some(pair) = released.pop_front().or_else(|| fresh.next()) else { break };
            let own = pairs[pair as usize];
            if let Some(text) = own.iter().find(|text| taken.contains(text)) {
                waiting.entry(*text).or_default().push_back(pair);
                continue;
            }
            texts.extend(own);
            taken.extend(own);
            batch.push(pair);
        }
        if batch.is_empty() {
            return batches;
        }
        // In the batch's order, so that the plan does not depend on a hash.
        for text in texts {
            if let Some(queue) = waiting.get_mut(&text) {
                released.extend(queue.pop_front());
                if queue.is_empty() {
                    waiting.remove(&text);
                }
            }
        }
        batches.push(batch);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wb_core::Seed;

    use super::*;

    /// Batches of one epoch over all pairs, and how many pairs are in none.
    struct EpochPlan {
        batches: Vec<Vec<u32>>,
        left_out: usize,
    }

    impl SamplerConfig {
        fn plan(self, pairs: &[PairTexts], size: usize, drop_last: bool, seed: Seed, epoch: u64) -> EpochPlan {
            let order = seed.permutation_at("sampler", epoch, pairs.len()).into_iter().map(|i| i as u32).collect();
            let batches = self.batches(pairs, order, size, drop_last);
            EpochPlan { left_out: pairs.len() - batches.iter().map(Vec::len).sum::<usize>(), batches }
        }
    }

    fn all(plan: &EpochPlan) -> Vec<u32> {
        let mut all: Vec<u32> = plan.batches.iter().flatten().copied().collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn the_same_seed_and_epoch_give_the_same_batches() {
        let pairs: Vec<PairTexts> = (0..100).map(|i| [2 * i, 2 * i + 1]).collect();
        for sampler in [SamplerConfig::NoDuplicates, SamplerConfig::Shuffle] {
            let plan = |epoch| sampler.plan(&pairs, 16, true, Seed(7), epoch);
            assert_eq!(plan(1).batches, plan(1).batches);
            assert_ne!(plan(1).batches, plan(2).batches);
            assert_eq!((plan(1).batches.len(), plan(1).left_out), (6, 4));
            let kept = sampler.plan(&pairs, 16, false, Seed(7), 1);
            assert_eq!((kept.batches.len(), kept.batches[6].len(), kept.left_out), (7, 4, 0));
        }
    }

    #[test]
    fn pairs_that_all_share_a_text_cannot_fill_batches_and_are_counted() {
        let pairs: Vec<PairTexts> = (0..10).map(|i| [0, i + 1]).collect();
        let plan = SamplerConfig::NoDuplicates.plan(&pairs, 4, false, Seed(1), 0);
        assert_eq!((plan.batches.len(), plan.left_out), (0, 10));
    }

    #[test]
    fn many_copies_of_one_text_do_not_slow_the_plan_down() {
        // 20,000 pairs with one anchor among 40,000: the copies need 20,000 batches, of two pairs each at the least.
        let pairs: Vec<PairTexts> =
            (0..40_000).map(|i| if i % 2 == 0 { [0, i + 1] } else { [40_001 + i, i + 1] }).collect();
        let plan = SamplerConfig::NoDuplicates.plan(&pairs, 64, false, Seed(1), 0);
        assert!(plan.batches.len() > 300);
        assert_eq!(all(&plan).len() + plan.left_out, pairs.len());
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn no_batch_holds_a_text_twice_and_no_pair_is_lost(
            pairs in prop::collection::vec([0u32..40, 30u32..70], 0..200),
            size in 1usize..20,
            drop_last: bool,
            epoch in 0u64..3,
        ) {
            let plan = SamplerConfig::NoDuplicates.plan(&pairs, size, drop_last, Seed(3), epoch);
            let least = if drop_last { size } else { size.min(2) };
            for batch in &plan.batches {
                prop_assert!((least..=size).contains(&batch.len()));
                let mut seen = HashSet::new();
                for pair in batch {
                    let [anchor, positive] = pairs[*pair as usize];
                    prop_assert!(seen.insert(anchor));
                    prop_assert!(seen.insert(positive) || anchor == positive);
                }
            }
            let mut all = all(&plan);
            prop_assert_eq!(all.len() + plan.left_out, pairs.len());
            all.dedup();
            prop_assert_eq!(all.len() + plan.left_out, pairs.len());
        }
    }
}
