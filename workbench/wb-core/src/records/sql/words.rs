//! Words on queries and predictions: status, hardness, component.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Word on one prediction.
///
/// Execution decides where there is a verdict of it: a prediction that the grammar of exact match cannot read, and that
/// has the right rows, is `correct`. `parse_error` is what neither the grammar nor SQLite can read; what SQLite reads
/// and cannot run (a column that is not there) is `sql_error`. Without a verdict of execution, exact match decides:
/// `correct`, `parse_error` where the grammar cannot read the prediction, else `wrong`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PredictionStatus {
    /// Rows of the gold query.
    Correct,
    /// Other rows.
    Wrong,
    /// Text that is no SQL.
    ParseError,
    /// SQL that SQLite cannot run.
    SqlError,
    /// SQL that takes too long.
    Timeout,
    /// SQL that may not run, or asks for too much.
    Refused,
}

impl PredictionStatus {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 6] =
        [Self::Correct, Self::Wrong, Self::ParseError, Self::SqlError, Self::Timeout, Self::Refused];

    /// Name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Correct => "correct",
            Self::Wrong => "wrong",
            Self::ParseError => "parse_error",
            Self::SqlError => "sql_error",
            Self::Timeout => "timeout",
            Self::Refused => "refused",
        }
    }
}

/// Hardness of a question, told from its gold query by the rules of Spider; the easiest comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryHardness {
    /// One clause of the first kind at most, nothing else.
    Easy,
    /// A little more, nothing nested.
    Medium,
    /// More, or one nested query.
    Hard,
    /// All else.
    Extra,
}

impl QueryHardness {
    /// All levels, easiest first.
    pub const ALL: [Self; 4] = [Self::Easy, Self::Medium, Self::Hard, Self::Extra];
}

impl fmt::Display for QueryHardness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Easy => "easy",
            Self::Medium => "medium",
            Self::Hard => "hard",
            Self::Extra => "extra",
        })
    }
}

/// Component of exact match, named as in the published tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueryComponent {
    /// Columns of SELECT with their functions.
    Select,
    /// Columns of SELECT without the outer functions.
    SelectNoAggregate,
    /// Conditions of WHERE, without values.
    Where,
    /// Subjects of the conditions of WHERE.
    WhereNoOperator,
    /// Columns of GROUP BY, without their tables.
    GroupNoHaving,
    /// GROUP BY in its order, and HAVING.
    Group,
    /// ORDER BY, and the presence of a LIMIT.
    Order,
    /// Set of the words AND and OR in WHERE.
    AndOr,
    /// Set operations, by exact match of their arms.
    SetOperation,
    /// Keywords that occur.
    Keywords,
}

impl QueryComponent {
    /// All ten, in the order of the published tables.
    pub const ALL: [Self; 10] = [
        Self::Select,
        Self::SelectNoAggregate,
        Self::Where,
        Self::WhereNoOperator,
        Self::GroupNoHaving,
        Self::Group,
        Self::Order,
        Self::AndOr,
        Self::SetOperation,
        Self::Keywords,
    ];

    /// Name in the published tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Select => "select",
            Self::SelectNoAggregate => "select(no AGG)",
            Self::Where => "where",
            Self::WhereNoOperator => "where(no OP)",
            Self::GroupNoHaving => "group(no Having)",
            Self::Group => "group",
            Self::Order => "order",
            Self::AndOr => "and/or",
            Self::SetOperation => "IUEN",
            Self::Keywords => "keywords",
        }
    }
}
