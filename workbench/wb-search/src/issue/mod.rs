//! An issue, an error message or a stack trace as a question: taken apart into places, names, quotes and prose, each asked by
//! itself, and the answers put together.

mod hops;
mod parts;

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use wb_core::Encoder;

use parts::plain_text;
pub use parts::{IssueParts, NamedPlace};

use crate::{
    CodeIndex, ContextWeights, FoundUnit, RankingWeights, Result, SearchContext, SearchQuestion, UnitVectors,
    ranking::{ReadAnswers, SignalWeights, Signals, rerank::reranked},
};

/// Units that each part of an issue may bring.
const BROUGHT: usize = 300;
/// Files that a path may mean before it says nothing.
const MOST_FILES: usize = 8;

/// Weights of an issue's parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IssueWeights {
    /// The first line.
    pub title: f32,
    /// Names of functions, types and variables.
    pub names: f32,
    /// Prose below the first line.
    pub prose: f32,
    /// Quoted texts: mostly messages of errors.
    pub quotes: f32,
    /// Code and output.
    pub code: f32,
    /// A file that is named.
    pub file: f32,
    /// The line of a file that is named, beside the file.
    pub line: f32,
    /// Share of other forms of a part's words, in place of that for questions: an issue says in many words what it means.
    pub variants: f32,
}

impl IssueWeights {
    /// Weights by which every part of a text is asked.
    pub(crate) fn every_part(&self) -> Self {
        Self { title: 1.0, names: 1.0, prose: 1.0, quotes: 1.0, code: 1.0, ..self.clone() }
    }
}

/// An issue as questions with their weights.
#[derive(Debug, Clone, PartialEq)]
pub struct PartedQuestion {
    /// The whole text; none where it is the one part.
    text: Option<SearchQuestion>,
    questions: Vec<(SearchQuestion, f32)>,
    places: Vec<NamedPlace>,
    /// Weights of a file that is named, and of the line beside it.
    of_places: [f32; 2],
    /// Questions one after the other, each of the names that the answers before it use.
    hops: u8,
    /// Scores of a cross-encoder, where one was asked.
    read: ReadAnswers,
}

impl PartedQuestion {
    /// Takes a text apart, or as a whole where there are no weights for parts. `like` says which files may answer.
    pub fn new(text: &str, like: &SearchQuestion, weights: &RankingWeights) -> Self {
        let Some(weights) = &weights.issue else {
            return Self::whole(like.asking(text));
        };
        let text = &plain_text(text);
        let parts = IssueParts::of(text);
        let of_parts = [
            (parts.title, weights.title),
            (parts.names.join(" "), weights.names),
            (parts.prose, weights.prose),
            (parts.quotes.join(" "), weights.quotes),
            (parts.code, weights.code),
        ];
        let asked = of_parts.into_iter().filter(|(text, weight)| *weight > 0.0 && !text.trim().is_empty());
        let questions =
            asked.map(|(text, weight)| (like.asking(&text), weight)).filter(|(one, _)| !one.words().is_empty());
        Self {
            text: Some(like.asking(text)),
            questions: questions.collect(),
            places: parts.places,
            of_places: [weights.file, weights.line],
            hops: 1,
            read: ReadAnswers::default(),
        }
    }

    /// A question that is one part.
    pub fn whole(question: SearchQuestion) -> Self {
        let (questions, places, read) = (vec![(question, 1.0)], Vec::new(), ReadAnswers::default());
        Self { text: None, questions, places, of_places: [0.0; 2], hops: 1, read }
    }

    /// Asks it in a context: files count by it, and the task and what was asked before are further parts.
    pub fn set_context(&mut self, context: &SearchContext, weights: &ContextWeights) {
        self.questions.iter_mut().for_each(|(question, _)| question.context = context.files.clone());
        let Some(like) = self.title().cloned() else { return };
        let task = [(&context.task, weights.task)].into_iter();
        for (text, weight) in task.chain(context.queries.iter().map(|text| (text, weights.query))) {
            let part = like.asking(text);
            if weight > 0.0 && !part.words().is_empty() {
                self.questions.push((part, weight));
            }
        }
    }

    /// Files of its context that an index does not have.
    pub fn unknown_files(&self, index: &CodeIndex) -> Vec<&str> {
        self.title().map(|own| own.context.unknown_to(index)).unwrap_or_default()
    }

    /// Asks so many questions one after the other, each of the names that the answers before it use; 1 for none but its own.
    pub fn set_hops(&mut self, hops: u8) {
        self.hops = hops;
    }

    /// Takes a cross-encoder's scores.
    pub(crate) fn set_read(&mut self, read: ReadAnswers) {
        self.read = read;
    }

    /// Lets only some units answer, by their positions in the index.
    pub fn restrict(&mut self, units: &HashSet<usize>) {
        self.questions.iter_mut().for_each(|(question, _)| question.units = Some(units.clone()));
    }

    /// The part that stands first: of an issue, its first line.
    pub(crate) fn title(&self) -> Option<&SearchQuestion> {
        self.questions.first().map(|(question, _)| question)
    }

    /// The text as a whole.
    pub(crate) fn whole_text(&self) -> Option<&SearchQuestion> {
        self.text.as_ref().or(self.title())
    }

    /// The words of all parts that no unit of an index has, each once; and whether that is all of them.
    pub(crate) fn unknown_words(&self, index: &CodeIndex) -> Result<(Vec<String>, bool)> {
        let (mut unknown, mut all) = (Vec::new(), HashSet::new());
        for (word, _) in self.questions.iter().flat_map(|(question, _)| question.words()) {
            let is_new = all.insert(word);
            if is_new && index.postings(word)?.is_none_or(|postings| postings.units.is_empty()) {
                unknown.push(word.clone());
            }
        }
        let none = unknown.len() == all.len();
        Ok((unknown, none))
    }

    /// Files and lines that it names.
    pub(crate) fn places(&self) -> &[NamedPlace] {
        &self.places
    }

    /// The words of all parts, each with the weight of its part.
    pub(crate) fn words(&self) -> impl Iterator<Item = (&str, f32)> {
        self.questions
            .iter()
            .flat_map(|(question, weight)| question.words().iter().map(|(word, _)| (word.as_str(), *weight)))
    }

    /// The texts of all parts.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.questions.iter().map(|(question, _)| question.text())
    }

    /// True where something is asked in words.
    pub fn has_words(&self) -> bool {
        self.text.is_some() || self.questions.iter().any(|(question, _)| !question.text().is_empty())
    }

    /// True where nothing but the context says anything in words.
    pub(crate) fn is_context_alone(&self) -> bool {
        self.text.is_none() && self.title().is_none_or(|own| own.text().is_empty())
    }

    /// True where an encoder is asked.
    pub(crate) fn has_vectors(&self) -> bool {
        self.questions.iter().any(|(question, _)| !question.vector.is_empty())
    }

    /// Gives each part its vector.
    pub fn embed(&mut self, encoder: &dyn Encoder) -> Result<()> {
        self.set_vectors(&|text| UnitVectors::of_question(encoder, text))
    }

    /// Gives each part its vector of length 1, by the part's text.
    pub(crate) fn set_vectors(&mut self, of: &dyn Fn(&str) -> Result<Vec<f32>>) -> Result<()> {
        for (question, _) in &mut self.questions {
            question.vector = of(question.text())?;
        }
        Ok(())
    }
}

impl CodeIndex {
    /// The best `n` units for an issue, best first.
    pub fn search_issue(&self, issue: &PartedQuestion, weights: &RankingWeights, n: usize) -> Result<Vec<FoundUnit>> {
        if issue.read.of_first == 0 {
            return self.search_parts(issue, weights, n);
        }
        // All that was read may come first.
        let found = self.search_parts(issue, weights, n.max(issue.read.of_first))?;
        let mut found = reranked(found, &issue.read, weights.rerank);
        found.truncate(n);
        Ok(found)
    }

    fn search_parts(&self, issue: &PartedQuestion, weights: &RankingWeights, n: usize) -> Result<Vec<FoundUnit>> {
        if let ([(question, _)], [], 1) = (issue.questions.as_slice(), issue.places.as_slice(), issue.hops) {
            return self.search(question, weights, n);
        }
        let of_parts = issue.text.as_ref().map(|_| weights.of_parts());
        let weights = of_parts.as_ref().unwrap_or(weights);
        let mut fused: HashMap<usize, (f32, Signals)> = HashMap::new();
        for (question, weight) in &issue.questions {
            self.add_part(question, *weight, weights, &mut fused)?;
        }
        let prose = match issue.questions.first() {
            Some((question, _)) => weights.of(question, self)?,
            None => &weights.words.prose,
        };
        for place in &issue.places {
            self.add_place(place, issue, prose, &mut fused);
        }
        let ordered = |fused: &HashMap<usize, (f32, Signals)>, n: usize| {
            let found = fused.iter().map(|(unit, (score, signals))| (*unit, *score, *signals)).collect();
            self.best(found, prose.again, n)
        };
        let mut asked: HashSet<String> = HashSet::new();
        let mut weight = 1.0;
        for _ in 1..issue.hops {
            let Some((like, _)) = issue.questions.first() else { break };
            let Some(next) = self.next_hop(&ordered(&fused, n), like, &mut asked) else { break };
            weight *= weights.hop;
            self.add_part(&next, weight, weights, &mut fused)?;
        }
        Ok(ordered(&fused, n))
    }

    /// Adds what a part finds, as shares of its best.
    fn add_part(
        &self,
        question: &SearchQuestion,
        weight: f32,
        weights: &RankingWeights,
        fused: &mut HashMap<usize, (f32, Signals)>,
    ) -> Result<()> {
        let context = &weights.context;
        let weights = weights.of(question, self)?;
        let found = self.candidates(question, weights, context, BROUGHT)?;
        let best = found.iter().map(|(_, signals)| signals.score(weights)).fold(f32::MIN_POSITIVE, f32::max);
        for (unit, signals) in found {
            let share = weight * signals.score(weights) / best;
            let sum = fused.entry(unit).or_insert((0.0, signals));
            sum.0 += share;
            sum.1 = sum.1.greatest(signals);
        }
        Ok(())
    }

    /// Adds to the units of the files that a path means, and more to the one with the line.
    fn add_place(
        &self,
        place: &NamedPlace,
        issue: &PartedQuestion,
        weights: &SignalWeights,
        fused: &mut HashMap<usize, (f32, Signals)>,
    ) {
        let question = issue.title();
        let is_meant = |at: &usize| {
            let file = &self.files()[*at];
            place.means(&file.path) && question.is_none_or(|one| one.allows(&file.path, file.role, &file.language))
        };
        let files: Vec<usize> = (0..self.files().len()).filter(is_meant).collect();
        let may_answer = |unit: &u32| {
            question.and_then(|one| one.units.as_ref()).is_none_or(|units| units.contains(&(*unit as usize)))
        };
        if files.len() > MOST_FILES {
            return;
        }
        let share = 1.0 / files.len() as f32;
        for at in files {
            let file = &self.files()[at];
            let role = weights.role(file.role);
            for unit in (file.units[0]..file.units[1]).filter(may_answer) {
                let [from, to] = self.units()[unit as usize].lines;
                let has_line = place.line.is_some_and(|line| (from..=to).contains(&line));
                let [of_file, of_line] = issue.of_places;
                let more = of_file + if has_line { of_line } else { 0.0 };
                // A file that is named by nothing but its place comes in with the unit of the line, or its first one.
                if has_line || unit == file.units[0] || fused.contains_key(&(unit as usize)) {
                    let signals = Signals { path: 1.0, role, context: 1.0, ..Signals::default() };
                    let sum = fused.entry(unit as usize).or_insert((0.0, signals));
                    sum.0 += role * share * more;
                    sum.1.path = 1.0;
                }
            }
        }
    }
}
