//! The arithmetic of github/CodeSearchNet's `src/relevanceeval.py`: gains, discounts, ideals, by its letter.

use std::collections::BTreeMap;

/// URLs of a ranking that count.
pub const CUT: usize = 300;

/// Whose ranks advance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Within,
    All,
}

impl Mode {
    pub(super) const BOTH: [Self; 2] = [Self::Within, Self::All];

    pub(super) fn id(self) -> &'static str {
        match self {
            Self::Within => "csn-ndcg-within",
            Self::All => "csn-ndcg-all",
        }
    }

    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Within => {
                "99 annotated queries against the language’s code, the first 300 results; only annotated results take up a rank"
            }
            Self::All => {
                "99 annotated queries against the language’s code, the first 300 results; every result takes up a rank"
            }
        }
    }
}

/// DCG of a ranking given as relevances, `None` where nobody judged.
pub(super) fn dcg(ranking: impl IntoIterator<Item = Option<f64>>, mode: Mode) -> f64 {
    let (mut rank, mut sum) = (1usize, 0.0);
    for relevance in ranking.into_iter().take(CUT) {
        if let Some(relevance) = relevance {
            sum += (relevance.exp2() - 1.0) / ((rank + 1) as f64).log2();
        }
        rank += usize::from(relevance.is_some() || mode == Mode::All);
    }
    sum
}

/// DCG of the best ranking there is, without a cut.
pub(super) fn ideal<'r>(relevances: impl IntoIterator<Item = &'r f64>) -> f64 {
    let mut sorted: Vec<f64> = relevances.into_iter().copied().collect();
    sorted.sort_by(|a, b| b.total_cmp(a));
    // No cut: a query has never more than a few dozen judgements.
    sorted.iter().zip(1usize..).map(|(relevance, rank)| (relevance.exp2() - 1.0) / ((rank + 1) as f64).log2()).sum()
}

/// The mean NDCG *within* and *all* of rankings given as URLs, by the letter of `relevanceeval.py`: relevance and
/// predictions of one language, by lower-case query. `None` where no query has a relevant URL.
pub fn relevanceeval(
    relevance: &BTreeMap<String, BTreeMap<String, f64>>,
    predictions: &BTreeMap<String, Vec<String>>,
) -> Option<[f64; 2]> {
    let judged: Vec<_> = relevance.iter().filter(|(_, urls)| ideal(urls.values()) > 0.0).collect();
    let mean = |mode: Mode| {
        let value = |(query, urls): &(&String, &BTreeMap<String, f64>)| {
            let ranking = predictions.get(*query).map(Vec::as_slice).unwrap_or_default();
            dcg(ranking.iter().map(|url| urls.get(url).copied()), mode) / ideal(urls.values())
        };
        judged.iter().map(value).sum::<f64>() / judged.len() as f64
    };
    (!judged.is_empty()).then(|| [mean(Mode::Within), mean(Mode::All)])
}
