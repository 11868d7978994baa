//! Draw of snippets by the seed: limits per group and in all, spread over lengths.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{Error, Seed};

use crate::Snippet;

/// Number of snippets to take.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DrawConfig {
    /// Snippets of one group of one source at most, so that a large repository does not outvote the others.
    pub per_group: Option<usize>,
    /// Snippets in all at most.
    pub total: Option<usize>,
    /// Beginnings of buckets of length, in tokens, ascending: `[64, 128, 256]` makes four. `total` is shared equally
    /// among the buckets; what one cannot fill goes to the others. Empty for none.
    pub buckets: Vec<usize>,
}

impl DrawConfig {
    /// Refuses limits of 0 and buckets out of order.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        for (name, value) in [("per_group", self.per_group), ("total", self.total)] {
            if value == Some(0) {
                return Err(Error::value(format!("{key}.{name}"), "got 0, expected 1 or more, or null for all"));
            }
        }
        if self.buckets.first() == Some(&0) || !self.buckets.is_sorted_by(|a, b| a < b) {
            let message = format!("got {:?}, expected numbers from 1 that ascend", self.buckets);
            return Err(Error::value(format!("{key}.buckets"), message));
        }
        if !self.buckets.is_empty() && self.total.is_none() {
            return Err(Error::value(format!("{key}.total"), "got none, expected a number to share among buckets"));
        }
        Ok(())
    }

    /// The bucket of a length, from 0.
    pub fn bucket(&self, tokens: usize) -> usize {
        self.buckets.partition_point(|begin| *begin <= tokens)
    }

    /// Draws: what is drawn, in its order, and what is not, by reason.
    ///
    /// Each snippet has a number that comes from the seed and its id alone, and those with the least numbers are taken:
    /// a draw does not depend on the order, and changes little when the source grows.
    pub(super) fn draw(
        &self,
        snippets: Vec<(Snippet, usize)>,
        seed: Seed,
    ) -> (Vec<(Snippet, usize)>, BTreeMap<String, u64>) {
        let mut dropped = BTreeMap::new();
        if self.per_group.is_none() && self.total.is_none() {
            return (snippets, dropped);
        }
        let numbers: Vec<u64> =
            snippets.iter().map(|(snippet, _)| seed.number_at(&format!("snippets {}", snippet.id), 0)).collect();
        let mut chosen: Vec<usize> = (0..snippets.len()).collect();
        if let Some(most) = self.per_group {
            let group = |at: &usize| (&snippets[*at].0.origin.dataset, &snippets[*at].0.origin.group);
            let mut groups: BTreeMap<_, Vec<usize>> = BTreeMap::new();
            chosen.iter().for_each(|at| groups.entry(group(at)).or_default().push(*at));
            let before = chosen.len();
            chosen = groups.into_values().flat_map(|group| least(group, &numbers, most)).collect();
            count(&mut dropped, "beyond per_group", before - chosen.len());
        }
        if let Some(total) = self.total.filter(|total| *total < chosen.len()) {
            let mut buckets: Vec<Vec<usize>> = vec![Vec::new(); self.buckets.len() + 1];
            chosen.iter().for_each(|at| buckets[self.bucket(snippets[*at].1)].push(*at));
            let sizes: Vec<usize> = buckets.iter().map(Vec::len).collect();
            count(&mut dropped, "beyond total", chosen.len() - total);
            chosen = buckets
                .into_iter()
                .zip(shares(&sizes, total))
                .flat_map(|(bucket, share)| least(bucket, &numbers, share))
                .collect();
        }
        let mut keep = vec![false; snippets.len()];
        chosen.into_iter().for_each(|at| keep[at] = true);
        let mut keep = keep.into_iter();
        let mut snippets = snippets;
        snippets.retain(|_| keep.next().unwrap_or(false));
        (snippets, dropped)
    }
}

fn count(dropped: &mut BTreeMap<String, u64>, reason: &str, many: usize) {
    if many > 0 {
        dropped.insert(reason.to_owned(), many as u64);
    }
}

/// The `most` of some places with the least numbers.
fn least(mut places: Vec<usize>, numbers: &[u64], most: usize) -> Vec<usize> {
    places.sort_unstable_by_key(|at| (numbers[*at], *at));
    places.truncate(most);
    places
}

/// Number that each bucket gives: all the same share as far as they can; the first ones give what does not divide.
fn shares(sizes: &[usize], total: usize) -> Vec<usize> {
    let mut shares = vec![0; sizes.len()];
    let mut left = total.min(sizes.iter().sum());
    while left > 0 {
        let open: Vec<usize> = (0..sizes.len()).filter(|at| shares[*at] < sizes[*at]).collect();
        let each = (left / open.len()).max(1);
        for at in open {
            let more = each.min(sizes[at] - shares[at]).min(left);
            shares[at] += more;
            left -= more;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snippets(n: usize) -> Vec<(Snippet, usize)> {
        let one = |at: usize| {
            let mut snippet = Snippet { id: format!("a:{at}"), text: format!("text {at}"), ..Snippet::default() };
            snippet.origin.group = format!("g{}", at % 3);
            (snippet, at)
        };
        (0..n).map(one).collect()
    }

    fn ids(drawn: &[(Snippet, usize)]) -> Vec<&str> {
        drawn.iter().map(|(snippet, _)| snippet.id.as_str()).collect()
    }

    #[test]
    fn shares_by_hand() {
        assert_eq!(shares(&[10, 10, 10], 9), [3, 3, 3]);
        assert_eq!(shares(&[1, 10, 10], 9), [1, 4, 4]);
        assert_eq!(shares(&[0, 2, 10], 7), [0, 2, 5]);
        assert_eq!(shares(&[5, 5], 3), [2, 1]);
        assert_eq!(shares(&[5, 5], 100), [5, 5]);
        assert_eq!(shares(&[], 1), [0; 0]);
    }

    #[test]
    fn groups_and_buckets_have_their_limits() {
        let config = DrawConfig { per_group: Some(10), ..DrawConfig::default() };
        let (drawn, dropped) = config.draw(snippets(90), Seed(1));
        assert_eq!((drawn.len(), dropped["beyond per_group"]), (30, 60));
        let config = DrawConfig { per_group: None, total: Some(12), buckets: vec![10, 20] };
        let (drawn, dropped) = config.draw(snippets(100), Seed(1));
        let in_bucket = |bucket| drawn.iter().filter(|(_, tokens)| config.bucket(*tokens) == bucket).count();
        assert_eq!(([in_bucket(0), in_bucket(1), in_bucket(2)], dropped["beyond total"]), ([4, 4, 4], 88));
    }

    #[test]
    fn a_draw_depends_on_seed_and_ids_alone() {
        let config = DrawConfig { total: Some(20), ..DrawConfig::default() };
        let (drawn, _) = config.draw(snippets(100), Seed(1));
        let mut backwards = snippets(100);
        backwards.reverse();
        let (mut other, _) = config.draw(backwards, Seed(1));
        other.reverse();
        assert_eq!(ids(&drawn), ids(&other));
        assert_ne!(ids(&drawn), ids(&config.draw(snippets(100), Seed(2)).0));
        // Ten more snippets take the places of a few.
        let grown = config.draw(snippets(110), Seed(1)).0;
        let kept = ids(&grown).iter().filter(|id| ids(&drawn).contains(id)).count();
        assert!(kept >= 14, "{kept}");
    }
}
