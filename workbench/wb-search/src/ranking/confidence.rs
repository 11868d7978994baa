//! Probability that something here answers a question, by the share of the question that one unit has.

use super::SearchQuestion;
use crate::{CodeIndex, PartedQuestion, Result, index::Counts};

/// BM25's constants here: those that are common, not the ranking's, so that fitted weights leave confidence as it is.
const K1: f32 = 1.5;
const B: f32 = 0.75;
/// Log-odds of an answer by the shares' mean, fitted to the 70 questions of Agent Retrieval Bench's development part.
const ODDS: [f32; 2] = [-7.24, 32.8];

impl CodeIndex {
    /// Confidence that something answers: a probability, where as many questions have an answer as have none; by the
    /// geometric mean of two shares. One is that of the first line's words, by their rarity, which the unit with most of them
    /// has; the other is the best unit's BM25 for the whole text, of the most that any unit could have. A word that stands
    /// nowhere is the rarest. The margin between scores, the agreement of signals and the share of names that are known add
    /// nothing to these, where repositories are held apart (reports/LOG.md).
    ///
    /// It compares questions of one kind: a long issue reaches less than a short one. `wb bench search --set no-answer`
    /// says what it is worth. It looks at words alone, and at all files, also at those that the question leaves aside.
    pub fn confidence(&self, asked: &PartedQuestion) -> Result<f32> {
        let (Some(title), Some(whole)) = (asked.title(), asked.whole_text()) else { return Ok(0.0) };
        let ([covered, _], [_, reached]) = (self.shares(title)?, self.shares(whole)?);
        Ok(probability((covered * reached).sqrt()))
    }

    /// Shares of a question that one unit has: of its words, and of the most BM25 that there can be.
    fn shares(&self, question: &SearchQuestion) -> Result<[f32; 2]> {
        let (mut all, mut units) = (0.0, vec![[0.0_f32; 2]; self.units().len()]);
        for (word, _) in question.words() {
            let on_unit = |rarity: f32, unit: u32, counts: Counts| {
                let length = 1.0 - B + B * self.lengths()[unit as usize];
                let often = f32::from(counts.text) / length;
                let [covered, reached] = &mut units[unit as usize];
                *covered += rarity;
                *reached += rarity * often / (often + K1);
            };
            all += self.each_posting(word, on_unit, |_, _| {})?.unwrap_or_else(|| self.rarity(0));
        }
        let most = |at: usize| units.iter().map(|sums| sums[at]).fold(0.0, f32::max);
        Ok(if all > 0.0 { [most(0) / all, most(1) / all] } else { [0.0; 2] })
    }
}

/// Probability of an answer by the shares' mean; none, where nothing is shared.
fn probability(shared: f32) -> f32 {
    let [none, each] = ODDS;
    if shared == 0.0 { 0.0 } else { 1.0 / (1.0 + (-none - each * shared).exp()) }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::{FolderFiles, RankingWeights, build};

    #[test]
    fn shares_by_hand() {
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("a.md"), "zebra\n").unwrap();
        std::fs::write(folder.path().join("b.md"), "lion\n").unwrap();
        let (index, _) = build(FolderFiles::of(folder.path()).unwrap(), &mut |_| {}).unwrap();
        // Two units, each word in one: ln(1 + 1.5 / 1.5). A word that stands nowhere: ln(1 + 2.5 / 0.5).
        let (here, nowhere) = (2.0_f32.ln(), 6.0_f32.ln());
        let [covered, reached] = index.shares(&SearchQuestion::new("zebra giraffe")).unwrap();
        assert!((covered - here / (here + nowhere)).abs() < 1e-6, "{covered}");
        // Units of mean length have the word once.
        assert!((reached - covered / (1.0 + K1)).abs() < 1e-6, "{reached}");
        let weights = RankingWeights::shipped().unwrap();
        let ask =
            |text: &str| index.confidence(&PartedQuestion::new(text, &SearchQuestion::new(""), &weights)).unwrap();
        // The first line has the zebra, the whole text one word in two.
        let expected = ((1.0 / 2.0) / (1.0 + K1)).sqrt();
        assert!((ask("zebra\n\nlion") - probability(expected)).abs() < 1e-6);
        assert!((probability(7.24 / 32.8) - 0.5).abs() < 1e-6);
        assert_eq!((ask("giraffe"), ask("")), (0.0, 0.0));
    }
}
