//! A ranking's worth on a set, by the definitions of those who made the set.

use std::{
    collections::{BTreeMap, HashSet},
    sync::OnceLock,
};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use wb_core::{
    Seed,
    statistics::{RESAMPLES, auroc, bootstrap_interval, mean},
};

use super::{LoadedSet, SearchSet, SetQuestion, Target};
use crate::{CodeIndex, FoundUnit, RankingWeights, Result};

/// Answers that are looked at.
const DEPTH: usize = 60;
/// Characters of a token, where tokens are counted.
const CHARS: f64 = 4.0;
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
    /// Kind of question.
    pub category: String,
    /// Repository.
    pub repository: String,
    /// Values by the names of the metrics.
    pub values: BTreeMap<String, f64>,
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
    /// Each question, in the order of the set.
    pub questions: Vec<QuestionValues>,
    /// Other rankings on the same questions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Measured>,
}

/// Measures a ranking on a set; `indexes` are those of its repositories, in their order.
pub fn measure(set: &LoadedSet, indexes: &[CodeIndex], weights: &RankingWeights, contestant: &str) -> Result<Measured> {
    let questions = answered(set, indexes, &LineLengths::of_all(indexes), weights)?;
    let mut names: Vec<&String> = questions.iter().flat_map(|question| question.values.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let of_questions = names.iter().map(|name| {
        let values: Vec<f64> = of_metric(&questions, name).map(|(_, value)| value).collect();
        let interval = bootstrap_interval(&values, 0.95, RESAMPLES, Seed(7));
        let value = MetricValue { value: value(set, &questions, name), low: interval.low, high: interval.high };
        ((*name).clone(), value)
    });
    let mut metrics: BTreeMap<String, MetricValue> = of_questions.collect();
    for (name, by) in [("auroc", CONFIDENCE), ("auroc_by_score", BEST_SCORE)] {
        metrics.extend(area(set, &questions, by).map(|value| (name.to_owned(), value)));
    }
    Ok(Measured { set: set.set, contestant: contestant.to_owned(), metrics, questions, beside: Vec::new() })
}

/// How well a value tells questions that have an answer from those that have none.
fn area(set: &LoadedSet, questions: &[QuestionValues], by: &str) -> Option<MetricValue> {
    let has_answer = |at: usize| !set.questions[at].targets.is_empty();
    let of = |wanted: bool| -> Vec<f64> {
        of_metric(questions, by).filter(|(at, _)| has_answer(*at) == wanted).map(|(_, value)| value).collect()
    };
    let (value, interval) = auroc(&of(true), &of(false), 0.95, RESAMPLES, Seed(7))?;
    Some(MetricValue { value, low: interval.low, high: interval.high })
}

/// Asks every question; `lengths` are those of the indexes' files.
pub(super) fn answered(
    set: &LoadedSet,
    indexes: &[CodeIndex],
    lengths: &[LineLengths<'_>],
    weights: &RankingWeights,
) -> Result<Vec<QuestionValues>> {
    let ask = |question: &SetQuestion| {
        let index = &indexes[question.repository];
        let asked = question.asked.clone().unwrap_or_else(|| set.set.asked(&question.text, weights));
        let found = index.search_issue(&asked, weights, DEPTH)?;
        let sizes = lengths[question.repository].sizes(&found);
        let mut values = values(set.set, question, &found, &sizes);
        if set.set == SearchSet::NoAnswer {
            values.insert(CONFIDENCE.to_owned(), f64::from(index.confidence(&asked)?));
            values.insert(BEST_SCORE.to_owned(), found.first().map_or(0.0, |found| f64::from(found.score)));
        }
        Ok(QuestionValues {
            id: question.id.clone(),
            category: question.category.clone(),
            repository: set.repositories[question.repository].name.clone(),
            values,
        })
    };
    set.questions.par_iter().map(ask).collect()
}

/// A metric of answers, as the set takes its mean.
pub(super) fn value(set: &LoadedSet, questions: &[QuestionValues], name: &str) -> f64 {
    match set.set {
        SearchSet::Semble => {
            mean_of_languages(set, of_metric(questions, name).map(|(at, value)| (set.questions[at].repository, value)))
        }
        _ => mean(&of_metric(questions, name).map(|(_, value)| value).collect::<Vec<_>>()),
    }
}

/// Questions that have a metric, with its value.
fn of_metric(questions: &[QuestionValues], name: &str) -> impl Iterator<Item = (usize, f64)> {
    questions.iter().enumerate().filter_map(move |(at, question)| Some((at, *question.values.get(name)?)))
}

/// semble's headline: the mean over languages of the mean over repositories of the mean over questions.
fn mean_of_languages(set: &LoadedSet, values: impl Iterator<Item = (usize, f64)>) -> f64 {
    let mut by_repository: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    values.for_each(|(repository, value)| by_repository.entry(repository).or_default().push(value));
    let mut by_language: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (repository, values) in &by_repository {
        by_language.entry(&set.repositories[*repository].language).or_default().push(mean(values));
    }
    let languages: Vec<f64> = by_language.values().map(|values| mean(values)).collect();
    mean(&languages)
}

/// Characters of each file's lines, by the files as they are; a file is read when it is first asked for.
pub(super) struct LineLengths<'a> {
    index: &'a CodeIndex,
    files: Vec<OnceLock<Vec<usize>>>,
}

impl<'a> LineLengths<'a> {
    /// One for each index; no file is read yet.
    pub(super) fn of_all(indexes: &'a [CodeIndex]) -> Vec<Self> {
        let of = |index: &'a CodeIndex| Self { index, files: index.files().iter().map(|_| OnceLock::new()).collect() };
        indexes.iter().map(of).collect()
    }

    fn of_file(&self, file: usize) -> &[usize] {
        self.files[file].get_or_init(|| {
            let path = self.index.root().join(&self.index.files()[file].path);
            let text = std::fs::read_to_string(path).unwrap_or_default();
            text.lines().map(|line| line.chars().count() + 1).collect()
        })
    }

    /// Characters of what was found.
    fn sizes(&self, found: &[FoundUnit]) -> Vec<f64> {
        let size = |found: &FoundUnit| {
            let lengths = self.of_file(self.index.units()[found.unit].file as usize);
            let of_unit = lengths.get(found.lines[0] as usize - 1..found.lines[1] as usize).unwrap_or_default();
            of_unit.iter().sum::<usize>() as f64
        };
        found.iter().map(size).collect()
    }
}

fn values(set: SearchSet, question: &SetQuestion, found: &[FoundUnit], sizes: &[f64]) -> BTreeMap<String, f64> {
    let mut values = BTreeMap::new();
    // No place is right for a question without an answer.
    if set == SearchSet::NoAnswer && question.targets.is_empty() {
        return values;
    }
    let mut put = |name: &str, value: f64| _ = values.insert(name.to_owned(), value);
    let yes = |holds: bool| f64::from(u8::from(holds));
    let first = |hits: &dyn Fn(&FoundUnit) -> bool| found.iter().position(hits);
    // Tokens up to and with the first that answers.
    let tokens = |hits: &dyn Fn(&FoundUnit) -> bool| {
        first(hits).map(|at| sizes[..=at].iter().sum::<f64>() / CHARS).unwrap_or(f64::INFINITY)
    };
    let any = |found: &FoundUnit| question.targets.iter().any(|target| covers(set, found, target));
    match set {
        SearchSet::Semble => {
            put("ndcg@10", ndcg(question, found, 10));
            let primary = &question.targets[..question.primary];
            put("p@1", yes(found.first().is_some_and(|found| primary.iter().any(|target| covers(set, found, target)))));
        }
        SearchSet::SweQa => {
            let in_file = |found: &FoundUnit| question.targets.iter().any(|target| target.path == found.path);
            put("file_p@1", yes(first(&in_file) == Some(0)));
            put("file@1000", yes(tokens(&in_file) <= 1000.0));
            put("file@2000", yes(tokens(&in_file) <= 2000.0));
            if question.targets.iter().any(|target| target.lines.is_some()) {
                let in_lines = |found: &FoundUnit| {
                    question.targets.iter().any(|target| target.lines.is_some() && covers(set, found, target))
                };
                for budget in [1000, 2000, 4000, 8000] {
                    put(&format!("line@{budget}"), yes(tokens(&in_lines) <= f64::from(budget)));
                }
            }
        }
        SearchSet::Own => {
            let rank = first(&any);
            for k in [1, 5, 10] {
                let name = if k == 1 { "p@1".to_owned() } else { format!("r@{k}") };
                put(&format!("{}_{name}", question.category), yes(rank.is_some_and(|at| at < k)));
            }
            put(&format!("{}_mrr", question.category), rank.map_or(0.0, |at| 1.0 / (at as f64 + 1.0)));
        }
        SearchSet::ContextBench | SearchSet::NoAnswer => {
            let mut files: Vec<&str> = Vec::new();
            for FoundUnit { path, .. } in found {
                if !files.contains(&path.as_str()) {
                    files.push(path);
                }
            }
            for k in [1, 5, 10] {
                let hit = files.iter().take(k).any(|path| question.targets.iter().any(|target| target.path == *path));
                put(&format!("file_hit@{k}"), yes(hit));
            }
            if set == SearchSet::ContextBench {
                put("line_recall@8000", line_recall(question, found, sizes, 8000.0));
            }
        }
        SearchSet::Cqs => {
            for k in [1, 5, 20] {
                put(&format!("r@{k}"), yes(first(&any).is_some_and(|at| at < k)));
            }
            for budget in [1000, 2000, 4000, 8000] {
                put(&format!("chunk@{budget}"), yes(tokens(&any) <= f64::from(budget)));
            }
        }
    }
    let tokens = tokens(&any);
    if tokens.is_finite() {
        put("tokens_to_first_hit", tokens);
    }
    values
}

/// Share of the gold lines that stand in the first units, as long as those fit into so many tokens.
fn line_recall(question: &SetQuestion, found: &[FoundUnit], sizes: &[f64], budget: f64) -> f64 {
    let gold: HashSet<(&str, u32)> = question
        .targets
        .iter()
        .flat_map(|target| {
            target.lines.into_iter().flat_map(|[from, to]| (from..=to).map(|line| (target.path.as_str(), line)))
        })
        .collect();
    let mut spent = 0.0;
    let within = found.iter().zip(sizes).take_while(|(_, size)| {
        spent += **size / CHARS;
        spent <= budget
    });
    let seen: HashSet<(&str, u32)> =
        within.flat_map(|(unit, _)| (unit.lines[0]..=unit.lines[1]).map(|line| (unit.path.as_str(), line))).collect();
    gold.intersection(&seen).count() as f64 / gold.len().max(1) as f64
}

/// True where a unit is in the target, or has one of its lines. semble takes paths that end alike for the same.
fn covers(set: SearchSet, found: &FoundUnit, target: &Target) -> bool {
    let ends_with = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    let same = match set {
        SearchSet::Semble => ends_with(&found.path, &target.path) || ends_with(&target.path, &found.path),
        _ => found.path == target.path,
    };
    same && target.lines.is_none_or(|[from, to]| found.lines[1] >= from && found.lines[0] <= to)
}

/// Binary gains at the ranks of the first unit for each target; the ideal has all targets first.
fn ndcg(question: &SetQuestion, found: &[FoundUnit], k: usize) -> f64 {
    let gain = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
    let mut gains = vec![0.0; k];
    for target in &question.targets {
        let rank = found.iter().take(k).position(|found| covers(SearchSet::Semble, found, target));
        rank.into_iter().for_each(|rank| gains[rank] = gain(rank));
    }
    let ideal: f64 = (0..k.min(question.targets.len())).map(gain).sum();
    if ideal > 0.0 { gains.iter().sum::<f64>() / ideal } else { 0.0 }
}
