//! What is taken out of queries, and put in one form, before they are compared.

use std::borrow::Cow;

use crate::{
    Compat,
    spider::{ColumnUnit, Comparison, Condition, Connector, Name, Query, Schema, TableUnit, Term, Value, ValueUnit},
};

/// The query without values and with one column for each class of foreign keys.
pub(super) fn normalized(query: &Query, schema: &Schema, compat: Compat) -> Query {
    let mut query = query.clone();
    match compat {
        Compat::Official => {
            drop_values(&mut query);
            let tables = tables(&query);
            Columns { schema, tables: Cow::Borrowed(&tables), keep_distinct: false }.outer(&mut query);
        }
        Compat::Strict => strict(&mut query, schema),
    }
    query
}

fn tables(query: &Query) -> Vec<Name> {
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
fn drop_values(query: &mut Query) {
    for terms in [&mut query.on, &mut query.having, &mut query.filter] {
        for condition in conditions(terms) {
            for value in [&mut condition.first, &mut condition.second] {
                match value {
                    Some(Value::Query(nested)) => drop_values(nested),
                    other => *other = None,
                }
            }
        }
    }
    if let Some((_, arm)) = &mut query.set {
        drop_values(arm);
    }
}

/// Rewrites columns: by foreign keys, and DISTINCT.
struct Columns<'a> {
    schema: &'a Schema,
    tables: Cow<'a, [Name]>,
    keep_distinct: bool,
}

impl Columns<'_> {
    /// The query and the arms of its set operations, but nothing that is nested in it.
    fn outer(&self, query: &mut Query) {
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
        unit.column = self.schema.class(unit.column, &self.tables);
        unit.distinct &= self.keep_distinct;
    }
}

/// The same in every query by its own FROM, with DISTINCT kept; join conditions as unordered pairs, without those that
/// foreign keys make trivial.
fn strict(query: &mut Query, schema: &Schema) {
    let columns = Columns { schema, tables: Cow::Owned(tables(query)), keep_distinct: true };
    let arm = query.set.take();
    columns.outer(query);
    for table in &mut query.tables {
        if let TableUnit::Query(nested) = table {
            strict(nested, schema);
        }
    }
    for term in &mut query.on {
        if let Term::Condition(condition) = term {
            order_sides(condition, &columns);
        }
    }
    let trivial = |term: &Term| {
        term.condition().is_none_or(|one| {
            one.comparison == Comparison::Equal
                && one.unit.right.is_none()
                && one.first == Some(Value::Column(one.unit.left))
        })
    };
    if !query.on.contains(&Term::Connector(Connector::Or)) {
        query.on.retain(|term| !trivial(term));
        // What is left is joined by AND again.
        let and = Term::Connector(Connector::And);
        query.on = query.on.drain(..).flat_map(|term| [term, and.clone()]).collect();
        query.on.pop();
    }
    for terms in [&mut query.on, &mut query.filter, &mut query.having] {
        for term in terms {
            let Term::Condition(condition) = term else { continue };
            for value in [&mut condition.first, &mut condition.second] {
                match value {
                    Some(Value::Query(nested)) => strict(nested, schema),
                    Some(Value::Column(unit)) => columns.column_unit(unit),
                    other => *other = None,
                }
            }
        }
    }
    query.set = arm.map(|(operator, mut arm)| {
        strict(&mut arm, schema);
        (operator, arm)
    });
}

/// Gives `a = b` and `b = a` one order.
fn order_sides(condition: &mut Condition, columns: &Columns<'_>) {
    let (Comparison::Equal, None) = (condition.comparison, condition.unit.right) else { return };
    if let Some(Value::Column(right)) = &mut condition.first {
        columns.column_unit(right);
        let left = &mut condition.unit.left;
        if *right < *left {
            std::mem::swap(left, right);
        }
    }
}
