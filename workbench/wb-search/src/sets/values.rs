//! Metrics of one question, by the definitions of those who made its set.

use std::collections::{BTreeMap, HashSet};

use super::{SearchSet, SetQuestion, Target, own::COMMIT};
use crate::answer::CHARS;

/// Answers that semble reads where it counts tokens.
const SEMBLES_DEPTH: usize = 50;
/// Tokens that semble counts where none of its units is right (`_expected_cost_at_cap` of its benchmark).
const SEMBLES_CAP: f64 = 32_000.0;

/// Lines of a file in a ranking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RankedLines {
    pub path: String,
    pub lines: [u32; 2],
    /// Runs of these lines that an answer has.
    pub shown: Vec<[u32; 2]>,
    /// The part that they have of what the question's symbol is defined as.
    pub named: Named,
}

/// The part that lines have of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Named {
    /// None.
    #[default]
    No,
    /// One that an answer does not show.
    Unshown,
    /// One that an answer shows.
    Shown,
}

/// Metrics of one question's answers: ranks count units, tokens what an answer shows of them. `sizes` are the characters of
/// that.
pub(super) fn values(
    set: SearchSet,
    question: &SetQuestion,
    found: &[RankedLines],
    sizes: &[f64],
) -> BTreeMap<String, f64> {
    let mut values = BTreeMap::new();
    // No place is right for a question without an answer.
    if set == SearchSet::NoAnswer && question.targets.is_empty() {
        return values;
    }
    let mut put = |name: &str, value: f64| _ = values.insert(name.to_owned(), value);
    let yes = |holds: bool| f64::from(u8::from(holds));
    let first = |hits: &dyn Fn(&RankedLines) -> bool| found.iter().position(hits);
    // Tokens up to and with the first that answers.
    let tokens = |hits: &dyn Fn(&RankedLines) -> bool| {
        first(hits).map(|at| sizes[..=at].iter().sum::<f64>() / CHARS as f64).unwrap_or(f64::INFINITY)
    };
    let any = |found: &RankedLines| question.targets.iter().any(|target| covers(set, found, target));
    // A commit's files are its answers, whatever their lines.
    let is_commit = set == SearchSet::Own && question.category == COMMIT;
    let in_file = |found: &RankedLines| question.targets.iter().any(|target| target.path == found.path);
    let any_shown = |found: &RankedLines| match is_commit {
        true => in_file(found),
        false => question.targets.iter().any(|target| shows(set, found, target)),
    };
    match set {
        SearchSet::Semble => {
            put("ndcg@10", ndcg(question, found, 10));
            let primary = &question.targets[..question.primary];
            put("p@1", yes(found.first().is_some_and(|found| primary.iter().any(|target| covers(set, found, target)))));
            if !question.targets.is_empty() {
                for budget in [1000, 2000, 4000, 8000] {
                    put(&format!("recall@{budget}"), recall(question, found, sizes, f64::from(budget)));
                }
            }
        }
        SearchSet::Intents => {
            put("p@1", yes(first(&any) == Some(0)));
            put("ndcg@10", ndcg(question, found, 10));
            let read = &found[..found.len().min(10)];
            let is_read = |target: &&Target| read.iter().any(|found| covers(set, found, target));
            put("r@10", question.targets.iter().filter(is_read).count() as f64 / question.targets.len().max(1) as f64);
        }
        SearchSet::SweQa => {
            put("file_p@1", yes(first(&in_file) == Some(0)));
            for budget in [1000, 2000, 4000, 8000] {
                put(&format!("file@{budget}"), yes(tokens(&in_file) <= f64::from(budget)));
            }
            if question.targets.iter().any(|target| target.lines.is_some()) {
                let in_lines = |found: &RankedLines| {
                    question.targets.iter().any(|target| target.lines.is_some() && shows(set, found, target))
                };
                for budget in [1000, 2000, 4000, 8000] {
                    put(&format!("line@{budget}"), yes(tokens(&in_lines) <= f64::from(budget)));
                }
            }
        }
        SearchSet::Own => {
            let mut put_rank = |kind: &str, rank: Option<usize>| {
                for (name, k) in [("p@1", 1), ("r@5", 5), ("r@10", 10)] {
                    put(&format!("{kind}_{name}"), yes(rank.is_some_and(|at| at < k)));
                }
                put(&format!("{kind}_mrr"), rank.map_or(0.0, |at| 1.0 / (at as f64 + 1.0)));
            };
            // A commit asks for files, and for their functions where those are known.
            put_rank(&question.category, if is_commit { first(&in_file) } else { first(&any) });
            let functions: Vec<&Target> = question.targets.iter().filter(|target| target.lines.is_some()).collect();
            if is_commit && !functions.is_empty() {
                let in_one = |found: &RankedLines| functions.iter().any(|target| covers(set, found, target));
                put_rank("commit_function", first(&in_one));
            }
        }
        SearchSet::ContextBench | SearchSet::NoAnswer => {
            let mut files: Vec<&str> = Vec::new();
            for RankedLines { path, .. } in found {
                if !files.contains(&path.as_str()) {
                    files.push(path);
                }
            }
            for k in [1, 5, 10] {
                let hit = files.iter().take(k).any(|path| question.targets.iter().any(|target| target.path == *path));
                put(&format!("file_hit@{k}"), yes(hit));
            }
            // Of files that are open or were seen, nobody needs to be told.
            let context = &question.context.files;
            let is_new =
                |path: &str| context.current.as_deref() != Some(path) && !context.recent.iter().any(|r| r == path);
            let further: Vec<&str> =
                question.targets.iter().map(|target| target.path.as_str()).filter(|path| is_new(path)).collect();
            if !further.is_empty() && further.len() < question.targets.len() {
                let hit = files.iter().filter(|path| is_new(path)).take(5).any(|path| further.contains(path));
                put("further_file_hit@5", yes(hit));
            }
            if set == SearchSet::ContextBench {
                for budget in [1000, 2000, 4000, 8000] {
                    put(&format!("line_recall@{budget}"), line_recall(question, found, sizes, f64::from(budget)));
                }
            }
        }
        SearchSet::Cqs => {
            // Where the question has no symbol, lines say what is right.
            let by_name = question.symbol.is_some();
            let is_named = |found: &RankedLines| if by_name { found.named > Named::No } else { any(found) };
            let is_shown = |found: &RankedLines| if by_name { found.named == Named::Shown } else { any_shown(found) };
            for k in [1, 5, 20] {
                put(&format!("r@{k}"), yes(first(&is_named).is_some_and(|at| at < k)));
                put(&format!("lines_r@{k}"), yes(first(&any).is_some_and(|at| at < k)));
            }
            for budget in [1000, 2000, 4000, 8000] {
                put(&format!("chunk@{budget}"), yes(tokens(&any_shown) <= f64::from(budget)));
                put(&format!("named@{budget}"), yes(tokens(&is_shown) <= f64::from(budget)));
            }
        }
    }
    // semble counts what is read of 50 units, and so much where none is right; without gold nothing.
    if set == SearchSet::Semble {
        let is_read = first(&any_shown).is_some_and(|at| at < SEMBLES_DEPTH);
        if !question.targets.is_empty() {
            put("tokens_to_first_hit", if is_read { tokens(&any_shown) } else { SEMBLES_CAP });
        }
        return values;
    }
    let tokens = tokens(&any_shown);
    if tokens.is_finite() {
        put("tokens_to_first_hit", tokens);
    }
    values
}

/// Share of the targets that the first 50 units cover, as long as those fit into so many tokens; semble's
/// `context_efficiency.py`, with characters / 4 in place of a tokenizer's count.
fn recall(question: &SetQuestion, found: &[RankedLines], sizes: &[f64], budget: f64) -> f64 {
    let read = within(found, sizes, budget).take(SEMBLES_DEPTH);
    let read: Vec<&RankedLines> = read.collect();
    let covered = |target: &&Target| read.iter().any(|found| shows(SearchSet::Semble, found, target));
    question.targets.iter().filter(covered).count() as f64 / question.targets.len().max(1) as f64
}

/// The first units that fit into so many tokens together.
fn within<'a>(found: &'a [RankedLines], sizes: &[f64], budget: f64) -> impl Iterator<Item = &'a RankedLines> {
    let mut spent = 0.0;
    let fits = move |(_, size): &(&RankedLines, &f64)| {
        spent += **size / CHARS as f64;
        spent <= budget
    };
    found.iter().zip(sizes).take_while(fits).map(|(found, _)| found)
}

/// Share of the gold lines that stand in the first units, as long as those fit into so many tokens.
fn line_recall(question: &SetQuestion, found: &[RankedLines], sizes: &[f64], budget: f64) -> f64 {
    let gold: HashSet<(&str, u32)> = question
        .targets
        .iter()
        .flat_map(|target| {
            target.lines.into_iter().flat_map(|[from, to]| (from..=to).map(|line| (target.path.as_str(), line)))
        })
        .collect();
    let read: Vec<&RankedLines> = within(found, sizes, budget).collect();
    let is_read = |(path, line): &&(&str, u32)| {
        read.iter().any(|unit| unit.path == *path && unit.shown.iter().any(|[from, to]| (from..=to).contains(&line)))
    };
    gold.iter().filter(is_read).count() as f64 / gold.len().max(1) as f64
}

/// True where a unit is in the target, or has one of its lines.
fn covers(set: SearchSet, found: &RankedLines, target: &Target) -> bool {
    have(set, found, &[found.lines], target)
}

/// True where what an answer shows of a unit is in the target, or has one of its lines.
fn shows(set: SearchSet, found: &RankedLines, target: &Target) -> bool {
    have(set, found, &found.shown, target)
}

/// True where runs of lines of a unit's file are in the target. semble takes paths that end alike for the same.
fn have(set: SearchSet, found: &RankedLines, runs: &[[u32; 2]], target: &Target) -> bool {
    let ends_with = |long: &str, short: &str| {
        long.strip_suffix(short).is_some_and(|before| before.is_empty() || before.ends_with('/'))
    };
    let same = match set {
        SearchSet::Semble => ends_with(&found.path, &target.path) || ends_with(&target.path, &found.path),
        _ => found.path == target.path,
    };
    same && target.lines.is_none_or(|[from, to]| runs.iter().any(|[first, last]| *last >= from && *first <= to))
}

/// Binary gains at the ranks of the first unit for each target; the ideal has all targets first.
fn ndcg(question: &SetQuestion, found: &[RankedLines], k: usize) -> f64 {
    let gain = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
    let mut gains = vec![0.0; k];
    for target in &question.targets {
        let rank = found.iter().take(k).position(|found| covers(SearchSet::Semble, found, target));
        rank.into_iter().for_each(|rank| gains[rank] = gain(rank));
    }
    let ideal: f64 = (0..k.min(question.targets.len())).map(gain).sum();
    if ideal > 0.0 { gains.iter().sum::<f64>() / ideal } else { 0.0 }
}
