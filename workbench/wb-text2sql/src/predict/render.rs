//! A structure written as SQL that Spider's grammar and SQLite read.

use wb_sql::spider::{
    Aggregate, Arithmetic, ColumnUnit, ComparedValue, ComparisonOperator, Condition, Connector, Name, SetOperator,
    SqlQuery, TableUnit, Term, ValueUnit, aggregate, comparison,
};

use super::build::Built;
use crate::schema::SchemaCatalog;

/// The text of a query; `None` for what the rules never build, such as a nested query in FROM.
pub(crate) fn render(built: &Built, catalog: &SchemaCatalog) -> Option<String> {
    query(&built.query, built.limit, catalog)
}

fn query(query_: &SqlQuery, limit: u32, catalog: &SchemaCatalog) -> Option<String> {
    let tables: Vec<usize> = query_
        .tables
        .iter()
        .map(|table| if let TableUnit::Table(name) = table { catalog.table(*name) } else { None })
        .collect::<Option<_>>()?;
    let scope = Scope { tables, limit, catalog };
    let mut text = format!("SELECT {}", if query_.distinct { "DISTINCT " } else { "" });
    let columns = query_.select.iter().map(|(function, unit)| {
        let unit = scope.unit(unit)?;
        Some(aggregate(*function).map_or(unit.clone(), |name| format!("{name}({unit})")))
    });
    text += &columns.collect::<Option<Vec<_>>>()?.join(" , ");
    text += &scope.from(&query_.on)?;
    if !query_.filter.is_empty() {
        text += &format!(" WHERE {}", scope.terms(&query_.filter)?);
    }
    if !query_.group.is_empty() {
        let units: Option<Vec<String>> = query_.group.iter().map(|unit| scope.column_unit(unit)).collect();
        text += &format!(" GROUP BY {}", units?.join(" , "));
    }
    if !query_.having.is_empty() {
        text += &format!(" HAVING {}", scope.terms(&query_.having)?);
    }
    if let Some(order) = &query_.order {
        let units: Option<Vec<String>> = order.units.iter().map(|unit| scope.unit(unit)).collect();
        text += &format!(" ORDER BY {}{}", units?.join(" , "), if order.descending { " DESC" } else { " ASC" });
    }
    if query_.limit {
        text += &format!(" LIMIT {limit}");
    }
    if let Some((operator, arm)) = &query_.set {
        let word = match operator {
            SetOperator::Intersect => "INTERSECT",
            SetOperator::Union => "UNION",
            SetOperator::Except => "EXCEPT",
        };
        text += &format!(" {word} {}", query(arm, limit, catalog)?);
    }
    Some(text)
}

struct Scope<'a> {
    tables: Vec<usize>,
    limit: u32,
    catalog: &'a SchemaCatalog,
}

impl Scope<'_> {
    fn from(&self, on: &[Term]) -> Option<String> {
        let conditions: Vec<&Condition> = on.iter().filter_map(Term::condition).collect();
        let mut text = String::new();
        for (at, &table) in self.tables.iter().enumerate() {
            text += if at == 0 { " FROM " } else { " JOIN " };
            text += &self.catalog.tables[table].name;
            if self.tables.len() > 1 {
                text += &format!(" AS T{}", at + 1);
            }
            if at > 0 {
                text += &format!(" ON {}", self.condition(conditions.get(at - 1)?)?);
            }
        }
        Some(text)
    }

    fn terms(&self, terms: &[Term]) -> Option<String> {
        let words = terms.iter().map(|term| match term {
            Term::Condition(condition) => self.condition(condition),
            Term::Connector(Connector::And) => Some("AND".to_owned()),
            Term::Connector(Connector::Or) => Some("OR".to_owned()),
        });
        Some(words.collect::<Option<Vec<_>>>()?.join(" "))
    }

    fn condition(&self, condition: &Condition) -> Option<String> {
        let not = if condition.negated { "NOT " } else { "" };
        let sign = comparison(condition.comparison).to_uppercase();
        let mut text =
            format!("{} {not}{sign} {}", self.unit(&condition.unit)?, self.value(condition.first.as_ref()?)?);
        if condition.comparison == ComparisonOperator::Between {
            text += &format!(" AND {}", self.value(condition.second.as_ref()?)?);
        }
        Some(text)
    }

    fn value(&self, value: &ComparedValue) -> Option<String> {
        Some(match value {
            ComparedValue::Number(number) => format!("{number}"),
            // A quote ends a text in Spider's grammar, whichever it is.
            ComparedValue::Text(text) if text.contains(['\'', '"']) => format!("'{}'", text.replace(['\'', '"'], "")),
            ComparedValue::Text(text) => format!("'{text}'"),
            ComparedValue::Column(unit) => self.column_unit(unit)?,
            ComparedValue::Query(nested) => format!("({})", query(nested, self.limit, self.catalog)?),
        })
    }

    fn unit(&self, unit: &ValueUnit) -> Option<String> {
        let left = self.column_unit(&unit.left)?;
        let sign = match unit.operator {
            Arithmetic::None => return Some(left),
            Arithmetic::Minus => "-",
            Arithmetic::Plus => "+",
            Arithmetic::Times => "*",
            Arithmetic::Divide => "/",
        };
        Some(format!("{left} {sign} {}", self.column_unit(unit.right.as_ref()?)?))
    }

    fn column_unit(&self, unit: &ColumnUnit) -> Option<String> {
        let column = self.column(unit.column)?;
        let column = if unit.distinct { format!("DISTINCT {column}") } else { column };
        Some(match unit.aggregate {
            Aggregate::None => column,
            function => format!("{}({column})", aggregate(function)?),
        })
    }

    fn column(&self, name: Name) -> Option<String> {
        let Some(column) = self.catalog.column(name) else { return Some("*".to_owned()) };
        let column = &self.catalog.columns[column];
        let place = self.tables.iter().position(|table| *table == column.table)?;
        Some(if self.tables.len() > 1 { format!("T{}.{}", place + 1, column.name) } else { column.name.clone() })
    }
}
