//! Likeness of two queries, whatever database they ask: for examples that were retrieved, not for verdicts.

use std::collections::BTreeMap;

use crate::spider::{
    Aggregate, Arithmetic, ColumnUnit, ComparedValue, ComparisonOperator, Condition, Connector, SetOperator, SqlQuery,
    TableUnit, Term, ValueUnit,
};

/// The parts of a query with names and values blanked, each with how often it occurs.
pub type Parts = BTreeMap<QueryPart, usize>;

/// One part of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueryPart {
    /// A column of SELECT: its functions and operator.
    Select(Aggregate, Shape),
    /// SELECT DISTINCT.
    Distinct,
    /// A table of FROM after the first.
    Join,
    /// A condition of WHERE or HAVING: the clause, what is compared, NOT, the operator, whether with a query.
    Condition(Clause, Shape, bool, ComparisonOperator, bool),
    /// A word between conditions.
    Connector(Clause, Connector),
    /// A column of GROUP BY.
    Group,
    /// A unit of ORDER BY, and whether it descends.
    Order(Shape, bool),
    /// LIMIT.
    Limit,
    /// A set operation.
    Set(SetOperator),
    /// A query in a condition or in FROM.
    Nested,
}

/// A column or two with names blanked.
pub type Shape = (Aggregate, Arithmetic, Option<Aggregate>);

/// The clause of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Clause {
    /// WHERE.
    Where,
    /// HAVING.
    Having,
}

/// The parts of a query and of all queries in it.
///
/// Join conditions are left out: they follow from the schema. The first table is too: every query has one.
pub fn parts(query: &SqlQuery) -> Parts {
    let mut parts = Parts::new();
    collect(query, &mut parts);
    parts
}

/// F1 of the parts of two queries: 2 · common / (parts of one + parts of the other), each part as often as it occurs.
///
/// 1 for queries that are made alike, such as those with one [`skeleton`](crate::spider::skeleton); 0 for nothing in
/// common. Symmetric. It needs no common schema, unlike the components of exact match.
pub fn component_f1(left: &Parts, right: &Parts) -> f64 {
    let total = left.values().chain(right.values()).sum::<usize>();
    if total == 0 {
        return 1.0;
    }
    let common: usize = left.iter().map(|(part, count)| *count.min(right.get(part).unwrap_or(&0))).sum();
    2.0 * common as f64 / total as f64
}

fn collect(query: &SqlQuery, parts: &mut Parts) {
    for (function, unit) in &query.select {
        add(parts, QueryPart::Select(*function, shape(unit)));
    }
    for (present, part) in [(query.distinct, QueryPart::Distinct), (query.limit, QueryPart::Limit)] {
        if present {
            add(parts, part);
        }
    }
    for (place, table) in query.tables.iter().enumerate() {
        if place > 0 {
            add(parts, QueryPart::Join);
        }
        if let TableUnit::Query(nested) = table {
            add(parts, QueryPart::Nested);
            collect(nested, parts);
        }
    }
    for (clause, terms) in [(Clause::Where, &query.filter), (Clause::Having, &query.having)] {
        for term in terms {
            match term {
                Term::Connector(connector) => add(parts, QueryPart::Connector(clause, *connector)),
                Term::Condition(one) => condition(clause, one, parts),
            }
        }
    }
    for _ in &query.group {
        add(parts, QueryPart::Group);
    }
    if let Some(order) = &query.order {
        for unit in &order.units {
            add(parts, QueryPart::Order(shape(unit), order.descending));
        }
    }
    if let Some((operator, arm)) = &query.set {
        add(parts, QueryPart::Set(*operator));
        collect(arm, parts);
    }
}

fn condition(clause: Clause, one: &Condition, parts: &mut Parts) {
    let with_query = matches!(one.first, Some(ComparedValue::Query(_)));
    add(parts, QueryPart::Condition(clause, shape(&one.unit), one.negated, one.comparison, with_query));
    for nested in one.queries() {
        add(parts, QueryPart::Nested);
        collect(nested, parts);
    }
}

fn add(parts: &mut Parts, part: QueryPart) {
    *parts.entry(part).or_default() += 1;
}

fn shape(unit: &ValueUnit) -> Shape {
    let aggregate = |unit: &ColumnUnit| unit.aggregate;
    (aggregate(&unit.left), unit.operator, unit.right.as_ref().map(aggregate))
}
