//! A query with its names and values blanked: what is left is how it is made.

use super::{
    Aggregate, Arithmetic, ColumnUnit, ComparedValue, ComparisonOperator, Condition, Connector, SetOperator, SqlQuery,
    TableUnit, Term, ValueUnit,
};

/// The keywords and signs of a query in the order of its clauses, with `_` for every column, table and value.
///
/// `SELECT name FROM singer WHERE age > 30` gives `select _ from _ where _ > _`. Two queries over different databases
/// have the same skeleton when one can be made of the other by changing names and values; aliases, quotes, case and the
/// spelling of joins do not matter.
pub fn skeleton(query: &SqlQuery) -> String {
    let mut words = Vec::new();
    write(query, &mut words);
    words.join(" ")
}

fn write(query: &SqlQuery, words: &mut Vec<&'static str>) {
    words.push("select");
    if query.distinct {
        words.push("distinct");
    }
    list(words, &query.select, |(function, unit), words| {
        let name = aggregate(*function);
        words.extend(name);
        words.extend(name.map(|_| "("));
        value_unit(unit, words);
        words.extend(name.map(|_| ")"));
    });
    words.push("from");
    for (place, table) in query.tables.iter().enumerate() {
        if place > 0 {
            words.push("join");
        }
        match table {
            TableUnit::Table(_) => words.push("_"),
            TableUnit::Query(query) => nested(query, words),
        }
    }
    for (word, terms) in ["on", "where"].into_iter().zip([&query.on, &query.filter]) {
        conditions(word, terms, words);
    }
    if !query.group.is_empty() {
        words.extend(["group", "by"]);
        list(words, &query.group, column_unit);
    }
    conditions("having", &query.having, words);
    if let Some(order) = &query.order {
        words.extend(["order", "by"]);
        list(words, &order.units, value_unit);
        words.push(if order.descending { "desc" } else { "asc" });
    }
    if query.limit {
        words.extend(["limit", "_"]);
    }
    if let Some((operator, arm)) = &query.set {
        words.push(match operator {
            SetOperator::Intersect => "intersect",
            SetOperator::Union => "union",
            SetOperator::Except => "except",
        });
        write(arm, words);
    }
}

fn nested(query: &SqlQuery, words: &mut Vec<&'static str>) {
    words.push("(");
    write(query, words);
    words.push(")");
}

fn list<T>(words: &mut Vec<&'static str>, items: &[T], write: impl Fn(&T, &mut Vec<&'static str>)) {
    for (place, item) in items.iter().enumerate() {
        if place > 0 {
            words.push(",");
        }
        write(item, words);
    }
}

fn conditions(word: &'static str, terms: &[Term], words: &mut Vec<&'static str>) {
    if !terms.is_empty() {
        words.push(word);
    }
    for term in terms {
        match term {
            Term::Connector(Connector::And) => words.push("and"),
            Term::Connector(Connector::Or) => words.push("or"),
            Term::Condition(term) => condition(term, words),
        }
    }
}

fn condition(condition: &Condition, words: &mut Vec<&'static str>) {
    value_unit(&condition.unit, words);
    if condition.negated {
        words.push("not");
    }
    words.push(comparison(condition.comparison));
    for (place, side) in [&condition.first, &condition.second].into_iter().flatten().enumerate() {
        if place > 0 {
            words.push("and");
        }
        match side {
            ComparedValue::Query(query) => nested(query, words),
            ComparedValue::Column(unit) => column_unit(unit, words),
            ComparedValue::Number(_) | ComparedValue::Text(_) => words.push("_"),
        }
    }
}

fn value_unit(unit: &ValueUnit, words: &mut Vec<&'static str>) {
    column_unit(&unit.left, words);
    if let Some(right) = &unit.right {
        words.extend(arithmetic(unit.operator));
        column_unit(right, words);
    }
}

fn column_unit(unit: &ColumnUnit, words: &mut Vec<&'static str>) {
    let name = aggregate(unit.aggregate);
    words.extend(name);
    words.extend(name.map(|_| "("));
    if unit.distinct {
        words.push("distinct");
    }
    words.push("_");
    words.extend(name.map(|_| ")"));
}

/// The word of a function, as in `max`; none for no function.
pub fn aggregate(aggregate: Aggregate) -> Option<&'static str> {
    match aggregate {
        Aggregate::None => None,
        Aggregate::Max => Some("max"),
        Aggregate::Min => Some("min"),
        Aggregate::Count => Some("count"),
        Aggregate::Sum => Some("sum"),
        Aggregate::Avg => Some("avg"),
    }
}

fn arithmetic(operator: Arithmetic) -> Option<&'static str> {
    match operator {
        Arithmetic::None => None,
        Arithmetic::Minus => Some("-"),
        Arithmetic::Plus => Some("+"),
        Arithmetic::Times => Some("*"),
        Arithmetic::Divide => Some("/"),
    }
}

/// The word or sign of a comparison.
pub fn comparison(comparison: ComparisonOperator) -> &'static str {
    match comparison {
        ComparisonOperator::Not => "not",
        ComparisonOperator::Between => "between",
        ComparisonOperator::Equal => "=",
        ComparisonOperator::Greater => ">",
        ComparisonOperator::Less => "<",
        ComparisonOperator::GreaterEqual => ">=",
        ComparisonOperator::LessEqual => "<=",
        ComparisonOperator::Unequal => "!=",
        ComparisonOperator::In => "in",
        ComparisonOperator::Like => "like",
        ComparisonOperator::Is => "is",
        ComparisonOperator::Exists => "exists",
    }
}
