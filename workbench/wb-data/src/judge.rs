//! Gates that need somebody who knows texts: an encoder or an index ranks pairs and finds texts that say the same.
//!
//! This crate has neither; whoever has them implements [`Judge`], and the gates decide by what it says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wb_core::{EncoderRef, Pair, Progress, Ranker, records::data::Gate};

use crate::gate::gate;

/// Any error of a judge.
pub type JudgeError = Box<dyn std::error::Error + Send + Sync>;

/// Knows texts.
pub trait Judge {
    /// Ranks, from 1, of each pair's positive for its anchor among the positives of all these pairs:
    /// 1 + the number of other texts whose score is at least as high. So ties count against a pair, and equal texts
    /// do not compete.
    fn ranks(
        &mut self,
        by: &Ranker,
        pairs: &[Pair],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<usize>, JudgeError>;

    /// Tells `take`, for each text in order, which earlier ones have at least this cosine with it, ascending.
    fn similar(
        &mut self,
        encoder: &EncoderRef,
        texts: &[&str],
        cosine: f64,
        take: &mut dyn FnMut(usize, &[usize]),
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), JudgeError>;
}

/// Drops pairs whose text says the same as that of an earlier pair, by the cosine of their embeddings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(extend("required" = ["encoder"]))]
pub struct SemanticConfig {
    /// An encoder by its name: a folder, a run, or `owner/name` of the hub; its own prompts and lengths are used.
    pub encoder: EncoderRef,
    /// Texts with at least this cosine are duplicates; above 0, at most 1.
    pub cosine: f64,
    /// Texts to compare: `positive` or `anchor`.
    pub text: SemanticText,
}

/// Texts to compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SemanticText {
    /// The positives.
    #[default]
    Positive,
    /// The anchors.
    Anchor,
}

/// Keeps pairs whose positive ranks among the first for its own anchor: others probably do not belong together
/// (Wang et al. 2022, E5; Suresh et al. 2024, CoRNStack).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConsistencyConfig {
    /// Ranker: `bm25`, or an encoder by its name, with its own prompts and lengths.
    pub by: Ranker,
    /// Pairs whose rank is beyond this are dropped: their two sides probably do not belong together.
    pub top: usize,
    /// Only pairs of these data sets; empty for all. The others pass, and compete.
    pub datasets: Vec<String>,
}

/// Keeps pairs that are neither solved already nor out of reach, by the rank of their positive (CodeR's last stage
/// drops what a baseline has among its first three).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DifficultyConfig {
    /// Ranker: `bm25`, or an encoder by its name, with its own prompts and lengths.
    pub by: Ranker,
    /// Pairs with a smaller rank are dropped: the judge solves them already. At least 1.
    pub min_rank: usize,
    /// Pairs with a greater rank are dropped; `0` for no limit.
    pub max_rank: usize,
    /// Pairs that are too easy are not dropped but become this data set, for earlier stages of a curriculum; empty for
    /// dropping them.
    pub easy_dataset: String,
    /// Only pairs of these data sets; empty for all. The others pass, and compete.
    pub datasets: Vec<String>,
}

impl Default for SemanticConfig {
    fn default() -> Self {
        Self { encoder: EncoderRef::default(), cosine: 0.95, text: SemanticText::default() }
    }
}

impl Default for ConsistencyConfig {
    fn default() -> Self {
        Self { by: Ranker::default(), top: 2, datasets: Vec::new() }
    }
}

impl Default for DifficultyConfig {
    fn default() -> Self {
        Self { by: Ranker::default(), min_rank: 4, max_rank: 0, easy_dataset: String::new(), datasets: Vec::new() }
    }
}

impl SemanticConfig {
    /// Refuses values that make no sense; `key` is the config path of this section.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        self.encoder.validate(&format!("{key}.encoder"))?;
        if !(self.cosine > 0.0 && self.cosine <= 1.0) {
            let message = format!("got {}, expected a cosine above 0 and at most 1", self.cosine);
            return Err(wb_core::Error::value(format!("{key}.cosine"), message).with_hint("0.95 is usual"));
        }
        Ok(())
    }
}

impl ConsistencyConfig {
    /// Refuses values that make no sense; `key` is the config path of this section.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        self.by.validate(&format!("{key}.by"))?;
        if self.top == 0 {
            return Err(wb_core::Error::value(format!("{key}.top"), "got 0, expected at least 1"));
        }
        Ok(())
    }
}

impl DifficultyConfig {
    /// Refuses values that make no sense; `key` is the config path of this section.
    pub fn validate(&self, key: &str) -> wb_core::Result<()> {
        self.by.validate(&format!("{key}.by"))?;
        if self.min_rank == 0 {
            return Err(wb_core::Error::value(format!("{key}.min_rank"), "got 0, expected at least 1, the first rank"));
        }
        if self.max_rank > 0 && self.max_rank < self.min_rank {
            let message = format!("got {}, expected at least min_rank = {}, or 0", self.max_rank, self.min_rank);
            return Err(wb_core::Error::value(format!("{key}.max_rank"), message));
        }
        if self.min_rank == 1 && self.max_rank == 0 {
            let message = "got 1, and no max_rank: this keeps every pair";
            return Err(wb_core::Error::value(format!("{key}.min_rank"), message));
        }
        Ok(())
    }
}

/// The texts of pairs that semantic duplicates are looked for in.
pub fn semantic_texts(pairs: &[Pair], text: SemanticText) -> Vec<&str> {
    match text {
        SemanticText::Positive => pairs.iter().map(Pair::document).collect(),
        SemanticText::Anchor => pairs.iter().map(|pair| pair.anchor.as_str()).collect(),
    }
}

/// The texts that stay when the first of similar ones stays: told of each text in order, as by [`Judge::similar`].
#[derive(Debug, Default)]
pub struct FirstOfEach {
    /// The kept text that each text so far repeats.
    repeats: Vec<Option<usize>>,
}

impl FirstOfEach {
    /// The next text, and the earlier ones that are similar to it, ascending. It goes if one of those stays:
    /// what is similar only to texts that go is kept, so no chain of small differences swallows a whole data set.
    pub fn take(&mut self, earlier: &[usize]) {
        let kept = |at: &&usize| self.repeats.get(**at).is_some_and(Option::is_none);
        self.repeats.push(earlier.iter().find(kept).copied());
    }

    /// The kept text that each text repeats.
    pub fn repeats(&self) -> &[Option<usize>] {
        &self.repeats
    }
}

/// Drops pairs whose text repeats that of a pair that stays; see [`FirstOfEach::repeats`].
pub fn semantic(pairs: Vec<Pair>, repeats: &[Option<usize>], config: &SemanticConfig) -> (Vec<Pair>, Gate) {
    gate("semantic duplicates", pairs, |at, _| {
        repeats.get(at).copied().flatten().map(|_| format!("a cosine of {} or more", config.cosine))
    })
}

/// Drops pairs whose rank is beyond the last that is kept.
pub fn consistency(pairs: Vec<Pair>, ranks: &[usize], config: &ConsistencyConfig) -> (Vec<Pair>, Gate) {
    gate("consistency", pairs, |at, pair| {
        let beyond = is_meant(&config.datasets, pair) && ranks.get(at).is_some_and(|rank| *rank > config.top);
        beyond.then(|| format!("its positive ranks beyond {}", config.top))
    })
}

/// Drops pairs whose rank is before the first or beyond the last that is kept; or puts the easy ones into a data set of
/// their own, which the gate's name tells.
pub fn difficulty(mut pairs: Vec<Pair>, ranks: &[usize], config: &DifficultyConfig) -> (Vec<Pair>, Gate) {
    let easy = |at: usize, pair: &Pair| {
        is_meant(&config.datasets, pair) && ranks.get(at).is_some_and(|rank| *rank < config.min_rank)
    };
    let mut moved = 0;
    if !config.easy_dataset.is_empty() {
        for (at, pair) in pairs.iter_mut().enumerate() {
            if easy(at, pair) {
                pair.origin.dataset.clone_from(&config.easy_dataset);
                moved += 1;
            }
        }
    }
    let (kept, mut account) = gate("difficulty", pairs, |at, pair| {
        if config.easy_dataset.is_empty() && easy(at, pair) {
            return Some(format!("too easy: its positive ranks before {}", config.min_rank));
        }
        let beyond = config.max_rank > 0 && ranks.get(at).is_some_and(|rank| *rank > config.max_rank);
        (beyond && is_meant(&config.datasets, pair)).then(|| format!("its positive ranks beyond {}", config.max_rank))
    });
    if moved > 0 {
        account.name = format!("difficulty, with {moved} easy pairs put into `{}`", config.easy_dataset);
    }
    (kept, account)
}

pub(crate) fn is_meant(datasets: &[String], pair: &Pair) -> bool {
    datasets.is_empty() || datasets.contains(&pair.origin.dataset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(n: usize) -> Vec<Pair> {
        let pair = |at: usize| {
            let mut pair = Pair { id: at.to_string(), ..Pair::default() };
            pair.origin.dataset = ["a", "b"][at % 2].into();
            pair
        };
        (0..n).map(pair).collect()
    }

    fn ids(pairs: &[Pair]) -> Vec<&str> {
        pairs.iter().map(|pair| pair.id.as_str()).collect()
    }

    #[test]
    fn the_first_of_each_stays_and_chains_do_not_swallow_everything() {
        let mut first = FirstOfEach::default();
        // 1 is like 0, 2 is like 1 but not like 0, 3 is like 1 and 2, 4 is like nothing.
        for earlier in [&[][..], &[0], &[1], &[1, 2], &[]] {
            first.take(earlier);
        }
        assert_eq!(first.repeats(), [None, Some(0), None, Some(2), None]);
        let (kept, account) = semantic(pairs(5), first.repeats(), &SemanticConfig::default());
        assert_eq!(ids(&kept), ["0", "2", "4"]);
        assert_eq!(account.dropped.get("a cosine of 0.95 or more"), Some(&2));
    }

    #[test]
    fn consistency_keeps_the_first_ranks_of_its_data_sets() {
        let config = ConsistencyConfig::default();
        let (kept, account) = consistency(pairs(5), &[1, 2, 3, 4, 1], &config);
        assert_eq!((ids(&kept), account.before, account.after), (vec!["0", "1", "4"], 5, 3));
        assert_eq!(account.dropped.get("its positive ranks beyond 2"), Some(&2));
        let (kept, _) =
            consistency(pairs(5), &[1, 2, 3, 4, 1], &ConsistencyConfig { datasets: vec!["a".into()], ..config });
        assert_eq!(ids(&kept), ["0", "1", "3", "4"]);
    }

    #[test]
    fn difficulty_drops_what_is_solved_and_what_is_out_of_reach() {
        let config = DifficultyConfig { min_rank: 2, max_rank: 10, ..DifficultyConfig::default() };
        let ranks = [1, 2, 10, 11, 1];
        let (kept, account) = difficulty(pairs(5), &ranks, &config);
        assert_eq!(ids(&kept), ["1", "2"]);
        assert_eq!(account.dropped.values().copied().collect::<Vec<_>>(), [1, 2]);
        let only_a = DifficultyConfig { datasets: vec!["a".into()], ..config.clone() };
        assert_eq!(ids(&difficulty(pairs(5), &ranks, &only_a).0), ["1", "2", "3"]);
        // Easy ones in a data set of their own: what is out of reach still goes.
        let moving = DifficultyConfig { easy_dataset: "easy".into(), ..config };
        let (kept, account) = difficulty(pairs(5), &ranks, &moving);
        assert_eq!(ids(&kept), ["0", "1", "2", "4"]);
        let sets: Vec<&str> = kept.iter().map(|pair| pair.origin.dataset.as_str()).collect();
        assert_eq!(sets, ["easy", "b", "a", "easy"]);
        assert_eq!(account.name, "difficulty, with 2 easy pairs put into `easy`");
        assert_eq!((account.before, account.after), (5, 4));
    }

    #[test]
    fn impossible_values_are_named_by_their_key() {
        let error = SemanticConfig::default().validate("data.semantic").unwrap_err().to_string();
        assert!(error.starts_with("data.semantic.encoder: is empty"), "{error}");
        let encoder = EncoderRef::from("x");
        let error = SemanticConfig { encoder: encoder.clone(), cosine: 1.5, ..SemanticConfig::default() };
        assert!(error.validate("s").unwrap_err().to_string().starts_with("s.cosine: got 1.5"));
        assert!(ConsistencyConfig { top: 0, ..ConsistencyConfig::default() }.validate("c").is_err());
        assert!(ConsistencyConfig::default().validate("c").is_ok());
        let difficulty = |min_rank, max_rank| DifficultyConfig { min_rank, max_rank, ..DifficultyConfig::default() };
        assert!(difficulty(4, 0).validate("d").is_ok() && difficulty(1, 9).validate("d").is_ok());
        for (min_rank, max_rank) in [(0, 5), (1, 0), (4, 3)] {
            assert!(difficulty(min_rank, max_rank).validate("d").is_err());
        }
        let by = Ranker::Encoder(EncoderRef::default());
        let error = DifficultyConfig { by, ..DifficultyConfig::default() }.validate("d").unwrap_err().to_string();
        assert!(error.starts_with("d.by: is empty"), "{error}");
    }
}
