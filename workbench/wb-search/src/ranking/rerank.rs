//! The first answers ordered once more, with what a model says that reads question and answer together.

use std::collections::HashMap;

use wb_core::{Progress, Reranker};

use super::{FoundUnit, RankingWeights};
use crate::{
    CodeIndex, PartedQuestion, Result,
    vectors::{failed, texts},
};

/// Answers that a cross-encoder reads, where nothing else is said.
pub const READ: usize = 20;

/// Scores of a cross-encoder.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReadAnswers {
    /// Scores by units.
    pub(crate) scores: HashMap<usize, f32>,
    /// Number of first answers that were to be read; those of files that have changed were not.
    pub(crate) of_first: usize,
}

impl ReadAnswers {
    /// Scores of the first `n` answers to each of some questions, by the texts that there are of them.
    pub(crate) fn of_all(
        reranker: &dyn Reranker,
        asked: Vec<(&str, Vec<(usize, String)>)>,
        n: usize,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<Self>> {
        let pairs = asked.iter().flat_map(|(question, texts)| texts.iter().map(|(_, text)| (*question, text.as_str())));
        let mut scores = reranker.score(&pairs.collect::<Vec<_>>(), progress).map_err(failed)?.into_iter();
        let read = |(_, texts): (&str, Vec<(usize, String)>)| {
            let scores = texts.into_iter().map(|(unit, _)| unit).zip(&mut scores).collect();
            Self { scores, of_first: n }
        };
        Ok(asked.into_iter().map(read).collect())
    }
}

impl PartedQuestion {
    /// Lets a cross-encoder read the first answers of an index, which are ordered by what it says of them too from then on.
    pub fn read(
        &mut self,
        index: &CodeIndex,
        weights: &RankingWeights,
        reranker: &dyn Reranker,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        let texts = index.first_texts(self, weights, READ)?;
        let question = self.whole_text().map_or("", |question| question.text());
        let read = ReadAnswers::of_all(reranker, vec![(question, texts)], READ, progress)?;
        self.set_read(read.into_iter().next().unwrap_or_default());
        Ok(())
    }
}

impl CodeIndex {
    /// The first `n` answers to a question as an encoder reads them, but of files that have changed since.
    pub(crate) fn first_texts(
        &self,
        question: &PartedQuestion,
        weights: &RankingWeights,
        n: usize,
    ) -> Result<Vec<(usize, String)>> {
        let found = self.search_issue(question, weights, n)?;
        Ok(texts(self, &found.iter().map(|found| found.unit).collect::<Vec<_>>()))
    }
}

/// Answers, of which the first are ordered by both scores; the others stay below in their order.
///
/// Both scores are brought to 0 to 1 over the first answers, and the weighted sum decides (convex combination by least and
/// greatest score: Bruch et al., arXiv 2210.11934), so that the scale of neither matters. Of an answer that was not read the
/// model is taken to say what the ranking does. The scores of answers keep their places, so that the first still has the
/// greatest.
pub(crate) fn reranked(mut found: Vec<FoundUnit>, read: &ReadAnswers, weight: f32) -> Vec<FoundUnit> {
    let scores: Vec<f32> = found.iter().map(|found| found.score).collect();
    let rest = found.split_off(read.of_first.min(found.len()));
    let own = to_one(&scores[..found.len()]);
    let known: Vec<f32> = found.iter().filter_map(|found| read.scores.get(&found.unit).copied()).collect();
    let mut by_model = to_one(&known).into_iter();
    for (found, own) in found.iter_mut().zip(own) {
        found.signals.read = if read.scores.contains_key(&found.unit) { by_model.next() } else { None };
        found.score = own + weight * found.signals.read.unwrap_or(own);
    }
    found.sort_by(|one, other| other.score.total_cmp(&one.score));
    found.into_iter().chain(rest).zip(scores).map(|(found, score)| FoundUnit { score, ..found }).collect()
}

/// Scores with the least as 0 and the greatest as 1; zeros where all are one.
fn to_one(scores: &[f32]) -> Vec<f32> {
    let low = scores.iter().copied().fold(f32::INFINITY, f32::min);
    let range = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max) - low;
    scores.iter().map(|score| if range > 0.0 { (score - low) / range } else { 0.0 }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranking::Signals;

    #[test]
    fn the_first_are_ordered_by_both_and_stay_above_the_rest() {
        let found = |unit: usize, score: f32| FoundUnit {
            path: String::new(),
            lines: [1, 1],
            names: Vec::new(),
            score,
            signals: Signals::default(),
            unit,
        };
        let all = || vec![found(4, 9.0), found(7, 8.0), found(1, 5.0), found(2, 4.0)];
        // Own 1, .75, 0; read 0, 1, .9.
        let read = |of_first: usize, scores: &[(usize, f32)]| ReadAnswers {
            scores: scores.iter().copied().collect(),
            of_first,
        };
        let all_read = read(3, &[(4, -10.0), (7, 10.0), (1, 8.0)]);
        let order = |read: &ReadAnswers, weight: f32| {
            let ordered = reranked(all(), read, weight);
            assert_eq!(ordered.iter().map(|found| found.score).collect::<Vec<_>>(), [9.0, 8.0, 5.0, 4.0]);
            let is_read = |found: &FoundUnit| read.scores.contains_key(&found.unit);
            assert!(ordered.iter().all(|found| found.signals.read.is_some() == is_read(found)));
            ordered.iter().map(|found| found.unit).collect::<Vec<_>>()
        };
        assert_eq!(order(&all_read, 0.0), [4, 7, 1, 2]);
        assert_eq!(order(&all_read, 0.2), [4, 7, 1, 2]);
        assert_eq!(order(&all_read, 0.3), [7, 4, 1, 2]);
        assert_eq!(order(&all_read, 1.2), [7, 1, 4, 2]);
        assert_eq!(reranked(all(), &ReadAnswers::default(), 1.0), all());
        // The best one's file has changed: 1 and 1, against .75 and 1, 0 and 0.
        assert_eq!(order(&read(3, &[(7, 5.0), (1, 2.0)]), 1.5), [4, 7, 1, 2]);
        assert_eq!(order(&read(4, &[(4, 0.0), (2, 9.0)]), 3.0), [7, 2, 4, 1]);
    }
}
