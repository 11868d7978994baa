//! A ranking against another one: a result that was kept, or a run file of TREC that another tool wrote.

use std::{collections::HashMap, path::Path};

use wb_core::{Seed, remote, statistics::compare};
use wb_retrieval::trec::{TrecRanking, read_runs};

use super::{
    LoadedSet, Measured, QuestionValues, SetQuestion,
    measure::{DEPTH, ShownSizes},
    read_json,
    values::{Named, RankedLines},
};
use crate::{CodeIndex, Error, RankingWeights, Result};

impl LoadedSet {
    /// The set's answers for a run file: documents are `path:from-to`, with `%20` for a space.
    pub fn runs(&self, indexes: &[CodeIndex], weights: &RankingWeights) -> Result<Vec<TrecRanking>> {
        let run = |question: &SetQuestion| {
            let asked = self.asked(question, weights)?;
            let found = indexes[question.repository].search_issue(&asked, weights, DEPTH)?;
            let hits = found.into_iter().map(|found| {
                let [from, to] = found.lines;
                (format!("{}:{from}-{to}", found.path.replace(' ', "%20")), f64::from(found.score))
            });
            Ok(TrecRanking { query: question.id.replace(' ', "%20"), hits: hits.collect() })
        };
        self.questions.iter().map(run).collect()
    }

    /// Reads another ranking on this set: what `--json` wrote, or a run file whose queries are the set's ids and whose
    /// documents are `path`, `path:line` or `path:from-to`; a question that it does not have is one without answers.
    pub fn other(&self, path: &Path, indexes: &[CodeIndex]) -> Result<Measured> {
        let contestant = path.display().to_string();
        let path = &remote::local(path)?;
        let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
        if text.trim_start().starts_with('{') {
            let measured: Measured = read_json(path)?;
            if measured.set != self.set {
                let what = format!("{contestant} is a result on {}, expected one on {}", measured.set, self.set);
                return Err(Error::failed(what).with_hint(format!("--set {}", measured.set)));
            }
            return Ok(measured);
        }
        let runs = read_runs(path)?;
        let by_query: HashMap<&str, &TrecRanking> = runs.iter().map(|run| (run.query.as_str(), run)).collect();
        let sizes = ShownSizes::of_all(indexes);
        let id = |question: &SetQuestion| question.id.replace(' ', "%20");
        if !self.questions.iter().any(|question| by_query.contains_key(id(question).as_str())) {
            let example = self.questions.first().map_or("", |question| question.id.as_str());
            let what = format!("{contestant} has none of the questions of {}, expected ids like `{example}`", self.set);
            let hint = "`wb bench search --set SET --dataset DIR --trec OUT` writes such a file";
            return Err(Error::failed(what).with_hint(hint));
        }
        // A run file has no line for a question of which nothing was found.
        let questions = self.questions.iter().enumerate().map(|(at, question)| {
            let hits = by_query.get(id(question).as_str()).map_or(&[][..], |run| &run.hits);
            let found: Vec<RankedLines> = hits.iter().take(DEPTH).map(|(document, _)| lines_of(document)).collect();
            QuestionValues::of(self, at, found, &sizes[question.repository])
        });
        let questions =
            questions.collect::<Result<_>>().map_err(|error| error.within(format!("cannot use {contestant}")))?;
        Ok(Measured::of(self, &contestant, questions))
    }
}

impl Measured {
    /// Compares it with another one, on the questions that have a metric in both, which count as in the set's mean.
    pub fn compare(&mut self, set: &LoadedSet, other: &Self) -> Result<()> {
        let others: HashMap<&str, &QuestionValues> =
            other.questions.iter().map(|question| (question.id.as_str(), question)).collect();
        for name in self.metrics.keys() {
            let pairs = self.questions.iter().filter_map(|question| {
                let value = others.get(question.id.as_str())?.values.get(name)?;
                Some((question.at, [*question.values.get(name)?, *value]))
            });
            let (at, pairs): (Vec<usize>, Vec<[f64; 2]>) = pairs.unzip();
            let pairs = pairs.into_iter().zip(set.shares(&at, name));
            let (own, beside): (Vec<f64>, Vec<f64>) =
                pairs.map(|([own, other], share)| (own * share, other * share)).unzip();
            if !own.is_empty() {
                self.against.insert(name.clone(), compare(&own, &beside, Seed(7))?);
            }
        }
        Ok(())
    }
}

/// Lines of a document of a run file; of a path alone, the whole file.
fn lines_of(document: &str) -> RankedLines {
    let parsed = document.rsplit_once(':').and_then(|(path, lines)| {
        let (from, to) = lines.split_once('-').unwrap_or((lines, lines));
        Some((path, [from.parse().ok()?, to.parse().ok()?]))
    });
    let (path, lines) = parsed.unwrap_or((document, [1, u32::MAX]));
    RankedLines { path: path.replace("%20", " "), lines, shown: vec![lines], named: Named::No }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_paths_with_and_without_lines() {
        for (document, path, lines) in [
            ("a.rs", "a.rs", [1, u32::MAX]),
            ("a%20b/c.rs:7", "a b/c.rs", [7, 7]),
            ("c:/a.rs:7-9", "c:/a.rs", [7, 9]),
            ("C:a.rs", "C:a.rs", [1, u32::MAX]),
        ] {
            let expected = RankedLines { path: path.into(), lines, shown: vec![lines], named: Named::No };
            assert_eq!(lines_of(document), expected, "{document}");
        }
    }
}
