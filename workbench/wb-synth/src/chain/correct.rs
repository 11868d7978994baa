//! Checks of a candidate that ask nobody: lengths, refusals, sides too much alike, code that does not
//! parse, or that gives other results than it should.

use std::collections::HashSet;

use rayon::prelude::*;
use wb_code::Language;
use wb_core::{Task, records::data::Gate};
use wb_data::{minhash::tokens, text::fold};

use super::{ChainCounts, Stage, candidate::Candidate, gates::gate};
use crate::{
    rules::{self, Interpreter, RunVerdict},
    tasks::{SnippetRole, StepOutput},
};

/// Beginnings of refusals, in lower case.
const REFUSALS: [&str; 7] = ["i'm sorry", "i am sorry", "sorry, ", "i cannot ", "i can't ", "i'm unable", "as an ai"];

/// Words that point at code which a reader of the text alone does not see, in lower case.
const POINTERS: [&str; 7] = [
    "the given code",
    "the provided code",
    "the above code",
    "the code above",
    "the following code",
    "given snippet",
    "provided snippet",
];

/// The candidates that pass. Counted beside the gates: those with code that nothing could parse, and what came of calling
/// both sides.
pub(super) fn run(stage: &Stage, candidates: Vec<Candidate>, counts: &mut ChainCounts) -> Vec<Candidate> {
    let gates = &mut counts.gates;
    let texts = |candidate: &Candidate| wrong_text(stage, candidate).map(str::to_owned);
    let candidates = pass("texts", candidates, gates, texts);
    let candidates = pass("sides alike", candidates, gates, |candidate| too_similar(stage, candidate));
    let (candidates, unchecked) = match stage.config.select.parses {
        true => parsing(stage, candidates, gates),
        false => (candidates, None),
    };
    counts.unchecked = unchecked.unwrap_or(candidates.len() as u64);
    match stage.config.select.runs {
        true => running(stage, candidates, counts),
        false => candidates,
    }
}

/// The candidates whose code parses, and how many have code that nothing could parse.
fn parsing(stage: &Stage, candidates: Vec<Candidate>, gates: &mut Vec<Gate>) -> (Vec<Candidate>, Option<u64>) {
    let checks: Vec<Parses> = candidates.par_iter().map(|candidate| parses(stage, candidate)).collect();
    let reasons = checks.iter().map(|check| match check {
        Parses::No(language) => Some(format!("{language} that does not parse")),
        _ => None,
    });
    let candidates = gate("parses", candidates, reasons.collect(), gates);
    let unchecked = checks.iter().filter(|check| matches!(check, Parses::Unknown)).count();
    (candidates, Some(unchecked as u64))
}

/// Drops the candidates whose task promises the same results and whose sides, called with the same values, differ.
/// What could not be called stays, and is counted by its reason.
fn running(stage: &Stage, candidates: Vec<Candidate>, counts: &mut ChainCounts) -> Vec<Candidate> {
    let interpreters = Interpreter::find_all();
    let verdict = |candidate: &Candidate| {
        let item = &stage.items[candidate.item];
        let language = Language::named(&item.language)?;
        let is_asked = stage.task_of(candidate).task.same_results && item.target.is_none();
        is_asked.then(|| rules::compare(&candidate.query, &candidate.document, &interpreters, language, stage.seed))
    };
    let verdicts: Vec<Option<RunVerdict>> = candidates.par_iter().map(verdict).collect();
    let differs = |verdict: &Option<RunVerdict>| {
        matches!(verdict, Some(RunVerdict::Differs)).then(|| "sides that give different results".to_owned())
    };
    for verdict in verdicts.iter().flatten() {
        *counts.called.entry(verdict.name()).or_default() += 1;
    }
    gate("runs", candidates, verdicts.iter().map(differs).collect(), &mut counts.gates)
}

fn pass(
    name: &str,
    candidates: Vec<Candidate>,
    gates: &mut Vec<Gate>,
    reason: impl Fn(&Candidate) -> Option<String> + Send + Sync,
) -> Vec<Candidate> {
    let reasons = candidates.par_iter().map(reason).collect();
    gate(name, candidates, reasons, gates)
}

fn wrong_text(stage: &Stage, candidate: &Candidate) -> Option<&'static str> {
    let [least, most] = stage.config.select.chars;
    for (side, short, long) in [
        (&candidate.query, "a query that is too short", "a query that is too long"),
        (&candidate.document, "a document that is too short", "a document that is too long"),
    ] {
        let chars = side.trim().chars().count();
        if chars < least {
            return Some(short);
        }
        if chars > most {
            return Some(long);
        }
    }
    if fold(&candidate.query) == fold(&candidate.document) {
        return Some("both sides are the same");
    }
    let written = [&candidate.outputs.query, &candidate.outputs.document];
    for text in written.into_iter().flatten() {
        let head: String = text.trim_start().chars().take(40).collect::<String>().to_lowercase().replace('’', "'");
        if REFUSALS.iter().any(|refusal| head.starts_with(refusal)) {
            return Some("a refusal");
        }
    }
    let prose = match stage.task_of(candidate).kind {
        Task::Text2code => candidate.outputs.query.as_deref(),
        Task::Code2text => candidate.outputs.document.as_deref(),
        Task::Code2code | Task::Hybrid => None,
    };
    let prose = prose.unwrap_or_default().to_lowercase();
    POINTERS.iter().any(|pointer| prose.contains(pointer)).then_some("points at code that its reader does not see")
}

/// |A ∩ B| / |A ∪ B| of the sets of words and marks of the two sides.
fn too_similar(stage: &Stage, candidate: &Candidate) -> Option<String> {
    let task = &stage.task_of(candidate).task;
    let limit = task.max_jaccard?;
    // Where words stand before the snippet, the snippet is what can be alike.
    let joined = task.snippet == SnippetRole::Query && candidate.outputs.query.is_some();
    let query = if joined { stage.text_of(candidate) } else { &candidate.query };
    (jaccard(query, &candidate.document) > limit).then(|| format!("more alike than {limit}"))
}

fn jaccard(a: &str, b: &str) -> f64 {
    let (a, b): (HashSet<&str>, HashSet<&str>) = (tokens(a).collect(), tokens(b).collect());
    let both = a.intersection(&b).count();
    let all = a.len() + b.len() - both;
    if all == 0 { 1.0 } else { both as f64 / all as f64 }
}

enum Parses {
    Yes,
    No(&'static str),
    /// Unknown, for want of a grammar, or since nothing says whether it is code.
    Unknown,
}

/// Parses the code that the model wrote. What is the snippet, or a part of it, stands as it is in its source.
fn parses(stage: &Stage, candidate: &Candidate) -> Parses {
    let item = &stage.items[candidate.item];
    let chosen = stage.task_of(candidate);
    let own = item.language.as_str();
    let other = item.target.unwrap_or(own);
    let query = candidate.outputs.get(StepOutput::Query);
    let document = candidate.outputs.get(StepOutput::Document);
    let sides = match (chosen.kind, chosen.task.snippet) {
        (_, SnippetRole::Part) => [None, None],
        (Task::Text2code, _) => [document.map(|text| (text, other)), None],
        (Task::Code2text, _) => [query.map(|text| (text, own)), None],
        (Task::Code2code, SnippetRole::Document) => [query.map(|text| (text, other)), None],
        (Task::Code2code, _) => [query.map(|text| (text, own)), document.map(|text| (text, other))],
        // Its document may be code or text.
        (Task::Hybrid, _) => return Parses::Unknown,
    };
    let mut result = Parses::Yes;
    for (text, language) in sides.into_iter().flatten() {
        match Language::named(language) {
            Some(language) if !language.parses(text) => return Parses::No(language.name()),
            Some(_) => {}
            None => result = Parses::Unknown,
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jaccard_of_words_by_hand() {
        assert_eq!(jaccard("a b c", "b c d"), 0.5);
        assert_eq!(jaccard("a a a", "a"), 1.0);
        assert_eq!(jaccard("", ""), 1.0);
        assert_eq!(jaccard("f(x)", "g(x)"), 0.6);
    }
}
