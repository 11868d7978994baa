//! Two ways to embed one corpus, on the same few queries: the A/B experiment of a search for code examples.
//!
//! Asked is whether the first three results are of use as examples in a prompt: precision@3, with precision@5 and MRR@5
//! beside it, query by query, with a paired test, and what kind of mistake each wrong result is. It knows nothing of
//! how texts were made: an arm is a name and its rankings, so the code itself, what a model said of it, both, or
//! anything else can be an arm.

mod arm;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
pub use wb_core::records::ab::{AbErrors, AbFound, AbMetric, AbRecord, AbRow, ErrorClass};
use wb_core::{
    Qrels, Seed,
    statistics::{self, RESAMPLES},
};
use wb_retrieval::{Metric, evaluate_ordered};

pub use arm::{AbArm, ArmTexts};

use crate::Result;

/// The cuts of the experiment.
const FIRST: usize = 3;

/// A query, and what a good answer to it shows. What is left empty is not asked about.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AbQuery {
    /// Unique.
    pub id: String,
    /// Text of the query, as it is typed.
    pub text: String,
    /// Words of the subject, which a wrong answer may have too: `fraud`, `imbalanced`, `detection`.
    pub theme: Vec<String>,
    /// Names of the technique: `smote`, `oversampling`.
    pub technique: Vec<String>,
    /// Functions that have to be called: `partial_fit`.
    pub functions: Vec<String>,
    /// Names of the library that has to be used: `torch`, `pytorch`.
    pub library: Vec<String>,
}

/// The class of a useless result by the words in it. In this order: the library asked for is absent though words of
/// theme, technique or functions are there; all functions asked for are absent though the library or the theme is
/// there; the technique is absent though the theme is there; else other. Words are compared without case, whole
/// (`gan` is not in `organ`, `partial_fit` not in `partial_fit_all`).
///
/// The rule gives way to a person's word: see [`AbExperiment::classes`].
pub fn error_class(query: &AbQuery, text: &str) -> ErrorClass {
    let text = text.to_lowercase();
    let has = |words: &[String]| words.iter().any(|word| holds(&text, &word.to_lowercase()));
    let lacks = |words: &[String]| !words.is_empty() && !has(words);
    if lacks(&query.library) && (has(&query.theme) || has(&query.technique) || has(&query.functions)) {
        ErrorClass::KeywordOverReliance
    } else if lacks(&query.functions) && (has(&query.library) || has(&query.theme)) {
        ErrorClass::MissingFunction
    } else if lacks(&query.technique) && has(&query.theme) {
        ErrorClass::ThemeWithoutTechnique
    } else {
        ErrorClass::Other
    }
}

/// True where a word stands in a text with no letter, digit or underscore beside it.
fn holds(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    !word.is_empty()
        && text.match_indices(word).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + word.len()..].chars().next();
            !before.is_some_and(is_part) && !after.is_some_and(is_part)
        })
}

/// Everything that the experiment needs.
pub struct AbExperiment<'a> {
    /// The queries.
    pub queries: &'a [AbQuery],
    /// Judgements: a grade above 0 says that a document is of use for a query. A document that nobody judged is of no
    /// use, and counted.
    pub qrels: &'a Qrels,
    /// The arm that is there already.
    pub baseline: &'a AbArm,
    /// The arm that may be better.
    pub candidate: &'a AbArm,
    /// A document's text, for the classes of errors; nothing where it is not known.
    pub text: &'a dyn Fn(&str) -> Option<&'a str>,
    /// Classes that a person gave, by query id and document id; they go before the rule.
    pub classes: &'a BTreeMap<(String, String), ErrorClass>,
}

impl AbExperiment<'_> {
    /// Measures both arms. An arm without a ranking for a query, a ranking that names a document twice and a query
    /// that nobody judged are errors: a mean over fewer queries would compare other things.
    pub fn run(&self, seed: Seed) -> Result<AbRecord> {
        self.check()?;
        let arms = [self.baseline, self.candidate];
        let of_experiment =
            [Metric::Precision(FIRST), Metric::Precision(AbArm::DEPTH), Metric::Mrr(Some(AbArm::DEPTH))];
        let values: Vec<[Vec<f64>; 2]> = {
            let measured = arms.map(|arm| {
                let ranked = self.queries.iter().map(|query| (query.id.as_str(), self.found(arm, query)));
                evaluate_ordered(ranked, self.qrels, &of_experiment)
            });
            let of = |arm: usize, metric: &Metric| {
                measured[arm].per_query.get(&metric.to_string()).cloned().unwrap_or_default()
            };
            of_experiment.iter().map(|metric| [of(0, metric), of(1, metric)]).collect()
        };
        let mut metrics = Vec::new();
        for (metric, values) in of_experiment.iter().zip(&values) {
            metrics.push(compared(metric.to_string(), values, seed)?);
        }
        let row = |(at, query): (usize, &AbQuery)| {
            let pair = |metric: usize| [values[metric][0][at], values[metric][1][at]];
            AbRow {
                id: query.id.clone(),
                text: query.text.clone(),
                useful: pair(0).map(|precision| (precision * FIRST as f64).round() as u64),
                precision_3: pair(0),
                precision_5: pair(1),
                mrr_5: pair(2),
                found: arms.map(|arm| self.judged(arm, query)),
            }
        };
        let queries: Vec<AbRow> = self.queries.iter().enumerate().map(row).collect();
        let errors = ErrorClass::ALL.map(|class| AbErrors {
            class,
            results: [0, 1].map(|arm| {
                queries.iter().flat_map(|row| &row.found[arm]).filter(|found| found.class == Some(class)).count() as u64
            }),
        });
        let unjudged = [0, 1].map(|arm: usize| {
            queries.iter().flat_map(|row| &row.found[arm]).filter(|found| found.useful.is_none()).count() as u64
        });
        Ok(AbRecord { arms: arms.map(|arm| arm.name.clone()), metrics, queries, errors: errors.to_vec(), unjudged })
    }

    fn check(&self) -> Result<()> {
        let wrong = |place: String, message: String| wb_core::Error::data(place, message);
        if self.queries.is_empty() {
            return Err(wrong("queries".into(), "got none, expected at least one".into()));
        }
        for (at, query) in self.queries.iter().enumerate() {
            let place = format!("query {}", query.id);
            if self.queries[..at].iter().any(|before| before.id == query.id) {
                return Err(wrong(place, "the id stands there twice, expected unique ids".into()));
            }
            if self.qrels.of(&query.id).is_none_or(BTreeMap::is_empty) {
                return Err(wrong(place, "nobody judged a document for it".into()));
            }
            for arm in [self.baseline, self.candidate] {
                let Some(ranking) = arm.rankings.get(&query.id) else {
                    return Err(wrong(place, format!("arm `{}` has no ranking for it", arm.name)));
                };
                let first = &ranking[..ranking.len().min(AbArm::DEPTH)];
                if let Some(twice) = (1..first.len()).find(|at| first[..*at].contains(&first[*at])) {
                    let message = format!("arm `{}` has document {} twice", arm.name, first[twice]);
                    return Err(wrong(place, message));
                }
            }
        }
        Ok(())
    }

    fn found<'q>(&'q self, arm: &'q AbArm, query: &AbQuery) -> impl Iterator<Item = &'q str> {
        arm.rankings.get(&query.id).into_iter().flatten().take(AbArm::DEPTH).map(String::as_str)
    }

    fn judged(&self, arm: &AbArm, query: &AbQuery) -> Vec<AbFound> {
        let grades = self.qrels.of(&query.id);
        let class = |id: &str| {
            let given = self.classes.get(&(query.id.clone(), id.to_owned())).copied();
            given.unwrap_or_else(|| (self.text)(id).map_or(ErrorClass::Other, |text| error_class(query, text)))
        };
        let one = |(at, id): (usize, &str)| {
            let useful = grades.and_then(|grades| grades.get(id)).map(|grade| *grade > 0.0);
            let is_wrong = at < FIRST && useful != Some(true);
            AbFound { id: id.to_owned(), useful, class: is_wrong.then(|| class(id)) }
        };
        self.found(arm, query).enumerate().map(one).collect()
    }
}

fn compared(name: String, values: &[Vec<f64>; 2], seed: Seed) -> Result<AbMetric> {
    let [baseline, candidate] = values;
    let means = [statistics::mean(baseline), statistics::mean(candidate)];
    let compared = statistics::compare(candidate, baseline, seed)?;
    let differences = statistics::differences(candidate, baseline)?;
    let difference = means[1] - means[0];
    Ok(AbMetric {
        name,
        means,
        difference,
        relative: (means[0] > 0.0).then(|| difference / means[0]),
        interval: compared.interval,
        p_value: compared.p_value,
        p_bootstrap: statistics::bootstrap_test(&differences, RESAMPLES, seed),
        wins_ties_losses: compared.wins_ties_losses.map(|count| count as u64),
        perfect: values.each_ref().map(|values| values.iter().filter(|value| **value == 1.0).count() as u64),
    })
}

#[cfg(test)]
mod tests;
