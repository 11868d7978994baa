//! Selection of candidates: a person's word, the clearest of each item, unlike ones, as many of a kind as are wanted.

use std::collections::{BTreeMap, HashMap};

use wb_core::{Task, records::data::Gate};
use wb_data::minhash::{Bands, Sketch, sketches};

use super::{Stage, candidate::Candidate, gates::gate};
use crate::review::{ReviewVerdict, Reviewed, Reviews};

/// The pairs in their fixed order, and what a person said of the candidates.
pub(super) fn run(
    stage: &Stage,
    candidates: Vec<Candidate>,
    reviews: &Reviews,
    gates: &mut Vec<Gate>,
) -> (Vec<Candidate>, Reviewed) {
    let (candidates, said) = reviewed(candidates, reviews, gates);
    let candidates = clearest(stage, candidates, gates);
    let candidates = unlike(stage, candidates, gates);
    let mut kept = quota(stage, candidates, gates);
    kept.sort_by_key(|candidate| (candidate.item, candidate.sample));
    (kept, said)
}

fn reviewed(mut candidates: Vec<Candidate>, reviews: &Reviews, gates: &mut Vec<Gate>) -> (Vec<Candidate>, Reviewed) {
    let mut said = Reviewed::default();
    if reviews.is_empty() {
        return (candidates, said);
    }
    for candidate in &mut candidates {
        candidate.review = reviews.of(&candidate.id, &candidate.query, &candidate.document);
        said.count(candidate.review);
    }
    let reasons = candidates
        .iter()
        .map(|candidate| (candidate.review == Some(ReviewVerdict::Reject)).then(|| "rejected by a person".to_owned()))
        .collect();
    (gate("review", candidates, reasons, gates), said)
}

/// Keeps of each item the clearest: 1 / (1 + |ln q/Q| + |ln d/D|), where q and d are the two sides' lengths and Q and D
/// the medians over the task's candidates. What runs on or breaks off is far from the median; the judge has seen the rest.
fn clearest(stage: &Stage, mut candidates: Vec<Candidate>, gates: &mut Vec<Gate>) -> Vec<Candidate> {
    let mut lengths: HashMap<usize, [Vec<usize>; 2]> = HashMap::new();
    let task = |candidate: &Candidate| stage.items[candidate.item].task;
    for candidate in &candidates {
        let [queries, documents] = lengths.entry(task(candidate)).or_default();
        queries.push(candidate.query.chars().count().max(1));
        documents.push(candidate.document.chars().count().max(1));
    }
    let medians: HashMap<usize, [f64; 2]> = lengths
        .into_iter()
        .map(|(task, both)| {
            let median = |mut all: Vec<usize>| {
                all.sort_unstable();
                all[all.len() / 2] as f64
            };
            (task, both.map(median))
        })
        .collect();
    for candidate in &mut candidates {
        let [query, document] = medians[&task(candidate)];
        let off = |text: &str, median: f64| (text.chars().count().max(1) as f64 / median).ln().abs();
        candidate.clarity = 1.0 / (1.0 + off(&candidate.query, query) + off(&candidate.document, document));
    }
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|a, b| better(&candidates[*a], &candidates[*b]));
    let mut taken: HashMap<usize, usize> = HashMap::new();
    let mut reasons = vec![None; candidates.len()];
    for at in order {
        let count = taken.entry(candidates[at].item).or_default();
        *count += 1;
        if *count > stage.config.select.per_item {
            reasons[at] = Some("another candidate of its item is clearer".to_owned());
        }
    }
    gate("clearest of each item", candidates, reasons, gates)
}

/// The order of choice: what a person accepted, then the clearer, then the fixed order.
fn better(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    let accepted = |candidate: &Candidate| candidate.review == Some(ReviewVerdict::Accept);
    accepted(b)
        .cmp(&accepted(a))
        .then(b.clarity.total_cmp(&a.clarity))
        .then_with(|| (a.item, a.sample).cmp(&(b.item, b.sample)))
}

/// Sketches of both sides together.
fn sketched(candidates: &[Candidate]) -> Vec<Sketch> {
    let texts: Vec<String> =
        candidates.iter().map(|candidate| format!("{}\n{}", candidate.query, candidate.document)).collect();
    sketches(&texts.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Drops those that are near a better one of their kind.
fn unlike(stage: &Stage, candidates: Vec<Candidate>, gates: &mut Vec<Gate>) -> Vec<Candidate> {
    let threshold = stage.config.select.near;
    if threshold == 0.0 {
        return candidates;
    }
    let all = sketched(&candidates);
    let bands = Bands::for_threshold(threshold);
    let mut order: Vec<usize> = (0..candidates.len()).collect();
    order.sort_by(|a, b| better(&candidates[*a], &candidates[*b]));
    let mut buckets: HashMap<(Task, u64), Vec<usize>> = HashMap::new();
    let mut reasons = vec![None; candidates.len()];
    for at in order {
        let kind = stage.task_of(&candidates[at]).kind;
        let keys = bands.keys(&all[at]);
        let near = keys.iter().any(|key| {
            let bucket = buckets.get(&(kind, *key));
            bucket.is_some_and(|bucket| bucket.iter().any(|other| all[*other].near(&all[at], threshold)))
        });
        if near {
            reasons[at] = Some("nearly the same as a better one".to_owned());
        } else {
            keys.into_iter().for_each(|key| buckets.entry((kind, key)).or_default().push(at));
        }
    }
    gate("near duplicates", candidates, reasons, gates)
}

/// Keeps `per_kind` of a kind: what a person accepted, then its tasks choose in turn, each the greatest mean of clarity
/// and unlikeness to the most similar one that was chosen already (maximal marginal relevance with λ = 1/2; J. Carbonell,
/// J. Goldstein, 1998, with MinHash's estimate as the similarity).
fn quota(stage: &Stage, candidates: Vec<Candidate>, gates: &mut Vec<Gate>) -> Vec<Candidate> {
    let Some(per_kind) = stage.config.select.per_kind else { return candidates };
    let all = sketched(&candidates);
    let mut of_kind: BTreeMap<Task, Vec<usize>> = BTreeMap::new();
    for (at, candidate) in candidates.iter().enumerate() {
        of_kind.entry(stage.task_of(candidate).kind).or_default().push(at);
    }
    let mut reasons: Vec<Option<String>> = vec![None; candidates.len()];
    for mut open in of_kind.into_values() {
        let mut likeness = vec![0.0_f64; candidates.len()];
        let mut chosen = 0;
        // Whose word counts most has been asked already.
        while chosen < per_kind
            && let Some(place) = open.iter().position(|at| candidates[*at].review == Some(ReviewVerdict::Accept))
        {
            let at = open.remove(place);
            chosen += 1;
            liken(&mut likeness, &open, &all, at);
        }
        while chosen < per_kind && !open.is_empty() {
            let mut tasks: Vec<usize> = open.iter().map(|at| stage.items[candidates[*at].item].task).collect();
            tasks.dedup();
            for task in tasks {
                if chosen == per_kind {
                    break;
                }
                let value = |at: usize| (candidates[at].clarity - likeness[at]) / 2.0;
                let own = open.iter().enumerate().filter(|(_, at)| stage.items[candidates[**at].item].task == task);
                let best = own.max_by(|(_, a), (_, b)| value(**a).total_cmp(&value(**b)).then(b.cmp(a)));
                let Some((place, at)) = best.map(|(place, at)| (place, *at)) else { continue };
                open.remove(place);
                chosen += 1;
                liken(&mut likeness, &open, &all, at);
            }
        }
        for at in open {
            reasons[at] = Some("its kind has enough".to_owned());
        }
    }
    gate("per kind", candidates, reasons, gates)
}

/// The greatest similarity of each open candidate to a chosen one, after one more was chosen.
fn liken(likeness: &mut [f64], open: &[usize], all: &[Sketch], chosen: usize) {
    for other in open {
        likeness[*other] = likeness[*other].max(all[*other].estimate(&all[chosen]));
    }
}
