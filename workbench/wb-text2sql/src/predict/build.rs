//! A query over the question's database, made as the example is, with the columns, tables and values of the question.

use wb_sql::spider::{Aggregate, Arithmetic, ColumnUnit, Order, SetOperator, SqlQuery, Term, ValueUnit};

use super::{
    Reason,
    assign::{Assignment, asks_count},
    conditions,
};
use crate::{
    link::{Links, Purpose, cues},
    schema::SchemaCatalog,
};

/// A query that was built.
#[derive(Debug, Clone)]
pub(crate) struct Built {
    pub query: SqlQuery,
    /// The number behind LIMIT.
    pub limit: u32,
    /// Cost of what was left out or added, as a negative number.
    pub score: f64,
}

/// Builds queries for one question and one assignment.
pub(crate) struct Builder<'a> {
    pub from: &'a SchemaCatalog,
    pub to: &'a SchemaCatalog,
    pub links: &'a Links,
    pub assignment: &'a Assignment,
    /// Values that have been taken.
    pub used: Vec<bool>,
    /// True where the example takes rows out by EXCEPT or NOT IN.
    pub excludes: bool,
    pub score: f64,
}

/// Place of a part in the whole query.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Place<'a> {
    pub nested: bool,
    /// The columns of SELECT of the query whose arm this is.
    pub results: Option<&'a [(Aggregate, ValueUnit)]>,
    /// Tables of the queries around.
    pub around: &'a [usize],
}

impl<'a> Builder<'a> {
    pub fn new(from: &'a SchemaCatalog, to: &'a SchemaCatalog, links: &'a Links, assignment: &'a Assignment) -> Self {
        Self { from, to, links, assignment, used: vec![false; links.values.len()], excludes: false, score: 0.0 }
    }

    /// Builds the whole query.
    pub fn build(mut self, source: &SqlQuery) -> Result<Built, Reason> {
        self.excludes = source.arm(SetOperator::Except).is_some()
            || source.filter.iter().filter_map(Term::condition).any(|condition| condition.negated);
        let mut query = self.query_in(source, Place::default())?;
        if let Some((operator, arm)) = &source.set {
            let tables = self.tables_of(&query);
            let select = query.select.clone();
            let place = Place { nested: true, results: Some(&select), around: &tables };
            let mut arm = self.query_in(arm, place)?;
            if *operator == SetOperator::Except {
                self.shorten(&mut query, &mut arm);
            }
            query.set = Some((*operator, Box::new(arm)));
        }
        let filters =
            self.links.values.iter().zip(&self.used).filter(|(value, used)| value.purpose != Purpose::Limit && !**used);
        self.score -= 0.6 * filters.count() as f64;
        let limit = self.links.values.iter().find(|value| value.purpose == Purpose::Limit);
        if limit.is_some() != query.limit && limit.is_some() {
            self.score -= 0.4;
        }
        let limit = limit.map_or(1, |value| match value.literal {
            crate::link::Literal::Number(number) if (1.0..1e6).contains(&number) => {
                format!("{number:.0}").parse().unwrap_or(1)
            }
            _ => 1,
        });
        Ok(Built { query, limit, score: self.score })
    }

    /// A query without its set operation.
    pub fn query_in(&mut self, source: &SqlQuery, place: Place<'_>) -> Result<SqlQuery, Reason> {
        let select = match place.results {
            Some(results) => results.to_vec(),
            None => self.select(source, place)?,
        };
        let so_far = SqlQuery { select: select.clone(), ..SqlQuery::default() };
        let filter = conditions::filter(self, source, place, &so_far)?;
        self.query_after(source, Place { results: Some(&select), ..place }, filter)
    }

    /// The rest of a query whose results and conditions are known.
    pub fn query_after(&mut self, source: &SqlQuery, place: Place<'_>, filter: Vec<Term>) -> Result<SqlQuery, Reason> {
        let mut query = SqlQuery { distinct: source.distinct, limit: source.limit, filter, ..SqlQuery::default() };
        query.select = place.results.unwrap_or_default().to_vec();
        query.having = conditions::having(self, source)?;
        let mut group = Vec::new();
        for unit in &source.group {
            let column = self.assignment.columns.get(&unit.column).copied();
            let column = column.or_else(|| self.group_key(&query, place)).ok_or(Reason::Column)?;
            if !group.iter().any(|own: &ColumnUnit| own.column == self.to.columns[column].id) {
                group.push(self.plain(column));
            }
        }
        // Groups without a count or another function are only the question's `each`.
        let function = |(function, unit): &(Aggregate, ValueUnit)| {
            *function != Aggregate::None || unit.left.aggregate != Aggregate::None
        };
        let ordered =
            source.order.iter().flat_map(|order| &order.units).any(|unit| unit.left.aggregate != Aggregate::None);
        if query.having.is_empty() && !ordered && !query.select.iter().any(function) {
            group.clear();
        }
        // A count alone is of the whole table, unless the question says otherwise.
        let named = source.group.iter().any(|unit| self.assignment.columns.contains_key(&unit.column));
        let each = self.links.says("each|every|per|respective|corresponding|different");
        if !named
            && !each
            && query.having.is_empty()
            && !ordered
            && query.select.iter().all(function)
            && !group.is_empty()
        {
            self.score -= 0.2;
            group.clear();
        }
        query.group = group;
        if let Some(order) = &source.order {
            query.order = Some(self.order(order, place)?);
        }
        self.tables(source, place, &mut query)?;
        Ok(query)
    }

    fn select(&mut self, source: &SqlQuery, place: Place<'_>) -> Result<Vec<(Aggregate, ValueUnit)>, Reason> {
        let functions = if place.nested { Vec::new() } else { cues::aggregates(&self.links.words) };
        let mut select: Vec<(Aggregate, ValueUnit)> = Vec::new();
        let mut push = |item: (Aggregate, ValueUnit)| {
            if !select.contains(&item) {
                select.push(item);
            }
        };
        let mut open = Vec::new();
        let mut aggregated = false;
        for (function, unit) in &source.select {
            let star = self.from.column(unit.left.column).is_none();
            let inner = if *function == Aggregate::None { unit.left.aggregate } else { *function };
            let more = source.select.len() > 1 || !self.assignment.extra.is_empty();
            if !place.nested && inner == Aggregate::Count && more && !asks_count(self.links) {
                self.score -= 0.2;
                continue;
            }
            let Some(unit) = self.unit(unit, place) else {
                open.push((*function, *unit));
                continue;
            };
            if !star && inner != Aggregate::None && inner != Aggregate::Count && !functions.is_empty() {
                // The functions that the question names, on this column.
                if !std::mem::replace(&mut aggregated, true) {
                    functions.iter().for_each(|(_, function)| push((*function, unit)));
                }
                continue;
            }
            push((*function, unit));
        }
        if !place.nested {
            for &column in &self.assignment.extra {
                push((Aggregate::None, self.column(column)));
            }
        }
        if select.is_empty() {
            // Nothing is named: what tells rows apart, and what is counted.
            for (function, unit) in open.into_iter().take(1) {
                let inner = if function == Aggregate::None { unit.left.aggregate } else { function };
                let column = self.default_column(inner, place).ok_or(Reason::Column)?;
                let unit = ValueUnit { left: self.name(column, &unit.left), ..self.column(column) };
                select.push((function, unit));
            }
        }
        if select.is_empty() { Err(Reason::Column) } else { Ok(select) }
    }

    /// A unit with its columns replaced; none where one is not known.
    pub fn unit(&self, unit: &ValueUnit, place: Place<'_>) -> Option<ValueUnit> {
        let left = self.column_unit(&unit.left, place)?;
        let right = unit.right.as_ref().and_then(|right| self.column_unit(right, place));
        let operator = if right.is_some() { unit.operator } else { Arithmetic::None };
        Some(ValueUnit { operator, left, right })
    }

    pub fn column_unit(&self, unit: &ColumnUnit, place: Place<'_>) -> Option<ColumnUnit> {
        let Some(at) = self.from.column(unit.column) else {
            return Some(ColumnUnit { column: self.star(), ..*unit });
        };
        let key =
            || (unit.aggregate == Aggregate::Count && self.from.columns[at].key).then(|| self.key(place)).flatten();
        let column = self.assignment.columns.get(&unit.column).copied().or_else(key)?;
        Some(self.name(column, unit))
    }

    fn name(&self, column: usize, unit: &ColumnUnit) -> ColumnUnit {
        ColumnUnit { column: self.to.columns[column].id, ..*unit }
    }

    pub fn plain(&self, column: usize) -> ColumnUnit {
        ColumnUnit { aggregate: Aggregate::None, column: self.to.columns[column].id, distinct: false }
    }

    pub fn column(&self, column: usize) -> ValueUnit {
        ValueUnit { operator: Arithmetic::None, left: self.plain(column), right: None }
    }

    /// `*` has one number in all schemas.
    fn star(&self) -> wb_sql::spider::Name {
        self.to.star()
    }

    fn order(&mut self, order: &Order, place: Place<'_>) -> Result<Order, Reason> {
        let mut units: Vec<ValueUnit> = order.units.iter().filter_map(|unit| self.unit(unit, place)).collect();
        if units.is_empty() {
            let column = self.default_column(Aggregate::Max, place).ok_or(Reason::Column)?;
            self.score -= 0.3;
            units.push(self.column(column));
        }
        let told = cues::descends(&self.links.words);
        Ok(Order { descending: told.unwrap_or(order.descending), units })
    }

    /// The table that is spoken of: the first that is named, but for those of the queries around.
    pub fn main_table(&self, place: Place<'_>) -> Option<usize> {
        let free = |table: &usize| !place.around.contains(table);
        let named = self.links.tables.iter().filter(|mention| mention.score > 0.5).map(|mention| mention.table);
        let weak = self.links.tables.iter().map(|mention| mention.table);
        let columns = self.links.columns.iter().filter_map(|mention| mention.columns.first());
        let columns = columns.map(|(column, _)| self.to.columns[*column].table);
        let all: Vec<usize> = named.chain(columns).chain(weak).collect();
        all.iter().copied().find(|table| free(table)).or_else(|| all.first().copied())
    }

    /// The column that a query returns or orders by where none is named.
    fn default_column(&self, function: Aggregate, place: Place<'_>) -> Option<usize> {
        let table = self.main_table(place)?;
        let columns = || self.to.tables[table].columns.iter().copied().filter(|&at| self.to.columns[at].plain);
        let number =
            |at: &usize| !self.to.columns[*at].key && self.to.columns[*at].kind == crate::schema::ColumnKind::Number;
        let named = columns().find(|&at| self.to.is_name(at));
        let text = columns().find(|&at| !self.to.columns[at].key);
        match function {
            Aggregate::None => named.or(text).or_else(|| columns().next()),
            Aggregate::Count => self.to.tables[table].primary.or_else(|| columns().next()),
            _ => columns().find(number).or(text),
        }
    }

    fn key(&self, place: Place<'_>) -> Option<usize> {
        let table = self.main_table(place)?;
        self.to.tables[table].primary.filter(|&at| self.to.columns[at].plain)
    }

    /// The key of the table whose columns are returned; else a returned column itself.
    fn group_key(&self, query: &SqlQuery, place: Place<'_>) -> Option<usize> {
        let result = query
            .select
            .iter()
            .filter(|(function, unit)| *function == Aggregate::None && unit.left.aggregate == Aggregate::None);
        let result = result.filter_map(|(_, unit)| self.to.column(unit.left.column)).next();
        let primary = result.and_then(|at| self.to.tables[self.to.columns[at].table].primary);
        primary.filter(|&at| self.to.columns[at].plain).or(result).or_else(|| self.key(place))
    }
}
