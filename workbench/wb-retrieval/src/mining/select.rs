//! From one query's ranking to the documents that may be its negatives, and from those to a pair's negatives.
//!
//! The rules are applied in the order of [`Rule`]; a candidate is counted under the first that throws it away. The
//! arithmetic of margins is sentence-transformers', in 32 bits: a negative is refused where `score + absolute margin`
//! is above the positive's score, or `score` above `positive − |positive| · relative margin`, which moves the right way
//! for scores below zero too. Of several positives the one with the least score counts.

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};
use wb_core::Seed;

use super::{CutTies, MiningRules, Sampling, Softmax};

/// A document that a query's ranking holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NegativeCandidate {
    /// Position of the document.
    pub document: u32,
    /// Its score: the retriever's, or that of a rescoring.
    pub score: f32,
    /// Its place in the retriever's ranking of all documents, from 1.
    pub rank: u32,
}

/// Reasons for which a candidate is no negative, in the order in which they are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// One of the query's positives.
    Positive,
    /// Text of the query or of a positive of the same anchor, white space folded.
    SameText,
    /// Place outside of those that are looked at.
    Place,
    /// Candidate without a score of the rescoring.
    NotRescored,
    /// Score nearer to the positive's than the absolute margin.
    AbsoluteMargin,
    /// Score nearer to the positive's than the relative margin.
    RelativeMargin,
    /// Score above the greatest.
    MaxScore,
    /// Score below the least.
    MinScore,
    /// Nearly the text of a positive.
    NearDuplicate,
}

impl Rule {
    /// Every rule, in order.
    pub const ALL: [Self; 9] = [
        Self::Positive,
        Self::SameText,
        Self::Place,
        Self::NotRescored,
        Self::AbsoluteMargin,
        Self::RelativeMargin,
        Self::MaxScore,
        Self::MinScore,
        Self::NearDuplicate,
    ];

    /// Name in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Positive => "positive of the query",
            Self::SameText => "same text as the query or a positive",
            Self::Place => "outside of the places",
            Self::NotRescored => "not rescored",
            Self::AbsoluteMargin => "absolute margin",
            Self::RelativeMargin => "relative margin",
            Self::MaxScore => "above the greatest score",
            Self::MinScore => "below the least score",
            Self::NearDuplicate => "near duplicate of a positive",
        }
    }
}

/// Number of candidates that each rule threw away.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thrown([u64; Rule::ALL.len()]);

impl Thrown {
    /// Candidates that one rule threw away.
    pub fn by(&self, rule: Rule) -> u64 {
        self.0[rule as usize]
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    fn count(&mut self, rule: Rule) {
        self.0[rule as usize] += 1;
    }

    /// Adds another account.
    pub fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, n)| *sum += n);
    }
}

/// One query's ranking and what is known of it.
pub struct ScoreList<'a> {
    /// Candidates by their places in the ranking, with the retriever's scores or those of a rescoring; a score that is
    /// not a number is that of a candidate that the rescoring left out.
    pub candidates: &'a [NegativeCandidate],
    /// True where scores are those of a rescoring, which puts candidates into another order.
    pub rescored: bool,
    /// The scores of the query's positives; without any, margins throw nothing away.
    pub positive_scores: &'a [f32],
    /// The query's positives.
    pub positives: &'a [u32],
    /// Documents with the text of the query or of a positive, ascending.
    pub never: &'a [u32],
}

/// Candidates that are left of a ranking.
#[derive(Debug, Clone, PartialEq)]
pub struct Allowed {
    /// The candidates that may be negatives, best first.
    pub left: Vec<NegativeCandidate>,
    /// Counts of the others, by the rule that threw them away.
    pub thrown: Thrown,
    /// Ties at the ends of the places that are looked at.
    pub at_places: CutTies,
    /// True where there was something behind those places, so that they and not the ranking were the end.
    pub reached: bool,
}

/// The candidates that may be negatives, best first, and an account of the others. `is_copy` says whether a document is
/// nearly the text of a positive; it is asked last, and not where the rules do not look for copies.
pub fn allowed(list: &ScoreList<'_>, rules: &MiningRules, to: usize, is_copy: impl Fn(u32, u32) -> bool) -> Allowed {
    let least_positive = list.positive_scores.iter().copied().fold(f32::INFINITY, f32::min);
    let above_margin = |score: f32, margin: Option<f32>| margin.is_some_and(|margin| score + margin > least_positive);
    let above_share = |score: f32, share: Option<f32>| {
        share.is_some_and(|share| score > least_positive - least_positive.abs() * share)
    };
    let thrown_by = |place: usize, candidate: &NegativeCandidate| {
        let NegativeCandidate { document, score, .. } = *candidate;
        let stays = rules.include_positives;
        if !stays && list.positives.contains(&document) {
            Some(Rule::Positive)
        } else if !stays && list.never.binary_search(&document).is_ok() {
            Some(Rule::SameText)
        } else if rules.whole_ranking && !(rules.from..to).contains(&place) {
            Some(Rule::Place)
        } else if score.is_nan() {
            Some(Rule::NotRescored)
        } else if above_margin(score, rules.absolute_margin) {
            Some(Rule::AbsoluteMargin)
        } else if above_share(score, rules.relative_margin) {
            Some(Rule::RelativeMargin)
        } else if rules.max_score.is_some_and(|max| score > max) {
            Some(Rule::MaxScore)
        } else if rules.min_score.is_some_and(|min| score < min) {
            Some(Rule::MinScore)
        } else if rules.near_duplicates > 0.0 && !stays && list.positives.iter().any(|p| is_copy(*p, document)) {
            Some(Rule::NearDuplicate)
        } else {
            None
        }
    };
    let mut thrown = Thrown::default();
    let mut left = Vec::new();
    for (place, candidate) in list.candidates.iter().enumerate() {
        match thrown_by(place, candidate) {
            Some(rule) => thrown.count(rule),
            None => left.push(*candidate),
        }
    }
    if list.rescored {
        left.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.rank.cmp(&b.rank)));
    }
    let all: &[NegativeCandidate] = if rules.whole_ranking { list.candidates } else { &left };
    let reached = all.len() > to;
    let mut at_places = CutTies::default();
    for end in [rules.from, to] {
        at_places.add(&CutTies::at(|place| all[place].score, all.len(), end));
    }
    if !rules.whole_ranking {
        let kept = left.len().min(to).saturating_sub(rules.from);
        thrown.0[Rule::Place as usize] += (left.len() - kept) as u64;
        left.truncate(to);
        left.drain(..rules.from.min(left.len()));
    }
    Allowed { left, thrown, at_places, reached }
}

/// Ties between what [`choose`] takes and what it leaves, where it takes the best.
pub fn ties(left: &[NegativeCandidate], rules: &MiningRules) -> CutTies {
    match rules.sampling {
        Sampling::Top => CutTies::at(|place| left[place].score, left.len(), rules.per_pair),
        Sampling::Random | Sampling::Softmax(_) => CutTies::default(),
    }
}

/// A pair's negatives among the documents that are left, best first. What is drawn depends on the seed, the round and
/// the pair's id alone.
pub fn choose(left: &[NegativeCandidate], rules: &MiningRules, draw: &NegativeDraw<'_>) -> Vec<NegativeCandidate> {
    let n = rules.per_pair.min(left.len());
    let mut places: Vec<usize> = match rules.sampling {
        Sampling::Top => (0..n).collect(),
        _ if n == left.len() => (0..n).collect(),
        Sampling::Random => {
            let mut rng = draw.stream("negatives");
            let mut order: Vec<usize> = (0..left.len()).collect();
            // The first steps of a Fisher–Yates shuffle.
            for i in 0..n {
                order.swap(i, rng.random_range(i..left.len()));
            }
            order.truncate(n);
            order
        }
        Sampling::Softmax(Softmax { temperature }) => {
            let mut rng = draw.stream("negatives");
            // Gumbel's trick: the greatest of score / temperature + noise are a draw without replacement.
            let mut keys: Vec<(f64, usize)> = left
                .iter()
                .enumerate()
                .map(|(at, candidate)| (f64::from(candidate.score) / temperature + gumbel(&mut rng), at))
                .collect();
            keys.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            keys.into_iter().take(n).map(|(_, at)| at).collect()
        }
    };
    places.sort_unstable();
    places.into_iter().map(|at| left[at]).collect()
}

/// −ln(−ln(u)) of a uniform u that is never 0 or 1.
fn gumbel(rng: &mut impl Rng) -> f64 {
    let u = (f64::from(rng.random::<u32>()) + 0.5) / 4_294_967_296.0;
    -(-u.ln()).ln()
}

/// Any `n` documents that are not taken, fewer where there are no more.
pub fn fill(n: usize, n_documents: usize, is_taken: impl Fn(u32) -> bool, draw: &NegativeDraw<'_>) -> Vec<u32> {
    let mut rng = draw.stream("random negatives");
    let mut found: Vec<u32> = Vec::with_capacity(n);
    if n_documents <= 4096 {
        // Few enough to be put into a random order, so that none is missed.
        let mut order: Vec<u32> = (0..n_documents as u32).collect();
        for i in (1..n_documents).rev() {
            order.swap(i, rng.random_range(0..=i));
        }
        found.extend(order.into_iter().filter(|document| !is_taken(*document)).take(n));
        return found;
    }
    for _ in 0..100 * n {
        if found.len() == n {
            break;
        }
        let document = rng.random_range(0..n_documents as u32);
        if !is_taken(document) && !found.contains(&document) {
            found.push(document);
        }
    }
    found
}

/// Seed, round and pair of a draw.
#[derive(Debug, Clone, Copy)]
pub struct NegativeDraw<'a> {
    /// The experiment's.
    pub seed: Seed,
    /// Number of minings before; another round is another draw.
    pub round: u64,
    /// The pair's id.
    pub pair: &'a str,
}

impl NegativeDraw<'_> {
    fn stream(&self, purpose: &str) -> impl Rng + use<> {
        self.seed.stream_at(&format!("{purpose} of {}", self.pair), self.round)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::mining::{MiningConfig, Mode};

    fn candidates(scores: &[f32]) -> Vec<NegativeCandidate> {
        let numbered = scores.iter().zip(0u32..);
        numbered.map(|(score, at)| NegativeCandidate { document: at, score: *score, rank: at + 1 }).collect()
    }

    fn rules(change: impl FnOnce(&mut MiningConfig)) -> MiningRules {
        let mut config = MiningConfig { mode: Mode::SentenceTransformers, ..MiningConfig::default() };
        change(&mut config);
        config.rules()
    }

    fn documents(candidates: &[NegativeCandidate]) -> Vec<u32> {
        candidates.iter().map(|candidate| candidate.document).collect()
    }

    fn list<'a>(
        candidates: &'a [NegativeCandidate],
        positive_scores: &'a [f32],
        positives: &'a [u32],
        never: &'a [u32],
    ) -> ScoreList<'a> {
        ScoreList { candidates, rescored: false, positive_scores, positives, never }
    }

    fn left(scores: &[f32], positive_scores: &[f32], rules: &MiningRules) -> (Vec<u32>, Thrown) {
        let candidates = candidates(scores);
        let list = list(&candidates, positive_scores, &[], &[]);
        let Allowed { left, thrown, .. } = allowed(&list, rules, 100, |_, _| false);
        (documents(&left), thrown)
    }

    #[test]
    fn a_relative_margin_moves_down_for_scores_below_zero_too() {
        let with = rules(|config| config.relative_margin = Some(0.1));
        // 0.5 − 0.05 = 0.45
        assert_eq!(left(&[0.9, 0.46, 0.44, -0.2], &[0.5], &with).0, [2, 3]);
        // −0.5 − 0.05 = −0.55, where −0.5 · 0.9 = −0.45 would let −0.46 and −0.54 through
        let (documents, thrown) = left(&[-0.44, -0.46, -0.54, -0.56], &[-0.5], &with);
        assert_eq!(documents, [3]);
        assert_eq!(thrown.by(Rule::RelativeMargin), 3);
        assert_eq!(left(&[0.1, 0.0, -0.1], &[0.0], &with).0, [1, 2]);
    }

    #[test]
    fn of_several_positives_the_least_score_counts() {
        let with = rules(|config| config.absolute_margin = Some(0.1));
        assert_eq!(left(&[0.85, 0.5, 0.39], &[0.9, 0.5, 0.7], &with).0, [2]);
        let with = rules(|config| config.relative_margin = Some(0.1));
        assert_eq!(left(&[0.85, 0.46, 0.44], &[0.9, 0.5, 0.7], &with).0, [2]);
    }

    #[test]
    fn each_candidate_is_counted_under_the_first_rule_that_throws_it() {
        let rules = rules(|config| {
            config.absolute_margin = Some(0.1);
            config.relative_margin = Some(0.5);
            config.max_score = Some(0.3);
            config.min_score = Some(0.0);
            config.near_duplicates = 0.8;
            config.ranks = Some((1, Some(3)));
            config.per_pair = Some(1);
        });
        let candidates = candidates(&[0.9, 0.8, f32::NAN, 0.75, 0.55, 0.35, 0.3, 0.2, 0.1, 0.05, 0.04, -0.1]);
        let list = list(&candidates, &[0.8], &[1], &[0, 1]);
        // Documents 6 to 10 pass the scores; 6 is a copy, 7 stands before the places, 10 behind them.
        let Allowed { left, thrown, .. } =
            allowed(&list, &rules, 3, |positive, document| (positive, document) == (1, 6));
        assert_eq!(documents(&left), [8, 9]);
        let counts: Vec<u64> = Rule::ALL.iter().map(|rule| thrown.by(*rule)).collect();
        assert_eq!(counts, [1, 1, 2, 1, 1, 1, 1, 1, 1]);
        assert_eq!(thrown.total() as usize + left.len(), candidates.len());
    }

    #[test]
    fn places_of_the_whole_ranking_count_positives_and_all() {
        let mut whole = rules(|config| {
            config.mode = Mode::FlagEmbedding;
            config.ranks = Some((2, Some(5)));
            config.per_pair = Some(1);
        });
        let candidates = candidates(&[0.9, 0.8, 0.7, 0.6, 0.5, 0.4]);
        let list = list(&candidates, &[0.8], &[1], &[3]);
        assert_eq!(documents(&allowed(&list, &whole, 5, |_, _| false).left), [2, 4]);
        whole.whole_ranking = false;
        assert_eq!(documents(&allowed(&list, &whole, 5, |_, _| false).left), [4, 5]);
    }

    #[test]
    fn a_rescoring_orders_anew_and_keeps_the_first_ranks() {
        let candidates = candidates(&[0.1, 0.7, 0.7, f32::NAN, 0.2]);
        let list = ScoreList { rescored: true, ..list(&candidates, &[0.9], &[], &[]) };
        let Allowed { left, thrown, .. } = allowed(&list, &rules(|_| {}), 100, |_, _| false);
        assert_eq!(documents(&left), [1, 2, 4, 0]);
        assert_eq!((left[0].rank, thrown.by(Rule::NotRescored)), (2, 1));
    }

    fn draw(pair: &str, seed: u64, round: u64) -> NegativeDraw<'_> {
        NegativeDraw { seed: Seed(seed), round, pair }
    }

    #[test]
    fn a_draw_depends_on_seed_round_and_pair_alone() {
        let left = candidates(&(0..40).map(|at| 1.0 - at as f32 / 40.0).collect::<Vec<_>>());
        for sampling in [Sampling::Random, Sampling::Softmax(Softmax { temperature: 0.5 })] {
            let rules = rules(|config| config.sampling = Some(sampling));
            let of = |pair, seed, round| documents(&choose(&left, &rules, &draw(pair, seed, round)));
            assert_eq!(of("a", 1, 0), of("a", 1, 0));
            assert!(of("a", 1, 0).is_sorted());
            assert_ne!(of("a", 1, 0), of("b", 1, 0));
            assert_ne!(of("a", 1, 0), of("a", 2, 0));
            assert_ne!(of("a", 1, 0), of("a", 1, 1));
            assert_eq!(documents(&choose(&left[..2], &rules, &draw("a", 1, 0))), [0, 1]);
        }
    }

    /// Shares of draws in which each of a few documents is the one that is drawn.
    fn shares(sampling: Sampling, scores: &[f32]) -> Vec<f64> {
        let (left, n) = (candidates(scores), 20_000);
        let rules = rules(|config| (config.sampling, config.per_pair) = (Some(sampling), Some(1)));
        let mut counts = vec![0.0; scores.len()];
        for at in 0..n {
            counts[choose(&left, &rules, &draw(&at.to_string(), 3, 0))[0].document as usize] += 1.0;
        }
        counts.iter().map(|count| count / f64::from(n)).collect()
    }

    #[test]
    fn weights_are_those_of_the_softmax() {
        let scores = [0.9f32, 0.8, 0.5, 0.1];
        let weights: Vec<f64> = scores.iter().map(|score| (f64::from(*score) / 0.2).exp()).collect();
        let sum: f64 = weights.iter().sum();
        // Three standard deviations of a share of 20,000 draws are at most 0.0107.
        for (share, weight) in shares(Sampling::Softmax(Softmax { temperature: 0.2 }), &scores).iter().zip(&weights) {
            assert!((share - weight / sum).abs() < 0.011, "{share} {}", weight / sum);
        }
        for share in shares(Sampling::Random, &scores) {
            assert!((share - 0.25).abs() < 0.011, "{share}");
        }
    }

    #[test]
    fn filling_takes_what_is_free() {
        let taken = |document: u32| document.is_multiple_of(2);
        let of = |n, documents| fill(n, documents, taken, &draw("a", 1, 0));
        let mut all = of(10, 8);
        all.sort_unstable();
        assert_eq!(all, [1, 3, 5, 7]);
        let many = of(50, 100_000);
        assert!(many.len() == 50 && many.iter().all(|document| document % 2 == 1));
        assert_eq!(many, of(50, 100_000));
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_forbidden_is_chosen(
            scores in prop::collection::vec(-1.0f32..1.0, 0..60),
            positive in -1.0f32..1.0,
            margin in 0.0f64..0.5,
            from in 0usize..4,
            n in 1usize..6,
            whole: bool,
            seed: u64,
        ) {
            let mut scores = scores;
            scores.sort_by(|a, b| b.total_cmp(a));
            let mut rules = rules(|config| {
                config.relative_margin = Some(margin);
                config.ranks = Some((from, Some(from + 9)));
                config.per_pair = Some(n);
                config.sampling = Some(Sampling::Random);
            });
            rules.whole_ranking = whole;
            let candidates = candidates(&scores);
            let list = list(&candidates, std::slice::from_ref(&positive), &[2], &[2, 5]);
            let Allowed { left, thrown, .. } = allowed(&list, &rules, from + 9, |_, _| false);
            prop_assert_eq!(left.len() + thrown.total() as usize, candidates.len());
            let chosen = choose(&left, &rules, &draw("p", seed, 0));
            prop_assert_eq!(chosen.len(), n.min(left.len()));
            for candidate in &chosen {
                prop_assert!(![2, 5].contains(&candidate.document));
                prop_assert!(candidate.score <= positive - positive.abs() * margin as f32);
            }
        }
    }
}
