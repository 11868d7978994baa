//! Queries in one form, and without what is not compared.

use crate::{
    Compat,
    spider::{
        Aggregate, Arithmetic, ColumnUnit, ComparedValue, ComparisonOperator, Condition, Connector, DatabaseSchema,
        Name, SqlQuery, TableUnit, Term, ValueUnit,
    },
};

/// The query without values and with one column for each class of foreign keys.
pub(super) fn normalized(query: &SqlQuery, schema: &DatabaseSchema, compat: Compat) -> SqlQuery {
    let mut query = query.clone();
    match compat {
        Compat::Official => {
            drop_values(&mut query);
            let tables = tables(&query);
            Columns { same: &|name| schema.class(name, &tables), keep_distinct: false }.outer(&mut query);
        }
        Compat::Strict => strict(&mut query),
    }
    query
}

fn tables(query: &SqlQuery) -> Vec<Name> {
    let tables = query.tables.iter();
    tables.filter_map(|table| if let TableUnit::Table(name) = table { Some(*name) } else { None }).collect()
}

/// The conditions of a list that the published evaluator rewrites: those at even places.
fn conditions(terms: &mut [Term]) -> impl Iterator<Item = &mut Condition> {
    terms.iter_mut().step_by(2).filter_map(|term| match term {
        Term::Condition(condition) => Some(condition),
        Term::Connector(_) => None,
    })
}

/// Takes out all values but nested queries, in these and in set operations too; what stands in FROM keeps them.
fn drop_values(query: &mut SqlQuery) {
    for terms in [&mut query.on, &mut query.having, &mut query.filter] {
        for condition in conditions(terms) {
            for value in [&mut condition.first, &mut condition.second] {
                match value {
                    Some(ComparedValue::Query(nested)) => drop_values(nested),
                    other => *other = None,
                }
            }
        }
    }
    if let Some((_, arm)) = &mut query.set {
        drop_values(arm);
    }
}

/// Rewrites columns: one for all that are the same, and DISTINCT.
struct Columns<'a> {
    same: &'a dyn Fn(Name) -> Name,
    keep_distinct: bool,
}

impl Columns<'_> {
    /// The query and the arms of its set operations, but nothing that is nested in it.
    fn outer(&self, query: &mut SqlQuery) {
        query.distinct &= self.keep_distinct;
        for (_, unit) in &mut query.select {
            self.value_unit(unit);
        }
        for terms in [&mut query.on, &mut query.filter, &mut query.having] {
            for condition in conditions(terms) {
                self.value_unit(&mut condition.unit);
            }
        }
        for unit in &mut query.group {
            self.column_unit(unit);
        }
        for unit in query.order.iter_mut().flat_map(|order| &mut order.units) {
            self.value_unit(unit);
        }
        if let Some((_, arm)) = &mut query.set {
            self.outer(arm);
        }
    }

    fn value_unit(&self, unit: &mut ValueUnit) {
        self.column_unit(&mut unit.left);
        if let Some(right) = &mut unit.right {
            self.column_unit(right);
        }
    }

    fn column_unit(&self, unit: &mut ColumnUnit) {
        unit.column = (self.same)(unit.column);
        unit.distinct &= self.keep_distinct;
    }
}

/// Merges, in every query, the columns that its own JOIN conditions say are the same.
///
/// These conditions are then written in one form: the first column of each class equals each of the others.
fn strict(query: &mut SqlQuery) {
    let arm = query.set.take();
    let classes = take_equalities(&mut query.on);
    let same = |name: Name| classes.iter().find(|class| class.contains(&name)).map_or(name, |class| class[0]);
    let columns = Columns { same: &same, keep_distinct: true };
    columns.outer(query);
    for table in &mut query.tables {
        if let TableUnit::Query(nested) = table {
            strict(nested);
        }
    }
    for terms in [&mut query.on, &mut query.filter, &mut query.having] {
        for term in terms {
            let Term::Condition(condition) = term else { continue };
            for value in [&mut condition.first, &mut condition.second] {
                match value {
                    Some(ComparedValue::Query(nested)) => strict(nested),
                    Some(ComparedValue::Column(unit)) => columns.column_unit(unit),
                    other => *other = None,
                }
            }
        }
    }
    let equalities = classes.iter().flat_map(|class| class[1..].iter().map(|&other| equality(class[0], other)));
    let and = Term::Connector(Connector::And);
    for equality in equalities {
        if !query.on.is_empty() {
            query.on.push(and.clone());
        }
        query.on.push(equality);
    }
    query.set = arm.map(|(operator, mut arm)| {
        strict(&mut arm);
        (operator, arm)
    });
}

/// Takes the equalities between two columns out of conditions that are all joined by AND, as sorted classes of columns.
fn take_equalities(on: &mut Vec<Term>) -> Vec<Vec<Name>> {
    let mut classes: Vec<Vec<Name>> = Vec::new();
    if on.contains(&Term::Connector(Connector::Or)) {
        return classes;
    }
    let mut rest = Vec::new();
    for term in on.drain(..).filter(|term| term.condition().is_some()) {
        let Some(pair) = term.condition().and_then(equal_columns) else {
            rest.extend((!rest.is_empty()).then_some(Term::Connector(Connector::And)));
            rest.push(term);
            continue;
        };
        // All classes that the pair touches become one.
        let (touched, others): (Vec<_>, Vec<_>) =
            classes.into_iter().partition(|class| pair.iter().any(|name| class.contains(name)));
        let mut joined: Vec<Name> = touched.into_iter().flatten().chain(pair).collect();
        joined.sort_unstable();
        joined.dedup();
        classes = others;
        classes.push(joined);
    }
    *on = rest;
    classes.sort_unstable();
    classes
}

/// The two columns of `a = b`.
fn equal_columns(condition: &Condition) -> Option<[Name; 2]> {
    let plain = |unit: &ColumnUnit| (*unit == column(unit.column)).then_some(unit.column);
    match (condition.negated, condition.comparison, condition.unit.right, &condition.first) {
        (false, ComparisonOperator::Equal, None, Some(ComparedValue::Column(right))) => {
            Some([plain(&condition.unit.left)?, plain(right)?])
        }
        _ => None,
    }
}

fn column(column: Name) -> ColumnUnit {
    ColumnUnit { aggregate: Aggregate::None, column, distinct: false }
}

fn equality(left: Name, right: Name) -> Term {
    let unit = ValueUnit { operator: Arithmetic::None, left: column(left), right: None };
    let (comparison, first) = (ComparisonOperator::Equal, Some(ComparedValue::Column(column(right))));
    Term::Condition(Condition { negated: false, comparison, unit, first, second: None })
}
