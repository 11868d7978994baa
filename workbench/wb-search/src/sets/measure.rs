//! A ranking's worth on a set, by the definitions of those who made the set.

use std::{
    collections::BTreeMap,
    path::{Component, Path},
    sync::{Mutex, PoisonError},
    time::Instant,
};

use rayon::prelude::*;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use wb_core::{
    Seed,
    statistics::{Comparison, RESAMPLES, auroc, bootstrap_interval, mean},
};

use super::{
    LoadedSet, SearchSet, SetQuestion,
    values::{Named, RankedLines, values},
};
use crate::{
    CodeIndex, Error, FoundUnit, IssueWeights, PartedQuestion, RankingWeights, Result,
    answer::{GAP, is_zero},
    excerpts::Excerpts,
    file_lines::{FileLines, run},
    index::UnitNames,
};

/// Answers that are looked at.
pub(super) const DEPTH: usize = 100;
/// Answers that are asked for where time is taken.
const ANSWERS: usize = 10;
/// semble's metrics that are means of means.
const SEMBLES_HEADLINE: [&str; 2] = ["ndcg@10", "p@1"];
/// Values by which questions that have an answer are told from others.
const CONFIDENCE: &str = "confidence";
const BEST_SCORE: &str = "best_score";

/// A metric over all questions that have it, with its 95 % interval over questions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MetricValue {
    /// The mean, as the set takes it.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// A question's values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuestionValues {
    /// Name of the question.
    pub id: String,
    /// Key of its text, its repository and its gold, by which a question is the same in another result.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub asked: String,
    /// Kind of question.
    pub category: String,
    /// Repository.
    pub repository: String,
    /// Values by the names of the metrics.
    pub values: BTreeMap<String, f64>,
    /// Position in the set.
    #[serde(skip)]
    pub(super) at: usize,
}

/// A contestant's result on a set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The set.
    pub set: SearchSet,
    /// The ranking that was measured.
    pub contestant: String,
    /// Metrics by their names.
    pub metrics: BTreeMap<String, MetricValue>,
    /// Metrics of each kind of question, where the set has several: means over its questions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_category: BTreeMap<String, BTreeMap<String, MetricValue>>,
    /// Number of questions that were not asked: their repository or their gold is not there.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: usize,
    /// Each question, in the order of the set.
    pub questions: Vec<QuestionValues>,
    /// Other rankings on the same questions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Measured>,
    /// Differences to another one, on the questions that both have, by metric.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub against: BTreeMap<String, Comparison>,
}

/// Measures a ranking on a set; `indexes` are those of its repositories, in their order.
pub fn measure(set: &LoadedSet, indexes: &[CodeIndex], weights: &RankingWeights, contestant: &str) -> Result<Measured> {
    Ok(Measured::of(set, contestant, answered(set, indexes, &mut ShownSizes::of_all(indexes), weights)?))
}

impl Measured {
    /// Metrics over questions.
    pub(super) fn of(set: &LoadedSet, contestant: &str, questions: Vec<QuestionValues>) -> Self {
        let mut metrics = over(&questions, &|questions, name| scaled(set, questions, name));
        for (name, by) in [("auroc", CONFIDENCE), ("auroc_by_score", BEST_SCORE)] {
            metrics.extend(area(set, &questions, by).map(|value| (name.to_owned(), value)));
        }
        let (contestant, beside, against) = (contestant.to_owned(), Vec::new(), BTreeMap::new());
        let by_category = by_category(&questions);
        let (set, left_out) = (set.set, set.left_out);
        Self { set, contestant, metrics, by_category, left_out, questions, beside, against }
    }
}

/// Metrics of questions, with 95 % intervals over those that have them; `values` gives those whose mean a metric is.
fn over(
    questions: &[QuestionValues],
    values: &dyn Fn(&[QuestionValues], &str) -> Vec<f64>,
) -> BTreeMap<String, MetricValue> {
    let mut names: Vec<&String> = questions.iter().flat_map(|question| question.values.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let of_name = |name: &String| {
        let values = values(questions, name);
        let interval = bootstrap_interval(&values, 0.95, RESAMPLES, Seed(7));
        // A mean of means is among the values.
        let of_questions = || of_metric(questions, name).map(|(_, value)| value);
        let (least, most) = (of_questions().fold(f64::MAX, f64::min), of_questions().fold(f64::MIN, f64::max));
        let [low, high] = [interval.low, interval.high].map(|end| end.clamp(least, most));
        (name.clone(), MetricValue { value: mean(&values), low, high })
    };
    names.into_iter().map(of_name).collect()
}

/// Metrics of each kind of question; nothing where there is one kind alone.
fn by_category(questions: &[QuestionValues]) -> BTreeMap<String, BTreeMap<String, MetricValue>> {
    let mut kinds: BTreeMap<&str, Vec<QuestionValues>> = BTreeMap::new();
    questions.iter().for_each(|one| kinds.entry(&one.category).or_default().push(one.clone()));
    let values_of = |questions: &[QuestionValues], name: &str| {
        of_metric(questions, name).map(|(_, value)| value).collect::<Vec<_>>()
    };
    let kinds = if kinds.len() > 1 { kinds } else { BTreeMap::new() };
    kinds.into_iter().map(|(kind, questions)| (kind.to_owned(), over(&questions, &values_of))).collect()
}

/// Area under the curve of a value that tells questions with an answer from those without.
fn area(set: &LoadedSet, questions: &[QuestionValues], by: &str) -> Option<MetricValue> {
    let has_answer = |at: usize| !set.questions[at].targets.is_empty();
    let of = |wanted: bool| -> Vec<f64> {
        of_metric(questions, by).filter(|(at, _)| has_answer(*at) == wanted).map(|(_, value)| value).collect()
    };
    let (value, interval) = auroc(&of(true), &of(false), 0.95, RESAMPLES, Seed(7))?;
    Some(MetricValue { value, low: interval.low, high: interval.high })
}

/// Seconds that each question takes, asked one after the other, ascending; its vectors are there already.
pub fn seconds(set: &LoadedSet, indexes: &[CodeIndex], weights: &RankingWeights) -> Result<Vec<f64>> {
    let ask = |question: &SetQuestion| {
        let asked = set.asked(question, weights)?;
        let started = Instant::now();
        indexes[question.repository].search_issue(&asked, weights, ANSWERS)?;
        Ok(started.elapsed().as_secs_f64())
    };
    let mut seconds = set.questions.iter().map(ask).collect::<Result<Vec<f64>>>()?;
    seconds.sort_by(f64::total_cmp);
    Ok(seconds)
}

/// Asks every question; `sizes` are those of the indexes' files, for any number of rankings.
pub(super) fn answered(
    set: &LoadedSet,
    indexes: &[CodeIndex],
    sizes: &mut [ShownSizes<'_>],
    weights: &RankingWeights,
) -> Result<Vec<QuestionValues>> {
    sizes.iter_mut().for_each(|one| one.begin(weights));
    let ask = |(at, question): (usize, &SetQuestion)| {
        let index = &indexes[question.repository];
        let asked = set.asked(question, weights)?;
        let found = set.answers(index, question, &asked, weights)?;
        let best_score = found.first().map_or(0.0, |found| f64::from(found.score));
        let excerpts = Excerpts::new(index, &asked, weights.excerpt)?;
        let sizes = &sizes[question.repository];
        let found: Vec<RankedLines> = found.into_iter().map(|found| sizes.ranked(at, found, &excerpts)).collect();
        let mut of_question = QuestionValues::of(set, at, found, sizes)?;
        if set.set == SearchSet::NoAnswer {
            of_question.values.insert(CONFIDENCE.to_owned(), f64::from(index.confidence(&asked)?));
            of_question.set_best_score(best_score);
        }
        Ok(of_question)
    };
    set.questions.par_iter().enumerate().map(ask).collect()
}

impl QuestionValues {
    /// The score of its best answer, which may say whether there is one.
    pub(super) fn set_best_score(&mut self, score: f64) {
        self.values.insert(BEST_SCORE.to_owned(), score);
    }

    /// Values of the answers to a question, by its position in the set.
    pub(super) fn of(set: &LoadedSet, at: usize, mut found: Vec<RankedLines>, sizes: &ShownSizes<'_>) -> Result<Self> {
        let question = &set.questions[at];
        if let Some(symbol) = &question.symbol {
            let targets = &question.targets;
            let in_files = found.iter_mut().filter(|found| targets.iter().any(|target| target.path == found.path));
            in_files.for_each(|found| found.named = sizes.named(found, symbol));
        }
        Ok(Self {
            at,
            id: question.id.clone(),
            asked: question.key(set.set, &set.repositories[question.repository]),
            category: question.category.clone(),
            repository: set.repositories[question.repository].name.clone(),
            values: values(set.set, question, &found, &sizes.of(&found)?),
        })
    }
}

/// A metric of answers, as the set takes its mean.
pub(super) fn value(set: &LoadedSet, questions: &[QuestionValues], name: &str) -> f64 {
    mean(&scaled(set, questions, name))
}

/// Values of the questions that have a metric, so that their mean is the set's.
fn scaled(set: &LoadedSet, questions: &[QuestionValues], name: &str) -> Vec<f64> {
    let (at, values): (Vec<usize>, Vec<f64>) = of_metric(questions, name).unzip();
    around_mean(values, &set.shares(&at, name))
}

/// Values whose mean is that of the others where each counts by its share, and which are as far from it as these are, times
/// the share: how many questions of a large share a resample has says nothing by itself.
pub(super) fn around_mean(values: Vec<f64>, shares: &[f64]) -> Vec<f64> {
    let weighted: Vec<f64> = values.iter().zip(shares).map(|(value, share)| value * share).collect();
    let all = mean(&weighted);
    values.into_iter().zip(shares).map(|(value, share)| all + share * (value - all)).collect()
}

impl LoadedSet {
    /// The answers to a question that are looked at.
    pub(super) fn answers(
        &self,
        index: &CodeIndex,
        question: &SetQuestion,
        asked: &PartedQuestion,
        weights: &RankingWeights,
    ) -> Result<Vec<FoundUnit>> {
        Ok(index.with_first(index.search_issue(asked, weights, DEPTH)?, &question.first, DEPTH))
    }

    /// Factors by which questions, by their positions, count in the mean of a metric. semble's headline is the mean over
    /// languages of the mean over repositories of the mean over questions; its metrics that count tokens are means over
    /// questions.
    pub(super) fn shares(&self, questions: &[usize], name: &str) -> Vec<f64> {
        if self.set != SearchSet::Semble || !SEMBLES_HEADLINE.contains(&name) {
            return vec![1.0; questions.len()];
        }
        let repository = |at: &usize| self.questions[*at].repository;
        let mut of_repository: BTreeMap<usize, f64> = BTreeMap::new();
        questions.iter().for_each(|at| *of_repository.entry(repository(at)).or_default() += 1.0);
        let language = |repository: usize| self.repositories[repository].language.as_str();
        let mut of_language: BTreeMap<&str, f64> = BTreeMap::new();
        of_repository.keys().for_each(|at| *of_language.entry(language(*at)).or_default() += 1.0);
        let (n, languages) = (questions.len() as f64, of_language.len() as f64);
        let share = |at: usize| n / (languages * of_language[language(at)] * of_repository[&at]);
        questions.iter().map(|at| share(repository(at))).collect()
    }
}

/// Questions that have a metric, with its value.
fn of_metric(questions: &[QuestionValues], name: &str) -> impl Iterator<Item = (usize, f64)> {
    questions.iter().filter_map(move |question| Some((question.at, *question.values.get(name)?)))
}

/// Sizes of what answers show, by the files as they were indexed; a file is read when it is first asked for.
pub(super) struct ShownSizes<'a> {
    lines: FileLines<'a>,
    /// Lines that are shown of a unit, by question and unit, which are the same by all weights that have these in common.
    shown: Mutex<FxHashMap<[usize; 2], Vec<[u32; 2]>>>,
    shown_by: (Option<usize>, Option<IssueWeights>),
}

impl<'a> ShownSizes<'a> {
    /// One for each index; no file is read yet.
    pub(super) fn of_all(indexes: &'a [CodeIndex]) -> Vec<Self> {
        indexes
            .iter()
            .map(|index| Self { lines: FileLines::new(index), shown: Mutex::default(), shown_by: (None, None) })
            .collect()
    }

    /// Forgets what is not shown by these weights.
    fn begin(&mut self, weights: &RankingWeights) {
        let shown_by = (weights.excerpt, weights.issue.clone());
        if self.shown_by != shown_by {
            (self.shown, self.shown_by) = (Mutex::default(), shown_by);
        }
    }

    /// A unit with the lines that an answer to a question has of it.
    fn ranked(&self, question: usize, found: FoundUnit, excerpts: &Excerpts<'_>) -> RankedLines {
        let FoundUnit { path, lines, unit: at, .. } = found;
        let all_known = || self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all_known().get(&[question, at]).cloned();
        let shown = known.unwrap_or_else(|| {
            let unit = &self.lines.index().units()[at];
            let of_file = self.lines.of(unit.file as usize);
            let shown = of_file.map_or_else(|| vec![lines], |of_file| excerpts.of(unit, of_file));
            all_known().insert([question, at], shown.clone());
            shown
        });
        RankedLines { path, lines, shown, named: Named::No }
    }

    /// The part that lines have of what a name is defined as in their file.
    fn named(&self, found: &RankedLines, name: &str) -> Named {
        let index = self.lines.index();
        let Some(file) = index.file_at(&found.path) else { return Named::No };
        let lines = self.lines.of(file).unwrap_or_default();
        let has_name = |shown: &[u32; 2]| run(lines, *shown).iter().any(|line| has_word(line, name));
        let of_unit = |unit: usize| {
            let UnitNames { own, scope, .. } = index.names(unit);
            match own.contains(&name) {
                true if found.shown.iter().any(has_name) => Named::Shown,
                true => Named::Unshown,
                // Lines further down in a long function are a part of it.
                false if own.is_empty() && scope.last() == Some(&name) => Named::Shown,
                false => Named::No,
            }
        };
        let ([first, end], [from, to]) = (index.files()[file].units, found.lines);
        let has_line = |unit: &usize| index.units()[*unit].lines[0] <= to && index.units()[*unit].lines[1] >= from;
        (first as usize..end as usize).filter(has_line).map(of_unit).max().unwrap_or_default()
    }

    /// Characters of what is shown.
    ///
    /// # Errors
    ///
    /// If another ranking names a file that is not there, so that what it gives to read cannot be counted.
    fn of(&self, found: &[RankedLines]) -> Result<Vec<f64>> {
        let size = |found: &RankedLines| match self.lines.index().file_at(&found.path) {
            Some(file) => Ok(characters(found, self.lines.of(file).unwrap_or_default())),
            // Another ranking may look at files that this index leaves aside.
            None => Ok(characters(found, &self.left_aside(&found.path)?)),
        };
        found.iter().map(size).collect()
    }

    /// Lines of a file that the index does not have.
    fn left_aside(&self, path: &str) -> Result<Vec<String>> {
        let root = self.lines.index().root();
        let is_below = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
        let text = is_below.then(|| std::fs::read(root.join(path)).ok()).flatten();
        let text = text.ok_or_else(|| {
            let what = format!("{path} is no file of {}, expected a path below it", root.display());
            Error::failed(what).with_hint("documents of a run file are PATH:FROM-TO, as `--trec OUT` writes them")
        })?;
        Ok(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect())
    }
}

/// True where a name stands in a line by itself, and not inside of another one.
fn has_word(line: &str, name: &str) -> bool {
    let is_inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(name)
        .any(|(at, _)| !is_inside(line[..at].chars().next_back()) && !is_inside(line[at + name.len()..].chars().next()))
}

/// Characters of the runs of a file's lines that are shown, the ends of lines and what stands between runs counted.
fn characters(found: &RankedLines, lines: &[String]) -> f64 {
    let of_line = |line: &String| line.chars().count() + 1;
    let of_run = |shown: &[u32; 2]| run(lines, *shown).iter().map(of_line).sum::<usize>();
    let gaps = found.shown.len().saturating_sub(1) * (GAP.chars().count() + 1);
    (found.shown.iter().map(of_run).sum::<usize>() + gaps) as f64
}
