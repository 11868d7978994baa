//! WHERE and HAVING: conditions of the example with the question's values.

use wb_sql::spider::{Aggregate, ComparedValue, ComparisonOperator, Condition, Connector, SqlQuery, Term, ValueUnit};

use super::{
    Reason,
    build::{Builder, Place},
    joins::edge,
};
use crate::link::{
    Literal, Purpose, ValueMention,
    cues::{self, has},
};

/// The conditions of WHERE.
///
/// A condition with a literal takes the question's next value, with the column that belongs to that value and the
/// comparison that its words tell; without a value it is left out. Values that are left over are added where the example
/// has such a condition, or has no WHERE at all.
pub(crate) fn filter(
    builder: &mut Builder<'_>,
    source: &SqlQuery,
    place: Place<'_>,
    query: &SqlQuery,
) -> Result<Vec<Term>, Reason> {
    let mut kept: Vec<(Connector, Condition)> = Vec::new();
    let mut connector = Connector::And;
    for term in &source.filter {
        match term {
            Term::Connector(word) => connector = *word,
            Term::Condition(condition) => {
                let made = match condition.first {
                    Some(ComparedValue::Query(ref nested)) => {
                        Some(with_query(builder, condition, nested, place, query)?)
                    }
                    Some(ComparedValue::Column(unit)) => {
                        let left = builder.unit(&condition.unit, place);
                        let right = builder.column_unit(&unit, place);
                        left.zip(right).map(|(unit, right)| Condition {
                            unit,
                            first: Some(ComparedValue::Column(right)),
                            ..condition.clone()
                        })
                    }
                    _ => literal(builder, Some(condition)),
                };
                match made {
                    Some(made) => kept.push((connector, made)),
                    None => builder.score -= 0.4,
                }
            }
        }
    }
    let literals =
        source.filter.iter().filter_map(Term::condition).any(|condition| condition.queries().next().is_none());
    let last = source.set.is_none() && (!place.nested || place.results.is_some());
    if last && (literals || source.filter.is_empty()) && !later(source) {
        while let Some(more) = literal(builder, None) {
            builder.score -= if literals { 0.15 } else { 0.3 };
            kept.push((connector, more));
        }
    }
    Ok(joined(builder, kept))
}

/// True where a nested query still waits for values.
fn later(source: &SqlQuery) -> bool {
    source
        .filter
        .iter()
        .filter_map(Term::condition)
        .any(|condition| condition.queries().any(|nested| !nested.filter.is_empty()))
}

/// Puts words between conditions: two equalities of one column cannot both hold, others can.
fn joined(builder: &Builder<'_>, kept: Vec<(Connector, Condition)>) -> Vec<Term> {
    let either = builder.links.says("or|either");
    let mut terms: Vec<Term> = Vec::new();
    for (word, condition) in kept {
        if let Some(Term::Condition(before)) = terms.last() {
            let same = before.unit == condition.unit && before.comparison == ComparisonOperator::Equal;
            let word = if same && condition.comparison == ComparisonOperator::Equal {
                Connector::Or
            } else if either {
                word
            } else {
                Connector::And
            };
            terms.push(Term::Connector(word));
        }
        terms.push(Term::Condition(condition));
    }
    terms
}

/// A condition with the next value of the question.
fn literal(builder: &mut Builder<'_>, source: Option<&Condition>) -> Option<Condition> {
    let free = |at: &usize| !builder.used[*at] && builder.links.values[*at].purpose == Purpose::Filter;
    let all: Vec<usize> =
        (0..builder.links.values.len()).filter(free).filter(|&at| builder.links.values[at].column.is_some()).collect();
    // A text where the example has one, if there is one.
    let text = source.is_some_and(|condition| matches!(condition.first, Some(ComparedValue::Text(_))));
    let alike = |at: &&usize| matches!(builder.links.values[**at].literal, Literal::Text(_)) == text;
    let at = *all.iter().find(|at| source.is_none() || alike(at)).or_else(|| all.first())?;
    builder.used[at] = true;
    let value = &builder.links.values[at];
    let (column, _) = value.column?;
    let told = cues::comparison(&builder.links.words, value.start, value.end);
    let between =
        all.iter().copied().find(|&other| other > at && is_between(builder, value, &builder.links.values[other]));
    let unit = builder.column(column);
    if let Some(other) = between {
        builder.used[other] = true;
        let second = Some(plain(&builder.links.values[other].literal));
        return Some(Condition {
            negated: false,
            comparison: ComparisonOperator::Between,
            unit,
            first: Some(plain(&value.literal)),
            second,
        });
    }
    let number = matches!(value.literal, Literal::Number(_));
    let sought = source.map(|condition| condition.comparison);
    let comparison = match told {
        Some(ComparisonOperator::Like) if number => ComparisonOperator::Equal,
        Some(ComparisonOperator::Unequal)
            if !matches!(
                sought,
                Some(ComparisonOperator::Unequal | ComparisonOperator::Equal | ComparisonOperator::Like) | None
            ) =>
        {
            ComparisonOperator::Equal
        }
        Some(ComparisonOperator::Unequal) if excluded(builder) => ComparisonOperator::Equal,
        Some(told @ (ComparisonOperator::Unequal | ComparisonOperator::Like)) => told,
        Some(told) if number || year(builder, column) => told,
        _ => ComparisonOperator::Equal,
    };
    let first = match (&value.literal, comparison) {
        (Literal::Text(text), ComparisonOperator::Like) => {
            let words = &builder.links.words;
            let near = value.start.saturating_sub(5)..value.start;
            let (front, back) = match () {
                () if has(
                    words,
                    near.clone(),
                    "start with|starts with|starting with|begin with|begins with|prefix",
                ) =>
                {
                    ("", "%")
                }
                () if has(words, near, "ends with|end with|ending with") => ("%", ""),
                () => ("%", "%"),
            };
            ComparedValue::Text(format!("{front}{text}{back}"))
        }
        (literal, _) => plain(literal),
    };
    Some(Condition { negated: false, comparison, unit, first: Some(first), second: None })
}

/// True where the query's form takes out rows already.
fn excluded(builder: &Builder<'_>) -> bool {
    builder.excludes
}

fn year(builder: &Builder<'_>, column: usize) -> bool {
    let column = &builder.to.columns[column];
    column.kind == crate::schema::ColumnKind::Time
        || column.stems.iter().any(|stem| matches!(stem.as_str(), "date" | "year" | "time"))
}

fn is_between(builder: &Builder<'_>, one: &ValueMention, other: &ValueMention) -> bool {
    let words = &builder.links.words;
    let numbers = matches!((&one.literal, &other.literal), (Literal::Number(_), Literal::Number(_)));
    numbers
        && has(words, one.start.saturating_sub(3)..one.start, "between|from")
        && has(words, one.end..other.start, "and|to")
        && other.start - one.end <= 2
}

fn plain(literal: &Literal) -> ComparedValue {
    match literal {
        Literal::Text(text) => ComparedValue::Text(text.clone()),
        Literal::Number(number) => ComparedValue::Number(*number),
    }
}

/// A condition with a nested query: over a key where the example compares keys, else of a column with a value.
fn with_query(
    builder: &mut Builder<'_>,
    condition: &Condition,
    nested: &SqlQuery,
    place: Place<'_>,
    query: &SqlQuery,
) -> Result<Condition, Reason> {
    let key = |unit: &ValueUnit| {
        let column = builder.from.column(unit.left.column);
        column.is_some_and(|at| builder.from.columns[at].key) && unit.left.aggregate == Aggregate::None
    };
    let keys = key(&condition.unit)
        && nested.select.first().is_some_and(|(function, unit)| *function == Aggregate::None && key(unit));
    if !keys {
        let source_is_key = matches!(condition.comparison, ComparisonOperator::In);
        let unit =
            builder.unit(&condition.unit, place).ok_or(if source_is_key { Reason::Join } else { Reason::Column })?;
        let inner = builder.query_in(nested, Place { nested: true, results: None, around: place.around })?;
        let told = cues::than_nested(&builder.links.words);
        let comparison = match condition.comparison {
            ComparisonOperator::Greater
            | ComparisonOperator::Less
            | ComparisonOperator::GreaterEqual
            | ComparisonOperator::LessEqual => told.unwrap_or(condition.comparison),
            other => other,
        };
        return Ok(Condition {
            comparison,
            unit,
            first: Some(ComparedValue::Query(Box::new(inner))),
            ..condition.clone()
        });
    }
    // The table of the results, and another that is spoken of.
    let mut around = builder.tables_of(query);
    if around.is_empty() {
        around.extend(builder.main_table(place));
    }
    let one = *around.first().ok_or(Reason::Table)?;
    let results: Vec<(Aggregate, ValueUnit)> = Vec::new();
    let inner_place = Place { nested: true, results: Some(&results), around: &around };
    let mut inner = SqlQuery { select: Vec::new(), ..nested.clone() };
    inner.filter = filter(builder, nested, inner_place, &SqlQuery::default())?;
    let named = builder.tables_of(&SqlQuery { filter: inner.filter.clone(), ..SqlQuery::default() });
    let named = named
        .into_iter()
        .chain(builder.links.tables.iter().filter(|mention| mention.score > 0.5).map(|mention| mention.table));
    let other = named.into_iter().find(|table| !around.contains(table)).ok_or(Reason::Join)?;
    let path = builder.to.path(&[one], other).ok_or(Reason::Join)?;
    let (own, foreign) =
        path.get(1).and_then(|&next| edge(builder.to, one, next, builder.links)).ok_or(Reason::Join)?;
    let results = [(Aggregate::None, builder.column(foreign))];
    let made =
        builder.query_after(nested, Place { nested: true, results: Some(&results), around: &around }, inner.filter)?;
    let negated = condition.negated;
    let unit = builder.column(own);
    Ok(Condition {
        negated,
        unit,
        first: Some(ComparedValue::Query(Box::new(made))),
        second: None,
        comparison: condition.comparison,
    })
}

/// The conditions of HAVING: counts with the question's number.
pub(crate) fn having(builder: &mut Builder<'_>, source: &SqlQuery) -> Result<Vec<Term>, Reason> {
    let mut terms = Vec::new();
    for term in &source.having {
        let Term::Condition(condition) = term else { continue };
        if condition.queries().next().is_some() {
            return Err(Reason::Form);
        }
        let unit = builder.unit(&condition.unit, Place::default()).ok_or(Reason::Column)?;
        let free = |at: &usize| !builder.used[*at] && matches!(builder.links.values[*at].literal, Literal::Number(_));
        let all: Vec<usize> = (0..builder.links.values.len()).filter(free).collect();
        let count = all.iter().find(|at| builder.links.values[**at].purpose == Purpose::Count);
        let Some(&at) = count.or_else(|| all.first()) else {
            builder.score -= 0.6;
            continue;
        };
        builder.used[at] = true;
        let value = &builder.links.values[at];
        let told = cues::comparison(&builder.links.words, value.start, value.end);
        let told = told.filter(|told| !matches!(told, ComparisonOperator::Like | ComparisonOperator::Unequal));
        if !terms.is_empty() {
            terms.push(Term::Connector(Connector::And));
        }
        terms.push(Term::Condition(Condition {
            negated: false,
            comparison: told.unwrap_or(ComparisonOperator::Equal),
            unit,
            first: Some(plain(&value.literal)),
            second: None,
        }));
    }
    Ok(terms)
}
