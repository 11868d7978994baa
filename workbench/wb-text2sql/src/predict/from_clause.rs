//! FROM: the tables of the columns that a query names, those that it counts, and how they are joined.

use std::collections::BTreeSet;

use wb_sql::spider::{
    Aggregate, ComparedValue, ComparisonOperator, Condition, Connector, Name, SqlQuery, TableUnit, Term, ValueUnit,
};

use super::{
    Reason,
    build::{Builder, Place},
    joins::{edge, join},
};
use crate::link::cues;

impl Builder<'_> {
    /// Tables of the columns that a query names itself.
    pub fn tables_of(&self, query: &SqlQuery) -> Vec<usize> {
        let mut names = BTreeSet::new();
        let outer = SqlQuery { set: None, tables: Vec::new(), ..query.clone() };
        let mut order = Vec::new();
        own_names(&outer, &mut |name| {
            if names.insert(name) {
                order.extend(self.to.column(name).map(|column| self.to.columns[column].table));
            }
        });
        let mut seen = BTreeSet::new();
        order.retain(|table| seen.insert(*table));
        order
    }

    pub(crate) fn tables(&mut self, source: &SqlQuery, place: Place<'_>, query: &mut SqlQuery) -> Result<(), Reason> {
        let mut tables = self.tables_of(query);
        let counts = |unit: &ValueUnit| self.to.column(unit.left.column).is_none();
        let starred = query
            .select
            .iter()
            .map(|(_, unit)| unit)
            .chain(query.order.iter().flat_map(|order| &order.units))
            .any(counts)
            || query.having.iter().filter_map(Term::condition).any(|condition| counts(&condition.unit));
        let counted = self
            .links
            .tables
            .iter()
            .filter(|mention| mention.counted && mention.score > 0.5)
            .map(|mention| mention.table);
        let counted = counted.into_iter().find(|table| !tables.contains(table));
        if tables.is_empty() {
            tables.push(counted.or_else(|| self.main_table(place)).ok_or(Reason::Table)?);
        } else if let Some(counted) = counted.filter(|_| starred) {
            tables.push(counted);
        } else if source.tables.len() > 1 && tables.len() == 1 {
            let other = self.links.tables.iter().filter(|mention| mention.score > 0.5 && mention.table != tables[0]);
            let other =
                other.filter(|mention| self.to.path(&tables, mention.table).is_some_and(|path| path.len() <= 3));
            let other: Option<usize> = other.map(|mention| mention.table).next();
            match other {
                Some(other) => tables.push(other),
                None => self.score -= 0.3,
            }
        }
        // An arm over the same rows would be no arm.
        if place.results.is_some()
            && place.nested
            && query.filter.is_empty()
            && !place.around.is_empty()
            && tables.iter().all(|table| place.around.contains(table))
        {
            let other = self
                .links
                .tables
                .iter()
                .filter(|mention| mention.score > 0.5 && !place.around.contains(&mention.table));
            let other = other.map(|mention| mention.table).next();
            tables.push(other.ok_or(Reason::Join)?);
        }
        if tables.len() > 1 && source.tables.len() == 1 {
            self.score -= 0.25;
        }
        let joined = join(self.to, &tables, self.links).ok_or(Reason::Join)?;
        query.tables = joined.tables.iter().map(|&table| TableUnit::Table(self.to.table_id(table))).collect();
        for (at, (one, other)) in joined.on.iter().enumerate() {
            if at > 0 {
                query.on.push(Term::Connector(Connector::And));
            }
            query.on.push(Term::Condition(Condition {
                negated: false,
                comparison: ComparisonOperator::Equal,
                unit: self.column(*one),
                first: Some(ComparedValue::Column(self.plain(*other))),
                second: None,
            }));
        }
        Ok(())
    }

    /// `SELECT id FROM a EXCEPT SELECT a_id FROM b` instead of joining both in the arm, where a single key is asked for.
    pub(crate) fn shorten(&self, query: &mut SqlQuery, arm: &mut SqlQuery) {
        let [(_, unit)] = query.select.as_slice() else { return };
        let [TableUnit::Table(one), TableUnit::Table(other)] = arm.tables.as_slice() else { return };
        let (Some(one), Some(other)) = (self.to.table(*one), self.to.table(*other)) else { return };
        let Some((own, foreign)) = edge(self.to, one, other, self.links) else { return };
        let used = own_tables(self, arm);
        if self.to.columns[own].id == unit.left.column && !used.contains(&one) && self.links.says(cues::NEGATIONS) {
            arm.select = vec![(Aggregate::None, self.column(foreign))];
            arm.tables = vec![TableUnit::Table(self.to.table_id(other))];
            arm.on.clear();
        }
    }
}

/// Tables of the conditions of a query.
fn own_tables(builder: &Builder<'_>, query: &SqlQuery) -> Vec<usize> {
    builder.tables_of(&SqlQuery { filter: query.filter.clone(), ..SqlQuery::default() })
}

/// All columns that a query names, but for those of queries in it.
fn own_names(query: &SqlQuery, report: &mut dyn FnMut(Name)) {
    let units = query.select.iter().map(|(_, unit)| unit);
    let conditions = || query.filter.iter().chain(&query.having).filter_map(Term::condition);
    for unit in units
        .chain(conditions().map(|condition| &condition.unit))
        .chain(query.order.iter().flat_map(|order| &order.units))
    {
        report(unit.left.column);
        if let Some(right) = &unit.right {
            report(right.column);
        }
    }
    for value in conditions().flat_map(|condition| [&condition.first, &condition.second]).flatten() {
        if let ComparedValue::Column(unit) = value {
            report(unit.column);
        }
    }
    query.group.iter().for_each(|unit| report(unit.column));
}
