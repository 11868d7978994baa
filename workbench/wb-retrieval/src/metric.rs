//! Metrics of one query's ranking: MRR, nDCG, recall, precision, MAP, hit rate.
//!
//! Values are those of trec_eval (9.0) and of sentence-transformers' information retrieval evaluator, which agree once
//! the order of equal scores is settled, but for MAP with a cut ([`Divisor`]). A document with a grade above 0 is
//! relevant. Every metric is known three times ([`Tied`]): with equal scores ordered as well as possible, in the mean
//! over all their orders, and as badly as possible; where no scores are equal the three are one.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use wb_core::suggest;

use crate::judged::{Group, JudgedRanking};

/// A metric of one query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Metric {
    /// `mrr`, `mrr@10`: 1 / rank of the first relevant document; 0 where it is not among the first `k`.
    Mrr(RankCut),
    /// `ndcg`, `ndcg@10`, `ndcg_exp@10`: `Σ gain(grade) / log2(rank + 1)`, divided by that of the best order of all
    /// relevant documents (Järvelin and Kekäläinen 2002, with Burges' discount).
    Ndcg(RankCut, Gain),
    /// `recall@10`: relevant documents among the first `k`, divided by all relevant documents.
    Recall(RankCut),
    /// `precision@10`: relevant documents among the first `k`, divided by `k`.
    Precision(usize),
    /// `hit_rate@10`: 1 where a relevant document is among the first `k`; sentence-transformers says accuracy@k.
    HitRate(usize),
    /// `map`, `map@100`, `map_min@100`: the precision at the rank of each relevant document, summed and divided.
    Map(RankCut, Divisor),
}

/// Number of places that count; none is all.
pub type RankCut = Option<usize>;

/// Worth of a grade in nDCG.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Gain {
    /// The grade itself, as trec_eval has it.
    Linear,
    /// 2^grade − 1, as in web search and in CodeSearchNet.
    Exponential,
}

/// Divisor of the sum of precisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Divisor {
    /// Relevant documents, as trec_eval has it (`map_cut`).
    Relevant,
    /// Relevant documents, `k` of them at most, as sentence-transformers has it.
    Reachable,
}

/// A value under the best, the mean and the worst order of equal scores.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tied {
    /// Relevant documents stand before the others of their score.
    pub best: f64,
    /// The mean over all orders of equal scores, each as likely as the others.
    pub expected: f64,
    /// Relevant documents stand behind the others of their score.
    pub worst: f64,
}

impl Metric {
    /// The value for one query; 0 where no document is relevant.
    pub fn of(&self, judged: &JudgedRanking) -> Tied {
        if judged.grades.is_empty() {
            return Tied::default();
        }
        let best = self.at(&judged.places(true), &judged.grades);
        let worst = self.at(&judged.places(false), &judged.grades);
        let expected = if best == worst { best } else { self.expected(judged) };
        Tied { best, expected, worst }
    }

    /// The value where relevant documents stand at these ranks, ascending.
    fn at(&self, places: &[(usize, f64)], grades: &[f64]) -> f64 {
        let within = |cut: RankCut| places.iter().take_while(move |(rank, _)| cut.is_none_or(|k| *rank <= k));
        match *self {
            Self::Mrr(cut) => within(cut).next().map_or(0.0, |(rank, _)| 1.0 / *rank as f64),
            Self::HitRate(k) => within(Some(k)).next().map_or(0.0, |_| 1.0),
            Self::Recall(cut) => within(cut).count() as f64 / grades.len() as f64,
            Self::Precision(k) => within(Some(k)).count() as f64 / k as f64,
            Self::Map(cut, divisor) => {
                let precisions = within(cut).zip(1..).map(|((rank, _), found)| f64::from(found) / *rank as f64);
                precisions.sum::<f64>() / divisor.of(grades.len(), cut)
            }
            Self::Ndcg(cut, gain) => {
                within(cut).map(|(rank, grade)| gain.of(*grade) * discount(*rank)).sum::<f64>()
                    / ideal(grades, cut, gain)
            }
        }
    }

    /// The mean over all orders of equal scores.
    fn expected(&self, judged: &JudgedRanking) -> f64 {
        let grades = &judged.grades;
        // How many places of a group are among the first k.
        let reach =
            |group: &Group, cut: RankCut| cut.map_or(group.size, |k| k.saturating_sub(group.before).min(group.size));
        let found = |cut| {
            let share = |group: &Group| group.grades.len() as f64 * reach(group, cut) as f64 / group.size as f64;
            judged.groups.iter().map(share).sum::<f64>()
        };
        match *self {
            Self::Mrr(cut) => first_relevant(judged, cut, |rank| 1.0 / rank as f64),
            Self::HitRate(k) => first_relevant(judged, Some(k), |_| 1.0),
            Self::Recall(cut) => found(cut) / grades.len() as f64,
            Self::Precision(k) => found(Some(k)) / k as f64,
            Self::Ndcg(cut, gain) => {
                let mean = |group: &Group| {
                    let gains: f64 = group.grades.iter().map(|grade| gain.of(*grade)).sum();
                    let discounts: f64 = (1..=reach(group, cut)).map(|place| discount(group.before + place)).sum();
                    gains / group.size as f64 * discounts
                };
                judged.groups.iter().map(mean).sum::<f64>() / ideal(grades, cut, gain)
            }
            Self::Map(cut, divisor) => {
                // At each place of a group (McSherry and Najork 2008): a relevant document stands there with
                // probability r / n, behind it the relevant ones of greater scores and, of the places before it in
                // the group, (r − 1) / (n − 1) each.
                let (mut sum, mut above) = (0.0, 0.0);
                for group in &judged.groups {
                    let (n, r) = (group.size as f64, group.grades.len() as f64);
                    let among = if group.size > 1 { (r - 1.0) / (n - 1.0) } else { 0.0 };
                    for place in 1..=reach(group, cut) {
                        sum += r / n * (above + 1.0 + (place - 1) as f64 * among) / (group.before + place) as f64;
                    }
                    above += r;
                }
                sum / divisor.of(grades.len(), cut)
            }
        }
    }
}

/// The mean of a value of the first relevant document's rank. Of n documents of one score with r relevant, the first
/// relevant one stands at place j with probability C(n − j, r − 1) / C(n, r).
fn first_relevant(judged: &JudgedRanking, cut: RankCut, value: impl Fn(usize) -> f64) -> f64 {
    let Some(group) = judged.groups.first() else { return 0.0 };
    let (n, r) = (group.size, group.grades.len());
    let mut probability = r as f64 / n as f64;
    let mut sum = 0.0;
    for place in 1..=n - r + 1 {
        let rank = group.before + place;
        if cut.is_some_and(|k| rank > k) {
            break;
        }
        sum += probability * value(rank);
        if place < n {
            probability *= (n - place + 1 - r) as f64 / (n - place) as f64;
        }
    }
    sum
}

fn discount(rank: usize) -> f64 {
    1.0 / (rank as f64 + 1.0).log2()
}

fn ideal(grades: &[f64], cut: RankCut, gain: Gain) -> f64 {
    let places = grades.iter().take(cut.unwrap_or(usize::MAX));
    places.zip(1..).map(|(grade, rank)| gain.of(*grade) * discount(rank)).sum()
}

impl Gain {
    fn of(self, grade: f64) -> f64 {
        match self {
            Self::Linear => grade,
            Self::Exponential => grade.exp2() - 1.0,
        }
    }
}

impl Divisor {
    fn of(self, n_relevant: usize, cut: RankCut) -> f64 {
        match self {
            Self::Relevant => n_relevant as f64,
            Self::Reachable => cut.map_or(n_relevant, |k| k.min(n_relevant)) as f64,
        }
    }
}

impl Tied {
    /// The mean over queries; zeros for none.
    pub fn mean(values: impl IntoIterator<Item = Self>) -> Self {
        let (mut sum, mut n) = (Self::default(), 0usize);
        for value in values {
            sum = Self {
                best: sum.best + value.best,
                expected: sum.expected + value.expected,
                worst: sum.worst + value.worst,
            };
            n += 1;
        }
        let n = n.max(1) as f64;
        Self { best: sum.best / n, expected: sum.expected / n, worst: sum.worst / n }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, cut) = match *self {
            Self::Mrr(cut) => ("mrr", cut),
            Self::Ndcg(cut, Gain::Linear) => ("ndcg", cut),
            Self::Ndcg(cut, Gain::Exponential) => ("ndcg_exp", cut),
            Self::Recall(cut) => ("recall", cut),
            Self::Precision(k) => ("precision", Some(k)),
            Self::HitRate(k) => ("hit_rate", Some(k)),
            Self::Map(cut, Divisor::Relevant) => ("map", cut),
            Self::Map(cut, Divisor::Reachable) => ("map_min", cut),
        };
        match cut {
            Some(k) => write!(f, "{name}@{k}"),
            None => f.write_str(name),
        }
    }
}

const NAMES: [&str; 8] = ["mrr", "ndcg", "ndcg_exp", "recall", "precision", "hit_rate", "map", "map_min"];

impl FromStr for Metric {
    type Err = wb_core::Error;

    fn from_str(text: &str) -> wb_core::Result<Self> {
        let wrong = |message: String| wb_core::Error::value(format!("metric `{text}`"), message);
        let (name, cut) = match text.split_once('@') {
            None => (text, None),
            Some((name, k)) => match k.parse::<usize>() {
                Ok(k) if k > 0 => (name, Some(k)),
                _ => return Err(wrong(format!("got `{k}` after `@`, expected a number from 1"))),
            },
        };
        let needed = || cut.ok_or_else(|| wrong(format!("got no cut, expected one, for example `{name}@10`")));
        Ok(match name {
            "mrr" => Self::Mrr(cut),
            "ndcg" => Self::Ndcg(cut, Gain::Linear),
            "ndcg_exp" => Self::Ndcg(cut, Gain::Exponential),
            "recall" => Self::Recall(cut),
            "precision" => Self::Precision(needed()?),
            "hit_rate" => Self::HitRate(needed()?),
            "map" => Self::Map(cut, Divisor::Relevant),
            "map_min" => Self::Map(cut, Divisor::Reachable),
            _ => {
                let hint = suggest::hint(name, NAMES);
                return Err(wb_core::Error::unknown("metric", text).with_hint_if(hint));
            }
        })
    }
}

impl TryFrom<String> for Metric {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse().map_err(|error: wb_core::Error| error.in_one_line())
    }
}

impl From<Metric> for String {
    fn from(metric: Metric) -> Self {
        metric.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn metric(name: &str) -> Metric {
        name.parse().unwrap()
    }

    /// Documents in order with their grades, then `metric=value` words.
    fn check(hits: &[f64], judged: &[f64], expected: &str) {
        let judged = JudgedRanking::in_order(hits.iter().copied(), judged.iter().copied());
        for word in expected.split_whitespace() {
            let (name, value) = word.split_once('=').unwrap();
            let measured = metric(name).of(&judged);
            let value: f64 = value.parse().unwrap();
            assert!((measured.best - value).abs() < 5e-6, "{name}: {measured:?}, expected {value}");
            assert_eq!((measured.best, measured.best), (measured.expected, measured.worst), "{name}");
        }
    }

    #[test]
    fn values_by_hand() {
        check(&[0.0, 1.0, 0.0], &[1.0], "mrr=0.5 mrr@1=0 mrr@2=0.5 ndcg@3=0.63093 ndcg@1=0 recall@1=0 recall@2=1");
        check(
            &[1.0, 0.0, 1.0, 0.0],
            &[1.0, 1.0, 1.0],
            "map=0.555556 map@1=0.333333 map_min@1=1 map_min@2=0.5 precision@4=0.5",
        );
        check(&[1.0, 0.0, 1.0], &[1.0, 1.0], "hit_rate@1=1 recall@1=0.5 precision@2=0.5 precision@10=0.2");
        // (1 + 3/log2(3)) / (3 + 1/log2(3)) and (1 + 7/log2(3)) / (7 + 1/log2(3))
        check(&[1.0, 3.0], &[3.0, 1.0, 0.0], "ndcg=0.796708 ndcg_exp=0.709810 ndcg@1=0.333333 ndcg_exp@1=0.142857");
        // A fractional grade: (2^1.5 − 1) / (2^2.5 − 1).
        check(&[1.5], &[2.5, 1.5], "ndcg_exp@1=0.392631");
        check(&[0.0, 0.0], &[0.0, -1.0], "mrr=0 ndcg=0 recall=0 map=0 hit_rate@1=0");
        check(&[], &[1.0], "mrr=0 ndcg=0 recall=0 map=0");
    }

    #[test]
    fn names_are_read_and_helped() {
        for name in [
            "mrr",
            "mrr@10",
            "ndcg",
            "ndcg@10",
            "ndcg_exp@5",
            "recall@1",
            "recall",
            "precision@3",
            "hit_rate@5",
            "map",
            "map@100",
            "map_min@100",
        ] {
            assert_eq!(metric(name).to_string(), name);
        }
        let error = "ndgc@10".parse::<Metric>().unwrap_err();
        assert_eq!((error.to_string().as_str(), error.hint()), ("no metric `ndgc@10`", Some("did you mean `ndcg`?")));
        for wrong in ["mrr@0", "mrr@", "mrr@x", "precision", "hit_rate"] {
            assert!(wrong.parse::<Metric>().is_err(), "{wrong}");
        }
        assert_eq!(serde_json::from_str::<Vec<Metric>>("[\"mrr@10\"]").unwrap(), [Metric::Mrr(Some(10))]);
    }

    /// Every order of small pools with equal scores, one by one.
    fn by_enumeration(scores: &[f32], grades: &[f64], metric: Metric) -> Tied {
        fn permutations(items: &mut Vec<usize>, from: usize, each: &mut impl FnMut(&[usize])) {
            if from == items.len() {
                return each(items);
            }
            for other in from..items.len() {
                items.swap(from, other);
                permutations(items, from + 1, each);
                items.swap(from, other);
            }
        }
        let mut values = Vec::new();
        permutations(&mut (0..scores.len()).collect(), 0, &mut |order| {
            if order.is_sorted_by(|a, b| scores[*a] >= scores[*b]) {
                let judged =
                    JudgedRanking::in_order(order.iter().map(|document| grades[*document]), grades.iter().copied());
                values.push(metric.of(&judged).best);
            }
        });
        let best = values.iter().copied().fold(0.0, f64::max);
        let worst = values.iter().copied().fold(f64::INFINITY, f64::min);
        Tied { best, expected: values.iter().sum::<f64>() / values.len() as f64, worst }
    }

    const ALL: [&str; 14] = [
        "mrr",
        "mrr@2",
        "ndcg",
        "ndcg@3",
        "ndcg_exp@2",
        "recall",
        "recall@2",
        "precision@3",
        "hit_rate@1",
        "hit_rate@3",
        "map",
        "map@3",
        "map_min@2",
        "ndcg_exp",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(150))]
        #[test]
        fn tie_intervals_equal_the_enumeration_of_all_orders(
            pool in prop::collection::vec((0u8..3, prop::sample::select(vec![0.0, 0.0, 1.0, 2.0])), 1..7),
        ) {
            let scores: Vec<f32> = pool.iter().map(|(score, _)| f32::from(*score)).collect();
            let grades: Vec<f64> = pool.iter().map(|(_, grade)| *grade).collect();
            let judged = JudgedRanking::by_score(&scores, &grades.iter().copied().enumerate().collect::<Vec<_>>());
            for name in ALL {
                let (seen, expected) = (metric(name).of(&judged), by_enumeration(&scores, &grades, metric(name)));
                for (seen, expected) in [(seen.best, expected.best), (seen.expected, expected.expected), (seen.worst, expected.worst)] {
                    prop_assert!((seen - expected).abs() < 1e-9, "{name}: {seen} {expected}");
                }
            }
        }

        #[test]
        fn values_lie_between_0_and_1_and_in_order(
            pool in prop::collection::vec((-3i8..3, prop::sample::select(vec![-1.0, 0.0, 0.5, 1.0, 3.0])), 0..60),
            missing in prop::collection::vec(0.0..3.0, 0..4),
        ) {
            let scores: Vec<f32> = pool.iter().map(|(score, _)| f32::from(*score)).collect();
            let judged: Vec<(usize, f64)> = pool.iter().map(|(_, grade)| *grade).enumerate().collect();
            let judged = JudgedRanking::by_score(&scores, &judged).with_missing(missing);
            for name in ALL {
                let tied = metric(name).of(&judged);
                prop_assert!(tied.worst >= 0.0 && tied.best <= 1.0 + 1e-12, "{name}: {tied:?}");
                prop_assert!(tied.worst <= tied.expected + 1e-12 && tied.expected <= tied.best + 1e-12, "{name}: {tied:?}");
            }
        }
    }

    #[test]
    fn one_answer_in_a_pool_agrees_with_its_rank() {
        let scores = [0.5, 0.9, 0.5, 0.5, f32::NAN];
        for answer in 0..scores.len() {
            let tied = Metric::Mrr(None).of(&JudgedRanking::by_score(&scores, &[(answer, 1.0)]));
            let rank = crate::ties::rank_of(&scores, answer);
            assert_eq!((tied.best, tied.worst), (1.0 / rank.best as f64, 1.0 / rank.worst as f64));
            let reciprocals = (rank.best..=rank.worst).map(|rank| 1.0 / rank as f64).sum::<f64>();
            assert!((tied.expected - reciprocals / (rank.worst - rank.best + 1) as f64).abs() < 1e-15);
        }
    }
}
