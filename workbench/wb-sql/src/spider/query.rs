//! A query of Spider's grammar as a typed structure, as the published parser sees it.
//!
//! The structure keeps what exact match and hardness look at, and with it some oddities: a condition list may hold two
//! conditions without a connector between them or end with one, LIMIT has no number, and one direction serves all of
//! ORDER BY. Names are [`Name`]s of a [`DatabaseSchema`](super::DatabaseSchema); aliases are gone.

use std::collections::BTreeSet;

use super::schema::Name;

/// `max`, `min`, `count`, `sum`, `avg`, or none; the word `none` is read as one too, as the source does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Aggregate {
    /// Absence of a function.
    None,
    /// `max`.
    Max,
    /// `min`.
    Min,
    /// `count`.
    Count,
    /// `sum`.
    Sum,
    /// `avg`.
    Avg,
}

/// The operator between two columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arithmetic {
    /// A single column; the word `none` between two columns is read as this too.
    None,
    /// `-`.
    Minus,
    /// `+`.
    Plus,
    /// `*`.
    Times,
    /// `/`.
    Divide,
}

/// The operator of a condition. `not` and `exists` are operators between a column and a value in this grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ComparisonOperator {
    /// `not`, after another `not`.
    Not,
    /// `between`, the only one with two values.
    Between,
    /// `=`.
    Equal,
    /// `>`.
    Greater,
    /// `<`.
    Less,
    /// `>=`.
    GreaterEqual,
    /// `<=`.
    LessEqual,
    /// `!=`.
    Unequal,
    /// `in`.
    In,
    /// `like`.
    Like,
    /// `is`.
    Is,
    /// `exists`.
    Exists,
}

/// `and` or `or`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Connector {
    /// `and`.
    And,
    /// `or`.
    Or,
}

/// `intersect`, `union` or `except`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SetOperator {
    /// `intersect`.
    Intersect,
    /// `union`.
    Union,
    /// `except`.
    Except,
}

/// A column, perhaps in an aggregate: `count(DISTINCT t1.id)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnUnit {
    /// The function around it.
    pub aggregate: Aggregate,
    /// The column, or `*`.
    pub column: Name,
    /// True where `distinct` stands before it.
    pub distinct: bool,
}

/// One column, or two with an operator between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueUnit {
    /// The operator.
    pub operator: Arithmetic,
    /// The first column.
    pub left: ColumnUnit,
    /// The second, where there is one.
    pub right: Option<ColumnUnit>,
}

/// Value that a column is compared with.
#[derive(Debug, Clone, PartialEq)]
pub enum ComparedValue {
    /// A number; NaN equals nothing, itself neither.
    Number(f64),
    /// A string with its quotes.
    Text(String),
    /// A column.
    Column(ColumnUnit),
    /// A nested query.
    Query(Box<SqlQuery>),
}

impl ComparedValue {
    /// The nested query, if it is one.
    pub fn query(&self) -> Option<&SqlQuery> {
        if let Self::Query(query) = self { Some(query) } else { None }
    }
}

/// One condition of ON, WHERE or HAVING.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// True where `not` stands before the operator.
    pub negated: bool,
    /// The operator.
    pub comparison: ComparisonOperator,
    /// Subject of the comparison.
    pub unit: ValueUnit,
    /// Value of the comparison; nothing once values are taken out.
    pub first: Option<ComparedValue>,
    /// The end of BETWEEN.
    pub second: Option<ComparedValue>,
}

impl Condition {
    /// The nested queries on its right side.
    pub fn queries(&self) -> impl Iterator<Item = &SqlQuery> {
        [&self.first, &self.second].into_iter().flatten().filter_map(ComparedValue::query)
    }
}

/// One element of a condition list. In a regular list conditions stand at even places and connectors at odd ones.
#[derive(Debug, Clone, PartialEq)]
pub enum Term {
    /// A condition.
    Condition(Condition),
    /// The word between two.
    Connector(Connector),
}

impl Term {
    /// The condition, if it is one.
    pub fn condition(&self) -> Option<&Condition> {
        if let Self::Condition(condition) = self { Some(condition) } else { None }
    }
}

/// A table of FROM.
#[derive(Debug, Clone, PartialEq)]
pub enum TableUnit {
    /// A table of the schema.
    Table(Name),
    /// A nested query.
    Query(Box<SqlQuery>),
}

/// ORDER BY.
#[derive(Debug, Clone, PartialEq)]
pub struct Order {
    /// The last direction that is written, for all units.
    pub descending: bool,
    /// Units that are ordered by; may be empty.
    pub units: Vec<ValueUnit>,
}

/// A whole query. The default is the empty one, which stands for a prediction that cannot be read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SqlQuery {
    /// True where SELECT is distinct.
    pub distinct: bool,
    /// The columns of SELECT.
    pub select: Vec<(Aggregate, ValueUnit)>,
    /// The tables of FROM.
    pub tables: Vec<TableUnit>,
    /// The conditions of all ONs of FROM, with `and` between them.
    pub on: Vec<Term>,
    /// WHERE.
    pub filter: Vec<Term>,
    /// GROUP BY.
    pub group: Vec<ColumnUnit>,
    /// HAVING.
    pub having: Vec<Term>,
    /// ORDER BY.
    pub order: Option<Order>,
    /// True where there is a LIMIT.
    pub limit: bool,
    /// The set operation that follows, and its right side.
    pub set: Option<(SetOperator, Box<SqlQuery>)>,
}

impl SqlQuery {
    /// All three condition lists: ON, WHERE, HAVING.
    pub fn condition_lists(&self) -> [&[Term]; 3] {
        [&self.on, &self.filter, &self.having]
    }

    /// All tables and columns that the query and the queries in it speak of, `*` included: what a schema must have.
    pub fn names(&self) -> BTreeSet<Name> {
        let mut names = BTreeSet::new();
        self.collect_names(&mut names);
        names
    }

    fn collect_names(&self, names: &mut BTreeSet<Name>) {
        let mut units = |unit: &ValueUnit| {
            names.extend([Some(unit.left), unit.right].into_iter().flatten().map(|unit| unit.column))
        };
        self.select.iter().for_each(|(_, unit)| units(unit));
        self.order.iter().flat_map(|order| &order.units).for_each(&mut units);
        let conditions = || self.condition_lists().into_iter().flatten().filter_map(Term::condition);
        conditions().for_each(|condition| units(&condition.unit));
        names.extend(self.group.iter().map(|unit| unit.column));
        for value in conditions().flat_map(|condition| [&condition.first, &condition.second]).flatten() {
            match value {
                ComparedValue::Column(unit) => names.extend([unit.column]),
                ComparedValue::Query(query) => query.collect_names(names),
                ComparedValue::Number(_) | ComparedValue::Text(_) => {}
            }
        }
        for table in &self.tables {
            match table {
                TableUnit::Table(name) => names.extend([*name]),
                TableUnit::Query(query) => query.collect_names(names),
            }
        }
        if let Some((_, arm)) = &self.set {
            arm.collect_names(names);
        }
    }

    /// The right side of the set operation `operator`, if this query has it.
    pub fn arm(&self, operator: SetOperator) -> Option<&SqlQuery> {
        self.set.as_ref().filter(|(own, _)| *own == operator).map(|(_, arm)| &**arm)
    }
}
