//! A ranking against another one: a result that was kept, or a run file of TREC that another tool wrote.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    path::Path,
};

use wb_core::{
    Seed, remote,
    statistics::{Comparison, RESAMPLES, bootstrap_interval, compare},
};
use wb_retrieval::trec::{TrecRanking, read_runs};

use super::{
    LoadedSet, Measured, QuestionValues, SearchSet, SetQuestion, json_of,
    measure::{DEPTH, ShownSizes, around_mean},
    values::{Named, RankedLines},
};
use crate::{CodeIndex, Error, RankingWeights, Result};

impl LoadedSet {
    /// The set's answers for a run file: documents are `path:from-to`, with `%20` for a space, and `%25` for `%`.
    pub fn runs(&self, indexes: &[CodeIndex], weights: &RankingWeights) -> Result<Vec<TrecRanking>> {
        let run = |question: &SetQuestion| {
            let asked = self.asked(question, weights)?;
            let found = self.answers(&indexes[question.repository], question, &asked, weights)?;
            // What the structure puts first may have a lower score, and a run file is ordered by them.
            let mut most = f32::MAX;
            let hits = found.into_iter().map(|found| {
                let [from, to] = found.lines;
                most = most.min(found.score);
                (format!("{}:{from}-{to}", as_word(&found.path)), f64::from(most))
            });
            Ok(TrecRanking { query: as_word(&question.id), hits: hits.collect() })
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
            let mut measured: Measured = json_of(path).map_err(|error| {
                error.with_hint(
                    "`--against` takes what `--json` wrote, or a run file of TREC: QUERY Q0 DOCUMENT RANK SCORE TAG",
                )
            })?;
            if measured.set != self.set {
                let what = format!("{contestant} is a result on {}, expected one on {}", measured.set, self.set);
                return Err(Error::failed(what).with_hint(format!("--set {}", measured.set)));
            }
            let of_question =
                |one: &SetQuestion| (one.id.clone(), one.key(self.set, &self.repositories[one.repository]));
            let (ids, keys): (HashSet<String>, HashSet<String>) = self.questions.iter().map(of_question).unzip();
            let is_here = |one: &QuestionValues| match one.asked.is_empty() {
                true => ids.contains(&one.id),
                false => keys.contains(&one.asked),
            };
            if !measured.questions.iter().any(is_here) {
                return Err(self.no_question_of(&contestant));
            }
            measured.contestant = format!("{} ({contestant})", measured.contestant);
            return Ok(measured);
        }
        let runs = read_runs(path)?;
        let by_query: HashMap<&str, &TrecRanking> = runs.iter().map(|run| (run.query.as_str(), run)).collect();
        let sizes = ShownSizes::of_all(indexes);
        let id = |question: &SetQuestion| as_word(&question.id);
        if !self.questions.iter().any(|question| by_query.contains_key(id(question).as_str())) {
            return Err(self.no_question_of(&contestant));
        }
        // A run file has no line for a question of which nothing was found.
        let questions = self.questions.iter().enumerate().map(|(at, question)| {
            let hits = by_query.get(id(question).as_str()).map_or(&[][..], |run| &run.hits);
            let found: Vec<RankedLines> = hits.iter().take(DEPTH).map(|(document, _)| lines_of(document)).collect();
            let mut values = QuestionValues::of(self, at, found, &sizes[question.repository])?;
            if self.set == SearchSet::NoAnswer {
                values.set_best_score(hits.first().map_or(0.0, |(_, score)| *score));
            }
            Ok(values)
        });
        let questions =
            questions.collect::<Result<_>>().map_err(|error| error.within(format!("cannot use {contestant}")))?;
        Ok(Measured::of(self, &contestant, questions))
    }

    fn no_question_of(&self, file: &str) -> Error {
        let example = self.questions.first().map_or("", |question| question.id.as_str());
        let what = format!("{file} has none of the questions of {}, expected ids like `{example}`", self.set);
        Error::failed(what).with_hint("`wb bench search --set SET --dataset DIR --trec OUT` writes such a file")
    }
}

impl Measured {
    /// Compares it with another one, on the questions that have a metric in both, which count as in the set's mean. A question
    /// is the same where its text, its repository and its gold are, or, in what another tool wrote, its name; says how many
    /// are.
    pub fn compare(&mut self, set: &LoadedSet, other: &Self) -> Result<usize> {
        // Of several with one key, the first is the first, and so on.
        let mut by_key: HashMap<&str, VecDeque<&QuestionValues>> = HashMap::new();
        for question in other.questions.iter().filter(|question| !question.asked.is_empty()) {
            by_key.entry(&question.asked).or_default().push_back(question);
        }
        let named = other.questions.iter().filter(|question| question.asked.is_empty());
        let by_name: HashMap<&str, &QuestionValues> = named.map(|question| (question.id.as_str(), question)).collect();
        let mut same = Vec::new();
        for question in &self.questions {
            let keyed = by_key.get_mut(question.asked.as_str()).and_then(VecDeque::pop_front);
            same.extend(keyed.or_else(|| by_name.get(question.id.as_str()).copied()).map(|other| (question, other)));
        }
        // Before questions had keys, semble's tokens were counted in another way.
        let counts = |name: &str, other: &QuestionValues| {
            !(set.set == SearchSet::Semble && other.asked.is_empty() && name == "tokens_to_first_hit")
        };
        for name in self.metrics.keys() {
            let pairs = same.iter().filter(|(_, other)| counts(name, other)).filter_map(|(question, other)| {
                Some((question.at, [*question.values.get(name)?, *other.values.get(name)?]))
            });
            let (at, pairs): (Vec<usize>, Vec<[f64; 2]>) = pairs.unzip();
            if pairs.is_empty() {
                continue;
            }
            let shares = set.shares(&at, name);
            let (own, beside): (Vec<f64>, Vec<f64>) =
                pairs.iter().zip(&shares).map(|([own, other], share)| (own * share, other * share)).unzip();
            let differences = around_mean(pairs.iter().map(|[own, other]| own - other).collect(), &shares);
            let interval = bootstrap_interval(&differences, 0.95, RESAMPLES, Seed(7));
            self.against.insert(name.clone(), Comparison { interval, ..compare(&own, &beside, Seed(7))? });
        }
        Ok(same.len())
    }
}

/// A name or a path as a word of a run file.
fn as_word(text: &str) -> String {
    let is_kept = |c: char| c != '%' && !c.is_whitespace();
    let mut word = String::with_capacity(text.len());
    for c in text.chars() {
        match is_kept(c) {
            true => word.push(c),
            false => c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| word += &format!("%{byte:02X}")),
        }
    }
    word
}

/// The path that a word of a run file stands for: white space and `%` are written by their bytes, and nothing else is.
fn from_word(word: &str) -> String {
    let (mut bytes, mut rest) = (Vec::with_capacity(word.len()), word.as_bytes());
    while let [first, behind @ ..] = rest {
        let digits = behind.get(..2).filter(|_| *first == b'%').and_then(|two| std::str::from_utf8(two).ok());
        let coded = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        bytes.push(coded.unwrap_or(*first));
        rest = if coded.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| word.to_owned())
}

/// Lines of a document of a run file; of a path alone, the whole file.
fn lines_of(document: &str) -> RankedLines {
    let parsed = document.rsplit_once(':').and_then(|(path, lines)| {
        let (from, to) = lines.split_once('-').unwrap_or((lines, lines));
        Some((path, [from.parse().ok()?, to.parse().ok()?]))
    });
    let (path, lines) = parsed.unwrap_or((document, [1, u32::MAX]));
    RankedLines { path: from_word(path), lines, shown: vec![lines], named: Named::No }
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
            ("100%/a.rs:7", "100%/a.rs", [7, 7]),
        ] {
            let expected = RankedLines { path: path.into(), lines, shown: vec![lines], named: Named::No };
            assert_eq!(lines_of(document), expected, "{document}");
        }
        for path in ["on%20e.rs", "a b\u{a0}c.rs", "%", "plain.rs", "ä%zz.rs"] {
            assert!(!as_word(path).contains(char::is_whitespace));
            assert_eq!(from_word(&as_word(path)), path);
        }
    }
}
