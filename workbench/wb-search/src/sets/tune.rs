//! Weights of a ranking, fitted to sets of questions of different make.

use wb_core::{
    Seed,
    statistics::{Comparison, compare, mean},
};

use super::{
    LoadedSet, Measured, SearchSet, SetQuestion,
    measure::{ShownSizes, answered, value},
};
use crate::{
    CodeIndex, IssueWeights, RankingWeights, Result, SearchQuestion,
    ranking::{Intent, SignalWeights},
};

/// A set with the indexes of its repositories.
pub type IndexedSet = (LoadedSet, Vec<CodeIndex>);

/// Gain of the mean from which a turn is worth something: less is a question or two that come by chance.
const LEAST_GAIN: f64 = 0.001;

/// A number of some weights that is turned up and down.
struct Dial<W> {
    name: &'static str,
    of: fn(&mut W) -> &mut f32,
    /// The first turn; later ones are a half and a quarter of it.
    step: f32,
    most: f32,
}

const SIGNALS: [Dial<SignalWeights>; 21] = [
    dial("k1", |w| &mut w.k1, 0.5, 3.0),
    dial("b", |w| &mut w.b, 0.1, 1.0),
    dial("names", |w| &mut w.names, 0.5, 10.0),
    dial("head", |w| &mut w.head, 0.5, 5.0),
    dial("variants", |w| &mut w.variants, 0.1, 1.0),
    dial("compounds", |w| &mut w.compounds, 0.2, 2.0),
    dial("path", |w| &mut w.path, 0.1, 2.0),
    dial("stem", |w| &mut w.stem, 0.1, 2.0),
    dial("defines", |w| &mut w.defines, 0.1, 3.0),
    dial("coherence", |w| &mut w.coherence, 0.1, 3.0),
    dial("means", |w| &mut w.means, 0.2, 4.0),
    dial("file_means", |w| &mut w.file_means, 0.2, 4.0),
    dial("centrality", |w| &mut w.centrality, 0.05, 1.0),
    dial("recency", |w| &mut w.recency, 0.05, 1.0),
    dial("again", |w| &mut w.again, 0.1, 1.0),
    dial("test", |w| &mut w.roles.test, 0.1, 1.2),
    dial("example", |w| &mut w.roles.example, 0.1, 1.2),
    dial("declaration", |w| &mut w.roles.declaration, 0.1, 1.2),
    dial("generated", |w| &mut w.roles.generated, 0.1, 1.2),
    dial("docs", |w| &mut w.roles.docs, 0.1, 1.2),
    dial("config", |w| &mut w.roles.config, 0.1, 1.2),
];

const ISSUE: [Dial<IssueWeights>; 8] = [
    dial("title", |w| &mut w.title, 0.2, 3.0),
    dial("issue's names", |w| &mut w.names, 0.2, 3.0),
    dial("prose", |w| &mut w.prose, 0.2, 3.0),
    dial("quotes", |w| &mut w.quotes, 0.2, 3.0),
    dial("code", |w| &mut w.code, 0.2, 3.0),
    dial("file", |w| &mut w.file, 0.2, 3.0),
    dial("line", |w| &mut w.line, 0.2, 3.0),
    dial("issue's variants", |w| &mut w.variants, 0.1, 1.0),
];

/// Weights of a cross-encoder that are tried.
const RERANK: [f32; 7] = [0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5];

const fn dial<W>(name: &'static str, of: fn(&mut W) -> &mut f32, step: f32, most: f32) -> Dial<W> {
    Dial { name, of, step, most }
}

/// A dial on the weights that it turns.
enum Turned<'a> {
    Signal(&'a Dial<SignalWeights>, Intent),
    Issue(&'a Dial<IssueWeights>),
}

impl Turned<'_> {
    /// Dials for what the sets ask: names have weights of their own, which nothing but questions for names can turn, and so have
    /// the parts of issues.
    fn by(sets: &[&IndexedSet]) -> Result<Vec<Self>> {
        let (mut intents, mut in_parts) = (Vec::new(), false);
        for (set, indexes) in sets {
            in_parts |= set.set.asks_in_parts();
            for SetQuestion { text, repository, .. } in &set.questions {
                intents.push(indexes[*repository].intent(&SearchQuestion::new(text))?);
            }
        }
        let asked = [Intent::Prose, Intent::Symbol].into_iter().filter(|intent| intents.contains(intent));
        let of_signals = asked.flat_map(|intent| SIGNALS.iter().map(move |dial| Self::Signal(dial, intent)));
        Ok(of_signals.chain(ISSUE.iter().filter(|_| in_parts).map(Self::Issue)).collect())
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Signal(dial, _) => dial.name,
            Self::Issue(dial) => dial.name,
        }
    }

    /// The weights with the dial turned by so many of its steps; none where that changes nothing.
    fn turn(&self, weights: &RankingWeights, by_meaning: bool, steps: f32) -> Option<RankingWeights> {
        let mut tried = weights.clone();
        match self {
            Self::Signal(dial, intent) => {
                let weights = if by_meaning { &mut tried.vectors } else { &mut tried.words };
                dial.turn(weights.of_mut(*intent), steps);
            }
            Self::Issue(dial) => dial.turn(tried.issue.as_mut()?, steps),
        }
        (tried != *weights).then_some(tried)
    }
}

impl<W> Dial<W> {
    fn turn(&self, weights: &mut W, steps: f32) {
        let number = (self.of)(weights);
        *number = (*number + steps * self.step).clamp(0.0, self.most);
    }
}

/// Metrics whose mean says what a result is worth: some about files, some about lines.
pub fn main_metrics(set: SearchSet) -> &'static [&'static str] {
    match set {
        SearchSet::Semble => &["ndcg@10", "p@1"],
        SearchSet::SweQa => &["file_p@1", "file@1000", "line@2000"],
        SearchSet::Cqs => &["r@5", "named@2000", "named@8000"],
        SearchSet::Intents => &["p@1", "ndcg@10", "r@10"],
        SearchSet::Own => &["docstring_mrr", "symbol_mrr", "commit_mrr"],
        SearchSet::NoAnswer => &["file_hit@1", "file_hit@5", "file_hit@10"],
        SearchSet::ContextBench => &["file_hit@1", "file_hit@5", "file_hit@10", "line_recall@8000"],
    }
}

/// The worth of a result in one number: the mean of metrics about files and about lines.
pub fn worth(measured: &Measured) -> f64 {
    worth_by(measured.set, |name| measured.metrics.get(name).map_or(0.0, |found| found.value))
}

fn worth_by(set: SearchSet, value: impl Fn(&str) -> f64) -> f64 {
    mean(&main_metrics(set).iter().map(|name| value(name)).collect::<Vec<_>>())
}

/// Sets whose files are read once for all weights that are tried.
struct SetWorths<'a> {
    sets: &'a [&'a IndexedSet],
    sizes: Vec<Vec<ShownSizes<'a>>>,
}

impl<'a> SetWorths<'a> {
    fn of(sets: &'a [&'a IndexedSet]) -> Self {
        Self { sets, sizes: sets.iter().map(|(_, indexes)| ShownSizes::of_all(indexes)).collect() }
    }

    /// The mean of [`worth`] over the sets, which count alike.
    fn by(&mut self, weights: &RankingWeights) -> Result<f64> {
        let worths = self.sets.iter().zip(&mut self.sizes).map(|((set, indexes), sizes)| {
            let questions = answered(set, indexes, sizes, weights)?;
            Ok(worth_by(set.set, |name| value(set, &questions, name)))
        });
        Ok(mean(&worths.collect::<Result<Vec<f64>>>()?))
    }
}

/// Turns one weight after the other up and down for as long as the mean of [`worth`] over the sets grows; `tell` hears of
/// each gain. Sets count alike, however many questions they have.
pub fn tune(sets: &[&IndexedSet], start: RankingWeights, tell: &mut dyn FnMut(&str, f64)) -> Result<RankingWeights> {
    let mut worths = SetWorths::of(sets);
    // Where an encoder is asked, the weights that hold then.
    let by_meaning = sets.iter().all(|(_, indexes)| indexes.iter().all(|index| index.vectors().is_some()));
    let all_turned = Turned::by(sets)?;
    let mut best = start;
    let mut reached = worths.by(&best)?;
    tell("start", reached);
    for factor in [1.0_f32, 0.5, 0.25] {
        loop {
            let before = reached;
            for turned in &all_turned {
                for steps in [factor, -factor] {
                    let Some(tried) = turned.turn(&best, by_meaning, steps) else { continue };
                    let found = worths.by(&tried)?;
                    if found > reached + LEAST_GAIN {
                        (best, reached) = (tried, found);
                        tell(turned.name(), reached);
                    }
                }
            }
            if reached == before {
                break;
            }
        }
    }
    Ok(best)
}

/// The weights with that of a cross-encoder, which has read answers, by which the mean of [`worth`] over the sets is greatest;
/// 0 where none gains.
pub fn tune_reading(sets: &[&IndexedSet], weights: &RankingWeights) -> Result<RankingWeights> {
    let mut worths = SetWorths::of(sets);
    let mut best = RankingWeights { rerank: 0.0, ..weights.clone() };
    let mut reached = worths.by(&best)?;
    for rerank in RERANK {
        let tried = RankingWeights { rerank, ..weights.clone() };
        let found = worths.by(&tried)?;
        if found > reached + LEAST_GAIN {
            (best, reached) = (tried, found);
        }
    }
    Ok(best)
}

/// Worth of a cross-encoder that has read answers to the questions of some sets, each ranked by weights of its own: of each
/// question the mean of its [`main_metrics`], beside that without the cross-encoder. Sets count alike.
pub fn worth_of_reading(sets: &[(&IndexedSet, &RankingWeights)]) -> Result<Comparison> {
    let all: usize = sets.iter().map(|((set, _), _)| set.questions.len()).sum();
    let (mut with_it, mut without_it) = (Vec::new(), Vec::new());
    for ((set, indexes), weights) in sets {
        let share = all as f64 / (sets.len() * set.questions.len().max(1)) as f64;
        let without = RankingWeights { rerank: 0.0, ..(*weights).clone() };
        let mut sizes = ShownSizes::of_all(indexes);
        for (by, worths) in [(*weights, &mut with_it), (&without, &mut without_it)] {
            let questions = answered(set, indexes, &mut sizes, by)?;
            worths.extend(questions.iter().map(|question| {
                let metrics = main_metrics(set.set).iter().filter_map(|name| question.values.get(*name).copied());
                share * mean(&metrics.collect::<Vec<_>>())
            }));
        }
    }
    compare(&with_it, &without_it, Seed(7))
}
