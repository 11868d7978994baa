//! The signals of a unit for a question, and the one score that they make.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use wb_retrieval::{code_tokens::CodeTokenizer, top_k::top_k};

use super::{SearchQuestion, weights::SignalWeights, word_scores::WordScores};
use crate::{
    CodeIndex, FileRole, Result,
    context::{ContextWeights, own_name},
    index::{IndexedFile, UnitNames},
    words::{root, tokenizer},
};

/// Parts of a score, each 0 to about 1.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Signals {
    /// BM25 over text, names and heads, as a share of the best unit's.
    pub words: f32,
    /// Share of the question, by the weight of its words, that stands in the path.
    pub path: f32,
    /// Share of the question that stands in the file's own name.
    pub stem: f32,
    /// Share of the question that is spelled by a name defined here, times the share of that name.
    pub definition: f32,
    /// BM25 of the file's other good units, as a share of the best file's.
    pub coherence: f32,
    /// Similarity of the question's vectors and the unit's, from 0 for the mean of all to 1 for the best.
    pub meaning: f32,
    /// Meaning of the file's five best units, as a share of the best file's.
    pub theme: f32,
    /// Share of the units that say the file's own name, both as logarithms.
    pub central: f32,
    /// Recency of the last change of the file: 1 at the commit that was indexed, halved by each year before it, 0 where
    /// it is not known.
    #[serde(default)]
    pub recent: f32,
    /// Score of a cross-encoder, from 0 to 1 over the answers that it read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<f32>,
    /// Factor for the file's role.
    pub role: f32,
    /// Factor for the files that whoever asks has to do with.
    pub context: f32,
}

impl Signals {
    /// The score.
    pub fn score(&self, weights: &SignalWeights) -> f32 {
        let of_unit = self.words + weights.means * self.meaning + weights.defines * self.definition;
        self.factor(weights) * (of_unit + self.of_file(weights))
    }

    /// The part of the sum that all units of the file have.
    fn of_file(&self, weights: &SignalWeights) -> f32 {
        weights.path * self.path
            + weights.stem * self.stem
            + weights.coherence * self.coherence
            + weights.file_means * self.theme
    }

    /// The factor of the sum.
    fn factor(&self, weights: &SignalWeights) -> f32 {
        let of_file = (1.0 + weights.centrality * self.central) * (1.0 + weights.recency * self.recent);
        self.role * self.context * of_file
    }

    /// Each the greater one of two.
    #[must_use]
    pub(crate) fn greatest(self, other: Self) -> Self {
        Self {
            words: self.words.max(other.words),
            path: self.path.max(other.path),
            stem: self.stem.max(other.stem),
            definition: self.definition.max(other.definition),
            coherence: self.coherence.max(other.coherence),
            meaning: self.meaning.max(other.meaning),
            theme: self.theme.max(other.theme),
            central: self.central.max(other.central),
            recent: self.recent.max(other.recent),
            read: self.read.or(other.read),
            role: self.role.max(other.role),
            context: self.context.max(other.context),
        }
    }
}

/// Meaning from which a unit may answer that has no word of the question.
const MEANT: f32 = 0.5;

/// The units that may answer, with their signals, in no order.
pub(super) fn candidates(
    index: &CodeIndex,
    question: &SearchQuestion,
    weights: &SignalWeights,
    context: &ContextWeights,
    most: usize,
) -> Result<Vec<(usize, Signals)>> {
    let (files, units, recencies) = (index.files(), index.units(), index.recencies());
    let mut said = WordScores::new(index, weights);
    let mut asked = AskedWords { words: Vec::new(), all: 0.0, variants: weights.variants };
    for (word, count) in question.words() {
        if let Some(rarity) = said.add(word, *count)? {
            asked.add(word, rarity);
        }
    }
    question.neighbors().iter().try_for_each(|pair| said.add_compounds(pair))?;
    let WordScores { units: mut scores, mut paths, .. } = said;
    let mut meaning = meanings(index, question);
    for (file, at) in files.iter().zip(0..) {
        if !question.allows(&file.path, file.role, &file.language) {
            scores[file.units[0] as usize..file.units[1] as usize].fill(0.0);
            meaning[file.units[0] as usize..file.units[1] as usize].fill(0.0);
            paths[at] = [0.0; 2];
        }
    }
    if let Some(wanted) = &question.units {
        for unit in (0..units.len()).filter(|unit| !wanted.contains(unit)) {
            (scores[unit], meaning[unit]) = (0.0, 0.0);
        }
    }
    let best = scores.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
    let coherence = best_of_files::<3>(index, &scores);
    let theme = if has_vector(index, question) { best_of_files::<5>(index, &meaning) } else { vec![0.0; files.len()] };
    let share = |of: f32| if asked.all > 0.0 { of / asked.all } else { 0.0 };
    let roles = FileRole::ALL.map(|role| if question.asks_for(role) { 1.0 } else { weights.role(role) });
    let of_file = |(at, file): (usize, &IndexedFile)| Signals {
        path: share(paths[at][0]),
        stem: share(paths[at][1]),
        coherence: coherence[at],
        theme: theme[at],
        recent: recencies[at],
        role: roles[file.role as usize],
        context: question.context.factor(&file.path, context),
        ..Signals::default()
    };
    let of_files: Vec<Signals> = files.iter().enumerate().map(of_file).collect();
    // The best by a first look: words and what the file says.
    let first_look = |unit: usize| {
        let of_file = of_files[units[unit].file as usize];
        Signals { words: scores[unit] / best, meaning: meaning[unit], ..of_file }
    };
    // Words and meaning are all that the units of a file differ by, so that the rest is reckoned once a file.
    let mut first_scores = vec![0.0_f32; units.len()];
    for (file, signals) in files.iter().zip(&of_files) {
        let (factor, of_file) = (signals.factor(weights), signals.of_file(weights));
        let [from, to] = file.units.map(|unit| unit as usize);
        let of_units = scores[from..to].iter().zip(&meaning[from..to]);
        for (score, (words, meaning)) in first_scores[from..to].iter_mut().zip(of_units) {
            // Reckoned for all, which several at once are quicker for than a choice.
            let of_unit = factor * (words / best + weights.means * meaning + of_file);
            *score = if (*words > 0.0) | (*meaning >= MEANT) { of_unit } else { f32::NEG_INFINITY };
        }
    }
    let may_answer = top_k(&first_scores, most).into_iter().filter(|hit| hit.score > f32::NEG_INFINITY);
    let mut found: Vec<(usize, Signals)> = may_answer.map(|hit| (hit.document, first_look(hit.document))).collect();
    let mut tokens = tokenizer();
    let mut central: FxHashMap<u32, f32> = FxHashMap::default();
    for (unit, signals) in &mut found {
        let (names, file) = (index.names(*unit), units[*unit].file);
        if weights.centrality > 0.0 {
            signals.central = match central.entry(file) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => *new.insert(centrality(index, &files[file as usize].path, &mut tokens)?),
            };
        }
        if files[file as usize].role == FileRole::Source && is_test(&names) {
            signals.role = roles[FileRole::Test as usize];
        }
        signals.definition = names.own.iter().map(|name| asked.spelled_by(&tokens.words(name))).fold(0.0, f32::max);
    }
    Ok(found)
}

/// Share of the units that say a file's own name, both as logarithms: what a project is about is what its files speak of.
fn centrality(index: &CodeIndex, path: &str, tokens: &mut CodeTokenizer) -> Result<f32> {
    // The name as one word, which is the longest.
    let name = own_name(path).replace('-', "_");
    let Some(word) = tokens.words(&name).into_iter().max_by_key(String::len) else { return Ok(0.0) };
    let [n, all] = [index.n_units_with(&word)?, index.units().len() as u32].map(|n| (1.0 + n as f32).ln());
    Ok(n / all)
}

/// True for a test that stands among what it tests, by its name.
fn is_test(UnitNames { own, scope, .. }: &UnitNames<'_>) -> bool {
    own.iter().chain(scope).any(|name| name.starts_with("test_"))
}

/// True where question and index both have vectors.
fn has_vector(index: &CodeIndex, question: &SearchQuestion) -> bool {
    index.vectors().is_some() && !question.vector.is_empty()
}

/// Each unit's [`Signals::meaning`]: zeros where the question or the index has no vectors.
fn meanings(index: &CodeIndex, question: &SearchQuestion) -> Vec<f32> {
    let n = index.units().len();
    let Some(vectors) = index.vectors().filter(|_| has_vector(index, question)) else { return vec![0.0; n] };
    let mut similarities = vectors.similarities(&question.vector);
    let mean = (similarities.iter().map(|one| f64::from(*one)).sum::<f64>() / n.max(1) as f64) as f32;
    let best = similarities.iter().copied().fold(f32::MIN, f32::max);
    let range = (best - mean).max(f32::MIN_POSITIVE);
    similarities.iter_mut().for_each(|one| *one = ((*one - mean) / range).max(0.0));
    similarities
}

/// A question's words, to be compared with names.
struct AskedWords<'a> {
    words: Vec<AskedWord<'a>>,
    /// The sum of their rarities.
    all: f32,
    /// Share for which another word of the same root counts.
    variants: f32,
}

struct AskedWord<'a> {
    word: &'a str,
    root: &'a str,
    rarity: f32,
}

impl<'a> AskedWords<'a> {
    fn add(&mut self, word: &'a str, rarity: f32) {
        self.words.push(AskedWord { word, root: root(word), rarity });
        self.all += rarity;
    }

    /// Share of the question that a name spells, times the share of the name that the question spells.
    fn spelled_by(&self, name: &[String]) -> f32 {
        let like = |own: &str, asked: &AskedWord<'_>| match own == asked.word {
            // Most differ by their first letter, of which the root is one.
            _ if own.as_bytes().first() != asked.word.as_bytes().first() => 0.0,
            true => 1.0,
            // A word begins with its root.
            false if own.starts_with(asked.root) && root(own) == asked.root => self.variants,
            false => 0.0,
        };
        let most = |shares: &mut dyn Iterator<Item = f32>| shares.fold(0.0, f32::max);
        let of_word = |asked: &AskedWord<'_>| asked.rarity * most(&mut name.iter().map(|own| like(own, asked)));
        let of_own = |own: &String| most(&mut self.words.iter().map(|asked| like(own, asked)));
        let of_question: f32 = self.words.iter().map(of_word).sum();
        let of_name: f32 = name.iter().map(of_own).sum();
        of_question / self.all * of_name / name.len().max(1) as f32
    }
}

/// Sums of the N best units of each file, as a share of the file that has most.
fn best_of_files<const N: usize>(index: &CodeIndex, scores: &[f32]) -> Vec<f32> {
    let of_file = |range: [u32; 2]| {
        let mut best = [0.0_f32; N];
        for score in &scores[range[0] as usize..range[1] as usize] {
            let mut score = *score;
            for place in &mut best {
                // Values that are chosen, in place of a jump that nobody can foresee.
                let (more, less) = if score > *place { (score, *place) } else { (*place, score) };
                (*place, score) = (more, less);
            }
        }
        best.iter().sum::<f32>()
    };
    let sums: Vec<f32> = index.files().iter().map(|file| of_file(file.units)).collect();
    let most = sums.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
    sums.into_iter().map(|sum| sum / most).collect()
}
