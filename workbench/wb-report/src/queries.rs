//! The best and the worst queries, each with the right answer, what came back, and how the other contestants did.

use minijinja::Value;
use serde::Serialize;
use wb_core::{
    distinct,
    records::outcome::{ContestantOutcome, ContestantRole, ProtocolScore, QueryExample},
};

use crate::{
    contestants::{Contestant, named},
    gather::RunContents,
    highlight,
    numbers::{count, significant},
};

/// The queries of one contestant.
#[derive(Debug, Serialize)]
pub struct Queries {
    /// Name of the contestant whose answers they are.
    pub contestant: String,
    /// Name of the benchmark.
    pub benchmark: String,
    /// Protocol, language and split.
    pub protocol: String,
    /// Everyone whose ranks are shown, with the color.
    pub legend: Vec<(String, usize)>,
    /// Answered first.
    pub best: Vec<QueryView>,
    /// Answered late or not at all, the worst first.
    pub worst: Vec<QueryView>,
}

/// One query with what came back.
#[derive(Debug, Serialize)]
pub struct QueryView {
    id: String,
    rank: String,
    query: String,
    ranks: Vec<(String, usize, String)>,
    answer: Value,
    returned: Vec<ReturnedView>,
}

#[derive(Debug, Serialize)]
struct ReturnedView {
    place: usize,
    id: String,
    score: String,
    relevant: bool,
    code: Value,
}

/// The best and the worst queries: of each benchmark, the trained encoder's, or those of whoever has some.
pub fn queries(run: &RunContents, contestants: &[Contestant]) -> Vec<Queries> {
    let mut parts = Vec::new();
    for benchmark in distinct(run.outcomes.iter().map(|outcome| outcome.benchmark.as_str())) {
        let of_benchmark: Vec<&ContestantOutcome> =
            run.outcomes.iter().filter(|outcome| outcome.benchmark == benchmark).collect();
        let shown = of_benchmark.iter().filter(|outcome| !outcome.examples.is_empty());
        let Some(outcome) = shown.min_by_key(|outcome| outcome.role != ContestantRole::Trained) else { continue };
        let label = named(contestants, &outcome.contestant).map_or("", |known| known.label.as_str());
        let mut examples: Vec<&QueryExample> = outcome.examples.iter().collect();
        examples.sort_by_key(|example| std::cmp::Reverse(if example.rank == 0 { u64::MAX } else { example.rank }));
        let (first, late): (Vec<&QueryExample>, Vec<&QueryExample>) =
            examples.into_iter().partition(|example| example.rank == 1);
        let view = |example: &QueryExample| query(example, &of_benchmark, contestants);
        let (id, language, split) = &outcome.examples[0].protocol;
        let protocol = format!("{id}, {language}, {split}");
        let measured =
            contestants.iter().filter(|known| of_benchmark.iter().any(|other| other.contestant == known.key));
        parts.push(Queries {
            contestant: label.to_owned(),
            benchmark: benchmark.to_owned(),
            protocol,
            legend: measured.map(|known| (known.label.clone(), known.color)).collect(),
            best: first.into_iter().map(view).collect(),
            worst: late.into_iter().map(view).collect(),
        });
    }
    parts
}

fn query(example: &QueryExample, all: &[&ContestantOutcome], contestants: &[Contestant]) -> QueryView {
    QueryView {
        id: example.id.clone(),
        rank: rank(example.rank),
        query: example.query.clone(),
        ranks: other_ranks(example, all, contestants),
        answer: highlight::code(&example.answer),
        returned: example
            .returned
            .iter()
            .enumerate()
            .map(|(index, document)| ReturnedView {
                place: index + 1,
                id: document.id.clone(),
                score: significant(document.score, 4),
                relevant: document.relevant,
                code: highlight::code(&document.text),
            })
            .collect(),
    }
}

fn rank(rank: u64) -> String {
    if rank == 0 { "not found".to_owned() } else { count(rank) }
}

/// Finds each contestant's rank of the same answer under the same protocol.
fn other_ranks(
    example: &QueryExample,
    all: &[&ContestantOutcome],
    contestants: &[Contestant],
) -> Vec<(String, usize, String)> {
    let (id, language, split) = &example.protocol;
    let is_asked = |score: &&ProtocolScore| (&score.id, &score.language, &score.split) == (id, language, split);
    let mut ranks = Vec::new();
    for contestant in contestants {
        let Some(other) = all.iter().find(|other| other.contestant == contestant.key) else { continue };
        let same = other.protocols.iter().find(|score| is_asked(score) && !score.queries.is_empty());
        if let Some(found) = same.and_then(|score| score.queries.iter().find(|query| query.id == example.id)) {
            ranks.push((contestant.label.clone(), contestant.color, rank(found.rank)));
        }
    }
    ranks
}
