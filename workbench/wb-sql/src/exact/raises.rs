//! Places where the published evaluator stops with an exception, so that a difference is known for what it is.

use crate::spider::{ComparedValue, Condition, SqlQuery, TableUnit, Term};

/// A word stands where taking the values out expects a condition.
pub(super) fn normalizing(query: &SqlQuery) -> bool {
    let lists = query.condition_lists();
    let places = || lists.iter().flat_map(|terms| terms.iter().step_by(2));
    places().any(|term| term.condition().is_none())
        || places().filter_map(Term::condition).flat_map(Condition::queries).any(normalizing)
        || query.set.as_ref().is_some_and(|(_, arm)| normalizing(arm))
}

/// A word stands where the count of nested queries expects a condition.
pub(super) fn hardness(gold: &SqlQuery) -> bool {
    gold.condition_lists().iter().any(|terms| terms.iter().step_by(2).any(|term| term.condition().is_none()))
}

/// True where a condition with a nested query stands in the place of a connector, which cannot be put into a set.
pub(super) fn connectors(query: &SqlQuery) -> bool {
    let odd = query.filter.iter().skip(1).step_by(2).filter_map(Term::condition);
    odd.flat_map(|condition| [&condition.first, &condition.second])
        .flatten()
        .any(|value| matches!(value, ComparedValue::Query(_)))
}

/// Two different nested queries stand in FROM, which cannot be sorted.
pub(super) fn tables(query: &SqlQuery) -> bool {
    let mut queries = query.tables.iter().filter_map(|table| match table {
        TableUnit::Query(query) => Some(query),
        TableUnit::Table(_) => None,
    });
    let first = queries.next();
    queries.any(|query| Some(query) != first)
}
