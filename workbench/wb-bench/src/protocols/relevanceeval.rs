//! The arithmetic of github/CodeSearchNet's `src/relevanceeval.py`: gains, discounts, ideals, by its letter.

/// Number of a ranking's URLs that count.
pub(super) const CUT: usize = 300;

/// Results that take up a rank.
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    /// Judgements (language, query, URL, grade) and rankings, with what the reference script makes of them.
    #[derive(Deserialize)]
    struct Case {
        rows: Vec<(String, String, String, f64)>,
        predictions: BTreeMap<String, Vec<String>>,
        within: f64,
        all: f64,
    }

    #[test]
    fn ndcg_of_rankings_equals_the_reference_script() {
        let case: Case = serde_json::from_str(include_str!("../../tests/golden/csn-ndcg.json")).unwrap();
        let mut grades: BTreeMap<String, BTreeMap<String, Vec<f64>>> = BTreeMap::new();
        for (_, query, url, grade) in case.rows {
            grades.entry(query.to_lowercase()).or_default().entry(url).or_default().push(grade);
        }
        let means = |urls: BTreeMap<String, Vec<f64>>| -> BTreeMap<String, f64> {
            urls.into_iter().map(|(url, grades)| (url, grades.iter().sum::<f64>() / grades.len() as f64)).collect()
        };
        let relevance = grades.into_iter().map(|(query, urls)| (query, means(urls)));
        let judged: Vec<_> = relevance.filter(|(_, urls)| ideal(urls.values()) > 0.0).collect();
        for (mode, expected) in [(Mode::Within, case.within), (Mode::All, case.all)] {
            let value = |(query, urls): &(String, BTreeMap<String, f64>)| {
                let ranking = case.predictions.get(query).map(Vec::as_slice).unwrap_or_default();
                dcg(ranking.iter().map(|url| urls.get(url).copied()), mode) / ideal(urls.values())
            };
            let mean = judged.iter().map(value).sum::<f64>() / judged.len() as f64;
            assert!((mean - expected).abs() <= 1e-12, "{mode:?}: got {mean}, expected {expected}");
        }
    }
}
