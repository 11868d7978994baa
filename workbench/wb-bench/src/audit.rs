//! Duplicates and leaks: how much of a number may be texts that stand in more than one place.
//!
//! Texts are *equal* when they are the same characters, and *nearly equal* when the same letters and digits follow one
//! another (case, white space and punctuation aside).

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use wb_core::{Pair, fingerprint::text_key, records::outcome::AuditLine};

use crate::{
    benchmarks::BenchmarkPlan,
    protocols::{PlannedProtocol, ranked::QueryPool},
    texts::BenchmarkTexts,
};

/// Examples kept for each line.
const EXAMPLES: usize = 5;
/// A query of fewer letters and digits says too little for its place in a document to be a leak.
const LEAST_LETTERS: usize = 15;

/// The texts that one protocol measures, by their numbers.
struct AuditedTexts<'p> {
    language: &'p str,
    split: &'p str,
    queries: HashSet<u32>,
    documents: HashSet<u32>,
}

impl<'p> AuditedTexts<'p> {
    fn new(language: &'p str, split: &'p str, parts: &[QueryPool]) -> Self {
        let queries = parts.iter().flat_map(|part| part.queries.iter().map(|query| query.text)).collect();
        let documents = parts.iter().flat_map(|part| part.texts.iter().copied()).collect();
        Self { language, split, queries, documents }
    }

    /// True where another protocol of the same language and split has all of these texts.
    fn are_in(&self, other: &Self) -> bool {
        (self.language, self.split) == (other.language, other.split)
            && self.queries.is_subset(&other.queries)
            && self.documents.is_subset(&other.documents)
    }
}

/// Duplicates of a plan, and leaks from the pairs that a contestant was trained on, each line named after its protocol.
/// A protocol whose texts are among those of an earlier one, as the chunks of pairs-1000 are among pairs-full, has no
/// lines of its own.
pub fn audits(plan: &BenchmarkPlan, training: Option<&TrainingTexts>) -> Vec<AuditLine> {
    let mut audited: Vec<AuditedTexts<'_>> = Vec::new();
    let mut lines = Vec::new();
    for planned in &plan.protocols {
        let (language, split, parts) = match planned {
            PlannedProtocol::Ranked(ranked) => (&ranked.language, ranked.split.as_str(), Cow::from(&ranked.parts)),
            PlannedProtocol::CsnNdcg(ndcg) => (&ndcg.language, "annotated", Cow::from(vec![ndcg.as_part()])),
            // Its functions are those of csn-full.
            PlannedProtocol::Csn1000(_) => continue,
            // A repository is searched whole, also what was trained on; what is asked for was not.
            PlannedProtocol::Search(_) => continue,
        };
        let texts = AuditedTexts::new(language, split, &parts);
        if audited.iter().any(|earlier| texts.are_in(earlier)) {
            continue;
        }
        let title = planned.protocol().title();
        lines.extend(inside(&plan.texts, &title, &parts));
        lines.extend(training.iter().flat_map(|training| against_training(&plan.texts, &title, &parts, training)));
        audited.push(texts);
    }
    lines
}

/// Letters and digits in lower case, one space between runs of them.
pub fn words(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    for char in text.chars() {
        if char.is_alphanumeric() {
            words.extend(char.to_lowercase());
        } else if !words.is_empty() && !words.ends_with(' ') {
            words.push(' ');
        }
    }
    words.truncate(words.trim_end().len());
    words
}

/// Counts up one line.
struct Line {
    what: String,
    count: u64,
    of: u64,
    examples: Vec<String>,
}

impl Line {
    fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), count: 0, of: 0, examples: Vec::new() }
    }

    fn add(&mut self, hit: bool, example: impl FnOnce() -> String) {
        self.of += 1;
        if hit {
            self.count += 1;
            if self.examples.len() < EXAMPLES {
                self.examples.push(example());
            }
        }
    }

    fn done(self) -> AuditLine {
        AuditLine { what: self.what, count: self.count, of: self.of, examples: self.examples }
    }
}

/// Counts texts that stand more than once inside of a protocol's data, and queries that stand in their own answers.
/// `place` ends every line: `csn-full ruby valid`.
pub fn inside(texts: &BenchmarkTexts, place: &str, parts: &[QueryPool]) -> Vec<AuditLine> {
    let mut equal_documents = Line::new(format!("documents equal to an earlier one in the pool: {place}"));
    let mut near_documents = Line::new(format!("documents nearly equal to an earlier one in the pool: {place}"));
    let mut equal_queries = Line::new(format!("queries equal to an earlier one: {place}"));
    let mut contained = Line::new(format!("queries whose words stand in a row in their answer: {place}"));
    for part in parts {
        let mut numbers: HashMap<u32, usize> = HashMap::new();
        let mut near: HashMap<LetterKey, usize> = HashMap::new();
        for (position, number) in part.texts.iter().enumerate() {
            let pair = |first: usize| format!("{} = {}", part.ids[position], part.ids[first]);
            let first = *numbers.entry(*number).or_insert(position);
            equal_documents.add(first != position, || pair(first));
            let first = *near.entry(key(texts.documents.text(*number))).or_insert(position);
            near_documents.add(first != position, || pair(first));
        }
        let mut seen: HashMap<u32, &str> = HashMap::new();
        for query in &part.queries {
            let first = *seen.entry(query.text).or_insert(&query.id);
            equal_queries.add(first != query.id, || format!("{} = {first}", query.id));
            let asked = words(texts.queries.text(query.text));
            let long = asked.chars().filter(|c| *c != ' ').count() >= LEAST_LETTERS;
            let inside = |(position, _): &(usize, f64)| {
                let answer = words(texts.documents.text(part.texts[*position]));
                format!(" {answer} ").contains(&format!(" {asked} "))
            };
            contained.add(long && query.relevant.iter().any(inside), || format!("{}: {asked}", query.id));
        }
    }
    [equal_documents, near_documents, equal_queries, contained].map(Line::done).into()
}

/// A short hash of a text's letters and digits: equal ones, equal key.
type LetterKey = [u64; 2];

fn key(text: &str) -> LetterKey {
    text_key(&words(text).replace(' ', ""))
}

/// Texts of training pairs by their letters and digits, to look for leaks; pairs may be added one by one.
#[derive(Debug, Clone, Default)]
pub struct TrainingTexts {
    anchors: HashSet<LetterKey>,
    /// Ids of the last pairs that have them.
    positives: HashMap<LetterKey, Box<str>>,
    /// Pairs that were added.
    pub n_pairs: usize,
}

impl TrainingTexts {
    /// Adds a pair's anchor and positive.
    pub fn add(&mut self, pair: &Pair) {
        self.anchors.insert(key(&pair.anchor));
        self.positives.insert(key(&pair.positive), pair.id.as_str().into());
        self.n_pairs += 1;
    }
}

impl<'p> FromIterator<&'p Pair> for TrainingTexts {
    fn from_iter<I: IntoIterator<Item = &'p Pair>>(pairs: I) -> Self {
        let mut texts = Self::default();
        pairs.into_iter().for_each(|pair| texts.add(pair));
        texts
    }
}

/// Counts texts of a protocol's data that training pairs have too.
pub fn against_training(
    texts: &BenchmarkTexts,
    place: &str,
    parts: &[QueryPool],
    training: &TrainingTexts,
) -> Vec<AuditLine> {
    let TrainingTexts { anchors, positives, .. } = training;
    let mut queries = Line::new(format!("queries nearly equal to a training anchor: {place}"));
    let mut documents = Line::new(format!("documents nearly equal to a training positive: {place}"));
    let mut answers = Line::new(format!("queries of which an answer is nearly equal to a training positive: {place}"));
    for part in parts {
        let trained: Vec<Option<&str>> = part
            .texts
            .iter()
            .map(|number| positives.get(&key(texts.documents.text(*number))).map(AsRef::as_ref))
            .collect();
        for (id, trained) in part.ids.iter().zip(&trained) {
            documents.add(trained.is_some(), || format!("{id} = {}", trained.unwrap_or_default()));
        }
        for query in &part.queries {
            queries.add(anchors.contains(&key(texts.queries.text(query.text))), || query.id.clone());
            answers.add(query.relevant.iter().any(|(position, _)| trained[*position].is_some()), || query.id.clone());
        }
    }
    [queries, documents, answers].map(Line::done).into()
}

#[cfg(test)]
mod tests {
    use wb_core::Pair;

    use super::*;
    use crate::protocols::pairs::pairs_full;

    fn pair(id: &str, anchor: &str, positive: &str) -> Pair {
        Pair { id: id.into(), anchor: anchor.into(), positive: positive.into(), ..Pair::default() }
    }

    #[test]
    fn words_are_letters_and_digits() {
        assert_eq!(words("  Read the_file, 2 times! "), "read the file 2 times");
        assert_eq!(words("…"), "");
    }

    #[test]
    fn duplicates_and_leaks_are_counted() {
        let pairs = [
            pair("1", "Reads the whole file.", "def a(): pass"),
            pair("2", "Reads the whole file.", "def  a ( ) : PASS"),
            pair("3", "Opens a socket to the host", "# opens a Socket to the host\nsock()"),
            pair("4", "sock", "def a(): pass"),
        ];
        let mut texts = BenchmarkTexts::default();
        let ranked = pairs_full(&mut texts, &pairs.iter().collect::<Vec<_>>(), "all", "test");
        let counts = |lines: Vec<AuditLine>| lines.iter().map(|line| (line.count, line.of)).collect::<Vec<_>>();
        // Equal documents: 4 = 1; nearly: 2 = 1 and 4 = 1; queries: 2 = 1; contained: 3 (4 is too short).
        assert_eq!(counts(inside(&texts, "here", &ranked.parts)), [(1, 4), (2, 4), (1, 4), (1, 4)]);
        let training = TrainingTexts::from_iter(&[pair("t", "opens a socket, to the host!", "DEF a() pass")]);
        assert_eq!(counts(against_training(&texts, "here", &ranked.parts, &training)), [(1, 4), (3, 4), (3, 4)]);
    }
}
