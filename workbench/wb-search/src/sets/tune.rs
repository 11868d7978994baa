//! Weights of a ranking, fitted to sets of questions of different make.

use wb_core::statistics::mean;

use super::{
    LoadedSet, Measured, SearchSet, SetQuestion,
    measure::{ShownSizes, answered, value},
};
use crate::{
    CodeIndex, RankingWeights, Result, SearchQuestion,
    ranking::{Intent, SignalWeights},
};

/// A set with the indexes of its repositories.
pub type IndexedSet = (LoadedSet, Vec<CodeIndex>);

/// A number of [`SignalWeights`] that is turned up and down.
struct Dial {
    name: &'static str,
    of: fn(&mut SignalWeights) -> &mut f32,
    /// The first turn; later ones are a half and a quarter of it.
    step: f32,
    most: f32,
}

const DIALS: [Dial; 20] = [
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
    dial("again", |w| &mut w.again, 0.1, 1.0),
    dial("test", |w| &mut w.roles.test, 0.1, 1.2),
    dial("example", |w| &mut w.roles.example, 0.1, 1.2),
    dial("declaration", |w| &mut w.roles.declaration, 0.1, 1.2),
    dial("generated", |w| &mut w.roles.generated, 0.1, 1.2),
    dial("docs", |w| &mut w.roles.docs, 0.1, 1.2),
    dial("config", |w| &mut w.roles.config, 0.1, 1.2),
];

const fn dial(name: &'static str, of: fn(&mut SignalWeights) -> &mut f32, step: f32, most: f32) -> Dial {
    Dial { name, of, step, most }
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

/// Turns one weight after the other up and down for as long as the mean of [`worth`] over the sets grows; `tell` hears of
/// each gain. Sets count alike, however many questions they have.
pub fn tune(sets: &[&IndexedSet], start: RankingWeights, tell: &mut dyn FnMut(&str, f64)) -> Result<RankingWeights> {
    // Files are read once for all weights that are tried.
    let sizes: Vec<Vec<ShownSizes<'_>>> = sets.iter().map(|(_, indexes)| ShownSizes::of_all(indexes)).collect();
    let reached_by = |weights: &RankingWeights| -> Result<f64> {
        let worths = sets.iter().zip(&sizes).map(|((set, indexes), sizes)| {
            let questions = answered(set, indexes, sizes, weights)?;
            Ok(worth_by(set.set, |name| value(set, &questions, name)))
        });
        Ok(mean(&worths.collect::<Result<Vec<f64>>>()?))
    };
    // Where an encoder is asked, the weights that hold then.
    let by_meaning = sets.iter().all(|(_, indexes)| indexes.iter().all(|index| index.vectors().is_some()));
    // Names have weights of their own, which nothing but questions for names can turn.
    let intent = |question: &SetQuestion, indexes: &[CodeIndex]| {
        indexes[question.repository].intent(&SearchQuestion::new(&question.text))
    };
    let asked = sets.iter().flat_map(|(set, indexes)| set.questions.iter().map(|one| intent(one, indexes)));
    let intents = asked.collect::<Result<Vec<Intent>>>()?;
    let asked = [Intent::Prose, Intent::Symbol].into_iter().filter(|intent| intents.contains(intent));
    let turned: Vec<(&Dial, Intent)> = asked.flat_map(|intent| DIALS.iter().map(move |dial| (dial, intent))).collect();
    let mut best = start;
    let mut reached = reached_by(&best)?;
    tell("start", reached);
    for factor in [1.0_f32, 0.5, 0.25] {
        loop {
            let before = reached;
            for (Dial { name, of, step, most }, intent) in &turned {
                for direction in [1.0, -1.0] {
                    let mut tried = best.clone();
                    let weights = if by_meaning { &mut tried.vectors } else { &mut tried.words };
                    let number = of(weights.of_mut(*intent));
                    *number = (*number + direction * factor * step).clamp(0.0, *most);
                    let found = if tried == best { continue } else { reached_by(&tried)? };
                    if found > reached + 1e-5 {
                        (best, reached) = (tried, found);
                        tell(name, reached);
                    }
                }
            }
            if reached <= before + 1e-4 {
                break;
            }
        }
    }
    Ok(best)
}
