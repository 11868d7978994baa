//! Hardness of a question, told from its gold query, by the rules of Spider.

use wb_core::records::sql::QueryHardness;

use crate::spider::{Aggregate, ComparisonOperator, Connector, SqlQuery, Term};

/// The hardness of a query, as `Evaluator.eval_hardness` of the published evaluator gives it.
///
/// Three counts decide, of the outer query alone:
///
/// * clauses: WHERE, GROUP BY, ORDER BY, LIMIT, each table after the first, each OR, each LIKE;
/// * nested: queries in conditions, and the set operation;
/// * others: one each for more than one aggregate, more than one result column, a WHERE list longer than one (so two
///   conditions, as the word between them counts), more than one column of GROUP BY.
///
/// The source counts as aggregates what it finds in first place, and so do we: functions of SELECT, GROUP BY and
/// ORDER BY, but NOT in WHERE and HAVING, and each AND and OR of HAVING; functions of HAVING it does not see.
pub fn hardness(query: &SqlQuery) -> QueryHardness {
    let (clauses, nested, others) = (clauses(query), nested(query), others(query));
    match (clauses, others, nested) {
        (0..=1, 0, 0) => QueryHardness::Easy,
        (0..=1, 0..=2, 0) | (0..=2, 0..=1, 0) => QueryHardness::Medium,
        (0..=2, 3.., 0) | (3, 0..=2, 0) | (0..=1, 0, 0..=1) => QueryHardness::Hard,
        _ => QueryHardness::Extra,
    }
}

fn clauses(query: &SqlQuery) -> usize {
    let present = [!query.filter.is_empty(), !query.group.is_empty(), query.order.is_some(), query.limit];
    let mut count = present.into_iter().filter(|&present| present).count() + query.tables.len().saturating_sub(1);
    for terms in query.condition_lists() {
        let or = |place: usize| terms[place] == Term::Connector(Connector::Or);
        count += (1..terms.len()).step_by(2).filter(|&place| or(place)).count();
        let like = |term: &&Term| term.condition().is_some_and(|one| one.comparison == ComparisonOperator::Like);
        count += terms.iter().step_by(2).filter(like).count();
    }
    count
}

fn nested(query: &SqlQuery) -> usize {
    let conditions = query.condition_lists().into_iter().flat_map(|terms| terms.iter().step_by(2));
    let queries: usize = conditions.filter_map(Term::condition).map(|condition| condition.queries().count()).sum();
    queries + usize::from(query.set.is_some())
}

fn others(query: &SqlQuery) -> usize {
    // What the source takes for an aggregate among conditions: NOT, and words between them.
    let odd = |term: &Term| term.condition().is_none_or(|condition| condition.negated);
    let used = |aggregate: Aggregate| aggregate != Aggregate::None;
    let order = query.order.iter().flat_map(|order| &order.units);
    let order = order.flat_map(|unit| [Some(unit.left), unit.right]).flatten();
    let aggregates = query.select.iter().filter(|(aggregate, _)| used(*aggregate)).count()
        + query.filter.iter().step_by(2).filter(|term| odd(term)).count()
        + query.group.iter().filter(|unit| used(unit.aggregate)).count()
        + order.filter(|unit| used(unit.aggregate)).count()
        + query.having.iter().filter(|term| odd(term)).count();
    let many = [aggregates, query.select.len(), query.filter.len(), query.group.len()];
    many.into_iter().filter(|&count| count > 1).count()
}
