//! Self-consistency: of several queries for one question, the one whose result most of them have.

use wb_sql::{
    Compat,
    execute::{Equality, Execution, StatementOutcome, compare},
};

/// The winner's place, and how many queries have its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vote {
    /// Among the queries, from 0.
    pub chosen: usize,
    /// Number of those with the same result, itself among them; 0 where none runs.
    pub agree: usize,
}

/// Chooses by execution result (self-consistency, Wang et al. 2023, arXiv 2203.11171, with results in the place of
/// answers): queries that fail have no vote; results are the same as the judge's, without regard to the order of rows.
/// Of results with equally many votes the one that came first wins, and of the queries with it the first. Where none
/// runs, the first query is chosen; `None` without a query.
pub fn vote(executions: &[Option<Execution>]) -> Option<Vote> {
    let mut groups: Vec<(usize, usize)> = Vec::new();
    for (at, execution) in executions.iter().enumerate() {
        let Some(table) = complete(execution) else { continue };
        let same = |first: usize| {
            complete(&executions[first])
                .is_some_and(|other| compare(other, table, false, Compat::Strict) == Equality::Equal)
        };
        match groups.iter_mut().find(|(first, _)| same(*first)) {
            Some((_, votes)) => *votes += 1,
            None => groups.push((at, 1)),
        }
    }
    let mut best: Option<(usize, usize)> = None;
    for (first, votes) in groups {
        if best.is_none_or(|(_, most)| votes > most) {
            best = Some((first, votes));
        }
    }
    match best {
        Some((chosen, agree)) => Some(Vote { chosen, agree }),
        None => (!executions.is_empty()).then_some(Vote { chosen: 0, agree: 0 }),
    }
}

fn complete(execution: &Option<Execution>) -> Option<&wb_sql::execute::ResultTable> {
    execution.as_ref().filter(|one| one.outcome == StatementOutcome::Done && !one.truncated).map(|one| &one.table)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use wb_sql::execute::{CellValue, ResultTable};

    fn ran(rows: &[i64]) -> Option<Execution> {
        let table = ResultTable::of(rows.iter().map(|row| vec![CellValue::Int(*row)]).collect());
        Some(Execution { outcome: StatementOutcome::Done, table, truncated: false, elapsed: Duration::ZERO })
    }

    #[test]
    fn the_result_that_most_have_wins() {
        let failed = || Some(Execution { outcome: StatementOutcome::Timeout, ..ran(&[]).unwrap() });
        let chosen = |all: &[Option<Execution>]| vote(all).map(|vote| (vote.chosen, vote.agree));
        assert_eq!(chosen(&[ran(&[1]), ran(&[2, 3]), failed(), ran(&[3, 2])]), Some((1, 2)));
        // A tie is the first's; what fails or is none has no vote.
        assert_eq!(chosen(&[failed(), ran(&[4]), ran(&[5]), failed(), None]), Some((1, 1)));
        assert_eq!(chosen(&[failed(), None]), Some((0, 0)));
        assert_eq!(chosen(&[]), None);
    }
}
